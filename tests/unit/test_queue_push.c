/*
 * test_queue_push.c -- which pushes to a push channel grant a lock, and which are ignored.
 */
#include "engine/redis/wire/queue.h"
#include "tests/lib/suite.h"

#include <stdio.h>

#define INBOX "bowline:i:1111111111111111111111"
#define NONCE "7.00000000000000ff"

static bwl_queue_push read_push(const char *frame)
{
    return bwl_queue_read_push(INBOX, frame, strlen(frame));
}

/* A push of three items: kind, channel, text.  It points into the frame, until the next one. */
static bwl_queue_push read_three(const char *kind, const char *push_channel, const char *text)
{
    static char frame[512];

    (void)snprintf(frame, sizeof frame, ">3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                   strlen(kind), kind, strlen(push_channel), push_channel, strlen(text), text);
    return read_push(frame);
}

TEST(queue_push_grant)
{
    static const char *const kinds[] = { "smessage", "message" };

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        bwl_queue_push push =
            read_three(kinds[i], INBOX, "G " NONCE " 1795323949966267 1795323949968303");
        assert_int_equal(push.kind, BWL_PUSH_GRANT);
        assert_int_equal(push.slot, 7);
        assert_int_equal(push.generation, 255);
        assert_true(push.fence == UINT64_C(1795323949966267) * 1024);
        assert_true(push.server_us == INT64_C(1795323949968303));
    }
}

TEST(queue_push_largest_grant)
{
    bwl_queue_push push = read_three(
        "smessage", INBOX, "G 4294967295.ffffffffffffffff 9007199254740991 9007199254740991");

    assert_int_equal(push.kind, BWL_PUSH_GRANT);
    assert_int_equal(push.slot, UINT32_MAX);
    assert_true(push.generation == UINT64_MAX);
    assert_true(push.fence == UINT64_C(9007199254740991) * 1024);
}

TEST(queue_push_of_our_own_and_subscription)
{
    assert_int_equal(read_three("smessage", INBOX, "H").kind, BWL_PUSH_HELLO);
    assert_int_equal(read_push(">3\r\n$10\r\nssubscribe\r\n$32\r\n" INBOX "\r\n:1\r\n").kind,
                     BWL_PUSH_SUBSCRIBED);
    assert_int_equal(read_push(">3\r\n$9\r\nsubscribe\r\n$32\r\n" INBOX "\r\n:1\r\n").kind,
                     BWL_PUSH_SUBSCRIBED);
}

/* In a cluster: after the push channel a colon, and the tag of a slot. */
TEST(queue_push_names_the_slot)
{
    bwl_queue_push push = read_three("sunsubscribe", INBOX ":{12}", "x");
    assert_int_equal(push.kind, BWL_PUSH_UNSUBSCRIBED);
    assert_int_equal(push.tag.size, 4);
    assert_memory_equal(push.tag.at, "{12}", 4);
    push = read_three("smessage", INBOX ":{12}", "G " NONCE " 5 6");
    assert_int_equal(push.kind, BWL_PUSH_GRANT);
    assert_int_equal(read_three("smessage", INBOX "{12}", "H").kind, BWL_PUSH_OTHER);
    assert_int_equal(read_three("smessage", "bowline:i:1", "H").kind, BWL_PUSH_OTHER);
    assert_int_equal(read_three("smessage", INBOX, "H").tag.size, 0);
}

TEST(queue_push_that_is_not_a_grant)
{
    static const char *const texts[] = { "",
                                         "G",
                                         "G ",
                                         "h",
                                         "H ",
                                         "GG " NONCE " 5 6",
                                         "G " NONCE,
                                         "G " NONCE " 5",
                                         "G " NONCE " 5 ",
                                         "G " NONCE " 5 6 7",
                                         "G " NONCE " 5 6 ",
                                         "G " NONCE "  5 6",
                                         "G " NONCE " 0 6",
                                         "G " NONCE " 5 0",
                                         "G " NONCE " -5 6",
                                         "G " NONCE " 05 6",
                                         "G " NONCE " 9007199254740992 6",
                                         "G " NONCE " 5 9007199254740992",
                                         "G " NONCE " 1.7e+15 6",
                                         "G 7 5 6",
                                         "G 7. 5 6",
                                         "G 7.0 5 6",
                                         "G 7.00000000000000FF 5 6",
                                         "G 7.00000000000000ff0 5 6",
                                         "G 4294967296.00000000000000ff 5 6",
                                         "G .00000000000000ff 5 6",
                                         "G -1.00000000000000ff 5 6" };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (read_three("smessage", INBOX, texts[i]).kind != BWL_PUSH_OTHER)
            fail_msg("\"%s\"", texts[i]);
}

TEST(queue_push_of_others)
{
    assert_int_equal(read_three("smessage", "bowline:i:1", "H").kind, BWL_PUSH_OTHER);
    assert_int_equal(read_three("pmessage", INBOX, "H").kind, BWL_PUSH_OTHER);
    assert_int_equal(read_three("invalidate", INBOX, "G " NONCE " 5 6").kind, BWL_PUSH_OTHER);
    assert_int_equal(read_push(">2\r\n$8\r\nsmessage\r\n$32\r\n" INBOX "\r\n").kind,
                     BWL_PUSH_OTHER);
    assert_int_equal(read_push("*3\r\n$8\r\nsmessage\r\n$32\r\n" INBOX "\r\n$1\r\nH\r\n").kind,
                     BWL_PUSH_OTHER);
    assert_int_equal(read_push(">3\r\n$8\r\nsmessage\r\n$32\r\n" INBOX "\r\n:1\r\n").kind,
                     BWL_PUSH_OTHER);
}
