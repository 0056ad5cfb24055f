/*
 * redis.h -- the Redis engine of one client: its router, its locks, and their requests.
 *
 *      redis.c         the engine's table; the callbacks of sessions, one table for each topology
 *      open.c          opens a URL
 *      command.c       the commands of a lock's machine; pushes about changed keys
 *      lock_tracker.c  the effect of a new or a lost connection on held locks
 *      waiters.c       finds the lock that a push is for
 *      queue_watch.c   learns that another client waits for a held lock
 *      holder_query.c  finds the holder of a lock; client_info.c publishes this client's data
 *      holders.c       finds all holders; listing.c lists the held names
 *      force_release.c releases another client's hold, and records who did it; breaker.c reads that
 *      update.c        one optimistic update; announce.c, observe.c: see election.h
 */
#pragma once

#include "engine/redis/profile.h"
#include "engine/redis/topology/router.h"

/* The result of a holder query at one server, and of a forced release. */
typedef struct bwl_redis_query {
    bwl_holder_reply look;
    bwl_answer       answer;     /* 0: none yet              */
    bool             is_unknown; /* the release had no reply */
    void            *item;       /* of a list */
} bwl_redis_query;

typedef struct bwl_redis_holders bwl_redis_holders;

/* A lock's registration in the server's queue, see waiters.c. */
typedef struct bwl_redis_waiting {
    uint32_t slot; /* index in the registry; 0: it never waited */
    uint64_t generation;
    bwl_ms   grant_ms;   /* TTL of a provisional grant */
    uint32_t heartbeats; /* of this attempt */
    bool     has_waited; /* this attempt was queued: others may be queued behind it */
    /* The channels under which it may be queued: the latest that the server has confirmed, and the
     * latest that was written. */
    char queued_by[2][BWL_QUEUE_CHANNEL_MAX + 1];
} bwl_redis_waiting;

/* What the server shows people of a hold, see client_info.c. */
typedef struct bwl_redis_shown {
    bwl_ms       granted_at; /* by the clock of this client */
    int64_t      command_pid;
    bwl_ms       at;      /* when it was sent last, ... */
    bwl_session *session; /* ... over this connection */
    uint64_t     opened;
    char         token[BWL_QUEUE_TOKEN_SIZE + 1]; /* of the hold that is shown; "": none */
} bwl_redis_shown;

/* The engine's part of a lock.  Its key is computed from its name when a command is written. */
typedef struct bwl_redis_lock {
    bwl_route                   route; /* first: see router.h */
    bwl_engine_lock            *lock;
    struct bwl_redis_lock      *previous; /* in the client's list */
    struct bwl_redis_lock      *next;
    bwl_redis_query            *queries;   /* one for each server; NULL: no query yet */
    bwl_redis_holders          *holders;   /* all of them: holders.c; NULL: no query yet */
    bwl_passed_hold            *passed;    /* what it adopts; NULL: it does not */
    struct bwl_redis_announced *announced; /* what its holder announces; NULL: nothing yet */
    struct bwl_redis_observer  *observer;  /* NULL: it does not observe who leads */
    bool              is_watched; /* queue_watch.c: another client that waits will be noticed */
    bool              is_alone;   /* do not batch: it was refused, or has to be sent alone */
    bwl_redis_waiting waiting;
    bwl_redis_shown   shown;
} bwl_redis_lock;

/* One entry of the registry: a lock that a push may name. */
typedef struct bwl_waiter {
    bwl_engine_lock *lock; /* NULL: the entry is free */
    uint64_t         generation;
    uint32_t         next_free; /* indices start at 1; 0: none */
} bwl_waiter;

typedef struct bwl_waiter_registry {
    bwl_waiter *waiters;
    uint32_t    room;
    uint32_t    first_free; /* 0: none */
} bwl_waiter_registry;

/* The last holds that holder queries have shown: breaker.c. */
typedef struct bwl_redis_seen bwl_redis_seen;

