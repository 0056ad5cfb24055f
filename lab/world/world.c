/*
 * world.c -- the start of a world, and the effect of each transition.  See world.h.
 */
#include "lab/world/inside.h"
#include "lab/world/private_state.h"
#include "lab/base/say.h"
#include "lab/model/steps.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BORROWED_MS = 20 }; /* the TTL of a key that another program takes for a while */

/* A save is a transition without cost, so the search tries every moment of saving.  There is one
 * save per RESTORE, of a key that exists. (RESTART covers a restart without the key.) */

static void server_comes_back(bwl_world *w, unsigned k, bwl_model_data back)
{
    bwl_server *server = &w->servers[k];

    bwl_model_redis_restart(&server->redis, &back);
    if ((w->scenario->mutations & BWL_MUTATION_FENCE_FORGETS) != 0)
        w->fences = 0;
    w->saved           = (bwl_model_data){ 0 };
    w->previous        = (bwl_model_data){ 0 };
    server->was_faulty = true;
    server->key_excused =
        bwl_model_owner(&server->redis) != 0; /* its owner may have released it before */
    server->key_late = server->key_excused;
    if (w->scenario->server.young_wait)
        server->young_for = (int32_t)w->scenario->terms.lease_ms * BWL_MODEL_PER_MS;
    if (bwl_wait_is_kept(w))
        bwl_wait_server_came_back(w);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        bwl_lab_client *c = &w->clients[i];
        if (w->scenario->server.has_run_id && c->is_running && bwl_hold_is_held(&c->hold))
            c->is_unaware = c->book.is_of_old = true;
        bwl_connection_server_gone(w, i, k);
    }
}

static void set_foreign_lock(bwl_server *server)
{
    bwl_model_set(&server->redis, BWL_MODEL_LOCK, BWL_MODEL_FOREIGN_VALUE, BWL_TOKEN_FOREIGN);
}

/* Forgets a saved key that has expired: it cannot come back. */
static void forget_ended(bwl_model_data *data, int64_t now)
{
    const bwl_model_key *k = &data->keys[BWL_MODEL_LOCK];

    if (k->kind != BWL_KIND_NONE && !k->lasts && k->ends_at <= now)
        data->keys[BWL_MODEL_LOCK] = (bwl_model_key){ 0 };
}

/* The server's clock advances, for its data and for the saved data. */
static void server_passes(bwl_world *w, unsigned k, int64_t hundredths)
{
    bwl_server *server = &w->servers[k];

    bwl_model_redis_pass(&server->redis, hundredths);
    if (server->young_for > 0)
        server->young_for =
            (int32_t)(server->young_for > hundredths ? server->young_for - hundredths : 0);
    forget_ended(&w->saved, server->redis.now);
    forget_ended(&w->previous, server->redis.now);
}

static void leave_stale_key(bwl_world *w)
{
    const bwl_compat_rules *rules     = w->scenario->options.rules;
    int64_t                 timestamp = BWL_BEGINNING_WALL_MS * 1000000 / rules->unit_ns - 2;

    int64_t value = w->scenario->options.program != NULL
                        ? timestamp
                        : bwl_model_value(rules, BWL_TOKEN_FOREIGN, timestamp);

    bwl_model_set(&w->servers[BWL_ONLY].redis, BWL_MODEL_LOCK, value, BWL_TOKEN_FOREIGN);
    w->servers[BWL_ONLY].key_excused = true;
}

/* The key of a lock file, with a value of another program. */
static void leave_key(bwl_world *w)
{
    const bwl_server_rules *rules = &w->scenario->server;
    bwl_model_redis        *redis = &w->servers[BWL_ONLY].redis;
    int64_t                 value =
        bwl_model_value_of_text(w->scenario->options.program, rules->start, strlen(rules->start));

    bwl_model_set(redis, BWL_MODEL_LOCK, value, BWL_TOKEN_FOREIGN);
    if (rules->start_ms != 0)
        (void)bwl_model_expire(redis, BWL_MODEL_LOCK, rules->start_ms);
    w->servers[BWL_ONLY].key_excused = true;
}

/* Each attempt of a client has a token of its own, and there are only so many.  Without an end of
 * the rounds, a state is reached first by few of them. */
