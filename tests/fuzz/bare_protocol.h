/*
 * bare_protocol.h -- a protocol without a hold above it, with any event at any time.
 *
 * Commands follow core.h: one at a time, except that RELEASE may interrupt.  Events are arbitrary:
 * replies to any request or to none, alarms that were not set, pushes.  It checks that an outcome
 * is reported only for a command that is in progress, and is allowed for it; that no other request
 * is sent; and that after QUEUED only HELD or a refusal is reported.  A protocol with pushes may
 * report at any time while it is held that the hold is longer or lost, and may send a request for
 * that; its queue entry may end without a reply, or be made again.
 */
#ifndef BARE_PROTOCOL_H
#define BARE_PROTOCOL_H

#include "queue_model.h"
#include "tape.h"

#include "protocol/format/compat_rules.h"
#include "lock/machine.h"

/* The allowed outcomes of each command, as a set of 1 << kind. */
static inline unsigned allowed_outcomes(bwl_verb verb)
{
    unsigned no_answer =
        1u << BWL_NOT_NOW | 1u << BWL_STORE_REFUSED | 1u << BWL_UNREACHABLE | 1u << BWL_UNKNOWN;

    switch (verb) {
    case BWL_ACQUIRE:
        return no_answer | 1u << BWL_HELD | 1u << BWL_QUEUED | 1u << BWL_BUSY | 1u << BWL_FULL |
               1u << BWL_RETRY_WITH_NEW_TOKEN;
    case BWL_EXTEND: return no_answer | 1u << BWL_HELD | 1u << BWL_LOST;
    case BWL_RELEASE: return no_answer | 1u << BWL_RELEASED | 1u << BWL_LOST;
    }
    return 0; /* no command is in progress */
}

/* A protocol without a hold above it. */
typedef struct bare {
    const bwl_protocol *protocol;
    _Alignas(8) unsigned char memory[BWL_PROTOCOL_STATE_MAX];
    bwl_lock_request request;
    int64_t          wall_ns;
    bwl_verb         out;     /* the command without an outcome, or 0 */
    bwl_verb         last;    /* the latest command                   */
    bwl_outcome_kind outcome; /* its outcome */
    bool             queued;
    bool             held;
    uint32_t         tag;
    uint8_t          command; /* of the latest request */
} bare;

static inline void check_bare(bare *a, const bwl_effects *fx)
{
    bwl_outcome_kind kind        = fx->outcome.kind;
    bool             unrequested = a->protocol->uses_push && a->held && a->out == 0;

    require(fx->send_count <= 1);
    require(fx->send_count == 0 || a->out != 0 || unrequested);
    require(fx->wake_at >= 0);
    if (fx->send_count > 0) {
        a->tag     = fx->sends[0].tag;
        a->command = fx->sends[0].command;
    }
    if (kind == BWL_PENDING)
        return;
    require(kind != BWL_RETRY_WITH_NEW_TOKEN || a->protocol->uses_push);
    if (unrequested) {
        require(kind == BWL_HELD || kind == BWL_LOST);
        a->held = kind == BWL_HELD;
        return;
    }
    require((allowed_outcomes(a->out) >> kind & 1) != 0);
    require(kind != BWL_QUEUED || !a->queued);
    require(!a->queued || a->out != BWL_ACQUIRE || kind == BWL_HELD || kind == BWL_STORE_REFUSED ||
            (a->protocol->uses_push && (kind == BWL_UNKNOWN || kind == BWL_RETRY_WITH_NEW_TOKEN)));
    a->queued = kind == BWL_QUEUED;
    if (a->out != BWL_EXTEND || kind == BWL_LOST)
        a->held = kind == BWL_HELD;
    a->outcome = kind;
    if (!a->queued)
        a->out = 0;
}

static inline void command_bare(bare *a, bwl_ms now, uint8_t detail)
{
    bwl_effects fx  = { 0 };
    bwl_command cmd = { .verb     = (bwl_verb)(1 + detail % 3),
                        .may_wait = detail / 3 % 2 == 1,
                        .now      = now,
                        .wall_ns  = a->wall_ns };

    if (cmd.verb != BWL_RELEASE && (a->out != 0 || a->held != (cmd.verb == BWL_EXTEND)))
        return;
    if ((cmd.verb == BWL_EXTEND && !a->protocol->extends) ||
        (!a->protocol->can_verify_owner && (a->out != 0 || (cmd.verb == BWL_RELEASE && !a->held))))
        return;
    cmd.again = a->protocol->can_verify_owner && cmd.verb == BWL_ACQUIRE &&
                a->last == BWL_ACQUIRE && a->outcome == BWL_UNKNOWN && detail / 6 % 2 == 1;
    a->out     = cmd.verb;
    a->last    = cmd.verb;
    a->outcome = BWL_PENDING;
    a->queued  = false;
    a->held    = a->held && cmd.verb == BWL_EXTEND;
    a->protocol->command(a->memory, &a->request, &cmd, &fx);
    check_bare(a, &fx);
}

/* A value has any timestamp from 0; a foreign value has none. */
static inline void fuzz_bare_by(tape *t, const bwl_protocol *protocol,
                                const bwl_compat_rules *rules)
{
    bare   a   = { .protocol = protocol, .wall_ns = INT64_C(1700000000000000000) };
    bwl_ms now = 1000;
    const bwl_protocol_options options = { .rules = rules };
    unsigned                   answers =
        rules != NULL ? 6 : 5; /* FOREIGN_VALUE is a reply where a value can be shown */

    a.request =
        (bwl_lock_request){ .token = "token", .lease_ms = take_lease(t), .options = &options };
    protocol->init(a.memory, 1);
    while (t->left > 0) {
        uint8_t     choice = take(t);
        uint8_t     detail = take(t);
        bwl_effects fx     = { 0 };
        bwl_event   ev     = {
                  .kind   = (bwl_event_kind)(BWL_REPLY + choice % 4),
                  .answer = (bwl_answer)(BWL_YES + detail % answers),
                  .tag    = detail / 5 % 4 == 0 ? take(t) : a.tag,
                  .number = detail / 20 % 2,
        };
        bwl_queue_status queue_status = { 0 };
        bwl_redis_value  value        = { 0 };
        now += choice / 16;
        ev.now = now;
        if (rules != NULL) {
            a.wall_ns += (int64_t)(choice / 16) * 100000000;
            ev.wall_ns    = a.wall_ns;
            ev.number     = (uint64_t)(a.wall_ns / 1000000000) + detail / 20 - 6u;
            ev.details    = &value;
            value.hash    = 1 + detail % 3u;
            value.is_mine = ev.answer == BWL_YES && detail % 7 == 0;
        }
        if (protocol->uses_push) {
            if (ev.kind == BWL_REPLY && is_queue_command(a.command))
                make_queue_reply(t, a.command, now, &ev.answer, &ev.number, &queue_status);
            if (ev.kind == BWL_PUSH)
                queue_status.server_us = make_server_us(t, now);
            ev.details = &queue_status;
        }
        if (choice / 4 % 4 == 0) {
            command_bare(&a, now, detail);
        } else {
            protocol->event(a.memory, &a.request, &ev, &fx);
            check_bare(&a, &fx);
        }
    }
}

static inline void fuzz_bare(tape *t, const bwl_protocol *protocol)
{
    fuzz_bare_by(t, protocol, NULL);
}

#endif
