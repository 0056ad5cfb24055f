/*
 * test_model_batch.c -- many extensions as one command: each result is that of the lab's model
 * server for the single command at the same time.  Many TAKE as one command: locks in all states.
 * (test_model_queue.c compares a TAKE in such a command with the model.)
 *
 * Random states of a few keys (ours, another token, a foreign text, a list, missing; with and
 * without an expiry), then a batch of them: every reply is compared, and the expiry of each key.
 * The server's clock is stopped.  The same runs without MGET, which the user may lack the right
 * for, and without GT, which servers before 7.0 do not have.  If the server fails the command,
 * nothing has changed.
 */
#include "lab/model/words.h"
#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/scripts.h"
#include "tests/conformance/model_run.h"
#include "tests/lib/frozen.h"
#include "tests/lib/testing.h"
#include "tests/lib/wire.h"

enum { KEYS = 8, TOKENS = 3, ROUNDS = 3 };

#define FOREIGN_TEXT "foreign-value"

static const int64_t     beginning_ms       = INT64_C(1700000000000);
static const char *const tokens[1 + TOKENS] = { "", "AAAAAAAAAAAAAAAAAAAAAA",
                                                "BBBBBBBBBBBBBBBBBBBBBB",
                                                "CCCCCCCCCCCCCCCCCCCCCC" };

/* The same on a server with a restriction: one word of the script is unknown to it. */
typedef struct variant {
    const char *name;
    const char *command;
    const char *instead;
} variant;

static const variant variants[] = {
    { "as it is", NULL, NULL },
    { "without GT", "'GT'", "'NO'" },
    { "without MGET", "'MGET'", "'NONE'" },
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

typedef struct asked {
    unsigned count;
    unsigned keys[KEYS];
    uint16_t tokens[KEYS];
    bwl_ms   lease_ms;
} asked;

static server         *redis;
static wire            line;
static char            texts[VARIANTS][4096];
static bwl_model_redis models[KEYS];
static const char     *script; /* the text of the script */

static int64_t some_ms(void)
{
    static const int64_t some[] = { 1, 2, 30, 31, 1000, 2000, 2001 };

    return some[below(sizeof some / sizeof some[0])];
}

/* ---- the keys -------------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void say_done(const char *format, ...)
{
    char    command[160];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    bwl_resp_cursor answer = wire_ask(&line, command);
    assert_int_not_equal(answer.bytes[0], '-');
}

static void make(unsigned key)
{
    bwl_model_redis *r     = &models[key];
    unsigned         what  = below(8);
    uint16_t         token = (uint16_t)(1 + below(TOKENS));
    int64_t          value = what < 6 ? bwl_model_value(NULL, token, 0) : BWL_MODEL_FOREIGN_VALUE;
    bool             lasts = below(4) == 0;
    int64_t          ms    = some_ms();

    say_done("DEL k%u", key);
    bwl_model_redis_start(r, beginning_ms);
    r->grace = BWL_MODEL_PER_MS;
    if (what == 0)
        return;
    bwl_model_set(r, BWL_MODEL_LOCK, value, 1);
    if (what == 7)
        r->data.keys[BWL_MODEL_LOCK].kind = BWL_KIND_ZSET; /* not a string: any type */
    say_done("%s k%u %s", what == 7 ? "RPUSH" : "SET", key,
             what < 6 ? tokens[token] : FOREIGN_TEXT);
    if (lasts)
        return;
    r->data.keys[BWL_MODEL_LOCK].lasts   = false;
    r->data.keys[BWL_MODEL_LOCK].ends_at = r->now + ms * BWL_MODEL_PER_MS;
    say_done("PEXPIRE k%u %" PRId64, key, ms);
}

static void pass(int64_t ms)
{
    for (unsigned i = 0; i < KEYS; i++)
        bwl_model_redis_pass(&models[i], ms * BWL_MODEL_PER_MS);
    frozen_set(models[0].now / BWL_MODEL_PER_MS);
}

