/*
 * test_thread.c -- the engine thread: several clients in one thread, so that the test chooses the
 * order of events.  A client that is not dispatched does not know yet that it was granted a lock.
 * tests/conformance tests the promises of all engines.
 */
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>

enum { CLIENTS = 3 };

static bowline_client *clients[CLIENTS];
static bowline_error   error;

static int open_clients(void **state)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        clients[i] = must_open("thread:");
    return 0;
}

static int close_clients(void **state)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        bowline_close(clients[i]);
    return 0;
}

static bowline_operation *ask(unsigned i, const char *name)
{
    bowline_operation *op;
    int                status;

    status = bowline_acquire_start(&op, clients[i], name,
                                   BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error);
    assert_status(BOWLINE_OK, status, &error);
    return op;
}

static bool has_ended(unsigned i, bowline_operation *op)
{
    (void)bowline_dispatch(clients[i], 0, NULL);
    return bowline_operation_done(op) == 1;
}

static bowline_hold *gets(unsigned i, bowline_operation *op)
{
    bowline_hold *hold;

    assert_true(has_ended(i, op));
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, &error), &error);
    return hold;
}

static void cancel(bowline_operation *op)
{
    bowline_hold *hold;

    bowline_cancel(op);
    assert_status(BOWLINE_CANCELLED, bowline_acquire_finish(&hold, op, NULL), NULL);
}

/* The fence of the holder; 0: not held. */
static uint64_t holder_of(const char *name)
{
    bowline_holder holder = { .size = sizeof holder };

    assert_int_equal(bowline_who(clients[0], name, &holder, &error), BOWLINE_OK);
    assert_true(holder.left_ms == (holder.held ? INT64_MAX : 0));
    assert_int_equal(holder.foreign, 0);
    assert_int_equal(holder.held, holder.fence != 0);
    return holder.fence;
}

FIXTURE(open_clients, close_clients)

/* The waiter was granted the lock, and cancels before it knows. */
TEST(handoffs_reach_every_waiter)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    bowline_hold            *holds[4];
    bowline_operation       *ops[4];

    for (unsigned i = 0; i < 4; i++) {
        holds[i] = must_acquire(clients[0], names[i]);
        ops[i]   = ask(1, names[i]);
    }
    bowline_operation *next   = ask(2, "b");
    uint64_t           latest = bowline_hold_fence(holds[3]);
    for (unsigned i = 0; i < 4; i++)
        must_release(holds[i]);
    cancel(ops[1]);
    for (unsigned i = 0; i < 4; i++) {
        holds[i] = i == 1 ? gets(2, next) : gets(1, ops[i]);
        assert_true(bowline_hold_fence(holds[i]) > latest);
        must_release(holds[i]);
    }
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(holder_of(names[i]), 0);
}

TEST(client_that_closes_passes_on_holds_and_grants)
{
    bowline_hold *hold = must_acquire(clients[0], "n");
    (void)must_acquire(clients[1], "m");
    (void)ask(1, "n");
    bowline_operation *n = ask(2, "n");
    bowline_operation *m = ask(2, "m");
    must_release(hold); /* granted to the client that closes */
    bowline_close(clients[1]);
    clients[1] = must_open("thread:");
    must_release(gets(2, n));
    must_release(gets(2, m));
}

/* The table of names grows several times. */
TEST(many_names_stay_held)
{
    static bowline_hold *holds[1000];
    char                 name[16];

    for (unsigned i = 0; i < COUNT_OF(holds); i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        holds[i] = must_acquire(clients[0], name);
    }
    for (unsigned i = 0; i < COUNT_OF(holds); i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        assert_status(BOWLINE_BUSY, try_once(clients[1], name), NULL);
    }
    for (unsigned i = 0; i < COUNT_OF(holds); i++)
        must_release(holds[i]);
}
