/*
 * host.h -- what an engine sees of a client and of a lock, and what it may ask of the runtime.
 *
 * A bwl_host is the engine's view of one client, a bwl_engine_lock that of one lock.  Each is the
 * first member of what the runtime keeps.  An engine writes no field of them but those that their
 * comments name.
 *
 * The calls go through a table that the host carries: no engine links against the runtime.
 */
#pragma once

#include "base/entropy.h"
#include "base/fork_guard.h"
#include "engine/settings.h"
#include "lock/machine.h"
#include "net/reactor.h"

#include <stdarg.h>

typedef struct bwl_host        bwl_host;
typedef struct bwl_engine_lock bwl_engine_lock;

enum { BWL_HOLDER_TEXT_MAX = 64 }; /* bytes of a text about a client or a holder, with the NUL */

/* What the runtime does for an engine.  All but `wake` need the client's mutex. */
typedef struct bwl_host_calls {
    bwl_ms (*now)(bwl_host *host);
    bwl_ms (*next_timer)(bwl_host *host);
    void (*set_timer)(bwl_host *host, bwl_ms at);
    void (*wake)(bwl_host *host);
    void (*lock)(bwl_host *host);
    void (*unlock)(bwl_host *host);
    bool (*may_hold_back)(const bwl_host *host);
    void (*connected)(bwl_host *host, bool is_connected);
    void (*background_sent)(bwl_host *host);
    void (*background_answered)(bwl_host *host);
    void (*event)(bwl_engine_lock *lock, bwl_event ev);
    void (*revoke)(bwl_engine_lock *lock);
    void (*query_done)(bwl_engine_lock *lock);
    void (*pin)(bwl_engine_lock *lock);
    void (*unpin)(bwl_engine_lock *lock);
    void (*set_error)(bwl_engine_lock *lock, const char *format, va_list arguments);
    void (*set_fault)(bwl_engine_lock *lock, const bwl_fault *why);
    void (*clear_error)(bwl_engine_lock *lock);
    bool (*is_awaited)(const bwl_engine_lock *lock);
} bwl_host_calls;

/* What is held back for a moment, to go out in one packet. */
typedef struct bwl_coalescing {
    bool   is_on;    /* more commands are about to come: hold back until engine->flush */
    size_t expected; /* threads that were signalled and may send more                  */
    bwl_ms since;    /* written by the engine when it holds something back; 0: nothing */
} bwl_coalescing;

struct bwl_host {
    const bwl_host_calls    *calls;
    const struct bwl_engine *engine;
    void                    *store; /* the engine's */
    unsigned                 nodes; /* servers that a lock spans; written by open and share */
    bwl_settings             settings;
    char           program[BWL_HOLDER_TEXT_MAX]; /* shown to others; "": the process's name */
    bwl_fork_guard guard;
    bwl_reactor    reactor;
    bwl_entropy    entropy;
    bwl_coalescing coalescing;
    size_t         pending; /* requests without a reply; counted by the engine                   */
    bwl_ms         latest;  /* the clock as it was read last                                     */
    bool takes_no_locks;    /* the client is for updates alone                                   */
    bool closing;           /* replies are not read any more                                     */
    bool watches;           /* written by the engine: a connection is open or being opened       */
};

struct bwl_engine_lock {
    bwl_host *host;
    bwl_hold  hold;
    void     *part;          /* the engine's own */
    uint32_t  latest_tag;    /* of what the machine has sent last */
    bool      in_background; /* its release is under way without a caller */
    uint16_t  name_size;
    char      name[BWL_NAME_MAX + 1];
    bwl_fault why; /* what the store said when it last refused; its status is not set */
};

/* Reads the clock: milliseconds that count suspend; host->latest is the same afterwards. */
static inline bwl_ms bwl_host_now(bwl_host *host)
{
    return host->calls->now(host);
}

/* When the next timer of the client is due. */
static inline bwl_ms bwl_host_next_timer(bwl_host *host)
{
    return host->calls->next_timer(host);
}

/* Sets the engine's one timer, which calls engine->woken.  BWL_NEVER: clears it. */
static inline void bwl_host_set_timer(bwl_host *host, bwl_ms at)
{
    host->calls->set_timer(host, at);
}

/* Has engine->woken called soon.  Any thread, with or without the mutex; the reactor must be
 * open. */
static inline void bwl_host_wake(bwl_host *host)
{
    host->calls->wake(host);
}

/* Around a wait in engine->await. */
static inline void bwl_host_lock(bwl_host *host)
{
    host->calls->lock(host);
}

static inline void bwl_host_unlock(bwl_host *host)
{
    host->calls->unlock(host);
}

/* Whether a command that is not urgent may be held back for a millisecond: something will call
 * engine->flush by then. */
static inline bool bwl_host_may_hold_back(const bwl_host *host)
{
    return host->calls->may_hold_back(host);
}

/* Whether any connection of the client works, after a change. */
static inline void bwl_host_connected(bwl_host *host, bool is_connected)
{
    host->calls->connected(host, is_connected);
}

/* A release in the background was handed to the kernel; was answered, or will not be. */
static inline void bwl_host_background_sent(bwl_host *host)
{
    host->calls->background_sent(host);
}

static inline void bwl_host_background_answered(bwl_host *host)
{
    host->calls->background_answered(host);
}

/* Something happened to this lock.  `now` and `fresh` of the event are filled in by the runtime. */
static inline void bwl_host_event(bwl_engine_lock *lock, bwl_event ev)
{
    lock->host->calls->event(lock, ev);
}

/* The store cannot guarantee the hold any more: lost, if it is held. */
static inline void bwl_host_revoke(bwl_engine_lock *lock)
{
    lock->host->calls->revoke(lock);
}

/* The holder query, the break or the step has ended.  Nothing, if it was cancelled before. */
static inline void bwl_host_query_done(bwl_engine_lock *lock)
{
    lock->host->calls->query_done(lock);
}

/* A lock is not freed while it is pinned. */
static inline void bwl_host_pin(bwl_engine_lock *lock)
{
    lock->host->calls->pin(lock);
}

static inline void bwl_host_unpin(bwl_engine_lock *lock)
{
    lock->host->calls->unpin(lock);
}

/* Keeps why the store refused, for the caller's error text; or clears it.  Nothing, if the caller
 * has its result already. */
__attribute__((format(printf, 2, 3))) static inline void bwl_host_set_error(bwl_engine_lock *lock,
                                                                            const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    lock->host->calls->set_error(lock, format, arguments);
    va_end(arguments);
}

/* The same, with the errno and the server's error code of a fault. */
static inline void bwl_host_set_fault(bwl_engine_lock *lock, const bwl_fault *why)
{
    lock->host->calls->set_fault(lock, why);
}

static inline void bwl_host_clear_error(bwl_engine_lock *lock)
{
    lock->host->calls->clear_error(lock);
}

/* Whether an operation of a caller is under way on it. */
static inline bool bwl_host_is_awaited(const bwl_engine_lock *lock)
{
    return lock->host->calls->is_awaited(lock);
}
