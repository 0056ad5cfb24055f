/*
 * redis.h -- the Redis engine of one client: its router, its locks, and the requests that locks
 * make.
 *
 *      redis.c         the engine's table: URL to router, lock machine to request
 *      open.c          the URL                        close.c   the end of a client
 *      owner.c         what sessions ask of the engine, for each topology
 *      command.c       the commands of a lock's machine
 *      lock_tracker.c  what a new or a lost connection means for locks that are held
 *      waiters.c       which lock a push is for
 *      holder_query.c  who holds a lock; client_info.c: what others are shown of this client
 *      force_release.c ends the hold that a query has shown; breaker_note.c: says who did
 *      update.c        one optimistic update
 *      key_tracking.c  pushes about changed keys
 */
#pragma once

#include "engine/redis/profile.h"
#include "engine/redis/topology/router.h"

/* What a holder query has shown at one server, and what became of a forced release. */
typedef struct bwl_redis_query {
    bwl_holder_reply look;
    bwl_answer       answer;     /* 0: there is none yet            */
    bool             is_unknown; /* the release had no reply        */
} bwl_redis_query;

/* By what a lock is in the server's queue, see waiters.c. */
typedef struct bwl_redis_waiting {
    uint32_t slot; /* in the registry; 0: it never waited */
    uint64_t generation;
    bwl_ms   grant_ms;   /* how long a provisional grant lasts */
    bool     has_waited; /* this attempt was in the queue: others may be behind it */
    /* The channels by which it may be in the queue: the last one that the server is known to have,
     * and the last one that was written. */
    char queued_by[2][BWL_QUEUE_CHANNEL_MAX + 1];
} bwl_redis_waiting;

/* The engine's part of a lock.  Its key is made from its name when it is written. */
typedef struct bwl_redis_lock {
    bwl_route              route; /* first: see router.h */
    bwl_engine_lock       *lock;
    struct bwl_redis_lock *previous; /* of the client */
    struct bwl_redis_lock *next;
    bwl_redis_query       *queries;  /* one for each server; NULL: no query yet */
    bool                   is_alone; /* its renewal was refused, and would be for a whole batch */
    bwl_redis_waiting      waiting;
} bwl_redis_lock;

/* One entry: a lock that a push may name. */
typedef struct bwl_waiter {
    bwl_engine_lock *lock; /* NULL: the entry is free */
    uint64_t         generation;
    uint32_t         next_free; /* entries count from 1; 0: none */
} bwl_waiter;

typedef struct bwl_waiter_registry {
    bwl_waiter *waiters;
    uint32_t    room;
    uint32_t    first_free; /* 0: none */
} bwl_waiter_registry;

