/*
 * A fuzz target for the machines: a hold on the protocols token, ticket and queue, and these alone.
 *
 * The bytes are read as terms, and then as steps: let time pass (any time, or up to an edge: the
 * next alarm, the end of the lease, one before either), then an event: a reply or a cut to the
 * latest request in flight, to an older one or to none, an alarm, a push, a call.  The asserts of
 * the machines are one oracle.  The others are here:
 * - an end is reported once, and no outcome after it; a machine that is over sends nothing and
 *   sets no alarm;
 * - HELD is reported only after YES, RELEASED only after YES to a release; a held lock has more
 *   than 0 ms left, and no more than a lease from before the request that acquired it;
 * - no machine is stuck: it has a request in flight, or an alarm;
 * - a token is new for every attempt, is sent once, again only to resolve it, and never after a
 *   release that may have been written;
 * - a lock that may be ours in the store at the end, or at the next attempt, has been released;
 * - no reply and no renewal extends it beyond max_hold;
 * - in a queue, JOIN is sent once for a token and with the latest ticket; a NO to EXTEND counts
 *   after any later request; a pushed grant never lasts longer than its provisional TTL from the
 *   time of the server.
 *
 * The seeds are in corpus/protocol.
 */
#include "observer.h"
#include "bare_protocol.h"
#include "tape.h"

#include "lock/machine.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/local_lock.h"

enum { BEGINNING = 1000 };

static const bwl_ms end_of_time = INT64_C(1) << 50;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the oracle ------------------------------------------------------------------------------ */

static void check_outcome(world *w, bool was_held, bool was_acquiring, const bwl_outcome *out)
{
    const bwl_hold *h = &w->hold;

    require(!w->ended || out->kind == BWL_PENDING);
    switch (out->kind) {
    case BWL_HELD:
        require(was_held || was_acquiring);
        require(bwl_hold_is_held(h));
        require(was_held || w->yes);
        if (!was_held)
            w->ends_at = bwl_ms_add(w->now, h->terms.max_hold_ms);
        require(out->until == h->until && out->fence == h->fence);
        require(!w->is_queue || out->fence == w->queue.fence);
        w->queue.was_held = true;
        return;
    case BWL_UNKNOWN:
    case BWL_NOT_NOW:
    case BWL_UNREACHABLE:
    case BWL_STORE_REFUSED:
        if (bwl_hold_is_held(h)) {
            require(was_held); /* an extension, reported to its caller: the hold is unchanged */
            return;
        }
        break;
    case BWL_RELEASED: require((w->yes || w->is_queue) && w->released); break;
    case BWL_BUSY:
    case BWL_FULL:
    case BWL_TIMED_OUT:
    case BWL_CANCELLED: require(was_acquiring); break;
    case BWL_LOST: break;
    case BWL_PENDING:
        require(w->ended == (h->state == BWL_HOLD_LEAVING || h->state == BWL_HOLD_OVER));
        return;
    case BWL_QUEUED:
    case BWL_RETRY_WITH_NEW_TOKEN: require(false);
    }
    w->ended = true;
    require(h->state == BWL_HOLD_LEAVING || h->state == BWL_HOLD_OVER);
    require(!w->may_be_ours || w->released || w->queue.was_denied);
}

static bool is_stuck(world *w)
{
    bool held_for_ever = bwl_hold_is_held(&w->hold) && w->hold.until == BWL_NEVER;
    bool to_be_given   = w->hold.state == BWL_HOLD_QUEUED && w->grants;

    return w->wake_at == BWL_NEVER && !latest(w)->in_flight && w->hold.state != BWL_HOLD_OVER &&
           !held_for_ever && !to_be_given;
}

