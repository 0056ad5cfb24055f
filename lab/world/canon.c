/*
 * canon.c -- the normal form of a world.  See world.h.
 */
#include "lab/world/canon_inside.h"
#include "lab/model/queue.h"
#include "lab/world/private_state.h"
#include "protocol/lock_file/lock_file.h"
#include "protocol/token_lock.h"
#include "protocol/quorum.h"
#include <string.h>

/* The permutations of the clients; those of two clients come first. */
enum { PAUSES_ALIKE = 8, ORDERS_MAX = 6, REST_LATE_MS = 8 /* a rest ends by then */ };
static const uint8_t orders[ORDERS_MAX][BWL_CLIENTS_MAX] = {
    { 0, 1, 2 }, { 1, 0, 2 }, { 0, 2, 1 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
};

static unsigned orders_count(unsigned clients, bool plain)
{
    return plain || clients == 1 ? 1 : clients == 2 ? 2 : ORDERS_MAX;
}

static uint64_t finish(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    x ^= x >> 33;
    return x == 0 ? 1 : x;
}

/* ---- numbers that may be times --------------------------------------------------------------- */

/* Stamps that have expired for every client are only compared with each other: named like
 * tokens. */
static void put_over(bwl_print *p, int64_t timestamp)
{
    unsigned name = 0;

    while (name < p->over_count && p->over[name] != timestamp)
        name++;
    if (name == p->over_count) {
        assert(p->over_count < BWL_PRINT_OVER_MAX);
        p->over[p->over_count++] = timestamp;
    }
    bwl_put(p, name);
}

/* A number within a million seconds of `present` counts from there. */
static bool put_if_near(bwl_print *p, int64_t x, int64_t present, int64_t per_second)
{
    int64_t reach = 1000000 * per_second;

    if (x < present - reach || x > present + reach)
        return false;
    bwl_put(p, (uint64_t)per_second);
    if (p->over_alike && x < present - 1)
        put_over(p, x);
    else
        bwl_put(p, (uint64_t)(x - present));
    return true;
}

/* A number of unknown meaning.  The monotonic clock, the wall clock and the counters are so far
 * apart, in any unit, that a number near one of them is a time. */
static void put_number(bwl_print *p, int64_t x)
{
    static const int64_t units_ns[] = { 1000000000, 1000000, 1000, 1 };

    for (unsigned i = 0; i < 4; i++)
        if (put_if_near(p, x, p->wall_ns / units_ns[i], 1000000000 / units_ns[i]))
            return;
    if (x >= BWL_BEGINNING_MS && x <= UINT32_MAX)
        bwl_put(p, (uint64_t)(x - p->now) << 1 | 1);
    else
        bwl_put(p, (uint64_t)x);
}

static void put_value(bwl_print *p, int64_t value)
{
    enum { TOKEN_BITS = 16 };

    if (value < BWL_MODEL_TEXT || value >= BWL_MODEL_FOREIGN_VALUE) {
        put_number(p, value);
        return;
    }
    bwl_put_token(p, (uint16_t)value);
    put_number(p, (value - BWL_MODEL_TEXT) >> TOKEN_BITS);
}

/* The fence of `redisson` after it belongs to the hold. */
static bool begins_as_token(const bwl_protocol *protocol)
{
    return protocol == &bwl_redisson || protocol == &bwl_symfony;
}

/* ---- the machines ---------------------------------------------------------------------------- */

/* NULL: it has none at a known place. */
static const bwl_one_request *request_of(const bwl_hold *h)
{
    return h->protocol->request_first ? (const bwl_one_request *)(const void *)h->memory : NULL;
}

/* How many requests ago it was sent; its number, if the protocol does not say where it counts. */
static uint64_t order_of(const bwl_hold *h, const bwl_message *message)
{
    const bwl_one_request *request = request_of(h);

    return request != NULL ? request->last_tag - message->tag : message->tag;
}

static void put_memory(bwl_print *p, const bwl_hold *h)
{
    const bwl_one_request *request = request_of(h);

    if (request != NULL)
        bwl_put(p, request->tag != 0);
    for (size_t at = request != NULL ? sizeof *request : 0; at < h->protocol->state_size;
         at += sizeof(int64_t)) {
        size_t  rest   = h->protocol->state_size - at;
        int64_t number = 0;
        memcpy(&number, h->memory + at, rest < sizeof number ? rest : sizeof number);
        put_value(p, number);
    }
}

/* Without a request to the replicas in flight, only the next command matters. */
static void put_synced(bwl_print *p, const bwl_hold *h)
{
    const bwl_synced_state *view = bwl_synced_state_of(h);

    bwl_put(p, (uint64_t)view->verb << 1 | (view->tag != 0));
    if (view->tag == 0)
        return;
    bwl_put_time(p, view->until);
    bwl_put_time(p, view->retry_until);
    bwl_put(p, (uint64_t)(p->now - view->sent_at));
}

static const bwl_redlock_state *redlock_of(const bwl_hold *h)
{
    return (const bwl_redlock_state *)(const void *)h->memory;
}

/* Leaves out what it stores per server, which belongs to the link. */
static void put_redlock(bwl_print *p, const bwl_hold *h)
{
    const bwl_redlock_state *r = redlock_of(h);

    bwl_put(p, (uint64_t)h->request.attempt << 8 | (uint64_t)r->verb << 2 |
                   (uint64_t)r->is_decided << 1 | r->is_patient); /* patience doubles each time */
    bwl_put_time(p, r->until);
    if (!r->is_decided)
        bwl_put(p, (uint64_t)(p->now - r->started_at) << 1 | r->is_again);
}

/* The last reply is tested at once, and never read again. */
static void put_file(bwl_print *p, const bwl_hold *h)
{
    const bwl_lock_file_state *s = (const bwl_lock_file_state *)(const void *)h->memory;

    bwl_put(p, (uint64_t)s->verb << 24 | (uint64_t)s->at << 16 | (uint64_t)s->tries << 8 |
                   (uint64_t)s->sleeps << 1 | (s->in_flight.tag != 0));
    bwl_put_time(p, s->until);
    for (unsigned i = 0; i < h->request.options->program->names_count; i++) {
        put_value(p, s->names[i].number);
        put_value(p, s->names[i].hash);
    }
}

static void put_protocol(bwl_print *p, const bwl_hold *h)
{
    const bwl_token_state  *view;
    const bwl_mutant_state *mutant = (const bwl_mutant_state *)(const void *)h->memory;

    if (bwl_is_synced(h))
        put_synced(p, h);
    if (p->is_queue)
        return; /* by itself */
    if (p->latest != NULL) {
        put_redlock(p, h);
        return;
    }
    if (p->is_file) {
        put_file(p, h);
        return;
    }
    if (!p->is_token) {
        put_memory(p, h);
        return;
    }
    view = bwl_token_state_of(h);

    bwl_put(p, (uint64_t)view->verb << 1 | (view->in_flight.tag != 0));
    bwl_put_time(p, view->until);
    if (h->protocol->command != bwl_token.command && !begins_as_token(h->protocol) &&
        !bwl_is_synced(h)) {
        bwl_put_time(p, mutant->sent_at);
        bwl_put(p, (uint64_t)mutant->blows << 8 | (uint64_t)mutant->verb << 2 |
                       (uint64_t)mutant->is_lost << 1 | mutant->again);
        bwl_put(p, mutant->tag == view->in_flight.last_tag);
    }
}

static uint64_t bits_of(const bool *flags, unsigned count)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < count; i++)
        bits = bits << 1 | flags[i];
    return bits;
}

