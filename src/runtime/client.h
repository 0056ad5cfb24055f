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

#include "base/entropy.h"
#include "base/fork_guard.h"
#include "runtime/names.h"
#include "runtime/event_queue.h"
#include "net/reactor.h"
#include "runtime/settings.h"
#include "runtime/timers.h"
#include "lock/machine.h"
#include "protocol/protocol.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct bwl_client    bwl_client;
typedef struct bwl_lock      bwl_lock;
typedef struct bwl_operation bwl_operation;
typedef struct bwl_section   bwl_section; /* protocol/store/section.h */

/* What the caller of who learns: fields that the store does not know are 0 or "". */
enum { BWL_HOLDER_TEXT_MAX = 64 };
typedef struct bwl_holder {
    bool     held;
    bool     foreign;
    bwl_ms   left_ms; /* BWL_NEVER: nothing ends it by itself */
    bwl_ms   since_ms;
    int64_t  pid;
    uint64_t fence;
    uint64_t id; /* of the hold; 0: it cannot be broken, or not be told from others */
    char     user[BWL_HOLDER_TEXT_MAX];
    char     host[BWL_HOLDER_TEXT_MAX];
    char     program[BWL_HOLDER_TEXT_MAX];
    char     note[BWL_HOLDER_TEXT_MAX];
} bwl_holder;

/* What a store is, whatever the scheme of its URL.  A switch over this has a case for each. */
typedef enum bwl_engine_kind {
    BWL_ENGINE_THREAD = 1,
    BWL_ENGINE_FILE,
    BWL_ENGINE_REDIS,   /* one server, the primary of a service, or a cluster                    */
    BWL_ENGINE_REDLOCK, /* several servers                                                       */
} bwl_engine_kind;

typedef struct bwl_engine {
    const char         *scheme;
    bwl_engine_kind     kind; /* 0: no URL leads here (the seats within a client)                */
    const bwl_protocol *protocol;
    size_t              lock_size; /* of the engine's own part of a lock                   */
    bool                has_lease;

    /* Which protocol the URL asks for, and by whose rules: writes protocol, rules and risk.  NULL:
     * there is only one.  USAGE, UNSUPPORTED. */
    int (*choose)(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);

    /* Opens and closes client->store.  Reach opens what the first lock would; NULL: a look does.
     * USAGE, UNSUPPORTED, REFUSED, SYSTEM, NOMEM. */
    int (*open)(bwl_client *client, const bwl_url *url, bwl_fault *fault);
    int (*reach)(bwl_client *client, bwl_fault *fault);
    void (*close)(bwl_client *client);

    /* Opens client->store as that of `first` was opened.  NULL: a second client of the same store
     * would be of no use.  NOMEM. */
    int (*share)(bwl_client *client, const bwl_client *first);

    /* Checks the name, and makes the engine's part of the lock.  USAGE, SYSTEM, NOMEM.  A lock that
     * could not be prepared is not forgotten. */
    int (*prepare)(bwl_lock *lock, bwl_fault *fault);

    /* Sends a command.  True: ret_reply has the answer (answer and number only); false:
     * bwl_lock_event will bring it. */
    bool (*ask)(bwl_lock *lock, const bwl_ask *ask, bwl_event *ret_reply);

    /* Frees the engine's part of a lock that is over, or whose client is closing. */
    void (*forget)(bwl_lock *lock);

    /* Takes back what the lock's machine has asked last and has not been sent: answers UNSENT, and
     * sets the lock's error text.  NULL: nothing is ever kept. */
    void (*withdraw)(bwl_lock *lock);

    /* Called after bwl_client_wake and when a timer of the engine is due.  NULL: no effect. */
    void (*woken)(bwl_client *client);

    /* Sends what was kept back (client->called, client->gathers).  NULL: nothing ever is. */
    void (*flush)(bwl_client *client);

    /* Waits a moment for the next answer and dispatches it; unlocks meanwhile.  False: none came,
     * or something else is due before `until`.  The wait cannot be ended.  NULL: never waits. */
    bool (*await)(bwl_client *client, bwl_ms until);

    /* Begins to look who holds the name of this lock, which was prepared and never sought.  True:
     * it has been seen; false: bwl_lock_looked will be called, or was.  NULL: it is seen when it
     * is asked for. */
    bool (*look)(bwl_lock *lock);

    /* Asks one word about a key of the caller's, through a lock that is never sought, on a client
     * in which nobody else is.  True: it has ended already; false: bwl_lock_looked will be called,
     * or was.  NULL: the store has locks and nothing else. */
    bool (*step)(bwl_lock *lock, bwl_section *section);

    /* What was seen, once the look has ended.  Never waits. */
    int (*who)(bwl_lock *lock, bwl_holder *ret_holder, bwl_fault *fault);

    /* Begins to end the hold that the look has seen, whosever it is, and no other.  True: it has
     * ended already; false: bwl_lock_looked will be called, or was.  NULL: the locks of this store
     * end with their process. */
    bool (*break_seen)(bwl_lock *lock);

    /* How that came out: OK; BUSY: it was gone. */
    int (*broken)(bwl_lock *lock, bwl_fault *fault);

    /* The descriptors that keep a held lock taken; how many.  NULL: there are none. */
    int (*fds)(bwl_lock *lock, int ret_fds[2]);
} bwl_engine;

