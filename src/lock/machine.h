/*
 * machine.h -- the lock machine: the life of one lock, from the acquire to the release.
 *
 * A hold uses a protocol, and adds what every protocol needs: waiting, resolving attempts without
 * a reply, renewal, detection of a loss, release.  It is a state machine too: it does no I/O,
 * reads no clock and allocates no memory.
 *
 *      IDLE --> ACQUIRING ---busy, not now----> WAITING --> ACQUIRING ...
 *                |  |  |
 *                |  |  +------queued----------> QUEUED ----yes---+
 *                |  +---------no reply--------> RESOLVING --yes---+
 *                +------------yes--------------------------------+--> HELD <--> RENEWING
 *                                                                      |            |
 *                            OVER <-- RELEASING <--------release-------+------------+
 *                            OVER <-- LEAVING <--lease over, or the store replied NO: LOST
 *                                        ^-- REVOKED <--bwl_hold_revoke: LOST
 *
 * REVOKED: the lock is lost, but the store may still have it with its token.  It is not released
 * before the caller calls bwl_hold_give_back, or the end that was reported to the caller is
 * reached: until then the caller may rely on the lock.  With a rest, any loss ends here, and the
 * end is that of the rest: the caller may still drop the rest, and no other client may begin.
 *
 * LEAVING: a release in the background.  It follows a cancel, a loss or an abandoned attempt; the
 * caller has its result already.  DISCARDING: releases a grant that came too late, and then makes
 * another attempt.
 *
 * A yield hands the lock to the next waiter and acquires it again, in one step if the protocol
 * supports that: HELD --> ACQUIRING.  Otherwise a release comes first: HELD --> YIELDING -->
 * ACQUIRING.  From then on the lock is not held, and any end of the attempt ends the hold.
 *
 * A protocol with a queue in the store may end an attempt with RETRY_WITH_NEW_TOKEN, also in
 * QUEUED. The store keeps nothing of that attempt, and the next one starts at once (WAITING with a
 * pause of 0).  An attempt in QUEUED without a reply becomes RESOLVING.  In HELD the protocol may
 * report a later end without a command.
 *
 * A protocol that cannot verify the owner (its release could delete the lock of another client)
 * has no RESOLVING and no DISCARDING: an attempt without a reply ends in OVER with UNKNOWN.  A
 * hold is released in the background only if it is certainly ours: max_hold ended it before its
 * lease, or the acquire was cancelled and the lock was granted all the same.  ABANDONING waits for
 * the reply to a cancelled acquire:
 *
 *      ACQUIRING --cancel--> ABANDONING --yes--> LEAVING --> OVER
 *                                       --anything else----> OVER
 */
#ifndef BWL_LOCK_MACHINE_H
#define BWL_LOCK_MACHINE_H

#include "core/core.h"

typedef enum bwl_hold_state {
    BWL_HOLD_IDLE = 1,
    BWL_HOLD_ACQUIRING,  /* a command is in flight */
    BWL_HOLD_RESOLVING,  /* no reply; it is sent again, or there is a pause before that */
    BWL_HOLD_DISCARDING, /* a release of a late grant is in flight, or there is a pause before it */
    BWL_HOLD_WAITING,    /* a pause before the next attempt */
    BWL_HOLD_QUEUED,     /* in the store's queue */
    BWL_HOLD_HELD,
    BWL_HOLD_RENEWING,   /* held, and an extension is in flight */
    BWL_HOLD_YIELDING,   /* a release is in flight, and an acquire follows */
    BWL_HOLD_REVOKED,    /* lost and reported; the caller has not released it */
    BWL_HOLD_RELEASING,  /* a release is in flight, or there is a pause before it */
    BWL_HOLD_LEAVING,    /* the same in the background: the caller has its result */
    BWL_HOLD_ABANDONING, /* as ACQUIRING, after a cancel: the caller has its result */
    BWL_HOLD_OVER,
} bwl_hold_state;

/* The parameters of a hold; constant while it lives. */
typedef struct bwl_terms {
    bwl_ms    lease_ms;
    bwl_ms    max_hold_ms; /* BWL_NEVER: no limit */
    bwl_ms    answer_ms;   /* how long to retry without a reply after the wait is over */
    bwl_ms    rest_ms;     /* 0: no rest; else the protocol rests: see bwl_lock_request */
    bool      once;        /* the same */
    bwl_share share;       /* weight 0, or a protocol that shares */
    bool      renews;      /* extends before the lease ends, if the protocol can */
    const bwl_protocol_options *options; /* constant, outlives the hold; NULL: the defaults */
} bwl_terms;

