/*
 * A fuzz target for the machines of other people's locks: all of src/protocol but token and ticket,
 * each by the rules of its article, by those of the variants and of the profiles; alone, and
 * beneath a hold.
 *
 * The bytes are read as terms, and then as steps: let time pass, on both clocks or on one; then an
 * answer or a cut to the open question or to none, an alarm, a call.  An answer is what its word
 * may say (protocol/store/redis.h), with any stamp, ours or a stranger's.  Claimed is, beside what
 * the asserts inside the machines say:
 *   - each machine speaks the words of its page and no others, one question at a time;
 *   - held is told only upon an answer that gives it: a yes to what takes, nothing for GETSET;
 *   - what is no value of these rules is not touched next: nothing but a look, SETNX or UNWATCH
 *     follows FOREIGN_VALUE;
 *   - a lock that has expired is not deleted or swapped before its key is known to have no expiry;
 *   - what WATCH began is ended by the next question, by a DEL only if the value is ours;
 *   - an end is told once, and nothing after it; what is over asks nothing and wishes for nothing;
 *   - no machine is stuck: there is an open question, or an alarm to come;
 *   - what cannot tell its own value from another's never asks again for what had no answer.
 *
 * The seeds are in corpus/catalogue.
 */
#include "protocol_alone.h"
#include "tape.h"

#include "lock/machine.h"
#include "protocol/articles.h"
#include "protocol/protocol.h"
#include "engine/redis/profile.h"
#include "protocol/store/redis.h"

#include <string.h>

enum { BEGINNING = 1000 };

static const int64_t noon_ns = INT64_C(1700000000000000000);

#define WORD(command) (1u << (command))

/* What each may say at all. */
static const struct {
    const bwl_protocol *protocol;
    unsigned            words;
} pages[] = {
    { &bwl_setnx_del, WORD(REDIS_SETNX) | WORD(REDIS_DELETE) },
    { &bwl_setnx_del_expire, WORD(REDIS_SETNX) | WORD(REDIS_DELETE) | WORD(REDIS_EXPIRE_NOW) },
    { &bwl_setnx_stamp_del,
      WORD(REDIS_SETNX) | WORD(REDIS_READ) | WORD(REDIS_FIND_NO_EXPIRY) | WORD(REDIS_DELETE) },
    { &bwl_setnx_getset, WORD(REDIS_SETNX) | WORD(REDIS_READ) | WORD(REDIS_FIND_NO_EXPIRY) |
                             WORD(REDIS_SWAP) | WORD(REDIS_DELETE) | WORD(REDIS_TAKE_TIMESTAMP) |
                             WORD(REDIS_DROP_TIMESTAMP) },
    { &bwl_set_nx_ex, WORD(REDIS_SET_IF_ABSENT) | WORD(REDIS_DELETE) },
    { &bwl_setnx_expire_watch, WORD(REDIS_SETNX) | WORD(REDIS_EXPIRE) | WORD(REDIS_READ_EXPIRY) |
                                   WORD(REDIS_READ) | WORD(REDIS_WATCH_READ) | WORD(REDIS_UNWATCH) |
                                   WORD(REDIS_DELETE_WATCHED) },
};
enum { PAGES = sizeof pages / sizeof pages[0] };

static const unsigned takes = WORD(REDIS_SETNX) | WORD(REDIS_SET_IF_ABSENT) | WORD(REDIS_SWAP) |
                              WORD(REDIS_EXPIRE) | WORD(REDIS_TAKE_TIMESTAMP);
static const unsigned shows    = WORD(REDIS_READ) | WORD(REDIS_SWAP) | WORD(REDIS_WATCH_READ);
static const unsigned harmless = WORD(REDIS_READ) | WORD(REDIS_READ_EXPIRY) | WORD(REDIS_SETNX) |
                                 WORD(REDIS_FIND_NO_EXPIRY) | WORD(REDIS_SET_IF_ABSENT) |
                                 WORD(REDIS_UNWATCH) | WORD(REDIS_WATCH_READ) |
                                 WORD(REDIS_TAKE_TIMESTAMP);

