/*
 * canon_waiting.c -- the part of a fingerprint for a lock with a queue.  See world.h.
 *
 * Tickets and fences are only compared: their order matters.  The name of a connection is the
 * number of newer ones.  Server times that the machine has seen count from now, by both clocks.
 */
#include "lab/world/canon_inside.h"
#include "lab/model/queue.h"
#include "lab/world/private_state.h"
#include "protocol/queue_lock.h"
#include <string.h>

/* ---- tickets and fences ---------------------------------------------------------------------- */

static void add(bwl_ranks *ranks, uint64_t number)
{
    unsigned at = ranks->count;

    while (at > 0 && ranks->list[at - 1] > number)
        at--;
    if (number == 0 || (at > 0 && ranks->list[at - 1] == number))
        return;
    assert(ranks->count < BWL_RANKS_MAX);
    for (unsigned i = ranks->count++; i > at; i--)
        ranks->list[i] = ranks->list[i - 1];
    ranks->list[at] = number;
}

static void put_rank(bwl_print *p, const bwl_ranks *ranks, uint64_t number)
{
    unsigned rank = 0;

    while (rank < ranks->count && ranks->list[rank] < number)
        rank++;
    bwl_put(p, number == 0 ? UINT64_MAX : rank);
}

/* The counter matters only if numbers above it exist. */
static void put_count(bwl_print *p, const bwl_ranks *ranks, uint64_t count)
{
    unsigned above = 0;

    while (above < ranks->count && ranks->list[ranks->count - 1 - above] > count)
        above++;
    bwl_put(p, above);
}

static void add_data(bwl_drawn *d, const bwl_model_data *data)
{
    add(&d->fences, (uint64_t)bwl_model_gate(data));
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++)
        if (data->items[i].is_there && data->items[i].key == BWL_MODEL_QUEUE)
            add(&d->tickets, (uint64_t)data->items[i].value);
}

/* ... or one that may be sent again. */
static bool is_question(const bwl_message *message)
{
    return message->kind == BWL_MESSAGE_REQUEST ||
           (message->kind == BWL_MESSAGE_ANSWER && message->answer == BWL_WHICH_NOSCRIPT);
}

/* True if its request is in flight. */
static bool is_asked(const bwl_lab_client *c, const bwl_message *message)
{
    uint32_t replicas = bwl_synced_tag(&c->hold);

    return message->tag == bwl_queue_state_of(&c->hold)->in_flight.tag ||
           (replicas != 0 && message->tag == replicas);
}

/* True if its payload is still read. */
static bool is_heard(const bwl_lab_client *c, const bwl_message *message, bool plain)
{
    bool of_round = c->is_running && message->round == c->round;

    if (message->kind == BWL_MESSAGE_PUSH)
        return true;
    return message->kind == BWL_MESSAGE_ANSWER && (plain || (of_round && is_asked(c, message)));
}

static void add_message(bwl_drawn *d, const bwl_world *w, const bwl_lab_client *c,
                        const bwl_message *message)
{
    if (is_question(message))
        add(message->command == REDIS_SHARE_EXTEND ? &d->fences : &d->tickets,
            (uint64_t)message->timestamp);
    if (is_question(message) || !is_heard(c, message, false))
        return;
    add(&d->fences, (uint64_t)message->timestamp);
    if (message->queue_status != 0)
        add(&d->tickets, w->waiting.places[message->queue_status - 1].ticket);
}

void bwl_draw_ranks(bwl_drawn *ret_drawn, const bwl_world *w)
{
    ret_drawn->tickets.count = ret_drawn->fences.count = 0;
    add_data(ret_drawn, &w->servers[BWL_ONLY].redis.data);
    if (w->left[BWL_RESTORE] > 0)
        add_data(ret_drawn, &w->saved);
    if (w->left[BWL_FAILOVER] > 0)
        add_data(ret_drawn, &w->previous);
    add(&ret_drawn->fences, w->waiting.held_fence);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c    = &w->clients[i];
        const bwl_link       *link = &w->servers[BWL_ONLY].links[i];
        for (unsigned j = 0; j < link->count; j++)
            add_message(ret_drawn, w, c, &link->messages[j]);
        for (unsigned j = 0; j < link->late_count; j++)
            add_message(ret_drawn, w, c, &link->late[j]);
        if (!c->is_running)
            continue;
        add(&ret_drawn->fences, c->hold.fence);
        add(&ret_drawn->fences, bwl_queue_state_of(&c->hold)->fence);
        add(&ret_drawn->tickets, bwl_queue_state_of(&c->hold)->ticket);
        add(&ret_drawn->tickets, w->waiting.waiters[i].ticket);
    }
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* The age of a time, up to a limit beyond all leases. */
static void put_past(bwl_print *p, const bwl_world *w, bwl_ms at)
{
    bwl_ms past_ms = p->now - at;
    bwl_ms most_ms = 3 * w->scenario->terms.lease_ms + w->scenario->extend_ms;

    bwl_put(p, (uint64_t)(past_ms < most_ms ? past_ms : most_ms));
}

