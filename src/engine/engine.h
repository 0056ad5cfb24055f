/*
 * engine.h -- what an engine is: a table of functions.  The runtime calls them with the client's
 * mutex held.  What an engine may ask of the runtime: host.h.
 *
 *      runtime --bwl_engine--> engine          acquire: ask(lock, send)
 *      runtime <--bwl_host_calls-- engine      the reply: event(lock, ev)
 */
#pragma once

#include "engine/host.h"

typedef struct bwl_transaction bwl_transaction; /* protocol/store/transaction.h */

/* What a holder query shows.  Fields that the store does not know are 0 or "". */
typedef struct bwl_holder {
    bool     held;
    bool     foreign;
    bwl_ms   left_ms; /* BWL_NEVER: the store does not end it by itself */
    bwl_ms   since_ms;
    int64_t  pid;
    uint64_t fence;
    uint64_t id; /* of the hold; 0: it cannot be broken, or not be told from others */
    char     user[BWL_HOLDER_TEXT_MAX];
    char     host[BWL_HOLDER_TEXT_MAX];
    char     program[BWL_HOLDER_TEXT_MAX];
    char     note[BWL_HOLDER_TEXT_MAX];
} bwl_holder;

/* The kind of store, whatever the scheme of its URL.  A switch over this has a case for each. */
typedef enum bwl_engine_kind {
    BWL_ENGINE_THREAD = 1,
    BWL_ENGINE_FILE,
    BWL_ENGINE_REDIS,   /* one server, the primary of a service, or a cluster */
    BWL_ENGINE_REDLOCK, /* several servers                                    */
} bwl_engine_kind;

typedef struct bwl_engine {
    const char         *scheme;
    const char         *url_prefix; /* with which a URL begins, for messages: "redis://", "file:" */
    bwl_engine_kind     kind;       /* 0: no URL leads here (local groups) */
    const bwl_protocol *protocol;
    size_t              lock_size; /* of the engine's own part of a lock, bytes */
    bool                has_lease;

    /* Which protocol the URL asks for, and with which rules: writes protocol, rules and risk.
     * NULL: there is only one.  USAGE, UNSUPPORTED. */
    int (*choose)(bwl_settings *settings, const bwl_url *url, bwl_fault *fault);

    /* Opens and closes host->store.  USAGE, UNSUPPORTED, REFUSED, SYSTEM, NOMEM. */
    int (*open)(bwl_host *host, const bwl_url *url, bwl_fault *fault);
    void (*close)(bwl_host *host);

    /* Opens what the first lock would open.  NULL: a holder query does.  As open. */
    int (*reach)(bwl_host *host, bwl_fault *fault);

    /* Opens host->store as that of `first` was opened.  NULL: a second client of the same store
     * would be of no use.  NOMEM. */
    int (*share)(bwl_host *host, const bwl_host *first);

    /* Connects without a request, unless it is connected.  True: host->connected() will be called
     * with the result, or was; false: not now.  NULL: there is nothing to connect. */
    bool (*connect)(bwl_host *host);

    /* Checks the name, and makes the engine's part of the lock.  USAGE, SYSTEM, NOMEM.  A lock that
     * could not be prepared is not forgotten. */
    int (*prepare)(bwl_engine_lock *lock, bwl_fault *fault);

    /* Sends a command.  True: the reply is known already, and written to ret_reply (answer and
     * number only); false: event() will bring it. */
    bool (*send)(bwl_engine_lock *lock, const bwl_send *send, bwl_event *ret_reply);

    /* Frees the engine's part of a lock that is over, or whose client is closing. */
    void (*forget)(bwl_engine_lock *lock);

    /* Takes back what the lock's machine has sent last and is not on its way yet: completes it as
     * NOT_SENT, and sets the lock's error text.  NULL: nothing is ever kept. */
    void (*withdraw)(bwl_engine_lock *lock);

    /* The client was woken (bwl_host_wake), or the engine's timer is due.  NULL: no work then. */
    void (*woken)(bwl_host *host);

    /* Sends what was held back, see bwl_coalescing.  NULL: never holds anything back. */
    void (*flush)(bwl_host *host);

    /* Waits for the next reply in the connection itself, and dispatches it; gives the mutex back
     * meanwhile.  False: it is not known which connection speaks next, or nothing came for a
     * moment, or another timer is due before `until`.  This wait cannot be ended early, and is
     * short enough for that.  NULL: never. */
    bool (*await)(bwl_host *host, bwl_ms until);

    /* Begins a holder query, through a lock that was prepared and never acquired.  True: it has
     * ended; false: query_done() will be called, or was.  NULL: `who` needs no query. */
    bool (*look)(bwl_engine_lock *lock);

    /* Sends one command about a key of the caller's, through a lock that is never acquired, on a
     * client without other users.  True: it has ended; false: query_done() will be called, or
     * was.  NULL: the store has locks and nothing else. */
    bool (*step)(bwl_engine_lock *lock, bwl_transaction *transaction);

    /* The result of the holder query, once it has ended.  Never waits. */
    int (*who)(bwl_engine_lock *lock, bwl_holder *ret_holder, bwl_fault *fault);

    /* Begins to end the hold that the query has shown, and no other hold.  True: it has ended;
     * false: query_done() will be called, or was.  NULL: the locks of this store end with their
     * process. */
    bool (*break_seen)(bwl_engine_lock *lock);

    /* The result of that: OK; BUSY: the hold had ended before. */
    int (*broken)(bwl_engine_lock *lock, bwl_fault *fault);

    /* The descriptors that keep a held lock taken; returns how many.  NULL: there are none. */
    int (*fds)(bwl_engine_lock *lock, int ret_fds[2]);
} bwl_engine;
