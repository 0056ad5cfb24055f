/*
 * test_file_ticket.c -- the queue that the kernel keeps in its table of file locks: the kernel's
 * order does not matter, and calls that fail.
 */
#include "engine/file/kernel_queue.h"
#include "file_users.h"
#include "tests/lib/suite.h"

FIXTURE(begin, end)

/* ---- reading the queue ----------------------------------------------------------------------- */

enum { FDS = 5 };

static int fds[FDS]; /* of one file: each acts as a process */

static void enqueue(unsigned i, uint64_t ticket)
{
    struct flock node = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

    node.l_start = ((off_t)1 << 40) + (off_t)ticket;
    assert_int_equal(fcntl(fds[i], F_OFD_SETLK, &node), 0);
}

static uint64_t first_from(uint64_t granted)
{
    int                  fd    = open(in("f"), O_RDONLY | O_CLOEXEC);
    bwl_file_queue_first first = bwl_file_queue_head(fd, granted);

    (void)close(fd);
    assert_int_equal(first.kind, first.ticket != 0 ? BWL_FILE_TICKET : BWL_FILE_NOBODY);
    return first.ticket;
}

/* The kernel names any lock of a range, not the lowest. */
TEST_OF(order_is_that_of_the_tickets, &name)
{
    static const uint64_t orders[][3] = { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 },
                                          { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } };
    static const struct {
        uint64_t from;
        uint64_t to;
        unsigned max;
        unsigned count;
    } rows[] = { { 0, 1001, 9, 0 },    { 0, 1002, 9, 1 },    { 0, 1004, 9, 3 },   { 0, 1004, 2, 2 },
                 { 1001, 1003, 9, 2 }, { 1002, 1003, 9, 1 }, { 1004, 1009, 9, 0 } };

    for (unsigned i = 0; i < 6; i++) {
        for (unsigned j = 0; j < FDS; j++)
            fds[j] = open_in("f");
        assert_int_equal(first_from(0), 0);
        for (unsigned j = 0; j < 3; j++)
            enqueue(j, 1000 + orders[i][j]);
        for (uint64_t from = 1000; from <= 1003; from++)
            assert_int_equal(first_from(from), from > 1001 ? from : 1001);
        assert_int_equal(first_from(1004), 0);
        for (unsigned j = 0; j < COUNT_OF(rows); j++)
            assert_int_equal(bwl_file_queue_count(fds[3], rows[j].from, rows[j].to, rows[j].max),
                             rows[j].count);
        assert_int_equal(bwl_file_queue_test_from(fds[3], 1003), BWL_FILE_BUSY);
        assert_int_equal(bwl_file_queue_test_from(fds[3], 1004), BWL_FILE_FREE);
        assert_int_equal(bwl_file_queue_latch(fds[4]), BWL_FILE_FREE);
        assert_int_equal(bwl_file_queue_test_from(fds[3], 1004), BWL_FILE_BUSY);
        for (unsigned j = 0; j < FDS; j++)
            (void)close(fds[j]);
    }
}

/* ---- calls that fail ------------------------------------------------------------------------- */

