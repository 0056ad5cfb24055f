/*
 * waiting.c -- what a lock with a queue adds: the engine's part, the server's part, the pushes.
 *
 * A push is a message among the answers: same connection, same order.  The server publishes to a
 * push channel; each connection has a new one.  The server may still see a connection as open that
 * has ended for its client: pushes to it are lost.  A new connection first kills the old one
 * (CLIENT KILL) if it is allowed to.
 */
#include "lab/world/inside.h"
#include "lab/model/words.h"
#include "lab/world/private_state.h"

static bool is_wanted(const bwl_world *w, uint16_t token)
{
    unsigned              client = bwl_token_client(token);
    const bwl_lab_client *c      = &w->clients[client];
    const bwl_link       *link   = &w->servers[BWL_ONLY].links[client];

    if (c->is_running && bwl_token_read(c->hold.request.token) == token)
        return true;
    if (c->is_running && bwl_queue_owes(&c->hold) == token)
        return true;
    for (unsigned i = link->answered; i < link->count; i++)
        if (link->messages[i].token == token || link->messages[i].previous_token == token)
            return true;
    return false;
}

static void new_owner(bwl_world *w, uint16_t owner)
{
    bool is_of_client = owner != 0 && owner != BWL_TOKEN_FOREIGN;

    w->waiting.owner         = owner;
    w->waiting.is_orphan     = false;
    w->waiting.may_be_orphan = false;
    if (is_of_client)
        w->waiting.may_be_orphan = w->waiting.waiters[bwl_token_client(owner)].maybe_orphans > 0;
}

void bwl_wait_server_came_back(bwl_world *w)
{
    new_owner(w, bwl_model_owner(&w->servers[BWL_ONLY].redis));
    w->waiting.is_orphan = true; /* its owner may have released it */
}

void bwl_wait_begins(bwl_world *w, unsigned client)
{
    int64_t rest  = w->scenario->terms.rest_ms * BWL_MODEL_PER_MS;
    int64_t since = w->waiting.granted_at[client] - w->waiting.period_began;

    if (rest == 0)
        return;
    if (w->waiting.period_began != 0 && since < rest)
        w->broken |= BWL_INVARIANT_ONE_START;
    w->waiting.period_began = w->waiting.granted_at[client];
}

void bwl_wait_look_at_owner(bwl_world *w)
{
    uint16_t        owner = bwl_model_owner(&w->servers[BWL_ONLY].redis);
    bwl_lab_waiter *waiter;

    if (w->waiting.owner != owner)
        new_owner(w, owner);
    if (owner == 0 || owner == BWL_TOKEN_FOREIGN || w->waiting.is_orphan || is_wanted(w, owner))
        return;
    waiter               = &w->waiting.waiters[bwl_token_client(owner)];
    w->waiting.is_orphan = true;
    if (waiter->maybe_orphans > 0)
        waiter->maybe_orphans--;
    else if (waiter->orphans > 0)
        waiter->orphans--;
    else if (!w->waiting.may_be_orphan)
        w->broken |= BWL_INVARIANT_TAKEN_BACK;
}

bool bwl_wait_is_empty(const bwl_world *w)
{
    static const bwl_budget leave[] = { BWL_LOSS,    BWL_CRASH,    BWL_RESTART,
                                        BWL_RESTORE, BWL_FAILOVER, BWL_EVICTION,
                                        BWL_SILENCE, BWL_DENIAL,   BWL_REFUSAL };

    for (unsigned i = 0; w->scenario->queue.keep_ms == 0 && i < sizeof leave / sizeof leave[0]; i++)
        if (w->left[leave[i]] != w->scenario->budget[leave[i]])
            return true; /* entries may stay until their TTL */
    return w->servers[BWL_ONLY].redis.data.keys[BWL_MODEL_QUEUE].kind == BWL_KIND_NONE &&
           w->servers[BWL_ONLY].redis.data.keys[BWL_MODEL_HEARTBEATS].kind == BWL_KIND_NONE;
}

enum { DEAD_MS = 3000 };

/* ---- the engine ------------------------------------------------------------------------------ */

