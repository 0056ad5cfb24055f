/*
 * test_engines_who.c -- holder queries that do not block, on every engine.
 */
#include "tests/lib/engines.h"

#include <poll.h>

static bowline_operation *must_ask(bowline_client *client, const char *name)
{
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };

    assert_status(BOWLINE_OK, bowline_who_start(&op, client, name, &error), &error);
    assert_non_null(op);
    return op;
}

static bowline_holder must_hear(bowline_operation *op)
{
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error  = { 0 };

    assert_status(BOWLINE_OK, bowline_who_finish(&holder, op, &error), &error);
    return holder;
}

ENGINE_TEST(async_holder_query_agrees_with_who)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_holder  other  = { .size = sizeof other };

    assert_int_equal(must_hear(must_ask(client, engine_lock())).held, 0);
    bowline_hold  *hold   = must_acquire(client, engine_lock());
    bowline_holder holder = must_hear(must_ask(client, engine_lock()));
    assert_status(BOWLINE_OK, bowline_who(client, engine_lock(), &other, NULL), NULL);
    assert_int_equal(holder.held, 1);
    assert_int_equal(other.held, 1);
    assert_int_equal(holder.pid, other.pid);
    assert_int_equal(holder.fence, other.fence);
    assert_int_equal(holder.foreign, other.foreign);
    assert_string_equal(holder.user, other.user);
    assert_string_equal(holder.note, other.note);
    assert_int_equal(holder.left_ms == INT64_MAX, other.left_ms == INT64_MAX);
    must_release(hold);
}

/* Only descriptor and timer, and events. */
ENGINE_TEST(holder_query_on_an_event_loop)
{
    bowline_client    *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_client    *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold      *hold   = must_acquire(other, engine_lock());
    bowline_operation *op     = must_ask(client, engine_lock());
    bowline_event      event  = { .size = sizeof event };
    int                mine   = 0;

    bowline_operation_set_data(op, &mine);
    while (bowline_next_event(client, &event, NULL) == 0) {
        struct pollfd polled  = { .fd = bowline_fd(client), .events = POLLIN };
        int64_t       wait_ms = bowline_timeout_ms(client);
        assert_int_equal(poll(&polled, 1, wait_ms == BOWLINE_FOREVER ? 20000 : (int)wait_ms), 1);
        assert_status(BOWLINE_OK, bowline_dispatch(client, 0, NULL), NULL);
    }
    assert_int_equal(event.kind, BOWLINE_EVENT_ENDED);
    assert_ptr_equal(event.operation, op);
    assert_ptr_equal(event.data, &mine);
    assert_int_equal(bowline_operation_done(op), 1);
    assert_int_equal(must_hear(op).held, 1);
    must_release(hold);
}

ENGINE_TEST(holder_queries_run_beside_other_operations)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);

    /* A client that does not know the scripts yet would repeat the request after others. */
    (void)must_hear(must_ask(client, engine_lock()));
    bowline_operation *first  = must_ask(client, engine_lock());
    bowline_operation *taking = NULL;
    bowline_hold      *hold   = NULL;

    assert_status(BOWLINE_OK, bowline_acquire_start(&taking, client, engine_lock(), NULL, NULL),
                  NULL);
    assert_status(BOWLINE_OK, bowline_operation_wait(taking, BOWLINE_FOREVER, NULL), NULL);
    bowline_operation *second = must_ask(client, engine_lock());
    assert_int_equal(must_hear(second).held, 1);
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, taking, NULL), NULL);
    bowline_holder before = must_hear(first); /* sent before, or executed now */
    assert_int_equal(before.held, THE_ENGINE->has_lease ? 0 : 1);
    must_release(hold);
}

/* Whatever the result of the query: the client works, and nothing is left. */
ENGINE_TEST(cancelled_holder_query_leaves_nothing)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_holder  holder = { .size = sizeof holder };

    for (int i = 0; i < 8; i++) {
        bowline_operation *op = must_ask(client, engine_lock());
        if (i % 4 == 1)
            (void)bowline_operation_wait(op, 0, NULL);
        if (i % 4 == 2)
            assert_status(BOWLINE_OK, bowline_operation_wait(op, BOWLINE_FOREVER, NULL), NULL);
        bool had_ended = bowline_operation_done(op) == 1;
        bowline_cancel(op);
        bowline_cancel(op);
        assert_int_equal(bowline_operation_done(op), 1);
        assert_status(had_ended ? BOWLINE_OK : BOWLINE_CANCELLED,
                      bowline_who_finish(&holder, op, NULL), NULL);
        assert_status(BOWLINE_OK, try_once(client, engine_lock()), NULL);
    }
    (void)must_ask(client, engine_lock()); /* never finished */
    bowline_cancel(must_ask(client, engine_lock()));
}

ENGINE_TEST(wrong_finish_changes_nothing)
{
    bowline_client    *client = engine_client(THE_ENGINE, NULL);
    bowline_operation *op     = must_ask(client, engine_lock());
    bowline_holder     holder = { .size = sizeof holder };
    bowline_hold      *hold   = NULL;

    assert_status(BOWLINE_USAGE, bowline_finish(op, NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_acquire_finish(&hold, op, NULL), NULL);
    assert_int_equal(must_hear(op).held, 0);
    assert_status(BOWLINE_OK, bowline_acquire_start(&op, client, engine_lock(), NULL, NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_who_finish(&holder, op, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, NULL), NULL);
    must_release(hold);
    op = NULL;
    assert_status(BOWLINE_USAGE, bowline_who_start(&op, client, "", NULL), NULL);
    assert_status(BOWLINE_USAGE, bowline_who_start(&op, client, "a\nb", NULL), NULL);
    assert_null(op);
}