/* What an onlooker knows. */
typedef struct world {
    tape                    tape;
    bwl_hold                hold;
    const bwl_compat_rules *rules;
    unsigned                words;
    bwl_ms                  now;
    int64_t                 wall_ns;
    bwl_ms                  wake_at;
    uint32_t                turn;
    bool       is_open; /* the question below has no end yet                             */
    bwl_send   asked;
    bwl_answer said;    /* to it; 0: nothing                                             */
    bool       is_mine; /* and that the value is ours                                    */
    bool       ended;
} world;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- what may be asked ----------------------------------------------------------------------- */

static void judge_transaction(const world *w, const bwl_send *send)
{
    bool was_watched = w->asked.command == REDIS_WATCH_READ &&
                       (w->said == BWL_YES || w->said == BWL_NO || w->said == BWL_FOREIGN_VALUE);

    if (was_watched && w->said == BWL_YES && w->is_mine)
        require(send->command == REDIS_DELETE_WATCHED);
    else if (was_watched)
        require(send->command == REDIS_UNWATCH);
    else
        require(send->command != REDIS_DELETE_WATCHED && send->command != REDIS_UNWATCH);
}

static void judge_ask(world *w, const bwl_send *send)
{
    require(send->node == 0);
    require((w->words & WORD(send->command)) != 0);
    require(send->args[REDIS_ARG_TIMESTAMP] >= 0);
    require(w->said != BWL_FOREIGN_VALUE || (harmless & WORD(send->command)) != 0);
    bool takes_over = send->command == REDIS_SWAP || send->command == REDIS_DELETE;
    require(!takes_over || !bwl_hold_is_acquiring(&w->hold) || w->asked.command != REDIS_READ ||
            w->said != BWL_YES);
    judge_transaction(w, send);
    w->asked   = *send;
    w->is_open = true;
    w->said    = 0;
}

/* The answer that has just been given is one that gives the lock. */
static bool is_won(const world *w)
{
    if (w->asked.command == REDIS_SWAP)
        return w->said == BWL_YES || w->said == BWL_NO;
    return (takes & WORD(w->asked.command)) != 0 && w->said == BWL_YES;
}

/* ---- the oracle ------------------------------------------------------------------------------ */

static void judge_outcome(world *w, bool was_held, bool was_sought, const bwl_outcome *out)
{
    const bwl_hold *h = &w->hold;

    if (out->kind == BWL_PENDING)
        return;
    require(!w->ended);
    require(out->kind != BWL_QUEUED);
    if (out->kind == BWL_HELD) {
        require(was_sought && is_won(w));
        require(bwl_hold_is_held(h) && out->until == h->until && out->until > w->now);
        return;
    }
    require(out->kind != BWL_RELEASED || !was_sought);
    require(out->kind != BWL_BUSY || was_sought);
    require(was_held || was_sought || h->state != BWL_HOLD_HELD);
    w->ended = true;
}

static void judge(world *w, bool was_held, bool was_sought, const bwl_effects *fx)
{
    const bwl_hold *h       = &w->hold;
    bool            is_held = bwl_hold_is_held(h);
    bool            forever = is_held && h->until == BWL_NEVER;

    require(fx->send_count <= 1);
    require(fx->send_count == 0 || h->state != BWL_HOLD_OVER);
    require(fx->send_count == 0 || !w->is_open || h->protocol->can_verify_owner);
    judge_outcome(w, was_held, was_sought, &fx->outcome);
    if (fx->send_count > 0)
        judge_ask(w, &fx->sends[0]);
    require(fx->wake_at > 0);
    require(h->state != BWL_HOLD_OVER || fx->wake_at == BWL_NEVER);
    w->wake_at = fx->wake_at;
    require(w->wake_at != BWL_NEVER || w->is_open || h->state == BWL_HOLD_OVER || forever);
    require(!(is_held && bwl_hold_is_acquiring(h)));
    require((bwl_hold_left(h, w->now) > 0) == is_held);
    require(h->protocol->can_verify_owner || h->state != BWL_HOLD_RESOLVING);
    require(h->protocol->can_verify_owner || h->state != BWL_HOLD_DISCARDING);
}

