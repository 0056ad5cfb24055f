/*
 * test_redis_profiles.c -- locks of other programs on a real server: their exact keys and values,
 * foreign values, and the waiters that a release wakes.
 *
 * The expected forms are written here again, as regular expressions, and not taken from the table
 * under test.
 */
#include "engine/redis/profile.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LEASE_S 20

#define HEX(n)  "[0-9a-f]{" #n "}"
#define UUID4   HEX(8) "-" HEX(4) "-4" HEX(3) "-[89ab]" HEX(3) "-" HEX(12)

typedef struct form {
    const char *profile;
    const char *more; /* options                                                               */
    const char *key;  /* of the lock "nightly"                                                 */
    const char *value;
    int64_t     unit_ns; /* unit of the timestamp at its start; 0: none */
    int64_t     extra;   /* added to the timestamp, in these units */
    bool        never_expires;
    const char *expired; /* an expired value of the other program; NULL: none */
} form;

enum { S = 1000000000, MS = 1000000, US = 1000 };

/* The profiles redisson and symfony are in test_foreign_locks.c. */
static const form forms[] = {
    { "redis-py", "", "nightly", "^" HEX(12) "1" HEX(3) "[89ab]" HEX(15) "$", 0, 0, false, NULL },
    { "django-redis", "", ":1:nightly", "^" HEX(12) "1" HEX(3) "[89ab]" HEX(15) "$", 0, 0, false,
      NULL },
    { "python-redis-lock", "", "lock:nightly", "^[A-Za-z0-9+/]{24}$", 0, 0, false, NULL },
    { "walrus", "", "lock:nightly", "^" HEX(32) "$", 0, 0, false, NULL },
    { "pottery", "", "redlock:nightly", "^" UUID4 "$", 0, 0, false, NULL },
    { "sherlock", "", "nightly", "^" UUID4 "$", 0, 0, false, NULL },
    { "redlock-py", "", "nightly", "^[A-Za-z0-9]{22}$", 0, 0, false, NULL },
    { "aioredlock", "", "nightly", "^" UUID4 "$", 0, 0, false, NULL },
    { "node-redlock", "", "nightly", "^" HEX(32) "$", 0, 0, false, NULL },
    { "redis-semaphore", "", "mutex:nightly", "^" UUID4 "$", 0, 0, false, NULL },
    { "ioredis-lock", "", "nightly",
      "^" HEX(8) "-" HEX(4) "-1" HEX(3) "-[89ab]" HEX(3) "-" HEX(12) "$", 0, 0, false, NULL },
    { "warlock", "", "nightly:lock", "^[A-Za-z0-9+/]{21}[AQgw]==$", 0, 0, false, NULL },
    { "redsync", "", "nightly", "^[A-Za-z0-9+/]{21}[AQgw]==$", 0, 0, false, NULL },
    { "bsm-redislock", "", "nightly", "^[A-Za-z0-9_-]{22}$", 0, 0, false, NULL },
    { "rueidislock", "&key=rueidislock:0:%25s", "rueidislock:0:nightly", "^[A-Za-z0-9+/]{24}$", 0,
      0, false, NULL },
    { "lock4j", "", "lock4j:nightly", "^" HEX(12) "4" HEX(3) "[89ab]" HEX(15) "$", 0, 0, false,
      NULL },
    { "shedlock", "", "job-lock:default:nightly",
      "^ADDED:20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z@" UUID4
      "$",
      0, 0, false, NULL },
    { "spring", "&key=reg:%25s", "reg:nightly", "^" UUID4 "$", 0, 0, false, NULL },
    { "spring-6", "&key=reg:%25s", "reg:nightly", "^" UUID4 "$", 0, 0, false, NULL },
    { "laravel", "&key=laravel-database-laravel-cache-%25s",
      "laravel-database-laravel-cache-nightly", "^[A-Za-z0-9]{16}$", 0, 0, false, NULL },
    { "laravel-11", "&key=laravel_database_laravel_cache_%25s",
      "laravel_database_laravel_cache_nightly", "^[A-Za-z0-9]{16}$", 0, 0, false, NULL },
    { "laravel-10", "&key=laravel_database_laravel_cache_:%25s",
      "laravel_database_laravel_cache_:nightly", "^[A-Za-z0-9]{16}$", 0, 0, false, NULL },
    { "redlock-net", "", "redlock:nightly", "^" UUID4 "$", 0, 0, false, NULL },
    { "distributedlock", "", "nightly", "^.{1,16}_[0-9]+_" HEX(12) "4" HEX(3) "[89ab]" HEX(15) "$",
      0, 0, false, NULL },
    { "redis-plus-plus", "", "nightly", "^[A-Za-z0-9]{20}$", 0, 0, false, NULL },
    { "redis-io-setnx", "", "lock.nightly", "^[0-9]{10}$", S, 1, false, "1400000000" },
    { "jedis-lock-1", "", "nightly", "^[0-9]{13}$", MS, 1, false, "1400000000000" },
    { "redis-py-2.7", "", "nightly", "^[0-9]{10}\\.0$", S, 0, false, "1400000005.0" },
    { "redis-py-2.9", "", "nightly", "^[0-9]{10}\\.[0-9]{1,6}$", US, 0, false,
      "1400000005.1234567" },
    { "redis-mutex", "", "RedisMutex:nightly", "^[0-9]{10}\\.[0-9]{1,6}$", US, 0, false,
      "1400000005.2838762" },
    { "redis-mutex-3", "", "Redis::Mutex:nightly", "^[0-9]{10}\\.[0-9]{1,6}$", US, 0, false,
      "1400000005.2838762" },
    { "crowdtap-redis-lock", "", "lock:nightly", "^[0-9]{10}-[0-9]+-[0-9]+$", S, 1, false,
      "1400000000-4711-70123456789" },
    { "resque-lock-timeout", "", "resque:lock:nightly", "^[0-9]{10}$", S, 0, false, "1400000000" },
    { "servicestack", "", "nightly", "^[0-9]{13}$", MS, 1, false, "1400000000000" },
    { "php-pidlock", "", "lock_nightly", "^[0-9]{13}$", MS, 1, true, "1400000000000" },
    { "java-jedislock", "", "nightly", "^[0-9]{13}$", MS, 1, true, "1400000000000" },
    { "lock-foo", "", "lock.nightly", "^[0-9]{13}$", MS, 1, true, "1400000000000" },
};
enum { FORMS = COUNT_OF(forms) };

