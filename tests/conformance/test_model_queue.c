/*
 * test_model_queue.c -- the commands of src/protocol/store/queue.h in the lab's model server, and
 * on a real server by way of src/engine/redis/wire.
 *
 * Random sequences of three clients at one lock, each with a connection and perhaps an old one that
 * is still open; all fields of every reply are compared, every push with its receiver, and the
 * state of the server.  The server's clock is stopped until a sequence advances it.
 */
#include "protocol/format/token.h"
#include "core/text.h"
#include "lab/base/dice.h"
#include "lab/model/queue.h"
#include "lab/model/words.h"
#include "lab/base/token_number.h"
#include "engine/redis/wire/queue.h"
#include "tests/conformance/model_run.h"
#include "tests/conformance/queue_pushes.h"
#include "tests/lib/frozen.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"
#include "tests/lib/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LENGTH_MAX = 24,
    CLIENTS    = BWL_MODEL_CLIENTS,
    SERIALS    = 2, /* tokens of each client                                                 */
    DEAD_MS    = 3000,
    KEEP_MS    = 60000,
};

#define KEY        "k"
#define QUEUE      "{k}:bwl.q"
#define HEARTBEATS "{k}:bwl.b"
#define SHARERS    "{k}:bwl.h"
#define SESSION    "012345678"

static const int64_t beginning_ms = INT64_C(1700000000000);

static server         *redis;
static wire            control;
static bwl_model_redis model;

static uint8_t   push_channels[CLIENTS]; /* of the current connections */
static uint64_t  last_tickets[CLIENTS];
static bwl_share shares[CLIENTS]; /* in this sequence */

/* ---- randomness ------------------------------------------------------------------------------ */

static int64_t some_ms(void)
{
    static const int64_t some[] = { 1,    2,    29,   30,    31,    999,   1000,
                                    2999, 3000, 3001, 20000, 20001, 59999, 60001 };

    return some[below(COUNT_OF(some))];
}

/* ---- one request to both --------------------------------------------------------------------- */

/* The state of the server after the request: read in the same round trip. */
static char              shares_now[64]; /* that have not ended */
static const char *const rest[]         = { "ZCARD " QUEUE, "HLEN " HEARTBEATS,
                                            "EXISTS " KEY,  "GET " BWL_QUEUE_FENCES_KEY,
                                            shares_now,     "PTTL " KEY,
                                            "PTTL " SHARERS };
static const char        behind_count[] = "GETRANGE " KEY " 20 23"; /* " b1:" behind the count */
enum { RESTS = COUNT_OF(rest), SHARES = 4, SHARES_LEFT = 6 /* of these */ };
static int64_t left[RESTS]; /* -1: no number */
static bool    is_gate_of_one;

static int64_t number_of(bwl_resp_cursor cursor)
{
    bwl_resp_value value;
    uint64_t       number = 0;

    if (!bwl_resp_next_bare(&cursor, &value))
        return -1;
    if (value.type == '$' && !bwl_number_parse(&number, value.text, value.size, INT64_MAX))
        return -1;
    return value.type == ':' ? value.integer : (int64_t)number;
}

/* Sends what was written, and asks for the rest. Returns the first reply. */
static bwl_resp_cursor ask_for_rest(unsigned client)
{
    int length = snprintf(shares_now, sizeof shares_now, "ZCOUNT " SHARERS " (%" PRId64 " +inf",
                          model.now / BWL_MODEL_PER_MS);
    assert_in_range(length, 1, sizeof shares_now - 1);
    for (unsigned i = 0; i < RESTS; i++)
        wire_say(&wires[client], rest[i]);
    wire_say(&wires[client], behind_count);
    wire_flush(&wires[client]);
    return next_answer(client);
}

