/*
 * test_timestamp_values.c -- locks whose value is a timestamp, on a real server: a bad value is
 * left alone and reported, an expired lock is taken over, and the scripts write and read each form
 * of value as the library does.
 *
 * A value is implausible if it is a time before 2001 or after 2099, which is also what a time in
 * another unit looks like, or if its time has passed and the TTL of the key has not.
 */
#include "engine/redis/wire/value.h"
#include "engine/redis/wire/commands.h"
#include "tests/lib/catalogue.h"
#include "tests/lib/suite.h"
#include "tests/lib/wire.h"

typedef struct form {
    const char *options;
    const char *key;     /* of the lock "nightly"                                               */
    const char *pattern; /* of a value; %lld is the time in seconds                             */
    const char *zero;    /* the same with another unit, or none: a value, not a pattern         */
    const char *other_unit; /* %lld: the time in seconds                                        */
} form;

#define SECONDS(options, key)                \
    {                                        \
        options, key, "%lld", "0", "%lld000" \
    }
#define MILLISECONDS(options, key)           \
    {                                        \
        options, key, "%lld000", "0", "%lld" \
    }
#define FLOATS(options, key)                       \
    {                                              \
        options, key, "%lld.0", "1.0", "%lld000.0" \
    }

static const form forms[] = {
    SECONDS("protocol=setnx-stamp-del", "nightly"),
    SECONDS("protocol=setnx-getset", "nightly"),
    SECONDS("profile=redis-io-setnx", "lock.nightly"),
    SECONDS("profile=resque-lock-timeout", "resque:lock:nightly"),
    MILLISECONDS("profile=jedis-lock-1", "nightly"),
    MILLISECONDS("profile=servicestack", "nightly"),
    MILLISECONDS("profile=php-pidlock", "lock_nightly"),
    MILLISECONDS("profile=java-jedislock", "nightly"),
    MILLISECONDS("profile=lock-foo", "lock.nightly"),
    FLOATS("profile=redis-py-2.7", "nightly"),
    FLOATS("profile=redis-py-2.9", "nightly"),
    FLOATS("profile=redis-mutex", "RedisMutex:nightly"),
    FLOATS("profile=redis-mutex-3", "Redis::Mutex:nightly"),
    { "profile=crowdtap-redis-lock", "lock:nightly", "%lld-4711-70123456789", "1-4711-70123456789",
      "%lld000-4711-70123456789" },
};
enum { FORMS = COUNT_OF(forms) };

#define FOR_EACH(f) \
    for (const form *f = forms; f < forms + FORMS && (print_message("# %s\n", f->options), 1); f++)

static const long long of_2000 = 946684800;
static const long long of_2100 = 4102444800;

static bowline_client *open_form(const form *f)
{
    return must_open_url("%s?%s&accept-risk=1&lease=20s%s", redis->tcp_url, f->options,
                         strncmp(f->options, "protocol", 8) == 0 ? "&key=%25s" : "");
}

/* The value of the time `seconds`. */
static const char *value_of(const char *pattern, long long seconds)
{
    static char value[64];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(value, sizeof value, pattern, seconds);
#pragma GCC diagnostic pop
    return value;
}

static long long seconds_ago(long long seconds)
{
    return wall_ms() / 1000 - seconds;
}

static void set(const form *f, const char *value, const char *more)
{
    assert_string_equal(server_ask(redis, "SET %s %s%s", f->key, value, more), "OK");
}

/* BUSY, with a reason, and the key is as it was. */
static void expect_left_alone(const form *f, const char *value, const char *more)
{
    bowline_client *client = open_form(f);
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };

    print_message("# %s%s\n", value, more);
    set(f, value, more);
    assert_status(BOWLINE_BUSY, acquire_within(&hold, client, "nightly", BOWLINE_NO_WAIT, &error),
                  &error);
    assert_non_null(strstr(error.text, "foreign"));
    assert_key(f->key, value);
    assert_int_equal(ttl_ms(f->key) > 0, more[0] != '\0');
    bowline_close(client);
}

static void expect_taken(const form *f)
{
    bowline_client *client = open_form(f);

    must_release(must_acquire(client, "nightly"));
    assert_false(is_there(f->key));
    bowline_close(client);
}

FIXTURE(empty_server, NULL)

TEST(timestamp_before_2001_is_left_unchanged)
{
    FOR_EACH(f)
    {
        expect_left_alone(f, f->zero, "");
        expect_left_alone(f, f->zero, " EX 30");
        expect_left_alone(f, value_of(f->pattern, 1), " EX 30");
        expect_left_alone(f, value_of(f->pattern, of_2000), " EX 30");
        expect_left_alone(f, value_of(f->pattern, of_2000), "");
    }
}

