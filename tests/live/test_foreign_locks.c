/*
 * test_foreign_locks.c -- locks of Redisson (a hash) and Symfony (a sorted set) on a real server:
 * the exact key, foreign keys, waiters that the server wakes, and missing permissions.
 *
 * The common cases run for each row of a table. The other programs are tested in tests/interop, the
 * scripts of Symfony in test_symfony_scripts.c.
 */
#include "runtime/lock.h"
#include "runtime/shard.h"
#include "api/engines.h"
#include "runtime/loop.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/symfony_scripts.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FIELD   "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed:77"
#define MEMBER  "cmVhZGVyIEEgb2YgU3ltZm9ueSdzLCAzMiBieXRlcyE="
#define NEVER   "9000000000000"
#define CHANNEL "redisson_lock__channel:{nightly}"
#define COUNTER "redisson_lock_token:{nightly}"

enum { PATIENCE_MS = 10000 };

static const char *symfony_script(const char *script, int lease_ms)
{
    return server_ask(redis, "EVAL '%s' 1 nightly 1.5 " MEMBER " %d", script, lease_ms);
}

static void take_as_symfony(int lease_ms)
{
    assert_string_equal(symfony_script(SYMFONY_SAVE, lease_ms), "1");
}

static void take_as_redisson(int lease_ms)
{
    (void)server_ask(redis, "HSET nightly " FIELD " 1");
    (void)server_ask(redis, "PEXPIRE nightly %d", lease_ms);
}

/* ---- the common cases ------------------------------------------------------------------------ */

typedef struct foreign {
    const char *profile;
    const char *type;
    const char *value; /* reads the value that bowline wrote */
    const char *form;  /* the form of that value */
    int         lease_ms;
    void (*take)(int lease_ms); /* acquires as the other program does */
    const char *release;        /* likewise */
    const char *made[5];        /* foreign keys */
    const char *permissions;
    const char *without[6]; /* without each of these no lock can be acquired */
} foreign;

#define BASE64 "[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="

static const foreign foreigns[] = {
    { .profile     = "redisson",
      .type        = "hash",
      .value       = "HKEYS nightly",
      .form        = "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:1$",
      .lease_ms    = 30000,
      .take        = take_as_redisson,
      .release     = "DEL nightly",
      .made        = { "HSET nightly " FIELD " 2", "HSET nightly mode write " FIELD ":write 1",
                       "SET nightly text", "RPUSH nightly a", "ZADD nightly 1 a" },
      .permissions = "~nightly ~redisson_lock_token:* &redisson_lock__channel:* "
                     "+eval +evalsha +exists +hexists +hset +del +pttl +pexpire +publish ",
      .without     = { "-pexpire", "-hset", "-exists", "-hexists" } },
    { .profile     = "symfony",
      .type        = "zset",
      .value       = "ZRANGE nightly 0 -1",
      .form        = "^(" BASE64 " __write__|__write__ " BASE64 ")$",
      .lease_ms    = 300000,
      .take        = take_as_symfony,
      .release     = "EVAL '" SYMFONY_DELETE "' 1 nightly " MEMBER,
      .made        = { "ZADD nightly " NEVER " " MEMBER " " NEVER " __write__",
                       "ZADD nightly " NEVER " " MEMBER, "SET nightly text", "RPUSH nightly a",
                       "HSET nightly field 1" },
      .permissions = "~nightly +eval +evalsha +time +exists +pexpireat +zadd +zrem +zcard +zscore "
                     "+zrevrange +zremrangebyscore ",
      .without = { "-pexpireat", "-zadd", "-zremrangebyscore", "-exists", "-time", "-zscore" } },
};

enum { ROWS = COUNT_OF(foreigns) };

static bowline_client *open_profile(const char *profile, const char *more)
{
    char url[300];

    (void)snprintf(url, sizeof url, "%s?profile=%s&wait=0s%s", redis->tcp_url, profile, more);
    return must_open(url);
}

static void assert_is_ours(const foreign *f, const char *text)
{
    regex_t form;

    print_message("# %s\n", text);
    assert_int_equal(regcomp(&form, f->form, REG_EXTENDED | REG_NOSUB), 0);
    assert_int_equal(regexec(&form, text, 0, NULL, 0), 0);
    regfree(&form);
}

static void assert_left(int64_t least_ms, int64_t most_ms)
{
    assert_in_range(atol(server_ask(redis, "PTTL nightly")), least_ms, most_ms);
}

