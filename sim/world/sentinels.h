/*
 * sentinels.h -- three sentinels that watch a primary and its replicas, and replace it.
 *
 * Each sentinel looks twice a second, and believes what it sees from its own host.  A primary that
 * it did not reach for a while is down for it.  If another one agrees, and a majority votes for it,
 * it promotes the replica with the most data that it reaches, and has a view with a higher epoch
 * then.  The others take that view over from a sentinel that they reach, or that reaches a server
 * that they reach too.  A sentinel with the newest view makes every other server follow its
 * primary.  So one that is cut off keeps the old view, and its side the old primary.
 *
 * Modelled are the decision and its delays; not the messages, a TILT, nor a sentinel that dies
 * between a promotion and its announcement.
 */
#pragma once

#include "sim/world/replication.h"

typedef struct sim_sentinels_settings {
    uint64_t seed;
    int64_t  down_after_ns;
    unsigned servers; /* nodes 0 .. servers - 1; node 0 is the primary at first */
    unsigned count;   /* and the sentinels are the nodes behind them */
} sim_sentinels_settings;

typedef struct sim_sentinels sim_sentinels;

#define SIM_SERVICE_NAME "mymaster"

/* The nodes and the replication are borrowed. */
sim_sentinels *sim_sentinels_new(sim_node *const *nodes, sim_replication *replication,
                                 const sim_sentinels_settings *settings);
void           sim_sentinels_free(sim_sentinels *sentinels); /* takes NULL */

/* A sentinel was started again: it has the view that it had. */
void sim_sentinels_started(sim_sentinels *sentinels, unsigned node);

/* The epoch in which this server became the primary; 0: it never did. */
uint64_t sim_sentinels_epoch_of(const sim_sentinels *sentinels, unsigned server);
/* Since when most of the sentinels have known this epoch, or a higher one; SIM_NEVER: they do
 * not. */
int64_t sim_sentinels_know_since(const sim_sentinels *sentinels, uint64_t epoch);

/* SENTINEL FAILOVER: all servers may be alive. */
void sim_sentinels_failover(sim_sentinels *sentinels);
