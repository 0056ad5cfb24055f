/*
 * deploy.h -- the servers of a world: how many there are, what each of them is, and what can happen
 * to them.
 *
 *      single      one server
 *      redlock     3 or 5 servers that do not know each other
 *      sync        a primary with replicas; its name leads to another one after a failover
 *      sentinel    a primary with replicas, and three sentinels; see sentinels.h
 *      cluster     three primaries, each with a replica or without; see cluster.h
 *
 * Server n is on host n, with the name redis-(n + 1); sentinels come last, as sentinel-1 ...
 */
#pragma once

#include "sim/world/node.h"

enum { SIM_SERVERS_MAX = 8 };

typedef enum sim_topology {
    SIM_SINGLE = 1,
    SIM_REDLOCK,
    SIM_SYNC,
    SIM_SENTINEL,
    SIM_CLUSTER,
    SIM_TOPOLOGIES_END,
} sim_topology;

typedef struct sim_deploy_plan {
    sim_topology  topology;
    unsigned      primaries; /* or independent servers */
    unsigned      replicas;  /* of each primary */
    unsigned      sentinels;
    int64_t       down_after_ns; /* of a sentinel; node-timeout of a cluster */
    unsigned      replicas_min;  /* min-replicas-to-write */
    int64_t       lag_ns;        /* see replication.h */
    size_t        backlog;
    model_version version;
    bool          forbids_info; /* the clients may not use INFO */
    const char   *password;     /* of the data servers; NULL: none; lives as long as the world */
    sim_disk      disk;
    uint64_t      seed;
    int64_t       wall_ns;              /* the clocks of the servers at the world's time 0 */
    int64_t       wall_differs_ns;      /* and by how much they differ, at most */
    void (*complain)(const char *text); /* see model_owner; may be NULL */
} sim_deploy_plan;

const char *sim_topology_name(sim_topology topology);

/* How many servers there are, and their URL without options. */
unsigned sim_deploy_count(const sim_deploy_plan *plan);
void     sim_deploy_url(const sim_deploy_plan *plan, char *ret_url, size_t size);

typedef struct sim_deploy sim_deploy;

/* All servers run. */
sim_deploy *sim_deploy_new(const sim_deploy_plan *plan);
void        sim_deploy_free(sim_deploy *deploy); /* takes NULL */

/* ---- faults: see node.h ---------------------------------------------------------------------- */

void sim_deploy_start(sim_deploy *deploy, unsigned server);
void sim_deploy_kill(sim_deploy *deploy, unsigned server, bool silent);
void sim_deploy_pause(sim_deploy *deploy, unsigned server, bool pauses);
void sim_deploy_clock(sim_deploy *deploy, unsigned server, int64_t step_ns);
void sim_deploy_command(sim_deploy *deploy, unsigned server, const char *words);

bool sim_deploy_answers(const sim_deploy *deploy, unsigned server);

/* The primary of this server's shard gets another role:
 * sync      it dies (`silent`: see sim_node_kill), and its best replica takes its place.  It is
 *           started later, and is a replica then;
 * sentinel  SENTINEL FAILOVER: nobody dies;
 * cluster   CLUSTER FAILOVER: the same, and nothing is lost.
 * Nothing happens without a replica that runs. */
void sim_deploy_failover(sim_deploy *deploy, unsigned server, bool silent);

/* In a cluster: the slot of a key moves to the shard of this server. */
void sim_deploy_move_slot(sim_deploy *deploy, const char *key, unsigned server);

/* The name service answers, or it does not. */
void sim_deploy_names(sim_deploy *deploy, bool answers);

/* ---- sentinels: see sentinels.h and node.h; there must be some ------------------------------- */

uint64_t sim_deploy_epoch_of(const sim_deploy *deploy, unsigned server);
int64_t  sim_deploy_epoch_since(const sim_deploy *deploy, uint64_t epoch);
void     sim_deploy_each_user(const sim_deploy *deploy, unsigned server, sim_visit_user *visit,
                              void *arg);

/* ---- keys ------------------------------------------------------------------------------------ */

/* Calls visit for each key of a server that clients use, if its time is not over.  What visit is
 * given: milliseconds until it expires; negative: it does not. */
void sim_deploy_each_key(sim_deploy *deploy,
                         void (*visit)(void *arg, unsigned server, const char *key,
                                       int64_t left_ms),
                         void *arg);

/* The same for the strings, with a hash of their values; servers that do not run have none. */
void sim_deploy_each_value(sim_deploy *deploy,
                           void (*visit)(void *arg, unsigned server, const char *key,
                                         uint64_t value),
                           void *arg);

/* What a server has; NULL: it does not run, or it is none with data.  ret_now_ms: by its clock. */
const model_dataset *sim_deploy_data(const sim_deploy *deploy, unsigned server, bool *ret_replica,
                                     int64_t *ret_now_ms);

/* For so long `least` of the servers with data have the key, by their clocks: nanoseconds.
 * SIM_NEVER: it has no end, or servers are down. */
int64_t sim_deploy_key_left_ns(sim_deploy *deploy, const char *key, unsigned least);
