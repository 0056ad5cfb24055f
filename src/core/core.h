/*
 * core.h -- the types that every lock protocol, the lock machine and every engine share.
 *
 * A lock protocol is a state machine.  It gets commands (what the caller wants) and events (what
 * happened), and returns effects (what to do next).  It does no I/O, reads no clock, draws no
 * random numbers and allocates no memory.  The lab explores the same code that runs against a real
 * server.
 *
 *      command   ACQUIRE  EXTEND  RELEASE          from the lock machine, above
 *      event     REPLY    DOWN    ALARM    PUSH    from the engine, below
 *      effect    sends    outcome wake_at          what the machine wants done
 *
 * State is plain data without pointers into itself or into other states.  It can be copied,
 * compared and printed, so the lab can try every order of events.  Time and random bytes come in
 * with the command or the event.
 */
#ifndef BWL_CORE_H
#define BWL_CORE_H

#include "core/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BWL_NAME_MAX      = 200,               /* bytes in the name of a lock */
    BWL_RANDOM_BYTES  = 16,                /* in a token: 128 bits */
    BWL_TOKEN_MAX     = 64,                /* characters in a token; a token of bowline has 22 */
    BWL_NODES_MAX     = 9,                 /* servers that one lock may use */
    BWL_SENDS_MAX     = 2 * BWL_NODES_MAX, /* commands that one step may send */
    BWL_SEND_ARGS_MAX = 2,                 /* numbers that a command may have as arguments */
};

/* Ends the process at a point that no execution can reach.  Not disabled by NDEBUG: a lock that
 * went on from here could report a false result. */
_Noreturn static inline void bwl_unreachable(const char *why)
{
    assert(why == NULL && "unreachable");
    __builtin_trap();
}

/* Bytes from a cryptographic random generator.  Never used twice. */
typedef struct bwl_random {
    uint8_t bytes[BWL_RANDOM_BYTES];
} bwl_random;

typedef struct bwl_protocol_options bwl_protocol_options; /* protocol/format/compat_rules.h */

/* How a hold shares the lock: `weight` permits, granted while at most `limit` are in use.
 * weight 0: with nobody; limit 0: with any number. */
typedef struct bwl_share {
    uint32_t weight;
    uint32_t limit;
} bwl_share;

/* The arguments of an attempt.  Each attempt has a new token: otherwise a late release by an
 * abandoned attempt could delete the lock that a later attempt has acquired.  The name of the lock
 * is not here: a machine has one lock, and its owner knows the name. */
typedef struct bwl_lock_request {
    char                        token[BWL_TOKEN_MAX + 1];
    uint32_t                    attempt;
    bwl_ms                      lease_ms;
    bwl_ms                      answer_ms; /* time limit for the reply of a server */
    bwl_ms                      rest_ms;   /* the store keeps the lock taken for so long from its
                                            * grant, also after a release that rests; 0: no rest */
    bool                        once;      /* an acquire that finds a rest ends as DONE */
    bwl_share                   share;     /* only of a protocol that shares */
    const bwl_protocol_options *options;   /* constant, outlives the hold; never NULL */
} bwl_lock_request;

typedef enum bwl_verb { BWL_ACQUIRE = 1, BWL_EXTEND, BWL_RELEASE } bwl_verb;

typedef struct bwl_command {
    bwl_verb verb;
    bool     again;    /* ACQUIRE: the same token was sent before, and no reply came */
    bool     may_wait; /* ACQUIRE: may enter the queue, if the store keeps one */
    bool     yields; /* ACQUIRE: the lock is held by the previous token; hand it to the next waiter,
                        * and enter the queue again */
    bool     adopts; /* ACQUIRE: another client has held the lock by the previous token, and has
                        * given it up to this one: take it over, or complete as LOST */
    bool     downgrades; /* EXTEND: and any number may share it now, as the request does already */
    bool     upgrades;   /* EXTEND: and it is ours alone, by the other token of the hold; or
                          * complete as BUSY: extended, and others share it */
    bool     releases_both; /* RELEASE: the other token of the hold may have the lock, too */
    bool     rests;         /* RELEASE: the lock stays taken for rest_ms */
    bwl_ms   rest_ms;
    bwl_ms   now;
    int64_t  wall_ns; /* see bwl_moment */
} bwl_command;