#define FOR_EACH(f) \
    for (const form *f = forms; f < forms + FORMS && (print_message("# %s\n", f->profile), 1); f++)

static bowline_client *open_profile(const form *f)
{
    return must_open_url("%s?profile=%s&accept-risk=1&lease=%ds&wait=0s%s", redis->tcp_url,
                         f->profile, LEASE_S, f->more);
}

static const form *form_named(const char *profile)
{
    for (size_t i = 0; i < FORMS; i++)
        if (strcmp(forms[i].profile, profile) == 0)
            return &forms[i];
    fail_msg("%s", profile);
    return NULL;
}

static void assert_follows(const char *text, const char *form_)
{
    regex_t compiled;

    print_message("# %s\n", text);
    assert_int_equal(regcomp(&compiled, form_, REG_EXTENDED | REG_NOSUB), 0);
    assert_int_equal(regexec(&compiled, text, 0, NULL, 0), 0);
    regfree(&compiled);
}

static int64_t wall_ns(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &t), 0);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The timestamp of a value, in units: of 1400000005.123 in microseconds, 1400000005123000. */
static int64_t timestamp_of(const char *value, int64_t unit_ns)
{
    char   *end;
    int64_t timestamp = strtoll(value, &end, 10);
    int64_t part      = S;

    if (unit_ns != US)
        return timestamp;
    timestamp *= 1000000;
    for (end += *end == '.'; *end >= '0' && *end <= '9'; end++) {
        part /= 10;
        timestamp += (*end - '0') * part / US;
    }
    return timestamp;
}

static const char *get(const form *f)
{
    return server_ask(redis, "GET %s", f->key);
}

/* ---- keys and values ------------------------------------------------------------------------- */

FIXTURE(NULL, nothing_is_left)