/* Checks the effects of every step. */
static void check_step(world *w, bool was_held, bool was_acquiring, bwl_ms until,
                       const bwl_effects *fx)
{
    const bwl_hold *h       = &w->hold;
    bool            is_held = bwl_hold_is_held(h);

    require(fx->send_count <= 1);
    require(fx->send_count == 0 || h->state != BWL_HOLD_OVER);
    for (unsigned i = 0; i < fx->send_count; i++)
        observe_send(w, &fx->sends[i]);
    check_outcome(w, was_held, was_acquiring, &fx->outcome);

    require(fx->wake_at > 0);
    require(h->state != BWL_HOLD_OVER || fx->wake_at == BWL_NEVER);
    w->wake_at = fx->wake_at;
    require(!is_stuck(w));
    require(!(is_held && bwl_hold_is_acquiring(h)));
    require((bwl_hold_left(h, w->now) > 0) == is_held);
    require(!is_held || fx->wake_at <= h->until);
    require(!(is_held && was_held) || h->until >= until);
    require(!(is_held && (w->is_token || w->is_queue)) || h->until <= w->valid_until);
    require(!is_held || h->until <= w->ends_at);
    require(!is_held || !w->queue.was_denied);
    w->yes = false;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static bwl_random fresh(world *w)
{
    bwl_random random = { { w->chance, (uint8_t)(w->chance * 7) } };

    w->turn++;
    memcpy(random.bytes + 4, &w->turn, sizeof w->turn);
    return random;
}

static void event(world *w, bwl_event ev)
{
    bwl_effects fx            = { 0 };
    bool        was_held      = bwl_hold_is_held(&w->hold);
    bool        was_acquiring = bwl_hold_is_acquiring(&w->hold);
    bwl_ms      until         = w->hold.until;

    ev.now   = w->now;
    ev.fresh = fresh(w);
    bwl_hold_event(&w->hold, &ev, &fx);
    check_step(w, was_held, was_acquiring, until, &fx);
}

static void answer_to(world *w, fuzz_request *q, bwl_answer answer, uint8_t number)
{
    bool             in_time      = !bwl_hold_is_held(&w->hold) || w->now < w->hold.until;
    bwl_queue_status queue_status = { 0 };
    bwl_event        ev = { .kind = BWL_REPLY, .answer = answer, .tag = q->tag, .number = number };

    q->in_flight = false;
    if (w->is_queue) {
        make_queue_reply(&w->tape, q->command, w->now, &ev.answer, &ev.number, &queue_status);
        ev.details = &queue_status;
        if (q == latest(w) && in_time)
            observe_queue_reply(w, q, &ev);
        if (q->command == REDIS_QUEUE_EXTEND && q->attempt == w->attempt && ev.answer == BWL_NO)
            w->queue.was_denied = true;
    } else if (q == latest(w) && in_time) {
        observe_reply(w, q, answer, number);
    }
    event(w, ev);
}

/* A grant to a waiter in the queue, or to one that has left it. */
static void give(world *w)
{
    bwl_queue_status queue_status = { .server_us = make_server_us(&w->tape, w->now) };
    bwl_event        ev           = {
                         .kind    = BWL_PUSH,
                         .answer  = BWL_YES,
                         .number  = take(&w->tape),
                         .details = &queue_status,
    };

    if (w->hold.state == BWL_HOLD_QUEUED && latest(w)->command != REDIS_QUEUE_EXTEND) {
        w->yes = true;
        raise_valid_until(w, pushed_until(&w->queue, queue_status.server_us, w->now));
        if (ev.number > w->queue.fence)
            w->queue.fence = ev.number;
    }
    event(w, ev);
}

/* The store of `ticket` is local: there, a cut leaves its request in flight. */
static void cut(world *w, fuzz_request *q)
{
    if (w->is_token || w->is_queue)
        q->in_flight = false;
    w->queue.was_cut = true;
    event(w, (bwl_event){ .kind = BWL_DOWN, .tag = q->tag });
}

static void call(world *w, uint8_t choice)
{
    bwl_effects fx            = { 0 };
    bool        was_held      = bwl_hold_is_held(&w->hold);
    bool        was_acquiring = bwl_hold_is_acquiring(&w->hold);
    bwl_ms      until         = w->hold.until;

    if (was_held && choice % 2 == 0)
        bwl_hold_extend(&w->hold, w->now, take_lease(&w->tape), &fx);
    else if (was_held)
        bwl_hold_release(&w->hold, (bwl_moment){ .now = w->now }, &fx);
    else if (was_acquiring)
        bwl_hold_cancel(&w->hold, w->now, &fx);
    else
        return;
    check_step(w, was_held, was_acquiring, until, &fx);
}

static void let_time_pass(world *w, uint8_t how)
{
    bwl_ms to = w->now;

    switch (how % 8) {
    case 0: break;
    case 1: to += take(&w->tape); break;
    case 2: to += take_two(&w->tape); break;
    case 3: to += (bwl_ms)take_two(&w->tape) << 10; break;
    case 4: to = w->wake_at; break;
    case 5: to = w->wake_at - 1; break;
    case 6: to = w->hold.until; break;
    case 7: to = w->hold.until - 1; break;
    }
    if (to > w->now && to < end_of_time)
        w->now = to;
}

static void step(world *w)
{
    uint8_t       choice = take(&w->tape);
    uint8_t       detail = take(&w->tape);
    bwl_answer    answer = (bwl_answer)(BWL_YES + detail % 5);
    fuzz_request *q      = request_in_flight(w, detail / 5 % 2 == 0 ? 0 : detail / 10);

    let_time_pass(w, choice >> 4);
    w->chance = detail;
    switch (choice % 8) {
    case 0:
    case 1:
        if (q != NULL)
            answer_to(w, q, answer, take(&w->tape) % 4);
        break;
    case 2:
        if (q != NULL)
            cut(w, q);
        break;
    case 3: event(w, (bwl_event){ .kind = BWL_ALARM }); break;
    case 4:
        if (w->is_queue) {
            give(w);
            break;
        }
        w->yes = answer == BWL_YES || answer == BWL_RETRYABLE;
        event(w, (bwl_event){ .kind   = BWL_PUSH,
                              .answer = w->yes ? BWL_YES : BWL_NO,
                              .number = take(&w->tape) });
        break;
    case 5: call(w, detail); break;
    case 6: /* to a request that is not in flight, or was never sent */
        q = latest(w);
        event(w, (bwl_event){ .kind   = detail < 128 ? BWL_REPLY : BWL_DOWN,
                              .answer = answer,
                              .tag    = q->in_flight ? q->tag + 1 + detail : q->tag });
        if (w->is_queue) { /* and the connection ends */
            w->queue.was_cut = true;
            event(w, (bwl_event){ .kind = BWL_DOWN });
        }
        break;
    case 7:
        event(w, (bwl_event){ .kind = BWL_ALARM, .tag = latest(w)->tag, .answer = answer });
        break;
    }
}

static void fuzz_hold(tape *t, const bwl_protocol *protocol)
{
    static world w;
    bwl_effects  fx     = { 0 };
    bwl_terms    terms  = { 0 };
    uint8_t      choice = take(t);
    bwl_ms       wait_ms;

    w                 = (world){ .tape     = *t,
                                 .is_token = protocol == &bwl_token,
                                 .is_queue = protocol == &bwl_queue,
                                 .now      = BEGINNING };
    terms.lease_ms    = take_lease(&w.tape);
    terms.renews      = choice % 4 != 0;
    terms.max_hold_ms = choice / 4 % 4 == 0 ? 1 + take_two(&w.tape) : BWL_NEVER;
    terms.answer_ms   = choice / 16 % 4 == 0 ? take_two(&w.tape) : 5000;
    wait_ms           = choice / 64 == 0 ? 0 : take_two(&w.tape);
    bwl_hold_init(&w.hold, protocol, 1, &terms);

    bwl_random random = fresh(&w);
    bwl_hold_acquire(&w.hold, &random, (bwl_moment){ .now = w.now },
                     choice / 64 == 3 ? BWL_NEVER : w.now + wait_ms, &fx);
    check_step(&w, false, true, 0, &fx);
    while (w.tape.left > 0)
        step(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tape    t    = { .bytes = data, .left = size };
    uint8_t mode = take(&t);

    switch (mode % 6) {
    case 0: fuzz_hold(&t, &bwl_token); break;
    case 1: fuzz_hold(&t, &bwl_ticket); break;
    case 2: fuzz_bare(&t, &bwl_token); break;
    case 3: fuzz_bare(&t, &bwl_ticket); break;
    case 4: fuzz_hold(&t, &bwl_queue); break;
    case 5: fuzz_bare(&t, &bwl_queue); break;
    }
    return 0;
}