TEST(timestamp_after_2099_is_left_unchanged)
{
    FOR_EACH(f)
    {
        expect_left_alone(f, value_of(f->pattern, of_2100), "");
    }
}

/* Seconds for a profile in milliseconds are a time in 1970; the other way round it is far ahead. */
TEST(timestamp_in_another_unit_is_left_unchanged)
{
    FOR_EACH(f)
    {
        expect_left_alone(f, value_of(f->other_unit, seconds_ago(0)), " EX 30");
        expect_left_alone(f, value_of(f->other_unit, seconds_ago(60)), "");
    }
}

TEST(expired_timestamp_is_left_unchanged_while_the_key_has_an_expiry)
{
    FOR_EACH(f)
    {
        expect_left_alone(f, value_of(f->pattern, seconds_ago(60)), " EX 30");
        expect_left_alone(f, value_of(f->pattern, seconds_ago(60)), " PX 2000400");
    }
}

/* Counter-check of the tests above: without an expiry of the key, the lock was left behind. */
TEST(expired_timestamp_is_taken_over)
{
    FOR_EACH(f)
    {
        set(f, value_of(f->pattern, seconds_ago(60)), "");
        expect_taken(f);
        set(f, value_of(f->pattern, of_2000 + 366 * 86400), ""); /* the first second of 2001 */
        expect_taken(f);
    }
}

/* ---- the text of bowline_who ----------------------------------------------------------------- */

static bowline_holder who(const form *f, const char *value, const char *more)
{
    bowline_client *client = open_form(f);

    set(f, value, more);
    bowline_holder holder = must_who(client, "nightly");
    assert_int_equal(holder.held, 1);
    print_message("# %s%s: %s\n", value, more, holder.note);
    bowline_close(client);
    return holder;
}

TEST(who_reports_why_the_lock_is_not_taken_over)
{
    FOR_EACH(f)
    {
        bowline_holder holder = who(f, value_of(f->pattern, 1), "");
        assert_true(holder.foreign != 0);
        assert_non_null(strstr(holder.note, "not a plausible time"));
        assert_non_null(strstr(holder.note, value_of(f->pattern, 1)));
        holder = who(f, value_of(f->pattern, of_2000), " EX 30");
        assert_true(holder.foreign != 0);
        assert_non_null(strstr(holder.note, "not a plausible time"));
        holder = who(f, value_of(f->pattern, seconds_ago(60)), " EX 30");
        assert_non_null(strstr(holder.note, "the key expires in"));
        assert_true(holder.left_ms > 0 && holder.left_ms <= 30000);
        holder = who(f, value_of(f->pattern, seconds_ago(60)), "");
        assert_int_equal(holder.foreign, 0);
        assert_non_null(strstr(holder.note, "may take it"));
    }
}

/* ---- all forms of values, with the scripts alone --------------------------------------------- */

static wire line;

static bwl_redis_reply execute(bwl_redis_command id, const bwl_compat_rules *rules,
                               const char *token, int64_t timestamp)
{
    bwl_redis_reply        reply = { 0 };
    bwl_redis_command_args q     = { .command  = id,
                                     .use_eval = true,
                                     .key      = "lock",
                                     .key_size = 4,
                                     .token    = token,
                                     .lease_ms = 20000,
                                     .number   = timestamp,
                                     .rules    = rules };

    bwl_redis_write(&line.out, &q);
    wire_flush(&line);
    bwl_resp_cursor frame = wire_next(&line);
    if (bwl_redis_read(&q, 0, frame.bytes, frame.size, &reply) != BWL_REDIS_ANSWER)
        fail_msg("unexpected reply: %.*s", (int)frame.size, frame.bytes);
    return reply;
}

/* Another program sets the key. */
static void other_sets(const bwl_compat_rules *rules, const char *token, int64_t timestamp)
{
    (void)server_ask(redis, "DEL lock");
    assert_int_equal(execute(REDIS_SETNX, rules, token, timestamp).answer, BWL_YES);
}

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)
#define US_NS     INT64_C(1000)

