/*
 * test_events.c -- operations, holds and their events, in every order in which they can end.
 *
 * The engine is thread:, where an operation ends inside the call that starts or cancels it. So the
 * test decides the order of everything that happens.
 */
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

static bowline_client *client;
static bowline_client *other;
static bowline_error   error;

static int open_clients(void **state)
{
    client = must_open_without_keeper("thread:?wait=20ms");
    other  = must_open_without_keeper("thread:");
    return 0;
}

static int close_clients(void **state)
{
    bowline_close(client);
    bowline_close(other);
    return 0;
}

static bowline_operation *start_in(bowline_client *where, const char *name)
{
    bowline_operation *op = NULL;

    assert_status(BOWLINE_OK,
                  bowline_acquire_start(&op, where, name,
                                        BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
                  &error);
    return op;
}

static bowline_operation *start(const char *name)
{
    return start_in(client, name);
}

static bowline_hold *finish(bowline_operation *op, int status)
{
    bowline_hold *hold = NULL;

    assert_status(status, bowline_acquire_finish(&hold, op, &error), &error);
    return hold;
}

static bowline_event next(void)
{
    bowline_event event  = { .size = sizeof event, .kind = 7, .reserved = 4711 };
    int           status = bowline_next_event(client, &event, &error);

    assert_in_range(status, 0, 1);
    assert_int_equal(event.size, sizeof event);
    assert_int_equal(event.reserved, status == 1 ? 0 : 4711); /* nothing is written for no event */
    assert_true(status == 1 || event.kind == 7);
    return status == 1 ? event : (bowline_event){ .kind = 0 };
}

static bool is_readable(int fd)
{
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) == 1;
}

static void assert_usage(int status, const char *word)
{
    assert_status(BOWLINE_USAGE, status, &error);
    assert_non_null(strstr(error.text, word));
}

/* ---- operations ------------------------------------------------------------------------------ */

FIXTURE(open_clients, close_clients)

TEST(operation_is_finished_while_others_wait)
{
    (void)start_in(other, "n");
    for (unsigned gone = 0; gone < 3; gone++) {
        bowline_operation *ops[3] = { start("n"), start("n"), start("n") };
        bowline_cancel(ops[gone]);
        (void)finish(ops[gone], BOWLINE_CANCELLED);
        assert_string_equal(error.text, "n: cancelled");
    } /* close frees the others */
}

TEST(operations_are_finished_in_any_order)
{
    static const unsigned orders[][3] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 0, 1 } };
    bowline_hold         *holds[3];

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        bowline_operation *ops[3] = { start("a"), start("b"), start("c") };
        for (unsigned k = 0; k < 3; k++) {
            bowline_cancel(ops[orders[i][k]]); /* too late: it was acquired */
            holds[k] = finish(ops[orders[i][k]], BOWLINE_OK);
        }
        for (unsigned k = 0; k < 3; k++)
            must_release(holds[k]);
    }
}

TEST(without_descriptors_a_free_lock_is_acquired_and_no_call_waits)
{
    bowline_hold *free_one = NULL, *none = NULL;
    struct rlimit before, low;
    bowline_hold *held = must_acquire(other, "n");

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low          = before;
    low.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int taken    = bowline_acquire(&free_one, client, "m", BOWLINE_ACQUIRE(.wait_ms = 0), NULL);
    int waited   = bowline_acquire(&none, client, "n", BOWLINE_ACQUIRE(.wait_ms = 1000), &error);
    int fd       = bowline_fd(client);
    int pipe_fd  = bowline_wakeup_fd(client, NULL);
    int lost_fd  = bowline_hold_lost_fd(free_one, NULL);
    int dispatch = bowline_dispatch(client, 0, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(taken, BOWLINE_OK);
    assert_int_equal(waited, BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "n: cannot wait for events"));
    assert_true(error.system_errno != 0 && none == NULL);
    assert_int_equal(fd, BOWLINE_SYSTEM);
    assert_int_equal(pipe_fd, BOWLINE_SYSTEM);
    assert_int_equal(lost_fd, BOWLINE_SYSTEM);
    assert_int_equal(dispatch, BOWLINE_SYSTEM);
    assert_status(BOWLINE_OK, bowline_dispatch(client, 0, &error), &error); /* now there are */
    assert_true(bowline_wakeup_fd(client, &error) >= 0);
    fd = bowline_hold_lost_fd(free_one, &error);
    assert_true(fd >= 0);
    assert_int_equal(bowline_hold_lost_fd(free_one, &error), fd);
    must_release(held);
}

/* ---- events ---------------------------------------------------------------------------------- */

TEST(events_come_in_the_order_in_which_things_happened)
{
    bowline_operation *waiting[3];
    bowline_operation *first = start("n");

    for (int i = 0; i < 3; i++)
        waiting[i] = start("n");
    bowline_cancel(waiting[1]);
    bowline_cancel(waiting[0]);
    bowline_operation *last = start("m");
    assert_ptr_equal(next().operation, first);
    assert_ptr_equal(next().operation, waiting[1]);
    assert_ptr_equal(next().operation, waiting[0]);
    assert_ptr_equal(next().operation, last);
    assert_int_equal(next().kind, 0);
    bowline_cancel(waiting[2]);
    assert_ptr_equal(next().operation, waiting[2]);
}