typedef struct bwl_redis {
    bwl_router                 router;        /* first: session->owner_data points to it */
    bwl_ms                     goodbye_until; /* while closing: the last bytes are awaited */
    bwl_redis_lock            *locks;         /* newest first */
    bwl_waiter_registry        waiters;
    bwl_redis_seen            *seen;       /* NULL: none yet */
    struct bwl_redis_observer *observers;  /* under way */
    bool                       was_broken; /* a hold was: the note about it outlives this client */
    char                       id[BWL_QUEUE_SESSION_SIZE + 1]; /* "": not generated yet */
} bwl_redis;

static inline bwl_redis *bwl_redis_of(const bwl_host *host)
{
    return host->store;
}

static inline bwl_redis_lock *bwl_redis_lock_of(const bwl_engine_lock *lock)
{
    return lock->part;
}

/* The session that a request about this lock goes to.  NULL: out of memory. */
static inline bwl_session *bwl_redis_route(const bwl_engine_lock *lock, unsigned node)
{
    return bwl_router_route(&bwl_redis_of(lock->host)->router, lock, node);
}

/* pass_on.c */
extern const bwl_passing bwl_redis_passing;

/* Writes the key of a lock; returns its size. */
static inline size_t bwl_redis_key(char ret_key[BWL_KEY_MAX], const bwl_redis_config *config,
                                   const bwl_engine_lock *lock)
{
    return bwl_key_write(ret_key, config->key_template, lock->name, lock->name_size);
}

/* ---- open.c */

/* See bwl_engine. */
int bwl_redis_open(bwl_host *host, const bwl_url *url, bwl_fault *fault);
int bwl_redis_share(bwl_host *host, const bwl_host *first);

/* ---- rules.c */

/* Writes protocol, rules and risk.  UNSUPPORTED: no such protocol or profile; USAGE: a bad option,
 * or a known fault that the URL does not accept. */
int bwl_redis_choose(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);
int bwl_redis_choose_cluster(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);
int bwl_redis_choose_quorum(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);

/* Reads the profile's options in the URL; may point the rules of the settings into the config.
 * USAGE: the key template does not fit the profile. */
int bwl_redis_take_profile(bwl_redis_config *config, bwl_settings *settings, const bwl_url *url,
                           bwl_fault *fault);

/* ---- redis.c */

/* The session callbacks of a topology. */
const bwl_session_owner *bwl_redis_owner(bwl_redis_topology topology);

void bwl_redis_close(bwl_host *host); /* see bwl_engine */

/* Whether a lock may have this key.  USAGE. */
int bwl_redis_check_key(const bwl_host *host, const char *key, size_t size, bwl_fault *fault);

/* ---- command.c */

extern const bwl_request_kind bwl_redis_lock_request; /* a command of a lock's machine */
extern const bwl_request_kind bwl_redis_step_request; /* a command of a lock file, see step.c */
extern const bwl_request_kind bwl_redis_revalidate;   /* checks whether a hold is still ours */

/* Writes the request's command after the skipped commands in front of it (flight.replies_to_skip).
 * Fills in the key, the signal, the script options and, without one, the share.  False: no room. */
bool bwl_redis_write_command(bwl_session *session, bwl_request *request,
                             bwl_redis_command_args *args);

/* Reads one frame of the reply. */
bwl_redis_verdict bwl_redis_read_command(bwl_session *session, bwl_request *request,
                                         const char *bytes, size_t size,
                                         bwl_request_reply *ret_reply);

enum { BWL_PUSH_MAX = 4096 }; /* a longer push about changed keys counts as about any key */
void bwl_redis_on_key_changed(bwl_session *session, const char *bytes, size_t size);

/* Writes ASKING, which affects only the next command.  False: no room. */
bool bwl_redis_write_asking(bwl_session *session);

/* ---- lock_tracker.c */

