/*
 * test_zset_lock.c -- the commands of the ZSET words, and what their answers mean.  What the
 * scripts do is in tests/live/test_foreign_locks.c.
 */
#include "engine/redis/wire/key.h"
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/zset_lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MEMBER "qLmSyUfzEGQ2sCkhg2E0tHd6xjT3mLZy0aVxJ5rUeYw="

static const bwl_rules rules = { .value = BWL_VALUE_TOKEN, .token = BWL_TOKEN_BASE64_32 };

static const bwl_redis_word words[] = { REDIS_ZSET_TAKE, REDIS_ZSET_EXTEND, REDIS_ZSET_RELEASE };
enum { WORDS = sizeof words / sizeof words[0] };

/* The words of a command, each with a bar behind it; a script by its name, or TEXT. */
static void expect_words(const char *bytes, size_t size, const char *wanted)
{
    static char     is[500];
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
    bwl_resp_value  value;
    size_t          length = 0;

    assert_true(bwl_resp_next(&cursor, &value));
    for (uint32_t count = value.count; count > 0; count--) {
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
    assert_false(bwl_resp_next(&cursor, &value));
}

static void expect_command(const bwl_redis_question *question, const char *wanted)
{
    static char        bytes[8192];
    bwl_redis_question q = *question;

    q.key                  = "nightly";
    q.key_size             = 7;
    q.token                = MEMBER;
    q.lease_ms             = 300000;
    bwl_resp_writer writer = { .bytes = bytes, .capacity = bwl_redis_room(q.word, q.key_size) };
    bwl_redis_write(&writer, &q);
    assert_false(writer.overflowed);
    expect_words(bytes, writer.size, wanted);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void test_zset_commands_name_the_key_the_member_and_the_lease(void **state)
{
    (void)state;
    expect_command(&(bwl_redis_question){ .word = REDIS_ZSET_TAKE, .rules = &rules },
                   "EVALSHA|zset_take|1|nightly|" MEMBER "|300000|");
    expect_command(&(bwl_redis_question){ .word = REDIS_ZSET_TAKE },
                   "EVALSHA|zset_take|1|nightly|" MEMBER "|300000|");
    expect_command(&(bwl_redis_question){ .word = REDIS_ZSET_EXTEND, .rules = &rules },
                   "EVALSHA|zset_extend|1|nightly|" MEMBER "|300000|");
    expect_command(&(bwl_redis_question){ .word = REDIS_ZSET_RELEASE, .rules = &rules },
                   "EVALSHA|zset_release|1|nightly|" MEMBER "|");
}

static void test_zset_member_that_was_seen_is_named_by_its_bytes(void **state)
{
    (void)state;
    expect_command(
        &(bwl_redis_question){
            .word = REDIS_ZSET_RELEASE, .rules = &rules, .value = "another one", .value_size = 7 },
        "EVALSHA|zset_release|1|nightly|another|");
}

static void test_zset_unknown_script_goes_by_its_text(void **state)
{
    static const char *const wanted[WORDS] = { "EVAL|TEXT|1|nightly|" MEMBER "|300000|",
                                               "EVAL|TEXT|1|nightly|" MEMBER "|300000|",
                                               "EVAL|TEXT|1|nightly|" MEMBER "|" };

    (void)state;
    for (unsigned i = 0; i < WORDS; i++)
        expect_command(&(bwl_redis_question){ .word = words[i], .rules = &rules, .by_text = true },
                       wanted[i]);
}

static void test_zset_longest_key_has_room_in_every_command(void **state)
{
    static char longest[BWL_KEY_MAX + 1];
    static char bytes[16384];

    (void)state;
    memset(longest, 'k', BWL_KEY_MAX);
    for (unsigned i = 0; i < WORDS; i++) {
        bwl_redis_question q      = { .word     = words[i],
                                      .by_text  = true,
                                      .key      = longest,
                                      .key_size = BWL_KEY_MAX,
                                      .token    = MEMBER,
                                      .lease_ms = INT32_MAX,
                                      .rules    = &rules };
        bwl_resp_writer    writer = { .bytes    = bytes,
                                      .capacity = bwl_redis_room(words[i], BWL_KEY_MAX) };
        assert_true(writer.capacity <= sizeof bytes);
        bwl_redis_write(&writer, &q);
        assert_false(writer.overflowed);
    }
}

static void test_zset_look_asks_for_the_key_alone(void **state)
{
    char            bytes[2048];
    bwl_resp_writer writer = { .bytes = bytes, .capacity = sizeof bytes };

    (void)state;
    bwl_zset_lock_write_look(&writer, "nightly", 7, false);
    expect_words(bytes, writer.size, "EVALSHA|zset_look|1|nightly|");
    writer = (bwl_resp_writer){ .bytes = bytes, .capacity = sizeof bytes };
    bwl_zset_lock_write_look(&writer, "nightly", 7, true);
    expect_words(bytes, writer.size, "EVAL|TEXT|1|nightly|");
}

/* ---- answers --------------------------------------------------------------------------------- */

static bwl_redis_verdict hear(bwl_redis_word word, const char *text, bwl_redis_reply *ret_reply)
{
    bwl_redis_question q = { .word = word, .token = MEMBER, .rules = &rules };

    return bwl_redis_read(&q, 0, text, strlen(text), ret_reply);
}

static void test_zset_answer_is_one_or_nothing(void **state)
{
    bwl_redis_reply reply;

    (void)state;
    for (unsigned i = 0; i < WORDS; i++) {
        assert_true(bwl_zset_lock_is(words[i]));
        assert_int_equal(hear(words[i], ":1\r\n", &reply), BWL_REDIS_ANSWER);
        assert_int_equal(reply.answer, BWL_YES);
        assert_int_equal(reply.number, 0);
        assert_int_equal(hear(words[i], ":0\r\n", &reply), BWL_REDIS_ANSWER);
        assert_int_equal(reply.answer, BWL_NO);
    }
    assert_false(bwl_zset_lock_is(REDIS_HASH_RELEASE));
    assert_false(bwl_zset_lock_is(REDIS_QUEUE_TAKE));
}

/* What a server says whose scripts may not write after TIME: it holds nothing there. */
static void test_zset_error_is_a_refusal(void **state)
{
    static const char error[] = "-ERR Error running script (call to f_0): @user_script:6: Write "
                                "commands not allowed after non deterministic commands.\r\n";
    bwl_redis_reply   reply;

    (void)state;
    for (unsigned i = 0; i < WORDS; i++) {
        assert_int_equal(hear(words[i], error, &reply), BWL_REDIS_ANSWER);
        assert_int_equal(reply.answer, BWL_REFUSED);
        assert_int_equal(hear(words[i], "-NOSCRIPT x\r\n", &reply), BWL_REDIS_NOSCRIPT);
    }
}

static void test_zset_answers_that_no_script_gives_are_strange(void **state)
{
    static const char *const strange[] = { ":2\r\n",      ":-1\r\n", "+OK\r\n", "+QUEUED\r\n",
                                           "$1\r\n1\r\n", "_\r\n",   "*0\r\n" };
    bwl_redis_reply          reply;

    (void)state;
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++)
        for (unsigned j = 0; j < WORDS; j++)
            assert_int_equal(hear(words[j], strange[i], &reply), BWL_REDIS_STRANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zset_commands_name_the_key_the_member_and_the_lease),
        cmocka_unit_test(test_zset_member_that_was_seen_is_named_by_its_bytes),
        cmocka_unit_test(test_zset_unknown_script_goes_by_its_text),
        cmocka_unit_test(test_zset_longest_key_has_room_in_every_command),
        cmocka_unit_test(test_zset_look_asks_for_the_key_alone),
        cmocka_unit_test(test_zset_answer_is_one_or_nothing),
        cmocka_unit_test(test_zset_error_is_a_refusal),
        cmocka_unit_test(test_zset_answers_that_no_script_gives_are_strange),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