static void write_and_extend(const foreign *f)
{
    bowline_client *client = open_profile(f->profile, "");
    bowline_hold   *hold   = must_acquire(client, "nightly");
    char            first[100];
    bowline_error   error;

    assert_string_equal(server_ask(redis, "KEYS *"), "nightly");
    assert_string_equal(server_ask(redis, "TYPE nightly"), f->type);
    (void)snprintf(first, sizeof first, "%s", server_ask(redis, "%s", f->value));
    assert_is_ours(f, first);
    assert_left(f->lease_ms / 2, f->lease_ms);
    assert_int_equal(bowline_hold_fence(hold), 0);
    assert_null(bowline_client_warning(client));
    for (unsigned i = 0; i < 2; i++) {
        assert_status(BOWLINE_OK, bowline_extend(hold, 2 * (uint32_t)f->lease_ms, &error), &error);
        assert_left(f->lease_ms, 2 * (int64_t)f->lease_ms);
        assert_status(BOWLINE_OK, bowline_extend(hold, 1000, &error), &error);
        assert_left(f->lease_ms, 2 * (int64_t)f->lease_ms); /* never shorter */
        (void)server_ask(redis, "PERSIST nightly");
    }
    must_release(hold);
    assert_string_equal(server_ask(redis, "KEYS *"), "");
    hold = must_acquire(client, "nightly");
    assert_string_not_equal(server_ask(redis, "%s", f->value), first);
    must_release(hold);
    bowline_close(client);
}

FIXTURE(NULL, nothing_is_left)

TEST(foreign_lock_is_written_extended_and_deleted)
{
    for (size_t i = 0; i < ROWS; i++)
        write_and_extend(&foreigns[i]);
}

/* The result of an extension once there is a connection again: a lost connection does not end the
 * hold. */
static int extend_when_connected(bowline_hold *hold, const foreign *f)
{
    bowline_error error;
    int           status = BOWLINE_UNKNOWN;

    for (unsigned i = 0; i < 100 && status != BOWLINE_OK && status != BOWLINE_LOST; i++)
        status = bowline_extend(hold, 2 * (uint32_t)f->lease_ms, &error);
    return status;
}

/* A new connection verifies the hold with the commands of this protocol. */
TEST(foreign_hold_survives_a_lost_connection)
{
    for (const foreign *f = foreigns; f < foreigns + ROWS; f++) {
        bowline_client *client = open_profile(f->profile, "");
        bowline_hold   *hold   = must_acquire(client, "nightly");
        char            kept[100];
        bowline_error   error;
        (void)snprintf(kept, sizeof kept, "%s", server_ask(redis, "%s", f->value));
        server_hang_up(redis);
        assert_int_equal(extend_when_connected(hold, f), BOWLINE_OK);
        assert_string_equal(server_ask(redis, "%s", f->value), kept);
        (void)server_ask(redis, "DEL nightly");
        server_hang_up(redis);
        assert_int_equal(extend_when_connected(hold, f), BOWLINE_LOST);
        (void)bowline_release(hold, &error); /* the hold has ended */
        bowline_close(client);
    }
}

static void replace_key(const char *made)
{
    (void)server_ask(redis, "DEL nightly");
    (void)server_ask(redis, "%s", made);
}

static void check_key_is_unchanged(const foreign *f, const char *made)
{
    bowline_client *client = open_profile(f->profile, "");
    bowline_hold   *hold   = NULL;
    bowline_error   error;
    char            before[500];

    replace_key(made);
    (void)snprintf(before, sizeof before, "%s", server_ask(redis, "DUMP nightly"));
    assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
    for (unsigned extends = 0; extends < 2; extends++) {
        (void)server_ask(redis, "DEL nightly");
        hold = must_acquire(client, "nightly");
        replace_key(made);
        if (extends)
            assert_status(BOWLINE_LOST, bowline_extend(hold, 2 * (uint32_t)f->lease_ms, &error),
                          &error);
        int status = bowline_release(hold, &error);
        assert_true(extends || status == BOWLINE_LOST);
        assert_string_equal(server_ask(redis, "DUMP nightly"), before);
        assert_string_equal(server_ask(redis, "PTTL nightly"), "-1");
    }
    (void)server_ask(redis, "DEL nightly");
    bowline_close(client);
}

TEST(foreign_keys_stay_unchanged)
{
    for (const foreign *f = foreigns; f < foreigns + ROWS; f++)
        for (size_t i = 0; i < sizeof f->made / sizeof f->made[0]; i++)
            check_key_is_unchanged(f, f->made[i]);
}

/* ---- waiters --------------------------------------------------------------------------------- */

/* Runs the loop until the condition holds, ten seconds at most. */
static void run_until(bwl_shard *client, bool (*is_so)(const bwl_lock *lock), const bwl_lock *lock)
{
    bwl_fault fault;
    bwl_ms    end = bwl_shard_now(client) + PATIENCE_MS;

    while (!is_so(lock) && bwl_shard_now(client) < end)
        assert_int_equal(bwl_loop_run(&client->loop, bwl_shard_now(client) + 20, &fault), BWL_OK);
    assert_true(is_so(lock));
}

