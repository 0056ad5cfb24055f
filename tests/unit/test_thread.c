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

FIXTURE(open_clients, close_clients)

TEST(client_that_closes_passes_on_holds_and_grants)
{
    bowline_hold *hold = must_acquire(clients[0], "n");
    (void)must_acquire(clients[1], "m");
    (void)must_start(clients[1], "n", BOWLINE_FOREVER);
    bowline_operation *n = must_start(clients[2], "n", BOWLINE_FOREVER);
    bowline_operation *m = must_start(clients[2], "m", BOWLINE_FOREVER);
    must_release(hold); /* granted to the client that closes */
    bowline_close(clients[1]);
    clients[1] = must_open("thread:");
    must_release(must_finish(n));
    must_release(must_finish(m));
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
