/*
 * replication.h -- which server follows which, and the effects on their way.
 *
 * A replica connects to its primary, goes on at its own offset if the primary still has what
 * follows, and gets the whole dataset otherwise.  Then the effects arrive late, in order, and are
 * acknowledged: at once, and every second.  A cut keeps them back; after a long silence the
 * connection ends, and begins anew when both sides reach each other.
 *
 * Whether a replica may go on depends on the history of its data: a restart and a promotion begin a
 * new one, and a promoted replica remembers up to where it shares the previous one.
 *
 * Not modelled: diskless and partial transfers of a dataset, replicas of replicas, and delays of
 * the primary by either.
 */
#pragma once

#include "sim/world/node.h"

enum { SIM_NO_PRIMARY = -1 };

typedef struct sim_replication_settings {
    uint64_t seed;
    int64_t  lag_ns;     /* of effects and acknowledgements, at most */
    int64_t  silence_ns; /* and then the connection ends: repl-timeout */
} sim_replication_settings;

typedef struct sim_replication sim_replication;

/* Node n is on host n.  The nodes are borrowed, and all are primaries. */
sim_replication *sim_replication_new(sim_node *const *nodes, unsigned count,
                                     const sim_replication_settings *settings);
void             sim_replication_free(sim_replication *replication); /* takes NULL */

/* From now on `node` follows `primary`, or is a primary; also after a restart. */
void sim_replication_follow(sim_replication *replication, unsigned node, int primary);
int  sim_replication_primary_of(const sim_replication *replication, unsigned node);
bool sim_replication_is_connected(const sim_replication *replication, unsigned node);

/* What has happened to a node: its effects have grown; its process runs, or has died. */
void sim_replication_wrote(sim_replication *replication, unsigned node);
void sim_replication_started(sim_replication *replication, unsigned node);
void sim_replication_stopped(sim_replication *replication, unsigned node);

/* The node with the most data of those that follow `primary` and run, and that `may` accepts;
 * SIM_NO_PRIMARY: none.  may NULL: all. */
int sim_replication_best(const sim_replication *replication, unsigned primary,
                         bool (*may)(void *arg, unsigned node), void *arg);

/* Both run, none is stopped, and the ways between their hosts are open. */
bool sim_nodes_reach(sim_node *const *nodes, unsigned one, unsigned other);
