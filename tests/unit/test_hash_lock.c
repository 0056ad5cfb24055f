/*
 * test_hash_lock.c -- the commands of the locks that are a hash, and their replies.
 * tests/live/test_foreign_locks.c tests the scripts.
 */
#include "engine/redis/wire/hash_lock.h"
#include "engine/redis/wire/key.h"
#include "engine/redis/wire/scripts.h"
#include "tests/lib/suite.h"

#include <stdio.h>

#define FIELD "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed:1"

static const bwl_compat_rules plain  = { .value = BWL_VALUE_TOKEN, .token = BWL_TOKEN_UUID_THREAD };
static const bwl_compat_rules fenced = { .value         = BWL_VALUE_TOKEN,
                                         .token         = BWL_TOKEN_UUID_THREAD,
                                         .counts_fences = true };

static const char *key = "nightly";
static bool        is_of_cluster;
static bool        use_eval;

/* The arguments of a command, each followed by a bar; a script by its name, or TEXT. */
static void expect_words(const char *bytes, size_t size, const char *wanted)
{
    static char     is[2 * BWL_KEY_MAX + 300];
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    size_t          length = 0;

    assert_true(bwl_resp_next(&cursor, &value));
    for (uint32_t words = value.count; words > 0; words--) {
        const char *name = NULL;
        assert_true(bwl_resp_next(&cursor, &value));
        for (unsigned id = 0; id < BWL_SCRIPTS_COUNT; id++) {
            if (bwl_resp_text_is(&value, bwl_scripts[id].sha1))
                name = bwl_scripts[id].name;
            if (bwl_resp_text_is(&value, bwl_scripts[id].text))
                name = "TEXT";
        }
        length += (size_t)snprintf(is + length, sizeof is - length, "%.*s|",
                                   name != NULL ? (int)strlen(name) : (int)value.size,
                                   name != NULL ? name : value.text);
        assert_true(length < sizeof is);
    }
    assert_string_equal(is, wanted);
}

static void expect_command(bwl_redis_command command, const bwl_compat_rules *rules,
                           const char *wanted)
{
    static char            bytes[8192];
    bwl_redis_command_args q      = { .command       = command,
                                      .use_eval      = use_eval,
                                      .key           = key,
                                      .key_size      = strlen(key),
                                      .token         = FIELD,
                                      .lease_ms      = 30000,
                                      .is_of_cluster = is_of_cluster,
                                      .rules         = rules };
    bwl_resp_writer        writer = { .bytes    = bytes,
                                      .capacity = bwl_redis_size_max(command, strlen(key)) };

    bwl_redis_write(&writer, &q);
    assert_false(writer.overflowed);
    expect_words(bytes, writer.size, wanted);
}

