/*
 * test_take_timestamp.c -- the arguments of the script of TAKE_TIMESTAMP for each format, and its
 * replies.  tests/live/test_catalogue_server.c runs the script.
 */
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/take_timestamp.h"
#include "tests/lib/suite.h"

#define TOKEN     "AAAAAAAAAAAAAAAAAAAAAA"
#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)

/* The ARGV, each followed by a bar. */
static void assert_arguments(const bwl_compat_rules *rules, const char *wanted)
{
    char                   bytes[4096];
    char                   is[512];
    size_t                 size   = 0;
    bwl_resp_writer        writer = { .bytes = bytes, .capacity = sizeof bytes };
    bwl_redis_command_args q      = { .command  = REDIS_TAKE_TIMESTAMP,
                                      .key      = "k",
                                      .key_size = 1,
                                      .token    = TOKEN,
                                      .lease_ms = 10000,
                                      .rules    = rules };
    bwl_resp_cursor        cursor;
    bwl_resp_value         value;

    bwl_redis_write(&writer, &q);
    assert_false(writer.overflowed);
    cursor = bwl_resp_begin(bytes, writer.size);
    assert_true(bwl_resp_next(&cursor, &value));
    assert_int_equal(value.count, 4 + BWL_TAKE_TIMESTAMP_ARGUMENTS);
    for (unsigned i = 0; bwl_resp_next(&cursor, &value); i++) {
        if (i == 1)
            assert_true(bwl_resp_text_is(&value, bwl_scripts[BWL_SCRIPT_TAKE_TIMESTAMP].sha1));
        if (i < 4)
            continue; /* EVALSHA, script, 1, key */
        memcpy(is + size, value.text, value.size);
        size += value.size;
        is[size++] = '|';
    }
    is[size] = '\0';
    assert_string_equal(is, wanted);
}

TEST(arguments_of_each_format)
{
    bwl_compat_rules r = { .value = BWL_VALUE_DECIMAL, .unit_ns = SECOND_NS };

    r.expired = BWL_TIMESTAMP_NOT_AFTER_NOW;
    assert_arguments(&r, "d|||1000000|0|10000000|<=|0|||");
    r.expired            = BWL_TIMESTAMP_BEFORE_NOW;
    r.extra_ns           = 1500 * MS_NS;
    r.unit_ns            = 1;
    r.timestamp_is_start = true;
    assert_arguments(&r, "d|||0|0|11500000|<|1|||");
    r = (bwl_compat_rules){ .value    = BWL_VALUE_FLOAT_PYTHON,
                            .unit_ns  = 1000,
                            .whole_ns = SECOND_NS,
                            .expired  = BWL_TIMESTAMP_BEFORE_NOW };
    assert_arguments(&r, "f|||1|1000000|10000000|<|0|||");
    r.value = BWL_VALUE_FLOAT_PHP;
    assert_arguments(&r, "p|||1|1000000|10000000|<|0|||");
    r.value = BWL_VALUE_LITTLE_ENDIAN;
    assert_arguments(&r, "l|||1|1000000|10000000|<|0|||");
}

TEST(affixes_and_tokens_are_given_as_text_and_as_patterns)
{
    bwl_compat_rules r = { .value   = BWL_VALUE_TOKEN_TIMESTAMP,
                           .unit_ns = MS_NS,
                           .prefix  = "a.b-",
                           .suffix  = "%c",
                           .expired = BWL_TIMESTAMP_BEFORE_NOW };

    assert_arguments(&r, "d|a.b-" TOKEN ":|%c|1000|0|10000000|<|0|a%.b%-[%w_%-+/=:.@]+:|%%c|");
    r.value = BWL_VALUE_TIMESTAMP_TOKEN;
    r.token = BWL_TOKEN_PID_TID;
    assert_arguments(&r, "d|a.b-|-" TOKEN "%c|1000|0|10000000|<|0|a%.b%-|%-[1-9]%d*%-[1-9]%d*%%c|");
}

TEST(text_of_the_script_fits)
{
    char                   bytes[8192];
    bwl_resp_writer        writer = { .bytes = bytes, .capacity = sizeof bytes };
    char                   affix[BWL_AFFIX_MAX + 1];
    bwl_compat_rules       r = { .value   = BWL_VALUE_TOKEN_TIMESTAMP,
                                 .unit_ns = MS_NS,
                                 .prefix  = affix,
                                 .suffix  = affix,
                                 .expired = BWL_TIMESTAMP_BEFORE_NOW };
    bwl_redis_command_args q = { .command  = REDIS_TAKE_TIMESTAMP,
                                 .use_eval = true,
                                 .key      = "",
                                 .key_size = 0,
                                 .token    = TOKEN,
                                 .lease_ms = 86400000,
                                 .rules    = &r };

    memset(affix, '.', BWL_AFFIX_MAX);
    affix[BWL_AFFIX_MAX] = '\0';
    bwl_redis_write(&writer, &q);
    assert_false(writer.overflowed);
    assert_in_range(writer.size, 1000, bwl_redis_size_max(REDIS_TAKE_TIMESTAMP, 0));
}

static bwl_redis_reply reply;

static bwl_redis_verdict read_frame(const char *frame)
{
    static const bwl_compat_rules seconds = { .value = BWL_VALUE_DECIMAL, .unit_ns = SECOND_NS };
    bwl_redis_command_args        q       = { .command = REDIS_TAKE_TIMESTAMP,
                                              .token   = TOKEN,
                                              .rules   = &seconds };

    return bwl_redis_read(&q, 0, frame, strlen(frame), &reply);
}

TEST(answers)
{
    static const char *const strange[] = { ":1\r\n",      ":-2\r\n", "+OK\r\n",   "_\r\n",
                                           "$1\r\nx\r\n", "*0\r\n",  "$0\r\n\r\n" };

    assert_int_equal(read_frame("$10\r\n1700000010\r\n"), BWL_REDIS_ANSWER);
    assert_int_equal(reply.answer, BWL_YES);
    assert_int_equal(reply.number, 1700000010);
    assert_true(reply.value.is_mine);
    assert_int_equal(read_frame(":0\r\n"), BWL_REDIS_ANSWER);
    assert_int_equal(reply.answer, BWL_NO);
    assert_int_equal(read_frame(":-1\r\n"), BWL_REDIS_ANSWER);
    assert_int_equal(reply.answer, BWL_FOREIGN_VALUE);
    assert_int_equal(read_frame("-NOSCRIPT\r\n"), BWL_REDIS_NOSCRIPT);
    assert_int_equal(read_frame("-OOM\r\n"), BWL_REDIS_ANSWER);
    assert_int_equal(reply.answer, BWL_RETRYABLE);
    for (unsigned i = 0; i < COUNT_OF(strange); i++)
        assert_int_equal(read_frame(strange[i]), BWL_REDIS_STRANGE);
}