typedef enum bwl_change { BWL_DOWNGRADE = 1, BWL_UPGRADE } bwl_change;

/* What a change of the mode may have done: see change.h. */
typedef struct bwl_mode_change {
    bwl_change kind;          /* sent, or about to be, and without a reply; 0: none */
    bool       is_awaited;    /* the caller waits for its result */
    bool       is_unknown;    /* one of its commands may have been carried out */
    bool       other_may_own; /* an upgrade: the store may have the lock with other_token */
} bwl_mode_change;

enum {
    BWL_PROTOCOL_STATE_MAX = 144,
    BWL_OTHER_TOKEN_MAX =
        22, /* characters: only protocols with the token format of bowline yield in one step */
};

typedef struct bwl_hold {
    const bwl_protocol *protocol;
    bwl_terms           terms;
    bwl_lock_request    request;
    char                other_token[BWL_OTHER_TOKEN_MAX + 1]; /* before the last yield, or of the
                                                             * adopted hold; of an upgrade without
                                                             * a reply, the new one; "": none */
    bwl_mode_change     change;
    bwl_hold_state      state;
    bwl_outcome_kind    last_error; /* of the last attempt or renewal; PENDING: none */
    bool                would_wait; /* the caller waits: without the lock the result is TIMED_OUT */
    bool                last_try;   /* the wait is over */
    bool                is_unknown; /* RELEASING: an earlier release had no reply */
    bool                caller_extends; /* RENEWING: the caller waits for the result */
    bool                extend_again;   /* RENEWING: the lease has changed since it was sent */
    bool                adopts;         /* the attempts adopt a lock of another client */
    unsigned            pauses;         /* in a row: for the backoff */
    uint64_t            fence;
    bwl_ms              wait_deadline;   /* end of the wait */
    bwl_ms              answer_deadline; /* end of the retries without a reply */
    bwl_ms attempt_ends_at; /* when any lease of this attempt is over; NEVER: none yet */
    bwl_ms until;        /* HELD: held strictly before this; REVOKED: the end that was reported */
    bwl_ms granted_to;   /* HELD: when the grant of the store ends */
    bwl_ms ends_at;      /* HELD: end of max_hold */
    bwl_ms rest_ends_at; /* no sooner than in the store; 0: a release leaves no rest */
    bwl_ms timer_at;     /* the next timer of the machine itself */
    bwl_ms protocol_wakes_at;
    _Alignas(8) unsigned char memory[BWL_PROTOCOL_STATE_MAX];
} bwl_hold;

/* After each call below, `fx` has the commands to send; the outcome for the caller, if its kind is
 * not PENDING (HELD: acquired or extended; the others: see core.h); and the time of the next ALARM.
 * A hold in state OVER needs no more calls.  The functions are not thread-safe. */

void bwl_hold_init(bwl_hold *h, const bwl_protocol *protocol, unsigned nodes,
                   const bwl_terms *terms);

/* Makes attempts until wait_deadline, at least one. */
void bwl_hold_acquire(bwl_hold *h, const bwl_random *fresh, bwl_moment at, bwl_ms wait_deadline,
                      bwl_effects *fx);

/* Only while held, of a hold without a max_hold: one begins now.  The owner's alarm must come at
 * `until` at the latest. */
void bwl_hold_limit(bwl_hold *h, bwl_ms max_hold_ms, bwl_ms now);

/* Only while held, and only if the protocol extends: sets the lease to lease_ms from now.  The
 * outcome is HELD, LOST, or another one that does not change the hold. */
void bwl_hold_extend(bwl_hold *h, bwl_ms now, bwl_ms lease_ms, bwl_effects *fx);

/* Only while held, and only if the protocol changes modes: makes an exclusive hold one that any
 * number share, or the reverse; with a change that has no reply, only that one.  The outcomes are
 * those of extend, and BUSY: others share it, and so does this hold as before. */
void bwl_hold_change(bwl_hold *h, bwl_change kind, const bwl_random *fresh, bwl_moment at,
                     bwl_effects *fx);

/* Only while held. */
void bwl_hold_release(bwl_hold *h, bwl_moment at, bwl_effects *fx);

/* Only while held: hands the lock to the next waiter, and acquires it again until wait_deadline,
 * which is later than now.  The outcomes are those of acquire, and LOST: the lock was not held. */
