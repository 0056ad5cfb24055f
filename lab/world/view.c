/*
 * view.c -- queries about a world: tokens, beliefs, and the next instant of a change.
 *
 * Time moves from one instant to the next: a timer, the end of a belief, the expiry of a key, a
 * deadline that a machine checks.  Between two instants a machine cannot tell one moment from
 * another, except in sums; a scenario that is `fine` also stops one millisecond before each.
 */
#include "lab/model/queue.h"
#include "lab/world/world.h"
#include "lab/model/words.h"
#include "protocol/lock_file/lock_file.h"

bwl_world_layout bwl_world_layout_of(const bwl_scenario *s)
{
    bwl_world_layout layout = { .count = 0 };
    size_t           head   = offsetof(bwl_world, clients) + s->clients * sizeof(bwl_lab_client);
    size_t           server = offsetof(bwl_server, links) + s->clients * sizeof(bwl_link);

    layout.parts[layout.count++] = (bwl_world_part){ 0, head };
    if (s->protocol->uses_push)
        layout.parts[layout.count++] =
            (bwl_world_part){ offsetof(bwl_world, waiting), sizeof(bwl_lab_waiting) };
    for (unsigned k = 0; k < s->servers; k++)
        layout.parts[layout.count++] =
            (bwl_world_part){ offsetof(bwl_world, servers) + k * sizeof(bwl_server), server };
    return layout;
}

uint16_t bwl_world_token_of(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    if (w->scenario->protocol->uses_token || !c->is_running)
        return bwl_token_read(c->hold.request.token);
    return bwl_token_number(client, c->round); /* an id for the invariants */
}

unsigned bwl_world_votes(const bwl_world *w, uint16_t token)
{
    unsigned votes = 0;

    for (unsigned k = 0; k < w->scenario->servers; k++)
        votes += token != 0 && bwl_model_holds(&w->servers[k].redis.data, token) &&
                 !w->servers[k].key_late;
    return votes;
}

bool bwl_world_awaits(const bwl_world *w, unsigned client)
{
    for (unsigned k = 0; k < w->scenario->servers; k++)
        if (w->servers[k].links[client].count > 0)
            return true;
    return false;
}

bool bwl_world_used(const bwl_world *w, bwl_budget budget)
{
    return w->left[budget] != w->scenario->budget[budget];
}

int64_t bwl_world_wall_ns(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];
    bwl_ms ms = BWL_BEGINNING_WALL_MS + c->clock.now - BWL_BEGINNING_MS + c->clock.skew_ms;

    return w->scenario->protocol->uses_wall ? ms * 1000000 : 0;
}

bool bwl_world_has_no_clock_behind(const bwl_world *w)
{
    const bwl_compat_rules *rules = w->scenario->options.rules;

    if (w->left[BWL_RATE] > 0 && w->scenario->clocks.rate_pace < BWL_PACE_TRUE)
        return false;
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c = &w->clients[i];
        if (c->clock.skew_ms + c->clock.now < w->now || c->clock.skew_ms < 0 ||
            c->clock.pace < BWL_PACE_TRUE)
            return false;
    }
    return (rules == NULL || !rules->timestamp_is_start) && w->scenario->clocks.wall_ms >= 0;
}

static bwl_ms after_now(bwl_ms at, bwl_ms now)
{
    return at > now ? at : BWL_NEVER;
}

/* By its own clock. */
static bwl_ms next_of_client(const bwl_lab_client *c)
{
    const bwl_hold *h   = &c->hold;
    bwl_ms          now = c->clock.now;
    bwl_ms          at  = after_now(c->wake_at, now);

    if (!c->is_running)
        return BWL_NEVER;
    if (bwl_hold_is_held(h))
        return bwl_ms_min(at, after_now(h->until, now));
    if (bwl_hold_is_acquiring(h)) {
        at = bwl_ms_min(at, after_now(h->attempt_ends_at, now));
        at = bwl_ms_min(at, after_now(h->wait_deadline, now));
    }
    return bwl_ms_min(at, after_now(h->answer_deadline, now));
}

/* The first moment at which the comparison of a number with a sum of this test changes. */
static bwl_ms next_of_test(const bwl_world *w, unsigned client, const bwl_lock_op *op,
                           int64_t number)
{
    const bwl_lab_client      *c       = &w->clients[client];
    const bwl_lock_file_state *s       = (const bwl_lock_file_state *)(const void *)c->hold.memory;
    int64_t                    unit_ns = w->scenario->options.rules->unit_ns;
    bwl_ms                     at      = BWL_NEVER;

    number -=
        op->sum.units + op->sum.lease * (w->scenario->lease_of_ms[client] * 1000000 / unit_ns);
    if (op->sum.name != 0 && c->is_running)
        number -= s->names[op->sum.name - 1].number;
    if (number < 0 || number > INT64_MAX / unit_ns - 1)
        return BWL_NEVER; /* no time of day */
    for (unsigned more = 0; more < 2; more++) {
        int64_t by_ns = (number + more) * unit_ns - bwl_world_wall_ns(w, client);
        if (by_ns > 0)
            at = bwl_ms_min(at, c->clock.now + (by_ns + 999999) / 1000000);
    }
    return at;
}