TEST(profiles_are_all_in_the_table)
{
    size_t count = 0;
    for (size_t i = 0; bwl_profile_at(i) != NULL; i++) {
        const char *protocol = bwl_profile_at(i)->protocol;
        bool is_string = strcmp(protocol, "redisson") != 0 && strcmp(protocol, "symfony") != 0;
        count += is_string && form_named(bwl_profile_name_at(i)) != NULL;
    }
    assert_int_equal(count, FORMS);
}

TEST(profiles_write_the_key_value_and_expiry_of_the_other_program)
{
    FOR_EACH(f)
    {
        bowline_client *client = open_profile(f);
        int64_t         before = wall_ns();
        bowline_hold   *hold   = must_acquire(client, "nightly");
        int64_t         after  = wall_ns();
        assert_string_equal(server_ask(redis, "KEYS *"), f->key);
        assert_follows(get(f), f->value);
        long left_ms = atol(server_ask(redis, "PTTL %s", f->key));
        if (f->never_expires)
            assert_int_equal(left_ms, -1);
        else
            assert_true(left_ms > LEASE_S * 500 && left_ms <= LEASE_S * 1000 + 2000);
        if (f->unit_ns !=
            0) { /* the clock of the server may be rounded up, that of the client down */
            int64_t timestamp = timestamp_of(get(f), f->unit_ns);
            int64_t lease     = LEASE_S * INT64_C(1000000000);
            assert_true(timestamp >= (before + lease) / f->unit_ns + f->extra);
            assert_true(timestamp <= (after + lease) / f->unit_ns + f->extra + 1);
        }
        must_release(hold);
        assert_string_equal(get(f), "(nil)");
        (void)server_ask(redis, "FLUSHALL"); /* the release may have written a wake-up list */
        bowline_close(client);
    }
}

/* ---- foreign values -------------------------------------------------------------------------- */

TEST(profiles_leave_foreign_values_unchanged)
{
    static const char *const values[] = { "somebody", "0", "1e99", "abc123" };

    FOR_EACH(f)
    {
        bowline_client *client = open_profile(f);
        for (size_t i = 0; i < COUNT_OF(values); i++) {
            (void)server_ask(redis, "SET %s %s", f->key, values[i]);
            if (f->unit_ns != 0 && strcmp(values[i], "0") == 0)
                continue; /* some read it as a time long ago */
            assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
            assert_string_equal(get(f), values[i]);
            assert_string_equal(server_ask(redis, "PTTL %s", f->key), "-1");
        }
        (void)server_ask(redis, "DEL %s", f->key);
        (void)server_ask(redis, "RPUSH %s a", f->key);
        assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
        assert_string_equal(server_ask(redis, "LRANGE %s 0 -1", f->key), "a");
        (void)server_ask(redis, "FLUSHALL");
        bowline_close(client);
    }
}

/* The profiles of the articles delete any value, and are left out. */
TEST(profiles_release_leaves_the_lock_of_another_client)
{
    FOR_EACH(f)
    {
        if (f->never_expires)
            continue;
        bowline_client *client = open_profile(f);
        bowline_hold   *hold   = must_acquire(client, "nightly");
        bowline_error   error;
        (void)server_ask(redis, "SET %s somebody", f->key);
        assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
        assert_string_equal(get(f), "somebody");
        assert_string_equal(server_ask(redis, "KEYS *"), f->key); /* and no wake-up list */
        (void)server_ask(redis, "FLUSHALL");
        bowline_close(client);
    }
}

TEST(profiles_with_timestamps_take_over_only_expired_locks)
{
    FOR_EACH(f)
    {
        if (f->expired == NULL)
            continue;
        bowline_client *client = open_profile(f);
        bowline_client *other  = open_profile(f);
        (void)server_ask(redis, "SET %s %s", f->key, f->expired);
        bowline_hold *hold = must_acquire(client, "nightly");
        assert_string_not_equal(get(f), f->expired);
        const char *mine = get(f); /* valid for eight more calls */
        assert_int_equal(try_once(other, "nightly"), BOWLINE_BUSY);
        assert_string_equal(get(f), mine);
        must_release(hold);
        assert_string_equal(get(f), "(nil)");
        bowline_close(other);
        bowline_close(client);
    }
}

/* ---- extensions ------------------------------------------------------------------------------ */

