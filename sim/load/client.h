/*
 * client.h -- a program that uses the library: an event loop with several activities, each of which
 * acquires, extends, yields, queries and releases at random.
 *
 *      IDLE -> ACQUIRING -> HOLDING -> RELEASING -> IDLE
 *                  |         |   ^
 *                  |     EXTENDING, YIELDING
 *                  `-> cancelled, BUSY, TIMEOUT ... -> IDLE
 *
 * It reports its claims to check.h, and checks what a program can see: that every operation ends
 * once and in time, with a status that it may have.
 */
#pragma once

#include "sim/load/check.h"

typedef struct load_client load_client;

/* What the program does. */
typedef struct load_plan {
    const char *url; /* borrowed */
    uint64_t    seed;
    unsigned    activities; /* at the same time, 1 .. 8 */
    unsigned    names;      /* of locks, 1 .. CHECK_NAMES_MAX */
    unsigned    operations; /* acquires until it stops by itself; 0: no limit */
    int64_t     pause_ms;   /* between a release and the next acquire, at most */
    int64_t     hold_ms;    /* at most */
    uint32_t    lease_ms;
    uint32_t    reply_ms;
    uint32_t    late_ms; /* an operation may end so late beyond what is documented */
    unsigned    closes_in;  /* one activity of so many closes the client; 0: never */
    bool        may_fail;   /* the world has faults: UNREACHABLE, UNKNOWN, LOST may happen */
    bool        may_refuse; /* also REFUSED */
    bool        is_beside;  /* others take these names with another protocol */
    bool        never_asks; /* who holds a lock */
    unsigned    threads;    /* programs that block, on one client; 0: an event loop */
} load_plan;

typedef struct load_counts {
    uint64_t acquires;     /* that have ended */
    uint64_t statuses[16]; /* by -status */
    uint64_t extends;
    uint64_t yields;
    uint64_t queries;
    uint64_t losses;
} load_counts;

/* The plan is copied; `counts` is shared by all clients of a world. */
load_client *load_client_new(const load_plan *plan, const char *name, sim_clocks clocks,
                             load_counts *counts);

sim_process *load_client_process(const load_client *client);

/* It begins nothing new, ends what it has begun, closes the client and returns. */
void load_client_stop(load_client *client);

/* Its process must have ended. */
void load_client_free(load_client *client);