/* The same for all tests of a lock file, and all numbers that they may look at. */
static bwl_ms next_of_file(const bwl_world *w, unsigned client)
{
    const bwl_lock_program *program = w->scenario->options.program;
    const bwl_model_key    *k       = bwl_model_lock(&w->servers[BWL_ONLY].redis);
    bwl_ms                  at      = BWL_NEVER;

    for (unsigned i = 0; i < program->ops_count; i++) {
        const bwl_lock_op *op = &program->ops[i];
        if (op->kind == BWL_OP_TEST && op->sum.now != 0 && k->kind == BWL_KIND_STRING &&
            k->value < BWL_MODEL_TEXT)
            at = bwl_ms_min(at, next_of_test(w, client, op, k->value));
    }
    return at;
}

/* When the timestamp in the key expires for a client, and when it has expired by a whole unit: some
 * protocols distinguish the two. */
static bwl_ms next_of_timestamp(const bwl_world *w, unsigned client)
{
    const bwl_compat_rules *rules   = w->scenario->options.rules;
    int64_t                 wall_ns = bwl_world_wall_ns(w, client);
    bwl_ms                  now     = w->clients[client].clock.now;
    bwl_ms                  at      = BWL_NEVER;
    int64_t                 timestamp;

    if (w->scenario->options.program != NULL)
        return next_of_file(w, client);
    if (wall_ns == 0 || rules->unit_ns == 0 || bwl_model_owner(&w->servers[BWL_ONLY].redis) == 0)
        return BWL_NEVER;
    timestamp = bwl_model_timestamp_of(rules, bwl_model_lock(&w->servers[BWL_ONLY].redis)->value);
    for (unsigned more = 0; more < 2; more++) {
        int64_t by_ns = (timestamp + more) * rules->unit_ns - wall_ns;
        if (by_ns > 0)
            at = bwl_ms_min(at, now + (by_ns + 999999) / 1000000);
    }
    return at;
}

static bwl_ms next_of_server(const bwl_world *w, const bwl_server *server)
{
    int64_t  pace = w->scenario->clocks.server_pace;
    unsigned last = w->scenario->queue.keep_ms != 0 ? BWL_MODEL_HEARTBEATS : BWL_MODEL_LOCK;
    bwl_ms   at   = BWL_NEVER;

    for (unsigned key = BWL_MODEL_LOCK; key <= last; key++) {
        const bwl_model_key *k = &server->redis.data.keys[key];
        if (k->kind != BWL_KIND_NONE && !k->lasts)
            at = bwl_ms_min(at, w->now + (k->ends_at - server->redis.now + pace - 1) / pace);
    }
    for (unsigned i = 0; bwl_model_gate(&server->redis.data) != 0 && i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item   = &server->redis.data.items[i];
        int64_t               passes = item->value * BWL_MODEL_PER_MS - server->redis.now;
        if (item->is_there && item->key == BWL_MODEL_SHARERS && passes > 0)
            at = bwl_ms_min(at, w->now + (passes + pace - 1) / pace);
    }
    if (server->young_for > 0)
        at = bwl_ms_min(at, w->now + (server->young_for + pace - 1) / pace);
    return at;
}

/* When the answer to the oldest command is overdue. */
static bwl_ms overdue_at(const bwl_world *w, const bwl_link *link)
{
    if (w->scenario->budget[BWL_STOP] == 0 || link->count == 0 || link->answered > 0)
        return BWL_NEVER;
    return BWL_BEGINNING_MS + link->messages[0].asked_ms + w->scenario->terms.answer_ms;
}

bool bwl_world_is_overdue(const bwl_world *w, const bwl_link *link)
{
    return overdue_at(w, link) <= w->now;
}

bwl_ms bwl_world_delay_ends(const bwl_world *w)
{
    bwl_ms at = BWL_NEVER;

    for (unsigned k = 0; w->scenario->clocks.delay_ms > 0 && k < w->scenario->servers; k++)
        for (unsigned i = 0; i < w->scenario->clients; i++) {
            const bwl_link *link = &w->servers[k].links[i];
            for (unsigned m = 0; m < link->count; m++)
                at = bwl_ms_min(at, BWL_BEGINNING_MS + link->messages[m].asked_ms +
                                        w->scenario->clocks.delay_ms);
        }
    return at;
}

bwl_ms bwl_world_next_instant(const bwl_world *w)
{
    bwl_ms at = after_now(bwl_world_delay_ends(w), w->now);

    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c    = &w->clients[i];
        bwl_ms                then = bwl_ms_min(next_of_timestamp(w, i), next_of_client(c));
        if (then != BWL_NEVER)
            at = bwl_ms_min(at, w->now + bwl_client_clock_reads_in(&c->clock, then));
    }
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        at = bwl_ms_min(at, next_of_server(w, &w->servers[k]));
        for (unsigned i = 0; i < w->scenario->clients; i++)
            at = bwl_ms_min(at, after_now(overdue_at(w, &w->servers[k].links[i]), w->now));
    }
    return at;
}

bool bwl_world_is_urgent(const bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c = &w->clients[i];
        if (c->is_unaware || (c->is_running && c->wake_at <= c->clock.now))
            return true;
    }
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        const bwl_server *server = &w->servers[k];
        for (unsigned i = 0; i < w->scenario->clients; i++) {
            const bwl_link *link = &server->links[i];
            if (link->count > 0 &&
                (!server->is_stopped || link->answered > 0 || bwl_world_is_overdue(w, link)))
                return true;
        }
    }
    return false;
}
