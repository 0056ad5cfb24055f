/*
 * A fuzz target for the machines: a hold on the protocols token, ticket and queue, and these alone.
 *
 * The bytes are read as terms, and then as steps: let time pass (at will, or to an edge: the time
 * of the wished alarm, the end of the lease, one before either), then let something happen: an
 * answer or a cut to any open question, to an older one or to none, an alarm, a push, a call.
 * The asserts inside the machines are one oracle.  The others are here:
 *   - an end is told once, and nothing after it; what is over asks nothing and wishes for nothing;
 *   - held is told only upon a yes, released only upon a yes to a release; a held lock is ours for
 *     more than 0 ms, and for no longer than a lease from before the question that won it;
 *   - no machine is stuck: there is an open question, or an alarm to come;
 *   - a token is new for every attempt, is asked for once, again only to settle, and never after a
 *     release of it may have been written;
 *   - what may be ours in the store when the end is told, or a next attempt begins, is asked
 *     back;
 *   - no answer and no renewal takes it beyond max_hold;
 *   - in a line, JOIN is asked once for a token and by the latest ticket; a no to EXTEND is heeded
 *     whatever was asked since; what a push gives is never believed in for longer than its claim
 *     from when the server gave it.
 *
 * The seeds are in corpus/protocol.
 */
#include "onlooker.h"
#include "protocol_alone.h"
#include "tape.h"

#include "lock/machine.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"
#include "protocol/local_lock.h"

enum { BEGINNING = 1000 };

static const bwl_ms end_of_time = INT64_C(1) << 50;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the oracle ------------------------------------------------------------------------------ */

static void judge_outcome(world *w, bool was_held, bool was_sought, const bwl_outcome *out)
{
    const bwl_hold *h = &w->hold;

    require(!w->ended || out->kind == BWL_PENDING);
    switch (out->kind) {
    case BWL_HELD:
        require(was_held || was_sought);
        require(bwl_hold_is_held(h));
        require(was_held || w->yes);
        if (!was_held)
            w->ends_at = bwl_ms_add(w->now, h->terms.max_hold_ms);
        require(out->until == h->until && out->fence == h->fence);
        require(!w->is_queue || out->fence == w->line.fence);
        w->line.was_held = true;
        return;
    case BWL_UNKNOWN:
    case BWL_NOT_NOW:
    case BWL_UNREACHABLE:
    case BWL_STORE_REFUSED:
        if (bwl_hold_is_held(h)) {
            require(was_held); /* an extension, told to its caller: the hold stays as it was */
            return;
        }
        break;
    case BWL_RELEASED: require((w->yes || w->is_queue) && w->asked_back); break;
    case BWL_BUSY:
    case BWL_FULL:
    case BWL_TIMED_OUT:
    case BWL_CANCELLED: require(was_sought); break;
    case BWL_LOST: break;
    case BWL_PENDING:
        require(w->ended == (h->state == BWL_HOLD_LEAVING || h->state == BWL_HOLD_OVER));
        return;
    case BWL_QUEUED:
    case BWL_RETRY_WITH_NEW_TOKEN: require(false);
    }
    w->ended = true;
    require(h->state == BWL_HOLD_LEAVING || h->state == BWL_HOLD_OVER);
    require(!w->may_be_ours || w->asked_back || w->line.was_denied);
}

static bool is_stuck(world *w)
{
    bool held_for_ever = bwl_hold_is_held(&w->hold) && w->hold.until == BWL_NEVER;
    bool to_be_given   = w->hold.state == BWL_HOLD_QUEUED && w->grants;

    return w->wake_at == BWL_NEVER && !latest(w)->is_open && w->hold.state != BWL_HOLD_OVER &&
           !held_for_ever && !to_be_given;
}

