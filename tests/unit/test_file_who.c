/*
 * test_file_who.c -- who holds a lock file, whoever it is, found out without disturbing anybody.
 */
#include "engine/file/who.h"
#include "seat_fixture.h"

#include <sys/utsname.h>

static bwl_holder holder;

/* Of the name that the seats are for. */
static const bwl_holder *who(void)
{
    bwl_file queue;
    bwl_file named;
    bool     is_bare = seats[SEATS - 1]->place.path == NULL;

    memset(&holder, 0xee, sizeof holder);
    assert_int_equal(bwl_file_place_peek(&seats[SEATS - 1]->place, &queue, &named, &fault), BWL_OK);
    bwl_file_who(&queue, is_bare ? &queue : &named, &holder);
    if (queue.fd >= 0)
        (void)close(queue.fd);
    if (named.fd >= 0)
        (void)close(named.fd);
    return &holder;
}

static void expect_nobody(void)
{
    static const bwl_holder nobody;

    assert_memory_equal(who(), &nobody, sizeof nobody);
}

static void expect_us(uint64_t fence)
{
    struct utsname system;

    assert_int_equal(uname(&system), 0);
    assert_true(who()->held);
    assert_false(holder.foreign);
    assert_int_equal(holder.fence, fence);
    assert_int_equal(holder.pid, getpid());
    assert_int_equal(holder.left_ms, BWL_NEVER);
    assert_in_range(holder.since_ms, 0, 5000);
    assert_string_not_equal(holder.user, "");
    assert_memory_equal(holder.host, system.nodename, strlen(holder.host));
    assert_string_not_equal(holder.program, "");
    assert_string_equal(holder.note, "");
}

static void expect_foreign(pid_t pid, const char *word)
{
    assert_true(who()->held);
    assert_true(holder.foreign);
    assert_int_equal(holder.pid, pid);
    assert_int_equal(holder.fence, 0);
    assert_int_equal(holder.left_ms, BWL_NEVER);
    assert_non_null(strstr(holder.note, word));
    assert_string_not_equal(holder.user, "");
    assert_string_equal(holder.program, "outsider");
}

/* ---- bowline --------------------------------------------------------------------------------- */

static void test_file_who_of_nothing_is_nobody(void **state)
{
    expect_nobody();
    assert_false(exists("n"));
    assert_false(exists("x"));
}

static void test_file_who_holds_is_seen_and_who_did_is_not(void **state)
{
    uint64_t fence = takes(0);

    expect_us(fence);
    waits(1);
    expect_us(fence);
    leave(0);
    assert_true(who()->held); /* is about to be taken */
    assert_int_equal(holder.fence, 0);
    fence = gets(1);
    expect_us(fence);
    leave(1);
    expect_nobody();
    assert_int_equal(join(0, ONCE), BWL_YES);
    expect_us(number);
}

/* It was taken between these two times, and is looked at now. */
static void expect_since(int64_t before, int64_t after)
{
    int64_t now   = clock_ms();
    int64_t since = who()->since_ms;

    assert_in_range(since, now - after, clock_ms() - before);
}

static void test_file_who_counts_since_the_taking(void **state)
{
    int64_t before = clock_ms();

    (void)takes(0);
    int64_t after = clock_ms();
    waits(1);
    sleep_ms(60);
    expect_since(before, after);
    leave(0);
    before = clock_ms();
    (void)gets(1);
    expect_since(before, clock_ms());
}

static void test_file_who_disturbs_nobody(void **state)
{
    bwl_file_head before;
    bwl_file_head after;
    int           fd = open_in("n");

    (void)takes(0);
    assert_int_equal(bwl_file_read_head(fd, &before), 0);
    for (unsigned i = 0; i < 10; i++)
        (void)who();
    assert_int_equal(bwl_file_read_head(fd, &after), 0);
    assert_int_equal(after.drawn, before.drawn);
    leave(0);
    (void)who();
    assert_int_equal(join(1, ONCE), BWL_YES);
    (void)close(fd);
}

