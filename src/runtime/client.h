/*
 * client.h -- the real world around the machines: what happens is handed to them as events, what
 * they want is carried out.
 *
 * A client has one engine (where locks live), one mutex, and a list of locks.  A lock is one
 * machine: from the moment it is sought until nothing of it is left in the store.  The caller looks
 * at it through an operation (an acquire, extend or release under way).
 *
 * A blocked caller runs the event loop for every thread of the client; others sleep until their
 * own operation has ended or the first one leaves.  The common case needs no thread switch.
 *
 * Locks: `client->mutex` guards everything here; functions whose comment says "locked" are
 * called with it held.  It is not held while waiting for events.
 */
#ifndef BWL_RUNTIME_CLIENT_H
#define BWL_RUNTIME_CLIENT_H

#include "engine/engine.h"
#include "protocol/protocol.h"
#include "runtime/event_queue.h"
#include "runtime/names.h"
#include "runtime/timers.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct bwl_client    bwl_client;
typedef struct bwl_lock      bwl_lock;
typedef struct bwl_operation bwl_operation;

struct bwl_lock {
    bwl_engine_lock   base;
    bwl_timer         timer;
    bwl_client       *client;
    const bwl_engine *engine;     /* whom it asks: the client's, or bwl_seats_engine             */
    struct bwl_seats *seats;      /* where it sits, or for whom it stands in line; NULL: nowhere */
    bwl_lock         *next_named; /* see names.h */
    atomic_uint      *meeting;    /* see shards.h; NULL: none                                     */
    bool              is_named;
    bwl_lock         *previous; /* the client's locks */
    bwl_lock         *next;
    bwl_operation    *operation; /* under way; NULL */
    unsigned          commanded; /* how often the machine has asked something                    */
    bwl_ms            patient_until; /* see bwl_hold_told_by, bwl_hold_unsent_by; NEVER: for ever */
    unsigned          pins; /* what still points here: a step under way, an open question        */
    bool              wanted; /* the caller still has a handle to it                              */
    bwl_outcome_kind
              ended_as; /* how that ended, if it is among the untold; see background_release.h    */
    bwl_lock *next_untold;
    bool      saw_alien;  /* the last answer: the key has a stranger's value               */
    bool      reads_wall; /* its protocol or its token wants the time of day             */
    bwl_lock_face face;   /* what its caller sees of it: event_queue.h                       */
    void         *user;   /* the caller's */
};

struct bwl_operation {
    bwl_lock           *lock;
    bwl_verb            verb;    /* not set if it looks                                           */
    bool                yields;  /* ACQUIRE: of what was held                                     */
    bool                looks;   /* who holds the name?  No machine is asked                      */
    bwl_outcome_kind    ended;   /* PENDING: not yet                                              */
    bool                watched; /* by an event loop that nobody of us is inside               */
    bwl_notice          notice;  /* of its end */
    struct bwl_sleeper *sleeper; /* the threads that wait for it while another drives          */
    void               *user;    /* the caller's */
};

/* Lives as long as the client: who calls it does so without the mutex, when it may have come by
 * itself and be used by another thread. */
typedef struct bwl_sleeper {
    pthread_cond_t      cond;
    struct bwl_sleeper *next;
    struct bwl_sleeper *previous;
    struct bwl_sleeper *beside;    /* waits for the same operation                              */
    struct bwl_sleeper *next_call; /* is to be woken too when the mutex is given back           */
    bool                called;    /* was told, or is about to be, to wake up; has not come yet */
} bwl_sleeper;

/* Of one client, the releases that nobody waits for; see background_release.h. */
typedef struct bwl_unawaited {
    size_t        count;     /* under way */
    size_t        read_late; /* questions of theirs that the server has: no hurry to read answers */
    bwl_ms        late_since; /* the first of them was sent */
    bwl_lock     *first;      /* ended badly, and nobody was told yet: the oldest first           */
    bwl_lock     *last;
    size_t        untold;  /* of those */
    size_t        dropped; /* ended badly too, when there were too many already                */
    size_t        dropped_lost;
    bwl_operation end; /* PENDING: some are under way, and there is nothing to tell        */
} bwl_unawaited;

enum { BWL_LAME_MS = 1000 }; /* for how long threads rather share a connection that works       */

struct bwl_client {
    bwl_host           host;
    pthread_mutex_t    mutex;
    bwl_timers         timers;
    bwl_timer          store_timer; /* the engine's own: calls woken                            */
    bwl_lock          *locks;
    size_t             locks_count;
    bwl_named          named;      /* those that others of this client may join */
    atomic_uint        callers;    /* that may wait, inside now; only if it shares: see shards.h */
    atomic_bool        stands;     /* there is a connection that can be used                   */
    _Atomic(bwl_ms)    lame_until; /* one could not be had a moment ago                        */
    bool               driving;    /* a thread is waiting for events                              */
    bwl_ms             driven_at;  /* when one was last                                         */
    bwl_ms             drives_until;
    unsigned           dispatchers; /* threads inside bowline_dispatch, each of an event loop that
                                     * looks at the client afterwards                          */
    bwl_ms             loop_sleeps_until; /* what that loop was told last; 0: nothing           */
    bwl_sleeper       *sleepers;
    bwl_sleeper       *idle_sleepers;
    bwl_sleeper       *calls;  /* of those, who is woken when the mutex is given back          */
    pthread_cond_t    *nudges; /* the keeper, if it is woken then as well                      */
    bwl_notices        notices;
    bwl_unawaited      unawaited;
    struct bwl_bell   *bell;   /* NULL: no loop has asked for a descriptor                     */
    struct bwl_keeper *keeper; /* NULL: none was needed yet */
    void              *handle; /* the public one, kept for the room above */
};

