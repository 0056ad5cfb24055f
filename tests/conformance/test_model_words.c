/*
 * test_model_words.c -- the commands of src/protocol/store/redis.h in the lab's model server, and
 * on a real server by way of src/engine/redis/wire.
 *
 * Random sequences on three connections and one key, with the rules of one kind of value each;
 * every reply is compared, with the timestamp, with whether the value is our own, and with whether
 * it equals one that was shown before.  The server's clock is stopped until a sequence advances it.
 */
#include "protocol/format/timestamps.h"
#include "protocol/format/token.h"
#include "lab/base/dice.h"
#include "lab/model/words.h"
#include "engine/redis/wire/commands.h"
#include "tests/conformance/model_run.h"
#include "tests/lib/frozen.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"
#include "tests/lib/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LENGTH_MAX  = 20,
    CONNECTIONS = 3,
    TOKENS      = 3,
    PRINTS_MAX  = 64,
};

#define S_NS  INT64_C(1000000000)
#define MS_NS INT64_C(1000000)
#define US_NS INT64_C(1000)

/* One of each format; the last two use the server's clock. */
static const bwl_compat_rules kinds[] = {
    { .value = BWL_VALUE_TOKEN, .token = BWL_TOKEN_UUID, .lease_in_seconds = true },
    { .value = BWL_VALUE_TOKEN, .token = BWL_TOKEN_UUID_THREAD, .counts_fences = true },
    { .value = BWL_VALUE_TOKEN, .token = BWL_TOKEN_BASE64_32 },
    { .value = BWL_VALUE_LITERAL, .literal = "1", .lease_in_seconds = true },
    { .value = BWL_VALUE_DECIMAL, .unit_ns = S_NS },
    { .value    = BWL_VALUE_DECIMAL,
      .unit_ns  = MS_NS,
      .extra_ns = MS_NS,
      .prefix   = "at ",
      .suffix   = "!" },
    { .value = BWL_VALUE_FLOAT_PYTHON, .unit_ns = US_NS, .whole_ns = S_NS },
    { .value = BWL_VALUE_LITTLE_ENDIAN, .unit_ns = MS_NS },
    { .value = BWL_VALUE_TOKEN_TIMESTAMP, .token = BWL_TOKEN_UUID, .unit_ns = MS_NS },
    { .value = BWL_VALUE_TIMESTAMP_TOKEN, .token = BWL_TOKEN_PID_TID, .unit_ns = S_NS },
    { .value   = BWL_VALUE_DECIMAL,
      .unit_ns = S_NS,
      .expired = BWL_TIMESTAMP_NOT_AFTER_NOW,
      .clock   = BWL_CLOCK_OF_SERVER },
    { .value   = BWL_VALUE_DECIMAL,
      .unit_ns = MS_NS,
      .expired = BWL_TIMESTAMP_BEFORE_NOW,
      .clock   = BWL_CLOCK_OF_SERVER },
};
enum { KINDS = COUNT_OF(kinds) };

static const int64_t beginning_ms       = INT64_C(1700000000000);
static const int64_t first_plausible_s  = INT64_C(978307200);  /* 2001-01-01                     */
static const int64_t end_of_plausible_s = INT64_C(4102444800); /* 2100-01-01                     */

static server         *redis;
static wire            wires[CONNECTIONS];
static bool            is_used[CONNECTIONS]; /* it may use WATCH */
static wire            control;
static bwl_model_redis model;
static bwl_model_data  saved;
static bool            restarts; /* the server restarts sometimes */

static const bwl_compat_rules *rules; /* of this sequence; NULL: bowline's own token */
static char                    tokens[TOKENS + 1][BWL_TOKEN_MAX + 1];

/* ---- randomness ------------------------------------------------------------------------------ */

static int64_t some_ms(void)
{
    static const int64_t some[] = { 1, 2, 30, 31, 999, 1000, 1001, 2000, 3000 };

    return some[below(COUNT_OF(some))];
}

/* ---- shown values ---------------------------------------------------------------------------- */

/* A hash stands for bytes: two of the model are equal if and only if two of the server are. */
static struct {
    uint64_t of_model, of_server;
} prints[PRINTS_MAX];
static unsigned prints_count;

static bool is_same_print(uint64_t of_model, uint64_t of_server)
{
    if (of_model == 0 || of_server == 0)
        return of_model == of_server;
    for (unsigned i = 0; i < prints_count; i++)
        if (prints[i].of_model == of_model || prints[i].of_server == of_server)
            return prints[i].of_model == of_model && prints[i].of_server == of_server;
    assert_true(prints_count < PRINTS_MAX);
    prints[prints_count].of_model    = of_model;
    prints[prints_count++].of_server = of_server;
    return true;
}