static void check_form(bwl_compat_rules rules)
{
    const char *mine   = rules.token == BWL_TOKEN_PID_TID ? "71-968" : "AAAAAAAAAAAAAAAAAAAAAA";
    const char *theirs = rules.token == BWL_TOKEN_PID_TID ? "72-969" : "BBBBBBBBBBBBBBBBBBBBBA";
    int64_t     now    = wall_ms() * MS_NS / rules.unit_ns;
    int64_t     lease  = 20 * SECOND_NS / rules.unit_ns;
    int64_t     second = SECOND_NS / rules.unit_ns;

    rules.expired = BWL_TIMESTAMP_BEFORE_NOW;
    (void)server_ask(redis, "DEL lock");
    bwl_redis_reply taken = execute(REDIS_TAKE_TIMESTAMP, &rules, mine, 0);
    assert_int_equal(taken.answer, BWL_YES);
    int64_t ahead = (int64_t)taken.number - now;
    assert_true(ahead >= (rules.timestamp_is_start ? 0 : lease) - 1);
    assert_true(ahead <= (rules.timestamp_is_start ? 0 : lease) + 5 * second + 1);
    assert_true(ttl_ms("lock") > 15000 && ttl_ms("lock") <= 22500);

    bwl_redis_reply seen = execute(REDIS_READ, &rules, mine, (int64_t)taken.number);
    assert_int_equal(seen.answer, BWL_YES);
    assert_true(seen.value.is_mine); /* the script writes the value of the library */
    assert_int_equal(seen.number, taken.number);
    assert_int_equal(execute(REDIS_TAKE_TIMESTAMP, &rules, theirs, 0).answer, BWL_NO);
    assert_int_equal(
        execute(REDIS_DROP_TIMESTAMP, &rules, mine, (int64_t)taken.number + second).answer, BWL_NO);
    assert_int_equal(execute(REDIS_DROP_TIMESTAMP, &rules, mine, (int64_t)taken.number).answer,
                     BWL_YES);

    int64_t back = rules.timestamp_is_start ? lease : 0;
    other_sets(&rules, theirs, now - back + 10 * second);
    assert_int_equal(execute(REDIS_TAKE_TIMESTAMP, &rules, mine, 0).answer, BWL_NO);
    other_sets(&rules, theirs, now - back - 2 * second);
    assert_int_equal(execute(REDIS_TAKE_TIMESTAMP, &rules, mine, 0).answer, BWL_YES);
}

TEST(scripts_write_and_read_each_form_as_the_library_does)
{
    static const bwl_compat_rules list[] = {
        { .value = BWL_VALUE_DECIMAL, .unit_ns = SECOND_NS },
        { .value = BWL_VALUE_DECIMAL, .unit_ns = MS_NS, .extra_ns = MS_NS, .prefix = "a.(%b-" },
        { .value = BWL_VALUE_DECIMAL, .unit_ns = US_NS, .suffix = "[x]" },
        { .value = BWL_VALUE_DECIMAL, .unit_ns = 1 },
        { .value = BWL_VALUE_DECIMAL, .unit_ns = SECOND_NS, .timestamp_is_start = true },
        { .value = BWL_VALUE_DECIMAL, .unit_ns = 1, .timestamp_is_start = true },
        { .value = BWL_VALUE_FLOAT_PYTHON, .unit_ns = SECOND_NS, .whole_ns = SECOND_NS },
        { .value = BWL_VALUE_FLOAT_PYTHON, .unit_ns = US_NS, .whole_ns = SECOND_NS },
        { .value = BWL_VALUE_FLOAT_RUBY, .unit_ns = 1, .whole_ns = SECOND_NS },
        { .value = BWL_VALUE_FLOAT_RUBY, .unit_ns = US_NS, .whole_ns = MS_NS },
        { .value = BWL_VALUE_FLOAT_PHP, .unit_ns = 100 * US_NS, .whole_ns = SECOND_NS },
        { .value = BWL_VALUE_FLOAT_PHP, .unit_ns = 100 * US_NS, .whole_ns = MS_NS },
        { .value = BWL_VALUE_LITTLE_ENDIAN, .unit_ns = SECOND_NS, .extra_ns = 1500 * MS_NS },
        { .value = BWL_VALUE_LITTLE_ENDIAN, .unit_ns = US_NS },
        { .value = BWL_VALUE_TOKEN_TIMESTAMP, .unit_ns = MS_NS },
        { .value = BWL_VALUE_TIMESTAMP_TOKEN, .token = BWL_TOKEN_PID_TID, .unit_ns = SECOND_NS },
    };

    wire_open(&line, redis->socket);
    (void)wire_ask(&line, "HELLO 3");
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        print_message("# form %zu\n", i);
        for (int again = 0; again < 20; again++) /* each in another microsecond */
            check_form(list[i]);
    }
    wire_close(&line);
}

AROUND(start_server, stop_server)
