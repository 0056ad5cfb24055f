/*
 * core.h -- the words the whole library is written in.
 *
 * A lock protocol is a machine.  It is handed commands (what the caller wants) and events (what
 * the world did), and answers with effects (what should be done next).  It performs no I/O, reads
 * no clock, draws no random numbers and allocates no memory.  So the machine that runs against a
 * real server is, line for line, the machine that the lab explores, and the two cannot disagree.
 *
 *      command   ACQUIRE  EXTEND  RELEASE          from the hold, above
 *      event     REPLY    DOWN    ALARM    PUSH    from the engine, below
 *      effect    asks     outcome wake_at          what the machine wants done
 *
 * State is plain data without pointers into itself or into others: it can be copied, compared and
 * printed, which is what lets the lab try every order of events.  Time and randomness come in with
 * the command or the event.
 */
#ifndef BWL_CORE_H
#define BWL_CORE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BWL_NAME_MAX      = 200, /* bytes in the name of a lock                                     */
    BWL_RANDOM_BYTES  = 16,  /* in a token: 128 bits                                            */
    BWL_TOKEN_MAX     = 64,  /* characters of a token; ours have 22                             */
    BWL_NODES_MAX     = 9,   /* servers that one lock may span                                  */
    BWL_SENDS_MAX     = 2 * BWL_NODES_MAX, /* commands that one step may send */
    BWL_SEND_ARGS_MAX = 2,                 /* numbers that a command may have as arguments */
};

/* Milliseconds on a clock that counts suspend, or a length of time in them. */
typedef int64_t bwl_ms;
#define BWL_NEVER INT64_MAX

/* What cannot happen.  Always on: a lock that continues after this would lie. */
_Noreturn static inline void bwl_unreachable(const char *why)
{
    assert(why == NULL && "unreachable");
    __builtin_trap();
}

/* later(at, by): never wraps, so that NEVER plus anything is NEVER. */
static inline bwl_ms bwl_ms_add(bwl_ms at, bwl_ms by)
{
    assert(by >= 0);
    return at > BWL_NEVER - by ? BWL_NEVER : at + by;
}

static inline bwl_ms bwl_ms_min(bwl_ms a, bwl_ms b)
{
    return a < b ? a : b;
}

/* The drift allowance: by how much our clock and the store's may differ in pace over one lease.
 * One per cent and two milliseconds, the figure of the Redlock page (redis.io, "Distributed
 * Locks with Redis").  Crystals are a hundred times better; a clock that is being slewed may be
 * worse, and docs/guarantees.md says so. */
static inline bwl_ms bwl_drift_ms(bwl_ms lease_ms)
{
    return lease_ms / 100 + 2;
}

/* The same where the caller names it: so many millionths of the lease.  0: he does not. */
static inline bwl_ms bwl_drift_named_ms(bwl_ms lease_ms, uint32_t drift_ppm)
{
    assert(lease_ms >= 0 && drift_ppm < 1000000);
    return drift_ppm == 0 ? bwl_drift_ms(lease_ms) : lease_ms * drift_ppm / 1000000;
}

/* A moment by both clocks: ours, on which everything that is promised is counted, and the time of
 * day, which some protocols write into the store. */
typedef struct bwl_moment {
    bwl_ms  now;
    int64_t wall_ns; /* nanoseconds since 1970; 0 where nobody reads it: see uses_wall          */
} bwl_moment;

/* Sixteen bytes that nobody can guess and that never come again. */
typedef struct bwl_random {
    uint8_t bytes[BWL_RANDOM_BYTES];
} bwl_random;

typedef struct bwl_compat_rules bwl_compat_rules; /* core/compat_rules.h */

/* Who asks, and for how long.  The token is new for every attempt: otherwise a late delete, from an
 * attempt that we gave up, could remove the lock that a later attempt has won.  Which name is meant
 * is not said here: a machine is about one lock, and whoever runs it knows which. */
typedef struct bwl_lock_request {
    char     token[BWL_TOKEN_MAX + 1];
    uint32_t attempt;
    uint32_t drift_ppm; /* see bwl_drift_named_ms; 0 but for `redlock`                   */
    bwl_ms   lease_ms;
    const bwl_compat_rules *rules; /* constant, outlives the hold; NULL: no parameters */
    uint16_t replicas;             /* that must have it before it counts; 0: none                 */
    bwl_ms   replicas_ms;          /* how long they may take, at most                             */
} bwl_lock_request;

typedef enum bwl_verb { BWL_ACQUIRE = 1, BWL_EXTEND, BWL_RELEASE } bwl_verb;

typedef struct bwl_command {
    bwl_verb verb;
    bool     again;    /* ACQUIRE: the same token was asked for before, and no answer came     */
    bool     may_wait; /* ACQUIRE: we would stand in a queue, where the store keeps one        */
    bool     yields;   /* ACQUIRE: it is ours by the former token: for who waits, and then we   */
    bwl_ms   now;
    int64_t  wall_ns; /* the client's time of day, where the protocol uses it                   */
} bwl_command;

/* A question for one node, in the words of its store (src/protocol/store).  The name, the token and
 * the lease come from the claim. */
typedef struct bwl_send {
    uint32_t tag; /* comes back with the reply                                                 */
    uint8_t  node;
    uint8_t  command;
    int64_t  args[BWL_SEND_ARGS_MAX]; /* what each command has is in the header of its store */
} bwl_send;

typedef enum bwl_answer {
    BWL_YES = 1,
    BWL_NO,
    BWL_RETRYABLE, /* the store cannot serve now (loading, out of memory): not carried out */
    BWL_REFUSED,   /* the store will not (no permission): not carried out                        */
    BWL_NOT_SENT,  /* the question never left this machine: not carried out                      */
    BWL_FOREIGN_VALUE, /* there is a value, and it is none that these rules could have written */
} bwl_answer;