/* The client of an engine's host, and the lock of an engine's lock: each is the first member. */
static inline bwl_client *bwl_client_of(bwl_host *host)
{
    return (bwl_client *)(void *)host;
}

static inline bwl_lock *bwl_lock_of_engine(bwl_engine_lock *lock)
{
    return (bwl_lock *)(void *)lock;
}

/* ---- a client -------------------------------------------------------------------------------- */

/* `engines` ends with NULL. */
int bwl_client_open(bwl_client **ret_client, const bwl_engine *const *engines,
                    const bwl_settings *asked, bool renewal_off, const char *url, bwl_fault *fault);

void bwl_client_close(bwl_client *client);

/* Not locked: one more client of the same store.  NOMEM, SYSTEM. */
int bwl_client_share(bwl_client **ret_client, const bwl_client *first);

void bwl_client_lock(bwl_client *client);
void bwl_client_unlock(bwl_client *client);

bwl_ms bwl_client_now(bwl_client *client);     /* locked */
bwl_ms bwl_client_next_at(bwl_client *client); /* locked: when the next timer is due */

/* locked: sets a timer, and sees to it that whoever drives wakes up for it, or the event loop that
 * was told of a later one. */
void bwl_client_alarm(bwl_client *client, bwl_timer *timer, bwl_ms at);

/* locked: the descriptor for other event loops, opened by the first call. */
int bwl_client_fd(bwl_client *client, bwl_fault *fault);

/* locked: something has happened that the loop of the caller should come and see. */
void bwl_client_tell(bwl_client *client);

/* Makes whoever drives call engine->woken.  Any thread, with or without the mutex; the reactor must
 * have been opened. */
void bwl_client_wake(bwl_client *client);

/* locked: waits for events until `until` and dispatches them, once.  OK, or SYSTEM. */
int bwl_client_drive(bwl_client *client, bwl_ms until, bwl_fault *fault);

/* locked: waits for the end of the operation.  OK; TIMEOUT; SYSTEM, NOMEM. */
int bwl_client_wait(bwl_client *client, bwl_operation *operation, bwl_ms until, bwl_fault *fault);

/* ---- a lock ---------------------------------------------------------------------------------- */

/* locked: a lock that is not sought yet.  USAGE (the name), NOMEM, SYSTEM. */
int bwl_lock_new(bwl_lock **ret_lock, bwl_client *client, const char *name, const bwl_terms *terms,
                 bwl_fault *fault);

/* locked: the same, of one that asks another engine than its client's. */
int bwl_lock_new_in(bwl_lock **ret_lock, bwl_client *client, const bwl_engine *engine,
                    const char *name, const bwl_terms *terms, bwl_fault *fault);

/* May its locks have this lease?  USAGE. */
int bwl_check_lease(const bwl_client *client, bwl_ms lease_ms, bwl_fault *fault);

/* locked: starts an operation.  Its end may have come when this returns.  wait_ms below 0: the wait
 * was over so long ago; the lock is tried once, within what is left of the time for one answer. */
void bwl_lock_acquire(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms);
void bwl_lock_extend(bwl_lock *lock, bwl_operation *operation, bwl_ms lease_ms);
void bwl_lock_release(bwl_lock *lock, bwl_operation *operation);
void bwl_lock_yield(bwl_lock *lock, bwl_operation *operation, bwl_ms wait_ms);
void bwl_lock_cancel(bwl_operation *operation);

/* locked: the same for who: ends RELEASED when engine->who can be asked, or CANCELLED. */
void bwl_lock_look(bwl_lock *lock, bwl_operation *operation);

/* locked: the same for breaking what was seen, once the look has ended.  The engine can. */
void bwl_lock_break(bwl_lock *lock, bwl_operation *operation);

/* locked: the same for one word of a section, which says how it came out.  The engine has step. */
void bwl_lock_step(bwl_lock *lock, bwl_operation *operation, bwl_section *section);

/* locked: the caller has no handle any more. */
void bwl_lock_unwanted(bwl_lock *lock);

/* ---- what engine/engine.h declares for engines, with the runtime's types, all locked --------- */

extern const bwl_host_calls bwl_runtime_calls;

void bwl_lock_event(bwl_lock *lock, bwl_event ev);
void bwl_lock_disown(bwl_lock *lock);
void bwl_lock_looked(bwl_lock *lock);
void bwl_lock_pin(bwl_lock *lock);
void bwl_lock_unpin(bwl_lock *lock);
/* False: the caller has its result already, and an error text would come too late. */
bool                                       bwl_lock_takes_error(const bwl_lock *lock);
__attribute__((format(printf, 2, 3))) void bwl_lock_says(bwl_lock *lock, const char *format, ...);

#endif
