/*
 * cluster.h -- of a Redis Cluster: which of its nodes a request about a slot goes to.
 *
 *      redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]]...
 *
 * A session is made for each node that is asked for something.  The hosts of the URL are nodes like
 * any other.  Which node owns a slot is learned from CLUSTER SLOTS in the handshake, and from
 * MOVED.  The node that is asked decides, so the map may be old, or empty: then a request takes one
 * way more.
 *
 *      MOVED        the map is corrected, and the request goes there
 *      ASK          the request goes there once, behind ASKING; the map stays
 *      TRYAGAIN     the slot moves: the request is deferred, and sent again
 *      broken       a request that was surely not carried out goes to another node, which sends it
 *                   back by MOVED, or to where the slot is served now
 *
 * A request is redirected at most so many times, and for no longer than a server may be silent.
 * Then it ends as one that was not carried out.
 *
 * Files: cluster.c nodes and map; redirect.c redirects.
 */
#pragma once

#include "base/url.h"
#include "engine/redis/topology/router.h"
#include "engine/redis/wire/cluster.h"

enum {
    BWL_CLUSTER_HOPS_MAX  = 16,   /* of one request */
    BWL_CLUSTER_NODES_MAX = 1024, /* more than a cluster should have */
    BWL_NOBODY            = 0,    /* nodes are numbered from 1 */
};

typedef struct bwl_cluster_node {
    bwl_primary  at;
    bwl_session *session; /* NULL: it was not asked yet */
} bwl_cluster_node;

typedef struct bwl_cluster {
    bwl_router       *router;
    bwl_cluster_node *nodes; /* those of the URL first */
    unsigned          nodes_count;
    unsigned          nodes_room;
    unsigned          seeds_count;
    unsigned          turn; /* the node that was asked last when the owner was not known */
    bool              map_is_too_long; /* a reply to CLUSTER SLOTS is more than a frame can hold */
    bwl_request_list  deferred;        /* requests about slots that move, see redirect.c */
    bwl_cluster_tags  tags;
    bwl_primary       seeds[BWL_URL_HOSTS_MAX];  /* of the URL: other shards read them, unlocked */
    uint16_t          owners[BWL_CLUSTER_SLOTS]; /* the number of a node; NOBODY: not known */
} bwl_cluster;

/* ---- cluster.c */

/* Without nodes.  NULL: out of memory. */
bwl_cluster *bwl_cluster_new(bwl_router *router);
void         bwl_cluster_free(bwl_cluster *cluster); /* also NULL */

/* The nodes of the URL; those of another shard.  USAGE, NOMEM. */
int bwl_cluster_add_hosts(bwl_cluster *cluster, const bwl_url *url, bwl_fault *fault);
int bwl_cluster_add_seeds(bwl_cluster *cluster, const bwl_cluster *of);

/* The session for a slot.  NULL: out of memory. */
bwl_session *bwl_cluster_route(bwl_cluster *cluster, uint16_t slot);

/* The number of an address; if it names no host, that of the session which says it.  NOBODY: out
 * of memory, or there are too many. */
unsigned bwl_cluster_number_of(const bwl_session *session, const bwl_primary *said);

/* Its session, made if there is none.  NULL: out of memory. */
bwl_session *bwl_cluster_session(bwl_cluster *cluster, unsigned number);

/* The same if there is one; NULL: it was not asked yet. */
bwl_session *bwl_cluster_known(bwl_cluster *cluster, unsigned number);

/* Another node, to say who owns a slot: one that is connected first; of equals, one after the
 * other.  NOBODY: each other node failed when it was tried last. */
unsigned bwl_cluster_adviser(bwl_cluster *cluster, unsigned but);

/* See bwl_session_owner. */
int  bwl_cluster_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault);
void bwl_cluster_explain(const bwl_session *session, char *ret_text, size_t capacity,
                         const char *bytes, size_t size);
bool bwl_cluster_has_alternative(const bwl_session *session);
bool bwl_cluster_write_query(bwl_session *session, bwl_resp_writer *writer);
void bwl_cluster_on_query(bwl_session *session, const char *bytes, size_t size);

/* ---- redirect.c */

bool bwl_cluster_on_reply(bwl_session *session, const char *bytes, size_t size);
bool bwl_cluster_on_not_sent(bwl_session *session, const bwl_request *request);

/* Completes the oldest request of this session on a reply that redirects it.  False: it does
 * not. */
bool bwl_cluster_redirect(bwl_session *session, const char *bytes, size_t size);

/* When a deferred request has to be sent again; and does so. */
bwl_ms bwl_cluster_deadline(const bwl_cluster *cluster);
void   bwl_cluster_woken(bwl_cluster *cluster);
