/*
 * engine.h -- an engine is a table of functions.  The runtime calls them with the client's mutex
 * held.  What an engine may call in the runtime: host.h.
 *
 *      runtime --bwl_engine--> engine          acquire: send(lock, command)
 *      runtime <--bwl_host_calls-- engine      the reply: event(lock, ev)
 */
#pragma once

#include "core/glob.h"
#include "engine/host.h"
#include "engine/passed_hold.h"

typedef struct bwl_transaction bwl_transaction; /* protocol/store/transaction.h */

/* The result of a holder query.  Fields that the store does not know are 0 or "". */
typedef struct bwl_holder {
    bool     held;
    bool     foreign;
    bool     done;    /* not held: its last holder's rest is not over */
    bwl_ms   left_ms; /* BWL_NEVER: no expiry in the store */
    bwl_ms   since_ms;
    int64_t  pid;
    int64_t  command_pid; /* see `command` */
    uint32_t waiting;     /* requests in the queue behind the holder */
    uint32_t sharers;     /* that hold it; 0: one holds it exclusively */
    uint32_t permits;     /* in use */
    uint32_t limit;       /* of the permits, by this holder; 0: none, or not known */
    uint64_t fence;
    uint64_t id; /* of the hold; 0: it cannot be identified or force released */
    char     user[BWL_HOLDER_TEXT_MAX];
    char     host[BWL_HOLDER_TEXT_MAX];
    char     program[BWL_HOLDER_TEXT_MAX];
    char     note[BWL_HOLDER_TEXT_MAX];
} bwl_holder;

/* One held name. */
typedef struct bwl_listed {
    char       name[BWL_NAME_MAX + 1];
    bwl_holder holder;
} bwl_listed;

/* A list of the held names, which the engine fills step by step: see engine/listing.h. */
typedef struct bwl_listing {
    char        pattern[BWL_GLOB_MAX + 1];
    bwl_listed *found; /* by the latest step */
    size_t      count;
    size_t      room;
    uint64_t    looked_at; /* keys so far */
    uint64_t    total;     /* of about so many; 0: not known */
    uint64_t    position;  /* the engine's, at first 0 */
    void       *walk;      /* the engine's; NULL, or freed by forget */
    bool        is_at_end;
    bwl_fault   fault; /* of the latest step; status OK: none */
} bwl_listing;

/* The kind of store, whatever the scheme of its URL.  A switch over this has a case for each. */
typedef enum bwl_engine_kind {
    BWL_ENGINE_THREAD = 1,
    BWL_ENGINE_FILE,
    BWL_ENGINE_REDIS,   /* one server, the primary of a service, or a cluster */
    BWL_ENGINE_REDLOCK, /* several servers                                    */
} bwl_engine_kind;

/* What people see of the locks. */
typedef struct bwl_engine_view {
    /* Starts a holder query, on a lock that was prepared and never acquired.  True: it is complete;
     * false: query_done() will be called, or was called already.  NULL: `who` needs no query. */
    bool (*look)(bwl_engine_lock *lock);

    /* The result of a completed holder query.  Never blocks. */
    int (*who)(bwl_engine_lock *lock, bwl_holder *ret_holder, bwl_fault *fault);

    /* Starts a query for all holders; true and false as `look`.  NULL: needs no query either. */
    bool (*look_at_all)(bwl_engine_lock *lock);

    /* Of the result of such a query: returns how many holders there are, and writes the nth, from
     * 0, if there is one.  Or a fault.  Never blocks.  NULL: one at most, that of `who`. */
    int (*who_nth)(bwl_engine_lock *lock, size_t nth, bwl_holder *ret_holder, bwl_fault *fault);

    /* Starts the next step of lock->listing, on a lock that was prepared and never acquired.  A
     * step looks at some hundred keys at most, and appends the held names of the pattern to
     * `found`.  After a step with a fault, the next one repeats it.  True: it is complete; false:
     * query_done() will be called, or was called already. */
    bool (*list)(bwl_engine_lock *lock);

    /* Starts a query: by whom the hold with this id, which `who` has shown, was released by force.
     * True and false as `look`.  NULL: the store does not know that. */
    bool (*ask_breaker)(bwl_engine_lock *lock, uint64_t id);

    /* The result of that query, when it is complete; "": not known.  Never blocks. */
    int (*breaker)(bwl_engine_lock *lock, char ret_by[BWL_BREAKER_MAX], bwl_fault *fault);

    /* Shows the command that a held lock works for, without waiting for a reply; 0: none.  NULL:
     * the store does not show it. */
    void (*command)(bwl_engine_lock *lock, int64_t pid);

    const struct bwl_election *election; /* NULL: no holder can announce anything */
} bwl_engine_view;

/* How a lock is passed on to another client, or to another lock of this one. */
typedef struct bwl_passing {
    /* Why a lock of this protocol cannot be passed on; NULL: it can.  See bwl_why_not_passed. */
    const char *(*why_not)(const bwl_protocol *protocol, const bwl_compat_rules *rules);

    /* Describes a held lock for another client, which adopts it. */
    void (*pass)(const bwl_engine_lock *lock, bwl_passed_hold *ret_passed);

    /* Prepares the lock to adopt that hold; the machine adopts it by *ret_token, which is a part of
     * `passed`.  USAGE: it is of another protocol or place; NOMEM. */
    int (*adopt)(bwl_engine_lock *lock, const bwl_passed_hold *passed, const char **ret_token,
                 bwl_fault *fault);

    /* What the engine knows of the held lock `from` is from now on about `to`: a lock of the same
     * name, prepared and not used yet.  forget(from) follows. */
    void (*hand_over)(bwl_engine_lock *from, bwl_engine_lock *to);
} bwl_passing;

