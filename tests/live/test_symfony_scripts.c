/*
 * test_symfony_scripts.c -- bowline beside the exact scripts of Symfony's RedisStore, on a real
 * server whose clock is stopped: so the end of each lease is known to the millisecond.
 *
 * The PHP library itself is beside it in tests/interop/symfony.py.
 */
#include "engine/redis/wire/scripts.h"
#include "tests/lib/frozen.h"
#include "tests/lib/suite.h"
#include "tests/lib/symfony_scripts.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>

#define A "cmVhZGVyIEEgb2YgU3ltZm9ueSdzLCAzMiBieXRlcyE="
#define B "cmVhZGVyIEIgb2YgU3ltZm9ueSdzLCAzMiBieXRlcyE="

enum { LEASE_MS = 300000, SHORT_MS = 1000 };

static const int64_t beginning_ms = INT64_C(1800000000000);

static server         *redis;
static bowline_client *client;
static int64_t         now_ms;

static void set_clock(int64_t to_ms)
{
    now_ms = to_ms;
    frozen_set(now_ms);
    frozen_await(redis);
}

static void pass(int64_t by_ms)
{
    set_clock(now_ms + by_ms);
}

/* What a script of Symfony's answers: "1", or "(nil)" for false. */
static const char *ask(const char *script, const char *token, int64_t ttl_ms)
{
    return server_ask(redis, "EVAL '%s' 1 nightly 1.5 %s %lld", script, token, (long long)ttl_ms);
}

static void expect_yes(const char *script, const char *token, int64_t ttl_ms)
{
    assert_string_equal(ask(script, token, ttl_ms), "1");
}

static void expect_no(const char *script, const char *token, int64_t ttl_ms)
{
    assert_string_equal(ask(script, token, ttl_ms), "(nil)");
}

static const char *forget(const char *token)
{
    return server_ask(redis, "EVAL '%s' 1 nightly %s", SYMFONY_DELETE, token);
}

/* Copies the set into the buffer of the caller. */
static void remember(char ret_set[400])
{
    (void)snprintf(ret_set, 400, "%s; %s", server_ask(redis, "ZRANGE nightly 0 -1 WITHSCORES"),
                   server_ask(redis, "PTTL nightly"));
}

static void expect_set(const char *wanted)
{
    char is[400];

    remember(is);
    assert_string_equal(is, wanted);
}

/* Our own member: the one that is not __write__. */
static const char *member(void)
{
    static char two[2][100];
    const char *set = server_ask(redis, "ZRANGE nightly 0 -1");

    assert_int_equal(sscanf(set, "%99s %99s", two[0], two[1]), 2);
    return strcmp(two[0], "__write__") == 0 ? two[1] : two[0];
}

/* ---- exclusion ------------------------------------------------------------------------------- */

/* Without a renewal thread: nothing is renewed unless the test does it. */
static int begin(void **state)
{
    char url[200];

    set_clock(beginning_ms);
    (void)snprintf(url, sizeof url, "%s?profile=symfony&wait=0s", redis->tcp_url);
    client = must_open_without_renewal_thread(url);
    return 0;
}

static int is_empty(void **state)
{
    bowline_close(client);
    return server_becomes_empty(redis) ? 0 : -1;
}

FIXTURE(begin, is_empty)

TEST(symfony_their_hold_is_busy_and_unchanged)
{
    char before[400];

    expect_yes(SYMFONY_SAVE, A, LEASE_MS);
    remember(before);
    assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
    expect_set(before);
    assert_string_equal(forget(A), "1");
    bowline_hold *hold = must_acquire(client, "nightly");
    must_release(hold);
    assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
}

TEST(symfony_our_hold_is_a_conflict_and_unchanged)
{
    bowline_hold *hold = must_acquire(client, "nightly");
    char          before[400];

    remember(before);
    expect_no(SYMFONY_SAVE, A, LEASE_MS);
    expect_no(SYMFONY_SAVE_READ, A, LEASE_MS);
    expect_no(SYMFONY_PUT_OFF, A, LEASE_MS);
    expect_no(SYMFONY_EXISTS, A, LEASE_MS);
    assert_string_equal(forget(A), "(nil)");
    expect_set(before);
    must_release(hold);
    expect_yes(SYMFONY_SAVE, A, LEASE_MS);
    assert_string_equal(forget(A), "1");
}