/* After every step: what came of it, and whether that may be. */
static void judge(world *w, bool was_held, bool was_sought, bwl_ms until, const bwl_effects *fx)
{
    const bwl_hold *h       = &w->hold;
    bool            is_held = bwl_hold_is_held(h);

    require(fx->send_count <= 1);
    require(fx->send_count == 0 || h->state != BWL_HOLD_OVER);
    for (unsigned i = 0; i < fx->send_count; i++)
        asks(w, &fx->sends[i]);
    judge_outcome(w, was_held, was_sought, &fx->outcome);

    require(fx->wake_at > 0);
    require(h->state != BWL_HOLD_OVER || fx->wake_at == BWL_NEVER);
    w->wake_at = fx->wake_at;
    require(!is_stuck(w));
    require(!(is_held && bwl_hold_is_acquiring(h)));
    require((bwl_hold_left(h, w->now) > 0) == is_held);
    require(!is_held || fx->wake_at <= h->until);
    require(!(is_held && was_held) || h->until >= until);
    require(!(is_held && (w->is_token || w->is_queue)) || h->until <= w->worth);
    require(!is_held || h->until <= w->ends_at);
    require(!is_held || !w->line.was_denied);
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
    bwl_effects fx         = { 0 };
    bool        was_held   = bwl_hold_is_held(&w->hold);
    bool        was_sought = bwl_hold_is_acquiring(&w->hold);
    bwl_ms      until      = w->hold.until;

    ev.now   = w->now;
    ev.fresh = fresh(w);
    bwl_hold_event(&w->hold, &ev, &fx);
    judge(w, was_held, was_sought, until, &fx);
}

static void answer_to(world *w, question *q, bwl_answer answer, uint8_t number)
{
    bool             in_time      = !bwl_hold_is_held(&w->hold) || w->now < w->hold.until;
    bwl_queue_status queue_status = { 0 };
    bwl_event        ev = { .kind = BWL_REPLY, .answer = answer, .tag = q->tag, .number = number };

    q->is_open = false;
    if (w->is_queue) {
        line_says(&w->tape, q->command, w->now, &ev.answer, &ev.number, &queue_status);
        ev.details = &queue_status;
        if (q == latest(w) && in_time)
            learn_place(w, q, &ev);
        if (q->command == REDIS_QUEUE_EXTEND && q->attempt == w->attempt && ev.answer == BWL_NO)
            w->line.was_denied = true;
    } else if (q == latest(w) && in_time) {
        learn(w, q, answer, number);
    }
    event(w, ev);
}

/* Something given to who stands in line, or to who has left it. */
static void give(world *w)
{
    bwl_queue_status queue_status = { .server_us = line_server_us(&w->tape, w->now) };
    bwl_event        ev           = {
                         .kind    = BWL_PUSH,
                         .answer  = BWL_YES,
                         .number  = take(&w->tape),
                         .details = &queue_status,
    };

    if (w->hold.state == BWL_HOLD_QUEUED && latest(w)->command != REDIS_QUEUE_EXTEND) {
        w->yes = true;
        may_be_worth(w, line_push_worth(&w->line, queue_status.server_us, w->now));
        if (ev.number > w->line.fence)
            w->line.fence = ev.number;
    }
    event(w, ev);
}

/* The store of the ticket does not go away: there, a cut leaves its question open. */
static void cut(world *w, question *q)
{
    if (w->is_token || w->is_queue)
        q->is_open = false;
    w->line.was_cut = true;
    event(w, (bwl_event){ .kind = BWL_DOWN, .tag = q->tag });
}

static void call(world *w, uint8_t choice)
{
    bwl_effects fx         = { 0 };
    bool        was_held   = bwl_hold_is_held(&w->hold);
    bool        was_sought = bwl_hold_is_acquiring(&w->hold);
    bwl_ms      until      = w->hold.until;

    if (was_held && choice % 2 == 0)
        bwl_hold_extend(&w->hold, w->now, take_lease(&w->tape), &fx);
    else if (was_held)
        bwl_hold_release(&w->hold, (bwl_moment){ .now = w->now }, &fx);
    else if (was_sought)
        bwl_hold_cancel(&w->hold, w->now, &fx);
    else
        return;
    judge(w, was_held, was_sought, until, &fx);
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
    uint8_t    choice = take(&w->tape);
    uint8_t    detail = take(&w->tape);
    bwl_answer answer = (bwl_answer)(BWL_YES + detail % 5);
    question  *q      = open_question(w, detail / 5 % 2 == 0 ? 0 : detail / 10);

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
    case 6: /* to a question that is not open, or was never put */
        q = latest(w);
        event(w, (bwl_event){ .kind   = detail < 128 ? BWL_REPLY : BWL_DOWN,
                              .answer = answer,
                              .tag    = q->is_open ? q->tag + 1 + detail : q->tag });
        if (w->is_queue) { /* and the connection ends */
            w->line.was_cut = true;
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
    judge(&w, false, true, 0, &fx);
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
    case 2: fuzz_alone(&t, &bwl_token); break;
    case 3: fuzz_alone(&t, &bwl_ticket); break;
    case 4: fuzz_hold(&t, &bwl_queue); break;
    case 5: fuzz_alone(&t, &bwl_queue); break;
    }
    return 0;
}