static void check_attempts(const bwl_scenario *s)
{
    bwl_ms   pause_ms = s->options.rules != NULL ? s->options.rules->pause_ms : 0;
    unsigned rounds   = (s->rounds != BWL_ANY ? s->rounds : 1) + s->budget[BWL_YIELD];

    if (pause_ms == 0 || s->wait_ms / pause_ms < BWL_TOKENS_PER_CLIENT / (rounds + 1) - 2)
        return;
    exit(bwl_complain(
        bwl_say("a client of %s makes too many attempts", bwl_shown(s->name).of),
        bwl_say("it waits %" PRId64 " ms and pauses %" PRId64 " ms", s->wait_ms, pause_ms).of,
        "type: --set 'wait 100ms poll 10ms', or lab: wait 100ms poll 10ms"));
}

void bwl_world_start(bwl_world *w, const bwl_scenario *s)
{
    check_attempts(s);
    assert(s->clients <= BWL_CLIENTS_MAX);
    assert(s->servers <= BWL_SERVERS_MAX);
    *w = (bwl_world){ .scenario = s, .now = BWL_BEGINNING_MS };
    for (unsigned k = 0; k < s->servers; k++)
        bwl_model_redis_start(&w->servers[k].redis, BWL_BEGINNING_WALL_MS);
    if (s->server.stale)
        leave_stale_key(w);
    if (s->server.start != NULL)
        leave_key(w);
    assert(s->servers == 1 || !s->protocol->uses_push);
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++) {
        assert(s->servers == 1 || s->budget[i] == 0 || !bwl_budget_wants_one_server((bwl_budget)i));
        w->left[i] = s->budget[i];
    }
    for (unsigned i = 0; i < s->clients; i++) {
        w->waiting.waiters[i].push_channel = 1;
        w->clients[i].rounds_left          = (uint8_t)s->rounds;
        w->clients[i].wake_at              = BWL_NEVER;
        w->clients[i].clock.skew_ms        = s->clocks.skew_ms[i];
        w->clients[i].clock.now            = w->now;
        w->clients[i].clock.pace           = (uint16_t)s->clocks.pace_of[i];
    }
}

/* ---- facts that no program knows but invariants need ----------------------------------------- */

/* True if a client that acquired earlier still waits. */
static bool is_before_others(const bwl_world *w, unsigned client)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c = &w->clients[i];
        if (i != client && c->is_running && bwl_hold_is_acquiring(&c->hold) && c->book.came != 0 &&
            c->book.came < w->clients[client].book.came)
            return true;
    }
    return false;
}

/* The server has executed a command of the client.  `was_of`: the owner of the key before; 0:
 * none. */
static void note_served(bwl_world *w, unsigned client, const bwl_message *message, uint16_t was_of)
{
    bwl_lab_client *c = &w->clients[client];

    if (w->scenario->servers > 1 || !c->is_running || message->round != c->round ||
        !bwl_hold_is_acquiring(&c->hold))
        return;
    if (c->book.came == 0)
        c->book.came = ++w->arrivals;
    if (was_of == bwl_model_owner(&w->servers[BWL_ONLY].redis) ||
        bwl_model_owner(&w->servers[BWL_ONLY].redis) != bwl_world_token_of(w, client))
        return;
    c->book.grant_number = ++w->grants_count;
    if (w->scenario->server.fences)
        c->book.fence = ++w->fences;
    if (is_before_others(w, client))
        w->broken |= BWL_INVARIANT_FIRST_COME;
}

/* The resource accepts every write of a lock without a fence. */
static void note_write(bwl_world *w, unsigned client)
{
    const bwl_lab_client *c         = &w->clients[client];
    bool                  is_fenced = c->hold.fence != 0;
    bool                  is_taken  = !is_fenced || c->hold.fence >= w->resource.fence;

    if (is_taken ? c->book.grant_number < w->resource.grant_number
                 : c->book.grant_number >= w->resource.grant_number)
        w->broken |= BWL_INVARIANT_FENCE;
    if (is_taken)
        w->resource =
            (bwl_resource){ .fence = c->hold.fence, .grant_number = c->book.grant_number };
}

/* ---- the server ------------------------------------------------------------------------------ */

static bool is_acquire(bwl_redis_command command)
{
    return command == REDIS_SET_IF_ABSENT || command == REDIS_SET_IF_ABSENT_OR_MINE ||
           command == REDIS_SETNX || command == REDIS_SWAP || command == REDIS_TAKE_TIMESTAMP ||
           command == REDIS_HASH_TAKE || command == REDIS_ZSET_TAKE ||
           (bwl_queue_is(command) && bwl_queue_exclusive(command) != REDIS_QUEUE_EXTEND);
}

/* The server before a command. */
typedef struct past {
    bwl_model_data data;
    uint16_t       owner;
    int64_t        left;
} past;

/* A lock file may create the key with any command of its acquire, and no other. */
static bool may_create(const bwl_message *message)
{
    return is_acquire((bwl_redis_command)message->command) ||
           (message->command == REDIS_STEP && message->acquires);
}

