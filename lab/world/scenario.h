/*
 * scenario.h -- a scenario: clients, servers, faults, and the invariants to check.
 */
#pragma once

#include "core/core.h"
#include "protocol/format/compat_rules.h"
#include "lab/model/mutation.h"
#include "lock/machine.h"

/* Which faults may happen in a world, and how often.
 *
 * Faults are budgets.  SLOW pays for time that passes while a step is due: without it the world is
 * synchronous, with ANY delays are unbounded.  The smallest budget that breaks an invariant is what
 * the protocol assumes. */

/* X(NAME, in which worlds, label, what it pays for); ONE_SERVER: only where there is one. */
#define BWL_BUDGETS(X)                                                                             \
    X(SLOW, SERVERS, "slow", "time passes although a message or an alarm is due")                  \
    X(LOSS, SERVERS, "loss", "a connection breaks; the server may still execute what was written") \
    X(CRASH, SERVERS, "crash", "a client crashes and loses its state")                             \
    X(DENIAL, SERVERS, "denial", "the server answers with a temporary error")                      \
    X(REFUSAL, SERVERS, "refusal", "the server answers with a permanent error")                    \
    X(RESTART, SERVERS, "restart", "a server restarts empty")                                      \
    X(JUMP, SERVERS, "jump", "a server's clock steps")                                             \
    X(CANCEL, SERVERS, "cancel", "no fault: the caller cancels")                                   \
    X(EXTEND_BY_CALLER, SERVERS, "extend", "no fault: the caller extends")                         \
    X(RESTORE, ONE_SERVER, "restore", "the server restarts from an older snapshot")                \
    X(FAILOVER, ONE_SERVER, "failover", "a replica without the last write takes over")             \
    X(EVICTION, ONE_SERVER, "eviction", "the server evicts the key")                               \
    X(FOREIGN_LOCK, ONE_SERVER, "foreign", "another program sets the key to a foreign value")      \
    X(WALL, ONE_SERVER, "wall", "a client's wall clock steps")                                     \
    X(WRITE, ONE_SERVER, "write", "no fault: a holder writes to the protected resource")           \
    X(RATE, SERVERS, "rate", "a client's clock runs at a wrong rate from then on")                 \
    X(LOST_PUSH, ONE_SERVER, "push-loss", "the push that grants the lock to a waiter is lost")     \
    X(NOSCRIPT, ONE_SERVER, "noscript", "the server has lost its script cache")                    \
    X(BORROWER, ONE_SERVER, "borrower", "another program takes the free lock and gives it back")   \
    X(SILENCE, ONE_SERVER, "silence", "the first waiter is skipped as if it were dead")            \
    X(YIELD, ONE_SERVER, "yield",                                                                  \
      "no fault: the holder gives the lock to the first waiter and waits again")                   \
    X(DOWNGRADE_BY_CALLER, ONE_SERVER, "downgrade",                                                \
      "no fault: a holder lets others share the lock")                                             \
    X(UPGRADE_BY_CALLER, ONE_SERVER, "upgrade",                                                    \
      "no fault: a client that shares the lock wants it alone")                                    \
    X(STOP, SERVERS, "stop", "a server stops and continues later")

typedef enum bwl_budget {
    BWL_BUDGET_NONE = 0,
#define X(name, worlds, label, sentence) BWL_##name,
    BWL_BUDGETS(X)
#undef X
        BWL_BUDGETS_COUNT
} bwl_budget;

enum { BWL_ANY = 255 };

const char *bwl_budget_label(bwl_budget budget);
/* In the language that is set. */
const char *bwl_budget_sentence(bwl_budget budget);

/* True if a world with several servers cannot have this budget. */
bool bwl_budget_wants_one_server(bwl_budget budget);

/* The invariants: what must hold in every schedule. */