static void test_file_who_overtook_is_the_holder_and_not_who_sleeps(void **state)
{
    int fd;

    (void)takes(0);
    waits(1);
    waits(2);
    leave(0);
    fd = open_in("n"); /* seat 2 takes it out of turn */
    assert_int_equal(flock(seats[2]->queue.fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(
        bwl_file_write_granted(fd, seats[2]->ticket, &seats[2]->store->self, clock_ms()), 0);
    (void)close(fd);
    expect_us(seats[2]->ticket);
    leave(2);
    expect_nobody(); /* whoever comes will get it */
}

static void test_file_who_cannot_be_read_holds_all_the_same(void **state)
{
    int      fd;
    uint64_t fence = takes(0);

    fd = open_in("n");
    assert_int_equal(pwrite(fd, "garbage", 7, 30), 7);
    assert_true(who()->held);
    assert_false(holder.foreign);
    assert_int_equal(holder.fence, fence);
    assert_int_equal(holder.pid, getpid()); /* the kernel says */
    assert_string_equal(holder.user, "");
    assert_int_equal(pwrite(fd, "garbage", 7, 8), 7);
    assert_true(who()->held);
    (void)close(fd);
    leave(0);
    expect_nobody();
}

/* Writes the record of the hold of seat 0, as whoever may write to the file can. */
static void forge(pid_t pid, const char *uid, const char *host, const char *program)
{
    bwl_file_self liar;
    int           fd = open_in("n");
    int           size;

    size = snprintf(liar.text, sizeof liar.text, "uid=%s\npid=%d\nhost=%s\nprogram=%s\nboot=b\n",
                    uid, pid, host, program);
    assert_in_range(size, 1, sizeof liar.text - 1);
    liar.size = (size_t)size;
    assert_int_equal(bwl_file_write_granted(fd, seats[0]->ticket, &liar, 1), 0);
    (void)close(fd);
}

/* Whoever may write to the file can put any number there. */
static void test_file_who_survives_a_counter_beyond_all_tickets(void **state)
{
    (void)takes(0);
    int fd = open_in("n");
    assert_int_equal(bwl_file_write_granted(fd, UINT64_MAX, &seats[0]->store->self, 1), 0);
    (void)close(fd);
    assert_true(who()->held);
    assert_int_equal(holder.fence, 0);
    leave(0);
    expect_nobody();
}

static void test_file_who_says_nothing_that_a_terminal_would_obey(void **state)
{
    (void)takes(0);
    forge(getpid(), "0", "a%1B[2J", "%0Ab%7F");
    assert_true(who()->held);
    assert_string_equal(holder.host, "a?[2J");
    assert_string_equal(holder.program, "?b?");
    assert_int_equal(holder.since_ms, 0); /* another boot's */
}

static void test_file_who_of_a_user_without_a_name_is_his_number(void **state)
{
    (void)takes(0);
    forge(getpid(), "4000000001", "h", "p");
    assert_string_equal(who()->user, "4000000001");
}

/* ---- whose pid it is ------------------------------------------------------------------------- */

static const char *here(void)
{
    static struct utsname system;

    assert_int_equal(uname(&system), 0);
    return system.nodename;
}

static void test_file_who_is_the_process_that_the_kernel_names(void **state)
{
    uint64_t fence = takes(0);

    forge(1, "4000000001", here(), "forged");
    assert_true(who()->held);
    assert_false(holder.foreign);
    assert_int_equal(holder.pid, getpid());
    assert_int_equal(holder.fence, fence);
    assert_int_equal(holder.since_ms, 0);
    assert_string_not_equal(holder.user, "4000000001");
    assert_string_not_equal(holder.program, "forged");
    assert_string_equal(holder.note, "the lock file says pid 1, the kernel does not");
}

static void test_file_who_is_of_no_process_when_the_kernel_names_none(void **state)
{
    static const bwl_file nothing = { .fd = -1 };
    bwl_file              queue;
    bwl_file              named;

    (void)takes(0);
    forge(1, "0", here(), "p");
    assert_int_equal(bwl_file_place_peek(&seats[1]->place, &queue, &named, &fault), BWL_OK);
    bwl_file_who(&queue, &nothing, &holder);
    assert_true(holder.held);
    assert_int_equal(holder.pid, 0);
    assert_string_equal(holder.note, "pid 1 by the lock file, the kernel does not say");

    forge(1, "0", "elsewhere", "p"); /* by a network file system */
    bwl_file_who(&queue, &nothing, &holder);
    assert_int_equal(holder.pid, 1);
    assert_string_equal(holder.host, "elsewhere");
    assert_string_equal(holder.note, "");
    (void)close(queue.fd);
}

/* Says its pid in a file, and stays until that is removed. */
static void stay(const char *leaf)
{
    char text[16];
    int  size = snprintf(text, sizeof text, "%d", getpid());
    int  fd   = open(in("new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (write(fd, text, (size_t)size) != size || close(fd) != 0 || rename(in("new"), in(leaf)) != 0)
        _exit(1);
    while (exists(leaf))
        sleep_ms(5);
    _exit(0);
}

static pid_t read_pid(const char *leaf)
{
    char text[16] = "";
    int  fd       = open_in(leaf);

    assert_in_range(read(fd, text, sizeof text - 1), 1, sizeof text - 1);
    (void)close(fd);
    return (pid_t)strtol(text, NULL, 10);
}

/* He has handed his file to a child, and was killed: fork stands for both. */
static void hand_over(void *arg)
{
    seats[0]->store->self.size = 0; /* learn who we are anew */
    if (join(0, ONCE) != BWL_YES)
        _exit(1); /* else the test would wait for a file that nobody makes */
    pid_t heir = fork();
    if (heir < 0)
        _exit(1);
    if (heir > 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, 0);
    stay("ready");
}

static void test_file_who_has_ended_may_hold_by_his_child(void **state)
{
    pid_t child = start_child(hand_over, NULL);

    while (!exists("ready"))
        sleep_ms(5);
    assert_true(who()->held);
    assert_int_equal(holder.pid, child);
    assert_string_equal(holder.note, "");
    end_child(child);
    assert_true(who()->held);
    assert_int_equal(holder.pid, read_pid("ready"));
    assert_non_null(strstr(holder.note, "has ended, a child holds on"));
    assert_int_equal(unlink(in("ready")), 0);
    while (join(1, ONCE) != BWL_YES)
        sleep_ms(5);
}

static int look_as_nobody(void *arg)
{
    const bwl_file *queue = arg;

    if (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)
        return 1;
    bwl_file_who(queue, queue, &holder);
    if (!holder.held || holder.pid != 0)
        return 2;
    return strstr(holder.note, "has ended") != NULL ||
                   strstr(holder.note, "the kernel does not say") != NULL
               ? 0
               : 3;
}

/* The dead process is not one to end, and the child of another user cannot be found. */
static void test_file_who_has_ended_is_not_a_process_to_be_ended(void **state)
{
    bwl_file queue;
    bwl_file none;

    if (geteuid() != 0)
        skip();
    pid_t child = start_child(hand_over, NULL);
    while (!exists("ready"))
        sleep_ms(5);
    end_child(child);
    assert_int_equal(bwl_file_place_peek(&seats[1]->place, &queue, &none, &fault), BWL_OK);
    assert_int_equal(in_child(look_as_nobody, &queue), 0);
    (void)close(queue.fd);
    assert_int_equal(unlink(in("ready")), 0);
    while (join(1, ONCE) != BWL_YES)
        sleep_ms(5);
}

/* ---- others ---------------------------------------------------------------------------------- */

static void lock_by_flock(void *arg)
{
    (void)prctl(PR_SET_NAME, "outsider");
    if (flock(open(arg, O_RDONLY | O_CREAT | O_CLOEXEC, 0666), LOCK_EX | LOCK_NB) != 0)
        _exit(1);
}

static void lock_by_fcntl(void *arg)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    (void)prctl(PR_SET_NAME, "outsider");
    if (fcntl(open(arg, O_RDWR | O_CREAT | O_CLOEXEC, 0666), F_SETLK, &all) != 0)
        _exit(1);
}

static void expect_flock_seen(const char *leaf)
{
    pid_t child = start_child(lock_by_flock, (void *)(uintptr_t)in(leaf));

    expect_foreign(child, "flock");
    assert_int_equal(join(0, WAITS), BWL_NO);
    expect_foreign(child, "flock");
    end_child(child);
    expect_us(gets(0));
}

/* As "exec 9>n; flock 9" in a shell: who took it has ended, and the shell has it. */
static void inherit_flock(void *arg)
{
    int how;

    (void)prctl(PR_SET_NAME, "outsider");
    int   fd    = open(arg, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
    pid_t taker = fork();
    if (taker == 0)
        _exit(flock(fd, LOCK_EX | LOCK_NB));
    if (waitpid(taker, &how, 0) != taker || how != 0)
        _exit(1);
}

static void test_file_who_has_inherited_a_flock_is_seen(void **state)
{
    int   bystander = open_in("n"); /* is open here too, but we hold nothing */
    pid_t child     = start_child(inherit_flock, (void *)(uintptr_t)in("n"));

    expect_foreign(child, "flock");
    end_child(child);
    expect_nobody();
    (void)close(bystander);
}

static void test_file_who_holds_a_name_by_flock_is_foreign(void **state)
{
    expect_flock_seen("n");
}

static void test_file_who_holds_a_path_by_flock_is_foreign(void **state)
{
    expect_flock_seen("x");
}

static void test_file_who_holds_by_a_record_lock_is_foreign(void **state)
{
    pid_t child = start_child(lock_by_fcntl, (void *)(uintptr_t)in("n"));

    expect_foreign(child, "fcntl");
    end_child(child);
    expect_nobody();
}

static void test_file_who_holds_another_file_is_not_meant(void **state)
{
    pid_t child = start_child(lock_by_flock, (void *)(uintptr_t)in("other"));

    expect_nobody();
    (void)takes(0);
    leave(0);
    expect_nobody();
    end_child(child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_name(test_file_who_of_nothing_is_nobody),
        with_name(test_file_who_holds_is_seen_and_who_did_is_not),
        with_path(test_file_who_holds_is_seen_and_who_did_is_not),
        with_name(test_file_who_counts_since_the_taking),
        with_name(test_file_who_disturbs_nobody),
        with_name(test_file_who_overtook_is_the_holder_and_not_who_sleeps),
        with_name(test_file_who_cannot_be_read_holds_all_the_same),
        with_name(test_file_who_survives_a_counter_beyond_all_tickets),
        with_name(test_file_who_says_nothing_that_a_terminal_would_obey),
        with_name(test_file_who_of_a_user_without_a_name_is_his_number),
        with_name(test_file_who_is_the_process_that_the_kernel_names),
        with_name(test_file_who_is_of_no_process_when_the_kernel_names_none),
        with_name(test_file_who_has_inherited_a_flock_is_seen),
        with_name(test_file_who_has_ended_is_not_a_process_to_be_ended),
        with_name(test_file_who_has_ended_may_hold_by_his_child),
        with_name(test_file_who_holds_a_name_by_flock_is_foreign),
        with_path(test_file_who_holds_a_path_by_flock_is_foreign),
        with_name(test_file_who_holds_by_a_record_lock_is_foreign),
        with_name(test_file_who_holds_another_file_is_not_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