/* Some protocols take over an expired lock, or set its TTL. */
static bool may_take_over(const bwl_message *message)
{
    return message->acquires &&
           (message->command == REDIS_SWAP || message->command == REDIS_STEP ||
            message->command == REDIS_DELETE || message->command == REDIS_EXPIRE ||
            message->command == REDIS_TAKE_TIMESTAMP);
}

/* True if another client shared the lock, for a time that is not over, and has less of it now. */
static bool has_cut_share(const bwl_server *server, const bwl_message *message, const past *was)
{
    int64_t now = server->redis.now;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        uint16_t              token = (uint16_t)was->data.items[i].member;
        const bwl_model_item *share = bwl_model_share(&was->data, token);
        const bwl_model_item *left  = bwl_model_share(&server->redis.data, token);
        if (share == &was->data.items[i] && token != message->token &&
            token != message->previous_token && share->value * BWL_MODEL_PER_MS > now &&
            (left == NULL || left->value < share->value))
            return true;
    }
    return false;
}

static void judge(bwl_world *w, bwl_server *server, const bwl_message *message, const past *was)
{
    uint16_t owner       = bwl_model_owner(&server->redis);
    bool     has_changed = was->owner != owner || was->left != bwl_model_left(&server->redis);
    bool has_other  = was->data.keys[BWL_MODEL_LOCK].value != bwl_model_lock(&server->redis)->value;
    unsigned client = bwl_token_client(message->token);

    if (was->owner == BWL_TOKEN_FOREIGN && (has_changed || has_other))
        w->broken |= BWL_INVARIANT_FOREIGN;
    else if (was->owner == BWL_TOKEN_SHARED
                 ? has_cut_share(server, message, was)
                 : has_changed && was->owner != 0 && was->owner != message->token &&
                       was->owner != message->previous_token && !may_take_over(message))
        w->broken |= BWL_INVARIANT_OWN_KEY;
    if (w->left[BWL_FAILOVER] > 0 &&
        (has_changed || memcmp(&was->data, &server->redis.data, sizeof was->data) != 0)) {
        w->previous      = was->data;
        server->informed = 0;
    }
    if (was->owner == 0 && owner != 0 && !may_create(message))
        w->broken |= BWL_INVARIANT_CREATES;
    if (was->owner != owner)
        server->key_excused = server->key_late = false;
    bool is_its_own = w->clients[client].is_running &&
                      (bwl_world_token_of(w, client) == message->token ||
                       bwl_upgrades_to(&w->clients[client].hold) == message->token);
    if (is_its_own && bwl_model_holds(&was->data, message->token) &&
        !bwl_model_holds(&server->redis.data, message->token) &&
        message->command != REDIS_SHARE_UPGRADE)
        w->clients[client].book.is_removed = true;
}

static past look_at(const bwl_server *server)
{
    return (past){ .data  = server->redis.data,
                   .owner = bwl_model_owner(&server->redis),
                   .left  = bwl_model_left(&server->redis) };
}

/* The replicas lack the last change.  WAIT brings them up to date if its connection has written
 * since. */
static void serve_replicas(bwl_world *w, unsigned client, bwl_message *message)
{
    const bwl_server *server = &w->servers[BWL_ONLY];

    if (w->left[BWL_FAILOVER] > 0 && message->timestamp > 0 &&
        (server->informed & 1u << client) != 0)
        w->previous = server->redis.data;
    message->answer = BWL_YES;
}

static void serve(bwl_world *w, unsigned client, bwl_server *server, unsigned connection,
                  bwl_message *message)
{
    past                   was  = look_at(server);
    bwl_model_command_args args = {
        .command   = (bwl_redis_command)message->command,
        .client    = (uint8_t)connection,
        .token     = message->token,
        .lease_ms  = message->lease_ms,
        .timestamp = message->timestamp,
        .rules     = w->scenario->options.rules,
        .program   = w->scenario->options.program,
        .step      = message->step,
    };
    if (server->young_for > 0 && message->acquires && was.owner == 0 &&
        is_acquire((bwl_redis_command)message->command)) {
        message->answer = BWL_RETRYABLE; /* it may have lost a lease, so it has no vote */
        return;
    }
    bwl_model_reply reply = bwl_model_redis_reply(&server->redis, &args, w->scenario->mutations);

    judge(w, server, message, &was);
    note_served(w, client, message, was.owner);
    message->answer  = (uint8_t)reply.answer;
    message->is_mine = reply.is_mine;
    if (w->scenario->server.fences)
        reply.number = w->clients[client].book.fence;
    message->reply_kind = (uint8_t)reply.kind;
    message->timestamp =
        (int64_t)(reply.value_hash != 0 && message->command != REDIS_STEP ? reply.value_hash
                                                                          : reply.number);
}

