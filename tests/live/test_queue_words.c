/*
 * test_queue_words.c -- the scripts of protocol queue where a key is something else, and where
 * memory is full: each word, in each state of the lock, with each fault.
 *
 * All or nothing: whatever is answered by an error has changed nothing (DEBUG DIGEST is that of all
 * data, and of what has an end, but not of when), and the error names the key.  Which words fail at
 * all is written down here.
 */
#include "engine/redis/wire/queue.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY      "bowline:{x}"
#define QUEUE    KEY ":bwl.q"
#define BEATS    KEY ":bwl.b"
#define COUNT    BWL_QUEUE_FENCES_KEY
#define SESSION  "SSSSSSSSS"
#define ME       "AAAAAAAAAAAAAAAA"
#define OTHER    "BBBBBBBBBBBBBBBB"
#define THIRD    "CCCCCCCCCCCCCCCC"
#define AFTER    "DDDDDDDDDDDDDDDD" /* by which we wait when we have yielded */
#define INBOX    "bowline:i:1111111111111111111111"
#define VALUE(t) "b1:" SESSION t
#define STANDS(t, ticket) \
    "ZADD " QUEUE " " ticket " '" VALUE(t) " 1.0000000000000001 " INBOX " 2000'"
#define HOLDS(t) "SET " KEY " " VALUE(t) " PX 600000"

enum { WORDS = REDIS_QUEUE_REQUEUE - REDIS_QUEUE_TAKE + 1, STEPS_MAX = 4 };

static server *redis;
static wire    line;
static char    digest[64];

/* ---- how the lock is ------------------------------------------------------------------------- */

typedef struct state_of_lock {
    const char *name;
    const char *steps[STEPS_MAX];
} state_of_lock;

static const state_of_lock states[] = {
    { "nothing is there", { NULL } },
    { "it is ours", { HOLDS(ME) } },
    { "it is ours, and others wait", { HOLDS(ME), STANDS(OTHER, "1"), STANDS(THIRD, "2") } },
    { "another has it, and we wait", { HOLDS(OTHER), STANDS(ME, "1"), STANDS(THIRD, "2") } },
    { "nobody has it, and we wait", { STANDS(ME, "1"), STANDS(THIRD, "2") } },
    { "nobody has it, and others wait", { STANDS(THIRD, "1") } },
    { "a stranger has it, and we wait", { "SET " KEY " of-another", STANDS(ME, "1") } },
};

enum { STATES = COUNT_OF(states) };

static void make(const state_of_lock *s)
{
    assert_string_equal(server_ask(redis, "FLUSHALL"), "OK");
    (void)server_ask(redis, "SET " COUNT " 1795323949966265");
    (void)server_ask(redis, "HSET " BEATS " b1:somebody 1");
    for (int i = 0; i < STEPS_MAX && s->steps[i] != NULL; i++)
        assert_int_not_equal(server_ask(redis, "%s", s->steps[i])[0], '-');
    (void)server_ask(redis, "PEXPIRE " QUEUE " 60000"); /* as whatever writes it does */
    (void)server_ask(redis, "PEXPIRE " BEATS " 60000");
}

static const char *data(void)
{
    return server_ask(redis, "DEBUG DIGEST");
}

/* ---- what is asked --------------------------------------------------------------------------- */

/* The answer, as a text that ends; an error begins with a minus. */
static const char *ask(bwl_redis_command command, bool waits_at_most_one)
{
    static char            text[400];
    const bwl_queue_self   self = { .uses_sharded_pubsub = server_has_sharded_channels(redis),
                                    .slot                = 1,
                                    .generation          = 1,
                                    .provisional_ttl_ms  = 2000,
                                    .queue_max           = waits_at_most_one ? 1 : 0,
                                    .session             = SESSION,
                                    .push_channels       = { INBOX } };
    bwl_redis_command_args args = { .command        = command,
                                    .use_eval       = true,
                                    .key            = KEY,
                                    .key_size       = sizeof KEY - 1,
                                    .token          = command == REDIS_QUEUE_REQUEUE ? AFTER : ME,
                                    .previous_token = ME,
                                    .lease_ms       = 30000,
                                    .self           = &self };

    bwl_redis_write(&line.out, &args);
    wire_flush(&line);
    bwl_resp_cursor frame = wire_next(&line);
    (void)snprintf(text, sizeof text, "%.*s", (int)frame.size, frame.bytes);
    return text;
}