static void put_change(bwl_print *p, const bwl_hold *h)
{
    const bwl_mode_change *change = &h->change;

    bwl_put(p, (uint64_t)h->request.share.weight << 5 | (uint64_t)change->kind << 3 |
                   (uint64_t)change->is_awaited << 2 | (uint64_t)change->is_unknown << 1 |
                   change->other_may_own);
    bwl_put_token(p, bwl_upgrades_to(h));
    if (change->is_awaited)
        bwl_put_time(p, h->answer_deadline);
}

void bwl_put_queue_state(bwl_print *p, const bwl_world *w, const bwl_lab_client *c)
{
    const bwl_queue_state        *v      = bwl_queue_state_of(&c->hold);
    const bwl_queue_mutant_state *mutant = (const bwl_queue_mutant_state *)(const void *)v;

    bwl_put(p, (uint64_t)v->phase << 32 | (uint64_t)v->provisional_ttl_ms << 3 |
                   (uint64_t)v->may_wait << 2 | (uint64_t)v->was_held << 1 |
                   (v->in_flight.tag != 0));
    if (v->in_flight.tag != 0 || p->plain)
        put_past(p, w, v->sent_at);
    bwl_put(p, (uint64_t)v->lease_ms << 3 | (uint64_t)v->shares << 2 |
                   (uint64_t)v->other_may_own << 1 | (v->unconfirmed != 0));
    put_change(p, &c->hold);
    put_rank(p, &p->drawn->fences, v->fence);
    put_rank(p, &p->drawn->tickets, v->ticket);
    bwl_put_token(p, bwl_queue_owes(&c->hold));
    if (v->previous_may_own)
        bwl_put(p, (uint64_t)v->next << 32 | v->next_command);
    if (v->phase == BWL_QUEUE_QUEUED) {
        bwl_put(p, (uint64_t)(p->now - v->seen.at));
        bwl_put(p, v->seen.server_us == 0
                       ? UINT64_MAX
                       : (uint64_t)(bwl_model_us(&w->servers[BWL_ONLY].redis) - v->seen.server_us));
    }
    if (!bwl_is_synced(&c->hold) && (c->hold.protocol->event != bwl_queue.event ||
                                     c->hold.protocol->command != bwl_queue.command)) {
        bwl_put_time(p, mutant->until);
        bwl_put(p, mutant->until != 0);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static unsigned age_of(const bwl_world *w, unsigned client, unsigned push_channel)
{
    return push_channel == 0 ? BWL_ANY
                             : (unsigned)w->waiting.waiters[client].push_channel - push_channel;
}

static void put_place(bwl_print *p, const bwl_world *w, const bwl_queue_status *queue_status)
{
    bwl_put(p, (uint64_t)queue_status->kind << 16 | (uint64_t)queue_status->rank << 8 |
                   (uint64_t)queue_status->rests << 2 | (uint64_t)queue_status->is_ours << 1 |
                   queue_status->ends);
    bwl_put(p, (uint64_t)queue_status->left_ms);
    put_rank(p, &p->drawn->tickets, queue_status->ticket);
    bwl_put(p, queue_status->server_us == 0 ? UINT64_MAX
                                            : (uint64_t)(bwl_model_us(&w->servers[BWL_ONLY].redis) -
                                                         queue_status->server_us));
}

static void put_question(bwl_print *p, const bwl_world *w, unsigned client,
                         const bwl_message *message)
{
    bwl_put(p, (uint64_t)message->command << 48 | (uint64_t)(uint32_t)message->lease_ms << 16 |
                   message->provisional_ttl_ms);
    bwl_put(p, (uint64_t)age_of(w, client, message->push_channel) << 16 |
                   (uint64_t)age_of(w, client, message->old_channels[0]) << 8 |
                   age_of(w, client, message->old_channels[1]));
    bwl_put_token(p, message->previous_token);
    put_rank(p, message->command == REDIS_SHARE_EXTEND ? &p->drawn->fences : &p->drawn->tickets,
             (uint64_t)message->timestamp);
    if (message->command == REDIS_QUEUE_REST) /* what is left of it */
        bwl_put(p, (uint64_t)message->timestamp);
}

void bwl_put_waiting_message(bwl_print *p, const bwl_world *w, const bwl_lab_client *c,
                             const bwl_message *message)
{
    unsigned client     = (unsigned)(c - w->clients);
    bool     of_round   = c->is_running && message->round == c->round;
    bool     is_current = of_round && is_asked(c, message);
    bool     confirms   = of_round && message->tag == bwl_queue_state_of(&c->hold)->unconfirmed;
    bool     is_latest  = of_round && message->tag == w->waiting.waiters[client].latest_tag;

    bwl_put(p, (uint64_t)message->kind << 16 | (uint64_t)message->answer << 8 |
                   (uint64_t)confirms << 5 | (uint64_t)message->has_result << 4 |
                   (uint64_t)(message->tag == 0) << 3 | (uint64_t)of_round << 2 |
                   (uint64_t)is_current << 1 | is_latest);
    bwl_put_token(p, message->token);
    if (is_question(message))
        put_question(p, w, client, message);
    else
        bwl_put(p, message->command);
    if (message->queue_status != 0) /* the engine always reads the queue status */
        bwl_put(p, w->waiting.places[message->queue_status - 1].kind);
    if (is_question(message) || !is_heard(c, message, p->plain))
        return;
    put_rank(p, &p->drawn->fences, (uint64_t)message->timestamp);
    if (message->queue_status != 0)
        put_place(p, w, &w->waiting.places[message->queue_status - 1]);
}

/* ---- the engine, the server ------------------------------------------------------------------ */

/* The age of a grant, up to a period; nothing without one. */
static void put_age(bwl_print *p, const bwl_world *w, int64_t at)
{
    int64_t rest = w->scenario->terms.rest_ms * BWL_MODEL_PER_MS;
    int64_t age  = w->servers[BWL_ONLY].redis.now - at;

    if (rest != 0)
        bwl_put(p, (uint64_t)(at == 0 || age > 2 * rest ? 2 * rest : age));
}

void bwl_put_waiter(bwl_print *p, const bwl_world *w, unsigned client)
{
    const bwl_lab_waiter *s     = &w->waiting.waiters[client];
    bwl_share             share = w->scenario->queue.share_of[client];
    unsigned              other =
        w->servers[BWL_ONLY].redis.connections[client + BWL_MODEL_CLIENTS].push_channel;

    bwl_put(p, (uint64_t)s->shares_loosely << 25 |
                   (uint64_t)(w->clients[client].book.grant_number != 0) << 24 |
                   (uint64_t)s->orphans << 16 | (uint64_t)s->maybe_orphans << 8 |
                   (uint64_t)s->is_connected << 2 | (uint64_t)s->may_kill << 1 | s->was_cut);
    bwl_put(p, (uint64_t)share.weight << 33 | (uint64_t)share.limit << 1 |
                   (w->scenario->queue.old_of >> client & 1));
    bwl_put(p, age_of(w, client, other));
    put_age(p, w, w->clients[client].is_running ? w->waiting.granted_at[client] : 0);
    bwl_put_token(p, s->named_token);
    put_rank(p, &p->drawn->tickets, w->clients[client].is_running ? s->ticket : 0);
    bwl_put(p, (uint64_t)age_of(w, client, s->old_channels[0]) << 24 |
                   (uint64_t)age_of(w, client, s->old_channels[1]) << 16 | s->named_claim_ms);
}

static void put_heartbeats(bwl_print *p, const bwl_world *w, const bwl_model_data *data,
                           unsigned client)
{
    uint32_t last = 0;

    for (bool found = true; found;) {
        const bwl_model_item *next = NULL;
        for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
            const bwl_model_item *item = &data->items[i];
            if (item->is_there && item->key == BWL_MODEL_HEARTBEATS && item->member > last &&
                bwl_token_client((uint16_t)item->member) == client &&
                (next == NULL || item->member < next->member))
                next = item;
        }
        found = next != NULL;
        if (!found)
            break;
        last = next->member;
        bwl_put_token(p, (uint16_t)last);
        if (w->scenario->queue.ages)
            bwl_put(p, (uint64_t)(w->servers[BWL_ONLY].redis.now / BWL_MODEL_PER_MS - next->value));
    }
}

/* The members of H of one client, in the order of its tokens; without a gate, too. */
static void put_sharers(bwl_print *p, const bwl_world *w, const bwl_model_data *data,
                        unsigned client)
{
    int64_t now = w->servers[BWL_ONLY].redis.now;

    for (uint32_t last = 0, next = UINT32_MAX;; last = next, next = UINT32_MAX) {
        const bwl_model_item *item = NULL;
        for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
            const bwl_model_item *other = &data->items[i];
            if (other->is_there && other->key == BWL_MODEL_SHARERS && other->member > last &&
                other->member < next && bwl_token_client((uint16_t)other->member) == client) {
                item = other;
                next = other->member;
            }
        }
        if (item == NULL)
            break;
        bwl_put_token(p, (uint16_t)item->member);
        bwl_put(p, (uint64_t)(item->value * BWL_MODEL_PER_MS - now));
    }
    bwl_put(p, UINT64_MAX);
}

