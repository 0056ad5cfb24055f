/*
 * cluster.h -- a Redis Cluster of the test's own: three primaries, and if wanted a replica of each.
 *
 * The nodes are servers (server.h), each with a port for the others beside its own.  Node i, from 0
 * to 2, has the i-th third of the slots in the beginning; node i + 3 is its replica.
 */
#ifndef TEST_CLUSTER_H
#define TEST_CLUSTER_H

#include "tests/lib/server.h"

enum { CLUSTER_PRIMARIES = 3, CLUSTER_NODES_MAX = 2 * CLUSTER_PRIMARIES };

typedef struct cluster {
    server  *nodes[CLUSTER_NODES_MAX];
    server  *authority; /* in whose directory the certificates are; NULL: there is no TLS       */
    int      tls_port;  /* of the first node */
    unsigned count;
    char     url[256];       /* redis+cluster://, and the primaries */
    char     token_url[300]; /* the same, by protocol token */
} cluster;

/* Starts it, and waits until every node says that it is whole.  A server that cannot choose its
 * other port (before 7.0) skips the test.  Free with cluster_stop. */
cluster *cluster_start(bool has_replicas);
void     cluster_stop(cluster *c); /* also NULL */

/* Of primaries alone, which speak TLS with us and with each other, and the url is rediss+cluster://
 * of the first one; skips the test where there is none.  The last node has a certificate of the
 * same authority for another host than it is on. */
cluster *cluster_start_tls(void);

/* The slot of the lock "x", and of keys beside it. */
int cluster_slot_of(cluster *c, const char *name);

/* A name of a lock whose slot is the i-th primary's in the beginning, one of many; lives until the
 * next one is asked for. */
const char *cluster_name_at(unsigned i, unsigned nth);

/* The id that a node has, and which of those that run has the slot, as this node believes. */
const char *cluster_id(cluster *c, unsigned node);
unsigned    cluster_owner(cluster *c, unsigned asked, int slot);

/* From now on the slot is on its way: what is not there any more is asked for at the other one. */
void cluster_begin_move(cluster *c, int slot, unsigned from, unsigned to);
void cluster_move_keys(cluster *c, int slot, unsigned from, unsigned to);
void cluster_end_move(cluster *c, int slot, unsigned from, unsigned to);

/* The replica takes the place of the primary, which is there still, with all its slots.  Waits
 * until it follows, and then until each that runs knows of it. */
void cluster_switch(cluster *c, int slot, unsigned from, unsigned to);

/* As server_becomes_empty, of every node that runs, and of keys of any kind. */
bool cluster_becomes_empty(cluster *c);

/* Waits, twenty seconds at most, until every node that runs says that the cluster is so: "ok",
 * "fail". */
bool cluster_comes_to(cluster *c, const char *state);

/* Waits likewise until each that runs knows that another node than this one has the slot. */
bool cluster_leaves(cluster *c, int slot, unsigned node);

#endif