/* With a free lock, one that is locked by flock, and one that is held. */
TEST_OF(failed_calls_are_refusals, &name)
{
    enum { FREE = 1, FLOCKED, HELD };
    static const struct {
        int         is;
        call        of;
        unsigned    after;
        int         error;
        const char *text;
    } rows[] = {
        { FREE, SET_LOCK, 0, ENOLCK, "cannot lock" },
        { FREE, SET_LOCK, 0, EINVAL, "cannot be locked: this system or file system" },
        { FREE, SET_LOCK, 1, ENOLCK, "cannot join the queue of" },
        { FREE, FLOCK, 0, EIO, "cannot lock" },
        { FREE, FLOCK, 0, ENOSYS, "cannot be locked" },
        { FREE, READ, 0, EIO, "cannot read" },
        { FREE, WRITE, 0, EIO, "cannot write" },
        { FLOCKED, SET_LOCK, 1, ENOLCK, "cannot join the queue of" },
        { FLOCKED, SET_LOCK, 2, ENOLCK, "cannot join the queue of" },
        { FLOCKED, READ, 1, EIO, "cannot read" },
        { FLOCKED, GET_LOCK, 0, EIO, "cannot lock" },
        { HELD, SET_LOCK, 1, ENOLCK, "cannot lock" },
        { HELD, SET_LOCK, 2, ENOLCK, "cannot join the queue of" },
        { HELD, SET_LOCK, 3, ENOLCK, "cannot join the queue of" },
        { HELD, WRITE, 0, EIO, "cannot write" },
    };

    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        int fd = open_in("n");
        if (rows[i].is == HELD)
            (void)takes(0);
        else if (rows[i].is == FLOCKED)
            assert_int_equal(flock(fd, LOCK_EX), 0);
        unsigned before = count_descriptors();
        disturbance     = (struct disturbance){
                .of = rows[i].of, .after = rows[i].after, .fails = 1, .error = rows[i].error
        };
        int status = start_acquire(1);
        if (status != BOWLINE_REFUSED || disturbance.fails != 0)
            fail_msg("row %u: %d, %s", i, status, error.text);
        expect_refused(status, rows[i].text);
        assert_int_equal(count_descriptors_later(), before);
        disturbance = (struct disturbance){ 0 };
        if (rows[i].is == HELD)
            leave(0);
        (void)close(fd);
        assert_int_equal(once(3), BOWLINE_OK);
    }
}

/* POSIX has two error codes for a lock of another process; and the lock may be gone soon. */
TEST_OF(lock_of_another_process_that_is_gone_is_ignored, &name)
{
    static const int errors[] = { EACCES, EAGAIN };

    for (unsigned i = 0; i < 2; i++) {
        disturbance    = (struct disturbance){ .of = SET_LOCK, .fails = 1, .error = errors[i] };
        uint64_t fence = takes(0);
        /* the ticket of the next one: it was free nevertheless */
        disturbance =
            (struct disturbance){ .of = SET_LOCK, .after = 2, .fails = 1, .error = errors[i] };
        waits(1);
        assert_int_equal(disturbance.fails, 0);
        leave(0);
        assert_int_equal(gets(1), fence + 1);
        leave(1);
    }
}

/* The ticket belongs to another process, and its owner cannot be found. */
TEST_OF(ticket_that_cannot_be_checked_is_not_taken, &name)
{
    const uint64_t zero = 0;
    int            fd   = open_in("n");

    (void)takes(0);
    assert_int_equal(pwrite(fd, &zero, 8, 0), 8);
    assert_int_equal(pwrite(fd, &zero, 8, 18), 8);
    disturbance = (struct disturbance){ .of = GET_LOCK, .fails = 1, .error = EIO };
    expect_refused(start_acquire(1), "cannot join the queue of");
    (void)close(fd);
}

/* Its holder needs four system calls. */
TEST_OF(busy_latch_is_tried_again, &name)
{
    (void)takes(0);
    disturbance = (struct disturbance){ .of = SET_LOCK, .after = 1, .fails = 16, .error = EAGAIN };
    waits(1);
    assert_int_equal(disturbance.fails, 0);
    leave(0);
    (void)gets(1);
}

/* NFS: a file that is open for reading cannot be locked. */
TEST_OF(named_file_is_opened_for_writing_when_required, &path)
{
    assert_int_equal(once(0), BOWLINE_OK);
    unsigned before = count_descriptors();
    disturbance     = (struct disturbance){ .of = FLOCK, .fails = 1, .error = EBADF };
    (void)takes(0);
    int fds_of[BOWLINE_HOLD_INHERIT_FDS_MAX];
    (void)bowline_hold_inherit_fds(users[0].hold, fds_of);
    assert_int_equal(fcntl(fds_of[0], F_GETFL) & O_ACCMODE, O_RDWR);
    leave(0);
    assert_int_equal(count_descriptors(), before);
}
