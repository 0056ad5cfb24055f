/*
 * test_batch.c -- many extensions as one command: the room for it, and the accepted replies.
 * tests/session compares the command.
 */
#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/key.h"
#include "tests/lib/suite.h"

enum { COUNT = 4 };

TEST(batch_buffer_fits_the_longest_command)
{
    static char            bytes[65536];
    char                   key[BWL_KEY_MAX];
    char                   token[BWL_TOKEN_MAX + 1];
    char                   affix[BWL_AFFIX_MAX + 1];
    bwl_compat_rules       rules = { .value = BWL_VALUE_TOKEN, .prefix = affix, .suffix = affix };
    bwl_redis_command_args q = { .command = REDIS_EXTEND_IF_MINE, .token = token, .rules = &rules };
    size_t                 room   = bwl_batch_size_max(BWL_BATCH_MAX, BWL_BATCH_MAX * sizeof key);
    bwl_resp_writer        writer = { .bytes = bytes, .capacity = room };

    assert_true(room <= sizeof bytes);
    memset(key, 'k', sizeof key);
    memset(token, 't', BWL_TOKEN_MAX);
    token[BWL_TOKEN_MAX] = '\0';
    memset(affix, 'f', BWL_AFFIX_MAX);
    affix[BWL_AFFIX_MAX] = '\0';
    bwl_batch_write_begin(&writer, BWL_BATCH_MAX, true);
    for (unsigned i = 0; i < BWL_BATCH_MAX; i++)
        bwl_resp_write_bulk(&writer, key, sizeof key);
    for (unsigned i = 0; i < BWL_BATCH_MAX; i++)
        bwl_redis_write_value(&writer, &q);
    bwl_resp_write_integer(&writer, INT64_MAX);
    assert_false(writer.overflowed);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bwl_batch_verdict read_text(const char *text, bwl_batch_reply *ret_reply)
{
    return bwl_batch_read(COUNT, text, strlen(text), ret_reply);
}

TEST(batch_each_extension_has_its_own_reply)
{
    bwl_batch_reply reply;

    assert_int_equal(read_text("*4\r\n:1\r\n:0\r\n:-1\r\n:1\r\n", &reply), BWL_BATCH_EACH);
    assert_int_equal(reply.answers[0], BWL_YES);
    assert_int_equal(reply.answers[1], BWL_NO);
    assert_int_equal(reply.answers[2], 0);
    assert_int_equal(reply.answers[3], BWL_YES);
    assert_int_equal(read_text(":4\r\n", &reply), BWL_BATCH_EACH);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(reply.answers[i], BWL_YES);
}

/* With a shorter or longer array, a lock would get the reply of another lock. */
TEST(batch_accepts_only_an_array_of_that_many_numbers)
{
    static const char *const strange[] = { "*3\r\n:1\r\n:1\r\n:1\r\n",
                                           "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
                                           "*4\r\n:1\r\n:1\r\n:1\r\n:2\r\n",
                                           "*4\r\n:1\r\n:1\r\n:1\r\n:-2\r\n",
                                           "*4\r\n:1\r\n:1\r\n:1\r\n+OK\r\n",
                                           "*4\r\n:1\r\n:1\r\n:1\r\n_\r\n",
                                           "*4\r\n:1\r\n:1\r\n:1\r\n-ERR\r\n",
                                           "*4\r\n:1\r\n:1\r\n:1\r\n*1\r\n:1\r\n",
                                           "~4\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
                                           "*0\r\n",
                                           "*-1\r\n",
                                           "_\r\n",
                                           ":1\r\n",
                                           ":3\r\n",
                                           ":5\r\n",
                                           "+4\r\n",
                                           "+OK\r\n",
                                           "+QUEUED\r\n",
                                           "$4\r\n1111\r\n" };
    bwl_batch_reply          reply;

    for (size_t i = 0; i < COUNT_OF(strange); i++)
        assert_int_equal(read_text(strange[i], &reply), BWL_BATCH_STRANGE);
}

TEST(batch_error_is_for_all_extensions)
{
    static const struct {
        const char       *text;
        bwl_batch_verdict verdict;
    } cases[] = {
        { "-NOSCRIPT No matching script.\r\n", BWL_BATCH_NOSCRIPT },
        { "-LOADING Redis is loading\r\n", BWL_BATCH_RETRYABLE },
        { "-BUSY Redis is busy\r\n", BWL_BATCH_RETRYABLE },
        { "-READONLY You can't write\r\n", BWL_BATCH_RETRYABLE },
        { "-MISCONF Errors writing\r\n", BWL_BATCH_RETRYABLE },
        { "-ERR Error running script (call to f_0): @user_script:3: -OOM command\r\n",
          BWL_BATCH_RETRYABLE },
        { "-TRYAGAIN Multiple keys request during rehashing of slot\r\n", BWL_BATCH_ALONE },
        { "-CROSSSLOT Keys in request don't hash to the same slot\r\n", BWL_BATCH_ALONE },
        { "-MOVED 1 127.0.0.1:1\r\n", BWL_BATCH_ALONE },
        { "-NOPERM this user has no permissions\r\n", BWL_BATCH_ALONE },
        { "-ERR unknown command 'EVALSHA'\r\n", BWL_BATCH_ALONE },
        { "!5\r\nERR x\r\n", BWL_BATCH_ALONE },
    };
    bwl_batch_reply reply;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(read_text(cases[i].text, &reply), cases[i].verdict);
}