/* The deadlines of an acquire end with HELD; those of a hold begin with it. */
static void put_hold(bwl_print *p, const bwl_hold *h)
{
    const bool flags[]   = { h->would_wait, h->last_try, h->is_unknown, h->caller_extends,
                             h->extend_again };
    bool       acquiring = bwl_hold_is_acquiring(h);
    bool       held      = bwl_hold_is_held(h);

    bwl_put(p, (uint64_t)h->state << 48 | (uint64_t)h->last_error << 32 |
                   bits_of(flags, sizeof flags / sizeof flags[0]) << 8 |
                   (h->pauses < PAUSES_ALIKE ? h->pauses : PAUSES_ALIKE));
    bwl_put(p, (uint64_t)h->request.lease_ms);
    bwl_put_token(p, bwl_token_read(h->request.token));
    bwl_put_time(p, h->timer_at);
    bwl_put_time(p, h->protocol_wakes_at);
    if (acquiring || p->plain) {
        bwl_put_time(p, h->wait_deadline);
        bwl_put_time(p, h->attempt_ends_at);
    }
    if (held || h->state == BWL_HOLD_REVOKED || p->plain) {
        bwl_put_time(p, h->until);
        bwl_put_time(p, h->ends_at);
        if (!h->protocol->can_verify_owner)
            bwl_put_time(p, h->granted_to);
    }
    if (!held || p->plain)
        bwl_put_time(p, h->answer_deadline);
    if (h->request.rest_ms != 0)
        bwl_put(p, (uint64_t)bwl_ms_max(h->rest_ends_at - p->now, -REST_LATE_MS));
    put_protocol(p, h);
}

