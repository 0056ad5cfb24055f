/*
 * test_symfony_server.c -- a lock of Symfony on a real server: the key to the byte, what is
 * somebody else's, which waiters wake, and what a user without a right is told.
 *
 * Beside Symfony's own scripts it is in test_symfony_scripts.c, beside the PHP library in
 * tests/interop/symfony.py.
 */
#include "runtime/lock.h"
#include "api/engines.h"
#include "runtime/loop.h"
#include "tests/lib/server.h"
#include "tests/lib/symfony_scripts.h"
#include "tests/lib/testing.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS "cmVhZGVyIEEgb2YgU3ltZm9ueSdzLCAzMiBieXRlcyE="
#define NEVER  "9000000000000"

enum { LEASE_MS = 300000, PATIENCE_MS = 10000 };

static server *redis;

static bowline_client *open_profile(const char *profile)
{
    char url[300];

    (void)snprintf(url, sizeof url, "%s?profile=%s&wait=0s", redis->tcp_url, profile);
    return must_open(url);
}

static const char *theirs(const char *script)
{
    return server_ask(redis, "EVAL '%s' 1 nightly 1.5 " OTHERS " %d", script, LEASE_MS);
}

static void assert_is_set_of_ours(const char *text)
{
    regex_t form;

    print_message("# %s\n", text);
    assert_int_equal(regcomp(&form,
                             "^([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]= __write__|"
                             "__write__ [A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    assert_int_equal(regexec(&form, text, 0, NULL, 0), 0);
    regfree(&form);
}

/* ---- the key --------------------------------------------------------------------------------- */

static void test_symfony_writes_a_set_of_two_that_vanishes(void **state)
{
    bowline_client *client = open_profile("symfony");
    bowline_hold   *hold   = must_acquire(client, "nightly");
    char            first[100];

    (void)state;
    assert_string_equal(server_ask(redis, "KEYS *"), "nightly");
    assert_string_equal(server_ask(redis, "TYPE nightly"), "zset");
    (void)snprintf(first, sizeof first, "%s", server_ask(redis, "ZRANGE nightly 0 -1"));
    assert_is_set_of_ours(first);
    long left_ms = atol(server_ask(redis, "PTTL nightly"));
    assert_true(left_ms > LEASE_MS / 2 && left_ms <= LEASE_MS);
    assert_int_equal(bowline_hold_fence(hold), 0);
    assert_null(bowline_client_risk(client));
    must_release(hold);
    assert_string_equal(server_ask(redis, "KEYS *"), "");
    hold = must_acquire(client, "nightly");
    assert_string_not_equal(server_ask(redis, "ZRANGE nightly 0 -1"), first);
    must_release(hold);
    bowline_close(client);
}

static void test_symfony_extends_its_own_member(void **state)
{
    bowline_client *client = open_profile("symfony");
    bowline_hold   *hold   = must_acquire(client, "nightly");
    bowline_error   error;

    (void)state;
    assert_status(BOWLINE_OK, bowline_extend(hold, 2 * LEASE_MS, &error), &error);
    assert_true(atol(server_ask(redis, "PTTL nightly")) > LEASE_MS);
    (void)server_ask(redis, "PERSIST nightly");
    assert_status(BOWLINE_OK, bowline_extend(hold, 2 * LEASE_MS, &error), &error);
    assert_true(atol(server_ask(redis, "PTTL nightly")) > LEASE_MS);
    must_release(hold);
    bowline_close(client);
}

/* What an extension comes to once there is a connection again: one that breaks under it is not the
 * end of the hold. */
static int extend_when_connected(bowline_hold *hold)
{
    bowline_error error;
    int           status = BOWLINE_UNKNOWN;

    for (unsigned i = 0; i < 100 && status != BOWLINE_OK && status != BOWLINE_LOST; i++)
        status = bowline_extend(hold, 2 * LEASE_MS, &error);
    return status;
}

/* A new connection asks for what is held, in the words of this protocol. */
static void test_symfony_hold_outlives_its_connection(void **state)
{
    bowline_client *client = open_profile("symfony");
    bowline_hold   *hold   = must_acquire(client, "nightly");
    char            kept[100];
    bowline_error   error;

    (void)state;
    (void)snprintf(kept, sizeof kept, "%s", server_ask(redis, "ZRANGE nightly 0 -1"));
    server_hang_up(redis);
    assert_int_equal(extend_when_connected(hold), BOWLINE_OK);
    assert_string_equal(server_ask(redis, "ZRANGE nightly 0 -1"), kept);
    (void)server_ask(redis, "DEL nightly");
    server_hang_up(redis);
    assert_int_equal(extend_when_connected(hold), BOWLINE_LOST);
    (void)bowline_release(hold, &error); /* it is over already */
    bowline_close(client);
}

/* ---- of others ------------------------------------------------------------------------------- */

static void test_symfony_keys_of_others_are_never_touched(void **state)
{
    static const char *const made[] = {
        "ZADD nightly " NEVER " " OTHERS " " NEVER " __write__",
        "ZADD nightly " NEVER " " OTHERS,
        "SET nightly text",
        "RPUSH nightly a",
        "HSET nightly field 1",
    };
    bowline_client *client = open_profile("symfony");
    bowline_error   error;

    (void)state;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        char before[500];
        (void)server_ask(redis, "%s", made[i]);
        (void)snprintf(before, sizeof before, "%s", server_ask(redis, "DUMP nightly"));
        assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
        assert_string_equal(server_ask(redis, "DUMP nightly"), before);
        (void)server_ask(redis, "DEL nightly");
        bowline_hold *hold = must_acquire(client, "nightly");
        (void)server_ask(redis, "DEL nightly");
        (void)server_ask(redis, "%s", made[i]);
        assert_status(BOWLINE_LOST, bowline_extend(hold, 2 * LEASE_MS, &error), &error);
        (void)bowline_release(hold, &error); /* it is over already */
        assert_string_equal(server_ask(redis, "DUMP nightly"), before);
        assert_string_equal(server_ask(redis, "PTTL nightly"), "-1");
        (void)server_ask(redis, "DEL nightly");
        hold = must_acquire(client, "nightly");
        (void)server_ask(redis, "DEL nightly");
        (void)server_ask(redis, "%s", made[i]);
        assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
        assert_string_equal(server_ask(redis, "DUMP nightly"), before);
        assert_string_equal(server_ask(redis, "PTTL nightly"), "-1");
        (void)server_ask(redis, "DEL nightly");
    }
    bowline_close(client);
}

static void test_symfony_holder_can_be_broken_and_readers_cannot(void **state)
{
    bowline_client *client = open_profile("symfony");
    bowline_client *plain  = open_profile("redis-py");
    bowline_holder  holder = { .size = sizeof holder };
    bowline_error   error;

    (void)state;
    assert_string_equal(theirs(SYMFONY_SAVE), "1");
    assert_status(BOWLINE_OK, bowline_who(plain, "nightly", &holder, &error), &error);
    assert_int_equal(holder.foreign, 1);
    assert_non_null(strstr(holder.note, "profile=symfony"));
    assert_status(BOWLINE_OK, bowline_who(client, "nightly", &holder, &error), &error);
    assert_int_equal(holder.foreign, 0);
    assert_int_not_equal(holder.id, 0);
    assert_status(BOWLINE_OK, bowline_break(client, "nightly", holder.id, &error), &error);
    assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
    assert_string_equal(theirs(SYMFONY_EXISTS), "(nil)");
    assert_string_equal(theirs(SYMFONY_SAVE_READ), "1");
    assert_status(BOWLINE_OK, bowline_who(client, "nightly", &holder, &error), &error);
    assert_int_equal(holder.held, 1);
    assert_int_equal(holder.id, 0);
    (void)server_ask(redis, "DEL nightly");
    bowline_close(plain);
    bowline_close(client);
}

/* ---- who is woken ---------------------------------------------------------------------------- */

/* Drives it until it is so, ten seconds at most. */
static void drive_until(bwl_shard      *client, bool (*is_so)(const bwl_lock *lock),
                        const bwl_lock *lock)
{
    bwl_fault fault;
    bwl_ms    end = bwl_shard_now(client) + PATIENCE_MS;

    while (!is_so(lock) && bwl_shard_now(client) < end)
        assert_int_equal(bwl_loop_run(&client->loop, bwl_shard_now(client) + 20, &fault), BWL_OK);
    assert_true(is_so(lock));
}

static bool has_tried_twice(const bwl_lock *lock)
{
    return lock->base.hold.state == BWL_HOLD_WAITING && lock->base.hold.claim.attempt >= 2;
}

static bool is_held(const bwl_lock *lock)
{
    return lock->base.hold.state == BWL_HOLD_HELD;
}

static const char delete_it[] = "EVAL '" SYMFONY_DELETE "' 1 nightly " OTHERS;

/* Its next attempts are put off for ever: only a push can bring one. */
static void test_symfony_waiter_is_woken_by_the_server_alone(void **state)
{
    static const bwl_settings nothing;
    static bwl_operation      operation;
    static const char *const  ends[] = { delete_it, "FLUSHALL", "PING" };
    bwl_shard                *client;
    bwl_fault                 fault;
    bwl_lock                 *lock;
    char                      url[200];

    (void)state;
    (void)snprintf(url, sizeof url, "%s?profile=symfony", redis->tcp_url);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, url, &fault),
                         BWL_OK);
        bwl_shard_lock(client);
        const bwl_terms terms          = { .lease_ms    = LEASE_MS,
                                           .max_hold_ms = BWL_NEVER,
                                           .answer_ms   = client->host.settings.answer_ms,
                                           .rules       = client->host.settings.rules };
        bool            ends_by_itself = strcmp(ends[i], "PING") == 0;
        assert_string_equal(server_ask(redis, "EVAL '%s' 1 nightly 1.5 " OTHERS " %d", SYMFONY_SAVE,
                                       ends_by_itself ? PATIENCE_MS / 2 : LEASE_MS),
                            "1");
        assert_int_equal(bwl_lock_new(&lock, client, "nightly", &terms, &fault), BWL_OK);
        bwl_lock_acquire(lock, &operation, BWL_NEVER);
        drive_until(client, has_tried_twice, lock);
        lock->base.hold.look_at = BWL_NEVER;
        uint32_t attempt        = lock->base.hold.claim.attempt;
        (void)server_ask(redis, "%s", ends[i]);
        drive_until(client, is_held, lock);
        assert_int_equal(lock->base.hold.claim.attempt, attempt + 1);
        assert_is_set_of_ours(server_ask(redis, "ZRANGE nightly 0 -1"));
        bwl_shard_unlock(client);
        bwl_shard_close(client);
        (void)server_ask(redis, "DEL nightly");
    }
}