/* Byte for byte what Symfony would have there with our token. */
TEST(symfony_our_set_equals_that_of_symfony)
{
    bowline_hold *hold = must_acquire(client, "nightly");
    char          token[100];
    char          ours[400];
    bowline_error error;

    (void)snprintf(token, sizeof token, "%s", member());
    expect_yes(SYMFONY_EXISTS, token, LEASE_MS);
    remember(ours);
    must_release(hold);
    expect_yes(SYMFONY_SAVE, token, LEASE_MS);
    expect_set(ours);
    assert_string_equal(forget(token), "1");

    hold = must_acquire(client, "nightly");
    (void)snprintf(token, sizeof token, "%s", member());
    pass(10000);
    assert_status(BOWLINE_OK, bowline_extend(hold, LEASE_MS, &error), &error);
    remember(ours);
    expect_yes(SYMFONY_PUT_OFF, token, LEASE_MS);
    expect_set(ours);
    must_release(hold);
}

/* ---- readers --------------------------------------------------------------------------------- */

TEST(symfony_readers_exclude_us_until_the_last_has_ended)
{
    char before[400];

    expect_yes(SYMFONY_SAVE_READ, A, LEASE_MS);
    expect_yes(SYMFONY_SAVE_READ, B, LEASE_MS);
    remember(before);
    assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
    expect_set(before);
    assert_string_equal(forget(A), "1");
    assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
    expect_yes(SYMFONY_SAVE, B, LEASE_MS); /* promoted */
    assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
    assert_string_equal(forget(B), "1");
    bowline_hold *hold = must_acquire(client, "nightly");
    expect_no(SYMFONY_SAVE_READ, A, LEASE_MS);
    must_release(hold);
}

TEST(symfony_holders_are_distinguished_from_readers)
{
    expect_yes(SYMFONY_SAVE, A, LEASE_MS);
    (void)server_ask(redis, "PERSIST nightly"); /* the scores still end it */
    pass(SHORT_MS);
    bowline_holder holder = must_who(client, "nightly");
    assert_int_equal(holder.held, 1);
    assert_int_equal(holder.foreign, 0);
    assert_int_not_equal(holder.id, 0);
    assert_int_equal(holder.left_ms, LEASE_MS - SHORT_MS);
    assert_string_equal(holder.note, "");
    expect_yes(SYMFONY_SAVE_READ, A, LEASE_MS);
    expect_yes(SYMFONY_SAVE_READ, B, LEASE_MS);
    holder = must_who(client, "nightly");
    assert_int_equal(holder.foreign, 1);
    assert_int_equal(holder.id, 0);
    assert_non_null(strstr(holder.note, "readers have it"));
    (void)server_ask(redis, "PERSIST nightly");
    pass(LEASE_MS);
    assert_int_equal(must_who(client, "nightly").held, 0);
    (void)server_ask(redis, "DEL nightly");
}

/* ---- time ------------------------------------------------------------------------------------ */

TEST(symfony_takes_over_our_expired_hold)
{
    bowline_hold *hold = must_acquire(client, "nightly");
    char          theirs[400];
    bowline_error error;

    pass(LEASE_MS - 1);
    expect_no(SYMFONY_SAVE, A, LEASE_MS);
    pass(1);
    expect_yes(SYMFONY_SAVE, A, LEASE_MS);
    remember(theirs);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    expect_set(theirs);
    assert_string_equal(forget(A), "1");
}

/* ---- members of others beside ours ----------------------------------------------------------- */