/* Calls `visit` for each lock of the client; `visit` may free the lock. */
void bwl_redis_for_each_lock(bwl_session *session, const void *arg,
                             void (*visit)(bwl_session *, bwl_engine_lock *, const void *arg));

/* See bwl_session_owner. */
void bwl_redis_on_ready(bwl_session *session);
void bwl_redis_on_restarted(bwl_session *session);
void bwl_redis_on_pushes_lost(bwl_session *session);
void bwl_redis_on_down(bwl_session *session);
bool bwl_redis_is_needed(const bwl_session *session);

/* The session answered YES or QUEUED for this lock: records it as the lock's owner node. */
void bwl_redis_is_at(bwl_session *session, bwl_engine_lock *lock);

/* The server told the owner of the lock that it has another value, or none: sets its error. */
void bwl_redis_note_loss(bwl_engine_lock *lock, bowline_loss loss);

/* The result of a revalidation. */
void bwl_redis_revalidated(bwl_session *session, const bwl_request *request,
                           const bwl_event *result);

/* Another node owns this slot now: sends a DOWN event to the locks that wait in it. */
void bwl_redis_slot_lost(bwl_session *session, uint16_t slot);

/* The hold of this request is lost: queries who released it by force.  The machine gets the result
 * of the request after that; NULL: it has it.  False: nobody is queried. */
bool bwl_redis_ask_breaker(const bwl_request *found, const bwl_event *result);

/* ---- waiters.c */

/* Registers a new attempt that may be queued, so that pushes can name it.  False: out of memory. */
bool bwl_waiters_add(bwl_redis *redis, bwl_engine_lock *lock, bwl_ms grant_ms);
void bwl_waiters_remove(bwl_redis *redis, bwl_engine_lock *lock);
bool bwl_waiters_renew(bwl_engine_lock *lock); /* whether this heartbeat renews the expiry */

/* The fields that describe this client in a queue command that is about to be written. */
bwl_queue_self bwl_redis_self(bwl_session *session, const bwl_request *request);

/* Records the queue status of a reply. */
void bwl_redis_queued(bwl_session *session, const bwl_request *request,
                      const bwl_queue_status *queue_status);
void bwl_redis_on_push(bwl_session *session, const bwl_queue_push *push);

/* ---- client_info.c */

/* See bwl_session_owner. */
bool bwl_redis_name_client(bwl_session *session);
void bwl_redis_write_client_info(bwl_session *session, bwl_resp_writer *writer, const char *tag);
void bwl_redis_write_goodbye(bwl_session *session);

/* Submits the client info again if it is due.  Call after a command of this lock was sent. */
void bwl_redis_refresh_client_info(bwl_session *session, bwl_engine_lock *lock);

/* Fills in the holder's user, host and program from its client info at the server. */
void bwl_redis_fill_in_client(bwl_holder *ret_holder, const bwl_holder_reply *look);

/* "ann@web-2": names this process in notes to other clients. */
void bwl_redis_name_user(char ret_who[2 * BWL_HOLDER_TEXT_MAX]);

/* ---- breaker.c: see bwl_engine_view */

bool bwl_redis_ask_breaker_of(bwl_engine_lock *lock, uint64_t id);
int  bwl_redis_breaker_of(bwl_engine_lock *lock, char ret_by[BWL_BREAKER_MAX], bwl_fault *fault);

/* Remembers the hold that the reply shows, with protocol queue. */
void bwl_redis_remember_hold(bwl_redis *redis, const bwl_holder_reply *look);

/* The status of a failed query or forced release, from its answer; OK for YES. */
int bwl_redis_query_status(const bwl_engine_lock *lock, bwl_answer answer, bwl_fault *fault);

/* Identifies this hold among all holds of the lock; 0: not identifiable, or no hold. */
uint64_t bwl_redis_id_of_hold(const bwl_hold *hold, const bwl_holder_reply *look);

/* ---- update.c */

bool bwl_redis_step(bwl_engine_lock *lock, bwl_transaction *transaction);