/* ... of a lock with a queue. */
static bwl_grants serve_waiting(bwl_world *w, bwl_message *message)
{
    bwl_server *server = &w->servers[BWL_ONLY];
    past        was    = look_at(server);
    bwl_grants  grants = bwl_wait_serve(w, message);

    judge(w, server, message, &was);
    return grants;
}

static void serve_next(bwl_world *w, unsigned client, bwl_server *server, unsigned instead)
{
    bwl_link    *link    = &server->links[client];
    bwl_message *message = &link->messages[link->answered];
    bool         queues  = bwl_queue_is(message->command);
    bwl_grants   grants  = { 0 };

    assert(link->answered < link->count);
    server->was_faulty = server->was_faulty || instead != 0;
    if (queues)
        bwl_wait_handshake(w, client);
    if (queues && instead == BWL_RETRYABLE)
        grants = bwl_wait_serve_without_memory(w, message);
    if (message->command == REDIS_REPLICATED && instead == BWL_RETRYABLE)
        message->answer = BWL_NO; /* too few replicas */
    else if (instead != 0)
        message->answer = (uint8_t)instead;
    else if (message->command == REDIS_REPLICATED)
        serve_replicas(w, client, message);
    else if (queues)
        grants = serve_waiting(w, message);
    else
        serve(w, client, server, client, message);
    if (w->scenario->options.replicas > 0 && message->answer == BWL_YES)
        server->informed |= (uint8_t)(1u << client); /* every YES is a write: extend_if_mine.lua */
    message->kind = BWL_MESSAGE_ANSWER;
    link->answered++;
    bwl_wait_push(w, &grants);
}

static void serve_late(bwl_world *w, unsigned client, bwl_server *server, unsigned i)
{
    bwl_link   *link    = &server->links[client];
    bwl_message message = bwl_connection_take_late(link, i);
    uint16_t    was_of  = bwl_model_owner(&server->redis);
    uint16_t    is_of;
    bwl_grants  grants = { 0 };

    if (message.command == REDIS_REPLICATED) {
        message.answer = BWL_YES; /* no client receives it */
    } else if (bwl_queue_is(message.command)) {
        grants = serve_waiting(w, &message);
        if (message.command == REDIS_QUEUE_REQUEUE) /* a crash after a yield may leave two tokens */
            w->waiting.waiters[client].maybe_orphans++;
    } else {
        serve(w, client, server, client + BWL_MODEL_CLIENTS,
              &message); /* no client receives the answer */
    }
    bwl_wait_push(w, &grants);
    is_of = bwl_model_owner(&server->redis);
    if (was_of != is_of && is_of != 0)
        server->key_excused = server->key_late = true;
    if (link->late_count == 0 && !bwl_wait_is_kept(w))
        bwl_model_redis_drop(&server->redis, client + BWL_MODEL_CLIENTS);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void pass(bwl_world *w, bwl_ms before_ms)
{
    bwl_ms by = bwl_world_next_instant(w) - before_ms - w->now;

    bool is_urgent = bwl_world_is_urgent(w);

    assert(by > 0);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        bwl_lab_client *c = &w->clients[i];
        c->book.asked_now = 0;
        c->book.was_kept  = c->book.was_kept || is_urgent;
        if (c->caller.is_working && c->wake_at <= c->clock.now && bwl_world_believes(w, i) == 0)
            c->book.was_slow = true; /* its alarm was due and it did not run */
        bwl_client_clock_passes(&c->clock, by);
        if (c->caller.is_working && bwl_client_clock_is_off(&c->clock, c->wake_at) < 0 &&
            bwl_client_clock_is_off(&c->clock, c->hold.until) < 0)
            c->book.was_slow = true; /* where clock rates differ, it was due between two instants */
    }
    w->now += by;
    for (unsigned k = 0; k < w->scenario->servers; k++)
        server_passes(w, k, by * w->scenario->clocks.server_pace);
}

/* ---- one step -------------------------------------------------------------------------------- */