static bool is_same(const bwl_model_reply *said, const bwl_redis_reply *heard)
{
    return said->answer == heard->answer && said->is_mine == heard->value.is_mine &&
           said->number == heard->number && is_same_print(said->value_hash, heard->value.hash);
}

/* ---- one request to both --------------------------------------------------------------------- */

static bwl_redis_reply ask_server(unsigned connection, const bwl_model_command_args *q)
{
    wire                  *w     = &wires[connection];
    bwl_redis_reply        reply = { 0 };
    bwl_redis_command_args args  = {
         .previous_value = tokens[q->previous_token],
         .command        = q->command,
         .use_eval       = true,
         .key            = "k",
         .key_size       = 1,
         .token          = tokens[q->token],
         .lease_ms       = q->lease_ms,
         .number         = q->timestamp,
         .rules          = q->rules,
    };

    is_used[connection] = true;
    bwl_redis_write(&w->out, &args);
    wire_flush(w);
    for (unsigned nth = 0; nth < bwl_redis_frames(q->command); nth++) {
        bwl_resp_cursor   cursor  = wire_next(w);
        bwl_redis_verdict verdict = bwl_redis_read(&args, nth, cursor.bytes, cursor.size, &reply);
        if (verdict != BWL_REDIS_ANSWER)
            tell("   strange: %.*s\n", (int)cursor.size, cursor.bytes);
        if (verdict != BWL_REDIS_ANSWER)
            reply.answer = 0;
    }
    return reply;
}

static bool is_timestamp_command(bwl_redis_command command)
{
    return command == REDIS_TAKE_TIMESTAMP || command == REDIS_DROP_TIMESTAMP;
}

/* Of a hash, or of a sorted set. */
static bool is_field_word(bwl_redis_command command)
{
    return command >= REDIS_HASH_TAKE && command <= REDIS_ZSET_RELEASE;
}

/* At the limits of plausible values, in another unit, and a small number. */
static int64_t some_odd_timestamp(int64_t unit_ns, int64_t timestamp)
{
    int64_t second = S_NS / unit_ns;

    switch (below(5)) {
    case 0: return first_plausible_s * second - below(2);
    case 1: return end_of_plausible_s * second - below(2);
    case 2: return timestamp / 1000;
    case 3: return timestamp * 1000;
    default: return 1;
    }
}

static bwl_model_command_args some_question(unsigned connection)
{
    int64_t                unit_ns          = rules != NULL ? rules->unit_ns : 0;
    int64_t                now_ns           = model.now / BWL_MODEL_PER_MS * MS_NS;
    bwl_model_command_args q                = { .client = (uint8_t)connection, .rules = rules };
    bool                   has_server_clock = rules != NULL && rules->clock == BWL_CLOCK_OF_SERVER;

    bool has_fields = rules == NULL || rules->value == BWL_VALUE_TOKEN;

    do
        q.command = (bwl_redis_command)(1 + below(REDIS_ZSET_RELEASE));
    while ((is_timestamp_command(q.command) && !has_server_clock) ||
           (is_field_word(q.command) && !has_fields));
    q.token    = (uint16_t)(1 + below(TOKENS));
    q.lease_ms = some_ms();
    if (rules == NULL && below(3) == 0) {
        q.command        = REDIS_ADOPT;
        q.previous_token = (uint16_t)(1 + below(TOKENS));
    }
    if (unit_ns != 0)
        q.timestamp =
            now_ns / unit_ns + (int64_t)below(4) * (below(2) == 0 ? 1 : S_NS / unit_ns) - 1;
    if (has_server_clock && below(8) == 0)
        q.timestamp = some_odd_timestamp(unit_ns, q.timestamp);
    return q;
}

