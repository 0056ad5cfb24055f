/*
 * test_stamp_values.c -- locks whose value is a time, on a real server: a value that no client of
 * the profile can have written of late is left alone and reported, a lock of the profile that has
 * expired is taken over.
 *
 * A value is implausible if it is a time before 2001 or after 2099, which is also what a time in
 * another unit looks like, or if its time is over and the key has an expiry that is not.
 */
#include "tests/lib/catalogue.h"

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
    FLOATS("profile=redis-py-2.7", "nightly"),
    FLOATS("profile=redis-py-2.9", "nightly"),
    FLOATS("profile=redis-mutex", "RedisMutex:nightly"),
    FLOATS("profile=redis-mutex-3", "Redis::Mutex:nightly"),
    { "profile=crowdtap-redis-lock", "lock:nightly", "%lld-4711-70123456789", "1-4711-70123456789",
      "%lld000-4711-70123456789" },
};
enum { FORMS = sizeof forms / sizeof forms[0] };

#define FOR_EACH(f) \
    for (const form *f = forms; f < forms + FORMS && (print_message("# %s\n", f->options), 1); f++)

static const long long of_2000 = 946684800;
static const long long of_2100 = 4102444800;

static bowline_client *open_form(const form *f)
{
    char url[300];

    (void)snprintf(url, sizeof url, "%s?%s&accept-risk=1&lease=20s%s", redis->tcp_url, f->options,
                   strncmp(f->options, "protocol", 8) == 0 ? "&key=%25s" : "");
    return must_open(url);
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

static void test_a_time_before_2001_is_left_alone(void **state)
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

static void test_a_time_after_2099_is_left_alone(void **state)
{
    FOR_EACH(f)
    {
        expect_left_alone(f, value_of(f->pattern, of_2100), "");
    }
}

/* Seconds for a profile in milliseconds are a time in 1970; the other way round it is far ahead. */
static void test_a_time_in_another_unit_is_left_alone(void **state)
{
    FOR_EACH(f)
    {
        expect_left_alone(f, value_of(f->other_unit, seconds_ago(0)), " EX 30");
        expect_left_alone(f, value_of(f->other_unit, seconds_ago(60)), "");
    }
}

static void test_a_time_that_is_over_is_left_alone_while_the_key_has_an_expiry(void **state)
{
    FOR_EACH(f)
    {
        expect_left_alone(f, value_of(f->pattern, seconds_ago(60)), " EX 30");
        expect_left_alone(f, value_of(f->pattern, seconds_ago(60)), " PX 2000400");
    }
}

/* The twin of the tests above: without the expiry it is a lock that somebody left behind. */
static void test_a_time_that_is_over_is_taken_over(void **state)
{
    FOR_EACH(f)
    {
        set(f, value_of(f->pattern, seconds_ago(60)), "");
        expect_taken(f);
        set(f, value_of(f->pattern, of_2000 + 366 * 86400), ""); /* the first second of 2001 */
        expect_taken(f);
    }
}

/* ---- what bowline_who says ------------------------------------------------------------------- */

static bowline_holder who(const form *f, const char *value, const char *more)
{
    bowline_client *client = open_form(f);
    bowline_holder  holder = { .size = sizeof holder };
    bowline_error   error  = { 0 };

    set(f, value, more);
    assert_status(BOWLINE_OK, bowline_who(client, "nightly", &holder, &error), &error);
    assert_int_equal(holder.held, 1);
    print_message("# %s%s: %s\n", value, more, holder.note);
    bowline_close(client);
    return holder;
}

static void test_who_says_why_the_lock_is_not_taken(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_starts),
        cmocka_unit_test_setup(test_a_time_before_2001_is_left_alone, empty_server),
        cmocka_unit_test_setup(test_a_time_after_2099_is_left_alone, empty_server),
        cmocka_unit_test_setup(test_a_time_in_another_unit_is_left_alone, empty_server),
        cmocka_unit_test_setup(test_a_time_that_is_over_is_left_alone_while_the_key_has_an_expiry,
                               empty_server),
        cmocka_unit_test_setup(test_a_time_that_is_over_is_taken_over, empty_server),
        cmocka_unit_test_setup(test_who_says_why_the_lock_is_not_taken, empty_server),
    };

    return cmocka_run_group_tests_name("stamp_values", tests, NULL, stop_server);
}
