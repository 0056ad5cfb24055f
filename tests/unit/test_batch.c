/*
 * test_batch.c -- many extensions, heartbeats or TAKE as one command: the room for it, and the
 * accepted replies.
 * tests/session compares the command.
 */
#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/key.h"
#include "engine/redis/wire/queue.h"
#include "tests/lib/suite.h"

enum { COUNT = 4 };

static void assert_fits(bwl_redis_command command)
{
    static char            bytes[131072];
    char                   key[BWL_KEY_MAX];
    char                   token[BWL_TOKEN_MAX + 1];
    char                   affix[BWL_AFFIX_MAX + 1];
    bwl_compat_rules       rules = { .value = BWL_VALUE_TOKEN, .prefix = affix, .suffix = affix };
    bwl_queue_self         self  = { .slot = UINT32_MAX, .generation = UINT64_MAX };
    bwl_redis_command_args q     = { .command  = command,
                                     .use_eval = true,
                                     .key      = key,
                                     .key_size = sizeof key,
                                     .token    = token,
                                     .rules    = &rules,
                                     .self     = &self };
    size_t          room   = bwl_batch_size_max(command, BWL_BATCH_MAX, BWL_BATCH_MAX * sizeof key);
    bwl_resp_writer writer = { .bytes = bytes, .capacity = room };

    assert_true(room <= sizeof bytes);
    memset(key, 'k', sizeof key);
    memset(token, 't', BWL_TOKEN_MAX);
    token[BWL_TOKEN_MAX] = '\0';
    memset(affix, 'f', BWL_AFFIX_MAX);
    affix[BWL_AFFIX_MAX] = '\0';
    memset(self.session, 's', BWL_QUEUE_SESSION_SIZE);
    memset(self.push_channels[0], 'c', BWL_QUEUE_CHANNEL_MAX);
    self.provisional_ttl_ms = INT64_MAX;
    bwl_batch_write(&writer, &q, BWL_BATCH_MAX);
    for (unsigned i = 0; i < BWL_BATCH_MAX; i++)
        bwl_batch_write_keys(&writer, &q);
    for (unsigned i = 0; i < BWL_BATCH_MAX; i++)
        bwl_batch_write_arguments(&writer, &q);
    bwl_resp_write_integer(&writer, INT64_MAX);
    assert_false(writer.overflowed);
}

