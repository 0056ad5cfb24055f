/*
 * test_file_who.c -- who holds a lock file, whoever it is, found out without disturbing anybody.
 */
#include "engine/file_who.h"
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

static void test_file_who_says_nothing_that_a_terminal_would_obey(void **state)
{
    static const char text[] = "uid=0\npid=1\nhost=a%1B[2J\nprogram=%0Ab%7F\nboot=b\n";
    bwl_file_self     liar   = { .size = sizeof text - 1 };
    int               fd;

    memcpy(liar.text, text, liar.size);
    (void)takes(0);
    fd = open_in("n");
    assert_int_equal(bwl_file_write_granted(fd, seats[0]->ticket, &liar, 1), 0);
    (void)close(fd);
    assert_true(who()->held);
    assert_string_equal(holder.host, "a?[2J");
    assert_string_equal(holder.program, "?b?");
    assert_int_equal(holder.since_ms, 0); /* another boot's */
}

static void test_file_who_of_a_user_without_a_name_is_his_number(void **state)
{
    static const char text[] = "uid=4000000001\npid=1\nhost=h\nprogram=p\nboot=b\n";
    bwl_file_self     other  = { .size = sizeof text - 1 };
    int               fd;

    memcpy(other.text, text, other.size);
    (void)takes(0);
    fd = open_in("n");
    assert_int_equal(bwl_file_write_granted(fd, seats[0]->ticket, &other, 1), 0);
    (void)close(fd);
    assert_string_equal(who()->user, "4000000001");
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
    int fd = open(in("ready"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    (void)close(fd);
    while (exists("ready"))
        sleep_ms(5);
    _exit(0);
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
    assert_int_equal(holder.pid, child);
    assert_non_null(strstr(holder.note, "child"));
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
        with_name(test_file_who_says_nothing_that_a_terminal_would_obey),
        with_name(test_file_who_of_a_user_without_a_name_is_his_number),
        with_name(test_file_who_has_ended_may_hold_by_his_child),
        with_name(test_file_who_holds_a_name_by_flock_is_foreign),
        with_path(test_file_who_holds_a_path_by_flock_is_foreign),
        with_name(test_file_who_holds_by_a_record_lock_is_foreign),
        with_name(test_file_who_holds_another_file_is_not_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
