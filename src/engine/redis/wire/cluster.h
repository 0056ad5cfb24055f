/*
 * cluster.h -- what is said to a node of a Redis Cluster, and what it says: which slot a key is in,
 * which node has a slot, and that another node has it.  Pure.
 *
 *      CLUSTER SLOTS       [[first, last, [host, port, ...], replicas ...], ...]
 *      ASKING              OK: the next command alone is for a slot that is on its way here
 *
 *      -MOVED slot host:port       the slot is that node's: nothing was carried out
 *      -ASK slot host:port         the key is not here (any more), the slot is on its way to that
 *                                  node: ask there this once, behind ASKING
 *
 * An address without a host means the host that says it.  One whose host is "?" names nobody.
 *
 * Source: redis.io, "Redis cluster specification", its sections "Key distribution model", "Hash
 * tags", "MOVED Redirection" and "ASK redirection"; "CLUSTER SLOTS".
 */
#ifndef BWL_ENGINE_REDIS_WIRE_CLUSTER_H
#define BWL_ENGINE_REDIS_WIRE_CLUSTER_H

#include "engine/redis/wire/resp.h"
#include "engine/redis/wire/sentinel.h"

enum {
    BWL_CLUSTER_SLOTS            = 16384,
    BWL_CLUSTER_COMMAND_SIZE_MAX = 64, /* for one of the words below */
};

/* The slot of a key: the CRC16 (XMODEM) of its hash tag, of which 14 bits count. */
uint16_t bwl_cluster_slot(const char *key, size_t size);

/* A text that lies in a slot: the first number from 0 on that does, in decimal.  They are looked
 * for when they are wanted, and kept; begin with { 0 }. */
typedef struct bwl_cluster_tags {
    uint32_t next; /* that was not looked at yet                                               */
    uint32_t of[BWL_CLUSTER_SLOTS]; /* and one more; 0: not found yet                          */
} bwl_cluster_tags;

uint32_t bwl_cluster_tag(bwl_cluster_tags *tags, uint16_t slot);

void bwl_cluster_write_slots(bwl_resp_writer *writer);
void bwl_cluster_write_asking(bwl_resp_writer *writer);

/* Slots from the first to the last of which one node is the primary.  Its host is "" where it is
 * that of whoever says so. */
typedef struct bwl_cluster_range {
    uint16_t    first;
    uint16_t    last;
    bwl_primary primary;
} bwl_cluster_range;

/* The walk over an answer to CLUSTER SLOTS. */
typedef struct bwl_cluster_walk {
    bwl_resp_cursor cursor;
    uint32_t        left;
} bwl_cluster_walk;

/* False: it is no such answer. */
bool bwl_cluster_begin(bwl_cluster_walk *ret_walk, const char *bytes, size_t size);

/* The next range; one that names nobody is passed over.  1: there is one; 0: that was all; -1: the
 * rest is no answer. */
int bwl_cluster_next(bwl_cluster_walk *walk, bwl_cluster_range *ret_range);

typedef enum bwl_redirect_kind {
    BWL_REDIRECT_MOVED = 1,
    BWL_REDIRECT_ASK,
} bwl_redirect_kind;

typedef struct bwl_redirect {
    bwl_redirect_kind kind;
    uint16_t          slot;
    bwl_primary       to; /* its host as that of a range                                        */
} bwl_redirect;

/* Is the frame an error that says who is to be asked?  False too, if it says so badly. */
bool bwl_cluster_read_redirect(bwl_redirect *ret_redirect, const char *bytes, size_t size);

#endif
