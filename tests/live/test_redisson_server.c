/*
 * test_redisson_server.c -- RLock and RFencedLock of Redisson on a real server: the key to the
 * byte, what is somebody else's, which waiters wake, and what a user without a right is told.
 *
 * The Java library itself is beside it in tests/interop/rlock.py.
 */
#include "runtime/lock.h"
#include "api/engines.h"
#include "runtime/loop.h"
#include "tests/lib/server.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OTHERS  "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed:77"
#define CHANNEL "redisson_lock__channel:{nightly}"
#define COUNTER "redisson_lock_token:{nightly}"

enum { LEASE_MS = 30000, PATIENCE_MS = 10000 };

static server *redis;

static bowline_client *open_profile(const char *profile, const char *more)
{
    char url[300];

    (void)snprintf(url, sizeof url, "%s?profile=%s&wait=0s%s", redis->tcp_url, profile, more);
    return must_open(url);
}

static const char *field(void)
{
    return server_ask(redis, "HKEYS nightly");
}

static void assert_is_field_of_ours(const char *text)
{
    regex_t form;

    print_message("# %s\n", text);
    assert_int_equal(regcomp(&form,
                             "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                             "[0-9a-f]{12}:1$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    assert_int_equal(regexec(&form, text, 0, NULL, 0), 0);
    regfree(&form);
}

/* ---- the key --------------------------------------------------------------------------------- */

static void test_redisson_writes_a_hash_with_one_field_that_vanishes(void **state)
{
    bowline_client *client = open_profile("redisson", "");
    bowline_hold   *hold   = must_acquire(client, "nightly");
    char            first[64];

    (void)state;
    assert_string_equal(server_ask(redis, "KEYS *"), "nightly");
    assert_string_equal(server_ask(redis, "TYPE nightly"), "hash");
    (void)snprintf(first, sizeof first, "%s", field());
    assert_is_field_of_ours(first);
    assert_string_equal(server_ask(redis, "HVALS nightly"), "1");
    long left_ms = atol(server_ask(redis, "PTTL nightly"));
    assert_true(left_ms > LEASE_MS / 2 && left_ms <= LEASE_MS);
    assert_int_equal(bowline_hold_fence(hold), 0);
    assert_null(bowline_client_risk(client));
    must_release(hold);
    assert_string_equal(server_ask(redis, "KEYS *"), "");
    hold = must_acquire(client, "nightly");
    assert_string_not_equal(field(), first);
    must_release(hold);
    bowline_close(client);
}

static void test_redisson_extends_its_own_field(void **state)
{
    bowline_client *client = open_profile("redisson", "");
    bowline_hold   *hold   = must_acquire(client, "nightly");
    bowline_error   error;

    (void)state;
    assert_status(BOWLINE_OK, bowline_extend(hold, 60000, &error), &error);
    assert_true(atol(server_ask(redis, "PTTL nightly")) > LEASE_MS);
    assert_status(BOWLINE_OK, bowline_extend(hold, 1000, &error), &error);
    assert_true(atol(server_ask(redis, "PTTL nightly")) > LEASE_MS); /* never shorter */
    (void)server_ask(redis, "PERSIST nightly");
    assert_status(BOWLINE_OK, bowline_extend(hold, 60000, &error), &error);
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
        status = bowline_extend(hold, 60000, &error);
    return status;
}

/* A new connection asks for what is held, in the words of this protocol. */
static void test_redisson_hold_outlives_its_connection(void **state)
{
    bowline_client *client = open_profile("redisson", "");
    bowline_hold   *hold   = must_acquire(client, "nightly");
    char            kept[64];
    bowline_error   error;

    (void)state;
    (void)snprintf(kept, sizeof kept, "%s", field());
    server_hang_up(redis);
    assert_int_equal(extend_when_connected(hold), BOWLINE_OK);
    assert_string_equal(field(), kept);
    (void)server_ask(redis, "DEL nightly");
    server_hang_up(redis);
    assert_int_equal(extend_when_connected(hold), BOWLINE_LOST);
    (void)bowline_release(hold, &error); /* it is over already */
    bowline_close(client);
}

/* ---- of others ------------------------------------------------------------------------------- */

static void test_redisson_fields_of_others_are_never_touched(void **state)
{
    static const char *const made[] = {
        "HSET nightly " OTHERS " 2", "HSET nightly mode write " OTHERS ":write 1",
        "SET nightly text",          "RPUSH nightly a",
        "ZADD nightly 1 a",
    };
    bowline_client *client = open_profile("redisson", "");
    bowline_error   error;

    (void)state;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        (void)server_ask(redis, "%s", made[i]);
        (void)server_ask(redis, "PEXPIRE nightly 20000");
        const char *before = server_ask(redis, "DUMP nightly");
        assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
        assert_string_equal(server_ask(redis, "DUMP nightly"), before);
        assert_true(atol(server_ask(redis, "PTTL nightly")) <= 20000);
        (void)server_ask(redis, "DEL nightly");
        bowline_hold *hold = must_acquire(client, "nightly");
        (void)server_ask(redis, "DEL nightly");
        (void)server_ask(redis, "%s", made[i]);
        before = server_ask(redis, "DUMP nightly");
        assert_status(BOWLINE_LOST, bowline_extend(hold, 60000, &error), &error);
        assert_string_equal(server_ask(redis, "PTTL nightly"), "-1");
        (void)bowline_release(hold, &error); /* it is over already */
        (void)server_ask(redis, "DEL nightly");
        hold = must_acquire(client, "nightly");
        (void)server_ask(redis, "DEL nightly");
        (void)server_ask(redis, "%s", made[i]);
        assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
        assert_string_equal(server_ask(redis, "DUMP nightly"), before);
        (void)server_ask(redis, "DEL nightly");
    }
    bowline_close(client);
}

static bowline_holder who(bowline_client *client)
{
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error;

    assert_status(BOWLINE_OK, bowline_who(client, "nightly", &holder, &error), &error);
    assert_int_equal(holder.held, 1);
    print_message("# %s\n", holder.note);
    return holder;
}

static void test_redisson_holder_is_known_and_can_be_broken(void **state)
{
    bowline_client *client = open_profile("redisson", "");
    bowline_client *plain  = open_profile("redis-py", "");
    int             fd     = server_say(redis, "SUBSCRIBE " CHANNEL);
    bowline_error   error;

    (void)state;
    assert_true(server_comes_to(redis, CHANNEL " 1", "PUBSUB NUMSUB " CHANNEL));
    (void)server_ask(redis, "HSET nightly " OTHERS " 2");
    (void)server_ask(redis, "PEXPIRE nightly 20000");
    bowline_holder holder = who(client);
    assert_int_equal(holder.foreign, 0);
    assert_true(holder.left_ms > 0 && holder.left_ms <= 20000);
    assert_int_not_equal(holder.id, 0);
    assert_int_equal(who(plain).foreign, 1);
    assert_non_null(strstr(who(plain).note, "profile=redisson"));
    assert_status(BOWLINE_OK, bowline_break(client, "nightly", holder.id, &error), &error);
    assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
    assert_string_equal(server_ask(redis, "HSET nightly mode read " OTHERS " 1"), "2");
    holder = who(client);
    assert_int_equal(holder.foreign, 1);
    assert_int_equal(holder.id, 0);
    (void)server_ask(redis, "DEL nightly");
    (void)server_ask(redis, "SET nightly text");
    assert_non_null(strstr(who(client).note, "a lock of Redisson is a hash"));
    (void)server_ask(redis, "DEL nightly");
    (void)close(fd);
    bowline_close(plain);
    bowline_close(client);
}

/* ---- fences ---------------------------------------------------------------------------------- */

static void test_redisson_fences_go_on_from_the_counter(void **state)
{
    bowline_client *client = open_profile("redisson-fenced", "");

    (void)state;
    (void)server_ask(redis, "SET " COUNTER " 41");
    for (uint64_t fence = 42; fence < 45; fence++) {
        bowline_hold *hold = must_acquire(client, "nightly");
        bowline_error error;
        assert_int_equal(bowline_hold_fence(hold), fence);
        assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY); /* which counts nothing */
        assert_status(BOWLINE_OK, bowline_extend(hold, 60000, &error), &error);
        assert_int_equal(bowline_hold_fence(hold), fence);
        must_release(hold);
    }
    assert_string_equal(server_ask(redis, "GET " COUNTER), "44");
    assert_string_equal(server_ask(redis, "PTTL " COUNTER), "-1");
    (void)server_ask(redis, "DEL " COUNTER);
    bowline_close(client);
}

