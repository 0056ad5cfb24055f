/*
 * cluster.h -- of a Redis Cluster: which of its nodes is asked for which lock.
 *
 *      redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]]...
 *
 * A client of a cluster has one store that never connects, made from the URL; and beside it one for
 * each node that was asked for something, made after the first one's pattern, with a connection of
 * its own.
 *
 * The hosts of the URL are nodes like any other.  Which one has a slot is learned from what they
 * say: CLUSTER SLOTS when one is greeted, and MOVED.  The last word is always that of the node that
 * is asked, so the map may be old, or empty: then a question takes one way more.
 *
 *      MOVED        the map is mended, and the question goes there
 *      ASK          the question goes there, once, behind ASKING; the map stays
 *      broken       a question that was surely not carried out goes to another node, which sends
 *                   it back by MOVED, or to where the slot is served now
 *
 * A question is sent on at most so many times, and for no longer than a server may be silent.  Then
 * it ends as one that was not carried out, and whoever asked may ask again.
 */
#ifndef BWL_ENGINE_REDIS_TOPOLOGY_CLUSTER_H
#define BWL_ENGINE_REDIS_TOPOLOGY_CLUSTER_H

#include "engine/redis/session/session.h"
#include "engine/redis/wire/cluster.h"

enum {
    BWL_CLUSTER_HOPS_MAX  = 16,   /* of one question */
    BWL_CLUSTER_NODES_MAX = 1024, /* more than a cluster should have                            */
};

typedef struct bwl_cluster_node {
    bwl_primary      at;
    bwl_redis_store *store; /* NULL: it was not asked yet                                      */
} bwl_cluster_node;

struct bwl_cluster {
    bwl_redis_store  *pattern; /* the client's first, and behind it those that nodes have       */
    bwl_cluster_node *nodes;   /* those of the URL first */
    unsigned          nodes_count;
    unsigned          nodes_room;
    unsigned          seeds_count;
    unsigned          turn; /* whom to ask when nobody knows                                  */
    bool              map_is_too_long; /* an answer to CLUSTER SLOTS is more than we can read  */
    bwl_redis_open_question *aside;    /* see slots.h                                         */
    unsigned                 aside_count;
    unsigned                 aside_room;
    bwl_cluster_tags         tags;
    bwl_primary seeds[BWL_URL_HOSTS_MAX];  /* of the URL: other lanes read them, unlocked   */
    uint16_t    owners[BWL_CLUSTER_SLOTS]; /* a node's place, from 1; 0: not known        */
};

enum { BWL_NOBODY = 0 }; /* places count from 1 */

/* The place of an address.  Where no host is said, it is that of who says it.  NOBODY: out of
 * memory, or there are too many. */
unsigned bwl_redis_place_said(const bwl_redis_store *store, const bwl_primary *said);

/* NULL: out of memory. */
bwl_redis_store *bwl_redis_store_at(bwl_cluster *cluster, unsigned place);

/* NULL: nobody has asked it yet. */
const bwl_redis_store *bwl_redis_known_at(bwl_cluster *cluster, unsigned place);

/* The last attempt to reach it has failed. */
bool bwl_redis_is_suspect(const bwl_redis_store *store);

/* Another node, to say who has a slot: the nearest; of those that are equally near, one after the
 * other.  NOBODY: there is none that did not fail when it was tried last. */
unsigned bwl_redis_adviser(bwl_cluster *cluster, unsigned but);

/* Does the URL name nodes of a cluster? */
bool bwl_redis_is_cluster(const bwl_url *url);

/* As bwl_redis_choose, for those.  UNSUPPORTED too. */
int bwl_redis_choose_cluster(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);

/* Its nodes, once the rest of the store is made.  Nothing, for any other URL.  USAGE, NOMEM. */
int  bwl_redis_take_nodes(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault);
int  bwl_redis_share_nodes(bwl_redis_store *store, const bwl_redis_store *its);
void bwl_redis_free_nodes(bwl_redis_store *store); /* of the one that never connects           */

/* The slot of its keys, which was computed when the lock was made. */
uint16_t bwl_redis_slot_of(const bwl_engine_lock *lock);

/* Where a question about this lock goes now; of several servers, to that one.  NULL: out of
 * memory. */
bwl_redis_store *bwl_redis_store_for(bwl_engine_lock *lock, unsigned node);

/* It has said YES; and: was it the last one to do so, or is it where the lock has moved?  And: was
 * the last one to do so a process that was there before this one? */
void bwl_redis_is_at(bwl_redis_store *store, bwl_engine_lock *lock);
bool bwl_redis_is_home(const bwl_redis_store *store, const bwl_engine_lock *lock);
bool bwl_redis_gave_before(const bwl_redis_store *store, const bwl_engine_lock *lock);

/* Is the map asked for in every greeting?  Writes that, and reads the answer: whatever it says, we
 * go on. */
bool bwl_redis_asks_slots(const bwl_redis_store *store);
void bwl_redis_map_broke(bwl_redis_store *store); /* if that answer was on its way            */
void bwl_redis_write_slots(const bwl_redis_store *store, bwl_resp_writer *writer);
void bwl_redis_said_slots(bwl_redis_store *store, const char *bytes, size_t size);

/* OK; REFUSED: the server says that it is this ("standalone", "cluster", or nothing), and that does
 * not go with the URL. */
int bwl_redis_check_mode(const bwl_redis_store *store, const bwl_resp_value *mode,
                         bwl_fault *fault);

/* To an error of a node that was taken for a server: adds what to write. */
void bwl_redis_name_cluster(const bwl_redis_store *store, char *ret_text, size_t capacity,
                            const char *bytes, size_t size);

/* The answer to a question that is not in the ring any more sends it on.  False: it does not. */
bool bwl_redis_is_sent_on(const bwl_redis_store *store, const bwl_redis_open_question *question,
                          const char *bytes, size_t size);

/* What its machine has given up on must not be asked behind what it asks now. */
bool bwl_redis_is_wanted(const bwl_redis_open_question *question);

/* Puts it as if it had never been written.  False: out of memory. */
bool bwl_redis_put_anew(bwl_redis_store *store, const bwl_redis_open_question *question);

/* And so the oldest question goes there; or ends, if it was sent on too often or for too long, or
 * nobody wants it any more. */
void bwl_redis_sent_on(bwl_redis_store *store, const char *bytes, size_t size);

/* One that could not be asked of this node is put to another.  False: as above. */
bool bwl_redis_ask_another(bwl_redis_store *store, const bwl_redis_open_question *question);

/* What is held may be with another node by now, as this one cannot be reached: looks for it. */
void bwl_redis_seek_held(bwl_redis_store *store);

#endif