/* ---- messages, clocks, worlds ---------------------------------------------------------------- */

static bool is_current(const bwl_lab_client *c, const bwl_message *message)
{
    return c->is_running && message->round == c->round &&
           (message->tag == bwl_token_state_of(&c->hold)->in_flight.tag ||
            (message->tag != 0 && message->tag == bwl_synced_tag(&c->hold)));
}

static void put_question(bwl_print *p, const bwl_message *message)
{
    bwl_put(p, (uint64_t)message->command << 32 | (uint32_t)message->lease_ms);
    bwl_put_token(p, message->token);
    if (!p->is_token)
        put_value(p, message->timestamp);
}

/* An unknown protocol may read anything. */
static void put_whole_message(bwl_print *p, const bwl_lab_client *c, const bwl_message *message)
{
    bool of_round = c->is_running && message->round == c->round;

    bwl_put(p, (uint64_t)message->kind << 16 | (uint64_t)message->answer << 8 |
                   (uint64_t)message->acquires << 3 | (uint64_t)message->is_mine << 2 |
                   (uint64_t)message->has_result << 1 | of_round);
    bwl_put(p, of_round ? order_of(&c->hold, message) : 0);
    if (p->is_file)
        bwl_put(p, (uint64_t)message->reply_kind << 8 | message->step);
    put_question(p, message);
}

static void put_message(bwl_print *p, const bwl_world *w, const bwl_lab_client *c,
                        const bwl_message *message)
{
    if (p->is_queue) {
        bwl_put_waiting_message(p, w, c, message);
        return;
    }
    if (!p->is_token) {
        put_whole_message(p, c, message);
        return;
    }
    bool     current  = is_current(c, message);
    bool     of_round = c->is_running && message->round == c->round;
    uint64_t order = of_round ? bwl_token_state_of(&c->hold)->in_flight.last_tag - message->tag : 0;

    bwl_put(p, (uint64_t)message->kind << 8 | (uint64_t)message->has_result << 2 |
                   (uint64_t)of_round << 1 | current);
    bwl_put(p, p->plain ? order : 0);
    if (message->kind == BWL_MESSAGE_ANSWER)
        bwl_put(p, message->answer);
    if (message->kind == BWL_MESSAGE_REQUEST || bwl_redis_command_releases(message->command))
        put_question(p, message); /* an invariant reads which release failed */
}

/* Adds the offset of its wall clock; the fraction and the rate of its clock; its own lease; whether
 * it waits; its results. */
static void put_clock(bwl_print *p, const bwl_world *w, const bwl_lab_client *c)
{
    size_t number     = (size_t)(c - w->clients);
    bwl_ms lease_ms   = w->scenario->lease_of_ms[number];
    bool   tries_once = (w->scenario->tries_once_of >> number & 1) != 0;

    bwl_put(p, (uint64_t)(c->clock.skew_ms + (p->uses_wall ? c->clock.now - w->now : 0)));
    bwl_put(p, (uint64_t)tries_once << 63 | (uint64_t)lease_ms << 24 |
                   (uint64_t)c->clock.beyond << 16 | c->clock.pace);
    bwl_put(p, c->caller.trusts_until > c->clock.now
                   ? (uint64_t)(c->caller.trusts_until - c->clock.now)
                   : 0);
}