TEST(symfony_extension_needs_write_and_keeps_it)
{
    bowline_hold *hold = must_acquire(client, "nightly");
    char          before[400];
    bowline_error error;

    pass(SHORT_MS);
    assert_status(BOWLINE_OK, bowline_extend(hold, LEASE_MS, &error), &error);
    assert_string_equal(server_ask(redis, "ZSCORE nightly __write__"),
                        server_ask(redis, "ZSCORE nightly %s", member()));
    (void)server_ask(redis, "ZREM nightly __write__");
    remember(before);
    assert_status(BOWLINE_LOST, bowline_extend(hold, 2 * LEASE_MS, &error), &error);
    expect_set(before);
    (void)bowline_release(hold, &error); /* it has ended already */
    (void)server_ask(redis, "DEL nightly");
}

/* Only an operator adds a member beside a hold.  It stays until the time of its score. */
TEST(symfony_release_leaves_members_of_others)
{
    bowline_hold *hold = must_acquire(client, "nightly");
    char          others[100];
    bowline_error error;

    (void)server_ask(redis, "ZADD nightly %lld " B, (long long)(now_ms + 2 * LEASE_MS));
    assert_status(BOWLINE_OK, bowline_extend(hold, LEASE_MS, &error), &error);
    assert_int_equal(atoi(server_ask(redis, "PTTL nightly")), 2 * LEASE_MS);
    must_release(hold);
    (void)snprintf(others, sizeof others, B " %lld; %d", (long long)(now_ms + 2 * LEASE_MS),
                   2 * LEASE_MS);
    expect_set(others);
    (void)server_ask(redis, "DEL nightly");
}

/* If the key lasted as long as our member, it would not show when the last other member ends. */
TEST(symfony_release_ends_the_key_with_the_last_of_others)
{
    bowline_hold *hold = must_acquire(client, "nightly");
    char          others[100];

    (void)server_ask(redis, "ZADD nightly %lld " B, (long long)(now_ms + SHORT_MS));
    must_release(hold);
    (void)snprintf(others, sizeof others, B " %lld; %d", (long long)(now_ms + SHORT_MS), SHORT_MS);
    expect_set(others);
    (void)server_ask(redis, "DEL nightly");
}

static const char *take_again(void)
{
    return server_ask(redis, "EVALSHA %s 1 nightly %s %d", bwl_scripts[BWL_SCRIPT_ZSET_TAKE].sha1,
                      member(), LEASE_MS);
}

/* A client that got no reply sends the command again with the same member.  The reply is yes, and
 * the lease counts from the first command, as long as there is no other member. */
TEST(symfony_repeated_command_changes_nothing)
{
    bowline_hold *hold = must_acquire(client, "nightly");
    char          before[400];

    pass(SHORT_MS);
    remember(before);
    assert_string_equal(take_again(), "1");
    expect_set(before);
    (void)server_ask(redis, "ZREM nightly __write__");
    (void)server_ask(redis, "ZADD nightly %lld x", (long long)(now_ms + LEASE_MS));
    remember(before);
    assert_string_equal(take_again(), "0");
    expect_set(before);
    (void)server_ask(redis, "ZADD nightly %lld __write__", (long long)(now_ms + LEASE_MS));
    assert_string_equal(server_ask(redis, "EVALSHA %s 1 nightly x %d",
                                   bwl_scripts[BWL_SCRIPT_ZSET_TAKE].sha1, LEASE_MS),
                        "0");
    (void)server_ask(redis, "ZREM nightly x");
    must_release(hold);
}

/* ---- other kinds ----------------------------------------------------------------------------- */

/* Before 5.2 it was a string: both refuse it. */
TEST(symfony_string_of_an_old_version_is_busy)
{
    (void)server_ask(redis, "SET nightly " A " PX 300000");
    assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
    expect_no(SYMFONY_SAVE, B, LEASE_MS);
    bowline_holder holder = must_who(client, "nightly");
    assert_int_equal(holder.foreign, 1);
    assert_non_null(strstr(holder.note, "before 5.2"));
    assert_string_equal(server_ask(redis, "GET nightly"), A);
    (void)server_ask(redis, "DEL nightly");
}

/* ---- all ------------------------------------------------------------------------------------- */

static int start_server(void **state)
{
    redis = frozen_start(beginning_ms);
    return 0;
}

AROUND(start_server, frozen_stop)
