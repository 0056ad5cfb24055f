/*
 * pool.h -- shards for updates: one caller in each.
 *
 * WATCH and MULTI are states of a connection, from the first command of an update to the last, and
 * the caller's function runs in between without a time limit.  In a shared shard (client.h), other
 * calls would have to wait or would get into the transaction, and a write of our own over the same
 * connection would count as a conflict.
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
    bwl_lock       *lock;  /* sends its commands */
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

/* No slot may be taken. */
void bwl_pool_close(bwl_pool *pool);

/* Not locked: takes a slot, and waits for one until `until`.  End with bwl_pool_give.  UNSUPPORTED:
 * the store has only locks; TIMEOUT, NOMEM, SYSTEM. */
int bwl_pool_take(bwl_pool *pool, bwl_ms until, bwl_pool_slot **ret_slot, bwl_fault *fault);

/* Not locked: whether this thread has taken a slot and not given it back. */
bool bwl_pool_is_in(bwl_pool *pool);

/* Not locked.  `is_broken`: a command may still be in flight, so the slot is closed. */
void bwl_pool_give(bwl_pool *pool, bwl_pool_slot *slot, bool is_broken);