static int64_t left_on_server(unsigned key)
{
    char           command[32];
    bwl_resp_value value;

    (void)snprintf(command, sizeof command, "PTTL k%u", key);
    bwl_resp_cursor answer = wire_ask(&line, command);
    assert_true(bwl_resp_next(&answer, &value));
    return value.integer;
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* Some of the keys, in any order. */
static asked some_batch(void)
{
    asked    batch = { .count = 1 + below(KEYS), .lease_ms = some_ms() };
    unsigned order[KEYS];

    for (unsigned i = 0; i < KEYS; i++)
        order[i] = i;
    for (unsigned i = 0; i < batch.count; i++) {
        unsigned other  = i + below(KEYS - i);
        unsigned key    = order[other];
        order[other]    = order[i];
        batch.keys[i]   = key;
        batch.tokens[i] = (uint16_t)(1 + below(TOKENS));
    }
    return batch;
}

static bwl_batch_verdict ask_server(const asked *batch, bwl_batch_reply *ret_reply)
{
    const bwl_redis_command_args args = { .command = REDIS_EXTEND_IF_MINE, .use_eval = true };
    char                         key[8];

    if (script == texts[0]) {
        bwl_batch_write(&line.out, &args, batch->count);
    } else {
        bwl_resp_write_array(&line.out, 4 + 2 * batch->count);
        bwl_resp_write_text(&line.out, "EVAL");
        bwl_resp_write_text(&line.out, script);
        bwl_resp_write_integer(&line.out, batch->count);
    }
    for (unsigned i = 0; i < batch->count; i++) {
        (void)snprintf(key, sizeof key, "k%u", batch->keys[i]);
        bwl_resp_write_bulk(&line.out, key, strlen(key));
    }
    for (unsigned i = 0; i < batch->count; i++)
        bwl_redis_write_value(&line.out,
                              &(bwl_redis_command_args){ .command = REDIS_EXTEND_IF_MINE,
                                                         .token   = tokens[batch->tokens[i]] });
    bwl_resp_write_integer(&line.out, batch->lease_ms);
    wire_flush(&line);
    bwl_resp_cursor frame = wire_next(&line);
    return bwl_batch_read(args.command, batch->count, frame.bytes, frame.size, ret_reply);
}

static void ask_model(const asked *batch, bwl_answer *ret_answers)
{
    for (unsigned i = 0; i < batch->count; i++)
        ret_answers[i] =
            bwl_model_redis_reply(&models[batch->keys[i]],
                                  &(bwl_model_command_args){ .command  = REDIS_EXTEND_IF_MINE,
                                                             .token    = batch->tokens[i],
                                                             .lease_ms = batch->lease_ms },
                                  0)
                .answer;
}

/* Returns true if both had the same results and states. */
static bool ask_both(void)
{
    asked           batch = some_batch();
    bwl_answer      said[KEYS];
    bwl_batch_reply heard;

    ask_model(&batch, said);
    if (ask_server(&batch, &heard) != BWL_BATCH_EACH)
        return false;
    for (unsigned i = 0; i < batch.count; i++)
        if (said[i] != heard.answers[i])
            return false;
    for (unsigned i = 0; i < KEYS; i++)
        if (bwl_model_left_ms(&models[i], BWL_MODEL_LOCK) != left_on_server(i))
            return false;
    return true;
}

static bool play_sequence(uint64_t seed)
{
    random_state = seed;
    frozen_set(beginning_ms);
    for (unsigned i = 0; i < KEYS; i++)
        make(i);
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (!ask_both())
            return false;
        pass(some_ms());
    }
    return true;
}

