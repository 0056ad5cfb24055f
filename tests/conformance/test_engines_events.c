/*
 * test_engines_events.c -- events reported in three ways: by an event after a dispatch, by the
 * descriptor of a hold, and by a pipe for loops that can poll nothing else; on every engine.
 *
 * The loops below use only the reports: none checks an operation or a hold itself, and none ends
 * before TOO_LONG_MS, so that a missing report fails the test.
 */
#include "tests/lib/engines.h"
#include "tests/lib/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <poll.h>
#include <sys/select.h>
#include <unistd.h>

enum { TOO_LONG_MS = 20000 };

static bool is_readable(int fd, int64_t wait_ms)
{
    struct pollfd polled = { .fd = fd, .events = POLLIN };

    return poll(&polled, 1, (int)wait_ms) == 1 && (polled.revents & POLLIN) != 0;
}

static bowline_event next_event(bowline_client *client)
{
    bowline_event event  = { .size = sizeof event };
    bowline_error error  = { 0 };
    int           status = bowline_next_event(client, &event, &error);

    if (status == 0)
        return (bowline_event){ 0 };
    assert_status(1, status, &error);
    assert_int_equal(event.reserved, 0);
    return event;
}

/* One iteration of a loop that has descriptor and timer. */
static void turn(bowline_client *client)
{
    int64_t       wait_ms = bowline_timeout_ms(client);
    bowline_error error   = { 0 };

    if (wait_ms == BOWLINE_FOREVER || wait_ms > TOO_LONG_MS)
        wait_ms = TOO_LONG_MS;
    (void)is_readable(bowline_fd(client), wait_ms);
    assert_status(BOWLINE_OK, bowline_dispatch(client, 0, &error), &error);
}

/* One iteration of a loop that has only the pipe. */
static void turn_by_pipe(bowline_client *client)
{
    bowline_error error = { 0 };

    assert_true(is_readable(bowline_wakeup_fd(client, NULL), TOO_LONG_MS));
    assert_status(BOWLINE_OK, bowline_dispatch(client, 0, &error), &error);
}

static bowline_event await_event(bowline_client *client, void (*take_turn)(bowline_client *))
{
    int64_t       end   = clock_ms() + TOO_LONG_MS;
    bowline_event event = next_event(client);

    while (event.kind == 0 && clock_ms() < end) {
        take_turn(client);
        event = next_event(client);
    }
    return event;
}

static void assert_ended(bowline_event event, const bowline_operation *op)
{
    assert_int_equal(event.kind, BOWLINE_EVENT_ENDED);
    assert_ptr_equal(event.operation, op);
    assert_null(event.hold);
}

/* ---- by events ------------------------------------------------------------------------------- */

ENGINE_TEST(end_of_an_operation_is_reported_once)
{
    bowline_client    *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    int                mine   = 0;
    bowline_operation *op     = must_start(client, engine_lock(), BOWLINE_NO_WAIT);

    bowline_operation_set_data(op, &mine);
    bowline_event event = await_event(client, turn);
    assert_ended(event, op);
    assert_ptr_equal(event.data, &mine);
    assert_int_equal(next_event(client).kind, 0);
    bowline_hold *hold = must_finish(op);
    assert_ptr_equal(bowline_hold_data(hold), &mine);
    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, NULL), NULL);
    event = await_event(client, turn);
    assert_ended(event, op);
    assert_ptr_equal(event.data, &mine);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    assert_int_equal(next_event(client).kind, 0);
}