static void read_rest(unsigned client)
{
    for (unsigned i = 0; i < RESTS; i++)
        left[i] = number_of(next_answer(client));
    bwl_resp_cursor cursor = next_answer(client);
    bwl_resp_value  value;
    is_gate_of_one = bwl_resp_next_bare(&cursor, &value) && value.size == 4 &&
                     memcmp(value.text, " b1:", 4) == 0;
    if (is_gate_of_one) { /* it stands for one share that ends with the lock */
        left[SHARES]      = left[SHARES_LEFT - 1] > 0;
        left[SHARES_LEFT] = left[SHARES_LEFT - 1];
    }
    gather_pushes(client);
}

/* A heartbeat or a TAKE by the script for several. False: it has to be sent alone. */
static bool ask_in_a_batch(unsigned client, const bwl_redis_command_args *args,
                           bwl_redis_reply *ret_reply)
{
    bwl_batch_reply batch;
    bwl_resp_cursor cursor;

    bwl_batch_write(&wires[client].out, args, 1);
    bwl_batch_write_keys(&wires[client].out, args);
    bwl_batch_write_arguments(&wires[client].out, args);
    if (args->command == REDIS_QUEUE_TAKE)
        bwl_resp_write_integer(&wires[client].out, args->lease_ms);
    cursor = ask_for_rest(client);
    if (bwl_batch_read(args->command, 1, cursor.bytes, cursor.size, &batch) != BWL_BATCH_EACH)
        tell("   strange: %.*s\n", (int)cursor.size, cursor.bytes);
    read_rest(client);
    *ret_reply = (bwl_redis_reply){ .answer       = batch.answers[0],
                                    .number       = batch.fences[0],
                                    .queue_status = batch.statuses[0] };
    if (args->command == REDIS_QUEUE_HEARTBEAT)
        ret_reply->queue_status.ticket = (uint64_t)args->number; /* the client has it */
    return batch.answers[0] != 0;
}

/* A client that shares nothing of itself sends these after a downgrade. */
static bwl_share shares_now_of(unsigned client, bwl_redis_command command)
{
    bool is_changed = shares[client].weight == 0 && command >= REDIS_SHARE_TAKE;

    return is_changed ? (bwl_share){ .weight = 1 } : shares[client];
}

static bwl_redis_reply ask_server(unsigned client, const bwl_model_queue_args *q)
{
    char                   token[BWL_TOKEN_MAX + 1];
    char                   previous_token[BWL_TOKEN_MAX + 1];
    bwl_random             random  = bwl_token_random(q->token, 0);
    bwl_random             earlier = bwl_token_random(q->previous_token, 0);
    bwl_redis_reply        reply   = { 0 };
    bwl_queue_self         self    = { .uses_sharded_pubsub = has_shards,
                                       .slot                = client,
                                       .generation          = q->token,
                                       .provisional_ttl_ms  = q->member.provisional_ttl_ms,
                                       .queue_max           = q->queue_max,
                                       .session             = SESSION };
    bwl_redis_command_args args    = {
           .command        = q->command,
           .use_eval       = true,
           .key            = KEY,
           .key_size       = 1,
           .token          = token,
           .previous_token = previous_token,
           .lease_ms       = q->lease_ms,
           .number =
            q->command == REDIS_SHARE_EXTEND ? q->ticket * (int64_t)BWL_QUEUE_HANDOFFS : q->ticket,
           .share = shares_now_of(client, q->command),
           .self  = &self,
           .who   = "ann@web-2",
    };
    bwl_resp_cursor cursor;

    bwl_token_write(token, &random);
    bwl_token_write(previous_token, &earlier);
    write_push_channel(self.push_channels[0], client, q->member.push_channel);
    write_push_channel(self.push_channels[1], client, q->old_channels[0]);
    write_push_channel(self.push_channels[2], client, q->old_channels[1]);
    if ((q->command == REDIS_QUEUE_TAKE ||
         (q->command == REDIS_QUEUE_HEARTBEAT && q->ticket != 0)) &&
        below(2) == 0 && ask_in_a_batch(client, &args, &reply))
        return reply;
    bwl_redis_write(&wires[client].out, &args);
    cursor = ask_for_rest(client);
    if (bwl_redis_read(&args, 0, cursor.bytes, cursor.size, &reply) != BWL_REDIS_ANSWER) {
        tell("   strange: %.*s\n", (int)cursor.size, cursor.bytes);
        reply.answer = 0;
    }
    read_rest(client);
    return reply;
}

