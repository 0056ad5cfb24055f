/*
 * cluster.h -- the Redis Cluster protocol: the slot of a key, the map of slots, redirects.  No I/O.
 *
 *      CLUSTER SLOTS       [[first, last, [host, port, ...], replicas ...], ...]
 *      ASKING              OK: the next command, and no other, is for a slot that moves here
 *
 *      -MOVED slot host:port       that node owns the slot; nothing was carried out
 *      -ASK slot host:port         the key is not here, and the slot moves to that node: send this
 *                                  command there once, after ASKING
 *
 * An address without a host means the host of the node that replied.  The host "?" means: unknown.
 *
 * Source: redis.io, "Redis cluster specification", its sections "Key distribution model", "Hash
 * tags", "MOVED Redirection" and "ASK redirection"; "CLUSTER SLOTS".
 */
#pragma once

#include "engine/redis/wire/sentinel.h"

enum { BWL_CLUSTER_SLOTS = 16384 };

/* The slot of a key: the lower 14 bits of the CRC16 (XMODEM) of its hash tag. */
uint16_t bwl_cluster_slot(const char *key, size_t size);

/* For each slot, the lowest number whose decimal digits have this slot.  Found on demand, and kept.
 * Begin with { 0 }. */
typedef struct bwl_cluster_tags {
    uint32_t next;                  /* the next number to try */
    uint32_t of[BWL_CLUSTER_SLOTS]; /* the number plus one; 0: not found yet */
} bwl_cluster_tags;

uint32_t bwl_cluster_tag(bwl_cluster_tags *tags, uint16_t slot);

/* Slots `first` to `last`, and their primary.  Its host is "" if it is the host of the node that
 * replied. */
typedef struct bwl_cluster_range {
    uint16_t    first;
    uint16_t    last;
    bwl_primary primary;
} bwl_cluster_range;

/* An iterator over a reply to CLUSTER SLOTS. */
typedef struct bwl_cluster_walk {
    bwl_resp_cursor cursor;
    uint32_t        left;
} bwl_cluster_walk;

/* False: the frame is not such a reply. */
bool bwl_cluster_begin(bwl_cluster_walk *ret_walk, const char *bytes, size_t size);

/* Reads the next range; skips one without a known primary.  1: there is one; 0: the end; -1: the
 * rest is malformed. */
int bwl_cluster_next(bwl_cluster_walk *walk, bwl_cluster_range *ret_range);

typedef enum bwl_redirect_kind {
    BWL_REDIRECT_MOVED = 1,
    BWL_REDIRECT_ASK,
} bwl_redirect_kind;

typedef struct bwl_redirect {
    bwl_redirect_kind kind;
    uint16_t          slot;
    bwl_primary       to; /* host: as in a range */
} bwl_redirect;

/* True if the frame is a redirect.  False also for a malformed redirect. */
bool bwl_cluster_read_redirect(bwl_redirect *ret_redirect, const char *bytes, size_t size);
