/*
 * machine.h -- what you have when you have a lock, and how you come to it.
 *
 * The hold sits on a protocol and adds what every protocol needs alike: waiting one's turn,
 * settling what got no answer, renewing in time, noticing the loss, letting go.  It is a machine
 * itself: no I/O, no clock, no memory but its own.
 *
 *      IDLE --> ACQUIRING ---busy, not now----> WAITING --> ACQUIRING ...
 *                |  |  |
 *                |  |  +------queued----------> QUEUED ----yes---+
 *                |  +---------no answer-------> RESOLVING --yes---+
 *                +------------yes--------------------------------+--> HELD <--> RENEWING
 *                                                                      |            |
 *                            OVER <-- RELEASING <--------release-------+------------+
 *                            OVER <-- LEAVING <--its time is over, or the store says no: LOST
 *                                        ^-- REVOKED <--the store cannot vouch for it: LOST
 *
 * REVOKED is lost, but what may be ours in the store stays there until the caller gives it back,
 * or until the time is over that he had been told of.
 *
 * LEAVING is RELEASING that nobody waits for: after a cancel, a loss, an attempt given up, what may
 * be ours in the store is taken back; the caller has been told already.  DISCARDING gives back what
 * was won too late to be of use, and then tries again.
 *
 * Who yields gives it to who waits and acquires it once more, in one step where the protocol knows
 * such a one: HELD --> ACQUIRING.  Elsewhere it is released first: HELD --> YIELDING --> ACQUIRING.
 * From then on there is no hold until it is acquired, and what ends the attempt ends it all.
 *
 * A protocol whose store keeps the queue may end an attempt RETRY_WITH_NEW_TOKEN, from QUEUED too:
 * nothing of it is left there, and the next one comes at once, in WAITING for no longer than that
 * takes.  QUEUED may have to be settled, like an attempt.  And HELD may hear unasked that it is
 * for longer.
 *
 * A protocol that does not settle (its release could remove what is somebody else's) has no
 * RESOLVING and no DISCARDING: without an answer it is OVER, with UNKNOWN.  It is left only when it
 * is surely ours: ended by max_hold before its time, or cancelled and won all the same, which is
 * ABANDONING:
 *
 *      ACQUIRING --cancel--> ABANDONING --yes--> LEAVING --> OVER
 *                                       --anything else----> OVER
 */
#ifndef BWL_LOCK_MACHINE_H
#define BWL_LOCK_MACHINE_H

#include "core/core.h"

typedef enum bwl_hold_state {
    BWL_HOLD_IDLE = 1,
    BWL_HOLD_ACQUIRING,  /* a question is out                                                  */
    BWL_HOLD_RESOLVING,  /* a question had no answer; it is out again, or we pause before that  */
    BWL_HOLD_DISCARDING, /* a release of what came too late is out, or we pause before another  */
    BWL_HOLD_WAITING,    /* pausing before the next attempt                                    */
    BWL_HOLD_QUEUED,     /* in the store's queue                                               */
    BWL_HOLD_HELD,
    BWL_HOLD_RENEWING,   /* held, and an extension is out                                       */
    BWL_HOLD_YIELDING,   /* a release is out, and an acquire comes behind it                    */
    BWL_HOLD_REVOKED,    /* lost, and told so; the caller has not given it back                */
    BWL_HOLD_RELEASING,  /* a release is out, or we pause before sending it again               */
    BWL_HOLD_LEAVING,    /* the same, with nobody waiting for the outcome                       */
    BWL_HOLD_ABANDONING, /* as ACQUIRING, after a cancel: the caller has been told already      */
    BWL_HOLD_OVER,
} bwl_hold_state;

/* What the caller wants, for the whole life of the hold. */
typedef struct bwl_terms {
    bwl_ms   lease_ms;
    bwl_ms   max_hold_ms; /* NEVER: no end                                                       */
    bwl_ms   answer_ms;   /* how long we insist on an answer once nobody waits for the lock       */
    bool     renews;    /* if the protocol extends at all                                        */
    uint32_t drift_ppm; /* see bwl_drift_named_ms; 0: the usual allowance                        */
    const bwl_compat_rules *rules; /* of the protocol; constant, outlives the hold; NULL: none */
    uint16_t replicas; /* of a protocol that asks for them: see replicated.c; 0: none          */
} bwl_terms;

enum {
    BWL_PROTOCOL_STATE_MAX = 144,
    BWL_PREVIOUS_TOKEN_MAX =
        22, /* characters: only protocols with tokens of ours yield in one step */
};

