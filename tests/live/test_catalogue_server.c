/*
 * test_catalogue_server.c -- setnx-getset by the server's clock, in one script: each form of value,
 * taken when it is free, when it has expired, not while it lasts, never from a stranger.
 */
#include "engine/redis/wire/value.h"
#include "engine/redis/wire/commands.h"
#include "tests/lib/catalogue.h"

#include <sys/socket.h>
#include <sys/un.h>

typedef struct form {
    const char *profile;
    const char *expired;  /* what another program may have left there long ago                  */
    const char *lasts;    /* what it writes while it holds it, far ahead                        */
    const char *stranger; /* looks like it, and is not                                          */
    long        unit_ms;  /* of its stamps; 0: finer                                            */
} form;

static const form forms[] = {
    { "redis-io-setnx", "1500000000", "9500000000", "9500000000.0", 1000 },
    { "jedis-lock-1", "1500000000123", "9500000000123", "01500000000123", 1 },
    { "redis-py-2.7", "1500000000.0", "4000000000.0", "1500000000", 1000 },
    { "redis-py-2.9", "1500000000.1234567", "4000000000.123456", "1500000000.12345670", 0 },
    { "redis-mutex", "1500000000.5", "4000000000.25", "1500000000.50", 0 },
    { "crowdtap-redis-lock", "1500000000-71-968", "9500000000-71-968", "1500000000-71-", 1000 },
    { "resque-lock-timeout", "1500000000", "9500000000", "true", 1000 },
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static bowline_client *open_form(const form *f, const char *more)
{
    char options[128];

    (void)snprintf(options, sizeof options, "profile=%s&lease=20s%s", f->profile, more);
    return open_with(options);
}

static void test_free_lock_is_taken_with_an_expiry(void **state)
{
    for (int i = 0; i < FORMS; i++) {
        bowline_client *a    = open_form(&forms[i], "");
        bowline_client *b    = open_form(&forms[i], "");
        bowline_hold   *hold = must_acquire(a, "lock");
        long            left = ttl_ms("lock");
        print_message("# %s: %s\n", forms[i].profile, server_ask(redis, "GET lock"));
        assert_true(left > 15000 && left <= 20000 + 1500 + forms[i].unit_ms);
        assert_true(bowline_hold_left_ms(hold) <= left);
        assert_int_equal(try_once(b, "lock"), BOWLINE_BUSY);
        must_release(hold);
        assert_false(is_there("lock"));
        bowline_close(a);
        bowline_close(b);
    }
}

static void test_release_deletes_only_its_own_bytes(void **state)
{
    for (int i = 0; i < FORMS; i++) {
        bowline_client *client = open_form(&forms[i], "");
        bowline_hold   *hold   = must_acquire(client, "lock");
        bowline_error   error  = { 0 };
        (void)server_ask(redis, "SET lock %s", forms[i].lasts);
        assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
        assert_key("lock", forms[i].lasts);
        (void)server_ask(redis, "DEL lock");
        bowline_close(client);
    }
}

/* ---- every form of value, by the script alone ------------------------------------------------ */

static int line = -1;

static void talk(const bwl_resp_writer *writer, char ret_frame[4096], size_t *ret_size)
{
    bwl_resp_scan scan = { 0 };
    size_t        got  = 0;

    assert_false(writer->overflowed);
    assert_int_equal(write(line, writer->bytes, writer->size), (ssize_t)writer->size);
    while (bwl_resp_scan_bytes(&scan, ret_frame, got) == BWL_RESP_MORE) {
        ssize_t n = read(line, ret_frame + got, 4096 - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
    assert_int_equal(scan.status, BWL_RESP_OK);
    *ret_size = scan.size;
}

static bwl_redis_reply says(bwl_redis_command command, const bwl_compat_rules *rules,
                            const char *token, int64_t timestamp)
{
    char                   bytes[8192];
    char                   frame[4096];
    size_t                 size;
    bwl_redis_reply        reply  = { 0 };
    bwl_resp_writer        writer = { .bytes = bytes, .capacity = sizeof bytes };
    bwl_redis_command_args q      = { .command   = command,
                                      .use_eval  = true,
                                      .key       = "lock",
                                      .key_size  = 4,
                                      .token     = token,
                                      .lease_ms  = 20000,
                                      .timestamp = timestamp,
                                      .rules     = rules };

    bwl_redis_write(&writer, &q);
    talk(&writer, frame, &size);
    if (bwl_redis_read(&q, 0, frame, size, &reply) != BWL_REDIS_ANSWER)
        fail_msg("strange: %.*s", (int)size, frame);
    return reply;
}

/* Another program sets the key. */
static void other_sets(const bwl_compat_rules *rules, const char *token, int64_t timestamp)
{
    (void)server_ask(redis, "DEL lock");
    assert_int_equal(says(REDIS_SETNX, rules, token, timestamp).answer, BWL_YES);
}

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)
#define US_NS     INT64_C(1000)

static void try_form(bwl_compat_rules rules)
{
    const char *mine   = rules.token == BWL_TOKEN_PID_TID ? "71-968" : "AAAAAAAAAAAAAAAAAAAAAA";
    const char *theirs = rules.token == BWL_TOKEN_PID_TID ? "72-969" : "BBBBBBBBBBBBBBBBBBBBBA";
    int64_t     now    = wall_ms() * MS_NS / rules.unit_ns;
    int64_t     lease  = 20 * SECOND_NS / rules.unit_ns;
    int64_t     second = SECOND_NS / rules.unit_ns;

    rules.expired = BWL_TIMESTAMP_BEFORE_NOW;
    (void)server_ask(redis, "DEL lock");
    bwl_redis_reply taken = says(REDIS_TAKE_TIMESTAMP, &rules, mine, 0);
    assert_int_equal(taken.answer, BWL_YES);
    int64_t ahead = (int64_t)taken.number - now;
    assert_true(ahead >= (rules.timestamp_is_start ? 0 : lease) - 1);
    assert_true(ahead <= (rules.timestamp_is_start ? 0 : lease) + 5 * second + 1);
    assert_true(ttl_ms("lock") > 15000 && ttl_ms("lock") <= 22500);

    bwl_redis_reply seen = says(REDIS_READ, &rules, mine, (int64_t)taken.number);
    assert_int_equal(seen.answer, BWL_YES);
    assert_true(seen.is_mine); /* the script writes what the library would */
    assert_int_equal(seen.number, taken.number);
    assert_int_equal(says(REDIS_TAKE_TIMESTAMP, &rules, theirs, 0).answer, BWL_NO);
    assert_int_equal(
        says(REDIS_DROP_TIMESTAMP, &rules, mine, (int64_t)taken.number + second).answer, BWL_NO);
    assert_int_equal(says(REDIS_DROP_TIMESTAMP, &rules, mine, (int64_t)taken.number).answer,
                     BWL_YES);

    int64_t back = rules.timestamp_is_start ? lease : 0;
    other_sets(&rules, theirs, now - back + 10 * second);
    assert_int_equal(says(REDIS_TAKE_TIMESTAMP, &rules, mine, 0).answer, BWL_NO);
    other_sets(&rules, theirs, now - back - 2 * second);
    assert_int_equal(says(REDIS_TAKE_TIMESTAMP, &rules, mine, 0).answer, BWL_YES);
}

static void join(void)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };

    line = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", redis->socket);
    assert_int_equal(connect(line, (struct sockaddr *)&to, sizeof to), 0);
}

static void test_every_form_is_written_and_read_as_the_library_does(void **state)
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

    join();
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        print_message("# form %zu\n", i);
        for (int again = 0; again < 20; again++) /* of another microsecond each */
            try_form(list[i]);
    }
    close(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_starts),
        cmocka_unit_test_setup(test_free_lock_is_taken_with_an_expiry, empty_server),
        cmocka_unit_test_setup(test_release_deletes_only_its_own_bytes, empty_server),
        cmocka_unit_test_setup(test_every_form_is_written_and_read_as_the_library_does,
                               empty_server),
    };

    return cmocka_run_group_tests_name("catalogue_server", tests, NULL, stop_server);
}
