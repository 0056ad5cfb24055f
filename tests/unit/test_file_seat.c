/*
 * test_file_seat.c -- joining, trying and leaving: who gets the lock, in what order, with what
 * fence; and what is left behind.
 */
#include "seat_fixture.h"

#include <poll.h>
#include <pthread.h>

/* ---- alone ----------------------------------------------------------------------------------- */

static void test_file_seat_what_is_free_is_ours_at_once(void **state)
{
    uint64_t first = takes(0);
    leave(0);
    uint64_t second = takes(1);
    assert_true(first > 0);
    assert_true(second > first);
    leave(1);
    assert_int_equal(join(2, ONCE), BWL_YES);
    assert_true(number > second);
}

static void test_file_seat_who_left_has_nothing_open(void **state)
{
    unsigned before = count_descriptors();

    for (unsigned i = 0; i < 3; i++) {
        (void)takes(0);
        assert_true(count_descriptors() > before);
        assert_int_equal(join(1, ONCE), BWL_NO);
        leave(0);
        leave(0); /* once more: nothing */
        assert_int_equal(count_descriptors(), before);
    }
}

static void test_file_seat_once_leaves_nothing_behind(void **state)
{
    bwl_file_head before;
    bwl_file_head after;
    int           fd = open_in("n");

    (void)takes(0);
    assert_int_equal(bwl_file_read_head(fd, &before), 0);
    assert_int_equal(join(1, ONCE), BWL_NO);
    assert_int_equal(bwl_file_read_head(fd, &after), 0);
    assert_int_equal(after.drawn, before.drawn); /* not even a ticket */
    assert_false(seats[1]->queued);
    assert_int_equal(seats[1]->queue.fd, -1);
    (void)close(fd);
}

static void test_file_seat_the_fence_grows_though_the_clock_was_set_back(void **state)
{
    const uint64_t ahead = UINT64_C(4000000000000000); /* the year 2096 */
    int            fd    = open_in("n");

    assert_int_equal(bwl_file_write_drawn(fd, ahead), 0);
    assert_int_equal(takes(0), ahead + 1);
    waits(1);
    leave(0);
    assert_int_equal(gets(1), ahead + 2);
    (void)close(fd);
}

/* ---- in line --------------------------------------------------------------------------------- */

static void test_file_seat_order_is_that_of_coming(void **state)
{
    uint64_t fence = takes(0);

    waits(2);
    waits(1);
    waits(3);
    gets_not(1);
    gets_not(2);
    leave(0);
    gets_not(3);
    gets_not(1);
    uint64_t next = gets(2);
    assert_true(next > fence);
    gets_not(1);
    leave(1); /* who leaves from the middle holds up nobody */
    leave(2);
    assert_true(gets(3) > next);
}

static void test_file_seat_once_does_not_overtake_those_who_wait(void **state)
{
    (void)takes(0);
    waits(1);
    leave(0);
    assert_int_equal(join(2, ONCE), BWL_NO); /* it is free, but not for him */
    (void)gets(1);
}

/* Somebody has written nonsense where the ticket stands that was granted last. */
static void test_file_seat_once_does_not_believe_a_broken_counter(void **state)
{
    const uint64_t nonsense = UINT64_MAX;
    int            fd       = open_in("n");

    (void)takes(0);
    waits(1);
    assert_int_equal(pwrite(fd, &nonsense, sizeof nonsense, BWL_FILE_HEAD_BYTES - 8), 8);
    assert_int_equal(join(2, ONCE), BWL_NO);
    (void)close(fd);
}

/* Seat 0 gives it back at some moment after it was told to. */
typedef struct passer {
    pthread_barrier_t ready;
    unsigned          pause;
} passer;

static void *pass(void *arg)
{
    passer *p = arg;

    (void)pthread_barrier_wait(&p->ready);
    for (volatile unsigned i = 0; i < p->pause; i++) {
    }
    leave(0);
    return NULL;
}

static bool is_told(int wait_ms)
{
    struct pollfd event = { .fd = seats[1]->store->watcher.source.fd, .events = POLLIN };
    char          bytes[4096];

    return poll(&event, 1, wait_ms) == 1 && read(event.fd, bytes, sizeof bytes) > 0;
}