/* ---- the steps ------------------------------------------------------------------------------- */

static uint64_t take_number(tape *t)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < 8; i++)
        number = number << 8 | take(t);
    return number;
}

/* A stamp near to now, or any. */
static uint64_t take_stamp(world *w)
{
    uint8_t  choice = take(&w->tape);
    int64_t  unit   = w->rules->unit_ns != 0 ? w->rules->unit_ns : 1;
    uint64_t near   = (uint64_t)(w->wall_ns / unit);

    switch (choice % 4) {
    case 0: return (uint64_t)w->asked.args[REDIS_ARG_TIMESTAMP];
    case 1: return near + choice / 4;
    case 2: return near > choice ? near - choice / 4 : 0;
    default: return take_number(&w->tape) & INT64_MAX;
    }
}

/* What its word may say, by protocol/store/redis.h. */
static bwl_event take_reply(world *w, uint8_t detail, bwl_redis_value *ret_value)
{
    unsigned  command = WORD(w->asked.command);
    bwl_event ev      = { .kind    = BWL_REPLY,
                          .answer  = (bwl_answer)(BWL_YES + detail % 6),
                          .tag     = w->asked.tag,
                          .details = ret_value };

    *ret_value = (bwl_redis_value){ 0 };

    if (ev.answer == BWL_FOREIGN_VALUE &&
        (command & (shows | WORD(REDIS_TAKE_TIMESTAMP) | WORD(REDIS_FIND_NO_EXPIRY))) == 0)
        ev.answer = BWL_NO;
    if (ev.answer != BWL_YES)
        return ev;
    if (w->asked.command == REDIS_READ_EXPIRY)
        ev.number = detail / 6 % 2 == 0 ? REDIS_NO_EXPIRY : take_number(&w->tape);
    if ((command & (shows | WORD(REDIS_TAKE_TIMESTAMP))) != 0) {
        ev.number          = take_stamp(w);
        ret_value->hash    = 1 + detail / 6 % 4u;
        ret_value->is_mine = detail / 24 % 2 == 1 || w->asked.command == REDIS_TAKE_TIMESTAMP;
    }
    return ev;
}

static void event(world *w, bwl_event ev)
{
    bwl_effects fx         = { 0 };
    bool        was_held   = bwl_hold_is_held(&w->hold);
    bool        was_sought = bwl_hold_is_acquiring(&w->hold);

    w->turn++;
    memcpy(ev.fresh.bytes, &w->turn, sizeof w->turn);
    ev.now     = w->now;
    ev.wall_ns = w->wall_ns;
    bwl_hold_event(&w->hold, &ev, &fx);
    judge(w, was_held, was_sought, &fx);
}

static void answer(world *w, uint8_t detail)
{
    if (!w->is_open)
        return;
    bwl_redis_value value;
    bwl_event       ev = take_reply(w, detail, &value);
    w->is_open         = false;
    w->said            = ev.answer;
    w->is_mine         = value.is_mine;
    event(w, ev);
}

static void cut(world *w)
{
    if (!w->is_open)
        return;
    w->is_open = false;
    event(w, (bwl_event){ .kind = BWL_DOWN, .tag = w->asked.tag });
}

static void call(world *w, uint8_t detail)
{
    bwl_effects fx         = { 0 };
    bool        was_held   = bwl_hold_is_held(&w->hold);
    bool        was_sought = bwl_hold_is_acquiring(&w->hold);

    if (was_held && detail % 4 == 0)
        bwl_hold_revoke(&w->hold, w->now, &fx);
    else if (was_held)
        bwl_hold_release(&w->hold, (bwl_moment){ .now = w->now, .wall_ns = w->wall_ns }, &fx);
    else if (was_sought)
        bwl_hold_cancel(&w->hold, w->now, &fx);
    else if (w->hold.state == BWL_HOLD_REVOKED)
        bwl_hold_give_back(&w->hold, (bwl_moment){ .now = w->now, .wall_ns = w->wall_ns }, &fx);
    else
        return;
    judge(w, was_held, was_sought, &fx);
}

