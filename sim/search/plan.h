/*
 * plan.h -- one world, as data: who is there, what goes wrong, and when.
 *
 * A seed gives a plan (swarm testing: each plan has its own few kinds of faults).  A plan can be
 * written, read and made smaller, and the same plan gives the same run.
 */
#pragma once

#include "sim/load/client.h"
#include "sim/world/deploy.h"

#include <stdio.h>

enum {
    PLAN_CLIENTS_MAX  = CHECK_CLIENTS_MAX,
    PLAN_FAULTS_MAX   = 64,
    PLAN_URL_MAX      = 160,
    PLAN_WAIT_LATE_MS = 250, /* with sync=, WAIT may end so late */
};

typedef enum plan_fault_kind {
    FAULT_CLIENT_STOPPED = 1, /* SIGSTOP and SIGCONT */
    FAULT_CLIENT_SUSPENDED,   /* with its machine */
    FAULT_CLIENT_KILLED,      /* and started again */
    FAULT_CLIENT_CLOCK,       /* another rate; the wall clock jumps */
    FAULT_RESET,              /* one connection */
    FAULT_CUT_TO_SERVER,      /* of one client and one server */
    FAULT_CUT_FROM_SERVER,
    FAULT_CUT,
    FAULT_SLOW,        /* the whole network */
    FAULT_NAME_SERVER, /* does not answer */
    FAULT_SERVER_STOPPED,
    FAULT_SERVER_KILLED, /* and started again */
    FAULT_SERVER_POWER,  /* lost and back */
    FAULT_SERVER_CLOCK,  /* goes back */
    FAULT_SCRIPTS_FLUSHED,
    FAULT_MEMORY_FULL,
    FAULT_DATA_FLUSHED, /* the server loses what it acknowledged */
    FAULT_SERVER_CLOCK_FORWARD,
    FAULT_SERVERS_CUT, /* one from all others, or from one: `target` */
    FAULT_FAILOVER,    /* of a primary, by an administrator */
    FAULT_SLOT_MOVED,  /* that of lock number `amount` */
    FAULT_RESTARTS,    /* of all servers, one after the other */
    FAULT_LOCK_TAKEN,  /* the key of lock number `amount` gets a foreign value */
    FAULT_LOCK_DENIED, /* the clients may not use that key */
    FAULT_KINDS_END,
} plan_fault_kind;

/* The amount of FAULT_SERVERS_CUT. */
enum {
    PLAN_CUT_FROM = 1, /* what the server sends */
    PLAN_CUT_TO   = 2,
    PLAN_CUT_ALL  = 4, /* all other servers */
    PLAN_CUT_PAIR = 8, /* the server and the target from all others: a sentinel with its primary */
};

typedef struct plan_fault {
    plan_fault_kind kind;
    unsigned        target; /* number of the client or connection */
    unsigned        server; /* its number */
    int64_t         at_ms;
    int64_t         length_ms;
    int64_t         amount; /* ppm, milliseconds or bytes, by kind */
    bool            is_absent;
} plan_fault;

typedef struct plan_client {
    load_plan load;
    int64_t   boot_ms;
    int64_t   wall_offset_ms; /* from that of the world */
    int32_t   rate_ppm;
    char      url[PLAN_URL_MAX];
    bool      has_fence; /* its protocol */
    bool      is_absent;
} plan_client;

typedef struct sim_plan {
    uint64_t             seed;
    sim_deploy_plan      servers;
    unsigned             sync;      /* replicas that must have a lock; 0: none */
    int64_t              length_ms; /* faults happen before; then everything must end */
    sim_network_settings network;
    unsigned             clients_count;
    plan_client          clients[PLAN_CLIENTS_MAX];
    unsigned             faults_count;
    plan_fault           faults[PLAN_FAULTS_MAX]; /* by at_ms */
    bool                 has_breaks;              /* bowline_break */
} sim_plan;

/* The plan of a seed.  `only`: of this topology; 0: of any. */
void sim_plan_draw(sim_plan *ret_plan, uint64_t seed, sim_topology only);

bool     sim_plan_has(const sim_plan *plan, plan_fault_kind kind);
uint32_t sim_plan_longest_lease_ms(const sim_plan *plan);

/* Without faults, an operation of a few requests ends in this time: the first one of a connection
 * is behind its handshake, and replicas may be late. */
int64_t sim_plan_answer_ns(const sim_plan *plan);

/* The effects of a fault are over so long after it, with the leases that it has left behind. */
int64_t sim_plan_grace_ms(const sim_plan *plan);

/* What this plan promises. */
check_rules sim_plan_rules(const sim_plan *plan);

/* While a hold has time left, so many servers have its key; 0: no number is promised. */
unsigned sim_plan_copies(const sim_plan *plan);

const char *sim_fault_name(plan_fault_kind kind);

/* As text, one line for each fact. */
void sim_plan_print(const sim_plan *plan, FILE *out);