static void test_redisson_counter_that_is_none_is_refused_and_locks_nothing(void **state)
{
    static const char *const counters[] = { "SET " COUNTER " text", "RPUSH " COUNTER " a",
                                            "SET " COUNTER " 9007199254740991",
                                            "SET " COUNTER " -7" };
    bowline_client          *client     = open_profile("redisson-fenced", "");

    (void)state;
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        (void)server_ask(redis, "%s", counters[i]);
        assert_int_equal(try_once(client, "nightly"), BOWLINE_REFUSED);
        assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
        (void)server_ask(redis, "DEL " COUNTER);
    }
    bowline_close(client);
}

/* ---- who is woken ---------------------------------------------------------------------------- */

/* What the connection hears until there is nothing more, ten seconds at most for the first. */
static const char *hears(int fd)
{
    static char   text[500];
    struct pollfd something = { .fd = fd, .events = POLLIN };

    assert_int_equal(poll(&something, 1, PATIENCE_MS), 1);
    ssize_t size              = read(fd, text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

static void test_redisson_release_publishes_once(void **state)
{
    static const struct {
        const char *options;
        const char *key;
        const char *channel;
    } rows[] = {
        { "", "nightly", CHANNEL },
        { "&key=a:%25s", "a:nightly", "redisson_lock__channel:{a:nightly}" },
        { "&key=%25s{a}", "nightly{a}", "redisson_lock__channel:nightly{a}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bowline_client *client = open_profile("redisson", rows[i].options);
        int             fd     = server_say(redis, "SUBSCRIBE %s", rows[i].channel);
        char            expected[200];
        assert_non_null(strstr(hears(fd), "subscribe"));
        bowline_hold *hold = must_acquire(client, "nightly");
        assert_string_equal(server_ask(redis, "KEYS *"), rows[i].key);
        must_release(hold);
        assert_string_equal(server_ask(redis, "PUBLISH %s end", rows[i].channel), "1");
        (void)snprintf(expected, sizeof expected,
                       "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$1\r\n0\r\n", strlen(rows[i].channel),
                       rows[i].channel);
        const char *heard = hears(fd);
        assert_memory_equal(heard, expected, strlen(expected));
        if (heard[strlen(expected)] == '\0')
            heard = hears(fd) - strlen(expected);
        assert_non_null(strstr(heard + strlen(expected), "$3\r\nend"));
        (void)close(fd);
        bowline_close(client);
    }
}

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

/* Its next attempt is put off for ever: only a push can bring it. */
static void test_redisson_waiter_is_woken_by_the_server_alone(void **state)
{
    static const bwl_settings nothing;
    static bwl_operation      operation;
    static const char *const  ends[] = { "DEL nightly", "FLUSHALL", "PING" };
    bwl_shard                *client;
    bwl_fault                 fault;
    bwl_lock                 *lock;
    char                      url[200];

    (void)state;
    (void)snprintf(url, sizeof url, "%s?profile=redisson", redis->tcp_url);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, url, &fault),
                         BWL_OK);
        bwl_shard_lock(client);
        const bwl_terms terms = { .lease_ms    = LEASE_MS,
                                  .max_hold_ms = BWL_NEVER,
                                  .answer_ms   = client->host.settings.answer_ms,
                                  .rules       = client->host.settings.rules };
        (void)server_ask(redis, "HSET nightly " OTHERS " 1");
        if (strcmp(ends[i], "PING") == 0) /* it ends by itself */
            (void)server_ask(redis, "PEXPIRE nightly %d", PATIENCE_MS / 2);
        assert_int_equal(bwl_lock_new(&lock, client, "nightly", &terms, &fault), BWL_OK);
        bwl_lock_acquire(lock, &operation, BWL_NEVER);
        drive_until(client, has_tried_twice, lock);
        lock->base.hold.look_at = BWL_NEVER;
        uint32_t attempt        = lock->base.hold.claim.attempt;
        (void)server_ask(redis, "%s", ends[i]);
        drive_until(client, is_held, lock);
        assert_int_equal(lock->base.hold.claim.attempt, attempt + 1);
        assert_is_field_of_ours(field());
        bwl_shard_unlock(client);
        bwl_shard_close(client);
        (void)server_ask(redis, "DEL nightly");
    }
}