/* ---- rights ---------------------------------------------------------------------------------- */

#define USER "ACL SETUSER app on >pw resetkeys resetchannels -@all +hello +info "
#define LOCK                                                                                  \
    "~nightly +eval +evalsha +time +exists +pexpireat +zadd +zrem +zcard +zscore +zrevrange " \
    "+zremrangebyscore "

static bowline_client *open_as_app(const char *rule)
{
    char url[200];

    assert_string_equal(server_ask(redis, "%s", rule), "OK");
    (void)snprintf(url, sizeof url, "redis://app:pw@127.0.0.1:%d?profile=symfony", redis->port);
    return must_open(url);
}

static void test_symfony_without_tracking_still_comes_to_its_turn(void **state)
{
    bowline_client *client = open_as_app(USER LOCK);
    bowline_hold   *hold;
    bowline_error   error;

    (void)state;
    assert_string_equal(server_ask(redis, "EVAL '%s' 1 nightly 1.5 " OTHERS " 1000", SYMFONY_SAVE),
                        "1");
    assert_status(BOWLINE_OK,
                  bowline_acquire(&hold, client, "nightly",
                                  BOWLINE_ACQUIRE(.wait_ms = 6 * PATIENCE_MS), &error),
                  &error);
    assert_string_not_equal(server_ask(redis, "ACL LOG 1"), ""); /* it has asked for pushes */
    (void)server_ask(redis, "ACL LOG RESET");
    assert_status(BOWLINE_OK, bowline_extend(hold, 2 * LEASE_MS, &error), &error);
    must_release(hold);
    bowline_close(client);
    (void)server_ask(redis, "ACL DELUSER app");
}