TEST(profiles_extend_tokens_and_not_timestamps)
{
    FOR_EACH(f)
    {
        bowline_client *client = open_profile(f);
        bowline_hold   *hold   = must_acquire(client, "nightly");
        int64_t         left   = bowline_hold_left_ms(hold);
        bowline_error   error;
        int             status = bowline_extend(hold, 60000, &error);
        if (f->unit_ns == 0) {
            assert_status(BOWLINE_OK, status, &error);
            assert_true(bowline_hold_left_ms(hold) > left);
            assert_true(atol(server_ask(redis, "PTTL %s", f->key)) > LEASE_S * 1000);
        } else {
            assert_status(BOWLINE_UNSUPPORTED, status, &error);
            assert_non_null(strstr(error.text, "setnx-getset ends with its lease"));
            assert_true(bowline_hold_left_ms(hold) <= left);
            assert_true(bowline_hold_left_ms(hold) > 0);
        }
        must_release(hold);
        (void)server_ask(redis, "FLUSHALL");
        bowline_close(client);
    }
}

TEST(profiles_warn_when_they_are_unsafe)
{
    bowline_client *safe  = open_profile(form_named("redis-py"));
    bowline_client *risky = open_profile(form_named("jedis-lock-1"));
    assert_null(bowline_client_warning(safe));
    assert_non_null(strstr(bowline_client_warning(risky), "profile jedis-lock-1 is not safe: "));
    assert_null(bowline_client_warning(NULL));
    bowline_close(safe);
    bowline_close(risky);
}

/* ---- wake-ups -------------------------------------------------------------------------------- */

static void acquire_and_release(const char *profile)
{
    bowline_client *client = open_profile(form_named(profile));

    must_release(must_acquire(client, "nightly"));
    bowline_close(client);
}

TEST(profiles_release_wakes_a_waiter_in_blpop)
{
    static const char *const pairs[][2] = { { "python-redis-lock", "lock-signal:nightly" },
                                            { "walrus", "lock.event:nightly" } };

    for (size_t i = 0; i < 2; i++) {
        bowline_client *client = open_profile(form_named(pairs[i][0]));
        bowline_hold   *hold   = must_acquire(client, "nightly");
        int             fd     = server_say(redis, "BLPOP %s 0", pairs[i][1]);
        assert_true(server_comes_to(redis, "blocked_clients:1", "INFO clients"));
        must_release(hold);
        assert_non_null(strstr(server_heard(fd), pairs[i][1]));
        (void)close(fd);
        assert_string_equal(server_ask(redis, "KEYS *"), "");
        bowline_close(client);
    }
}

TEST(profiles_wake_up_list_is_as_the_program_leaves_it)
{
    acquire_and_release("python-redis-lock");
    acquire_and_release("python-redis-lock");
    assert_string_equal(server_ask(redis, "LRANGE lock-signal:nightly 0 -1"), "1");
    long left_ms = atol(server_ask(redis, "PTTL lock-signal:nightly"));
    assert_true(left_ms > 0 && left_ms <= 1000);
    acquire_and_release("walrus");
    acquire_and_release("walrus");
    assert_string_equal(server_ask(redis, "LRANGE lock.event:nightly 0 -1"), "1");
    assert_string_equal(server_ask(redis, "PTTL lock.event:nightly"), "-1");
    (void)server_ask(redis, "FLUSHALL");
}

TEST(profiles_release_publishes_the_key)
{
    static const char *const pairs[][2] = { { "spring", "reg-channel:reg:nightly" },
                                            { "spring-6", "reg-channel" },
                                            { "spring-6", "reg-channel:reg:nightly" } };

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        int  fd = server_say(redis, "SUBSCRIBE %s", pairs[i][1]);
        char expected[200];
        assert_non_null(strstr(server_heard(fd), "subscribe"));
        acquire_and_release(pairs[i][0]);
        (void)snprintf(expected, sizeof expected,
                       "$7\r\nmessage\r\n$%zu\r\n%s\r\n$11\r\nreg:nightly", strlen(pairs[i][1]),
                       pairs[i][1]);
        assert_non_null(strstr(server_heard(fd), expected));
        (void)close(fd);
    }
}

/* ---- set-up ---------------------------------------------------------------------------------- */

AROUND(start_server, stop_server)