/* Often the token of the holder, and never the token of the next grant. */
static uint16_t some_previous_token(uint16_t token)
{
    uint16_t owner = bwl_model_owner(&model);

    if (below(2) == 0 && owner > BWL_TOKENS_PER_CLIENT && owner != token)
        return owner;
    return bwl_token_number(bwl_token_client(token), SERIALS + 1);
}

/* A client never sends JOIN for a token that is in the queue, or TAKE for one that shares. */
static bool is_queued(uint16_t token)
{
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &model.data.items[i];
        if (item->is_there && item->key == BWL_MODEL_QUEUE &&
            bwl_member_of(item->member).token == token)
            return true;
    }
    return false;
}

/* For an upgrade. */
static uint16_t some_new_token(uint16_t token)
{
    unsigned client = bwl_token_client(token);
    uint16_t other  = bwl_token_number(client, SERIALS + 1u - bwl_token_serial(token));
    bool     is_new = !is_queued(other) && bwl_model_share(&model.data, other) == NULL;

    return is_new ? other : bwl_token_number(client, SERIALS + 1);
}

/* Who shares may also have the lock alone: DISPATCH_NEXT and the commands of others serve it. */
static bwl_redis_command some_command(unsigned client)
{
    static const bwl_redis_command changes[] = { REDIS_SHARE_DOWNGRADE, REDIS_SHARE_DOWNGRADE,
                                                 REDIS_SHARE_UPGRADE,   REDIS_SHARE_UPGRADE,
                                                 REDIS_SHARE_EXTEND,    REDIS_SHARE_LEAVE,
                                                 REDIS_QUEUE_EXTEND,    REDIS_QUEUE_RELEASE };

    if (shares[client].weight <= 1 && shares[client].limit == 0 && below(4) == 0)
        return changes[below(COUNT_OF(changes))];
    if (shares[client].weight == 0)
        return (bwl_redis_command)(REDIS_QUEUE_TAKE + below(9));
    return below(8) == 0 ? REDIS_QUEUE_DISPATCH_NEXT
                         : (bwl_redis_command)(REDIS_SHARE_TAKE + below(5));
}

static bwl_model_queue_args some_question(unsigned client)
{
    uint16_t             token = bwl_token_number(client, 1 + below(SERIALS));
    bwl_model_queue_args q     = {
            .command   = some_command(client),
            .shares    = shares,
            .token     = token,
            .lease_ms  = 30 + below(3) * 5000,
            .dead_ms   = DEAD_MS,
            .keep_ms   = KEEP_MS,
            .serve_max = BWL_MODEL_SERVE_MAX,
            .queue_max = below(4),
    };

    q.member = (bwl_member){ .token              = token,
                             .provisional_ttl_ms = (uint16_t)(30 + token % 3 * 10),
                             .push_channel       = push_channels[client] };

    bwl_redis_command does      = bwl_queue_exclusive(q.command);
    bool              shares_it = bwl_model_share(&model.data, token) != NULL;
    if ((does == REDIS_QUEUE_JOIN && (is_queued(token) || shares_it)) ||
        (q.command == REDIS_SHARE_TAKE && shares_it)) {
        q.command = shares[client].weight == 0 ? REDIS_QUEUE_HEARTBEAT : REDIS_SHARE_HEARTBEAT;
        does      = REDIS_QUEUE_HEARTBEAT;
    }
    if (does == REDIS_QUEUE_JOIN && below(3) == 0)
        q.ticket = (int64_t)last_tickets[client];
    if (q.command == REDIS_SHARE_LEAVE && shares[client].weight == 0 && is_queued(token))
        q.command = REDIS_SHARE_DOWNGRADE; /* its entry is one of an exclusive lock */
    if (q.command == REDIS_SHARE_EXTEND)
        q.ticket = beginning_ms * 1000 + below(100);
    if (q.command == REDIS_SHARE_UPGRADE)
        q.previous_token = some_new_token(token);
    if (q.command == REDIS_QUEUE_REST)
        q.ticket = 20 * below(4);
    if (q.command == REDIS_QUEUE_REQUEUE)
        q.previous_token = some_previous_token(token);
    if (does == REDIS_QUEUE_HEARTBEAT || does == REDIS_QUEUE_CANCEL ||
        q.command == REDIS_SHARE_LEAVE)
        for (unsigned i = 0; i < 2; i++)
            q.old_channels[i] = (uint8_t)below(push_channels[client] + 1u);
    if (does == REDIS_QUEUE_HEARTBEAT) {
        const bwl_model_item *entry =
            bwl_model_item_of(&model, BWL_MODEL_QUEUE, bwl_member_number(q.member));
        q.ticket = below(2) == 0 ? 0 : entry != NULL ? entry->value : (int64_t)last_tickets[client];
    }
    return q;
}

