/*
 * engines.h -- one list of cases, carried out on every engine.
 *
 * A case is a cmocka test function whose state is the engine it runs on.  It is reported as
 * "ENGINE: what it claims".  Around every case it is checked that nothing is left behind: no key on
 * the server, no descriptor and no thread in this process.
 */
#ifndef TEST_ENGINES_H
#define TEST_ENGINES_H

#include "tests/lib/testing.h"

/* What an engine promises. */
typedef struct engine {
    const char *name;
    bool        has_lease;
    bool        has_fence;
    bool        shows_fence;     /* of a holder, to who asks: it is written where the lock is     */
    bool        in_order;        /* waiters are served first come, first served                   */
    bool        across_fork;     /* excludes other processes too                                  */
    bool        has_descriptors; /* a hold is a descriptor, so a copy of it keeps the lock        */
} engine;

typedef struct engine_case {
    const char *claim;
    void (*body)(void **state);
    bool leases_only; /* says nothing on engines whose holds do not end by themselves           */
    bool queues_only; /* likewise where waiters are not served in order                          */
} engine_case;

/* A line of a table of cases: on every engine, on those with a lease, on those with a queue. */
#define CASE(claim_, body_)                \
    {                                      \
        .claim = (claim_), .body = (body_) \
    }
#define LEASE_CASE(claim_, body_)                               \
    {                                                           \
        .claim = (claim_), .body = (body_), .leases_only = true \
    }
#define QUEUE_CASE(claim_, body_)                               \
    {                                                           \
        .claim = (claim_), .body = (body_), .queues_only = true \
    }

/* The engine that a case runs on. */
#define THE_ENGINE ((const engine *)*state)

/* The URL of an engine, with options ("lease=300ms&wait=1s"; NULL: none).  Lives until eight
 * more have been made. */
const char *engine_url(const engine *e, const char *options);

/* Until so many, all of them, stand in line for the lock of this case; those of one client are
 * beside each other.  Where nobody stands in line, for as long as it takes. */
void engine_await_line(const engine *e, const waiter *waiters, unsigned count);

/* The name of a lock that no other case uses: one that fails may leave it taken. */
const char *engine_lock(void);

/* A client of it, which must come about. */
#define engine_client(e, options) must_open(engine_url((e), (options)))

/* Carries out every case on every engine; returns how many have failed. */
int engines_run(const char *group, const engine_case *cases, size_t count);

#endif