static void put_client(bwl_print *p, const bwl_world *w, const bwl_lab_client *c)
{
    const bool flags[] = { c->is_running,      c->caller.is_working,       c->book.was_slow,
                           c->book.was_kept,   c->caller.has_final_result, c->caller.extends,
                           c->caller.releases, c->caller.cancels,          c->book.is_removed,
                           c->caller.yields };
    uint64_t   of_round =
        (uint64_t)c->book.asked_now << 16 | bits_of(flags, sizeof flags / sizeof flags[0]);

    p->now = c->clock.now;
    put_clock(p, w, c);
    bwl_put(p, (uint64_t)c->is_unaware << 57 | (uint64_t)c->book.is_of_old << 56 |
                   (uint64_t)c->rounds_left << 32 | (c->is_running ? of_round : 0));
    if (c->is_running) {
        bwl_put_time(p, c->wake_at);
        bwl_put_time(p, c->book.was_kept ? BWL_NEVER : c->caller.due_by);
        if (c->caller.extends)
            bwl_put(p, (uint64_t)(p->now - c->caller.extended_at));
        if (c->caller.is_working && w->scenario->terms.max_hold_ms != BWL_NEVER)
            bwl_put(p, (uint64_t)bwl_ms_min(p->now - c->caller.held_since,
                                            w->scenario->terms.max_hold_ms));
        put_hold(p, &c->hold);
        if (p->is_queue)
            bwl_put_queue_state(p, w, c);
    }
    if (p->is_queue)
        bwl_put_waiter(p, w, (unsigned)(c - w->clients));
}

static void put_late(bwl_print *p, const bwl_message *message)
{
    if (p->is_file)
        bwl_put(p, message->step);
    put_question(p, message);
}

static void put_link(bwl_print *p, const bwl_world *w, unsigned k, unsigned client)
{
    const bwl_lab_client *c    = &w->clients[client];
    const bwl_link       *link = &w->servers[k].links[client];
    bool                  is_informed =
        w->scenario->options.replicas > 0 && (w->servers[k].informed >> client & 1) != 0;

    p->now = c->clock.now;
    if (bwl_world_counts_delays(w->scenario)) {
        bwl_put(p, w->servers[k].is_stopped);
        for (unsigned i = w->scenario->clocks.delay_ms > 0 ? 0 : link->answered; i < link->count;
             i++)
            bwl_put(p, (uint64_t)(w->now - BWL_BEGINNING_MS - link->messages[i].asked_ms));
    }
    bwl_put(p, (uint64_t)is_informed << 24 | (uint64_t)link->count << 16 |
                   (uint64_t)link->answered << 8 | link->late_count);
    for (unsigned i = 0; i < link->count; i++)
        put_message(p, w, c, &link->messages[i]);
    for (unsigned i = 0; i < link->late_count; i++) {
        bwl_put(p, link->late[i].connection);
        if (w->scenario->clocks.delay_ms > 0)
            bwl_put(p, (uint64_t)(w->now - BWL_BEGINNING_MS - link->late[i].asked_ms));
        if (p->is_queue)
            bwl_put_waiting_message(p, w, c, &link->late[i]);
        else
            put_late(p, &link->late[i]);
    }
}

static void put_data(bwl_print *p, const bwl_model_data *data, int64_t server_now)
{
    const bwl_model_key *k = &data->keys[BWL_MODEL_LOCK];

    bwl_put_token(p, k->kind == BWL_KIND_NONE ? 0 : k->writer);
    if (k->kind == BWL_KIND_NONE)
        return;
    put_value(p, bwl_model_gate(data) != 0 ? 0 : k->value);
    bwl_put_members(p, data, server_now);
    bwl_put(p, k->lasts ? UINT64_MAX : (uint64_t)(k->ends_at - server_now));
}

static void put_connections(bwl_print *p, const bwl_world *w, const uint8_t *order)
{
    for (unsigned i = 0; i < w->scenario->clients; i++)
        for (unsigned late = 0; late <= BWL_MODEL_CLIENTS; late += BWL_MODEL_CLIENTS) {
            const bwl_model_connection *c =
                &w->servers[BWL_ONLY].redis.connections[order[i] + late];
            bwl_put(p, (uint64_t)c->is_watching << 1 | c->is_dirty);
        }
}