static bool is_same_place(const bwl_queue_status *said, const bwl_queue_status *heard)
{
    return said->kind == heard->kind && said->is_ours == heard->is_ours &&
           said->rests == heard->rests && said->ends == heard->ends &&
           said->left_ms == heard->left_ms && said->ticket == heard->ticket &&
           said->rank == heard->rank && said->server_us == heard->server_us;
}

static bool is_pushed(const bwl_grant *said)
{
    for (unsigned i = 0; i < pushes; i++)
        if (pushed_to[i] == said->connection && pushed[i].generation == said->token &&
            pushed[i].fence == (uint64_t)said->fence * BWL_QUEUE_HANDOFFS &&
            pushed[i].server_us == said->server_us)
            return true;
    return false;
}

static bool has_same_pushes(const bwl_queue_reply *said)
{
    unsigned same = 0;

    for (unsigned i = 0; i < said->grants.count; i++)
        same += is_pushed(&said->grants.list[i]);
    return pushes == said->grants.count && same == pushes;
}

static int64_t items_of(unsigned key)
{
    int64_t count = 0;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++)
        count +=
            model.data.items[i].is_there && model.data.items[i].key == key &&
            (key != BWL_MODEL_SHARERS || model.data.items[i].value > model.now / BWL_MODEL_PER_MS);
    return count;
}

static bool is_same_rest(void)
{
    const int64_t expected[RESTS] = { items_of(BWL_MODEL_QUEUE),
                                      items_of(BWL_MODEL_HEARTBEATS),
                                      bwl_model_owner(&model) != 0,
                                      model.data.keys[BWL_MODEL_COUNT].value,
                                      items_of(BWL_MODEL_SHARERS),
                                      bwl_model_left_ms(&model, BWL_MODEL_LOCK),
                                      bwl_model_left_ms(&model, BWL_MODEL_SHARERS) };
    unsigned      same            = 0;

    for (unsigned i = 0; i < RESTS; i++) {
        if ((i == SHARES || i == SHARES_LEFT) && bwl_model_gate(&model.data) == 0)
            left[i] = expected[i]; /* without a gate this key means nothing */
        same += left[i] == expected[i];
        if (left[i] != expected[i])
            tell("   left: %s is %" PRId64 ", the model has %" PRId64 "\n", rest[i], left[i],
                 expected[i]);
    }
    return same == RESTS;
}