static void carry_out(bwl_world *w, bwl_transition transition)
{
    unsigned    client = transition.client;
    unsigned    k      = transition.server;
    bwl_server *server = &w->servers[k];

    switch ((bwl_transition_kind)transition.kind) {
    case BWL_TRANSITION_SERVE: serve_next(w, client, server, transition.which); break;
    case BWL_TRANSITION_SERVE_LATE: serve_late(w, client, server, transition.which); break;
    case BWL_TRANSITION_DELIVER: bwl_connection_deliver(w, client, k, transition.chance); break;
    case BWL_TRANSITION_ALARM:
        bwl_sim_client_event(w, client, (bwl_event){ .kind = BWL_ALARM }, transition.chance);
        break;
    case BWL_TRANSITION_START: bwl_sim_client_start(w, client, transition.chance); break;
    case BWL_TRANSITION_RELEASE: bwl_sim_client_release(w, client); break;
    case BWL_TRANSITION_EXTEND: bwl_sim_client_extend(w, client); break;
    case BWL_TRANSITION_CANCEL: bwl_sim_client_cancel(w, client); break;
    case BWL_TRANSITION_PASS: pass(w, transition.which); break;
    case BWL_TRANSITION_BREAK: bwl_connection_break(w, client, k, transition.which); break;
    case BWL_TRANSITION_STOP_WAITING: bwl_connection_stop_waiting(w, client, k); break;
    case BWL_TRANSITION_CRASH: bwl_sim_client_crash(w, client); break;
    case BWL_TRANSITION_RESTART: server_comes_back(w, k, (bwl_model_data){ 0 }); break;
    case BWL_TRANSITION_JUMP:
        server->was_faulty = true;
        server_passes(w, k, w->scenario->clocks.jump_ms * BWL_MODEL_PER_MS);
        break;
    case BWL_TRANSITION_SAVE: w->saved = server->redis.data; break;
    case BWL_TRANSITION_RESTORE:
        server_comes_back(w, k, w->scenario->server.keeps_all ? server->redis.data : w->saved);
        break;
    case BWL_TRANSITION_FAILOVER: server_comes_back(w, k, w->previous); break;
    case BWL_TRANSITION_EVICT:
        w->previous = (bwl_model_data){ 0 };
        bwl_model_remove(&server->redis, transition.which);
        break;
    case BWL_TRANSITION_FOREIGN_LOCK:
        set_foreign_lock(server);
        server->key_excused = true;
        server->key_late    = false;
        break;
    case BWL_TRANSITION_STEP_WALL:
        w->clients[client].clock.skew_ms += w->scenario->clocks.wall_ms;
        break;
    case BWL_TRANSITION_WRITE: note_write(w, client); break;
    case BWL_TRANSITION_RATE:
        w->clients[client].clock.pace = (uint16_t)w->scenario->clocks.rate_pace;
        break;
    case BWL_TRANSITION_LEARN: bwl_sim_client_learns(w, client); break;
    case BWL_TRANSITION_LOSE_PUSH: bwl_wait_lose_push(w, client); break;
    case BWL_TRANSITION_CLOSE: bwl_wait_close(w, client); break;
    case BWL_TRANSITION_BORROW:
        set_foreign_lock(server);
        bwl_model_expire(&server->redis, BWL_MODEL_LOCK, BORROWED_MS);
        break;
    case BWL_TRANSITION_GIVE_BACK: bwl_model_remove(&server->redis, BWL_MODEL_LOCK); break;
    case BWL_TRANSITION_SILENCE: bwl_wait_silence(w); break;
    case BWL_TRANSITION_YIELD: bwl_sim_client_yield(w, client, transition.chance); break;
    case BWL_TRANSITION_DOWNGRADE: bwl_sim_client_change(w, client, BWL_DOWNGRADE, 0); break;
    case BWL_TRANSITION_UPGRADE:
        bwl_sim_client_change(w, client, BWL_UPGRADE, transition.chance);
        break;
    case BWL_TRANSITION_HALT:
    case BWL_TRANSITION_GO_ON:
        server->was_faulty = true;
        server->is_stopped = transition.kind == BWL_TRANSITION_HALT;
        break;
    case BWL_TRANSITION_TIME_OUT: bwl_connection_break(w, client, k, 0); break;
    case BWL_TRANSITION_NONE:
    case BWL_TRANSITIONS_END: bwl_unreachable("no such transition");
    }
}

void bwl_world_perform(bwl_world *w, bwl_transition transition)
{
    bwl_budget budget = bwl_transition_budget(w, transition);

    w->broken   = 0;
    w->got_lock = false;
    assert(budget == BWL_BUDGET_NONE || w->left[budget] > 0);
    if (budget != BWL_BUDGET_NONE && w->left[budget] != BWL_ANY)
        w->left[budget]--;
    carry_out(w, transition);
    if (bwl_wait_is_kept(w))
        bwl_wait_look_at_owner(w);
    if (w->scenario->servers > 1)
        bwl_connection_drop_ineffective(w);
}
