/*
 * pool.h -- clients of one store for who needs a connection of his own: one caller in each.
 *
 * WATCH and MULTI are states of a connection, from the first word of an update to its last, and
 * between them the caller's function computes for as long as it likes.  In a lane (shards.h) others
 * would wait for it, or have their commands queued in its transaction; a write of our own over the
 * same connection would be a conflict like any other's.
 *
 * A place is opened when all others are taken, up to BWL_POOL_MAX, and kept.  Who comes when every
 * one is taken waits.
 */
#ifndef BWL_RUNTIME_POOL_H
#define BWL_RUNTIME_POOL_H

#include "runtime/lock.h"
#include "protocol/store/section.h"

enum { BWL_POOL_MAX = 16 };

typedef struct bwl_pool_place {
    bwl_shard  *shard; /* NULL: not open */
    bwl_lock   *lock;  /* through which it asks */
    bwl_section section;
    bool        is_taken;
    pthread_t   taker;
} bwl_pool_place;

typedef struct bwl_pool {
    bwl_shard      *first; /* whose store it is: closed after the pool                          */
    pthread_mutex_t mutex;
    pthread_cond_t  cond;
    bwl_pool_place  places[BWL_POOL_MAX];
} bwl_pool;

void bwl_pool_init(bwl_pool *pool, bwl_shard *first);

/* Nobody is in a place any more. */
void bwl_pool_close(bwl_pool *pool);

/* Not locked: takes a place, which must be given back, waiting for one until then.  UNSUPPORTED:
 * this store has no such keys; TIMEOUT, NOMEM, SYSTEM. */
int bwl_pool_take(bwl_pool *pool, bwl_ms until, bwl_pool_place **ret_place, bwl_fault *fault);

/* Not locked: has this thread taken a place, and not given it back? */
bool bwl_pool_is_in(bwl_pool *pool);

/* Not locked.  `is_broken`: a word may still be under way in it, so it is closed. */
void bwl_pool_give(bwl_pool *pool, bwl_pool_place *place, bool is_broken);

#endif