void bwl_hold_yield(bwl_hold *h, const bwl_random *fresh, bwl_moment at, bwl_ms wait_deadline,
                    bwl_effects *fx);

/* Only while held: the store does not guarantee its grant any more (for example, the server
 * restarted).  The outcome is LOST, at once.  If the protocol can verify the owner, the lock is
 * released in the store at `until`, or earlier by bwl_hold_give_back, which is allowed while
 * REVOKED. */
void bwl_hold_revoke(bwl_hold *h, bwl_ms now, bwl_effects *fx);
void bwl_hold_give_back(bwl_hold *h, bwl_moment at, bwl_effects *fx);

/* RELEASE, with what is left of the rest, if the hold has one. */
bwl_command bwl_hold_release_command(const bwl_hold *h, bwl_ms now);

/* Once held: a release leaves no rest. */
static inline void bwl_hold_drop_rest(bwl_hold *h)
{
    h->rest_ends_at = 0;
}

/* Only before it is held: ends the acquire.  The outcome is CANCELLED, at once. */
void bwl_hold_cancel(bwl_hold *h, bwl_ms now, bwl_effects *fx);

/* The latest time at which an acquire or a yield has its outcome: the end of the wait, plus the
 * time limit for one reply, plus a little more, because the engine's own time limit must come
 * first: its error has the reason.  NEVER: the wait has no limit, or no acquire is in progress. */
bwl_ms bwl_hold_result_deadline(const bwl_hold *h);

/* When an attempt without a reply is given up. */
static inline bwl_ms bwl_hold_resolve_deadline(const bwl_hold *h)
{
    return bwl_ms_max(h->wait_deadline, h->answer_deadline);
}

/* When the release began that the caller waits for; 0: there is none. */
static inline bwl_ms bwl_hold_release_began(const bwl_hold *h)
{
    return h->state == BWL_HOLD_RELEASING ? h->answer_deadline - h->terms.answer_ms : 0;
}

/* From this time on, the owner need not wait until a command is sent: the wait is over, with some
 * time to connect.  At most bwl_hold_result_deadline.  NEVER: no such time. */
bwl_ms bwl_hold_send_deadline(const bwl_hold *h);

/* At bwl_hold_result_deadline, before the lock is held: ends the acquire at once.  The outcome is
 * the last error; TIMED_OUT if another client holds the lock; UNKNOWN if a command is in flight:
 * the lock is then released in the background, as after a cancel. */
void bwl_hold_time_up(bwl_hold *h, bwl_ms now, bwl_effects *fx);

/* Any time after the acquire: a reply, a push, the end of a connection, or the alarm. */
void bwl_hold_event(bwl_hold *h, const bwl_event *ev, bwl_effects *fx);

/* Whether release and extend are allowed. */
static inline bool bwl_hold_is_held(const bwl_hold *h)
{
    return h->state == BWL_HOLD_HELD || h->state == BWL_HOLD_RENEWING;
}

/* Whether a change has been made already, and none is without a reply. */
static inline bool bwl_hold_has_mode(const bwl_hold *h, bwl_change kind)
{
    return h->change.kind == 0 && (kind == BWL_DOWNGRADE) == (h->request.share.weight > 0);
}

/* Whether cancel is allowed. */
static inline bool bwl_hold_is_acquiring(const bwl_hold *h)
{
    return h->state == BWL_HOLD_ACQUIRING || h->state == BWL_HOLD_RESOLVING ||
           h->state == BWL_HOLD_DISCARDING || h->state == BWL_HOLD_WAITING ||
           h->state == BWL_HOLD_QUEUED || h->state == BWL_HOLD_YIELDING;
}

/* How long the lock is certainly held, in ms: 0: it is not held; NEVER: until it is released. */
static inline bwl_ms bwl_hold_left(const bwl_hold *h, bwl_ms now)
{
    if (!bwl_hold_is_held(h) || now >= h->until)
        return 0;
    return h->until == BWL_NEVER ? BWL_NEVER : h->until - now;
}

/* The same for a caller that counts from the exact time: up to 1 ms less, because `now` is rounded
 * up to whole ms.  0 is possible while the lock is still held. */
static inline bwl_ms bwl_hold_left_truly(const bwl_hold *h, bwl_ms now)
{
    bwl_ms left = bwl_hold_left(h, now);

    return left == 0 || left == BWL_NEVER ? left : left - 1;
}

#endif