/* The rank of each number: only the order of compared numbers matters. */
static void put_ranks(bwl_print *p, const uint64_t *numbers, unsigned count)
{
    uint64_t ranks = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned rank = 0;
        for (unsigned j = 0; j < count; j++)
            rank += numbers[j] < numbers[i];
        ranks = ranks << 4 | (numbers[i] == 0 ? 15 : rank);
    }
    bwl_put(p, ranks);
}

static void put_book(bwl_print *p, const bwl_world *w, const uint8_t *order)
{
    uint64_t came[BWL_CLIENTS_MAX]           = { 0 };
    uint64_t grants[BWL_CLIENTS_MAX + 1]     = { w->resource.grant_number };
    uint64_t fences[2 * BWL_CLIENTS_MAX + 3] = { w->resource.fence, w->fences };

    if ((w->scenario->invariants & BWL_INVARIANT_FIRST_COME) == 0 && w->left[BWL_WRITE] == 0)
        return;
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c = &w->clients[order[i]];
        if (!c->is_running)
            continue;
        came[i]           = bwl_hold_is_acquiring(&c->hold) ? c->book.came : 0;
        grants[i + 1]     = c->book.grant_number;
        fences[2 * i + 2] = c->hold.fence;
        fences[2 * i + 3] = c->book.fence;
    }
    if ((w->scenario->invariants & BWL_INVARIANT_FIRST_COME) != 0)
        put_ranks(p, came, BWL_CLIENTS_MAX);
    if (w->left[BWL_WRITE] > 0) {
        put_ranks(p, grants, BWL_CLIENTS_MAX + 1);
        fences[2 * BWL_CLIENTS_MAX + 2] = (uint64_t)bwl_model_counter(&w->servers[BWL_ONLY].redis);
        put_ranks(p, fences, 2 * BWL_CLIENTS_MAX + 3);
    }
}

/* Sets what all hashes of a world share.  It does not clear the names: that would cost more than
 * the rest. */
static void begin(bwl_print *p, const bwl_world *w, bool plain, const bwl_drawn *drawn)
{
    const bwl_protocol *protocol = w->scenario->protocol;

    p->latest   = NULL;
    p->wall_ns  = (BWL_BEGINNING_WALL_MS + w->now - BWL_BEGINNING_MS) * 1000000;
    p->plain    = plain;
    p->is_token = protocol == &bwl_token || begins_as_token(protocol) ||
                  (!protocol->uses_push && w->scenario->options.program == NULL &&
                   strcmp(protocol->name, "token") == 0);
    p->is_file    = w->scenario->options.program != NULL;
    p->is_queue   = protocol->uses_push;
    p->uses_wall  = protocol->uses_wall;
    p->over_alike = !plain && !p->is_token && bwl_world_has_no_clock_behind(w);
    p->drawn      = drawn;
}

static void restart(bwl_print *p, const bwl_world *w, uint64_t hash)
{
    p->hash         = hash;
    p->now          = w->now;
    p->tokens_count = p->over_count = 0;
}

/* The fraction of the clocks' unit, which determines when the next unit begins; and the offset of
 * the server's clock. */
static void put_clocks(bwl_print *p, const bwl_world *w)
{
    const bwl_compat_rules *rules = w->scenario->options.rules;

    if (rules == NULL || rules->unit_ns == 0)
        return;
    bwl_put(p, (uint64_t)(p->wall_ns % rules->unit_ns));
    if (rules->clock == BWL_CLOCK_OF_SERVER)
        bwl_put(p, (uint64_t)(w->servers[BWL_ONLY].redis.now -
                              p->wall_ns / 1000000 * BWL_MODEL_PER_MS));
}

static void put_budgets(bwl_print *p, const bwl_world *w)
{
    uint64_t left = 0;

    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++) {
        left = left << 8 | w->left[i];
        if (i % 8 == 0)
            bwl_put(p, left);
    }
    bwl_put(p, left);
}

