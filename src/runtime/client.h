/*
 * client.h -- a client: the owner of its shards, of a pool of shards for updates, of the wakeup of
 * its event loop, and of the operations that were started and not finished.
 *
 * The struct is what the handle bowline_client points to.
 *
 * The shards are connections that its threads need not share.  Two threads on one connection are
 * slower than each on its own, because they wait for each other.  Many threads on one connection
 * are faster: their commands go out in one packet, which saves the server and the kernel more work
 * than the waiting costs.  So a call takes a shard without a caller, and opens one if the limit
 * allows it.  If every shard has a caller, it joins one of the first two: fewer shards send more
 * commands in one packet, and with two of them this process works for one while the server works
 * for the other.  Figures: docs/explanation/performance.md.
 *
 * The first shard exists from the beginning.  An event loop has one descriptor to poll, which is
 * that of the first shard: once a client is used by an event loop, no other shard is taken.
 *
 * An update has a shard to itself.  WATCH and MULTI are states of a connection, from the first
 * command of an update to the last, and the caller's function runs in between without a time limit.
 * In a shared shard, other calls would have to wait or would get into the transaction, and a write
 * of our own over the same connection would count as a conflict.
 *
 * A slot is opened when all others are taken, up to BWL_POOL_MAX, and kept.  When every slot is
 * taken, a caller waits for one.
 *
 * client -> lock, shard.  A shard knows its client only as a pointer for src/api.
 *
 * Locking: the mutex of a shard is taken before that of the client.
 */
#pragma once

#include "runtime/lock.h"
#include "runtime/names.h"
#include "protocol/store/transaction.h"

typedef struct bowline_client    bwl_client;
typedef struct bowline_operation bwl_started_operation;

enum {
    BWL_NAME_PINS     = 1024,
    BWL_SHARDS_MAX    = 4,
    BWL_SHARDS_SHARED = 2, /* so many of them may have several calls */
    BWL_POOL_MAX      = 16,
};

typedef struct bwl_pool_slot {
    bwl_shard      *shard; /* NULL: not open */
    bwl_lock       *lock;  /* sends its commands */
    bwl_transaction transaction;
    bool            is_taken;
    pthread_t       taker;
} bwl_pool_slot;

struct bowline_client {
    bwl_shard             *first;                  /* of the shards */
    _Atomic(bwl_shard *)   shards[BWL_SHARDS_MAX]; /* the open ones, then NULL */
    atomic_uint            usable;                 /* how many may be used and opened */
    atomic_uint            pins[BWL_NAME_PINS];    /* see names.h */
    bwl_pool_slot          slots[BWL_POOL_MAX];    /* for updates */
    pthread_cond_t         slot_is_free;
    struct bwl_wakeup     *wakeup; /* NULL: no event loop needs a descriptor */
    pthread_mutex_t        mutex;  /* guards `slots`, `operations`, and the opening of a shard */
    bwl_started_operation *operations; /* started and not finished */
};

struct bowline_operation {
    bwl_operation           inner;
    bwl_client             *client;
    bwl_started_operation  *next;
    bwl_started_operation **where;   /* what points here */
    struct bwl_several     *several; /* NULL: it acquires one name, or is another operation */
    size_t                  names_count;
};

/* `engines` ends with NULL; `program` is shown to others, NULL: the name of the process.  USAGE,
 * UNSUPPORTED, REFUSED, SYSTEM, NOMEM. */
int bwl_client_open(bwl_client **ret_client, const bwl_engine *const *engines,
                    const bwl_settings *asked, bool renewal_off, const char *url,
                    const char *program, bwl_fault *fault);

/* Also frees its operations. */
void bwl_client_close(bwl_client *client);

/* Lets calls take only the first shard from now on. */
void bwl_shards_use_first_only(bwl_client *client);

/* Not locked: chooses the shard for a call that may block.  End with bwl_shard_leave. */
bwl_shard *bwl_shards_enter(bwl_client *client);

/* The same for an acquire that may block: the shard in which this name is in use, if any.  *ret_pin
 * is unpinned when nothing of the lock is left; not written if there is only one shard. */
bwl_shard *bwl_shards_enter_for(bwl_client *client, const char *name, atomic_uint **ret_pin);

/* Not locked: counts a call that may block in this shard. */
void bwl_shard_enter(bwl_shard *shard);
void bwl_shard_leave(bwl_shard *shard);

/* Not locked: takes a slot, and waits for one until `until`.  End with bwl_pool_give.  The engine
 * has step.  TIMEOUT, NOMEM, SYSTEM. */
int bwl_pool_take(bwl_client *client, bwl_ms until, bwl_pool_slot **ret_slot, bwl_fault *fault);

/* Not locked: whether this thread has taken a slot and not given it back. */
bool bwl_pool_is_in(bwl_client *client);

/* Not locked.  `is_broken`: a command may still be in flight, so the slot is closed. */
void bwl_pool_give(bwl_client *client, bwl_pool_slot *slot, bool is_broken);

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
    return number < BWL_SHARDS_MAX ? atomic_load(&client->shards[number]) : NULL;
}
