/*
 * host.h -- the engine's view of a client and of a lock, and the runtime functions that it may
 * call.
 *
 * A bwl_host is the engine's view of one client, a bwl_engine_lock that of one lock.  Each is the
 * first member of the runtime's own struct.  An engine writes only the fields whose comments say
 * so.
 *
 * The calls go through host->calls, so no engine links against the runtime.
 */
#pragma once

#include "base/entropy.h"
#include "base/fault.h"
#include "base/fork_guard.h"
#include "engine/settings.h"
#include "lock/machine.h"
#include "net/reactor.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct bwl_host        bwl_host;
typedef struct bwl_engine_lock bwl_engine_lock;

enum { BWL_HOLDER_TEXT_MAX = 64 }; /* size of a holder's text, bytes with the NUL */
enum { BWL_BREAKER_MAX = 2 * BWL_HOLDER_TEXT_MAX }; /* of USER@HOST, likewise */

/* What the runtime does for an engine, with the client's mutex. */
typedef struct bwl_host_calls {
    bwl_ms (*now)(bwl_host *host);
    void (*set_timer)(bwl_host *host, bwl_ms at);
    void (*lock)(bwl_host *host);
    void (*unlock)(bwl_host *host);
    bool (*may_hold_back)(const bwl_host *host);
    void (*connected)(bwl_host *host, bool is_connected);
    void (*event)(bwl_engine_lock *lock, bwl_event ev);
    void (*revoke)(bwl_engine_lock *lock);
    void (*wanted)(bwl_engine_lock *lock);
    void (*query_done)(bwl_engine_lock *lock);
    void (*pin)(bwl_engine_lock *lock);
    void (*unpin)(bwl_engine_lock *lock);
    void (*set_fault)(bwl_engine_lock *lock, const bwl_fault *why); /* NULL: none */
    bool (*is_awaited)(const bwl_engine_lock *lock);
} bwl_host_calls;

/* Commands that are held back briefly, to go out in one packet. */
typedef struct bwl_coalescing {
    bool   is_on;    /* more commands will follow: hold back until engine->flush */
    size_t expected; /* signalled threads that may send more */
    bwl_ms since;    /* when the engine began to hold back, set by the engine; 0: nothing is */
} bwl_coalescing;

struct bwl_host {
    const bwl_host_calls    *calls;
    const struct bwl_engine *engine;
    void                    *store; /* the engine's data */
    unsigned                 nodes; /* servers that a lock spans; written by open and share */
    bwl_settings             settings;
    char           program[BWL_HOLDER_TEXT_MAX]; /* shown to others; "": the process's name */
    bwl_fork_guard guard;
    bwl_reactor    reactor;
    bwl_entropy    entropy;
    bwl_coalescing coalescing;
    size_t         pending;        /* requests without a reply, counted by the engine */
    size_t         read_late;      /* of these, background releases: their replies are not urgent */
    bwl_ms         late_since;     /* when the first of these was sent, or a thread has read one */
    bwl_ms         latest;         /* the clock's latest reading */
    bool           takes_no_locks; /* the client is used for updates only */
    bool           closing;        /* replies are no longer read */
    bool           watches;        /* set by the engine: a connection is open or being opened */
};

struct bwl_engine_lock {
    bwl_host           *host;
    bwl_hold            hold;
    void               *part;          /* the engine's data */
    uint32_t            latest_tag;    /* of the machine's latest command */
    bool                in_background; /* it is being released without a waiting caller */
    struct bwl_listing *listing;       /* of a lock that lists names; NULL */
    uint16_t            name_size;
    char                name[BWL_NAME_MAX + 1];
    bwl_fault           why; /* the store's latest error; its status is not set */
};

/* Reads the clock, which counts suspend, in milliseconds; also stores it in host->latest. */
static inline bwl_ms bwl_host_now(bwl_host *host)
{
    return host->calls->now(host);
}

/* Sets the engine's only timer, which calls engine->woken.  BWL_NEVER: clears it. */
static inline void bwl_host_set_timer(bwl_host *host, bwl_ms at)
{
    host->calls->set_timer(host, at);
}

/* Makes the loop call engine->woken soon.  Any thread, with or without the mutex; the reactor must
 * be open. */
static inline void bwl_host_wake(bwl_host *host)
{
    bwl_reactor_wake(&host->reactor);
}

/* Lock and unlock the client's mutex around a blocking wait in engine->await. */
static inline void bwl_host_lock(bwl_host *host)
{
    host->calls->lock(host);
}

static inline void bwl_host_unlock(bwl_host *host)
{
    host->calls->unlock(host);
}

/* Whether a non-urgent command may be held back for up to a millisecond: engine->flush will be
 * called by then. */
static inline bool bwl_host_may_hold_back(const bwl_host *host)
{
    return host->calls->may_hold_back(host);
}

/* Reports after a change whether any connection of the client works. */
static inline void bwl_host_connected(bwl_host *host, bool is_connected)
{
    host->calls->connected(host, is_connected);
}

/* A background release was handed to the kernel; it was answered, or will never be. */
static inline void bwl_host_background_sent(bwl_host *host)
{
    if (host->read_late++ == 0)
        host->late_since = host->latest;
}

static inline void bwl_host_background_answered(bwl_host *host)
{
    assert(host->read_late > 0);
    host->read_late--;
    host->late_since = host->latest; /* a thread is reading their replies */
}

/* Delivers an event to the lock's machine.  The runtime fills in `now` and `fresh`. */
static inline void bwl_host_event(bwl_engine_lock *lock, bwl_event ev)
{
    lock->host->calls->event(lock, ev);
}

/* The store no longer guarantees the hold: a held lock becomes lost. */
static inline void bwl_host_revoke(bwl_engine_lock *lock)
{
    lock->host->calls->revoke(lock);
}

/* Another client waits for a held lock, or may wait: see bwl_engine.watch. */
static inline void bwl_host_wanted(bwl_engine_lock *lock)
{
    lock->host->calls->wanted(lock);
}

/* A holder query, a forced release or an update step is complete.  No effect if it was cancelled
 * before. */
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

/* Sets the lock's error for the caller: the text, the errno and the server's error code.  NULL:
 * clears it.  No effect if the caller has its result already. */
static inline void bwl_host_set_fault(bwl_engine_lock *lock, const bwl_fault *why)
{
    lock->host->calls->set_fault(lock, why);
}

/* The same with a text only. */
__attribute__((format(printf, 2, 3))) static inline void bwl_host_set_error(bwl_engine_lock *lock,
                                                                            const char *format, ...)
{
    bwl_fault why;
    va_list   arguments;

    bwl_fault_clear(&why);
    va_start(arguments, format);
    (void)vsnprintf(why.text, sizeof why.text, format, arguments); /* may cut */
    va_end(arguments);
    bwl_host_set_fault(lock, &why);
}

/* Whether a caller's operation on the lock is in progress. */
static inline bool bwl_host_is_awaited(const bwl_engine_lock *lock)
{
    return lock->host->calls->is_awaited(lock);
}
