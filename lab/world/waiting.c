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
    if (c->is_running && (bwl_queue_owes(&c->hold) == token || bwl_upgrades_to(&c->hold) == token))
        return true;
    for (unsigned i = link->answered; i < link->count; i++)
        if (link->messages[i].token == token || link->messages[i].previous_token == token)
            return true;
    return false;
}

static void new_owner(bwl_world *w, uint16_t owner)
{
    bool is_of_client = owner != 0 && owner < BWL_TOKEN_SHARED;

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
    for (unsigned i = 0; i < w->scenario->clients; i++)
        w->waiting.waiters[i].shares_loosely = true;
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

static bool is_known(const bwl_lab_waiter *waiter, uint16_t token)
{
    for (unsigned i = 0; i < BWL_UNWANTED_MAX; i++)
        if (waiter->unwanted[i] == token)
            return true;
    return false;
}

/* The tokens of a client that share the lock, as the owner below.  `left` was left as the owner: a
 * downgrade that came late has only changed its mode. */
static void look_at_shares(bwl_world *w, unsigned client, uint16_t left)
{
    const bwl_model_data *data   = &w->servers[BWL_ONLY].redis.data;
    bwl_lab_waiter       *waiter = &w->waiting.waiters[client];
    bwl_lab_waiter        was    = *waiter;
    unsigned              count  = 0;
    bool                  shares = false;

    memset(waiter->unwanted, 0, sizeof waiter->unwanted);
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        uint16_t token = (uint16_t)data->items[i].member;
        if (&data->items[i] != bwl_model_share(data, token) || bwl_token_client(token) != client)
            continue;
        shares                 = true;
        waiter->shares_loosely = waiter->shares_loosely || waiter->maybe_orphans > 0;
        if (is_wanted(w, token))
            continue;
        assert(count < BWL_UNWANTED_MAX);
        waiter->unwanted[count++] = token;
        if (is_known(&was, token) || token == left)
            continue;
        if (waiter->maybe_orphans > 0)
            waiter->maybe_orphans--;
        else if (waiter->orphans > 0)
            waiter->orphans--;
        else if (!waiter->shares_loosely)
            w->broken |= BWL_INVARIANT_TAKEN_BACK;
    }
    waiter->shares_loosely = waiter->shares_loosely && shares;
}

/* An upgrade that came late has only changed the mode of a share that was left. */
static bool replaces_a_share(const bwl_world *w, uint16_t owner)
{
    return owner != 0 && owner < BWL_TOKEN_SHARED && bwl_world_used(w, BWL_UPGRADE_BY_CALLER) &&
           w->waiting.waiters[bwl_token_client(owner)].unwanted[0] != 0;
}

void bwl_wait_look_at_owner(bwl_world *w)
{
    uint16_t        owner    = bwl_model_owner(&w->servers[BWL_ONLY].redis);
    uint16_t        left     = w->waiting.is_orphan ? w->waiting.owner : 0;
    bool            replaces = replaces_a_share(w, owner);
    bwl_lab_waiter *waiter;

    if (w->waiting.owner != owner)
        new_owner(w, owner);
    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (w->scenario->queue.share_of[i].weight > 0 ||
            w->scenario->budget[BWL_DOWNGRADE_BY_CALLER] > 0)
            look_at_shares(w, i, left);
    if (owner == 0 || owner >= BWL_TOKEN_SHARED || w->waiting.is_orphan || is_wanted(w, owner))
        return;
    waiter               = &w->waiting.waiters[bwl_token_client(owner)];
    w->waiting.is_orphan = true;
    if (replaces)
        return;
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
           w->servers[BWL_ONLY].redis.data.keys[BWL_MODEL_SHARERS].kind == BWL_KIND_NONE &&
           w->servers[BWL_ONLY].redis.data.keys[BWL_MODEL_HEARTBEATS].kind == BWL_KIND_NONE;
}

enum { DEAD_MS = 3000 };

/* ---- the engine ------------------------------------------------------------------------------ */

