/*
 * test_queue_words.c -- each script of protocol queue, in each state of the lock, with each fault:
 * a key of another type, or full memory.
 *
 * A script that replies with an error has changed nothing (DEBUG DIGEST covers all data and which
 * keys have an expiry, but not its time), and the error names the key. The tests list which scripts
 * fail at all.
 */
#include "engine/redis/wire/queue.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/suite.h"
#include "tests/lib/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define KEY          "bowline:{x}"
#define QUEUE        KEY ":bwl.q"
#define HEARTBEATS   KEY ":bwl.b"
#define COUNT        BWL_QUEUE_FENCES_KEY
#define SESSION      "SSSSSSSSS"
#define ME           "AAAAAAAAAAAAAAAA"
#define OTHER        "BBBBBBBBBBBBBBBB"
#define THIRD        "CCCCCCCCCCCCCCCC"
#define AFTER        "DDDDDDDDDDDDDDDD" /* the token after a yield */
#define PUSH_CHANNEL "bowline:i:1111111111111111111111"
#define VALUE(t)     "b1:" SESSION t
#define WAITS(t, ticket) \
    "ZADD " QUEUE " " ticket " '" VALUE(t) " 1.0000000000000001 " PUSH_CHANNEL " 2000'"
#define HOLDS(t) "SET " KEY " " VALUE(t) " PX 600000"

enum { COMMANDS = REDIS_QUEUE_REQUEUE - REDIS_QUEUE_TAKE + 1, STEPS_MAX = 4 };

static server *redis;
static wire    line;
static char    digest[64];
static int64_t rest_ms; /* what REST leaves; 0: as RELEASE */

/* ---- states of the lock ---------------------------------------------------------------------- */

typedef struct state_of_lock {
    const char *name;
    const char *steps[STEPS_MAX];
} state_of_lock;

static const state_of_lock states[] = {
    { "no keys", { NULL } },
    { "we hold", { HOLDS(ME) } },
    { "we hold, and others wait", { HOLDS(ME), WAITS(OTHER, "1"), WAITS(THIRD, "2") } },
    { "another client holds, and we wait", { HOLDS(OTHER), WAITS(ME, "1"), WAITS(THIRD, "2") } },
    { "free, and we wait", { WAITS(ME, "1"), WAITS(THIRD, "2") } },
    { "free, and others wait", { WAITS(THIRD, "1") } },
    { "a foreign lock, and we wait", { "SET " KEY " of-another", WAITS(ME, "1") } },
};

enum { STATES = COUNT_OF(states) };

static void make(const state_of_lock *s)
{
    assert_string_equal(server_ask(redis, "FLUSHALL"), "OK");
    (void)server_ask(redis, "SET " COUNT " 1795323949966265");
    (void)server_ask(redis, "HSET " HEARTBEATS " b1:somebody 1");
    for (int i = 0; i < STEPS_MAX && s->steps[i] != NULL; i++)
        assert_int_not_equal(server_ask(redis, "%s", s->steps[i])[0], '-');
    (void)server_ask(redis, "PEXPIRE " QUEUE " 60000"); /* as the scripts do */
    (void)server_ask(redis, "PEXPIRE " HEARTBEATS " 60000");
}

static const char *data(void)
{
    return server_ask(redis, "DEBUG DIGEST");
}

/* ---- commands -------------------------------------------------------------------------------- */

/* The reply as a string; an error begins with a minus. */
static const char *execute(bwl_redis_command command, bool waits_at_most_one)
{
    static char            text[400];
    const bwl_queue_self   self = { .uses_sharded_pubsub = server_has_sharded_channels(redis),
                                    .slot                = 1,
                                    .generation          = 1,
                                    .provisional_ttl_ms  = 2000,
                                    .queue_max           = waits_at_most_one ? 1 : 0,
                                    .session             = SESSION,
                                    .push_channels       = { PUSH_CHANNEL } };
    bwl_redis_command_args args = { .command        = command,
                                    .use_eval       = true,
                                    .key            = KEY,
                                    .key_size       = sizeof KEY - 1,
                                    .token          = command == REDIS_QUEUE_REQUEUE ? AFTER : ME,
                                    .previous_token = ME,
                                    .lease_ms       = 30000,
                                    .number         = rest_ms,
                                    .who            = "ann@web-2",
                                    .self           = &self };

    bwl_redis_write(&line.out, &args);
    wire_flush(&line);
    bwl_resp_cursor frame = wire_next(&line);
    (void)snprintf(text, sizeof text, "%.*s", (int)frame.size, frame.bytes);
    return text;
}

/* Which scripts fail in some state, as a set of 1 << (command - TAKE); checks that a failed script
 * changed nothing. */