void bwl_wait_asked(bwl_world *w, unsigned client, const bwl_send *send, bwl_message *message)
{
    bwl_lab_waiter *waiter = &w->waiting.waiters[client];
    bool joins = send->command == REDIS_QUEUE_JOIN || send->command == REDIS_QUEUE_REQUEUE;

    waiter->latest_tag = send->tag;
    if (send->command == REDIS_QUEUE_REQUEUE)
        waiter->ticket = 0; /* its new position is behind the others */
    if (send->command == REDIS_QUEUE_JOIN && waiter->ticket != 0 &&
        (uint64_t)send->args[REDIS_ARG_TICKET] != waiter->ticket)
        w->broken |= BWL_INVARIANT_FIRST_COME; /* a queue position must not change */
    if (bwl_redis_uses_previous_token(send))
        return; /* it has no queue status */
    if (waiter->named_token != message->token) {
        waiter->named_token     = message->token;
        waiter->named_claim_ms  = 0;
        waiter->old_channels[0] = waiter->old_channels[1] = 0;
    }
    message->push_channel    = waiter->push_channel;
    message->old_channels[0] = waiter->old_channels[0];
    message->old_channels[1] = waiter->old_channels[1];
    if (joins)
        waiter->named_claim_ms = (uint16_t)send->args[REDIS_ARG_TTL_MS];
    if (joins || send->command == REDIS_QUEUE_HEARTBEAT)
        waiter->old_channels[send->command == REDIS_QUEUE_HEARTBEAT] = waiter->push_channel;
    message->provisional_ttl_ms = waiter->named_claim_ms;
}

static void put_message(bwl_link *link, unsigned at, const bwl_message *message)
{
    assert(link->count < BWL_MESSAGES_MAX);
    for (unsigned i = link->count++; i > at; i--)
        link->messages[i] = link->messages[i - 1];
    link->messages[at] = *message;
}

static unsigned push_at(const bwl_link *link)
{
    unsigned at = 0;

    while (at < link->count && link->messages[at].kind != BWL_MESSAGE_PUSH)
        at++;
    return at;
}

void bwl_wait_drop_pushes(bwl_world *w, unsigned client)
{
    const bwl_link *link = &w->servers[BWL_ONLY].links[client];

    while (push_at(link) < link->count)
        bwl_wait_lose_push(w, client);
}

static void handshake(bwl_world *w, unsigned client)
{
    bwl_lab_waiter *waiter = &w->waiting.waiters[client];

    if ((w->scenario->mutations & BWL_MUTATION_FENCE_BARE) == 0)
        bwl_model_queue_fence_minimum(&w->servers[BWL_ONLY].redis);
    bwl_model_queue_subscribe(&w->servers[BWL_ONLY].redis, client, waiter->push_channel);
    waiter->is_connected = true;
}

/* On a connection that is new to the server, the handshake comes before the commands. */
void bwl_wait_broke_at_server(bwl_world *w, unsigned client, bool has_messages)
{
    if (has_messages && !w->waiting.waiters[client].is_connected)
        handshake(w, client);
    if (w->waiting.waiters[client].is_connected)
        bwl_model_redis_break(&w->servers[BWL_ONLY].redis, client);
}

void bwl_wait_broke(bwl_world *w, unsigned client)
{
    bwl_lab_client *c      = &w->clients[client];
    bwl_link       *link   = &w->servers[BWL_ONLY].links[client];
    bwl_lab_waiter *waiter = &w->waiting.waiters[client];

    if ((w->scenario->mutations & BWL_MUTATION_ONE_CHANNEL) == 0)
        waiter->push_channel++;
    assert(waiter->push_channel <= BWL_MODEL_CHANNELS_MAX);
    waiter->is_connected = false;
    waiter->was_cut      = true;
    c->book.asked_now    = 0; /* the engine backs off between connections */
    waiter->maybe_orphans++;
    waiter->may_kill = c->is_running;
    if (!c->is_running)
        return;
    put_message(link, link->count,
                &(bwl_message){ .kind = BWL_MESSAGE_CUT_OFF, .round = c->round });
    link->answered = link->count;
}

void bwl_wait_heard(bwl_world *w, unsigned client, const bwl_message *message)
{
    bwl_lab_waiter *waiter = &w->waiting.waiters[client];

    if (message->queue_status == 0 || message->token != waiter->named_token ||
        w->waiting.places[message->queue_status - 1].kind != BWL_QUEUE_STATUS_QUEUED)
        return;
    waiter->old_channels[0] = waiter->push_channel;
    if (message->tag == waiter->latest_tag)
        waiter->ticket = w->waiting.places[message->queue_status - 1].ticket;
}

bool bwl_wait_asks_again(bwl_world *w, unsigned client, bwl_message *message)
{
    const bwl_lab_client *c    = &w->clients[client];
    bwl_link             *link = &w->servers[BWL_ONLY].links[client];

    if (message->kind != BWL_MESSAGE_ANSWER || message->answer != BWL_WHICH_NOSCRIPT)
        return false;
    if (!c->is_running || message->round != c->round ||
        message->tag != w->waiting.waiters[client].latest_tag) {
        message->answer = BWL_NOT_SENT;
        return false;
    }
    message->kind   = BWL_MESSAGE_REQUEST;
    message->answer = 0;
    put_message(link, link->count, message);
    return true;
}

const bwl_queue_status *bwl_wait_place(const bwl_world *w, const bwl_message *message)
{
    return message->queue_status != 0 ? &w->waiting.places[message->queue_status - 1] : NULL;
}