/* A command for one node.  Its meaning is in the header of the store (src/protocol/store).  The
 * token and the lease are those of the lock request. */
typedef struct bwl_send {
    uint32_t tag; /* the reply has the same tag */
    uint8_t  node;
    uint8_t  command;
    int64_t  args[BWL_SEND_ARGS_MAX]; /* which command has which: in the header of the store */
} bwl_send;

typedef enum bwl_answer {
    BWL_YES = 1,
    BWL_NO,
    BWL_RETRYABLE,     /* the store cannot serve now (loading, out of memory): not carried out */
    BWL_REFUSED,       /* the store refuses (no permission): not carried out */
    BWL_NOT_SENT,      /* the command did not leave this machine: not carried out */
    BWL_FOREIGN_VALUE, /* the key has a value that these rules cannot have written */
} bwl_answer;

typedef enum bwl_event_kind {
    BWL_REPLY = 1, /* a node replied */
    BWL_DOWN, /* the connection to a node ended: its commands in flight may have been carried out */
    BWL_ALARM, /* wake_at is reached */
    BWL_PUSH,  /* a message of a node without a command */
} bwl_event_kind;

typedef struct bwl_event {
    bwl_event_kind kind;
    uint8_t        node;   /* REPLY, DOWN, PUSH */
    bwl_answer     answer; /* REPLY, PUSH */
    uint32_t       tag;    /* REPLY, DOWN: of the command */
    uint64_t       number; /* REPLY, PUSH: a fence, or what the command is defined to return */
    bwl_ms         now;
    int64_t        wall_ns; /* see bwl_moment */
    bwl_random     fresh;   /* new in each event */
    const void    *details; /* REPLY, PUSH: a struct of src/protocol/store, valid during the call;
                             * NULL: none */
} bwl_event;

/* The result of a command.  UNKNOWN is a correct result and not an error: a node did not reply to a
 * command that it may have carried out. */
typedef enum bwl_outcome_kind {
    BWL_PENDING = 0,   /* no result yet */
    BWL_HELD,          /* held until `until` */
    BWL_QUEUED,        /* in the store's queue; HELD, RETRY_WITH_NEW_TOKEN or RELEASE ends it */
    BWL_BUSY,          /* another client holds the lock */
    BWL_FULL,          /* another client holds the lock, and the queue is full */
    BWL_NOT_NOW,       /* the store cannot serve now */
    BWL_STORE_REFUSED, /* the store refuses */
    BWL_UNREACHABLE,   /* the command could not be sent */
    BWL_LOST,          /* was held, is not held now */
    BWL_RELEASED,      /* was held, is released */
    BWL_UNKNOWN,       /* no reply */
    BWL_TIMED_OUT,     /* of the lock machine: the wait is over */
    BWL_CANCELLED,     /* of the lock machine: cancelled by the caller */
    BWL_RETRY_WITH_NEW_TOKEN, /* not held, and the store keeps nothing of this token */
    BWL_DONE,                 /* no client holds the lock: its last holder's rest is not over */
} bwl_outcome_kind;

typedef struct bwl_outcome {
    bwl_outcome_kind kind;
    bwl_ms           until; /* HELD, and BUSY of an upgrade: the client holds the lock strictly
                             * before this; NEVER: until
                             * it is released.  until <= now: the grant arrived too late, and must
                             * be released */
    uint64_t         fence; /* HELD: the fencing token; 0: the protocol has none */
    bwl_outcome_kind why;   /* HELD with until <= now: the reason; PENDING: it arrived too late */
} bwl_outcome;

typedef struct bwl_effects {
    unsigned    send_count;
    bwl_outcome outcome;
    bwl_ms      wake_at;       /* when to send ALARM; replaces the previous time; 0: no change */
    bwl_ms      wake_slack_ms; /* the ALARM may be late by this much */
    bwl_send    sends[BWL_SENDS_MAX];
} bwl_effects;