/* The end of a hold of another client. */
typedef struct bwl_forced_release {
    /* Starts it, of the hold with this id, which the query of `look` or of `look_at_all` showed,
     * and of no other hold.  True: it is complete; false: query_done() will be called, or was
     * called already.  NULL: the store's locks end with their process. */
    bool (*start)(bwl_engine_lock *lock, uint64_t id);

    /* The result: OK; BUSY: the hold had ended before. */
    int (*result)(bwl_engine_lock *lock, bwl_fault *fault);
} bwl_forced_release;

typedef struct bwl_engine {
    const char         *scheme;
    const char         *url_prefix; /* the beginning of a URL, for messages: "redis://", "file:" */
    bwl_engine_kind     kind;       /* 0: no URL names it (local groups) */
    const bwl_protocol *protocol;
    size_t              lock_size; /* size of the engine's part of a lock, bytes */
    bool                has_lease;

    /* Chooses the protocol and its rules from the URL: writes protocol, rules and risk.  NULL: the
     * engine has one protocol.  USAGE, UNSUPPORTED. */
    int (*choose)(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);

    /* Opens and closes host->store.  USAGE, UNSUPPORTED, REFUSED, SYSTEM, NOMEM. */
    int (*open)(bwl_host *host, const bwl_url *url, bwl_fault *fault);
    void (*close)(bwl_host *host);

    /* Opens what the first prepare() would open.  NULL: use a holder query.  Errors as open. */
    int (*reach)(bwl_host *host, bwl_fault *fault);

    /* Opens host->store with the configuration of `first`, for one more shard.  NULL: one shard is
     * enough.  NOMEM. */
    int (*share)(bwl_host *host, const bwl_host *first);

    /* Connects without a request, unless it is connected.  True: host->connected() will be called
     * with the result, or was called already; false: in backoff.  NULL: the engine has no
     * connection. */
    bool (*connect)(bwl_host *host);

    /* Checks the name and allocates the engine's part of the lock.  USAGE, SYSTEM, NOMEM; after an
     * error, forget() is not called. */
    int (*prepare)(bwl_engine_lock *lock, bwl_fault *fault);

    /* Sends a command.  True: the result is known at once and written to ret_reply (answer and
     * number only); false: event() will deliver it. */
    bool (*send)(bwl_engine_lock *lock, const bwl_send *send, bwl_event *ret_reply);

    /* Frees the engine's part of a lock that is closed, or whose client is closing. */
    void (*forget)(bwl_engine_lock *lock);

    /* Withdraws the latest command of the lock's machine if it was not written yet: completes it as
     * NOT_SENT and sets the lock's error text.  NULL: the engine queues no commands. */
    void (*withdraw)(bwl_engine_lock *lock);

    /* Called after bwl_host_wake, or when the engine's timer is due.  NULL: no work then. */
    void (*woken)(bwl_host *host);

    /* Sends what was held back, see bwl_coalescing; wait_ms is 0.  If the client closes, the first
     * call begins a time limit, and others follow until one returns false: each waits for wait_ms
     * at most until the store takes more.  False: all is sent, or the limit is over.  NULL: the
     * engine holds nothing back. */
    bool (*flush)(bwl_host *host, bwl_ms wait_ms);

    /* Of a held lock that may have a queue: calls bwl_host_watched if the store says that the lock
     * is held and no other client waits for it.  Instead, or later, it calls bwl_host_wanted once:
     * another client waits for the lock, or that is not known any more; perhaps never, if the hold
     * ends before.  NULL: the engine does not learn of waiters. */
    void (*watch)(bwl_engine_lock *lock);

    /* Blocks on the connection's socket until the next reply, and dispatches it; releases the mutex
     * while it blocks.  False: it is not known which connection will receive the next reply, or
     * nothing came for a short time, or `until` is too near.  The wait cannot be interrupted, so it
     * is short.  NULL: not supported. */
    bool (*await)(bwl_host *host, bwl_ms until);

    /* Sends one command about a key of the caller's, on a lock that is never acquired, of a client
     * without other users.  True: it is complete; false: query_done() will be called, or was called
     * already.  NULL: the store has only locks. */
    bool (*step)(bwl_engine_lock *lock, bwl_transaction *transaction);

    bwl_engine_view view;

    bwl_forced_release forced;

    const bwl_passing *passing; /* NULL: the engine's locks cannot be passed on */

    /* Writes the descriptors that keep a held lock locked; returns their number.  NULL: there are
     * none. */
    int (*fds)(bwl_engine_lock *lock, int ret_fds[2]);
} bwl_engine;

/* Why a lock of this engine cannot be passed on, in words that live for ever; NULL: it can.
 * `protocol` and `rules`: those of a lock on Redis. */
const char *bwl_why_not_passed(const bwl_engine *engine, const bwl_protocol *protocol,
                               const bwl_compat_rules *rules);
