/*
 * scenario.h -- what is explored: who takes part, what may go wrong and how often, what must hold.
 */
#ifndef BWL_LAB_WORLD_SCENARIO_H
#define BWL_LAB_WORLD_SCENARIO_H

#include "core/core.h"
#include "lock/machine.h"
#include "lab/world/budget.h"
#include "lab/world/invariant.h"
#include "lab/model/mutation.h"

enum { BWL_CLIENTS_MAX = 3, BWL_SERVERS_MAX = 5 };

/* How clocks run.  A pace is in hundredths of a ms for each true ms. */
typedef struct bwl_clock_rules {
    bwl_ms   jump_ms;                  /* how far a server's clock steps */
    bwl_ms   wall_ms;                  /* how far a client's time of day steps (30) */
    bwl_ms   skew_ms[BWL_CLIENTS_MAX]; /* of each client's time of day, from the start */
    unsigned pace_of[BWL_CLIENTS_MAX]; /* of each client's clock (100) */
    unsigned rate_pace;                /* the same, once RATE has made it wrong (what the drift
                                          allowance covers at most) */
    unsigned server_pace;              /* of the servers' clocks (100) */
} bwl_clock_rules;

/* What a server has and keeps. */
typedef struct bwl_server_rules {
    bool     stale;      /* somebody has left a key behind whose stamp is over */
    bool     fences;     /* it counts who gets the lock, and says the number with it */
    bool     keeps_all;  /* one that comes back (RESTORE) has all that it had */
    bool     has_run_id; /* who connects again learns whether it was started anew */
    bool     young_wait; /* one that was started less than a lease ago has no vote */
    unsigned evicts;     /* flags 1 << key: which may be thrown away (the key of the lock) */
} bwl_server_rules;

/* What is different where clients stand in line. */
typedef struct bwl_queue_rules {
    bool     never_kills; /* who connects again may not end what it had */
    bool     ages;        /* who waits and is not heard of for long is passed over */
    unsigned serve_max;   /* how many are passed over at a time (64) */
    bwl_ms   keep_ms;     /* when the line vanishes after it was touched last; 0: never */
} bwl_queue_rules;

/* In the table, 0 stands for what is usual; it is replaced by that before anything is explored. */
typedef struct bwl_scenario {
    const char         *name;
    const char         *story;
    const bwl_protocol *protocol;  /* token */
    bwl_terms           terms;     /* lease 30, answer 15, no end; `renews` unless never_renews */
    bwl_ms              wait_ms;   /* how long an acquire waits (45); NEVER: for ever */
    bwl_ms              extend_ms; /* what a caller who extends asks for (20) */
    bwl_ms              lease_of_ms[BWL_CLIENTS_MAX]; /* of each client's own (that of the terms) */
    bwl_clock_rules     clocks;
    bwl_server_rules    server;
    bwl_queue_rules     queue;
    unsigned            servers;       /* 1 .. SERVERS_MAX (1) */
    unsigned            clients;       /* 1 .. CLIENTS_MAX (2) */
    unsigned            rounds;        /* how often each acquires (1); ANY: for ever */
    unsigned            mutations;     /* flags of bwl_mutation */
    unsigned            invariants;    /* flags of bwl_invariant (all but LIVE and NO_OVERLAP) */
    bool                tries_once;    /* instead of waiting */
    unsigned            tries_once_of; /* flags 1 << client: these do, whatever the others do */
    bool                never_renews;
    bool                fine;    /* also stop one millisecond before each instant of interest */
    bool                chances; /* pauses of two lengths */
    bool                is_vast; /* only walked at random in a test: too large for every state */
    uint8_t             budget[BWL_BUDGETS_COUNT];

    /* What should come out: the invariant that breaks, and in how many steps; or 0: none. */
    unsigned breaks;
    unsigned steps;
} bwl_scenario;

#endif