/* A hundred operations at once, each reported once; no report allocates memory. */
ENGINE_TEST(ends_of_many_operations_are_all_reported)
{
    enum { MANY = 100 };
    bowline_client    *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_operation *ops[MANY];
    bool               was_reported[MANY] = { false };

    for (int i = 0; i < MANY; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s %d", engine_lock(), i);
        ops[i] = must_start(client, name, BOWLINE_NO_WAIT);
        bowline_operation_set_data(ops[i], &was_reported[i]);
    }
    for (int i = 0; i < MANY; i++) {
        bool *reported = await_event(client, turn).data;
        assert_non_null(reported);
        assert_false(*reported);
        *reported = true;
    }
    assert_int_equal(next_event(client).kind, 0);
    for (int i = 0; i < MANY; i++)
        must_release(must_finish(ops[i]));
}

ENGINE_TEST(finished_operation_is_not_reported)
{
    bowline_client    *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_operation *first  = must_start(client, "one", BOWLINE_NO_WAIT);
    bowline_operation *second = must_start(client, "two", BOWLINE_NO_WAIT);
    bowline_operation *third  = must_start(client, "three", BOWLINE_NO_WAIT);

    assert_status(BOWLINE_OK, bowline_operation_wait(second, BOWLINE_FOREVER, NULL), NULL);
    must_release(must_finish(second));
    must_release(must_finish(first));
    assert_ended(await_event(client, turn), third);
    assert_int_equal(next_event(client).kind, 0);
    must_release(must_finish(third));
}

ENGINE_TEST(end_by_another_thread_wakes_the_loop)
{
    bowline_client    *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_client    *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(other, engine_lock());
    bowline_operation *op     = must_start(client, engine_lock(), BOWLINE_FOREVER);
    bowline_hold      *none   = NULL;

    assert_int_equal(next_event(client).kind, 0);
    assert_true(bowline_fd(client) >= 0);
    bowline_cancel(op);
    assert_true(is_readable(bowline_fd(client), 0));
    assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
    assert_ended(next_event(client), op);
    assert_status(BOWLINE_CANCELLED, bowline_acquire_finish(&none, op, NULL), NULL);
    must_release(hold);
}

/* A second thread is inside the client, waits for another operation, and reads all replies: the
 * loop must still get the report about its own operation. */
ENGINE_TEST(end_read_by_a_waiting_thread_is_reported_to_the_loop)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *theirs = must_acquire(other, "what the thread waits for");
    waiter          w;

    assert_int_equal(next_event(client).kind, 0);
    waiter_start(&w, client, "what the thread waits for", BOWLINE_FOREVER);
    for (int i = 0; i < 20; i++) {
        bowline_hold      *held   = must_acquire(other, engine_lock());
        bowline_operation *op     = must_start(client, engine_lock(), BOWLINE_FOREVER);
        releaser           thread = { .engine = THE_ENGINE, .hold = held, .waiting = client };
        releaser_start(&thread);
        /* The descriptor is not open yet: it must report an end from before. */
        while (i == 0 && look_inside(client, engine_lock()).locks > 0)
            sleep_ms(1);
        bowline_event event = { 0 };
        while (event.kind == 0) {
            assert_true(is_readable(bowline_fd(client), TOO_LONG_MS));
            assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
            event = next_event(client);
        }
        assert_ended(event, op);
        must_release(must_finish(op));
        assert_int_equal(pthread_join(thread.thread, NULL), 0);
    }
    must_release(theirs);
    waiter_must_release(&w);
}

/* ---- a loss ---------------------------------------------------------------------------------- */

static void assert_loss(bowline_event event, const bowline_hold *hold)
{
    assert_int_equal(event.kind, BOWLINE_EVENT_LOST);
    assert_ptr_equal(event.hold, hold);
    assert_null(event.operation);
}

