/*
 * pool.h -- shards for updates: one caller in each.
 *
 * WATCH and MULTI are states of a connection, from the first command of an update to the last, and
 * in between the caller's function computes for as long as it likes.  In a shard that is shared
 * (shards.h), other calls would wait for it or have their commands queued in its transaction, and a
 * write of our own over the same connection would count as a conflict.
 *
 * A slot is opened when all others are taken, up to BWL_POOL_MAX, and kept.  When every slot is
 * taken, a caller waits for one.
 */
#pragma once

#include "runtime/lock.h"
#include "protocol/store/transaction.h"

enum { BWL_POOL_MAX = 16 };

typedef struct bwl_pool_slot {
    bwl_shard      *shard; /* NULL: not open */
    bwl_lock       *lock;  /* its commands go through this */
    bwl_transaction transaction;
    bool            is_taken;
    pthread_t       taker;
} bwl_pool_slot;

typedef struct bwl_pool {
    bwl_shard      *first; /* has the engine and the settings; closed after the pool */
    pthread_mutex_t mutex;
    pthread_cond_t  cond;
    bwl_pool_slot   slots[BWL_POOL_MAX];
} bwl_pool;

void bwl_pool_init(bwl_pool *pool, bwl_shard *first);

/* No slot is taken any more. */
void bwl_pool_close(bwl_pool *pool);

/* Not locked: takes a slot, waiting for one until then.  End with bwl_pool_give.  UNSUPPORTED: the
 * store has locks and no other keys; TIMEOUT, NOMEM, SYSTEM. */
int bwl_pool_take(bwl_pool *pool, bwl_ms until, bwl_pool_slot **ret_slot, bwl_fault *fault);

/* Not locked: whether this thread has taken a slot and not given it back. */
bool bwl_pool_is_in(bwl_pool *pool);

/* Not locked.  `is_broken`: a command may still be in flight, so the slot is closed. */
void bwl_pool_give(bwl_pool *pool, bwl_pool_slot *slot, bool is_broken);