static uint64_t in_order(bwl_print *p, const bwl_world *w, const uint8_t *order)
{
    const bwl_server *server = &w->servers[BWL_ONLY];

    restart(p, w, 0x62776c);
    put_budgets(p, w);
    if ((w->scenario->invariants & BWL_INVARIANT_FREES) != 0)
        bwl_put(p, w->is_released);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        if ((w->scenario->mutations & BWL_MUTATION_ONE_TOKEN) != 0)
            bwl_put_token(p, bwl_token_number(order[i], 1)); /* it will be used again */
        put_client(p, w, &w->clients[order[i]]);
        put_link(p, w, BWL_ONLY, order[i]);
    }
    put_data(p, &server->redis.data, server->redis.now);
    if (p->is_queue) {
        bwl_put_queue_order(p, w, &server->redis.data, order);
        bwl_put_fences(p, w);
    } else if (!p->is_token) {
        put_connections(p, w, order);
        put_clocks(p, w);
    }
    if (bwl_model_owner(&server->redis) != 0)
        bwl_put(p, (uint64_t)server->key_late << 1 | server->key_excused);
    if (w->left[BWL_RESTORE] > 0)
        put_data(p, &w->saved, server->redis.now);
    if (p->is_queue && w->left[BWL_RESTORE] > 0)
        bwl_put_queue_order(p, w, &w->saved, order);
    if (w->left[BWL_FAILOVER] > 0)
        put_data(p, &w->previous, server->redis.now);
    if (p->is_queue && w->left[BWL_FAILOVER] > 0)
        bwl_put_queue_order(p, w, &w->previous, order);
    put_book(p, w, order);
    return finish(p->hash);
}

/* A hash of one client without its identity, with token names of its own. */
static uint64_t alone(bwl_print *p, const bwl_world *w, unsigned client)
{
    restart(p, w, 0x616c);
    put_client(p, w, &w->clients[client]);
    put_link(p, w, BWL_ONLY, client);
    bwl_put_token(p, bwl_model_owner(&w->servers[BWL_ONLY].redis));
    return finish(p->hash);
}

/* ---- several servers ------------------------------------------------------------------------- */

/* The servers are interchangeable like clients.
 *
 * Each client, server and link has a hash of its own, in which the name of a token is the number of
 * newer tokens of its client.  For an order of the clients, a server is a column: its key and its
 * links.  The sorted columns and the clients give one hash; the smallest over all orders is the
 * fingerprint. */

/* The hashes that do not depend on the order of the clients. */
typedef struct parts {
    uint64_t clients[BWL_CLIENTS_MAX];
    uint64_t servers[BWL_SERVERS_MAX];
    uint64_t links[BWL_SERVERS_MAX][BWL_CLIENTS_MAX];
} parts;

static void put_message_of_several(bwl_print *p, const bwl_world *w, const bwl_lab_client *c,
                                   const bwl_message *message)
{
    bool is_open = message->kind == BWL_MESSAGE_REQUEST;
    bool is_current =
        c->is_running && message->round == c->round && message->tag == redlock_of(&c->hold)->round;

    bwl_put(p, (uint64_t)message->kind << 24 | (uint64_t)message->command << 16 |
                   (uint64_t)message->answer << 8 | (uint64_t)is_current << 2 |
                   (uint64_t)message->has_result << 1 | message->acquires);
    if (is_open)
        bwl_put_token(p, message->token);
    if (is_open && w->scenario->budget[BWL_STOP] > 0)
        bwl_put(p, (uint64_t)(w->now - BWL_BEGINNING_MS - message->asked_ms));
}

/* A link has only tokens of its own client. */
static uint64_t print_of_link(bwl_print *p, const bwl_world *w, unsigned k, unsigned client)
{
    const bwl_link       *link = &w->servers[k].links[client];
    const bwl_lab_client *c    = &w->clients[client];

    p->hash = 0;
    bwl_put(p, (uint64_t)link->count << 8 | link->late_count);
    for (unsigned i = 0; i < link->count; i++)
        put_message_of_several(p, w, c, &link->messages[i]);
    for (unsigned i = 0; i < link->late_count; i++) {
        bwl_put(p, (uint64_t)link->late[i].connection << 8 | link->late[i].command);
        bwl_put_token(p, link->late[i].token);
    }
    if (c->is_running)
        bwl_put(p,
                (uint64_t)redlock_of(&c->hold)->votes[k] << 1 | redlock_of(&c->hold)->deleted[k]);
    return p->hash;
}