/* ---- the server ------------------------------------------------------------------------------ */

static bool is_used(const bwl_world *w, unsigned queue_status)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_link *link = &w->servers[BWL_ONLY].links[i];
        for (unsigned j = 0; j < link->count; j++)
            if (link->messages[j].queue_status == queue_status)
                return true;
    }
    return false;
}

static uint8_t keep_place(bwl_world *w, const bwl_queue_status *queue_status)
{
    unsigned at = 1;

    while (at <= BWL_PLACES_MAX && is_used(w, at))
        at++;
    assert(at <= BWL_PLACES_MAX);
    w->waiting.places[at - 1] = *queue_status;
    return (uint8_t)at;
}

static bwl_model_queue_args question_of(const bwl_world *w, const bwl_message *message)
{
    bwl_member member = { .token              = message->token,
                          .provisional_ttl_ms = message->provisional_ttl_ms,
                          .push_channel       = message->push_channel };

    return (bwl_model_queue_args){
        .command        = (bwl_redis_command)message->command,
        .token          = message->token,
        .lease_ms       = message->lease_ms,
        .ticket         = message->timestamp,
        .member         = member,
        .old_channels   = { message->old_channels[0], message->old_channels[1] },
        .previous_token = message->previous_token,
        .dead_ms        = w->scenario->queue.ages ? DEAD_MS : 0,
        .keep_ms        = w->scenario->queue.keep_ms,
        .serve_max      = w->scenario->queue.serve_max,
    };
}

static void note_fence(bwl_world *w, int64_t fence)
{
    if (fence == 0)
        return;
    if (fence <= w->waiting.fence)
        w->broken |= BWL_INVARIANT_FENCE;
    w->waiting.fence = fence;
}

static bool is_before_others(const bwl_world *w, unsigned client)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c = &w->clients[i];
        if (i != client && c->is_running && bwl_hold_is_acquiring(&c->hold) && c->book.came != 0 &&
            c->book.came < w->clients[client].book.came && c->book.grant_number == 0 &&
            !w->waiting.waiters[i].was_cut)
            return true;
    }
    return false;
}

/* Notes the order of arrivals and grants, for the invariants. */
static void note_grant(bwl_world *w, const bwl_message *message, uint16_t was_of)
{
    uint16_t        owner  = bwl_model_owner(&w->servers[BWL_ONLY].redis);
    unsigned        asker  = bwl_token_client(message->token);
    unsigned        winner = bwl_token_client(owner);
    bwl_lab_client *c      = &w->clients[asker];

    const bwl_queue_status *place = bwl_wait_place(w, message);

    bool joins = message->command == REDIS_QUEUE_JOIN ||
                 (message->command == REDIS_QUEUE_REQUEUE &&
                  (place == NULL || place->kind != BWL_QUEUE_STATUS_GONE));

    if (joins && c->is_running && message->round == c->round && c->book.came == 0)
        c->book.came = ++w->arrivals;
    if (owner == 0 || owner == was_of || owner == BWL_TOKEN_FOREIGN)
        return;
    if (w->scenario->terms.rest_ms != 0)
        w->waiting.granted_at[winner] = w->servers[BWL_ONLY].redis.now;
    c = &w->clients[winner];
    if (!c->is_running || !bwl_hold_is_acquiring(&c->hold) ||
        bwl_world_token_of(w, winner) != owner)
        return;
    c->book.grant_number = ++w->grants_count;
    if (c->book.came != 0 && is_before_others(w, winner))
        w->broken |= BWL_INVARIANT_FIRST_COME;
}

bwl_grant bwl_wait_serve(bwl_world *w, bwl_message *message)
{
    bwl_model_redis     *redis  = &w->servers[BWL_ONLY].redis;
    bwl_model_queue_args q      = question_of(w, message);
    uint16_t             was_of = bwl_model_owner(redis);
    bwl_queue_reply      reply  = bwl_model_queue_reply(redis, &q, w->scenario->mutations);

    message->answer       = (uint8_t)reply.answer;
    message->timestamp    = reply.fence;
    message->queue_status = reply.queue_status.kind != 0 ? keep_place(w, &reply.queue_status) : 0;
    note_fence(w, reply.fence);
    if (reply.grant.is_there)
        note_fence(w, reply.grant.fence);
    for (unsigned i = 0; i < reply.silent_count; i++) {
        unsigned client = bwl_token_client(reply.silent[i]);
        if (reply.silent[i] == bwl_world_token_of(w, client))
            w->waiting.waiters[client].was_cut = true; /* it was skipped as dead */
    }
    note_grant(w, message, was_of);
    if (reply.queue_status.kind == BWL_QUEUE_STATUS_BUSY && q.serve_max == BWL_MODEL_SERVE_MAX &&
        !bwl_model_exists(redis, BWL_MODEL_LOCK) && !bwl_model_exists(redis, BWL_MODEL_QUEUE))
        w->broken |= BWL_INVARIANT_REPORTED;
    return reply.grant;
}

