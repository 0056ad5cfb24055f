/*
 * client.c -- a client of the world: the lock machine and its caller.
 *
 * The caller uses only results.  It works from HELD until a result ends the hold or until it
 * releases, and never reads a clock.
 */
#include "lab/world/inside.h"
#include "lab/model/steps.h"
#include "lab/world/private_state.h"

/* A client may send this many commands at one moment without a request of its caller: release a
 * late grant, try again, renew.  More than that is a client that hammers the server. */
enum { ASKS_AT_ONCE_MAX = 4 };

/* The clock error of a mutated engine. */
enum { MUTATION_MS = 3 };

/* ---- the caller ------------------------------------------------------------------------------ */

static void report_held(bwl_world *w, bwl_lab_client *c)
{
    bwl_ms extend_ms = w->scenario->extend_ms;
    bwl_ms until     = c->caller.extended_at + extend_ms - bwl_drift_ms(extend_ms);
    bool   asked     = c->caller.is_working ? c->caller.extends : !c->caller.cancels;

    if (!asked || c->caller.releases || c->caller.has_final_result)
        w->broken |= BWL_INVARIANT_REPORTED;
    bool begins = !c->caller.is_working || c->caller.changes;

    if (begins && bwl_wait_is_kept(w)) {
        /* After a data loss, an older holder may get its result later. */
        bool is_alone = c->hold.request.share.weight == 0;
        bool is_next =
            c->hold.fence > w->waiting.held_fence ||
            (c->hold.fence == w->waiting.held_fence && !is_alone && !w->waiting.held_alone);
        if ((w->scenario->invariants & BWL_INVARIANT_ONE_HOLDER) != 0 && !is_next)
            w->broken |= BWL_INVARIANT_FENCE;
        w->waiting.held_fence = c->hold.fence;
        w->waiting.held_alone = is_alone;
    }
    if (!c->caller.is_working) {
        bwl_wait_begins(w, (unsigned)(c - w->clients));
        w->got_lock          = true;
        w->is_released       = false;
        c->book.is_removed   = false;
        c->book.is_of_old    = false;
        c->caller.held_since = c->clock.now;
    }
    if (c->caller.extends && c->hold.until < bwl_ms_min(until, c->hold.ends_at))
        w->broken |=
            BWL_INVARIANT_REPORTED; /* it must reach that time, or the end of the maximum hold */
    c->caller.due_by     = BWL_NEVER;
    c->caller.is_working = true;
    c->caller.extends    = false;
    c->caller.changes    = false;
    c->caller.yields     = false;
}

static bool may_end_so(const bwl_lab_client *c, bwl_outcome_kind kind)
{
    switch (kind) {
    case BWL_LOST: return c->caller.is_working || c->caller.releases || c->caller.yields;
    case BWL_RELEASED: return c->caller.releases;
    case BWL_CANCELLED: return c->caller.cancels;
    case BWL_STORE_REFUSED:
    case BWL_NOT_NOW:
    case BWL_UNREACHABLE:
    case BWL_UNKNOWN: return !c->caller.is_working;
    case BWL_BUSY:
    case BWL_FULL:
    case BWL_DONE:
    case BWL_TIMED_OUT: return !c->caller.is_working && !c->caller.releases;
    case BWL_PENDING:
    case BWL_HELD:
    case BWL_QUEUED:
    case BWL_RETRY_WITH_NEW_TOKEN: return false;
    }
    bwl_unreachable("no such outcome");
}

/* RELEASED means that a release of this client removed the key.  (A late command may have set it
 * again.)  LOST means that another client or the server removed it.  With several servers, LOST may
 * come before the last answer. */
static bool is_false(const bwl_world *w, const bwl_lab_client *c, bwl_outcome_kind kind)
{
    unsigned votes = bwl_world_votes(w, bwl_token_read(c->hold.request.token));

    if (kind == BWL_RELEASED)
        return votes > w->scenario->servers / 2 || !c->book.is_removed;
    return kind == BWL_LOST && c->book.is_removed && w->scenario->servers == 1;
}