static void let_time_pass(world *w, uint8_t how)
{
    bwl_ms to = w->now;

    switch (how % 8) {
    case 0: break;
    case 1: to += take(&w->tape); break;
    case 2: to += take_two(&w->tape); break;
    case 3: to = w->wake_at; break;
    case 4: to = w->hold.until; break;
    case 5: to = w->hold.until - 1; break;
    case 6: w->wall_ns += (int64_t)take_two(&w->tape) * 1000000; break;
    case 7: w->wall_ns -= (int64_t)take_two(&w->tape) * 1000000; break;
    }
    if (to <= w->now || to >= INT64_C(1) << 40)
        return;
    w->wall_ns += (to - w->now) * 1000000;
    w->now = to;
}

static void step(world *w)
{
    uint8_t choice = take(&w->tape);
    uint8_t detail = take(&w->tape);

    let_time_pass(w, choice >> 4);
    switch (choice % 8) {
    case 0:
    case 1:
    case 2: answer(w, detail); break;
    case 3: cut(w); break;
    case 4: event(w, (bwl_event){ .kind = BWL_ALARM }); break;
    case 5: call(w, detail); break;
    case 6:
        event(w, (bwl_event){ .kind   = BWL_REPLY,
                              .answer = (bwl_answer)(BWL_YES + detail % 6),
                              .tag    = w->asked.tag + 1 + detail });
        break;
    case 7: event(w, (bwl_event){ .kind = BWL_PUSH, .answer = BWL_YES, .number = detail }); break;
    }
}

/* ---- by which rules -------------------------------------------------------------------------- */

static const bwl_compat_rules *take_rules(tape *t, const bwl_protocol *protocol)
{
    static const bwl_compat_rules *const others[] = {
        &bwl_compat_rules_seconds, &bwl_compat_rules_buffers, &bwl_compat_rules_jedis,
        &bwl_compat_rules_lock_foo, &bwl_compat_rules_server
    };
    uint8_t choice = take(t);

    if (choice < 32 && protocol == &bwl_setnx_getset)
        return others[choice % 5];
    if (choice < 96)
        for (size_t i = choice % 32; bwl_profile_at(i) != NULL; i++)
            if (bwl_profile_at(i)->rules != NULL &&
                strcmp(bwl_profile_at(i)->protocol, protocol->name) == 0)
                return bwl_profile_at(i)->rules;
    return bwl_protocol_compat_rules(protocol);
}

static void fuzz_hold(tape *t, const bwl_protocol *protocol, unsigned words)
{
    static world w;
    bwl_effects  fx     = { 0 };
    bwl_terms    terms  = { .rules = take_rules(t, protocol) };
    uint8_t      choice = take(t);

    terms.lease_ms    = take_lease(t);
    terms.max_hold_ms = choice % 4 == 0 ? 1 + take_two(t) : BWL_NEVER;
    terms.answer_ms   = choice / 4 % 4 == 0 ? take_two(t) : 5000;
    w                 = (world){ 0 };
    w.tape            = *t;
    w.rules           = terms.rules;
    w.words           = words;
    w.now             = BEGINNING;
    w.wall_ns         = noon_ns;
    bwl_hold_init(&w.hold, protocol, 1, &terms);

    bwl_random random        = { { 1 } };
    bwl_ms     wait_ms       = choice / 16 % 4 == 0 ? 0 : take_two(&w.tape);
    bwl_ms     wait_deadline = choice / 64 == 3 ? BWL_NEVER : w.now + wait_ms;
    bwl_hold_acquire(&w.hold, &random, (bwl_moment){ .now = w.now, .wall_ns = w.wall_ns },
                     wait_deadline, &fx);
    judge(&w, false, true, &fx);
    while (w.tape.left > 0)
        step(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tape                t        = { .bytes = data, .left = size };
    uint8_t             mode     = take(&t);
    unsigned            page     = mode / 2 % PAGES;
    const bwl_protocol *protocol = pages[page].protocol;

    if (mode % 2 == 0)
        fuzz_hold(&t, protocol, pages[page].words);
    else
        fuzz_alone_by(&t, protocol, take_rules(&t, protocol));
    return 0;
}