typedef struct bwl_redis {
    bwl_router          router; /* first: sessions point to it */
    bwl_redis_lock     *locks;  /* the newest first */
    bwl_waiter_registry waiters;
    char                id[BWL_QUEUE_SESSION_SIZE + 1]; /* "": not drawn yet */
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

/* The key of a lock.  The size. */
static inline size_t bwl_redis_key(char ret_key[BWL_KEY_MAX], const bwl_redis_config *config,
                                   const bwl_engine_lock *lock)
{
    return bwl_key_write(ret_key, config->key_template, lock->name, lock->name_size);
}

/* ---- open.c, close.c */

/* See bwl_engine. */
int  bwl_redis_open(bwl_host *host, const bwl_url *url, bwl_fault *fault);
int  bwl_redis_share(bwl_host *host, const bwl_host *first);
void bwl_redis_close(bwl_host *host);

/* ---- rules.c */

/* Writes protocol, rules and risk.  UNSUPPORTED: there is no such protocol or profile; USAGE, also
 * if it has a fault and the URL does not accept the risk. */
int bwl_redis_choose(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);
int bwl_redis_choose_cluster(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);
int bwl_redis_choose_quorum(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);

/* The profile of the URL, chosen before; may point settings->rules into the config.  USAGE: its
 * keys cannot be so. */
int bwl_redis_take_profile(bwl_redis_config *config, bwl_settings *settings, const bwl_url *url,
                           bwl_fault *fault);

/* ---- owner.c */

/* The callbacks of the sessions of a topology. */
const bwl_session_owner *bwl_redis_owner(bwl_redis_topology topology);

/* Sets the engine's timer to when the next session has to be woken. */
void bwl_redis_set_timer(bwl_redis *redis);

/* ---- command.c */

extern const bwl_request_kind bwl_redis_lock_request; /* of a lock's machine */
extern const bwl_request_kind bwl_redis_revalidate;   /* is what is held still ours? */

/* What the lock's machine sends, with its token of now. */
bwl_request bwl_redis_command_of(bwl_engine_lock *lock, const bwl_send *send);

/* The command by which the client's protocol extends a hold. */
bwl_redis_command bwl_redis_extension(const bwl_session *session);

/* Writes the command of the request, after the replies_to_skip of the flight, as this question,
 * whose key, signal and scripts are filled in here. */
bool bwl_redis_write_command(bwl_session *session, bwl_request *request,
                             bwl_redis_command_args *args);

/* Reads a frame of its reply. */
bwl_redis_verdict bwl_redis_read_command(bwl_session *session, bwl_request *request,
                                         const char *bytes, size_t size,
                                         bwl_request_reply *ret_reply);

/* Has no effect without the command behind it.  False: no room. */
bool bwl_redis_write_asking(bwl_session *session);

/* ---- lock_tracker.c */

/* Calls `visit` for each lock of the client; it may free the lock. */
void bwl_redis_for_each_lock(bwl_session *session, const void *arg,
                             void (*visit)(bwl_session *, bwl_engine_lock *, const void *arg));

/* See bwl_session_owner. */
void bwl_redis_on_ready(bwl_session *session);
void bwl_redis_on_restarted(bwl_session *session);
void bwl_redis_on_pushes_lost(bwl_session *session);
void bwl_redis_on_down(bwl_session *session);
bool bwl_redis_is_needed(const bwl_session *session);

/* The session has answered YES or QUEUED for this lock: it is there. */
void bwl_redis_is_at(bwl_session *session, bwl_engine_lock *lock);

/* The result of a revalidation. */
void bwl_redis_revalidated(bwl_session *session, const bwl_request *request,
                           const bwl_event *result);

/* The waiters of this slot have to look where it is now. */
void bwl_redis_slot_lost(bwl_session *session, uint16_t slot);

/* ---- waiters.c */

/* A new attempt may have to wait: names it for pushes.  False: out of memory. */
bool bwl_waiters_add(bwl_redis *redis, bwl_engine_lock *lock, bwl_ms grant_ms);
void bwl_waiters_remove(bwl_redis *redis, bwl_engine_lock *lock);

/* What a command about the queue says of this client; it is about to be written. */
bwl_queue_self bwl_redis_self(bwl_session *session, const bwl_request *request);

/* What the reply says of the queue. */
void bwl_redis_queued(bwl_session *session, const bwl_request *request,
                      const bwl_queue_status *queue_status);

void bwl_redis_on_push(bwl_session *session, const bwl_queue_push *push);

/* ---- client_info.c */

/* See bwl_session_owner. */
bool bwl_redis_name_client(bwl_session *session);
void bwl_redis_write_client_info(bwl_session *session, bwl_resp_writer *writer, const char *tag);
void bwl_redis_write_goodbye(bwl_session *session);

/* The client info is due again, now that a command is sent: submits it. */
void bwl_redis_refresh_client_info(bwl_session *session, bwl_engine_lock *lock);

/* What the client info at the server says of a holder. */
void bwl_redis_fill_in_client(bwl_holder *ret_holder, const bwl_holder_reply *look);

/* "ann@web-2": this process, for a note to others. */
void bwl_redis_name_user(char ret_who[2 * BWL_HOLDER_TEXT_MAX]);

/* ---- holder_query.c, force_release.c: see bwl_engine */

bool bwl_redis_holder_query(bwl_engine_lock *lock);
int  bwl_redis_who(bwl_engine_lock *lock, bwl_holder *ret_holder, bwl_fault *fault);
bool bwl_redis_force_release(bwl_engine_lock *lock);
int  bwl_redis_force_released(bwl_engine_lock *lock, bwl_fault *fault);

/* How a query or a forced release has failed, by its answer; OK for YES. */
int bwl_redis_query_status(const bwl_engine_lock *lock, bwl_answer answer, bwl_fault *fault);

/* Tells the hold that was shown from others of this lock; 0: it cannot be told, or is not one. */
uint64_t bwl_redis_id_of_hold(const bwl_hold *hold, const bwl_holder_reply *look);

/* ---- breaker_note.c */

/* Writes a note for the holder that was shown, in front of a forced release.  False: no room. */
bool bwl_redis_write_note(bwl_session *session, const bwl_request *request);

/* The hold by this token is no longer ours: asks who has ended it. */
void bwl_redis_ask_breaker(bwl_engine_lock *lock, unsigned node, const char *token);

/* ---- update.c */

bool bwl_redis_step(bwl_engine_lock *lock, bwl_transaction *transaction);

/* ---- key_tracking.c */

/* Is this the time to ask the server for pushes about changed keys?  Writes that; its reply comes
 * before that of the request, and may be an error. */
bool bwl_redis_wants_tracking(const bwl_session *session, const bwl_request *request);
bool bwl_redis_write_tracking(bwl_session *session);
void bwl_redis_on_key_changed(bwl_session *session, const char *bytes, size_t size);