static bool has_tried_twice(const bwl_lock *lock)
{
    return lock->base.hold.state == BWL_HOLD_WAITING && lock->base.hold.request.attempt >= 2;
}

static bool is_held(const bwl_lock *lock)
{
    return lock->base.hold.state == BWL_HOLD_HELD;
}

/* Its next attempt has no time: only a push starts one. */
static void check_push_wakes(const foreign *f, const char *end)
{
    static const bwl_settings nothing;
    static bwl_operation      operation;
    bwl_shard                *client;
    bwl_fault                 fault;
    bwl_lock                 *lock;
    char                      url[200];

    (void)snprintf(url, sizeof url, "%s?profile=%s", redis->tcp_url, f->profile);
    assert_int_equal(bwl_shard_open(&client, bwl_engines, &nothing, false, url, &fault), BWL_OK);
    bwl_loop_lock(&client->loop);
    const bwl_terms terms = { .lease_ms    = f->lease_ms,
                              .max_hold_ms = BWL_NEVER,
                              .answer_ms   = client->host.settings.answer_ms };
    f->take(end == NULL ? PATIENCE_MS / 2 : f->lease_ms);
    assert_int_equal(bwl_lock_new(&lock, client, client->host.engine, "nightly", &terms, &fault),
                     BWL_OK);
    bwl_lock_acquire(lock, &operation, BWL_NEVER);
    run_until(client, has_tried_twice, lock);
    lock->base.hold.timer_at = BWL_NEVER;
    uint32_t attempt         = lock->base.hold.request.attempt;
    if (end != NULL)
        (void)server_ask(redis, "%s", end);
    run_until(client, is_held, lock);
    assert_int_equal(lock->base.hold.request.attempt, attempt + 1);
    assert_is_ours(f, server_ask(redis, "%s", f->value));
    bwl_loop_unlock(&client->loop);
    bwl_shard_close(client);
    (void)server_ask(redis, "DEL nightly");
}

TEST(foreign_waiter_is_woken_by_a_push_alone)
{
    for (const foreign *f = foreigns; f < foreigns + ROWS; f++) {
        check_push_wakes(f, f->release);
        check_push_wakes(f, "FLUSHALL");
        check_push_wakes(f, NULL); /* it expires */
    }
}

/* ---- permissions ----------------------------------------------------------------------------- */

static bowline_client *open_as_app(const foreign *f, const char *without)
{
    char url[200];

    assert_string_equal(server_ask(redis,
                                   "ACL SETUSER app on >pw resetkeys resetchannels -@all +hello "
                                   "+info %s%s",
                                   f->permissions, without),
                        "OK");
    (void)snprintf(url, sizeof url, "redis://app:pw@127.0.0.1:%d?profile=%s", redis->port,
                   f->profile);
    return must_open(url);
}

/* A key without an expiry would block all clients for ever. */
TEST(foreign_acquire_without_a_permission_leaves_no_key)
{
    for (const foreign *f = foreigns; f < foreigns + ROWS; f++)
        for (size_t i = 0; i < 6 && f->without[i] != NULL; i++) {
            bowline_client *client = open_as_app(f, f->without[i]);
            assert_int_equal(try_once(client, "nightly"), BOWLINE_REFUSED);
            bowline_close(client);
            assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
            (void)server_ask(redis, "ACL DELUSER app");
        }
}

/* ---- Symfony --------------------------------------------------------------------------------- */

TEST(symfony_break_ends_a_holder_and_not_a_reader)
{
    bowline_client *client = open_profile("symfony", "");
    bowline_client *plain  = open_profile("redis-py", "");
    bowline_holder  holder = { .size = sizeof holder };
    bowline_error   error;

    assert_string_equal(symfony_script(SYMFONY_SAVE, foreigns[1].lease_ms), "1");
    assert_status(BOWLINE_OK, bowline_who(plain, "nightly", &holder, &error), &error);
    assert_int_equal(holder.foreign, 1);
    assert_non_null(strstr(holder.note, "profile=symfony"));
    assert_status(BOWLINE_OK, bowline_who(client, "nightly", &holder, &error), &error);
    assert_int_equal(holder.foreign, 0);
    assert_int_not_equal(holder.id, 0);
    assert_status(BOWLINE_OK, bowline_break(client, "nightly", holder.id, &error), &error);
    assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
    assert_string_equal(symfony_script(SYMFONY_EXISTS, foreigns[1].lease_ms), "(nil)");
    assert_string_equal(symfony_script(SYMFONY_SAVE_READ, foreigns[1].lease_ms), "1");
    assert_status(BOWLINE_OK, bowline_who(client, "nightly", &holder, &error), &error);
    assert_int_equal(holder.held, 1);
    assert_int_equal(holder.id, 0);
    (void)server_ask(redis, "DEL nightly");
    bowline_close(plain);
    bowline_close(client);
}