/* Which words fail in some state, as a set of 1 << (word - TAKE); each of them all or nothing. */
static unsigned fails_under(void (*fault)(void), void (*mend)(void), const char *tells)
{
    unsigned failing = 0;

    for (unsigned i = 0; i < STATES; i++) {
        for (unsigned w = 0; w < WORDS; w++) {
            make(&states[i]);
            fault();
            (void)snprintf(digest, sizeof digest, "%s", data());
            const char *said = ask(REDIS_QUEUE_TAKE + w, i % 2 == 0);
            if (said[0] == '-') {
                failing |= 1u << w;
                if (strcmp(digest, data()) != 0 || strstr(said, tells) == NULL)
                    fail_msg("%s, word %u: \"%s\" has changed something, or does not tell %s",
                             states[i].name, w, said, tells);
            }
            mend();
        }
    }
    return failing;
}

#define TAKE          (1u << (REDIS_QUEUE_TAKE - REDIS_QUEUE_TAKE))
#define JOIN          (1u << (REDIS_QUEUE_JOIN - REDIS_QUEUE_TAKE))
#define HEARTBEAT     (1u << (REDIS_QUEUE_HEARTBEAT - REDIS_QUEUE_TAKE))
#define RELEASE       (1u << (REDIS_QUEUE_RELEASE - REDIS_QUEUE_TAKE))
#define CANCEL        (1u << (REDIS_QUEUE_CANCEL - REDIS_QUEUE_TAKE))
#define DISPATCH_NEXT (1u << (REDIS_QUEUE_DISPATCH_NEXT - REDIS_QUEUE_TAKE))
#define REQUEUE       (1u << (REDIS_QUEUE_REQUEUE - REDIS_QUEUE_TAKE))

static void nothing(void)
{
}

/* ---- keys that are something else ------------------------------------------------------------ */

static const char *odd_key;

static void make_a_list(void)
{
    (void)server_ask(redis, "DEL %s", odd_key);
    assert_string_equal(server_ask(redis, "RPUSH %s 1", odd_key), "1");
}

static void is_a_list_still(void)
{
    assert_string_equal(server_ask(redis, "LRANGE %s 0 -1", odd_key), "1");
}

TEST(words_where_the_lock_is_a_list)
{
    odd_key = KEY;
    assert_int_equal(fails_under(make_a_list, is_a_list_still, KEY), 0);
}

TEST(words_where_the_queue_is_a_list)
{
    odd_key = QUEUE;
    assert_int_equal(fails_under(make_a_list, is_a_list_still, QUEUE),
                     TAKE | JOIN | HEARTBEAT | RELEASE | CANCEL | DISPATCH_NEXT | REQUEUE);
}

TEST(words_where_the_beats_are_a_list)
{
    odd_key = BEATS;
    assert_int_equal(fails_under(make_a_list, nothing, BEATS),
                     TAKE | JOIN | HEARTBEAT | RELEASE | CANCEL | DISPATCH_NEXT | REQUEUE);
}

TEST(words_where_the_count_is_a_list)
{
    odd_key = COUNT;
    assert_int_equal(fails_under(make_a_list, is_a_list_still, COUNT),
                     TAKE | JOIN | HEARTBEAT | RELEASE | CANCEL | DISPATCH_NEXT | REQUEUE);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void fill_memory(void)
{
    assert_string_equal(server_ask(redis, "CONFIG SET maxmemory 1"), "OK");
}

static void empty_memory(void)
{
    assert_string_equal(server_ask(redis, "CONFIG SET maxmemory 0"), "OK");
}

/* Who holds or waits is served; who comes anew is refused. */
TEST(words_where_memory_is_full)
{
    assert_int_equal(fails_under(fill_memory, empty_memory, "OOM"), TAKE | JOIN);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static int open_server(void **state)
{
    server_needed();
    redis = server_start(server_is_new() ? "--enable-debug-command yes" : NULL);
    wire_open(&line, redis->socket);
    (void)wire_ask(&line, "HELLO 3");
    return 0;
}

static int close_server(void **state)
{
    wire_close(&line);
    server_stop(redis);
    return 0;
}

AROUND(open_server, close_server)