static void loss_is_reported(const engine *e, void (*take_turn)(bowline_client *))
{
    bowline_client *client = engine_client_without_renewal_thread(e, "max-hold=120ms");
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    bowline_error   error  = { 0 };
    int             mine   = 0;

    bowline_hold_set_data(hold, &mine);
    bowline_event event  = next_event(client);
    int           status = bowline_hold_check(hold, &error);
    if (bowline_hold_left_ms(hold) > 0) { /* else the machine was slow */
        assert_int_equal(event.kind, 0);
        assert_status(BOWLINE_OK, status, &error);
    }
    while (event.kind == 0 || event.kind == BOWLINE_EVENT_NOT_RENEWED)
        event = await_event(client, take_turn);
    assert_loss(event, hold);
    assert_ptr_equal(event.data, &mine);
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    assert_status(BOWLINE_LOST, bowline_hold_check(hold, &error), &error);
    for (int i = 0; i < 3; i++) { /* also after the store has replied to the release */
        assert_int_equal(next_event(client).kind, 0);
        assert_status(BOWLINE_OK, bowline_dispatch(client, 30, NULL), NULL);
    }
    assert_int_equal(next_event(client).kind, 0);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_int_equal(next_event(client).kind, 0);
}

ENGINE_TEST(loss_is_an_event)
{
    loss_is_reported(THE_ENGINE, turn);
}

ENGINE_TEST(loss_makes_the_pipe_readable)
{
    loss_is_reported(THE_ENGINE, turn_by_pipe);
}

ENGINE_TEST(loss_of_a_released_hold_is_not_reported)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, "max-hold=50ms");
    bowline_hold   *hold   = must_acquire(client, engine_lock());

    must_end(hold);
    assert_status(BOWLINE_OK, bowline_dispatch(client, TOO_LONG_MS, NULL), NULL);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_int_equal(next_event(client).kind, 0);
}

/* No dispatch and no renewal thread: the kernel alone makes it readable. */
ENGINE_TEST(loss_makes_the_descriptor_readable)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, "max-hold=150ms");
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    bowline_error   error  = { 0 };
    int             fd     = bowline_hold_lost_fd(hold, &error);

    assert_true(fd >= 0);
    assert_true(descriptor_closes_on_exec(fd));
    bool was_readable = is_readable(fd, 0);
    if (bowline_hold_left_ms(hold) > 1)
        assert_false(was_readable);
    assert_true(is_readable(fd, TOO_LONG_MS));
    assert_int_equal(bowline_hold_left_ms(hold), 0);
    assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
    assert_true(is_readable(fd, 0));
    assert_int_equal(bowline_hold_lost_fd(hold, &error), fd);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

ENGINE_TEST(descriptor_of_a_lost_hold_is_readable_at_once)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, "max-hold=50ms");
    bowline_hold   *hold   = must_acquire(client, engine_lock());

    must_end(hold);
    assert_true(is_readable(bowline_hold_lost_fd(hold, NULL), 0));
    assert_status(BOWLINE_OK, bowline_dispatch(client, TOO_LONG_MS, NULL), NULL);
    assert_true(is_readable(bowline_hold_lost_fd(hold, NULL), 0));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
}

/* Also by release_start, before it has ended, and by close. */
ENGINE_TEST(descriptor_is_closed_with_its_hold)
{
    bowline_client    *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(client, engine_lock());
    bowline_hold      *other  = must_acquire(client, "other");
    bowline_operation *op     = NULL;
    int                fd     = bowline_hold_lost_fd(hold, NULL);
    int                fd2    = bowline_hold_lost_fd(other, NULL);

    assert_true(fd >= 0 && fd2 >= 0 && fd != fd2);
    assert_false(is_readable(fd, 0));
    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, NULL), NULL);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_status(BOWLINE_OK, bowline_finish(op, NULL), NULL);
    engine_close(client);
    assert_int_equal(fcntl(fd2, F_GETFD), -1);
}

/* ---- by the pipe ----------------------------------------------------------------------------- */

ENGINE_TEST(pipe_is_made_once)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    int             fd     = bowline_wakeup_fd(client, NULL);

    assert_true(fd >= 0);
    assert_int_equal(bowline_wakeup_fd(client, NULL), fd);
    assert_true(descriptor_closes_on_exec(fd));
    assert_int_equal(lseek(fd, 0, SEEK_CUR), -1);
    assert_int_equal(errno, ESPIPE);
    assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    engine_close(client);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* The end of this operation; losses on a machine that is too slow for a lease come before it. */