/* Returns true if both had the same results. */
static bool ask_both(unsigned connection)
{
    bwl_model_command_args q    = some_question(connection);
    bwl_model_reply        said = bwl_model_redis_reply(&model, &q, 0);
    bwl_redis_reply        heard;

    tell("%u: command %d, token %u, lease %" PRId64 ", stamp %" PRId64 "\n", connection,
         (int)q.command, q.token, q.lease_ms, q.timestamp);
    heard = ask_server(connection, &q);
    tell("   model: answer %d mine %d number %" PRIu64 " print %" PRIx64 "\n", (int)said.answer,
         said.is_mine, said.number, said.value_hash);
    tell("  server: answer %d mine %d number %" PRIu64 " print %" PRIx64 "\n", (int)heard.answer,
         heard.value.is_mine, heard.number, heard.value.hash);
    return is_same(&said, &heard);
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* A key that has expired must be deleted in the server too, before its clock is set back. */
static void delete_expired(void)
{
    (void)wire_ask(&control, "EXISTS k");
}

static void pass(int64_t by_ms)
{
    tell("-- %" PRId64 " ms pass\n", by_ms);
    if (by_ms < 0)
        delete_expired();
    bwl_model_redis_pass(&model, by_ms * BWL_MODEL_PER_MS);
    frozen_set(model.now / BWL_MODEL_PER_MS);
}

/* A foreign value, or a key that is no string. */
static void set_foreign_value(void)
{
    bool is_list = below(2) == 0;

    tell("-- a foreign program sets a %s\n", is_list ? "list" : "text");
    wire_say(&control, "DEL k");
    wire_say(&control, is_list ? "RPUSH k element" : "SET k foreign-value");
    wire_flush(&control);
    (void)wire_next(&control);
    (void)wire_next(&control);
    bwl_model_set(&model, BWL_MODEL_LOCK, BWL_MODEL_FOREIGN_VALUE, 1);
    if (is_list)
        model.data.keys[BWL_MODEL_LOCK].kind = BWL_KIND_ZSET;
}

static void save(void)
{
    tell("-- a snapshot\n");
    delete_expired();
    assert_memory_equal(wire_ask(&control, "SAVE").bytes, "+OK", 3);
    saved = model.data;
}

/* With the data of the snapshot, or empty.  Its connections are gone: none of them watches. */
static void restart(bool is_empty)
{
    const char *command = is_empty ? "FLUSHALL" : "DEBUG RELOAD NOSAVE";

    tell("-- a restart, %s\n", is_empty ? "empty" : "from the snapshot");
    assert_memory_equal(wire_ask(&control, command).bytes, "+OK", 3);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        (void)wire_ask(&wires[i], "UNWATCH");
    bwl_model_redis_restart(&model, is_empty ? NULL : &saved);
}

static void begin_sequence(uint64_t seed)
{
    random_state = seed;
    prints_count = 0;
    rules        = below(KINDS + 1) == 0 ? NULL : &kinds[below(KINDS)];
    for (unsigned i = 1; i <= TOKENS; i++) {
        bwl_random random = { { 0 } };
        for (unsigned b = 0; b < BWL_RANDOM_BYTES; b++)
            random.bytes[b] = (uint8_t)bwl_dice_draw(&random_state);
        bwl_token_write_as(tokens[i], rules != NULL ? rules->token : BWL_TOKEN_OURS, &random,
                           beginning_ms * MS_NS);
    }
    tell("-- rules %d\n", rules != NULL ? (int)(rules - kinds) : -1);
    bwl_model_redis_start(&model, beginning_ms);
    model.grace = BWL_MODEL_PER_MS;
    wire_say(&control, "DEL k redisson_lock_token:{k}");
    wire_flush(&control);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (is_used[i]) {
            wire_say(&wires[i], "UNWATCH");
            wire_flush(&wires[i]);
        }
    (void)wire_next(&control);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (is_used[i])
            (void)wire_next(&wires[i]);
    memset(is_used, 0, sizeof is_used);
    frozen_set(beginning_ms);
    if (restarts)
        save();
}

static bool play_sequence(uint64_t seed)
{
    begin_sequence(seed);
    for (unsigned i = 4 + below(LENGTH_MAX - 3); i > 0; i--) {
        unsigned what = below(12);

        if (what == 0)
            set_foreign_value();
        else if (what < 4)
            pass(below(16) == 0 ? -some_ms() : some_ms());
        if (restarts && below(6) == 0)
            below(2) == 0 ? save() : restart(below(4) == 0);
        if (!ask_both(below(CONNECTIONS)))
            return false;
    }
    return true;
}

TEST(commands_of_other_locks_agree_in_model_and_server)
{
    must_be_the_same(30000, 1);
}

/* A restarted server has the keys that it saved, with their expiry. */
TEST(restarted_model_and_server_have_the_saved_data)
{
    restarts = true;
    must_be_the_same(20000, 100);
    restarts = false;
}

static int set_up(void **state)
{
    redis = frozen_start(beginning_ms);
    wire_open(&control, redis->socket);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        wire_open(&wires[i], redis->socket);
        (void)wire_ask(&wires[i], "HELLO 3");
    }
    return 0;
}

AROUND(set_up, frozen_stop)