struct bwl_lock {
    bwl_hold          hold;
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
    void             *part;      /* the engine's own */
    uint32_t          latest_tag;
    unsigned          commanded; /* how often the machine has asked something                    */
    bwl_ms            patient_until; /* see bwl_hold_told_by, bwl_hold_unsent_by; NEVER: for ever */
    unsigned          pins; /* what still points here: a step under way, an open question        */
    bool              wanted; /* the caller still has a handle to it                              */
    bool              unawaited; /* its release is under way, and nobody waits for it             */
    bwl_outcome_kind
              ended_as; /* how that ended, if it is among the untold; see background_release.h    */
    bwl_lock *next_untold;
    bool      saw_alien;  /* the last answer: the key has a stranger's value               */
    bool      reads_wall; /* its protocol or its token wants the time of day             */
    bool      is_out; /* and has it as a hold, see event_queue.h; the next four are its face   */
    bool      loss_was_told;
    bool      was_in_trouble;
    int       loss_fd; /* -1: nobody has asked for it                                     */
    bwl_ms    loss_at; /* when that becomes readable                                      */
    bwl_notice notice;
    void      *user; /* the caller's */
    uint16_t   name_size;
    char       name[BWL_NAME_MAX + 1];
    bwl_fault  why; /* what the store said when it last refused; its status is not set      */
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
    const bwl_engine  *engine;
    void              *store;
    unsigned           nodes; /* servers that a lock spans                                      */
    bwl_settings       settings;
    char               program[BWL_HOLDER_TEXT_MAX]; /* what others see of us; "": our name    */
    pthread_mutex_t    mutex;
    bwl_fork_guard     guard;
    bwl_reactor        reactor;
    bwl_timers         timers;
    bwl_timer          store_timer; /* the engine's own: calls woken                            */
    bwl_entropy        entropy;
    bwl_lock          *locks;
    size_t             locks_count;
    bwl_named          named;   /* those that others of this client may join */
    size_t             pending; /* questions without an answer: somebody has to read it         */
    bool               takes_no_locks; /* it is for updates alone                              */
    bool               closing;    /* nobody will hear an answer any more                         */
    bool               watches;    /* the engine has a connection: while there are locks, somebody
                                 * should see it break                                         */
    atomic_uint        callers;    /* that may wait, inside now; only if it shares: see shards.h */
    atomic_bool        stands;     /* there is a connection that can be used                   */
    _Atomic(bwl_ms)    lame_until; /* one could not be had a moment ago                        */
    bool               driving;    /* a thread is waiting for events                              */
    bwl_ms             driven_at;  /* when one was last                                         */
    bwl_ms             drives_until;
    bool               gathers;     /* more is about to be asked: keep it back, see flush        */
    bwl_ms             kept_since;  /* may have been kept back; 0: nothing is: see loop.h       */
    unsigned           dispatchers; /* threads inside bowline_dispatch, each of an event loop that
                                     * looks at the client afterwards                          */
    bwl_ms             loop_sleeps_until; /* what that loop was told last; 0: nothing           */
    bwl_sleeper       *sleepers;
    bwl_sleeper       *idle_sleepers;
    bwl_sleeper       *calls;  /* of those, who is woken when the mutex is given back          */
    pthread_cond_t    *nudges; /* the keeper, if it is woken then as well                      */
    size_t             called; /* of those, how many were called and have not come yet         */
    bwl_ms             latest; /* the clock, which never goes back                            */
    bwl_notices        notices;
    bwl_unawaited      unawaited;
    struct bwl_bell   *bell;   /* NULL: no loop has asked for a descriptor                     */
    struct bwl_keeper *keeper; /* NULL: none was needed yet */
    void              *handle; /* the public one, kept for the room above */
};

/* ---- a client -------------------------------------------------------------------------------- */

int  bwl_client_open(bwl_client **ret_client, const bwl_settings *asked, bool renewal_off,
                     const char *url, bwl_fault *fault);
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

/* ---- from the engines ------------------------------------------------------------------------ */

/* locked: something happened to this lock.  `now` and `fresh` are filled in here. */
void bwl_lock_event(bwl_lock *lock, bwl_event ev);

/* locked: the store can vouch no longer for what it gave: lost, if it is held. */
void bwl_lock_disown(bwl_lock *lock);

/* locked: the look is over.  Nothing, if it was cancelled before. */
void bwl_lock_looked(bwl_lock *lock);

/* locked: a question is open, or is not any more; a lock is not freed while one is. */
void bwl_lock_pin(bwl_lock *lock);
void bwl_lock_unpin(bwl_lock *lock);

/* locked: keeps why the store refused, for the error of the caller; or that it did not refuse.  No
 * effect once the operation has its outcome. */
__attribute__((format(printf, 2, 3))) void bwl_lock_says(bwl_lock *lock, const char *format, ...);
void bwl_lock_says_fault(bwl_lock *lock, const bwl_fault *why);
void bwl_lock_says_nothing(bwl_lock *lock);

#endif