/* ---- rights ---------------------------------------------------------------------------------- */

#define USER "ACL SETUSER app on >pw resetkeys resetchannels -@all +hello +info "
#define KEYS "~nightly ~redisson_lock_token:* &redisson_lock__channel:* "
#define LOCK "+eval +evalsha +exists +hexists +hset +del +pttl +pexpire +publish "

static bowline_client *open_as_app(const char *rule)
{
    char url[200];

    assert_string_equal(server_ask(redis, "%s", rule), "OK");
    (void)snprintf(url, sizeof url, "redis://app:pw@127.0.0.1:%d?profile=redisson", redis->port);
    return must_open(url);
}

static void test_redisson_without_tracking_still_comes_to_its_turn(void **state)
{
    bowline_client *client = open_as_app(USER KEYS LOCK);
    bowline_hold   *hold;
    bowline_error   error;

    (void)state;
    (void)server_ask(redis, "HSET nightly " OTHERS " 1");
    (void)server_ask(redis, "PEXPIRE nightly 1000");
    assert_status(BOWLINE_OK,
                  bowline_acquire(&hold, client, "nightly",
                                  BOWLINE_ACQUIRE(.wait_ms = 6 * PATIENCE_MS), &error),
                  &error);
    assert_string_not_equal(server_ask(redis, "ACL LOG 1"), ""); /* it has asked for pushes */
    (void)server_ask(redis, "ACL LOG RESET");
    must_release(hold);
    bowline_close(client);
    (void)server_ask(redis, "ACL DELUSER app");
}

/* A key that was made and has no end would block everybody for ever. */
static void test_redisson_without_a_right_leaves_no_key(void **state)
{
    static const char *const without[] = { "-pexpire", "-hset", "-exists", "-hexists" };

    (void)state;
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        char rule[400];
        (void)snprintf(rule, sizeof rule, USER KEYS LOCK "%s", without[i]);
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
        TEST(test_redisson_writes_a_hash_with_one_field_that_vanishes),
        TEST(test_redisson_extends_its_own_field),
        TEST(test_redisson_hold_outlives_its_connection),
        TEST(test_redisson_fields_of_others_are_never_touched),
        TEST(test_redisson_holder_is_known_and_can_be_broken),
        TEST(test_redisson_fences_go_on_from_the_counter),
        TEST(test_redisson_counter_that_is_none_is_refused_and_locks_nothing),
        TEST(test_redisson_release_publishes_once),
        TEST(test_redisson_waiter_is_woken_by_the_server_alone),
        TEST(test_redisson_without_tracking_still_comes_to_its_turn),
        TEST(test_redisson_without_a_right_leaves_no_key),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
