/*
 * test_transaction.c -- the room for the commands of an update, and their replies: only exactly the
 * expected reply is accepted.  tests/session compares the commands.
 */
#include "engine/redis/wire/transaction.h"
#include "tests/lib/suite.h"

#include <stdio.h>

TEST(buffer_fits_the_longest_command)
{
    static char          key[1024];
    static char          value[BWL_RESP_BULK_MAX];
    static char          bytes[sizeof key + sizeof value + 4096];
    bwl_transaction_args q = { .key        = key,
                               .key_size   = sizeof key,
                               .value      = value,
                               .value_size = sizeof value,
                               .lasts_ms   = 2147483647 };

    for (int command = TRANSACTION_READ; command <= TRANSACTION_LEAVE; command++) {
        q.command              = (bwl_transaction_command)command;
        bwl_resp_writer writer = { .bytes = bytes, .capacity = bwl_transaction_size_max(&q) };
        assert_true(writer.capacity <= sizeof bytes);
        bwl_transaction_write(&writer, &q);
        assert_false(writer.overflowed);
    }
}

/* ---- replies --------------------------------------------------------------------------------- */

static bwl_transaction_reply reply;

static bwl_redis_verdict reads(bwl_transaction_command command, unsigned nth, const char *text)
{
    bwl_resp_scan scan = { 0 };

    assert_int_equal(bwl_resp_scan_bytes(&scan, text, strlen(text)), BWL_RESP_OK);
    assert_int_equal(scan.size, strlen(text));
    return bwl_transaction_read(command, nth, text, scan.size, &reply);
}

static void is_answer(bwl_transaction_command command, unsigned nth, const char *text,
                      bwl_answer answer)
{
    assert_int_equal(reads(command, nth, text), BWL_REDIS_ANSWER);
    if (reply.answer != answer)
        fail_msg("%s is %d, not %d", text, (int)reply.answer, (int)answer);
}

static const char *const odd[] = { "+OK\r\n", "+QUEUED\r\n", "+NO\r\n", "$2\r\nOK\r\n", "$-1\r\n",
                                   "*-1\r\n", "_\r\n", ":0\r\n", ":1\r\n", ":2\r\n", "#t\r\n",
                                   ",1\r\n", "(1\r\n",
                                   /* arrays */
                                   "*0\r\n", "*1\r\n:1\r\n", "*1\r\n:2\r\n", "*1\r\n+OK\r\n",
                                   "*1\r\n_\r\n", "*2\r\n:1\r\n:1\r\n", "*2\r\n+OK\r\n+OK\r\n",
                                   "*1\r\n*1\r\n+OK\r\n", "%1\r\n+OK\r\n:1\r\n" };

/* Only the named ones are answers. */
static void only(bwl_transaction_command command, unsigned nth, const char *accepted)
{
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        char one[64];
        (void)snprintf(one, sizeof one, "|%s|", odd[i]);
        bool is_expected = strstr(accepted, one) != NULL;
        if ((reads(command, nth, odd[i]) == BWL_REDIS_ANSWER) != is_expected)
            fail_msg("command %d, frame %u: %s", (int)command, nth, odd[i]);
    }
}

TEST(other_replies_are_refused)
{
    only(TRANSACTION_READ, 0, "|+OK\r\n|");
    only(TRANSACTION_READ, 1, "|$2\r\nOK\r\n| |$-1\r\n| |*-1\r\n| |_\r\n|");
    only(TRANSACTION_READ, 2, "|+OK\r\n|");
    only(TRANSACTION_SET, 0, "|+QUEUED\r\n|"); /* +OK: it was carried out, whether watched or not */
    only(TRANSACTION_SET, 1, "|$-1\r\n| |*-1\r\n| |_\r\n| |*1\r\n+OK\r\n|");
    only(TRANSACTION_DELETE, 0, "|+QUEUED\r\n|");
    only(TRANSACTION_DELETE, 1, "|$-1\r\n| |*-1\r\n| |_\r\n| |*1\r\n:1\r\n|");
    only(TRANSACTION_LEAVE, 0, "|+OK\r\n|");
}

TEST(read_shows_the_value_or_a_missing_key)
{
    assert_int_equal(bwl_transaction_frames(TRANSACTION_READ), 3);
    is_answer(TRANSACTION_READ, 0, "+OK\r\n", BWL_YES);
    assert_null(reply.value);
    is_answer(TRANSACTION_READ, 1, "$3\r\na\r\n\r\n", BWL_YES);
    assert_int_equal(reply.value_size, 3);
    assert_memory_equal(reply.value, "a\r\n", 3);
    is_answer(TRANSACTION_READ, 1, "$0\r\n\r\n", BWL_YES);
    assert_non_null(reply.value);
    assert_int_equal(reply.value_size, 0);
    is_answer(TRANSACTION_READ, 1, "_\r\n", BWL_YES);
    assert_null(reply.value);
    is_answer(TRANSACTION_READ, 2, "+OK\r\n", BWL_YES);
}

TEST(reply_to_EXEC_says_whether_it_was_carried_out)
{
    assert_int_equal(bwl_transaction_frames(TRANSACTION_SET), 2);
    is_answer(TRANSACTION_SET, 0, "+QUEUED\r\n", BWL_YES);
    is_answer(TRANSACTION_SET, 1, "*1\r\n+OK\r\n", BWL_YES);
    is_answer(TRANSACTION_SET, 1, "_\r\n", BWL_NO);
    is_answer(TRANSACTION_SET, 1, "*-1\r\n", BWL_NO);
    is_answer(TRANSACTION_DELETE, 1, "*1\r\n:1\r\n", BWL_YES);
    is_answer(TRANSACTION_DELETE, 1, "*1\r\n:0\r\n", BWL_YES); /* there was no key */
    is_answer(TRANSACTION_DELETE, 1, "_\r\n", BWL_NO);
}

TEST(value_of_another_type_or_too_long_is_a_foreign_value)
{
    is_answer(TRANSACTION_READ, 1, "-WRONGTYPE Operation against a key\r\n", BWL_FOREIGN_VALUE);
    assert_false(reply.is_long);
    assert_int_equal(bwl_transaction_read(TRANSACTION_READ, 1, NULL, 0, &reply), BWL_REDIS_ANSWER);
    assert_int_equal(reply.answer, BWL_FOREIGN_VALUE);
    assert_true(reply.is_long);
    assert_int_equal(bwl_transaction_read(TRANSACTION_SET, 0, NULL, 0, &reply), BWL_REDIS_STRANGE);
    is_answer(TRANSACTION_READ, 0, "-WRONGTYPE x\r\n", BWL_REFUSED); /* WATCH checks no type */
}

/* EXEC was carried out, and the one command in it was not. */
TEST(error_inside_EXEC_is_reported_with_its_text)
{
    char text[64];

    is_answer(TRANSACTION_SET, 1, "*1\r\n-ERR syntax error\r\n", BWL_REFUSED);
    bwl_redis_error_text(text, sizeof text, reply.error, reply.error_size);
    assert_string_equal(text, "ERR syntax error");
    is_answer(TRANSACTION_DELETE, 1, "*1\r\n-READONLY x\r\n", BWL_RETRYABLE);
}