TEST(batch_equals_its_single_commands)
{
    for (unsigned i = 0; i < VARIANTS; i++) {
        print_message("# %s\n", variants[i].name);
        script = texts[i];
        must_be_the_same(4000, i == 0 ? 1 : 4);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* All keys are ours. */
static asked all_ours(void)
{
    asked batch = { .count = KEYS, .lease_ms = 5000 };

    script = texts[0];
    frozen_set(beginning_ms);
    for (unsigned i = 0; i < KEYS; i++) {
        say_done("DEL k%u", i);
        say_done("SET k%u %s PX 1000", i, tokens[1]);
        batch.keys[i]   = i;
        batch.tokens[i] = 1;
    }
    return batch;
}

static void assert_left(int64_t wanted_ms)
{
    for (unsigned i = 0; i < KEYS; i++)
        assert_int_equal(left_on_server(i), wanted_ms);
}

/* A command that is forbidden alone is refused alone, and is not taken for a lost lock. */
TEST(failed_batch_changes_nothing)
{
    asked           batch = all_ours();
    bwl_batch_reply reply;

    (void)server_ask(redis, "CONFIG SET min-replicas-to-write 1");
    assert_int_equal(ask_server(&batch, &reply), BWL_BATCH_RETRYABLE);
    (void)server_ask(redis, "CONFIG SET min-replicas-to-write 0");
    assert_left(1000);
    (void)server_ask(redis, "ACL SETUSER default -pexpire");
    assert_int_equal(ask_server(&batch, &reply), BWL_BATCH_ALONE);
    (void)server_ask(redis, "ACL SETUSER default +pexpire -get -mget");
    assert_int_equal(ask_server(&batch, &reply), BWL_BATCH_EACH);
    for (unsigned i = 0; i < KEYS; i++)
        assert_int_equal(reply.answers[i], 0);
    assert_left(1000);
    (void)server_ask(redis, "ACL SETUSER default +get +mget resetkeys ~k0 ~k1");
    assert_int_equal(ask_server(&batch, &reply), BWL_BATCH_ALONE);
    (void)server_ask(redis, "ACL SETUSER default +@all ~*");
    assert_left(1000);
}

/* It needs no memory, and no right except those of a single extension. */
TEST(batch_works_without_memory_and_without_mget)
{
    asked           batch = all_ours();
    bwl_batch_reply reply;

    (void)server_ask(redis, "CONFIG SET maxmemory 1");
    assert_int_equal(ask_server(&batch, &reply), BWL_BATCH_EACH);
    (void)server_ask(redis, "CONFIG SET maxmemory 0");
    for (unsigned i = 0; i < KEYS; i++)
        assert_int_equal(reply.answers[i], BWL_YES);
    assert_left(5000);
    batch.lease_ms = 6000;
    (void)server_ask(redis, "ACL SETUSER default -mget");
    assert_int_equal(ask_server(&batch, &reply), BWL_BATCH_EACH);
    (void)server_ask(redis, "ACL SETUSER default +mget");
    for (unsigned i = 0; i < KEYS; i++)
        assert_int_equal(reply.answers[i], BWL_YES);
    assert_left(6000);
}

/* ---- TAKE ------------------------------------------------------------------------------------ */

#define SOMEONE "b1:999999999DDDDDDDDDDDDDDDD"

/* A lock, and what TAKE of it says in a batch; answer 0: that it has to be sent alone. */
static const struct {
    const char      *key;
    const char      *made_by;
    bwl_answer       answer;
    bwl_queue_status status;
} locks[] = {
    { "k0", "GET none", BWL_YES, { .kind = BWL_QUEUE_STATUS_HELD } },
    { "k1",
      "SET k1 " SOMEONE " PX 700",
      BWL_NO,
      { .kind = BWL_QUEUE_STATUS_BUSY, .is_ours = true, .ends = true, .left_ms = 700 } },
    { "k2", "SET k2 " FOREIGN_TEXT, BWL_NO, { .kind = BWL_QUEUE_STATUS_BUSY } },
    { "k3", "RPUSH k3 element", 0, { 0 } },
    { "k4", "ZADD {k4}:bwl.q 5 member", 0, { 0 } },
    { "k5",
      "SET k5 b1:=999999999DDDDDDDDDDDDDDDD PX 700",
      BWL_NO,
      { .kind    = BWL_QUEUE_STATUS_BUSY,
        .is_ours = true,
        .rests   = true,
        .ends    = true,
        .left_ms = 700 } },
    { "k6", "GET none", BWL_YES, { .kind = BWL_QUEUE_STATUS_HELD } },
    { "k0",
      "GET none",
      BWL_NO,
      { .kind = BWL_QUEUE_STATUS_BUSY, .is_ours = true, .ends = true, .left_ms = 5000 } },
};
enum { LOCKS = sizeof locks / sizeof locks[0], FENCE = 1700000000 };

static void make_locks(void)
{
    frozen_set(beginning_ms);
    say_done("FLUSHALL");
    say_done("SET " BWL_QUEUE_FENCES_KEY " %d000000", FENCE);
    for (unsigned i = 0; i < LOCKS; i++)
        say_done("%s", locks[i].made_by);
}

static bwl_batch_verdict take_all(bwl_batch_reply *ret_reply)
{
    static const bwl_queue_self self = { .session = "012345678" };
    bwl_redis_command_args      args = { .command  = REDIS_QUEUE_TAKE,
                                         .use_eval = true,
                                         .key_size = 2,
                                         .token    = tokens[1],
                                         .self     = &self };

    bwl_batch_write(&line.out, &args, LOCKS);
    for (unsigned i = 0; i < LOCKS; i++) {
        args.key = locks[i].key;
        bwl_batch_write_keys(&line.out, &args);
    }
    for (unsigned i = 0; i < LOCKS; i++)
        bwl_batch_write_arguments(&line.out, &args);
    bwl_resp_write_integer(&line.out, 5000);
    wire_flush(&line);
    bwl_resp_cursor frame = wire_next(&line);
    return bwl_batch_read(args.command, LOCKS, frame.bytes, frame.size, ret_reply);
}

TEST(take_of_each_lock_in_a_batch_is_answered_by_its_own_state)
{
    bwl_batch_reply reply;
    unsigned        grants = 0;

    make_locks();
    assert_int_equal(take_all(&reply), BWL_BATCH_EACH);
    for (unsigned i = 0; i < LOCKS; i++) {
        print_message("# %u: %s\n", i, locks[i].made_by);
        const bwl_queue_status *is = &reply.statuses[i], *was = &locks[i].status;
        assert_int_equal(reply.answers[i], locks[i].answer);
        assert_int_equal(is->kind, was->kind);
        assert_true(is->is_ours == was->is_ours && is->rests == was->rests &&
                    is->ends == was->ends && is->left_ms == was->left_ms);
        grants += locks[i].answer == BWL_YES;
        assert_int_equal(reply.fences[i],
                         locks[i].answer == BWL_YES
                             ? (FENCE * INT64_C(1000000) + grants) * BWL_QUEUE_HANDOFFS
                             : 0);
    }
    assert_int_equal(left_on_server(0), 5000);
    assert_int_equal(left_on_server(1), 700);
    assert_int_equal(left_on_server(4), -2);
    assert_int_equal(left_on_server(6), 5000);
}

/* What the server refuses for one lock, its own TAKE is to be told; nothing is taken halfway. */
TEST(take_in_a_batch_that_the_server_refuses_has_to_be_sent_alone)
{
    static const char *const refusals[][2] = {
        { "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0" },
        { "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0" },
        { "ACL SETUSER default -incr", "ACL SETUSER default +incr" },
        { "ACL SETUSER default -set", "ACL SETUSER default +set" },
        { "SET " BWL_QUEUE_FENCES_KEY " 7", "GET none" },
        { "SET " BWL_QUEUE_FENCES_KEY " 9007199254740991", "GET none" },
        { "SET " BWL_QUEUE_FENCES_KEY " text", "GET none" },
    };
    bwl_batch_reply reply;

    for (unsigned i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        print_message("# %s\n", refusals[i][0]);
        make_locks();
        (void)server_ask(redis, "%s", refusals[i][0]);
        assert_int_equal(take_all(&reply), BWL_BATCH_EACH);
        (void)server_ask(redis, "%s", refusals[i][1]);
        for (unsigned k = 0; k + 1 < LOCKS; k++)
            assert_int_equal(reply.answers[k], locks[k].answer == BWL_YES ? 0 : locks[k].answer);
        assert_int_equal(reply.answers[LOCKS - 1], 0); /* k0, which was not taken */
        assert_int_equal(left_on_server(0), -2);
        assert_int_equal(left_on_server(6), -2);
    }
    make_locks();
    (void)server_ask(redis, "ACL SETUSER default resetkeys ~k0 ~bowline:f");
    assert_int_equal(take_all(&reply), BWL_BATCH_ALONE);
    (void)server_ask(redis, "ACL SETUSER default ~*");
    assert_int_equal(left_on_server(0), -2);
}

/* The script's text, with one word replaced. */
static void write_text(unsigned nth)
{
    const char    *text = bwl_scripts[BWL_SCRIPT_EXTEND_EACH_IF_MINE].text;
    const variant *v    = &variants[nth];

    if (v->command == NULL) {
        (void)snprintf(texts[nth], sizeof texts[nth], "%s", text);
        return;
    }
    const char *at = strstr(text, v->command);
    assert_non_null(at);
    (void)snprintf(texts[nth], sizeof texts[nth], "%.*s%s%s", (int)(at - text), text, v->instead,
                   at + strlen(v->command));
}

static int set_up(void **state)
{
    redis = frozen_start(beginning_ms);
    wire_open(&line, redis->socket);
    for (unsigned i = 0; i < VARIANTS; i++)
        write_text(i);
    return 0;
}

static int tear_down(void **state)
{
    wire_close(&line);
    return frozen_stop(state);
}

AROUND(set_up, tear_down)
