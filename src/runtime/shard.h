/*
 * shard.h -- one connection to the store with its state: the engine's host, a mutex, an event loop,
 * timers, locks, and a renewal thread.
 *
 * A client (client.h) has up to four of them; see client.h.  A lock stays in the shard in which it
 * was acquired.
 *
 * shard -> lock -> event_queue -> loop -> wakeup.  The engine calls back through
 * bwl_host_calls.
 *
 * Locking: the mutex of the loop guards everything here; "locked" in a comment means that the
 * caller holds it.
 */
#pragma once

#include "engine/engine.h"
#include "runtime/event_queue.h"
#include "runtime/loop.h"
#include "runtime/names.h"
#include "runtime/stats.h"

#include <stdatomic.h>

typedef struct bwl_shard bwl_shard;
typedef struct bwl_lock  bwl_lock;

/* Releases that no caller waits for; see lock.h. */
typedef struct bwl_background {
    size_t         count; /* in flight */
    bwl_lock      *first; /* failed and not reported yet, the oldest first */
    bwl_lock      *last;
    size_t         unreported;   /* length of that list */
    size_t         dropped;      /* failures when the list was full */
    size_t         dropped_lost; /* of these, how many had lost the lock */
    bwl_completion end;          /* BWL_PENDING: some are in flight, and none is to be reported */
} bwl_background;

enum { BWL_UNHEALTHY_MS = 1000 }; /* how long other shards are preferred */

struct bwl_shard {
    bwl_host                           host; /* first: an engine knows only this */
    bwl_loop                           loop;
    bwl_lock                          *locks;
    size_t                             locks_count;
    bwl_named                          named;        /* locks that others of this shard can join */
    atomic_uint                        callers;      /* calls inside that may block; see client.h */
    atomic_bool                        is_connected; /* a connection works */
    bwl_completion                     connecting;   /* result of the last bwl_shard_connect */
    _Atomic(bwl_ms)                    unhealthy_until; /* after a failed attempt to connect */
    bwl_event_queue                    events;
    const struct bwl_lock_group_calls *group_calls; /* NULL: there was no local group yet */
    size_t                             idle_groups; /* keep a lock that another may want any time */
    bwl_background                     background;
    bwl_stats                          stats;
    struct bowline_client             *client;  /* for src/api; NULL: none */
    struct bwl_lock_program           *program; /* of a lock file; the first shard owns it */
    unsigned                           number;  /* in the client, from 0 */
};

static inline bwl_shard *bwl_shard_of(bwl_host *host)
{
    return (bwl_shard *)(void *)host;
}

/* `engines` ends with NULL. */
int bwl_shard_open(bwl_shard **ret_shard, const bwl_engine *const *engines,
                   const bwl_settings *asked, bool renewal_off, const char *url, bwl_fault *fault);

/* Sends the releases of its holds, and does not wait.  All shards of a client that closes do this
 * before the first of them is closed: then they share one time limit.  NULL is a no-op. */
void bwl_shard_let_go(bwl_shard *shard);

/* After that: waits for wait_ms at most, and sends what the store has not taken yet.  False:
 * nothing is left, or the time is over.  NULL: false. */
bool bwl_shard_linger(bwl_shard *shard, bwl_ms wait_ms);

/* Lets go if that is still to be done.  NULL is a no-op. */
void bwl_shard_close(bwl_shard *shard);

/* Not locked: opens one more shard of the same store.  NOMEM, SYSTEM. */
int bwl_shard_share(bwl_shard **ret_shard, const bwl_shard *first);

/* Not locked: connects the shard unless it is connected, and waits for the result, at most half of
 * the time for one reply.  False: it is not connected. */
bool bwl_shard_connect(bwl_shard *shard);

/* locked: starts the renewal thread unless it runs, and notifies it.  SYSTEM, NOMEM. */
int bwl_shard_start_renewal(bwl_shard *shard, bwl_fault *fault);

/* USAGE: the store does not allow a lease of this length. */
int bwl_check_lease(const bwl_shard *shard, bwl_ms lease_ms, bwl_fault *fault);

/* locked: as bwl_loop_now */
static inline bwl_ms bwl_shard_now(bwl_shard *shard)
{
    return bwl_loop_now(&shard->loop);
}
