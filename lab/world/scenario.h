/*
 * scenario.h -- a scenario: clients, servers, faults, and the invariants to check.
 */
#pragma once

#include "core/core.h"
#include "core/compat_rules.h"
#include "lock/machine.h"
#include "lab/world/budget.h"
#include "lab/world/invariant.h"
#include "lab/model/mutation.h"

enum { BWL_CLIENTS_MAX = 3, BWL_SERVERS_MAX = 5 };

typedef struct bwl_clock_rules {
    bwl_ms   jump_ms;                  /* step of a server's clock */
    bwl_ms   wall_ms;                  /* how far a client's wall clock steps (30) */
    bwl_ms   skew_ms[BWL_CLIENTS_MAX]; /* offset of each client's wall clock */
    unsigned pace_of[BWL_CLIENTS_MAX]; /* of each client's clock (100) */
    unsigned rate_pace;   /* after RATE (default: the most that the drift allowance covers) */
    unsigned server_pace; /* rate of the servers' clocks (100) */
} bwl_clock_rules;

typedef struct bwl_server_rules {
    bool     stale;      /* starts with a key whose timestamp has expired */
    bool     fences;     /* it counts grants and returns the number */
    bool     keeps_all;  /* RESTORE brings back all data */
    bool     has_run_id; /* a client that reconnects sees a restart */
    bool     young_wait; /* a server has no vote for a lease after its start */
    unsigned evicts;     /* flags 1 << key: keys that may be evicted (the lock) */
} bwl_server_rules;

typedef struct bwl_queue_rules {
    bool     never_kills; /* a client may not kill its old connection */
    bool     ages;        /* a waiter without heartbeats is skipped */
    unsigned serve_max;   /* dead waiters skipped per command (64) */
    bwl_ms   keep_ms;     /* TTL of the queue after its last change; 0: none */
} bwl_queue_rules;

/* In the tables, 0 means the default in parentheses. */
typedef struct bwl_scenario {
    const char          *name;
    const char          *story;
    const bwl_protocol  *protocol;  /* token */
    bwl_terms            terms;     /* lease 30, answer 15, no end; `renews` unless never_renews */
    bwl_protocol_options options;   /* of the terms */
    bwl_ms               wait_ms;   /* wait time of an acquire (45); NEVER: no limit */
    bwl_ms               extend_ms; /* lease of an explicit extension (20) */
    bwl_ms           lease_of_ms[BWL_CLIENTS_MAX]; /* lease of each client (that of the terms) */
    bwl_clock_rules  clocks;
    bwl_server_rules server;
    bwl_queue_rules  queue;
    unsigned         servers;       /* 1 .. SERVERS_MAX (1) */
    unsigned         clients;       /* 1 .. CLIENTS_MAX (2) */
    unsigned         rounds;        /* acquires per client (1); ANY: no limit */
    unsigned         mutations;     /* flags of bwl_mutation */
    unsigned         invariants;    /* flags of bwl_invariant (all but LIVE and NO_OVERLAP) */
    bool             tries_once;    /* acquires do not wait */
    unsigned         tries_once_of; /* flags 1 << client: these clients do not wait */
    bool             never_renews;
    bool             fine;    /* time also stops one ms before each instant */
    bool             chances; /* pauses of two lengths */
    bool             is_vast; /* too large to visit every state: random walks */
    uint8_t          budget[BWL_BUDGETS_COUNT];

    /* The expected result: the invariant that breaks and the number of steps; 0: none. */
    unsigned breaks;
    unsigned steps;
} bwl_scenario;
