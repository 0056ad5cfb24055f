/*
 * cluster.h -- the nodes of a cluster: what each of them believes, failovers, and slots that move.
 *
 * There is one truth: which node each slot belongs to.  A node learns of a change late, from a node
 * that knows it and that it reaches; so a node that is cut off keeps its old view, and after
 * node-timeout without a majority it refuses to serve.  A started node refuses too, until it has
 * reached a majority for two seconds.
 *
 * A primary that a majority does not reach for node-timeout is replaced by its best replica.  A
 * manual failover happens when the replica has everything.  A slot moves key by key.
 *
 * Modelled are the decisions and their delays; not the messages of the bus, and not
 * cluster-require-full-coverage.  A move goes on after a failover, as an administrator would do it.
 *
 * Primary p has the replicas p + primaries, p + 2 * primaries ...
 */
#pragma once

#include "sim/world/replication.h"

typedef struct sim_cluster_settings {
    uint64_t seed;
    int64_t  timeout_ns; /* cluster-node-timeout */
    unsigned primaries;
    unsigned count; /* nodes */
} sim_cluster_settings;

typedef struct sim_cluster sim_cluster;

/* The nodes are borrowed, and the replication, which is NULL without replicas. */
sim_cluster *sim_cluster_new(sim_node *const *nodes, sim_replication *replication,
                             const sim_cluster_settings *settings);
void         sim_cluster_free(sim_cluster *cluster); /* takes NULL */

void sim_cluster_started(sim_cluster *cluster, unsigned node);

/* A node published a message: the others get it later, if they are reached. */
void sim_cluster_publish(sim_cluster *cluster, unsigned node, bool is_sharded, const char *channel,
                         size_t channel_size, const char *message, size_t message_size);

/* CLUSTER FAILOVER, of the primary that a replica of this node's shard follows. */
void sim_cluster_failover(sim_cluster *cluster, unsigned node);

/* The slot of this key moves to the shard of this node, unless another move is not over. */
void sim_cluster_move_slot(sim_cluster *cluster, const char *key, unsigned node);