/* ---- Redisson -------------------------------------------------------------------------------- */

static bowline_holder who(bowline_client *client)
{
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error;

    assert_status(BOWLINE_OK, bowline_who(client, "nightly", &holder, &error), &error);
    assert_int_equal(holder.held, 1);
    print_message("# %s\n", holder.note);
    return holder;
}

TEST(redisson_break_ends_a_holder_and_not_a_reader)
{
    bowline_client *client = open_profile("redisson", "");
    bowline_client *plain  = open_profile("redis-py", "");
    int             fd     = server_say(redis, "SUBSCRIBE " CHANNEL);
    bowline_error   error;

    assert_true(server_comes_to(redis, CHANNEL " 1", "PUBSUB NUMSUB " CHANNEL));
    (void)server_ask(redis, "HSET nightly " FIELD " 2");
    (void)server_ask(redis, "PEXPIRE nightly 20000");
    bowline_holder holder = who(client);
    assert_int_equal(holder.foreign, 0);
    assert_true(holder.left_ms > 0 && holder.left_ms <= 20000);
    assert_int_not_equal(holder.id, 0);
    assert_int_equal(who(plain).foreign, 1);
    assert_non_null(strstr(who(plain).note, "profile=redisson"));
    assert_status(BOWLINE_OK, bowline_break(client, "nightly", holder.id, &error), &error);
    assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
    assert_string_equal(server_ask(redis, "HSET nightly mode read " FIELD " 1"), "2");
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

TEST(redisson_fences_continue_from_the_counter)
{
    bowline_client *client = open_profile("redisson-fenced", "");

    (void)server_ask(redis, "SET " COUNTER " 41");
    for (uint64_t fence = 42; fence < 45; fence++) {
        bowline_hold *hold = must_acquire(client, "nightly");
        bowline_error error;
        assert_int_equal(bowline_hold_fence(hold), fence);
        assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY); /* the counter stays */
        assert_status(BOWLINE_OK, bowline_extend(hold, 60000, &error), &error);
        assert_int_equal(bowline_hold_fence(hold), fence);
        must_release(hold);
    }
    assert_string_equal(server_ask(redis, "GET " COUNTER), "44");
    assert_string_equal(server_ask(redis, "PTTL " COUNTER), "-1");
    (void)server_ask(redis, "DEL " COUNTER);
    bowline_close(client);
}

TEST(redisson_acquire_is_refused_when_the_counter_is_invalid)
{
    static const char *const counters[] = { "SET " COUNTER " text", "RPUSH " COUNTER " a",
                                            "SET " COUNTER " 9007199254740991",
                                            "SET " COUNTER " -7" };
    bowline_client          *client     = open_profile("redisson-fenced", "");

    for (size_t i = 0; i < COUNT_OF(counters); i++) {
        (void)server_ask(redis, "%s", counters[i]);
        assert_int_equal(try_once(client, "nightly"), BOWLINE_REFUSED);
        assert_string_equal(server_ask(redis, "EXISTS nightly"), "0");
        (void)server_ask(redis, "DEL " COUNTER);
    }
    bowline_close(client);
}

/* What the connection receives until there is nothing more, ten seconds at most for the first. */
static const char *receive(int fd)
{
    static char   text[500];
    struct pollfd something = { .fd = fd, .events = POLLIN };

    assert_int_equal(poll(&something, 1, PATIENCE_MS), 1);
    ssize_t size              = read(fd, text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

TEST(redisson_release_publishes_once)
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

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bowline_client *client = open_profile("redisson", rows[i].options);
        int             fd     = server_say(redis, "SUBSCRIBE %s", rows[i].channel);
        char            expected[200];
        assert_non_null(strstr(receive(fd), "subscribe"));
        bowline_hold *hold = must_acquire(client, "nightly");
        assert_string_equal(server_ask(redis, "KEYS *"), rows[i].key);
        must_release(hold);
        assert_string_equal(server_ask(redis, "PUBLISH %s end", rows[i].channel), "1");
        (void)snprintf(expected, sizeof expected,
                       "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$1\r\n0\r\n", strlen(rows[i].channel),
                       rows[i].channel);
        const char *received = receive(fd);
        assert_memory_equal(received, expected, strlen(expected));
        if (received[strlen(expected)] == '\0')
            received = receive(fd) - strlen(expected);
        assert_non_null(strstr(received + strlen(expected), "$3\r\nend"));
        (void)close(fd);
        bowline_close(client);
    }
}

AROUND(start_server, stop_server)