void bwl_put_queue_order(bwl_print *p, const bwl_world *w, const bwl_model_data *data,
                         const uint8_t *order)
{
    const bwl_model_item *item = NULL;

    while ((item = bwl_model_queue_next(data, item)) != NULL) {
        bwl_member m = bwl_member_of(item->member);
        bwl_put_token(p, m.token);
        bwl_put(p, (uint64_t)age_of(w, bwl_token_client(m.token), m.push_channel) << 16 |
                       m.provisional_ttl_ms);
        put_rank(p, &p->drawn->tickets, (uint64_t)item->value);
    }
    bwl_put(p, UINT64_MAX);
    for (unsigned key = BWL_MODEL_QUEUE;
         w->scenario->queue.keep_ms != 0 && key <= BWL_MODEL_HEARTBEATS; key++)
        bwl_put(p, data->keys[key].kind != BWL_KIND_NONE && !data->keys[key].lasts
                       ? (uint64_t)(data->keys[key].ends_at - w->servers[BWL_ONLY].redis.now)
                       : UINT64_MAX);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        put_heartbeats(p, w, data, order[i]);
        put_sharers(p, w, data, order[i]);
    }
    put_count(p, &p->drawn->fences, (uint64_t)data->keys[BWL_MODEL_COUNT].value);
    put_count(p, &p->drawn->tickets, (uint64_t)data->keys[BWL_MODEL_COUNT].value);
}

void bwl_put_fences(bwl_print *p, const bwl_world *w)
{
    bwl_put(p, w->servers[BWL_ONLY].redis.data.keys[BWL_MODEL_COUNT].value < w->waiting.fence);
    put_rank(p, &p->drawn->fences, w->waiting.held_fence);
    put_age(p, w, w->waiting.period_began);
    bwl_put(p, (uint64_t)w->waiting.held_alone << 2 | (uint64_t)w->waiting.is_orphan << 1 |
                   w->waiting.may_be_orphan);
}

/* A score is a time of the server's clock. */
void bwl_put_members(bwl_print *p, const bwl_model_data *data, int64_t server_now)
{
    if (bwl_model_gate(data) != 0)
        put_rank(p, &p->drawn->fences, (uint64_t)bwl_model_gate(data));
    if (data->keys[BWL_MODEL_LOCK].kind != BWL_KIND_ZSET)
        return;
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &data->items[i];
        if (!item->is_there || item->key != BWL_MODEL_LOCK)
            continue;
        bwl_put_token(p, (uint16_t)item->member);
        bwl_put(p, (uint64_t)(item->value * BWL_MODEL_PER_MS - server_now));
    }
}
