/*
 * cluster.h -- a Redis Cluster for a test: three primaries, and optionally a replica of each.
 *
 * The nodes are servers (server.h), each with a cluster port beside its own.  Node i, from 0 to 2,
 * starts with the i-th third of the slots; node i + 3 is its replica.
 */
#pragma once

#include "tests/lib/server.h"

enum { CLUSTER_PRIMARIES = 3, CLUSTER_NODES_MAX = 2 * CLUSTER_PRIMARIES };

typedef struct cluster {
    server  *nodes[CLUSTER_NODES_MAX];
    server  *authority; /* its directory has the certificates; NULL: no TLS */
    int      tls_port;  /* of the first node */
    unsigned count;
    char     url[256];       /* redis+cluster://, and the primaries */
    char     token_url[300]; /* the same with protocol token */
} cluster;

/* Skips the test before Redis 7.0, where a cluster does not support protocol queue. */
void cluster_queue_needed(void);

/* "queue", or "token" before Redis 7.0: for a test that is about neither. */
const char *cluster_protocol(void);

/* Starts it, and waits until every node reports the state ok.  A node that is silent for a second
 * is down; patient: for a minute, for tests that stop no node.  Free with cluster_stop. */
cluster *cluster_start(bool has_replicas);
cluster *cluster_start_patient(void);
void     cluster_stop(cluster *c); /* also NULL */

/* Without replicas, with TLS for clients and between nodes; the url is rediss+cluster:// of the
 * first node.  Skips the test without TLS.  The last node has a certificate of the same authority
 * for another host. */
cluster *cluster_start_tls(void);

/* The slot of the lock "x", and of its other keys. */
int cluster_slot_of(cluster *c, const char *name);

/* A name of a lock whose slot starts on the i-th primary, one of many; lives until the next
 * call. */
const char *cluster_name_at(unsigned i, unsigned nth);

/* The id of a node; and which running node owns the slot, according to node `asked`. */
const char *cluster_id(cluster *c, unsigned node);
unsigned    cluster_owner(cluster *c, unsigned asked, int slot);

/* Starts to move the slot: the source redirects commands for missing keys to the target. */
void cluster_begin_move(cluster *c, int slot, unsigned from, unsigned to);
void cluster_move_key(cluster *c, const char *key, unsigned from, unsigned to);
void cluster_move_keys(cluster *c, int slot, unsigned from, unsigned to);
void cluster_end_move(cluster *c, int slot, unsigned from, unsigned to);

/* As server_becomes_empty, for every running node, and for keys of any kind. */
bool cluster_becomes_empty(cluster *c);

/* Waits, twenty seconds at most, until every running node reports this state of the cluster: "ok",
 * "fail". */
bool cluster_comes_to(cluster *c, const char *state);

/* Waits likewise until each running node knows that another node than this one owns the slot. */
bool cluster_leaves(cluster *c, int slot, unsigned node);