bwl_grant bwl_wait_serve_without_memory(bwl_world *w, const bwl_message *message)
{
    bwl_model_queue_args q = question_of(w, message);

    if ((w->scenario->mutations & BWL_MUTATION_TELLS_FIRST) == 0)
        return (bwl_grant){ 0 };
    return bwl_model_queue_tell_only(&w->servers[BWL_ONLY].redis, &q);
}

void bwl_wait_push(bwl_world *w, const bwl_grant *grant)
{
    bwl_queue_status queue_status = { .server_us = grant->server_us };
    bwl_message      push         = { .kind      = BWL_MESSAGE_PUSH,
                                      .token     = grant->token,
                                      .timestamp = grant->fence };
    bwl_link        *link;

    if (!grant->is_there || grant->connection >= BWL_MODEL_CLIENTS)
        return; /* or to a closed connection */
    link              = &w->servers[BWL_ONLY].links[grant->connection];
    push.queue_status = keep_place(w, &queue_status);
    put_message(link, link->answered, &push);
    link->answered++;
}

void bwl_wait_handshake(bwl_world *w, unsigned client)
{
    const bwl_lab_waiter *waiter = &w->waiting.waiters[client];

    if (waiter->is_connected)
        return;
    if (waiter->may_kill && !w->scenario->queue.never_kills)
        bwl_wait_close(w, client);
    handshake(w, client);
}

/* ---- transitions ----------------------------------------------------------------------------- */

void bwl_wait_add_transitions(const bwl_world *w, bwl_transitions *transitions, unsigned client)
{
    const bwl_link *link = &w->servers[BWL_ONLY].links[client];

    if (w->left[BWL_NOSCRIPT] > 0 && link->answered < link->count)
        bwl_transitions_add(transitions, BWL_TRANSITION_SERVE, client, BWL_WHICH_NOSCRIPT);
    if (w->left[BWL_LOST_PUSH] > 0 && push_at(link) < link->count)
        bwl_transitions_add(transitions, BWL_TRANSITION_LOSE_PUSH, client, 0);
    if (w->servers[BWL_ONLY].redis.connections[client + BWL_MODEL_CLIENTS].push_channel != 0)
        bwl_transitions_add(transitions, BWL_TRANSITION_CLOSE, client, 0);
}

void bwl_wait_add_of_server(const bwl_world *w, bwl_transitions *transitions)
{
    uint16_t owner = bwl_model_owner(&w->servers[BWL_ONLY].redis);

    if (w->left[BWL_BORROWER] > 0 && owner == 0)
        bwl_transitions_add(transitions, BWL_TRANSITION_BORROW, 0, 0);
    if (owner == BWL_TOKEN_FOREIGN && w->scenario->budget[BWL_BORROWER] > 0)
        bwl_transitions_add(transitions, BWL_TRANSITION_GIVE_BACK, 0, 0);
    if (w->left[BWL_SILENCE] > 0 && bwl_model_exists(&w->servers[BWL_ONLY].redis, BWL_MODEL_QUEUE))
        bwl_transitions_add(transitions, BWL_TRANSITION_SILENCE, 0, 0);
}

void bwl_wait_lose_push(bwl_world *w, unsigned client)
{
    bwl_link *link = &w->servers[BWL_ONLY].links[client];

    for (unsigned i = push_at(link) + 1; i < link->count; i++)
        link->messages[i - 1] = link->messages[i];
    link->messages[--link->count] = (bwl_message){ 0 };
    link->answered--;
}

void bwl_wait_close(bwl_world *w, unsigned client)
{
    bwl_link *link = &w->servers[BWL_ONLY].links[client];

    bwl_model_redis_drop(&w->servers[BWL_ONLY].redis, client + BWL_MODEL_CLIENTS);
    for (unsigned i = 0; i < BWL_MESSAGES_MAX; i++)
        link->late[i] = (bwl_message){ 0 };
    link->late_count                         = 0;
    w->waiting.waiters[client].maybe_orphans = 0;
}

void bwl_wait_silence(bwl_world *w)
{
    bwl_model_redis *redis  = &w->servers[BWL_ONLY].redis;
    uint32_t         member = bwl_model_queue_next(&redis->data, NULL)->member;
    uint16_t         token  = bwl_member_of(member).token;

    w->waiting.waiters[bwl_token_client(token)].was_cut = true;
    bwl_model_item_remove(redis, BWL_MODEL_QUEUE, member);
    bwl_model_item_remove(redis, BWL_MODEL_HEARTBEATS, token);
}
