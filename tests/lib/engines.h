/*
 * engines.h -- one list of tests, run on every engine.
 *
 * The state of a test is its engine, and its name begins with the engine's.  After each test
 * nothing may be left: no key on the server, no descriptor and no thread in this process.
 */
#pragma once

#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

/* The properties of an engine. */
typedef struct engine {
    const char *name;
    bool        has_lease;
    bool        has_fence;
    bool        shows_fence;     /* a holder query shows the fence                         */
    bool        in_order;        /* waiters are served first come, first served            */
    bool        across_fork;     /* also excludes other processes                          */
    bool        has_descriptors; /* a hold is a descriptor, so a copy of it keeps the lock */
} engine;

typedef enum engine_kind {
    EVERY_ENGINE = 1,
    ENGINES_WITH_A_LEASE,
    ENGINES_WITH_A_QUEUE,
    LOCAL_ENGINES, /* that need no server */
    QUEUE_ENGINES, /* with a queue on a server */
} engine_kind;

/* TEST of suite.h, on every engine, on those with a lease, with a queue in a strict order, without
 * a server, with a queue on a server. */
#define ENGINE_TEST_OF(name, kind) TEST_ADDED_BY(name, engine_add(#name, test_##name, kind))
#define ENGINE_TEST(name)          ENGINE_TEST_OF(name, EVERY_ENGINE)
#define LEASE_TEST(name)           ENGINE_TEST_OF(name, ENGINES_WITH_A_LEASE)
#define QUEUE_TEST(name)           ENGINE_TEST_OF(name, ENGINES_WITH_A_QUEUE)
#define LOCAL_TEST(name)           ENGINE_TEST_OF(name, LOCAL_ENGINES)
#define SERVER_TEST(name)          ENGINE_TEST_OF(name, QUEUE_ENGINES)

/* The engine that a test runs on. */
#define THE_ENGINE ((const engine *)*state)

/* The URL of an engine, with options ("lease=300ms&wait=1s"; NULL: none).  Lives until eight more
 * are made. */
const char *engine_url(const engine *e, const char *options);

/* Waits until all of these waiters are in the queue of this test's lock; those of one client are
 * neighbours.  On an engine without a queue, until the one waiter was told that it is held. */
void engine_await_queue(const engine *e, const waiter *waiters, unsigned count);

/* A thread that releases this test's lock when an operation of another client waits for it. */
typedef struct releaser {
    pthread_t       thread;
    const engine   *engine;
    bowline_hold   *hold;
    bowline_client *waiting;
} releaser;

void releaser_start(releaser *r);

/* The name of a lock that no other test uses: a failed test may leave it held. */
const char *engine_lock(void);

/* A client that is closed at the end of the test, in the order of opening. */
#define engine_client(e, options) engine_client_at((e), (options), 0, __FILE__, __LINE__)
#define engine_client_without_renewal_thread(e, options) \
    engine_client_at((e), (options), BOWLINE_NO_THREAD, __FILE__, __LINE__)
bowline_client *engine_client_at(const engine *e, const char *options, uint32_t flags,
                                 const char *file, int line);

/* Closes it before the end of the test. */
void engine_close(bowline_client *client);

void engine_add(const char *name, CMUnitTestFunction body, engine_kind kind);
