/*
 * client.h -- a client: the owner of its shards, of the pool for updates, of the wakeup of its
 * event loop, and of the operations that were started and not finished.
 *
 * The struct is what the handle bowline_client points to.
 *
 * client -> shards, pool -> shard.  A shard knows its client only as a pointer for src/api.
 */
#pragma once

#include "runtime/lock.h"
#include "runtime/pool.h"
#include "runtime/shards.h"

typedef struct bowline_client    bwl_client;
typedef struct bowline_operation bwl_started_operation;

struct bowline_client {
    bwl_shards             shards;
    bwl_shard             *first;      /* of the shards */
    bwl_pool               pool;       /* for updates */
    struct bwl_wakeup     *wakeup;     /* NULL: no event loop needs a descriptor */
    pthread_mutex_t        mutex;      /* guards `operations`; taken after that of a shard */
    bwl_started_operation *operations; /* started and not finished */
};

struct bowline_operation {
    bwl_operation          inner;
    bwl_client            *client;
    bwl_started_operation *next;
    bwl_started_operation *previous;
};

/* `engines` ends with NULL; `program` is shown to others, NULL: the name of the process.  USAGE,
 * UNSUPPORTED, REFUSED, SYSTEM, NOMEM. */
int bwl_client_open(bwl_client **ret_client, const bwl_engine *const *engines,
                    const bwl_settings *asked, bool renewal_off, const char *url,
                    const char *program, bwl_fault *fault);

/* Also frees its operations. */
void bwl_client_close(bwl_client *client);

/* Not locked: creates the wakeup, once.  From then on only the first shard takes new locks, because
 * an event loop polls that one.  The others raise the wakeup.  SYSTEM, NOMEM. */
int bwl_client_need_wakeup(bwl_client *client, bwl_fault *fault);

/* Allocates the handle of an operation that is about to be started; from then on only the first
 * shard takes new locks.  With the mutex of a shard.  NOMEM.  Free frees only the handle. */
int  bwl_client_operation_new(bwl_started_operation **ret_op, bwl_client *client, bwl_fault *fault);
void bwl_client_operation_free(bwl_started_operation *op);

/* The shard with this number, 0 is the first.  NULL: there are no more. */
static inline bwl_shard *bwl_shard_at(bwl_client *client, unsigned number)
{
    return number < BWL_SHARDS_MAX ? atomic_load(&client->shards.shards[number]) : NULL;
}