/* Renewal tolerates one failure.  (A server that loses the key takes the lock from any holder.) */
static bool is_lost_for_nothing(const bwl_world *w, const bwl_lab_client *c)
{
    static const bwl_budget of_server[]   = { BWL_RESTART,  BWL_JUMP,     BWL_RESTORE,
                                              BWL_FAILOVER, BWL_EVICTION, BWL_FOREIGN_LOCK,
                                              BWL_STOP };
    const bwl_scenario     *s             = w->scenario;
    bool                    server_failed = false;
    unsigned                faults        = 0;

    for (unsigned i = 0; i < sizeof of_server / sizeof of_server[0]; i++)
        if (w->left[of_server[i]] != s->budget[of_server[i]])
            server_failed = true;
    for (unsigned i = BWL_LOSS; i <= BWL_REFUSAL; i++)
        faults += (unsigned)s->budget[i] - w->left[i];
    return s->terms.renews && s->terms.max_hold_ms == BWL_NEVER && !c->book.was_kept &&
           !server_failed && faults <= 1;
}

static void caller_gets(bwl_world *w, bwl_lab_client *c, const bwl_outcome *out)
{
    if (out->kind == BWL_PENDING)
        return;
    if (out->kind == BWL_HELD) {
        report_held(w, c);
        return;
    }
    if (bwl_hold_is_held(&c->hold)) { /* the extension failed; the hold continues */
        if (!c->caller.extends || out->kind == BWL_LOST)
            w->broken |= BWL_INVARIANT_REPORTED;
        c->caller.extends = false;
        c->caller.changes = false;
        return;
    }
    if (c->caller.has_final_result || !may_end_so(c, out->kind) || is_false(w, c, out->kind))
        w->broken |= BWL_INVARIANT_REPORTED;
    if (out->kind == BWL_LOST && is_lost_for_nothing(w, c))
        w->broken |= BWL_INVARIANT_KEEPS;
    c->caller.has_final_result = true;
    c->caller.is_working       = false;
    c->book.was_slow           = false;
    c->caller.due_by           = c->clock.now + w->scenario->terms.answer_ms; /* time to clean up */
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* The lease in the unit that the command has. */
static bwl_ms lease_written(const bwl_world *w, const bwl_lab_client *c, const bwl_send *send)
{
    enum { MS_PER_SECOND = 1000 };
    bwl_ms lease_ms = bwl_redis_ttl_ms(send, &c->hold.request);

    if ((w->scenario->mutations & BWL_MUTATION_MS_AS_SECONDS) != 0)
        return lease_ms * MS_PER_SECOND;
    if ((w->scenario->mutations & BWL_MUTATION_SECONDS_AS_MS) != 0)
        return (lease_ms + MS_PER_SECOND - 1) / MS_PER_SECOND;
    return lease_ms;
}

static void put(bwl_world *w, unsigned client, const bwl_send *send)
{
    bwl_lab_client *c              = &w->clients[client];
    bwl_link       *link           = &w->servers[send->node].links[client];
    unsigned        most           = ASKS_AT_ONCE_MAX;
    bool            is_step        = send->command == REDIS_STEP;
    uint16_t        previous_token = bwl_token_read(c->hold.other_token);
    uint16_t        token =
        bwl_redis_uses_other_token(send) ? previous_token : bwl_world_token_of(w, client);

    bool uses_both = send->command == REDIS_QUEUE_REQUEUE || send->command == REDIS_SHARE_UPGRADE;

    assert(send->node < w->scenario->servers);
    assert(!c->hold.protocol->uses_token || bwl_token_is_ours(c->hold.request.token));
    if (send->command == REDIS_QUEUE_DISPATCH_NEXT)
        most += BWL_MODEL_ITEMS; /* it repeats until all dead waiters are skipped */
    if (is_step)
        most += w->scenario->options.program->calls_count;
    if (w->scenario->options.replicas > 0)
        most += 2; /* it checks its replicas once more per attempt */
    if (++c->book.asked_now > most * w->scenario->servers)
        w->broken |= BWL_INVARIANT_PAUSES;
    assert(link->count < BWL_MESSAGES_MAX);
    link->messages[link->count++] = (bwl_message){
        .kind           = BWL_MESSAGE_REQUEST,
        .command        = send->command,
        .round          = c->round,
        .token          = token,
        .previous_token = uses_both ? previous_token : 0,
        .tag            = send->tag,
        .lease_ms       = (int32_t)lease_written(w, c, send),
        .step           = is_step ? (uint8_t)send->args[REDIS_ARG_STEP] : 0,
        .timestamp      = send->args[is_step ? REDIS_ARG_COMPUTED : REDIS_ARG_TIMESTAMP],
        .asked_ms =
            bwl_world_counts_delays(w->scenario) ? (uint16_t)(w->now - BWL_BEGINNING_MS) : 0,
        .acquires = bwl_hold_is_acquiring(&c->hold),
    };
    if (bwl_wait_is_kept(w))
        bwl_wait_asked(w, client, send, &link->messages[link->count - 1]);
}

static void round_over(bwl_world *w, bwl_lab_client *c)
{
    if (!c->caller.has_final_result)
        w->broken |= BWL_INVARIANT_REPORTED;
    c->is_running        = false;
    c->caller.is_working = false;
    c->is_unaware        = false;
    c->wake_at           = BWL_NEVER;
}

/* A hold before an event. */
typedef struct past {
    bool     was_over; /* its time is over and the caller still works */
    bwl_ms   until;    /* 0: not held */
    uint64_t fence;
} past;

static past look_at(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    return (past){
        .was_over = c->caller.is_working && bwl_world_believes(w, client) == 0,
        .until    = c->is_running && bwl_hold_is_held(&c->hold) ? c->hold.until : 0,
        .fence    = c->hold.fence,
    };
}

static void after(bwl_world *w, unsigned client, const bwl_effects *fx)
{
    bwl_lab_client *c = &w->clients[client];

    for (unsigned i = 0; i < fx->send_count; i++)
        put(w, client, &fx->sends[i]);
    if (fx->wake_at != 0)
        c->wake_at = fx->wake_at;
    if ((w->scenario->mutations & BWL_MUTATION_LATE_TIMER) != 0)
        c->wake_at = bwl_ms_add(c->wake_at, MUTATION_MS);
    bool was_revoked = c->caller.due_by == BWL_NEVER && c->caller.has_final_result;
    caller_gets(w, c, &fx->outcome);
    if (c->hold.state == BWL_HOLD_REVOKED)
        c->caller.due_by = BWL_NEVER; /* until the caller releases */
    else if (was_revoked)
        c->caller.due_by = c->clock.now + w->scenario->terms.answer_ms;
    if (c->hold.state == BWL_HOLD_OVER)
        round_over(w, c);
}

static void compare_with(bwl_world *w, unsigned client, past before)
{
    past present = look_at(w, client);

    if (before.was_over && !w->clients[client].caller.has_final_result)
        w->broken |= BWL_INVARIANT_TELLS_LOSS;
    if (present.until != 0 && present.until < before.until)
        w->broken |= BWL_INVARIANT_NOT_NEARER;
    if (present.until != 0 && before.until != 0 && present.fence < before.fence)
        w->broken |= BWL_INVARIANT_FENCE;
}

/* The random bytes of the next event: new ones if the last ones were used. */
static bwl_random fresh(bwl_world *w, unsigned client, uint8_t chance)
{
    bwl_lab_client *c    = &w->clients[client];
    uint16_t        last = bwl_token_read(c->hold.request.token);
    uint16_t        next = bwl_upgrades_to(&c->hold);

    if (next != 0 && bwl_token_serial(next) > bwl_token_serial(last))
        last = next;
    if (last != 0 && bwl_token_serial(last) > c->tokens)
        c->tokens = (uint16_t)bwl_token_serial(last);
    if ((w->scenario->mutations & BWL_MUTATION_ONE_TOKEN) != 0)
        return bwl_token_random(bwl_token_number(client, 1), chance);
    return bwl_token_random(bwl_token_number(client, c->tokens + 1u), chance);
}

void bwl_sim_client_event(bwl_world *w, unsigned client, bwl_event ev, uint8_t chance)
{
    bwl_effects fx     = { 0 };
    past        before = look_at(w, client);

    ev.now     = w->clients[client].clock.now;
    ev.wall_ns = bwl_world_wall_ns(w, client);
    ev.fresh   = fresh(w, client, chance);
    if ((w->scenario->mutations & BWL_MUTATION_OLD_TIME) != 0 && ev.kind == BWL_ALARM)
        ev.now -= MUTATION_MS;
    bwl_hold_event(&w->clients[client].hold, &ev, &fx);
    after(w, client, &fx);
    compare_with(w, client, before);
}

static bwl_moment moment(const bwl_world *w, unsigned client)
{
    return (bwl_moment){ .now     = w->clients[client].clock.now,
                         .wall_ns = bwl_world_wall_ns(w, client) };
}

/* ---- actions of the caller ------------------------------------------------------------------- */

static bwl_ms wait_of(const bwl_scenario *s, unsigned client)
{
    return (s->tries_once_of >> client & 1) != 0 ? 0 : s->wait_ms;
}

/* When a call that waits has its result, if nothing is slow. */
static bwl_ms due_after(const bwl_world *w, const bwl_lab_client *c, bwl_ms wait_ms)
{
    return bwl_ms_add(bwl_ms_add(c->clock.now, wait_ms), w->scenario->terms.answer_ms);
}

static void new_round(bwl_world *w, unsigned client)
{
    bwl_lab_client *c      = &w->clients[client];
    bwl_lab_waiter *waiter = &w->waiting.waiters[client];

    if (c->rounds_left != BWL_ANY)
        c->rounds_left--;
    c->round++;
    c->is_running   = true;
    c->book         = (bwl_lab_book){ 0 };
    c->caller       = (bwl_lab_caller){ .due_by = due_after(w, c, wait_of(w->scenario, client)) };
    waiter->was_cut = false;
    waiter->latest_tag = 0;
    waiter->ticket     = 0;
}

void bwl_sim_client_start(bwl_world *w, unsigned client, uint8_t chance)
{
    const bwl_scenario *s      = w->scenario;
    bwl_lab_client     *c      = &w->clients[client];
    bwl_random          random = fresh(w, client, chance);
    bwl_terms           terms  = s->terms;
    bwl_effects         fx     = { 0 };

    assert(!c->is_running);
    assert(c->rounds_left > 0);
    new_round(w, client);
    if ((s->mutations & BWL_MUTATION_NO_MAX_HOLD) != 0)
        terms.max_hold_ms = BWL_NEVER;
    terms.lease_ms = s->lease_of_ms[client];
    terms.share    = s->queue.share_of[client];
    terms.options  = &s->options;
    bwl_hold_init(&c->hold, s->protocol, s->servers, &terms);
    bwl_hold_acquire(&c->hold, &random, moment(w, client),
                     bwl_ms_add(c->clock.now, wait_of(s, client)), &fx);
    after(w, client, &fx);
}

void bwl_sim_client_release(bwl_world *w, unsigned client)
{
    bwl_lab_client *c      = &w->clients[client];
    bwl_effects     fx     = { 0 };
    past            before = look_at(w, client);

    c->book.asked_now      = 0;
    c->caller.trusts_until = 0;
    if (c->hold.state == BWL_HOLD_REVOKED) {
        bwl_hold_give_back(&c->hold, moment(w, client), &fx);
        after(w, client, &fx);
        return;
    }
    w->is_released |= bwl_world_believes(w, client) > 0;
    c->caller.releases   = true;
    c->caller.is_working = false;
    c->book.was_slow     = false;
    c->caller.due_by     = c->clock.now + w->scenario->terms.answer_ms;
    bwl_hold_release(&c->hold, moment(w, client), &fx);
    after(w, client, &fx);
    compare_with(w, client, before);
}

/* A yield counts as a new arrival. */
void bwl_sim_client_yield(bwl_world *w, unsigned client, uint8_t chance)
{
    const bwl_scenario *s      = w->scenario;
    bwl_lab_client     *c      = &w->clients[client];
    bwl_random          random = fresh(w, client, chance);
    bwl_effects         fx     = { 0 };
    past                before = look_at(w, client);

    c->book.asked_now    = 0;
    c->caller.yields     = true;
    c->caller.is_working = false;
    c->book.was_slow     = false;
    c->caller.extends    = false;
    c->caller.due_by     = due_after(w, c, s->wait_ms);
    c->book.came = c->book.grant_number = c->book.fence = 0;
    bwl_hold_yield(&c->hold, &random, moment(w, client), bwl_ms_add(c->clock.now, s->wait_ms), &fx);
    after(w, client, &fx);
    compare_with(w, client, before);
}

void bwl_sim_client_extend(bwl_world *w, unsigned client)
{
    bwl_lab_client *c      = &w->clients[client];
    bwl_effects     fx     = { 0 };
    past            before = look_at(w, client);

    c->book.asked_now     = 0;
    c->caller.extends     = true;
    c->caller.changes     = false;
    c->caller.extended_at = c->clock.now;
    bwl_hold_extend(&c->hold, c->clock.now, w->scenario->extend_ms, &fx);
    after(w, client, &fx);
    compare_with(w, client, before);
}

void bwl_sim_client_change(bwl_world *w, unsigned client, bwl_change kind, uint8_t chance)
{
    bwl_lab_client *c      = &w->clients[client];
    bwl_random      random = fresh(w, client, chance);
    bwl_effects     fx     = { 0 };
    past            before = look_at(w, client);

    c->book.asked_now     = 0;
    c->caller.extends     = true;
    c->caller.changes     = true;
    c->caller.extended_at = c->clock.now;
    bwl_hold_change(&c->hold, kind, &random, moment(w, client), &fx);
    after(w, client, &fx);
    compare_with(w, client, before);
}

void bwl_sim_client_cancel(bwl_world *w, unsigned client)
{
    bwl_effects fx = { 0 };

    w->clients[client].book.asked_now = 0;
    w->clients[client].caller.cancels = true;
    bwl_hold_cancel(&w->clients[client].hold, w->clients[client].clock.now, &fx);
    after(w, client, &fx);
}

static void show(const bwl_world *w, const bwl_message *answer, bwl_redis_value *room,
                 bwl_event *ev)
{
    bool shows_value = answer->command == REDIS_READ || answer->command == REDIS_SWAP ||
                       answer->command == REDIS_WATCH_READ ||
                       answer->command == REDIS_TAKE_TIMESTAMP;

    *room       = (bwl_redis_value){ .is_mine = answer->is_mine };
    ev->details = room;
    ev->number  = (uint64_t)answer->timestamp;
    if (answer->command == REDIS_STEP && ev->answer == BWL_YES) {
        bool is_value   = answer->reply_kind == BWL_REPLY_VALUE;
        room->kind      = (bwl_reply_kind)answer->reply_kind;
        room->is_number = is_value && answer->timestamp < BWL_MODEL_TEXT;
        room->hash =
            is_value ? bwl_model_hash_of(w->scenario->options.program, answer->timestamp) : 0;
    }
    if (!shows_value || ev->answer != BWL_YES)
        return;
    ev->number = (uint64_t)bwl_model_timestamp_of(w->scenario->options.rules, answer->timestamp);
    room->hash = (uint64_t)answer->timestamp;
}

void bwl_sim_client_delivered(bwl_world *w, unsigned client, unsigned server,
                              const bwl_message *question, uint8_t chance)
{
    bwl_lab_client *c  = &w->clients[client];
    bwl_event       ev = { .kind = BWL_DOWN, .node = (uint8_t)server, .tag = question->tag };
    bwl_redis_value value;

    if (!c->is_running || question->round != c->round)
        return;
    if (question->kind == BWL_MESSAGE_ANSWER) {
        ev.kind   = BWL_REPLY;
        ev.answer = (bwl_answer)question->answer;
        show(w, question, &value, &ev);
        if (bwl_queue_is(question->command)) {
            ev.details = bwl_wait_place(w, question);
            bwl_wait_heard(w, client, question);
        }
    }
    bwl_sim_client_event(w, client, ev, chance);
    if (bwl_world_believes(w, client) == 0 || w->scenario->servers > 1)
        return; /* a single server may answer NO: HONEST checks the majority */
    if (bwl_queue_exclusive(question->command) == REDIS_QUEUE_EXTEND && ev.answer == BWL_NO &&
        question->token == bwl_world_token_of(w, client))
        w->broken |= BWL_INVARIANT_HEEDS_NO;
    if (bwl_redis_command_extends(question->command) && ev.answer == BWL_NO)
        w->broken |= BWL_INVARIANT_HEEDS_NO;
    if (c->book.is_of_old && ev.kind == BWL_REPLY && ev.answer != BWL_NOT_SENT)
        w->broken |= BWL_INVARIANT_HEEDS_NO; /* it has reconnected and has seen the new run id */
}

/* The engine finds the waiter by the nonce in its token. */
void bwl_sim_client_pushed(bwl_world *w, unsigned client, const bwl_message *push, uint8_t chance)
{
    const bwl_lab_client *c  = &w->clients[client];
    bwl_event             ev = { .kind    = BWL_PUSH,
                                 .answer  = BWL_YES,
                                 .number  = (uint64_t)push->timestamp,
                                 .details = bwl_wait_place(w, push) };

    if (c->is_running && bwl_world_token_of(w, client) == push->token)
        bwl_sim_client_event(w, client, ev, chance);
}

/* As src/engine/redis/lock_tracker.c on a new connection, before its first command. */
void bwl_sim_client_learns(bwl_world *w, unsigned client)
{
    bwl_lab_client *c  = &w->clients[client];
    bwl_effects     fx = { 0 };

    assert(c->is_unaware);
    c->is_unaware = false;
    if (!c->is_running || !bwl_hold_is_held(&c->hold) ||
        (w->scenario->mutations & BWL_MUTATION_SAME_SERVER) != 0)
        return;
    c->caller.trusts_until = c->hold.until;
    bwl_hold_revoke(&c->hold, c->clock.now, &fx);
    after(w, client, &fx);
    if ((w->scenario->mutations & BWL_MUTATION_GIVES_UP_AT_ONCE) != 0) {
        fx = (bwl_effects){ 0 };
        bwl_hold_give_back(&c->hold, moment(w, client), &fx);
        after(w, client, &fx);
    }
    if (!c->caller.has_final_result)
        w->broken |= BWL_INVARIANT_TELLS_LOSS;
}

void bwl_sim_client_crash(bwl_world *w, unsigned client)
{
    bwl_lab_client *c = &w->clients[client];

    c->is_running = false;
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        uint16_t owner = bwl_model_owner(&w->servers[k].redis);
        bwl_connection_abandon(w, client, k);
        if (owner != 0 && bwl_token_client(owner) == client)
            w->servers[k].key_excused = true;
    }
    c->caller.has_final_result = true;
    c->caller.trusts_until     = 0;
    round_over(w, c);
}
