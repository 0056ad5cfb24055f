/*
 * test_file_ticket.c -- the queue that the kernel keeps in its table of file locks.
 *
 * Each descriptor here is an open file of its own, and so stands for a process of its own.
 */
#include "engine/file/ticket.h"
#include "file_fixture.h"

#include <sys/syscall.h>

enum { FDS_MAX = 8 };

/* In the C library's place: after so many locks were set or unlocked, some fail. */
static int locks_left;
static int failures;
static int looks_fail; /* so many questions who has a lock                                     */
static int failure;

static void locks_fail(int after, int count, int error)
{
    locks_left = after;
    failures   = count;
    failure    = error;
}

int fcntl(int fd, int command, ...)
{
    va_list rest;

    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    bool fails = command == F_OFD_SETLK && locks_left-- <= 0 && failures > 0;
    if (fails)
        failures--;
    if (command == F_OFD_GETLK && looks_fail > 0) {
        looks_fail--;
        fails = true;
    }
    if (fails) {
        errno = failure;
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

static int fds[FDS_MAX]; /* of one file */

static int open_all(void **state)
{
    locks_fail(0, 0, 0);
    looks_fail = 0;
    (void)make_directory(state);
    for (unsigned i = 0; i < FDS_MAX; i++)
        fds[i] = open_in("file");
    return 0;
}

static int close_all(void **state)
{
    for (unsigned i = 0; i < FDS_MAX; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    return remove_directory(state);
}

static void close_fd(unsigned i)
{
    assert_int_equal(close(fds[i]), 0);
    fds[i] = -1;
}

static void stands(unsigned i, uint64_t ticket)
{
    uint64_t got = ticket;

    assert_int_equal(bwl_file_latch(fds[i]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_stand(fds[i], &got), BWL_FILE_OURS);
    assert_int_equal(got, ticket);
    assert_int_equal(bwl_file_unlatch(fds[i]), BWL_FILE_OURS);
}

static void sits(unsigned i, uint64_t ticket)
{
    assert_int_equal(bwl_file_seize(fds[i]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_keep(fds[i], ticket), BWL_FILE_OURS);
}

/* ---- coming ---------------------------------------------------------------------------------- */

static void test_file_ticket_an_empty_queue_is_seized_by_one(void **state)
{
    assert_int_equal(bwl_file_seize(fds[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_seize(fds[1]), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_latch(fds[1]), BWL_FILE_OTHERS);
    assert_false(bwl_file_quit(fds[0]));
    assert_int_equal(bwl_file_seize(fds[1]), BWL_FILE_OURS);
}

static void test_file_ticket_who_joins_or_waits_keeps_others_from_seizing(void **state)
{
    assert_int_equal(bwl_file_latch(fds[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_seize(fds[1]), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_latch(fds[1]), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_unlatch(fds[0]), BWL_FILE_OURS);
    stands(0, 1000);
    assert_int_equal(bwl_file_seize(fds[1]), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_latch(fds[1]), BWL_FILE_OURS);
}

static void test_file_ticket_a_place_that_was_kept_lets_others_in_behind_it(void **state)
{
    sits(0, 1000);
    stands(1, 1001);
    assert_int_equal(bwl_file_head_of(fds[1], 0, 1001), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_head_of(fds[1], 999, 1001), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_head_of(fds[1], 1000, 1001), BWL_FILE_OTHERS);
    assert_true(bwl_file_quit(fds[0]));
    assert_int_equal(bwl_file_head_of(fds[1], 0, 1001), BWL_FILE_OURS);
}

static void test_file_ticket_what_is_kept_for_waiting_leaves_the_tickets_below_it(void **state)
{
    assert_int_equal(bwl_file_seize(fds[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_keep_only(fds[0], 1000), BWL_FILE_OURS);
    assert_int_equal(bwl_file_head_of(fds[1], 0, 1000), BWL_FILE_OURS);
    assert_int_equal(bwl_file_head_of(fds[1], 0, 1001), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_rest_of(fds[1], 1001), BWL_FILE_OURS);
}

/* To unlock a part of what is locked needs memory for what is left. */
static void test_file_ticket_what_cannot_be_given_up_is_not_kept_either(void **state)
{
    assert_int_equal(bwl_file_seize(fds[0]), BWL_FILE_OURS);
    locks_fail(0, 1, ENOLCK);
    errno = 0;
    assert_int_equal(bwl_file_keep_only(fds[0], 1000), BWL_FILE_FAILED);
    assert_int_equal(errno, ENOLCK);
    assert_int_equal(bwl_file_latch(fds[1]), BWL_FILE_OTHERS); /* nobody joins behind it */
    locks_fail(1, 1, ENOLCK);
    errno = 0;
    assert_int_equal(bwl_file_keep_only(fds[0], 1000), BWL_FILE_FAILED);
    assert_int_equal(errno, ENOLCK);
    locks_fail(0, 1, ENOLCK);
    assert_int_equal(bwl_file_keep(fds[0], 1000), BWL_FILE_FAILED);
}

/* POSIX has both names for a lock of others; and who was there may be gone when we look. */
static void test_file_ticket_who_has_gone_meanwhile_is_not_in_the_way(void **state)
{
    uint64_t ticket = 1000;

    locks_fail(0, 1, EACCES);
    assert_int_equal(bwl_file_seize(fds[0]), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_latch(fds[0]), BWL_FILE_OURS);
    locks_fail(0, 1, EAGAIN);
    assert_int_equal(bwl_file_stand(fds[0], &ticket), BWL_FILE_OURS);
    assert_int_equal(failures, 0);
    assert_int_equal(ticket, 1000);
}

static void test_file_ticket_that_cannot_be_looked_at_is_not_drawn(void **state)
{
    uint64_t ticket = 1000;

    stands(0, 1000);
    assert_int_equal(bwl_file_latch(fds[1]), BWL_FILE_OURS);
    failure    = EIO;
    looks_fail = 1;
    errno      = 0;
    assert_int_equal(bwl_file_stand(fds[1], &ticket), BWL_FILE_FAILED);
    assert_int_equal(errno, EIO);
    assert_int_equal(ticket, 1000);
}

/* Who has it gives it up after four system calls. */
static void test_file_ticket_the_latch_is_tried_more_than_once(void **state)
{
    locks_fail(0, 16, EAGAIN);
    assert_int_equal(bwl_file_latch(fds[0]), BWL_FILE_OURS);
    assert_int_equal(failures, 0);
}

static void test_file_ticket_a_ticket_that_lives_is_not_given_again(void **state)
{
    uint64_t ticket = 5;

    sits(0, 1000);
    stands(1, 1001);
    stands(2, 1002);
    assert_int_equal(bwl_file_latch(fds[3]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_stand(fds[3], &ticket), BWL_FILE_OURS);
    assert_int_equal(ticket, 1003);
}

static void test_file_ticket_above_the_last_there_is_none(void **state)
{
    uint64_t ticket = BWL_FILE_TICKET_MAX;

    stands(0, BWL_FILE_TICKET_MAX);
    assert_int_equal(bwl_file_latch(fds[1]), BWL_FILE_OURS);
    errno = 0;
    assert_int_equal(bwl_file_stand(fds[1], &ticket), BWL_FILE_FAILED);
    assert_int_equal(errno, EOVERFLOW);
}

static void test_file_ticket_a_file_for_reading_cannot_be_locked(void **state)
{
    int fd = open(in("file"), O_RDONLY | O_CLOEXEC);

    assert_int_equal(bwl_file_seize(fd), BWL_FILE_FAILED);
    assert_int_equal(errno, EBADF);
    (void)close(fd);
}

/* ---- going ----------------------------------------------------------------------------------- */

static void test_file_ticket_order_is_that_of_the_tickets_whoever_leaves(void **state)
{
    stands(0, 1000);
    stands(1, 1001);
    stands(2, 1002);
    assert_int_equal(bwl_file_head_of(fds[0], 0, 1000), BWL_FILE_OURS);
    assert_int_equal(bwl_file_head_of(fds[2], 0, 1002), BWL_FILE_OTHERS);
    assert_true(bwl_file_quit(fds[1]));
    assert_int_equal(bwl_file_head_of(fds[2], 0, 1002), BWL_FILE_OTHERS);
    assert_true(bwl_file_quit(fds[0]));
    assert_int_equal(bwl_file_head_of(fds[2], 0, 1002), BWL_FILE_OURS);
    assert_false(bwl_file_quit(fds[2]));
}

static void sleeps(void *arg)
{
    (void)arg;
}

static void test_file_ticket_quits_also_where_a_child_has_the_file_open(void **state)
{
    stands(0, 1000);
    pid_t child = start_child(sleeps, NULL);
    assert_false(bwl_file_quit(fds[0]));
    close_fd(0);
    assert_int_equal(bwl_file_seize(fds[1]), BWL_FILE_OURS);
    end_child(child);
}

static void stand_in_child(void *arg)
{
    int      fd     = open(arg, O_RDWR | O_CLOEXEC);
    uint64_t ticket = 1000;

    if (bwl_file_latch(fd) != BWL_FILE_OURS || bwl_file_stand(fd, &ticket) != BWL_FILE_OURS)
        _exit(1);
}

static void test_file_ticket_the_dead_leave_their_place_and_the_latch(void **state)
{
    pid_t child = start_child(stand_in_child, (void *)(uintptr_t)in("file"));

    assert_int_equal(bwl_file_head_of(fds[0], 0, 1001), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_latch(fds[0]), BWL_FILE_OTHERS);
    end_child(child);
    assert_int_equal(bwl_file_head_of(fds[0], 0, 1001), BWL_FILE_OURS);
    assert_int_equal(bwl_file_latch(fds[0]), BWL_FILE_OURS);
}

/* A process that was stopped with the latch in its hands must not stop us. */
static void test_file_ticket_the_latch_is_not_waited_for(void **state)
{
    assert_int_equal(bwl_file_latch(fds[0]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_latch(fds[1]), BWL_FILE_OTHERS); /* else it would wait for ever */
}

/* ---- looking --------------------------------------------------------------------------------- */

static void expect_first(uint64_t granted, bwl_file_first_kind kind, uint64_t ticket)
{
    int            fd    = open(in("file"), O_RDONLY | O_CLOEXEC);
    bwl_file_first first = bwl_file_look(fd, granted);

    assert_int_equal(first.kind, kind);
    assert_int_equal(first.ticket, ticket);
    (void)close(fd);
}

static void test_file_ticket_the_first_is_found_however_the_kernel_lists_them(void **state)
{
    static const uint64_t orders[][3] = {
        { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 },
    };

    expect_first(0, BWL_FILE_NOBODY, 0);
    for (unsigned i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        for (unsigned j = 0; j < 3; j++)
            stands(j, 1000 + orders[i][j]);
        expect_first(0, BWL_FILE_TICKET, 1001);
        expect_first(1001, BWL_FILE_TICKET, 1001);
        expect_first(1002, BWL_FILE_TICKET, 1002);
        expect_first(1003, BWL_FILE_TICKET, 1003);
        expect_first(1004, BWL_FILE_NOBODY, 0);
        for (unsigned j = 0; j < 3; j++)
            (void)bwl_file_quit(fds[j]);
    }
}

static void test_file_ticket_who_sat_down_is_first_by_his_ticket(void **state)
{
    sits(0, 1000);
    stands(1, 1001);
    expect_first(0, BWL_FILE_TICKET, 1000);
    expect_first(1000, BWL_FILE_TICKET, 1000);
    expect_first(1001, BWL_FILE_TICKET, 1001);
}

static void test_file_ticket_who_joins_has_no_ticket_yet(void **state)
{
    assert_int_equal(bwl_file_seize(fds[0]), BWL_FILE_OURS);
    expect_first(7, BWL_FILE_JOINING, 0);
    (void)bwl_file_quit(fds[0]);
    assert_int_equal(bwl_file_latch(fds[0]), BWL_FILE_OURS);
    expect_first(7, BWL_FILE_JOINING, 0);
}

static void test_file_ticket_the_last_place_is_not_the_latch(void **state)
{
    stands(0, BWL_FILE_TICKET_MAX);
    expect_first(0, BWL_FILE_TICKET, BWL_FILE_TICKET_MAX);
    assert_int_equal(bwl_file_latch(fds[1]), BWL_FILE_OURS);
}

static void lock_all_by_fcntl(void *arg)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(open(arg, O_RDWR | O_CLOEXEC), F_SETLK, &all) != 0)
        _exit(1);
}

static void test_file_ticket_a_record_lock_on_the_file_is_an_outsider(void **state)
{
    pid_t          child = start_child(lock_all_by_fcntl, (void *)(uintptr_t)in("file"));
    bwl_file_first first = bwl_file_look(fds[0], 1000);

    assert_int_equal(first.kind, BWL_FILE_OUTSIDER);
    assert_int_equal(first.pid, child);
    assert_int_equal(bwl_file_seize(fds[0]), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_latch(fds[0]), BWL_FILE_OTHERS);
    end_child(child);
    assert_int_equal(bwl_file_seize(fds[0]), BWL_FILE_OURS);
}

static void test_file_ticket_counts_those_between(void **state)
{
    static const uint64_t order[] = { 1003, 1000, 1006, 1001, 1005 };

    for (unsigned i = 0; i < 5; i++)
        stands(i, order[i]);
    assert_int_equal(bwl_file_count(fds[7], 0, 1000, 64), 0);
    assert_int_equal(bwl_file_count(fds[7], 0, 1001, 64), 1);
    assert_int_equal(bwl_file_count(fds[7], 0, 1007, 64), 5);
    assert_int_equal(bwl_file_count(fds[7], 0, 1007, 3), 3);
    assert_int_equal(bwl_file_count(fds[7], 1000, 1006, 64), 4);
    assert_int_equal(bwl_file_count(fds[7], 1001, 1005, 64), 2);
    assert_int_equal(bwl_file_count(fds[7], 1002, 1003, 64), 0);
}

static void test_file_ticket_the_rest_is_from_a_ticket_on(void **state)
{
    stands(0, 1000);
    assert_int_equal(bwl_file_rest_of(fds[1], 1000), BWL_FILE_OTHERS);
    assert_int_equal(bwl_file_rest_of(fds[1], 1001), BWL_FILE_OURS);
    assert_int_equal(bwl_file_latch(fds[2]), BWL_FILE_OURS);
    assert_int_equal(bwl_file_rest_of(fds[1], 1001), BWL_FILE_OTHERS);
}

#define with_files(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_files(test_file_ticket_an_empty_queue_is_seized_by_one),
        with_files(test_file_ticket_who_joins_or_waits_keeps_others_from_seizing),
        with_files(test_file_ticket_a_place_that_was_kept_lets_others_in_behind_it),
        with_files(test_file_ticket_what_is_kept_for_waiting_leaves_the_tickets_below_it),
        with_files(test_file_ticket_what_cannot_be_given_up_is_not_kept_either),
        with_files(test_file_ticket_who_has_gone_meanwhile_is_not_in_the_way),
        with_files(test_file_ticket_that_cannot_be_looked_at_is_not_drawn),
        with_files(test_file_ticket_the_latch_is_tried_more_than_once),
        with_files(test_file_ticket_the_last_place_is_not_the_latch),
        with_files(test_file_ticket_a_ticket_that_lives_is_not_given_again),
        with_files(test_file_ticket_above_the_last_there_is_none),
        with_files(test_file_ticket_a_file_for_reading_cannot_be_locked),
        with_files(test_file_ticket_order_is_that_of_the_tickets_whoever_leaves),
        with_files(test_file_ticket_quits_also_where_a_child_has_the_file_open),
        with_files(test_file_ticket_the_dead_leave_their_place_and_the_latch),
        with_files(test_file_ticket_the_latch_is_not_waited_for),
        with_files(test_file_ticket_the_first_is_found_however_the_kernel_lists_them),
        with_files(test_file_ticket_who_sat_down_is_first_by_his_ticket),
        with_files(test_file_ticket_who_joins_has_no_ticket_yet),
        with_files(test_file_ticket_a_record_lock_on_the_file_is_an_outsider),
        with_files(test_file_ticket_counts_those_between),
        with_files(test_file_ticket_the_rest_is_from_a_ticket_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