static void tell_both(const bwl_model_queue_args *q, const bwl_queue_reply *said,
                      const bwl_redis_reply *heard)
{
    tell("%x (%x): command %d, push channel %d (%d %d), grant %d, lease %" PRId64
         ", ticket %" PRId64 ", max %u\n",
         q->token, q->previous_token, (int)q->command, q->member.push_channel, q->old_channels[0],
         q->old_channels[1], q->member.provisional_ttl_ms, q->lease_ms, q->ticket, q->queue_max);
    tell("   model: answer %d how %d fence %" PRId64 " ours %d ends %d left %" PRId64
         " ticket %" PRIu64 " rank %" PRIu64 "; pushes %u\n",
         (int)said->answer, (int)said->queue_status.kind, said->fence, said->queue_status.is_ours,
         said->queue_status.ends, said->queue_status.left_ms, said->queue_status.ticket,
         said->queue_status.rank, said->grants.count);
    for (unsigned i = 0; i < said->grants.count; i++)
        tell("          push to %d token %x fence %" PRId64 "\n", said->grants.list[i].connection,
             said->grants.list[i].token, said->grants.list[i].fence);
    tell("  server: answer %d how %d fence %" PRIu64 " ours %d ends %d left %" PRId64
         " ticket %" PRIu64 " rank %" PRIu64 "; pushes %u\n",
         (int)heard->answer, (int)heard->queue_status.kind, heard->number / BWL_QUEUE_HANDOFFS,
         heard->queue_status.is_ours, heard->queue_status.ends, heard->queue_status.left_ms,
         heard->queue_status.ticket, heard->queue_status.rank, pushes);
    for (unsigned i = 0; i < pushes; i++)
        tell("          push to %u token %" PRIx64 " fence %" PRIu64 "\n", pushed_to[i],
             pushed[i].generation, pushed[i].fence / BWL_QUEUE_HANDOFFS);
}

/* Returns true if both had the same results and states. */
static bool ask_both(unsigned client)
{
    bwl_model_queue_args q = some_question(client);
    bwl_queue_reply      said;
    bwl_redis_reply      heard;

    pushes        = 0;
    model.counted = 0; /* the server's clock is stopped */
    said          = bwl_model_queue_reply(&model, &q, 0);
    heard         = ask_server(client, &q);
    tell_both(&q, &said, &heard);
    if (said.queue_status.ticket != 0)
        last_tickets[client] = said.queue_status.ticket;
    return said.answer == heard.answer &&
           (uint64_t)said.fence * BWL_QUEUE_HANDOFFS == heard.number &&
           is_same_place(&said.queue_status, &heard.queue_status) && has_same_pushes(&said) &&
           is_same_rest();
}

/* The real server gets the same subscriptions as the model. */
static void subscribe_both(unsigned connection, uint8_t push_channel)
{
    bwl_model_queue_subscribe(&model, connection, push_channel);
    subscribe_on_server(connection, push_channel);
}

/* ---- sequences ------------------------------------------------------------------------------- */

static void pass(int64_t by_ms)
{
    tell("-- %" PRId64 " ms pass\n", by_ms);
    bwl_model_redis_pass(&model, by_ms * BWL_MODEL_PER_MS);
    frozen_set(model.now / BWL_MODEL_PER_MS);
}

/* A foreign value, or a key that is no string. */
static void set_foreign_value(void)
{
    bool is_list = below(2) == 0;
    bool ends    = below(2) == 0;

    tell("-- a foreign program sets a %s%s\n", is_list ? "list" : "text",
         ends ? ", which ends" : "");
    wire_say(&control, "DEL " KEY);
    wire_say(&control, is_list ? "RPUSH " KEY " element" : "SET " KEY " hello");
    if (ends)
        wire_say(&control, "PEXPIRE " KEY " 30");
    wire_flush(&control);
    for (int i = 0; i < 2 + ends; i++)
        (void)wire_next(&control);
    bwl_model_set(&model, BWL_MODEL_LOCK, BWL_MODEL_FOREIGN_VALUE, 1);
    if (is_list)
        model.data.keys[BWL_MODEL_LOCK].kind = BWL_KIND_ZSET;
    if (!ends)
        return;
    model.data.keys[BWL_MODEL_LOCK].lasts   = false;
    model.data.keys[BWL_MODEL_LOCK].ends_at = model.now + 30 * BWL_MODEL_PER_MS;
}