static unsigned fails_under(void (*fault)(void), void (*repair)(void), const char *error_part)
{
    unsigned failing = 0;

    for (unsigned i = 0; i < STATES; i++) {
        for (unsigned w = 0; w < COMMANDS; w++) {
            make(&states[i]);
            fault();
            (void)snprintf(digest, sizeof digest, "%s", data());
            const char *reply = execute(REDIS_QUEUE_TAKE + w, i % 2 == 0);
            if (reply[0] == '-') {
                failing |= 1u << w;
                if (strcmp(digest, data()) != 0 || strstr(reply, error_part) == NULL)
                    fail_msg("%s, command %u: \"%s\" changed data, or does not contain %s",
                             states[i].name, w, reply, error_part);
            }
            repair();
        }
    }
    return failing;
}

#define BIT(command)   (1u << (REDIS_QUEUE_##command - REDIS_QUEUE_TAKE))
#define ALL_BUT_EXTEND (((1u << COMMANDS) - 1) & ~BIT(EXTEND))

static void no_repair(void)
{
}

/* ---- keys of another type -------------------------------------------------------------------- */

static const char *odd_key;

static void make_a_list(void)
{
    (void)server_ask(redis, "DEL %s", odd_key);
    assert_string_equal(server_ask(redis, "RPUSH %s 1", odd_key), "1");
}

static void check_list_is_unchanged(void)
{
    assert_string_equal(server_ask(redis, "LRANGE %s 0 -1", odd_key), "1");
}

TEST(scripts_that_fail_at_a_list_change_nothing)
{
    static const struct {
        const char *key;
        void (*check)(void);
        unsigned failing;
    } lists[] = {
        { KEY, check_list_is_unchanged, 0 },
        { QUEUE, check_list_is_unchanged, ALL_BUT_EXTEND },
        { HEARTBEATS, no_repair, ALL_BUT_EXTEND },
        { COUNT, check_list_is_unchanged, ALL_BUT_EXTEND },
    };

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        odd_key = lists[i].key;
        if (fails_under(make_a_list, lists[i].check, odd_key) != lists[i].failing)
            fail_msg("other scripts fail when %s is a list", odd_key);
    }
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

/* Holders and waiters are served; a new client is refused. */
TEST(only_new_clients_are_refused_when_memory_is_full)
{
    for (rest_ms = 0; rest_ms <= 60000; rest_ms += 60000)
        assert_int_equal(fails_under(fill_memory, empty_memory, "OOM"), BIT(TAKE) | BIT(JOIN));
    rest_ms = 0;
}

/* ---- a place in the queue -------------------------------------------------------------------- */

static void join_at(uint64_t ticket, const char *waiters, long lasts_ms)
{
    assert_string_equal(server_ask(redis, "FLUSHALL"), "OK");
    (void)server_ask(redis, "SET " COUNT " %" PRIu64, ticket - 1);
    assert_string_equal(server_ask(redis, HOLDS(OTHER)), "OK");
    assert_string_equal(server_ask(redis, "HSET " HEARTBEATS " b1:somebody 1"), "1");
    if (waiters != NULL) {
        assert_string_equal(server_ask(redis, "%s", waiters), "1");
        assert_string_equal(server_ask(redis, "PEXPIRE " QUEUE " %ld", lasts_ms), "1");
    }
    if (lasts_ms > 0)
        assert_string_equal(server_ask(redis, "PEXPIRE " HEARTBEATS " %ld", lasts_ms), "1");
    assert_non_null(strstr(execute(REDIS_QUEUE_JOIN, false), "QUEUED"));
}

/* A score is exact below 2^53. */
TEST(ticket_of_a_waiter_is_its_score)
{
    static const uint64_t tickets[] = { 1000000000000001, 1234567890123456, 1795323949966266,
                                        9007199254740991 };

    for (size_t i = 0; i < COUNT_OF(tickets); i++) {
        join_at(tickets[i], NULL, 0);
        assert_string_equal(server_ask(redis, "ZCARD " QUEUE), "1");
        assert_string_equal(
            server_ask(redis, "ZCOUNT " QUEUE " %" PRIu64 " %" PRIu64, tickets[i], tickets[i]),
            "1");
    }
}

static long lasts(const char *key)
{
    return strtol(server_ask(redis, "PTTL %s", key), NULL, 10);
}

/* The heartbeats of the other waiters set it anew. */
TEST(waiter_sets_the_expiry_of_the_queue_if_it_is_missing_or_near)
{
    join_at(1000000000000001, NULL, 0);
    assert_in_range(lasts(QUEUE), 50001, 60000);
    assert_in_range(lasts(HEARTBEATS), 50001, 60000);
    join_at(1000000000000001, NULL, 50000);
    assert_in_range(lasts(QUEUE), 50001, 60000);
    assert_in_range(lasts(HEARTBEATS), 50001, 60000);
    join_at(1000000000000001, WAITS(THIRD, "1"), 20000);
    assert_in_range(lasts(QUEUE), 50001, 60000);
    assert_in_range(lasts(HEARTBEATS), 50001, 60000);
    join_at(1000000000000001, WAITS(THIRD, "1"), 50000);
    assert_in_range(lasts(QUEUE), 40000, 50000);
    assert_in_range(lasts(HEARTBEATS), 40000, 50000);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

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