void bwl_wait_asked(bwl_world *w, unsigned client, const bwl_send *send, bwl_message *message)
{
    bwl_lab_waiter   *waiter = &w->waiting.waiters[client];
    bwl_redis_command does   = bwl_queue_exclusive(send->command);
    bool              joins  = does == REDIS_QUEUE_JOIN || does == REDIS_QUEUE_REQUEUE;

    waiter->latest_tag = send->tag;
    if (send->command == REDIS_QUEUE_REQUEUE)
        waiter->ticket = 0; /* its new position is behind the others */
    if (does == REDIS_QUEUE_JOIN && waiter->ticket != 0 &&
        (uint64_t)send->args[REDIS_ARG_TICKET] != waiter->ticket)
        w->broken |= BWL_INVARIANT_FIRST_COME; /* a queue position must not change */
    if (bwl_redis_uses_other_token(send))
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
    if (joins || does == REDIS_QUEUE_HEARTBEAT)
        waiter->old_channels[does == REDIS_QUEUE_HEARTBEAT] = waiter->push_channel;
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
        .shares         = w->scenario->queue.share_of,
        .is_old         = (w->scenario->queue.old_of >> bwl_token_client(message->token) & 1) != 0,
    };
}

/* All who share the lock have the fence of the gate. */
static void note_fence(bwl_world *w, int64_t fence)
{
    bool is_of_gate = fence == bwl_model_gate(&w->servers[BWL_ONLY].redis.data);

    if (fence == 0)
        return;
    if (fence <= w->waiting.fence && !is_of_gate)
        w->broken |= BWL_INVARIANT_FENCE;
    if (fence > w->waiting.fence)
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

/* Flags 1 << client: the clients whose present token has the lock. */
static unsigned who_holds(const bwl_world *w)
{
    unsigned clients = 0;

    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (w->clients[i].is_running &&
            bwl_model_holds(&w->servers[BWL_ONLY].redis.data, bwl_world_token_of(w, i)))
            clients |= 1u << i;
    return clients;
}

static void note_arrival(bwl_world *w, const bwl_message *message)
{
    bwl_lab_client         *c     = &w->clients[bwl_token_client(message->token)];
    const bwl_queue_status *place = bwl_wait_place(w, message);
    bwl_redis_command       does  = bwl_queue_exclusive((bwl_redis_command)message->command);

    bool joins =
        does == REDIS_QUEUE_JOIN ||
        (does == REDIS_QUEUE_REQUEUE && (place == NULL || place->kind != BWL_QUEUE_STATUS_GONE));

    if (joins && c->is_running && message->round == c->round && c->book.came == 0)
        c->book.came = ++w->arrivals;
}

/* Notes the order of grants, for the invariants. */
static void note_grants(bwl_world *w, uint16_t was_of, unsigned held)
{
    uint16_t owner   = bwl_model_owner(&w->servers[BWL_ONLY].redis);
    unsigned winners = who_holds(w) & ~held;

    if (w->scenario->terms.rest_ms != 0 && owner != 0 && owner != was_of &&
        owner < BWL_TOKEN_SHARED)
        w->waiting.granted_at[bwl_token_client(owner)] = w->servers[BWL_ONLY].redis.now;
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        if ((winners >> i & 1) != 0 && bwl_hold_is_acquiring(&w->clients[i].hold))
            w->clients[i].book.grant_number = ++w->grants_count;
        else
            winners &= ~(1u << i);
    }
    for (unsigned i = 0; i < w->scenario->clients; i++)
        if ((winners >> i & 1) != 0 && w->clients[i].book.came != 0 && is_before_others(w, i))
            w->broken |= BWL_INVARIANT_FIRST_COME;
}

/* A heartbeat that waits has served the queue, if the lock is shared. */
static bool is_left_unserved(const bwl_world *w, const bwl_message *message,
                             const bwl_model_queue_args *q)
{
    const bwl_model_redis  *redis = &w->servers[BWL_ONLY].redis;
    const bwl_queue_status *place = bwl_wait_place(w, message);

    return message->command == REDIS_SHARE_HEARTBEAT && place != NULL &&
           place->kind == BWL_QUEUE_STATUS_QUEUED && q->serve_max == BWL_MODEL_SERVE_MAX &&
           bwl_model_gate(&redis->data) != 0 && !bwl_model_queue_is_served(redis, q);
}

