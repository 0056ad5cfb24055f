/*
 * cluster.h -- a Redis Cluster: which node a request about a slot goes to.
 *
 *      redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]]...
 *
 * The client opens a session for each node that it sends requests to.  The hosts of the URL are
 * nodes like any other.  The owners of slots are learned from CLUSTER SLOTS in the handshake, and
 * from MOVED.  The nodes decide, so the map may be stale or empty: then a request takes one more
 * round trip.
 *
 *      MOVED        the map is corrected, and the request goes to the new owner
 *      ASK          the request goes to that node once, behind ASKING; the map stays
 *      TRYAGAIN     the slot is being moved: the request is deferred, and sent again
 *      silent       a node that does not answer within answer_ms is connected again; meanwhile its
 *                   requests go to other nodes, and while these redirect to it, they are deferred
 *      broken       a request that was certainly not executed goes to another node, which
 *                   redirects it by MOVED, or executes it
 *
 * The redirects of a request are limited to BWL_CLUSTER_HOPS_MAX and to two answer_ms from its
 * first submission.  After that it is completed as NOT_SENT, also if it waits for a connection.
 */
#pragma once

#include "base/url.h"
#include "engine/redis/topology/router.h"
#include "engine/redis/wire/cluster.h"

enum {
    BWL_CLUSTER_HOPS_MAX  = 16,   /* redirects of one request */
    BWL_CLUSTER_NODES_MAX = 1024, /* more than a real cluster has */
    BWL_NOBODY            = 0,    /* nodes are numbered from 1 */
};

typedef struct bwl_cluster_node {
    bwl_primary  at;
    bwl_session *session; /* NULL: not used yet */
} bwl_cluster_node;

typedef struct bwl_cluster {
    bwl_router      *router;
    unsigned         nodes_count;
    unsigned         seeds_count;
    unsigned         last_tried;      /* the last node tried while the owner was unknown */
    bool             map_is_too_long; /* the reply to CLUSTER SLOTS does not fit into a frame */
    bwl_pipeline     deferred;        /* requests about moving slots */
    bwl_cluster_tags tags;
    bwl_cluster_node nodes[BWL_CLUSTER_NODES_MAX]; /* those of the URL first */
    bwl_primary      seeds[BWL_URL_HOSTS_MAX];     /* from the URL; read without a lock */
    uint16_t         owners[BWL_CLUSTER_SLOTS];    /* index of a node; NOBODY: unknown */
} bwl_cluster;

/* A cluster without nodes.  Free it with bwl_cluster_free.  NULL: out of memory. */
bwl_cluster *bwl_cluster_new(bwl_router *router);
void         bwl_cluster_free(bwl_cluster *cluster); /* also NULL */

/* Add the nodes of the URL; those of another shard.  USAGE, NOMEM. */
int bwl_cluster_add_hosts(bwl_cluster *cluster, const bwl_url *url, bwl_fault *fault);
int bwl_cluster_add_seeds(bwl_cluster *cluster, const bwl_cluster *of);

/* The session for a slot.  NULL: out of memory. */
bwl_session *bwl_cluster_route(bwl_cluster *cluster, uint16_t slot);

/* The number of a node that has a slot and is not marked in `done`, by number.  NOBODY: there is
 * none, and *ret_is_whole says whether every slot has a known node. */
unsigned bwl_cluster_next_primary(const bwl_cluster *cluster, const bool *done, bool *ret_is_whole);

/* How many nodes have a slot, as far as they are known. */
unsigned bwl_cluster_count_primaries(const bwl_cluster *cluster);

/* The session of a node.  NULL: out of memory. */
bwl_session *bwl_cluster_session(bwl_cluster *cluster, unsigned number);

/* See bwl_session_owner. */
int  bwl_cluster_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault);
void bwl_cluster_explain(const bwl_session *session, char *ret_text, size_t capacity,
                         const char *bytes, size_t size);
bool bwl_cluster_has_alternative(const bwl_session *session);
bool bwl_cluster_write_query(bwl_session *session, bwl_resp_writer *writer);
void bwl_cluster_on_query(bwl_session *session, const char *bytes, size_t size);
bool bwl_cluster_on_reply(bwl_session *session, const char *bytes, size_t size);
bool bwl_cluster_on_not_sent(bwl_session *session, const bwl_request *request);

/* Handles a reply to the oldest request that redirects it.  False: the reply is no redirect. */
bool bwl_cluster_redirect(bwl_session *session, const char *bytes, size_t size);

/* Removes a deferred request of the latest command of the lock's machine; *ret_session is that of
 * its slot.  False: there is none. */
bool bwl_cluster_withdraw(bwl_cluster *cluster, const bwl_engine_lock *lock,
                          bwl_request *ret_request, bwl_session **ret_session);

/* When the next deferred request is due; and sends those that are due. */
bwl_ms bwl_cluster_deadline(const bwl_cluster *cluster);
void   bwl_cluster_woken(bwl_cluster *cluster);