TEST(batch_buffer_fits_the_longest_command)
{
    assert_fits(REDIS_EXTEND_IF_MINE);
    assert_fits(REDIS_QUEUE_HEARTBEAT);
    assert_fits(REDIS_QUEUE_TAKE);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bwl_batch_verdict read_text(const char *text, bwl_batch_reply *ret_reply)
{
    return bwl_batch_read(REDIS_QUEUE_EXTEND, COUNT, text, strlen(text), ret_reply);
}

static bwl_batch_verdict read_two(const char *text, bwl_batch_reply *ret_reply)
{
    return bwl_batch_read(REDIS_QUEUE_HEARTBEAT, 2, text, strlen(text), ret_reply);
}

static bwl_batch_verdict read_three_takes(const char *text, bwl_batch_reply *ret_reply)
{
    return bwl_batch_read(REDIS_QUEUE_TAKE, 3, text, strlen(text), ret_reply);
}

TEST(batch_each_take_has_its_own_fence_or_holder)
{
    bwl_batch_reply reply;

    assert_int_equal(read_three_takes("*3\r\n:7\r\n*2\r\n:700\r\n:2\r\n:-1\r\n", &reply),
                     BWL_BATCH_EACH);
    assert_int_equal(reply.answers[0], BWL_YES);
    assert_int_equal(reply.fences[0], 7 * BWL_QUEUE_HANDOFFS);
    assert_int_equal(reply.statuses[0].kind, BWL_QUEUE_STATUS_HELD);
    assert_int_equal(reply.answers[1], BWL_NO);
    assert_int_equal(reply.statuses[1].kind, BWL_QUEUE_STATUS_BUSY);
    assert_true(reply.statuses[1].is_ours && reply.statuses[1].rests && reply.statuses[1].ends);
    assert_int_equal(reply.statuses[1].left_ms, 700);
    assert_int_equal(reply.answers[2], 0);
}

TEST(batch_of_takes_accepts_only_a_fence_or_a_holder_or_minus_one_for_each)
{
    static const char *const strange[] = { ":3\r\n",
                                           "+OK\r\n",
                                           "*2\r\n:7\r\n:8\r\n",
                                           "*3\r\n:7\r\n:8\r\n",
                                           "*3\r\n:7\r\n:8\r\n:0\r\n",
                                           "*3\r\n:7\r\n:8\r\n:-2\r\n",
                                           "*3\r\n:7\r\n:8\r\n:9007199254740992\r\n",
                                           "*3\r\n:7\r\n:8\r\n_\r\n",
                                           "*3\r\n:7\r\n:8\r\n*1\r\n:5\r\n",
                                           "*3\r\n:7\r\n:8\r\n*2\r\n:-3\r\n:1\r\n",
                                           "*3\r\n:7\r\n:8\r\n*2\r\n:5\r\n:3\r\n" };
    bwl_batch_reply          reply;

    for (size_t i = 0; i < COUNT_OF(strange); i++)
        assert_int_equal(read_three_takes(strange[i], &reply), BWL_BATCH_STRANGE);
}

TEST(batch_each_heartbeat_has_its_own_status)
{
    const bwl_queue_status *second;
    bwl_batch_reply         reply;

    assert_int_equal(read_two("*7\r\n:-1\r\n:0\r\n:0\r\n:0\r\n:700\r\n:2\r\n:99\r\n", &reply),
                     BWL_BATCH_EACH);
    second = &reply.statuses[1];
    assert_int_equal(reply.answers[0], 0);
    assert_int_equal(reply.answers[1], BWL_NO);
    assert_int_equal(second->kind, BWL_QUEUE_STATUS_QUEUED);
    assert_true(second->is_ours && second->rests && second->ends);
    assert_int_equal(second->left_ms, 700);
    assert_int_equal(second->rank, 0);
    assert_int_equal(second->server_us, 99);
}

TEST(batch_of_heartbeats_accepts_only_three_numbers_for_each_and_a_time)
{
    static const char *const strange[] = { "*6\r\n:1\r\n:0\r\n:1\r\n:1\r\n:0\r\n:1\r\n",
                                           "*7\r\n:-2\r\n:0\r\n:1\r\n:1\r\n:0\r\n:1\r\n:9\r\n",
                                           "*7\r\n:1\r\n:-3\r\n:1\r\n:1\r\n:0\r\n:1\r\n:9\r\n",
                                           "*7\r\n:1\r\n:0\r\n:3\r\n:1\r\n:0\r\n:1\r\n:9\r\n",
                                           "*7\r\n:1\r\n:0\r\n:1\r\n:1\r\n:0\r\n:1\r\n:0\r\n",
                                           "*7\r\n:1\r\n:0\r\n:1\r\n:1\r\n:0\r\n:1\r\n+OK\r\n",
                                           ":2\r\n",
                                           "+OK\r\n" };
    bwl_batch_reply          reply;

    for (size_t i = 0; i < COUNT_OF(strange); i++)
        assert_int_equal(read_two(strange[i], &reply), BWL_BATCH_STRANGE);
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
    static const char *const strange[] = {
        /* arrays of other sizes, or with other items */
        "*3\r\n:1\r\n:1\r\n:1\r\n", "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
        "*4\r\n:1\r\n:1\r\n:1\r\n:2\r\n", "*4\r\n:1\r\n:1\r\n:1\r\n:-2\r\n",
        "*4\r\n:1\r\n:1\r\n:1\r\n+OK\r\n", "*4\r\n:1\r\n:1\r\n:1\r\n_\r\n",
        "*4\r\n:1\r\n:1\r\n:1\r\n-ERR\r\n", "*4\r\n:1\r\n:1\r\n:1\r\n*1\r\n:1\r\n", "*0\r\n",
        "*-1\r\n",
        /* other types, or a number out of range */
        "~4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "_\r\n", ":1\r\n", ":3\r\n", ":5\r\n", "+4\r\n",
        "+OK\r\n", "+QUEUED\r\n", "$4\r\n1111\r\n"
    };
    bwl_batch_reply reply;

    for (size_t i = 0; i < COUNT_OF(strange); i++)
        assert_int_equal(read_text(strange[i], &reply), BWL_BATCH_STRANGE);
}

TEST(batch_error_is_for_all_extensions)
{
    static const struct {
        bwl_batch_verdict verdict;
        const char       *texts[8]; /* up to NULL */
    } cases[] = {
        { BWL_BATCH_NOSCRIPT, { "-NOSCRIPT No matching script.\r\n" } },
        { BWL_BATCH_RETRYABLE,
          { "-LOADING Redis is loading\r\n", "-BUSY Redis is busy\r\n",
            "-READONLY You can't write\r\n", "-MISCONF Errors writing\r\n",
            "-ERR Error running script (call to f_0): @user_script:3: -OOM command\r\n" } },
        { BWL_BATCH_ALONE,
          { "-CROSSSLOT Keys in request don't hash to the same slot\r\n",
            "-NOPERM this user has no permissions\r\n", "-ERR unknown command 'EVALSHA'\r\n",
            "!5\r\nERR x\r\n" } },
        { BWL_BATCH_ELSEWHERE,
          { "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
            "-MOVED 1 127.0.0.1:1\r\n", "-ASK 1 127.0.0.1:1\r\n" } },
    };
    bwl_batch_reply reply;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (const char *const *text = cases[i].texts; *text != NULL; text++)
            assert_int_equal(read_text(*text, &reply), cases[i].verdict);
}