TEST(end_inside_a_start_wakes_a_loop_that_takes_events)
{
    int fd = bowline_fd(client);

    assert_true(fd >= 0);
    (void)start("n");
    assert_false(is_readable(fd)); /* the caller has taken no event yet: it looks at operations */
    assert_int_equal(next().kind, BOWLINE_EVENT_ENDED);
    bowline_operation *op = start("m");
    assert_true(is_readable(fd));
    assert_status(BOWLINE_OK, bowline_dispatch(client, 0, &error), &error);
    assert_ptr_equal(next().operation, op);
    assert_false(is_readable(fd));
}

TEST(extension_that_a_release_has_ended_is_one_event)
{
    bowline_hold      *hold      = finish(start("n"), BOWLINE_OK);
    bowline_operation *extending = NULL;

    assert_status(BOWLINE_OK, bowline_extend_start(&extending, hold, 0, &error), &error);
    must_release(hold);
    assert_ptr_equal(next().operation, extending);
    assert_status(BOWLINE_OK, bowline_finish(extending, &error), &error);
    assert_int_equal(next().kind, 0);
}

TEST(pointer_of_the_caller_goes_from_the_acquire_to_the_hold_to_its_operations)
{
    int                one, two;
    bowline_operation *op = start("n");

    assert_null(bowline_operation_data(op));
    bowline_operation_set_data(op, &one);
    assert_ptr_equal(bowline_operation_data(op), &one);
    bowline_hold *hold = finish(op, BOWLINE_OK);
    assert_ptr_equal(bowline_hold_data(hold), &one);
    bowline_hold_set_data(hold, &two);
    assert_ptr_equal(bowline_hold_data(hold), &two);
    assert_int_equal(bowline_extend_start(&op, hold, 0, &error), BOWLINE_OK);
    assert_ptr_equal(next().data, &two);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_int_equal(bowline_release_start(&op, hold, &error), BOWLINE_OK);
    assert_ptr_equal(bowline_operation_data(op), &two);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_null(bowline_hold_data(must_acquire(client, "n")));
    assert_int_equal(bowline_who_start(&op, client, "n", &error), BOWLINE_OK);
    assert_null(bowline_operation_data(op));
}

/* ---- yields ---------------------------------------------------------------------------------- */

TEST(yield_without_a_wait_of_its_own_has_that_of_the_url)
{
    bowline_hold      *hold    = must_acquire(client, "n");
    bowline_operation *waiting = start_in(other, "n");

    assert_status(BOWLINE_TIMEOUT, bowline_yield(hold, BOWLINE_DEFAULT, &error), &error);
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_LOST);
    must_release(finish(waiting, BOWLINE_OK));
}

TEST(release_ends_a_yield)
{
    bowline_hold      *hold    = must_acquire(client, "n");
    bowline_operation *waiting = start_in(other, "n");
    bowline_operation *op      = NULL;

    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), &error);
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_LOST);
    assert_status(BOWLINE_CANCELLED, bowline_finish(op, &error), &error);
    must_release(finish(waiting, BOWLINE_OK));
    must_release(must_acquire(other, "n"));
}

TEST(yielded_lock_is_lost_when_the_yield_has_failed)
{
    bowline_hold      *hold    = must_acquire(client, "n");
    bowline_operation *waiting = start_in(other, "n");
    bowline_operation *op      = NULL;
    int                fd      = bowline_hold_lost_fd(hold, &error);

    assert_true(fd >= 0);
    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), &error);
    assert_false(is_readable(fd));
    assert_int_equal(next().kind, 0);
    bowline_cancel(op);
    assert_true(is_readable(fd));
    bowline_event ended = next(), lost = next();
    assert_true(ended.kind == BOWLINE_EVENT_ENDED && ended.operation == op);
    assert_true(lost.kind == BOWLINE_EVENT_LOST && lost.hold == hold);
    assert_status(BOWLINE_LOST, bowline_hold_check(hold, &error), &error);
    assert_status(BOWLINE_CANCELLED, bowline_finish(op, &error), &error);
    assert_int_equal(bowline_release(hold, NULL), BOWLINE_LOST);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    must_release(finish(waiting, BOWLINE_OK));
}

TEST(yield_allows_no_second_operation)
{
    bowline_hold      *hold    = must_acquire(client, "n");
    bowline_operation *waiting = start_in(other, "n");
    bowline_operation *op      = NULL;
    bowline_hold      *none    = NULL;

    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), &error);
    assert_usage(bowline_yield(hold, BOWLINE_DEFAULT, &error), "already");
    assert_usage(bowline_extend(hold, 0, &error), "already");
    assert_usage(bowline_acquire_finish(&none, op, &error), "takes an acquire");
    must_release(finish(waiting, BOWLINE_OK));
    assert_status(BOWLINE_OK, bowline_finish(op, &error), &error);
    must_release(hold);
}

TEST(close_ends_a_yield_and_gives_the_lock_up)
{
    bowline_client    *gone    = must_open_without_keeper("thread:");
    bowline_hold      *hold    = must_acquire(gone, "n");
    bowline_operation *waiting = start_in(other, "n");
    bowline_operation *op      = NULL;

    assert_status(BOWLINE_OK, bowline_yield_start(&op, hold, BOWLINE_FOREVER, &error), &error);
    bowline_close(gone);
    must_release(finish(waiting, BOWLINE_OK));
    must_release(must_acquire(other, "n"));
}