/* The effects at the start of a step.  sends[] beyond send_count stays uninitialized: clearing it
 * takes a tenth of the time of a lock between threads. */
static inline void bwl_no_effects(bwl_effects *ret_fx)
{
    ret_fx->send_count    = 0;
    ret_fx->outcome       = (bwl_outcome){ .kind = BWL_PENDING };
    ret_fx->wake_at       = 0;
    ret_fx->wake_slack_ms = 0;
}

/* One lock protocol.  `command` is called only after the previous command has its outcome, with two
 * exceptions: RELEASE may interrupt any other command, and an ACQUIRE with `yields`, or an EXTEND
 * that downgrades or upgrades, may interrupt EXTEND.  The interrupted command has no outcome.
 * `event` may be called at any time, also with an event that does not concern the protocol. */
typedef struct bwl_protocol {
    const char *name;
    const char *fault; /* a warning: what is wrong with every use of the protocol; NULL: nothing */
    size_t      state_size;
    bool        uses_token; /* needs a new random token for each attempt */
    bool        uses_wall;  /* needs wall_ns in commands and events */
    bool        extends;    /* false: EXTEND is never sent, and a hold ends with its lease */
    bool can_verify_owner;  /* false: cannot tell its own value from another client's.  An acquire
                                   * or release without a reply ends as UNKNOWN at once, and no
                                   * release follows: it could delete another client's lock */
    bool uses_push;         /* gets PUSH; also gets DOWN with tag 0 when a connection ends on
                                   * which it has sent a command, without a command in flight */
    bool retries_on_push;   /* a PUSH between two attempts starts the next attempt at once */
    bool request_first;     /* the state begins with a bwl_one_request: for the lab, which compares
                             * requests by their order and not by their numbers */
    bool yields;            /* supports ACQUIRE with `yields`, in one step */
    bool rests;             /* supports rest_ms and `once` */
    bool shares;            /* supports `share`; such a hold does not yield in one step */
    bool changes;           /* supports EXTEND that downgrades or upgrades */
    void (*init)(void *state, unsigned nodes);
    void (*command)(void *state, const bwl_lock_request *, const bwl_command *, bwl_effects *);
    void (*event)(void *state, const bwl_lock_request *, const bwl_event *, bwl_effects *);
} bwl_protocol;

/* ---- what a protocol adds to the effects ----------------------------------------------------- */

static inline void bwl_add_send(bwl_effects *fx, bwl_send send)
{
    assert(fx->send_count < BWL_SENDS_MAX);
    assert(send.node < BWL_NODES_MAX);
    fx->sends[fx->send_count++] = send;
}

static inline void bwl_send_command(bwl_effects *fx, unsigned node, unsigned command, uint32_t tag)
{
    bwl_add_send(fx, (bwl_send){ .tag = tag, .node = (uint8_t)node, .command = (uint8_t)command });
}

static inline void bwl_complete(bwl_effects *fx, bwl_outcome_kind kind)
{
    assert(fx->outcome.kind == BWL_PENDING);
    fx->outcome = (bwl_outcome){ .kind = kind };
}

static inline void bwl_complete_held(bwl_effects *fx, bwl_ms until, uint64_t fence)
{
    bwl_complete(fx, BWL_HELD);
    fx->outcome.until = until;
    fx->outcome.fence = fence;
}

static inline void bwl_wake_at(bwl_effects *fx, bwl_ms at)
{
    assert(at > 0);
    fx->wake_at       = at;
    fx->wake_slack_ms = 0;
}

/* The same for a time that need not be exact: the owner of many machines may then wake several of
 * them together. */
static inline void bwl_wake_about(bwl_effects *fx, bwl_ms at, bwl_ms slack_ms)
{
    assert(slack_ms >= 0);
    bwl_wake_at(fx, at);
    fx->wake_slack_ms = slack_ms;
}

#endif