static int begin(void **state)
{
    key           = "nightly";
    is_of_cluster = false;
    use_eval      = false;
    return 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

FIXTURE(begin, NULL)

TEST(commands_have_the_key_the_field_and_the_lease)
{
    expect_command(REDIS_HASH_TAKE, &plain, "EVALSHA|hash_take|1|nightly|" FIELD "|30000|");
    expect_command(REDIS_HASH_TAKE, NULL, "EVALSHA|hash_take|1|nightly|" FIELD "|30000|");
    expect_command(REDIS_HASH_EXTEND, &plain, "EVALSHA|hash_extend|1|nightly|" FIELD "|30000|");
    expect_command(REDIS_HASH_RELEASE, &plain,
                   "EVALSHA|hash_release|1|nightly|" FIELD
                   "|redisson_lock__channel:{nightly}|PUBLISH|");
}

TEST(fences_are_counted_in_a_second_key)
{
    expect_command(REDIS_HASH_TAKE, &fenced,
                   "EVALSHA|hash_take|2|nightly|redisson_lock_token:{nightly}|" FIELD "|30000|");
    expect_command(REDIS_HASH_EXTEND, &fenced, "EVALSHA|hash_extend|1|nightly|" FIELD "|30000|");
}

/* RedissonObject.prefixName: such a key has a hash tag already, or looks like it has one. */
TEST(key_with_a_brace_has_no_braces_around_it)
{
    key = "jobs:{7}";
    expect_command(REDIS_HASH_RELEASE, &plain,
                   "EVALSHA|hash_release|1|jobs:{7}|" FIELD
                   "|redisson_lock__channel:jobs:{7}|PUBLISH|");
    expect_command(REDIS_HASH_TAKE, &fenced,
                   "EVALSHA|hash_take|2|jobs:{7}|redisson_lock_token:jobs:{7}|" FIELD "|30000|");
    key = "a}b";
    expect_command(REDIS_HASH_RELEASE, &plain,
                   "EVALSHA|hash_release|1|a}b|" FIELD "|redisson_lock__channel:{a}b}|PUBLISH|");
}

TEST(release_in_a_cluster_publishes_to_old_and_new_clients)
{
    is_of_cluster = true;
    expect_command(REDIS_HASH_RELEASE, &plain,
                   "EVALSHA|hash_release|1|nightly|" FIELD
                   "|redisson_lock__channel:{nightly}|PUBLISH|SPUBLISH|");
}

TEST(unknown_script_is_sent_as_text)
{
    use_eval = true;
    expect_command(REDIS_HASH_TAKE, &plain, "EVAL|TEXT|1|nightly|" FIELD "|30000|");
    expect_command(REDIS_HASH_EXTEND, &plain, "EVAL|TEXT|1|nightly|" FIELD "|30000|");
    expect_command(REDIS_HASH_RELEASE, &plain,
                   "EVAL|TEXT|1|nightly|" FIELD "|redisson_lock__channel:{nightly}|PUBLISH|");
}

TEST(longest_key_fits_in_every_command)
{
    static char     longest[BWL_KEY_MAX + 1];
    static char     bytes[16384];
    bwl_resp_writer writer = { .bytes = bytes };

    memset(longest, 'k', BWL_KEY_MAX);
    for (bwl_redis_command command = REDIS_HASH_TAKE; command <= REDIS_HASH_RELEASE; command++) {
        bwl_redis_command_args q = { .command       = command,
                                     .use_eval      = true,
                                     .key           = longest,
                                     .key_size      = BWL_KEY_MAX,
                                     .token         = FIELD,
                                     .lease_ms      = INT32_MAX,
                                     .is_of_cluster = true,
                                     .rules         = &fenced };
        writer                   = (bwl_resp_writer){ .bytes = bytes };
        writer.capacity          = bwl_redis_size_max(command, BWL_KEY_MAX);
        assert_true(writer.capacity <= sizeof bytes);
        bwl_redis_write(&writer, &q);
        assert_false(writer.overflowed);
    }
}

TEST(holder_query_has_only_the_key)
{
    char            bytes[2048];
    bwl_resp_writer writer = { .bytes = bytes, .capacity = sizeof bytes };

    bwl_hash_lock_write_holder_query(&writer, "nightly", 7, false);
    expect_words(bytes, writer.size, "EVALSHA|hash_holder_query|1|nightly|");
}

/* ---- answers --------------------------------------------------------------------------------- */

static bwl_redis_verdict hear(bwl_redis_command command, const char *text,
                              bwl_redis_reply *ret_reply)
{
    bwl_redis_command_args q = { .command = command, .token = FIELD, .rules = &fenced };

    return bwl_redis_read(&q, 0, text, strlen(text), ret_reply);
}

static void expect_answer(bwl_redis_command command, const char *text, bwl_answer answer,
                          uint64_t number)
{
    bwl_redis_reply reply;

    assert_int_equal(hear(command, text, &reply), BWL_REDIS_ANSWER);
    assert_int_equal(reply.answer, answer);
    assert_int_equal(reply.number, number);
    assert_false(reply.value.is_mine);
}

FIXTURE(NULL, NULL)

TEST(reply_to_an_acquire_is_the_fence_or_minus_one)
{
    expect_answer(REDIS_HASH_TAKE, ":0\r\n", BWL_YES, 0);
    expect_answer(REDIS_HASH_TAKE, ":41\r\n", BWL_YES, 41);
    expect_answer(REDIS_HASH_TAKE, ":9007199254740991\r\n", BWL_YES, UINT64_C(9007199254740991));
    expect_answer(REDIS_HASH_TAKE, ":-1\r\n", BWL_NO, 0);
}

TEST(reply_to_extend_and_release_is_one_or_nil)
{
    expect_answer(REDIS_HASH_EXTEND, ":1\r\n", BWL_YES, 0);
    expect_answer(REDIS_HASH_EXTEND, ":0\r\n", BWL_NO, 0);
    expect_answer(REDIS_HASH_RELEASE, ":1\r\n", BWL_YES, 0);
    expect_answer(REDIS_HASH_RELEASE, ":0\r\n", BWL_NO, 0);
}

TEST(replies_of_no_script_are_refused)
{
    static const char *const strange[] = { ":-2\r\n",     "+OK\r\n", "+QUEUED\r\n",
                                           "$1\r\n1\r\n", "_\r\n",   "*0\r\n" };
    bwl_redis_reply          reply;

    for (size_t i = 0; i < COUNT_OF(strange); i++)
        for (bwl_redis_command command = REDIS_HASH_TAKE; command <= REDIS_HASH_RELEASE; command++)
            assert_int_equal(hear(command, strange[i], &reply), BWL_REDIS_STRANGE);
    assert_int_equal(hear(REDIS_HASH_EXTEND, ":2\r\n", &reply), BWL_REDIS_STRANGE);
    assert_int_equal(hear(REDIS_HASH_TAKE, "-NOSCRIPT x\r\n", &reply), BWL_REDIS_NOSCRIPT);
}