static void await_end(const engine *e, bowline_client *client, const bowline_operation *op)
{
    bowline_event event = await_event(client, turn_by_pipe);

    while (e->has_lease && event.kind != 0 && event.kind != BOWLINE_EVENT_ENDED)
        event = await_event(client, turn_by_pipe);
    assert_ended(event, op);
}

/* Returns false if the machine was too slow: the test is repeated. */
static bool lives_by_the_pipe(const engine *e, int round)
{
    bowline_client    *client = engine_client_without_renewal_thread(e, "lease=600ms");
    bowline_client    *other  = engine_client(e, NULL);
    bowline_hold      *held   = must_acquire(other, engine_lock());
    bowline_operation *op     = must_start(client, engine_lock(), BOWLINE_FOREVER);
    int                fd     = bowline_wakeup_fd(client, NULL);
    bool               kept   = true;
    releaser           thread = { .engine = e, .hold = held, .waiting = client };

    releaser_start(&thread);
    await_end(e, client, op);
    assert_int_equal(pthread_join(thread.thread, NULL), 0);
    bowline_hold *hold = must_finish(op);
    for (int64_t now, end = clock_ms() + 1500; (now = clock_ms()) < end;) {
        struct timeval wait = { .tv_sec  = (end - now) / 1000,
                                .tv_usec = (end - now) % 1000 * 1000 };
        fd_set         set;
        FD_ZERO(&set);
        FD_SET(fd, &set);
        if (select(fd + 1, &set, NULL, NULL, &wait) == 1)
            assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
        kept = next_event(client).kind == 0 && kept;
    }
    kept = bowline_hold_left_ms(hold) > 0 && kept;
    assert_true(kept || e->has_lease);
    assert_status(BOWLINE_OK, bowline_release_start(&op, hold, NULL), NULL);
    await_end(e, client, op);
    int status = bowline_finish(op, NULL);
    engine_close(client);
    engine_close(other);
    return keeps_in_round(kept, status, round);
}

/* Waits, acquires, is renewed several times, is released: by select(2) on the pipe alone. */
ENGINE_TEST(acquire_renew_and_release_with_the_pipe)
{
    for (int round = 1; !lives_by_the_pipe(THE_ENGINE, round); round++)
        continue;
}

/* Runtimes read what they poll.  The event is still reported, and again only after a dispatch. */
ENGINE_TEST(pipe_may_be_read_by_the_caller)
{
    bowline_client    *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_client    *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold      *held   = must_acquire(other, engine_lock());
    int                fd     = bowline_wakeup_fd(client, NULL);
    char               bytes[64];
    bowline_operation *op[2] = { must_start(client, engine_lock(), BOWLINE_FOREVER),
                                 must_start(client, engine_lock(), BOWLINE_FOREVER) };

    for (int i = 0; i < 2; i++) {
        while (next_event(client).kind != 0)
            continue;
        bowline_cancel(op[i]);
        bowline_event event = { 0 };
        while (event.kind == 0) {
            assert_true(is_readable(fd, TOO_LONG_MS));
            assert_int_equal(read(fd, bytes, sizeof bytes), 1);
            assert_false(is_readable(fd, 5)); /* until a dispatch */
            assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
            event = next_event(client);
        }
        assert_ended(event, op[i]);
    }
    must_release(held);
}

/* A thread that wrote without a limit would keep every loop busy. */
ENGINE_TEST(pipe_is_silent_while_nothing_is_due)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, "lease=1h");
    int             fd     = bowline_wakeup_fd(client, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    int             turns  = 0;

    while (is_readable(fd, 100) && turns < 100) {
        assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
        turns++;
    }
    assert_in_range(turns, 0, 4);
    must_release(hold);
}