static void forget(unsigned key, const char *command)
{
    tell("-- %s\n", command);
    (void)wire_ask(&control, command);
    bwl_model_remove(&model, key);
}

static void fence_minimum_of_both(void)
{
    const bwl_queue_client_info info = { .session = SESSION, .kept_ms = KEEP_MS };

    tell("-- the fence minimum is raised\n");
    model.counted = 0;
    bwl_model_queue_fence_minimum(&model);
    bwl_queue_write_fence_minimum(&control.out, &info);
    wire_flush(&control);
    (void)wire_next(&control);
}

static void connect_again(unsigned client)
{
    tell("-- %u connects again\n", client);
    subscribe_both(client + CLIENTS, push_channels[client]);
    push_channels[client]++;
    subscribe_both(client, push_channels[client]);
}

static void disturb(unsigned client)
{
    switch (below(11)) {
    case 0: set_foreign_value(); break;
    case 1: forget(BWL_MODEL_LOCK, "DEL " KEY); break;
    case 2: forget(BWL_MODEL_COUNT, "DEL " BWL_QUEUE_FENCES_KEY); break;
    case 3: forget(BWL_MODEL_HEARTBEATS, "DEL " HEARTBEATS); break;
    case 4: fence_minimum_of_both(); break;
    case 5:
        tell("-- an old connection of %u is closed\n", client);
        subscribe_both(client + CLIENTS, 0);
        break;
    case 6:
        if (push_channels[client] < 3)
            connect_again(client);
        break;
    case 7:
        if (below(4) == 0 && !is_gate_of_one)
            forget(BWL_MODEL_SHARERS, "DEL " SHARERS);
        break;
    default: pass(some_ms()); break;
    }
}

static void begin_sequence(uint64_t seed)
{
    static const bwl_share some_shares[] = { { 0, 0 }, { 0, 0 }, { 1, 0 }, { 1, 0 },
                                             { 1, 2 }, { 2, 2 }, { 2, 3 }, { 1, 1 } };

    random_state = seed;
    bwl_model_redis_start(&model, beginning_ms);
    model.grace = BWL_MODEL_PER_MS;
    (void)wire_ask(&control,
                   "DEL " KEY " " QUEUE " " HEARTBEATS " " SHARERS " " BWL_QUEUE_FENCES_KEY);
    frozen_set(beginning_ms);
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++)
        subscribe_both(i, i < CLIENTS);
    for (unsigned i = 0; i < CLIENTS; i++) {
        push_channels[i] = 1;
        last_tickets[i]  = 0;
        shares[i]        = some_shares[below(COUNT_OF(some_shares))];
        tell("-- %u shares %u of %u\n", i, shares[i].weight, shares[i].limit);
    }
}

/* Whether the model can store the items of another JOIN: two, and those of all who may share. */
static bool has_space(void)
{
    return 2 * items_of(BWL_MODEL_QUEUE) + items_of(BWL_MODEL_HEARTBEATS) +
               items_of(BWL_MODEL_SHARERS) + 4 <=
           BWL_MODEL_ITEMS;
}

static bool play_sequence(uint64_t seed)
{
    begin_sequence(seed);
    for (unsigned i = 4 + below(LENGTH_MAX - 3); i > 0 && has_space(); i--) {
        if (below(3) == 0)
            disturb(below(CLIENTS));
        if (!ask_both(below(CLIENTS)))
            return false;
    }
    return true;
}

TEST(commands_of_the_queue_agree_in_model_and_server)
{
    must_be_the_same(8000, 1);
}

static int set_up(void **state)
{
    redis      = frozen_start(beginning_ms);
    has_shards = server_has_sharded_channels(redis);
    wire_open(&control, redis->socket);
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++) {
        wire_open(&wires[i], redis->socket);
        (void)wire_ask(&wires[i], "HELLO 3");
    }
    return 0;
}

AROUND(set_up, frozen_stop)