/* Either we see that it is free, or we are told when it becomes so: never neither. */
static void test_file_seat_becoming_free_while_we_join_is_not_missed(void **state)
{
    unsigned told = 0;

    for (unsigned i = 0; i < 400; i++) {
        pthread_t thread;
        passer    p = { .pause = (unsigned)random() % 60000 };
        (void)takes(0);
        assert_int_equal(pthread_barrier_init(&p.ready, NULL, 2), 0);
        assert_int_equal(pthread_create(&thread, NULL, pass, &p), 0);
        (void)pthread_barrier_wait(&p.ready);
        if (join(1, WAITS) == BWL_NO) {
            assert_int_equal(number, LOCAL_WILL_PUSH);
            assert_true(is_told(2000));
            told++;
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        (void)pthread_barrier_destroy(&p.ready);
        leave(1);
        (void)is_told(0);
    }
    assert_true(told > 0);
}

static void test_file_seat_a_taken_latch_is_told_and_not_waited_for(void **state)
{
    int fd = open_in("n");

    (void)takes(0);
    assert_int_equal(bwl_file_latch(fd), BWL_FILE_OURS);
    assert_int_equal(join(1, WAITS), BWL_LATER);
    assert_int_equal(join(1, WAITS), BWL_LATER);
    assert_int_equal(join(2, ONCE), BWL_NO);
    (void)close(fd);
    waits(1);
}

/* ---- flock(1) -------------------------------------------------------------------------------- */

static void expect_exclusion(const char *leaf)
{
    int fd = open(in(leaf), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);

    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(join(0, ONCE), BWL_NO);
    assert_int_equal(join(0, WAITS), BWL_NO);
    assert_int_equal(number, LOCAL_WILL_NOT); /* unlocking is not told, only closing is */
    waits(1);
    assert_int_equal(try(0), BWL_NO);
    assert_int_equal(number, LOCAL_WILL_NOT);
    assert_int_equal(flock(fd, LOCK_UN), 0);
    (void)gets(0);
    assert_int_not_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    leave(0);
    (void)gets(1);
    assert_int_not_equal(flock(fd, LOCK_SH | LOCK_NB), 0);
    leave(1);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    (void)close(fd);
}

static void test_file_seat_flock_and_a_name_exclude_each_other(void **state)
{
    expect_exclusion("n");
}

static void test_file_seat_flock_and_a_path_exclude_each_other(void **state)
{
    expect_exclusion("x");
}

static void test_file_seat_a_path_is_never_written(void **state)
{
    struct stat before;
    struct stat after;

    put("x", "precious", 8);
    assert_int_equal(chmod(in("x"), 0444), 0);
    assert_int_equal(stat(in("x"), &before), 0);
    sleep_ms(20);
    (void)takes(0);
    waits(1);
    leave(0);
    (void)gets(1);
    leave(1);
    assert_int_equal(stat(in("x"), &after), 0);
    assert_memory_equal(&after.st_mtim, &before.st_mtim, sizeof after.st_mtim);
    assert_memory_equal(&after.st_ctim, &before.st_ctim, sizeof after.st_ctim);
    assert_int_equal(after.st_size, 8);
}

static void lock_all_by_fcntl(void *arg)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(open_in(arg), F_SETLK, &all) != 0)
        _exit(1);
}

static void test_file_seat_a_record_lock_on_the_file_keeps_us_out(void **state)
{
    pid_t child = start_child(lock_all_by_fcntl, "n");

    assert_int_equal(join(0, ONCE), BWL_NO);
    assert_int_equal(join(0, WAITS), BWL_LATER);
    end_child(child);
    (void)takes(0);
}

/* ---- files that go away ---------------------------------------------------------------------- */

static void test_file_seat_a_file_that_was_replaced_is_noticed(void **state)
{
    (void)takes(0);
    waits(1);
    assert_int_equal(unlink(in("n")), 0);
    leave(0);
    assert_int_equal(try(1), BWL_LATER);
    uint64_t fence = takes(1);
    waits(2);
    assert_int_equal(rename(in("n"), in("m")), 0);
    leave(1);
    assert_int_equal(try(2), BWL_LATER);
    assert_true(takes(2) > fence);
}

static void test_file_seat_of_a_path_either_file_may_be_replaced(void **state)
{
    uint64_t fence = takes(0);

    assert_int_equal(unlink(in("x.bowline")), 0);
    assert_int_equal(join(1, ONCE), BWL_NO); /* another queue, but the same flock */
    assert_int_equal(join(1, WAITS), BWL_NO);
    leave(0);
    uint64_t next = gets(1);
    assert_true(next > fence);
    assert_int_equal(unlink(in("x")), 0);
    assert_int_equal(join(2, ONCE), BWL_NO); /* another file, but the same queue */
    waits(2);
    leave(1);
    assert_true(gets(2) > next);
}

static void test_file_seat_a_lock_directory_that_was_removed_is_made_anew_by_others(void **state)
{
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(join(0, ONCE), BWL_REFUSED);
    assert_non_null(strstr(locks[0]->why.text, "does not exist"));
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_int_equal(join(0, ONCE), BWL_YES);
    assert_true(exists("n"));
}

static void test_file_seat_a_lock_directory_that_was_replaced_is_noticed(void **state)
{
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_int_equal(join(0, ONCE), BWL_YES);
    assert_true(exists("n"));
}