/* A key that was made and has no end would stay. */
static void test_symfony_without_a_right_leaves_no_key(void **state)
{
    static const char *const without[] = { "-pexpireat", "-zadd", "-zremrangebyscore",
                                           "-exists",    "-time", "-zscore" };

    (void)state;
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        char rule[400];
        (void)snprintf(rule, sizeof rule, USER LOCK "%s", without[i]);
        bowline_client *client = open_as_app(rule);
        assert_int_equal(try_once(client, "nightly"), BOWLINE_REFUSED);
        bowline_close(client);
        assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
    }
    (void)server_ask(redis, "ACL DELUSER app");
}

/* ---- all ------------------------------------------------------------------------------------- */

static int start_server(void **state)
{
    (void)state;
    server_needed();
    redis = server_start(NULL);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    server_stop(redis);
    return 0;
}

static int is_empty(void **state)
{
    (void)state;
    return server_becomes_empty(redis) ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_teardown(name, is_empty)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_symfony_writes_a_set_of_two_that_vanishes),
        TEST(test_symfony_extends_its_own_member),
        TEST(test_symfony_hold_outlives_its_connection),
        TEST(test_symfony_keys_of_others_are_never_touched),
        TEST(test_symfony_holder_can_be_broken_and_readers_cannot),
        TEST(test_symfony_waiter_is_woken_by_the_server_alone),
        TEST(test_symfony_without_tracking_still_comes_to_its_turn),
        TEST(test_symfony_without_a_right_leaves_no_key),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