typedef struct bwl_hold {
    const bwl_protocol *protocol;
    bwl_terms           terms;
    bwl_lock_request    request;
    char           previous_token[BWL_PREVIOUS_TOKEN_MAX + 1]; /* before the last yield; "": none */
    bwl_hold_state state;
    bwl_outcome_kind last_error;     /* why it has not gone well of late; PENDING: it has */
    bool             would_wait;     /* told to wait, so giving up is TIMED_OUT               */
    bool             last_try;       /* the time for waiting is over                         */
    bool             is_unknown;     /* RELEASING: an earlier release had no answer */
    bool             caller_extends; /* RENEWING: the caller wants to know how it came out  */
    bool             extend_again;   /* RENEWING: with an older lease than is wanted now     */
    unsigned         pauses;         /* how often we paused in a row: the back-off            */
    uint64_t         fence;
    bwl_ms           wait_deadline;   /* stop waiting for our turn */
    bwl_ms           answer_deadline; /* stop insisting on an answer */
    bwl_ms           attempt_ends_at; /* a lease of this attempt is over; NEVER: has none yet */
    bwl_ms           until;           /* HELD: surely ours strictly before this; REVOKED: was */
    bwl_ms           granted_to;      /* HELD: when the store's grant ends, whatever we say   */
    bwl_ms           ends_at;         /* HELD: max_hold                                       */
    bwl_ms           timer_at;        /* our own next timer                                   */
    bwl_ms           protocol_wakes_at;
    _Alignas(8) unsigned char memory[BWL_PROTOCOL_STATE_MAX];
} bwl_hold;

/* After each of the calls below, `fx` holds: asks, to be put; an outcome for the caller, if its
 * kind is not PENDING (HELD: acquired, or extended; the others: see core.h); and in wake_at,
 * when the hold wants its next ALARM.  A hold whose state is OVER wants nothing any more. */

void bwl_hold_init(bwl_hold *h, const bwl_protocol *protocol, unsigned nodes,
                   const bwl_terms *terms);

/* Tries until wait_deadline, and at least once. */
void bwl_hold_acquire(bwl_hold *h, const bwl_random *fresh, bwl_moment at, bwl_ms wait_deadline,
                      bwl_effects *fx);

/* While it is held, and only where the protocol extends: lease_ms from now on.  Ends by HELD, by
 * LOST, or by another outcome that leaves the hold as it was. */
void bwl_hold_extend(bwl_hold *h, bwl_ms now, bwl_ms lease_ms, bwl_effects *fx);

/* While it is held: gives it back. */
void bwl_hold_release(bwl_hold *h, bwl_moment at, bwl_effects *fx);

/* While it is held: gives it to who waits, and tries to have it again until wait_deadline, which is
 * later than now.  Ends as acquire does, or by LOST: it was not ours to give. */
void bwl_hold_yield(bwl_hold *h, const bwl_random *fresh, bwl_moment at, bwl_ms wait_deadline,
                    bwl_effects *fx);

/* While it is held: whoever runs this has learnt that the store can vouch no longer for what it
 * gave.  Tells LOST at once; what may be ours there still is taken back, where the protocol can
 * tell: when `until` has come, or the caller gives it back, which he may while it is REVOKED. */
void bwl_hold_revoke(bwl_hold *h, bwl_ms now, bwl_effects *fx);
void bwl_hold_give_back(bwl_hold *h, bwl_moment at, bwl_effects *fx);

/* While it is not held yet: stops.  Tells CANCELLED at once. */
void bwl_hold_cancel(bwl_hold *h, bwl_ms now, bwl_effects *fx);

/* The latest moment at which the caller is told how an acquire or a yield came out: the wait plus
 * the time for one answer, and a little more, so that the store's own time limit, which knows the
 * reason, comes first.  NEVER: it waits for ever, or is not sought. */
bwl_ms bwl_hold_result_deadline(const bwl_hold *h);

/* From this moment on a question that has not been sent yet is not worth waiting for: the wait is
 * over, and an earlier question of this acquire could not be sent, or its answer is missing.  At
 * most bwl_hold_result_deadline.  NEVER: no such moment. */
bwl_ms bwl_hold_send_deadline(const bwl_hold *h);

/* At told_by, while it is not held yet: stops, and tells why at once.  UNKNOWN where a question is
 * out: what may be ours in the store is taken back as after a cancel. */
void bwl_hold_time_up(bwl_hold *h, bwl_ms now, bwl_effects *fx);

void bwl_hold_event(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* True while release and extend may be called, and while cancel may. */
bool bwl_hold_is_held(const bwl_hold *h);
bool bwl_hold_is_acquiring(const bwl_hold *h);

/* How long it is surely ours: 0 when it is not, NEVER when only we can end it. */
bwl_ms bwl_hold_left(const bwl_hold *h, bwl_ms now);

/* Likewise, for whoever counts it from the true time: `now` is rounded up to whole ms, so the end
 * comes up to one before `until`, and the lock may be given back then. */
bwl_ms bwl_hold_left_truly(const bwl_hold *h, bwl_ms now);

#endif