typedef enum bwl_event_kind {
    BWL_REPLY = 1, /* a node answered                                                          */
    BWL_DOWN,      /* a node went away: open questions may or may not have been carried out    */
    BWL_ALARM,     /* wake_at has come                                                         */
    BWL_PUSH,      /* a node says something unasked                                            */
} bwl_event_kind;

typedef struct bwl_event {
    bwl_event_kind kind;
    uint8_t        node;   /* REPLY, DOWN, PUSH                                                */
    bwl_answer     answer; /* REPLY, PUSH                                                      */
    uint32_t       tag;    /* REPLY, DOWN: of the question                                     */
    uint64_t       number; /* REPLY, PUSH: a fence, or what the word says                      */
    bwl_ms         now;
    int64_t        wall_ns; /* the client's time of day, where the protocol uses it              */
    bwl_random     fresh;   /* new with every event                                             */
    const void    *details; /* REPLY, PUSH: a struct of src/protocol/store; valid during the call */
} bwl_event;

/* How a command came out.  UNKNOWN is not an error: it is the honest answer when a node fell silent
 * with our question in its hands. */
typedef enum bwl_outcome_kind {
    BWL_PENDING = 0, /* nothing to tell yet                                               */
    BWL_HELD,        /* ours until `until`                                                */
    BWL_QUEUED, /* in the store's queue: ends by HELD, by RETRY_WITH_NEW_TOKEN, or by our RELEASE */
    BWL_BUSY,   /* someone else's                                                    */
    BWL_FULL,   /* someone else's, and nobody else may wait for it                   */
    BWL_NOT_NOW,       /* the store cannot serve now                                        */
    BWL_STORE_REFUSED, /* the store will not                                                */
    BWL_UNREACHABLE,   /* the question could not be put                                     */
    BWL_LOST,          /* was ours, is not now                                              */
    BWL_RELEASED,      /* was ours, given back                                              */
    BWL_UNKNOWN,       /* no answer                                                         */
    BWL_TIMED_OUT,     /* the hold's: waited as long as it was told to                      */
    BWL_CANCELLED,     /* the hold's: told to stop                                          */
    BWL_RETRY_WITH_NEW_TOKEN, /* not held, and the store has nothing of this token */
} bwl_outcome_kind;

typedef struct bwl_outcome {
    bwl_outcome_kind kind;
    bwl_ms           until; /* HELD: surely ours strictly before this; NEVER: until released;
                             * not later than now: won, and of no use: to be given back         */
    uint64_t         fence; /* HELD: 0 where there is none                                    */
    bwl_outcome_kind why;   /* HELD, and of no use: for this reason; PENDING: it came too late */
} bwl_outcome;

typedef struct bwl_effects {
    unsigned    send_count;
    bwl_outcome outcome;
    bwl_ms      wake_at; /* when to send ALARM, replacing what was wished before; 0: as before */
    bwl_ms      wake_slack_ms; /* it may as well be that much later                            */
    bwl_send    sends[BWL_SENDS_MAX];
} bwl_effects;

/* What a step begins with.  The asks beyond send_count are nobody's: clearing them as well would be
 * a tenth of what a lock between threads costs. */
static inline void bwl_no_effects(bwl_effects *ret_fx)
{
    ret_fx->send_count    = 0;
    ret_fx->outcome       = (bwl_outcome){ .kind = BWL_PENDING };
    ret_fx->wake_at       = 0;
    ret_fx->wake_slack_ms = 0;
}

/* One lock protocol.  `command` is called only when the command before it has had its outcome, save
 * that RELEASE may interrupt the others, and an ACQUIRE that yields EXTEND, after which nothing is
 * told of them any more.
 * `event` may be called at any time, also with what nobody asked for. */
typedef struct bwl_protocol {
    const char *name;
    const char *fault; /* what is wrong with it whatever happens, for a warning; NULL: nothing */
    size_t      state_size;
    bool        uses_token; /* and so needs a new one for every attempt, which nobody can guess */
    bool        uses_wall;  /* wants the time of day with commands and events                 */
    bool        extends;    /* false: EXTEND is never commanded, and a hold ends when it ends     */
    bool can_verify_owner;  /* false: it cannot tell its own value from another's.  An acquire or a
                          * release without an answer is told UNKNOWN at once, and nothing is
                          * taken back behind the caller: it could be somebody else's by then  */
    bool uses_push;         /* may be pushed to; and hears DOWN with tag 0 when a connection ended
                          * on which it has asked, though no question is open                   */
    bool retries_on_push;   /* a PUSH between two attempts says that the lock may be free: the next
                          * attempt comes at once                                               */
    bool yields;            /* knows ACQUIRE with `yields`: gives it on and stands in line again, in
                          * one step                                                              */
    void (*init)(void *state, unsigned nodes);
    void (*command)(void *state, const bwl_lock_request *, const bwl_command *, bwl_effects *);
    void (*event)(void *state, const bwl_lock_request *, const bwl_event *, bwl_effects *);
} bwl_protocol;

/* ---- the three sentences that a protocol speaks ---------------------------------------------- */

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

/* Where the moment does not matter: whoever has many machines may wake those together that may be
 * woken together. */
static inline void bwl_wake_about(bwl_effects *fx, bwl_ms at, bwl_ms slack_ms)
{
    assert(slack_ms >= 0);
    bwl_wake_at(fx, at);
    fx->wake_slack_ms = slack_ms;
}

#endif