static uint64_t print_of_server(bwl_print *p, const bwl_server *server)
{
    p->hash = 0;
    bwl_put_token(p, bwl_model_owner(&server->redis));
    bwl_put(p, (uint64_t)bwl_model_left(&server->redis));
    bwl_put(p, (uint64_t)server->young_for << 4 | (uint64_t)server->is_stopped << 3 |
                   (uint64_t)server->was_faulty << 2 | (uint64_t)server->key_excused << 1 |
                   server->key_late);
    return p->hash;
}

static void find_columns(bwl_print *p, const bwl_world *w, const uint8_t *order, const parts *all,
                         uint64_t columns[BWL_SERVERS_MAX])
{
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        uint16_t owner = bwl_model_owner(&w->servers[k].redis);
        unsigned at    = k;

        p->hash = all->servers[k];
        for (unsigned i = 0; i < w->scenario->clients; i++) {
            bool is_owner = owner != 0 && bwl_token_client(owner) == order[i];
            bwl_put(p, all->links[k][order[i]] + is_owner);
        }
        for (; !p->plain && at > 0 && columns[at - 1] > p->hash; at--)
            columns[at] = columns[at - 1];
        columns[at] = p->hash;
    }
}

static uint64_t in_order_of_several(bwl_print *p, const bwl_world *w, uint64_t start,
                                    const uint8_t *order, const parts *all)
{
    uint64_t columns[BWL_SERVERS_MAX];

    find_columns(p, w, order, all, columns);
    p->hash = start;
    for (unsigned i = 0; i < w->scenario->clients; i++)
        bwl_put(p, all->clients[order[i]]);
    for (unsigned k = 0; k < w->scenario->servers; k++)
        bwl_put(p, columns[k]);
    return finish(p->hash);
}

static uint64_t of_several(bwl_print *p, const bwl_world *w)
{
    uint16_t latest[BWL_CLIENTS_MAX];
    uint64_t start = p->hash;
    uint64_t least = UINT64_MAX;
    parts    all;

    p->latest = latest;
    for (unsigned i = 0; i < w->scenario->clients; i++)
        latest[i] = bwl_token_read(w->clients[i].hold.request.token);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        p->hash = 0;
        put_client(p, w, &w->clients[i]);
        all.clients[i] = p->hash;
    }
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        all.servers[k] = print_of_server(p, &w->servers[k]);
        for (unsigned i = 0; i < w->scenario->clients; i++)
            all.links[k][i] = print_of_link(p, w, k, i);
    }
    for (unsigned i = 0; i < orders_count(w->scenario->clients, p->plain); i++) {
        uint64_t print = in_order_of_several(p, w, start, orders[i], &all);
        least          = print < least ? print : least;
    }
    return least;
}

/* ---- the fingerprint ------------------------------------------------------------------------- */

static bool fits(const uint64_t *prints, const uint8_t *order, unsigned clients)
{
    for (unsigned i = 1; i < clients; i++)
        if (prints[order[i - 1]] > prints[order[i]])
            return false;
    return true;
}

/* Clients are sorted by their own hashes, so that worlds which differ only by the order of clients
 * are equal.  Where hashes are equal, all orders are tried. */
uint64_t bwl_world_fingerprint(const bwl_world *w, bool plain)
{
    unsigned  clients  = w->scenario->clients;
    uint64_t  smallest = UINT64_MAX;
    uint64_t  prints[BWL_CLIENTS_MAX];
    bwl_drawn drawn;
    bwl_print p;

    begin(&p, w, plain, &drawn);
    if (w->scenario->servers > 1) {
        restart(&p, w, 0x7365);
        put_budgets(&p, w);
        return of_several(&p, w);
    }
    if (w->scenario->protocol->uses_push)
        bwl_draw_ranks(&drawn, w);
    for (unsigned i = 0; i < clients && !plain; i++)
        prints[i] = alone(&p, w, i);
    for (unsigned i = 0; i < orders_count(clients, plain); i++)
        if (plain || fits(prints, orders[i], clients)) {
            uint64_t hash = in_order(&p, w, orders[i]);
            smallest      = hash < smallest ? hash : smallest;
        }
    return smallest;
}