/* X(NAME, label, sentence when it breaks) */
#define BWL_INVARIANTS(X)                                                                          \
    X(ONE_HOLDER, "one holder",                                                                    \
      "two clients believe, each by its own clock, that they hold the lock")                       \
    X(ONE_WORKER, "one worker", "two clients work under the lock, and neither of them was slow")   \
    X(NO_OVERLAP, "no overlap", "two clients work under the lock")                                 \
    X(OWN_KEY, "own key only", "a command changed a key that holds another client's token")        \
    X(CREATES, "no creation", "a command other than an acquire created the key")                   \
    X(HAS_END, "ends by itself", "a key outlives its lease")                                       \
    X(HONEST, "honest lease", "a client counts on more time than the server gives it")             \
    X(REPORTED, "reported once",                                                                   \
      "a caller got an impossible result, or one after the end, or none")                          \
    X(HEEDS_NO, "heeds no",                                                                        \
      "a client still believes that it holds the lock after the server said no or was replaced")   \
    X(TELLS_LOSS, "tells the loss",                                                                \
      "a hold ran past its time, or learned of a server restart, and did not report LOST")         \
    X(WAKES, "wakes", "a hold has no timer for the end of its time")                               \
    X(MAX_HOLD, "max hold", "a client counts on more time than its maximum hold")                  \
    X(KEEPS, "keeps", "a holder that renews and was not slow lost the lock by a single fault")     \
    X(NOT_NEARER, "never nearer", "an extension shortened a hold")                                 \
    X(TAKEN_BACK, "taken back", "a key is left that no client wants and no command removes")       \
    X(IN_TIME, "in time", "a caller still waits after its deadline although nothing was slow")     \
    X(PAUSES, "pauses", "a client sends command after command without a pause")                    \
    X(NOT_STUCK, "not stuck", "a client waits with no request in flight and no timer")             \
    X(CLEAN_END, "clean end", "no step is possible any more, and a call or a key is left")         \
    X(LIVE, "never too late", "from here on no client can ever get the lock")                      \
    X(ENDS, "every call ends", "from here on a pending call can never end")                        \
    X(LOST_WAKE_UP, "no lost wake-up",                                                             \
      "the lock is free, and a waiter sleeps longer than a pause")                                 \
    X(FIRST_COME, "first come", "a client got the lock before one that asked earlier")             \
    X(FENCE, "fence", "the resource accepted an older holder's write, or rejected the newest's")   \
    X(FOREIGN, "foreign value", "a command changed a foreign value")                               \
    X(ONE_START, "one start",                                                                      \
      "a client got the lock before the period of the last holder was over")                       \
    X(FREES, "frees", "a client has released the lock, nothing was late, and no other can get it") \
    X(GATE, "gate", "a shared lock ends before or after the last who shares it")                   \
    X(WOKEN, "woken", "the first waiter may share the lock, or is dead, and it was not served")

typedef enum bwl_invariant_number {
#define X(name, label, sentence) BWL_INVARIANT_NUMBER_##name,
    BWL_INVARIANTS(X)
#undef X
        BWL_INVARIANTS_COUNT
} bwl_invariant_number;

/* Flags: a scenario names a set of them. */
typedef enum bwl_invariant {
#define X(name, label, sentence) BWL_INVARIANT_##name = 1u << BWL_INVARIANT_NUMBER_##name,
    BWL_INVARIANTS(X)
#undef X
} bwl_invariant;

_Static_assert(BWL_INVARIANTS_COUNT == 29,
               "the flags are 1u << the number, so they cannot overlap");

enum {
    /* A lease without a queue and a fence does not guarantee these. */
    BWL_INVARIANTS_MORE = BWL_INVARIANT_NO_OVERLAP | BWL_INVARIANT_FIRST_COME | BWL_INVARIANT_FENCE,
    /* These hold while the timing bounds hold. */
    BWL_INVARIANTS_USUAL =
        ((1u << BWL_INVARIANTS_COUNT) - 1) &
        ~(unsigned)(BWL_INVARIANTS_MORE | BWL_INVARIANT_FREES | BWL_INVARIANT_ONE_START),
    /* Checked backwards when all worlds are known. */
    BWL_INVARIANTS_BACKWARDS = BWL_INVARIANT_LIVE | BWL_INVARIANT_ENDS,
};

/* Of the lowest flag in `invariants`; the sentence in the language that is set. */
const char *bwl_invariant_label(unsigned invariants);
const char *bwl_invariant_sentence(unsigned invariants);

/* 0: no budget has this label. */
unsigned bwl_budget_named(const char *label);