/* True if no message is under way, time did not pass while one was, and no fault happened. */
static bool is_undisturbed(const bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_link *link = &w->servers[BWL_ONLY].links[i];
        if (link->count > 0 || link->late_count > 0)
            return false;
    }
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        if (i != BWL_CANCEL && i != BWL_EXTEND_BY_CALLER && i != BWL_DOWNGRADE_BY_CALLER &&
            i != BWL_UPGRADE_BY_CALLER && bwl_world_used(w, (bwl_budget)i))
            return false;
    return true;
}

unsigned bwl_wait_broken_of_gate(const bwl_world *w)
{
    const bwl_model_redis *redis   = &w->servers[BWL_ONLY].redis;
    const bwl_model_key   *lock    = bwl_model_lock(redis);
    const bwl_model_key   *sharers = &redis->data.keys[BWL_MODEL_SHARERS];
    int64_t                ends_at = bwl_model_gate_ends(&redis->data) * BWL_MODEL_PER_MS;
    bwl_model_queue_args   q       = question_of(w, &(bwl_message){ .token = BWL_TOKEN_SHARED });

    if (bwl_model_gate(&redis->data) == 0)
        return 0;
    bool is_even =
        !lock->lasts && !sharers->lasts && lock->ends_at == ends_at && sharers->ends_at == ends_at;
    bool is_woken = !is_undisturbed(w) || bwl_model_queue_is_served(redis, &q);
    return (is_even ? 0u : BWL_INVARIANT_GATE) | (is_woken ? 0u : BWL_INVARIANT_WOKEN);
}

bwl_grants bwl_wait_serve(bwl_world *w, bwl_message *message)
{
    bwl_model_redis     *redis  = &w->servers[BWL_ONLY].redis;
    bwl_model_queue_args q      = question_of(w, message);
    uint16_t             was_of = bwl_model_owner(redis);
    unsigned             held   = who_holds(w);
    bwl_queue_reply      reply  = bwl_model_queue_reply(redis, &q, w->scenario->mutations);

    message->answer       = (uint8_t)reply.answer;
    message->timestamp    = reply.fence;
    message->queue_status = reply.queue_status.kind != 0 ? keep_place(w, &reply.queue_status) : 0;
    note_fence(w, reply.fence);
    for (unsigned i = 0; i < reply.grants.count; i++)
        note_fence(w, reply.grants.list[i].fence);
    for (unsigned i = 0; i < reply.silent_count; i++) {
        unsigned client = bwl_token_client(reply.silent[i]);
        if (reply.silent[i] == bwl_world_token_of(w, client))
            w->waiting.waiters[client].was_cut = true; /* it was skipped as dead */
    }
    note_arrival(w, message);
    note_grants(w, was_of, held);
    if (is_left_unserved(w, message, &q))
        w->broken |= BWL_INVARIANT_WOKEN;
    if (reply.queue_status.kind == BWL_QUEUE_STATUS_BUSY && q.serve_max == BWL_MODEL_SERVE_MAX &&
        !bwl_model_exists(redis, BWL_MODEL_LOCK) && !bwl_model_exists(redis, BWL_MODEL_QUEUE))
        w->broken |= BWL_INVARIANT_REPORTED;
    return reply.grants;
}

bwl_grants bwl_wait_serve_without_memory(bwl_world *w, const bwl_message *message)
{
    bwl_model_queue_args q = question_of(w, message);

    if ((w->scenario->mutations & BWL_MUTATION_TELLS_FIRST) == 0)
        return (bwl_grants){ 0 };
    return bwl_model_queue_tell_only(&w->servers[BWL_ONLY].redis, &q);
}

static void push_one(bwl_world *w, const bwl_grant *grant)
{
    bwl_queue_status queue_status = { .server_us = grant->server_us };
    bwl_message      push         = { .kind      = BWL_MESSAGE_PUSH,
                                      .token     = grant->token,
                                      .timestamp = grant->fence };
    bwl_link        *link;

    if (grant->connection >= BWL_MODEL_CLIENTS)
        return; /* or to a closed connection */
    link              = &w->servers[BWL_ONLY].links[grant->connection];
    push.queue_status = keep_place(w, &queue_status);
    put_message(link, link->answered, &push);
    link->answered++;
}

void bwl_wait_push(bwl_world *w, const bwl_grants *grants)
{
    for (unsigned i = 0; i < grants->count; i++)
        push_one(w, &grants->list[i]);
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