/* The directory of `file:` alone: played in our directory. */
static void test_file_seat_our_own_directory_is_made_and_made_again(void **state)
{
    bwl_file_store *store = seats[0]->store;
    char            leaf[64];

    if (geteuid() != 0)
        skip(); /* it must lie in one of root's */
    bwl_file_directory_close(&store->directory);
    store->parent = directory;
    (void)snprintf(leaf, sizeof leaf, "bowline-%u", geteuid());
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(join(0, ONCE), BWL_YES);
        leave(0);
        assert_int_equal(mode_of(leaf), 0700);
        (void)snprintf(leaf, sizeof leaf, "bowline-%u/n", geteuid());
        assert_int_equal(mode_of(leaf), 0600);
        assert_int_equal(unlink(in(leaf)), 0);
        (void)snprintf(leaf, sizeof leaf, "bowline-%u", geteuid());
        assert_int_equal(rmdir(in(leaf)), 0);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void expect_refused(const char *word)
{
    unsigned before = count_descriptors();

    assert_int_equal(join(0, WAITS), BWL_REFUSED);
    if (strstr(locks[0]->why.text, word) == NULL || strstr(locks[0]->why.text, in("n")) == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", locks[0]->why.text, word);
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(join(0, ONCE), BWL_REFUSED);
}

static void test_file_seat_a_file_that_is_not_ours_is_not_touched(void **state)
{
    char bytes[16];

    put("n", "4711 a pid file\n", 16);
    expect_refused("not a lock file");
    int fd = open_in("n");
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), 16);
    assert_memory_equal(bytes, "4711 a pid file\n", 16);
    assert_int_equal(bwl_file_seize(fd), BWL_FILE_OURS);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    (void)close(fd);
}

static void test_file_seat_a_broken_counter_is_told(void **state)
{
    int fd = open_in("n");

    assert_int_equal(bwl_file_write_drawn(fd, UINT64_MAX), 0);
    expect_refused("broken counter");
    (void)close(fd);
}

static void test_file_seat_a_link_in_the_place_of_the_file_is_told(void **state)
{
    assert_int_equal(symlink("elsewhere", in("n")), 0);
    expect_refused("symbolic link");
}

static void test_file_seat_who_waits_is_refused_when_the_file_becomes_garbage(void **state)
{
    (void)takes(0);
    waits(1);
    put("n", "garbage, and enough of it", 25);
    assert_int_equal(try(1), BWL_REFUSED);
    assert_false(seats[1]->queued);
}

/* ---- children -------------------------------------------------------------------------------- */

static void sleeps(void *arg)
{
}

static void test_file_seat_leaving_frees_also_what_a_child_has_open(void **state)
{
    (void)takes(0);
    waits(1);
    pid_t child = start_child(sleeps, NULL);
    leave(0);
    (void)gets(1);
    leave(1);
    (void)takes(2);
    end_child(child);
}

/* The child keeps the file open, so no closing is seen. */
static void test_file_seat_who_waits_is_told_though_a_child_has_it_open(void **state)
{
    (void)takes(0);
    pid_t child = start_child(sleeps, NULL);
    waits(1);
    assert_false(is_told(0));
    leave(0);
    assert_true(is_told(0));
    end_child(child);
}

static int free_in_child(void *arg)
{
    bwl_file_seat_free(seats[0]);
    return 0;
}

static void test_file_seat_a_child_that_frees_unlocks_nothing(void **state)
{
    (void)takes(0);
    waits(1);
    assert_int_equal(in_child(free_in_child, NULL), 0);
    gets_not(1);
    assert_int_equal(join(2, ONCE), BWL_NO);
    leave(0);
    (void)gets(1);
}

/* ---- main ------------------------------------------------------------------------------------ */

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_name(test_file_seat_what_is_free_is_ours_at_once),
        with_name(test_file_seat_who_left_has_nothing_open),
        with_name(test_file_seat_once_leaves_nothing_behind),
        with_name(test_file_seat_the_fence_grows_though_the_clock_was_set_back),
        with_name(test_file_seat_order_is_that_of_coming),
        with_name(test_file_seat_once_does_not_overtake_those_who_wait),
        with_name(test_file_seat_once_does_not_believe_a_broken_counter),
        with_name(test_file_seat_becoming_free_while_we_join_is_not_missed),
        with_name(test_file_seat_a_taken_latch_is_told_and_not_waited_for),
        with_name(test_file_seat_flock_and_a_name_exclude_each_other),
        with_path(test_file_seat_flock_and_a_path_exclude_each_other),
        with_path(test_file_seat_a_path_is_never_written),
        with_name(test_file_seat_a_record_lock_on_the_file_keeps_us_out),
        with_name(test_file_seat_a_file_that_was_replaced_is_noticed),
        with_path(test_file_seat_of_a_path_either_file_may_be_replaced),
        with_name(test_file_seat_a_lock_directory_that_was_removed_is_made_anew_by_others),
        with_name(test_file_seat_a_lock_directory_that_was_replaced_is_noticed),
        with_name(test_file_seat_our_own_directory_is_made_and_made_again),
        with_name(test_file_seat_a_file_that_is_not_ours_is_not_touched),
        with_name(test_file_seat_a_broken_counter_is_told),
        with_name(test_file_seat_a_link_in_the_place_of_the_file_is_told),
        with_name(test_file_seat_who_waits_is_refused_when_the_file_becomes_garbage),
        with_name(test_file_seat_leaving_frees_also_what_a_child_has_open),
        with_name(test_file_seat_who_waits_is_told_though_a_child_has_it_open),
        with_name(test_file_seat_a_child_that_frees_unlocks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