/* The flag of the invariant with this label; 0: none. */
unsigned bwl_invariant_named(const char *label);

/* The label that a misspelled one is most like; NULL: none is near. */
const char *bwl_invariant_nearest(const char *label);

enum { BWL_CLIENTS_MAX = 3, BWL_SERVERS_MAX = 5 };

typedef struct bwl_clock_rules {
    bwl_ms   jump_ms;                  /* step of a server's clock */
    bwl_ms   wall_ms;                  /* how far a client's wall clock steps (30) */
    bwl_ms   skew_ms[BWL_CLIENTS_MAX]; /* offset of each client's wall clock */
    unsigned pace_of[BWL_CLIENTS_MAX]; /* of each client's clock (100) */
    unsigned rate_pace;   /* after RATE (default: the most that the drift allowance covers) */
    unsigned server_pace; /* rate of the servers' clocks (100) */
    bwl_ms   delay_ms;    /* how long a message may be under way (any time) */
} bwl_clock_rules;

typedef struct bwl_server_rules {
    bool        stale;      /* starts with a key whose timestamp has expired */
    const char *start;      /* of a lock file: ... with this value; NULL: without a key */
    bwl_ms      start_ms;   /* its TTL; 0: none */
    bool        fences;     /* it counts grants and returns the number */
    bool        keeps_all;  /* RESTORE brings back all data */
    bool        has_run_id; /* a client that reconnects sees a restart */
    bool        young_wait; /* a server has no vote for a lease after its start */
    unsigned    evicts;     /* flags 1 << key: keys that may be evicted (the lock) */
} bwl_server_rules;

typedef struct bwl_queue_rules {
    bool      never_kills;               /* a client may not kill its old connection */
    bool      ages;                      /* a waiter without heartbeats is skipped */
    unsigned  serve_max;                 /* dead waiters skipped per command (64) */
    bwl_ms    keep_ms;                   /* TTL of the queue after its last change; 0: none */
    bwl_share share_of[BWL_CLIENTS_MAX]; /* how each client shares the lock (not at all) */
    unsigned  old_of; /* flags 1 << client: an earlier version, which does not know who shares */
} bwl_queue_rules;

/* In the tables, 0 means the default in parentheses. */
typedef struct bwl_scenario {
    const char          *name;
    const char          *story;
    const bwl_protocol  *protocol;  /* token */
    bwl_terms            terms;     /* lease 30, answer 15, no end; `renews` unless never_renews */
    bwl_protocol_options options;   /* of the terms */
    bwl_ms               wait_ms;   /* wait time of an acquire (45); NEVER: no limit */
    bwl_ms               extend_ms; /* lease of an explicit extension (20) */
    bwl_ms           lease_of_ms[BWL_CLIENTS_MAX]; /* lease of each client (that of the terms) */
    bwl_clock_rules  clocks;
    bwl_server_rules server;
    bwl_queue_rules  queue;
    unsigned         servers;       /* 1 .. SERVERS_MAX (1) */
    unsigned         clients;       /* 1 .. CLIENTS_MAX (2) */
    unsigned         rounds;        /* acquires per client (1); ANY: no limit */
    unsigned         mutations;     /* flags of bwl_mutation */
    unsigned         invariants;    /* flags of bwl_invariant (all but LIVE and NO_OVERLAP) */
    bool             tries_once;    /* acquires do not wait */
    unsigned         tries_once_of; /* flags 1 << client: these clients do not wait */
    bool             never_renews;
    bool             fine;    /* time also stops one ms before each instant */
    bool             chances; /* pauses of two lengths */
    bool             is_vast; /* too large to visit every state: random walks */
    uint8_t          budget[BWL_BUDGETS_COUNT];

    /* The expected result: the invariant that breaks and the number of steps; 0: none. */
    unsigned breaks;
    unsigned steps;
} bwl_scenario;

/* What the key has at the start: `nothing`, `stale`, or a value; the text is borrowed. */
void bwl_scenario_start(bwl_scenario *s, const char *value);

/* Checks these invariants and no others.  LIVE needs endless rounds, and no waiting, which keeps
 * the number of worlds finite. */
void bwl_scenario_check(bwl_scenario *s, unsigned flags);
