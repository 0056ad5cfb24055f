/*
 * test_queue_answer.c -- bytes that are nearly a reply to a command of protocol queue, and which
 * values are its own. tests/conformance compares the replies of a real server.
 */
#include "engine/redis/wire/queue.h"
#include "tests/lib/suite.h"

#include <stdio.h>

static bwl_redis_reply reply;

static bwl_redis_verdict read_as(bwl_redis_command command, const char *frame)
{
    bwl_redis_command_args q = { .command = command };

    return bwl_redis_read(&q, 0, frame, strlen(frame), &reply);
}

#define N                     "1795323949966265"
#define HOW(count, how, rest) "*" #count "\r\n$" how "\r\n" rest
#define QUEUED                HOW(6, "6\r\nQUEUED", ":" N "\r\n:3\r\n:29999\r\n:1\r\n:" N "\r\n")
#define BUSY                  HOW(3, "4\r\nBUSY", ":-1\r\n:0\r\n")
#define FULL                  HOW(2, "4\r\nFULL", ":50\r\n")
#define CLAIMED               HOW(3, "7\r\nCLAIMED", ":" N "\r\n:5\r\n")
#define MINE                  HOW(3, "4\r\nMINE", ":" N "\r\n:1500\r\n")
#define GONE                  HOW(1, "4\r\nGONE", "")

typedef struct strange {
    bwl_redis_command command;
    const char       *frames[16]; /* up to NULL */
} strange;

static const strange stranges[] = {
    { REDIS_QUEUE_TAKE,
      { ":0\r\n", ":-1\r\n", ":9007199254740992\r\n", "+OK\r\n", "_\r\n", "*0\r\n", QUEUED, CLAIMED,
        GONE, HOW(2, "4\r\nBUSY", ":1\r\n"), HOW(3, "4\r\nBUSY", ":-3\r\n:0\r\n"),
        HOW(3, "4\r\nBUSY", ":1\r\n:3\r\n"), FULL } },
    { REDIS_QUEUE_JOIN,
      { BUSY, HOW(2, "4\r\nFULL", ":0\r\n"), HOW(1, "4\r\nFULL", ""), MINE, GONE,
        HOW(3, "7\r\nCLAIMED", ":0\r\n:5\r\n"), HOW(3, "7\r\nCLAIMED", "$1\r\n1\r\n:5\r\n"),
        HOW(3, "6\r\nQUEUED", ":1\r\n:0\r\n"),
        HOW(6, "6\r\nQUEUED", ":0\r\n:0\r\n:1\r\n:1\r\n:1\r\n"),
        HOW(6, "6\r\nQUEUED", ":1\r\n:-1\r\n:1\r\n:1\r\n:1\r\n"),
        HOW(6, "6\r\nQUEUED", ":1\r\n_\r\n:1\r\n:1\r\n:1\r\n"),
        HOW(6, "6\r\nQUEUED", ":1\r\n:0\r\n:1\r\n:3\r\n:1\r\n"),
        HOW(6, "6\r\nQUEUED", ":1\r\n:0\r\n:1\r\n:1\r\n:0\r\n") } },
    { REDIS_QUEUE_HEARTBEAT,
      { FULL, ":" N "\r\n", BUSY, HOW(1, "4\r\nMINE", ""), HOW(1, "5\r\nOTHER", "") } },
    { REDIS_QUEUE_RELEASE, { ":3\r\n", "+OK\r\n" } },
    { REDIS_QUEUE_CANCEL, { ":-1\r\n" } },
    { REDIS_QUEUE_DISPATCH_NEXT, { ":0\r\n" } },
    { REDIS_QUEUE_EXTEND, { ":2\r\n" } },
    { REDIS_QUEUE_REQUEUE, { ":-1\r\n", BUSY, MINE } },
};

TEST(queue_answer_with_a_wrong_byte_is_refused)
{
    for (const strange *s = stranges; s < stranges + COUNT_OF(stranges); s++)
        for (const char *const *frame = s->frames; *frame != NULL; frame++)
            if (read_as(s->command, *frame) != BWL_REDIS_STRANGE)
                fail_msg("command %d: %s", (int)s->command, *frame);
}

/* ---- values ---------------------------------------------------------------------------------- */

#define SESSION "SSSSSSSSS"
#define TOKEN   "TTTTTTTTTTTTTTTTTTTTTT"
#define VALUE   "b1:" SESSION "TTTTTTTTTTTTTTTT"

TEST(queue_value_is_ours_by_its_prefix)
{
    char value[BWL_QUEUE_VALUE_SIZE + 1];

    bwl_queue_value_write(value, SESSION, TOKEN);
    assert_string_equal(value, VALUE);
    assert_true(bwl_queue_is_value(value));
    assert_true(bwl_queue_is_whole_value(value, strlen(value)));
    assert_false(bwl_queue_is_whole_value(value, strlen(value) - 1));
    assert_false(bwl_queue_is_value("b2:x"));
    assert_false(bwl_queue_is_value(""));
}

TEST(queue_value_has_its_version)
{
    static const char *const none[] = {
        "",     "b",    "b1",   "b:",  "b01:", "b0:",   "b1000:",
        "b-1:", "b+1:", "b1x:", "B1:", " b1:", "x:b1:",
    };

    assert_int_equal(bwl_queue_version(VALUE), BWL_QUEUE_VERSION);
    assert_int_equal(bwl_queue_version("b2:"), 2);
    assert_int_equal(bwl_queue_version("b2:x:y"), 2);
    assert_int_equal(bwl_queue_version("b999:x"), 999);
    for (size_t i = 0; i < COUNT_OF(none); i++)
        if (bwl_queue_version(none[i]) != 0)
            fail_msg("\"%s\" is of version %u", none[i], bwl_queue_version(none[i]));
}

#define REST "b1:=SSSSSSSSSTTTTTTTTTTTTTTTT"

TEST(queue_value_of_a_rest_names_who_completed_the_period)
{
    bwl_queue_rest rest;

    assert_true(bwl_queue_read_rest(&rest, REST " 60000 ann@web1"));
    assert_true(rest.began_with_ms == 60000);
    assert_int_equal(rest.user_size, 3);
    assert_memory_equal(rest.user, "ann", 3);
    assert_string_equal(rest.host, "web1");
    assert_true(bwl_queue_read_rest(&rest, REST " 60000 ann"));
    assert_int_equal(rest.user_size, 3);
    assert_string_equal(rest.host, "");
}

TEST(queue_value_that_is_nearly_a_rest)
{
    static const char *const texts[] = {
        "",
        VALUE,
        REST,
        REST " ",
        REST " 60000",
        REST "_60000 ann@web1",
        REST "T 60000 ann@web1",
        REST " -1 ann@web1",
        REST " x ann@web1",
        REST "  ann@web1",
        REST " 9223372036854775808 ann@web1",
        "b1:~SSSSSSSSSTTTTTTTTTTTTTTTT 60000 ann@web1",
    };
    bwl_queue_rest rest;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (bwl_queue_read_rest(&rest, texts[i]))
            fail_msg("\"%s\" was read", texts[i]);
}

/* ---- pushes ---------------------------------------------------------------------------------- */

#define GRANT "G 5.00000000000000ff 3 1000"

/* `rest` is a whole value of RESP. */
static bwl_queue_push push_of(const char *kind, const char *channel, const char *rest)
{
    static char frame[300];

    (void)snprintf(frame, sizeof frame, ">3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n%s", strlen(kind), kind,
                   strlen(channel), channel, rest);
    return bwl_queue_read_push("c", frame, strlen(frame));
}

static bwl_queue_push message_of(const char *kind, const char *channel, const char *text)
{
    char rest[200];

    (void)snprintf(rest, sizeof rest, "$%zu\r\n%s\r\n", strlen(text), text);
    return push_of(kind, channel, rest);
}

TEST(queue_push_grants_with_its_nonce_and_fence)
{
    static const char *const kinds[] = { "smessage", "message" };

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        bwl_queue_push push = message_of(kinds[i], "c", GRANT);
        assert_int_equal(push.kind, BWL_PUSH_GRANT);
        assert_int_equal(push.slot, 5);
        assert_true(push.generation == 255);
        assert_true(push.fence == 3 * BWL_QUEUE_HANDOFFS);
        assert_true(push.server_us == 1000);
        assert_int_equal(message_of(kinds[i], "c", "H").kind, BWL_PUSH_HELLO);
    }
}

TEST(queue_push_text_that_is_nearly_a_grant)
{
    static const char *const texts[] = {
        /* another kind */
        "", "h", "G", "GG 5.00000000000000ff 3 1000", "X 5.00000000000000ff 3 1000",
        /* the slot and the generation */
        "G 5 3 1000", "G x.00000000000000ff 3 1000", "G 4294967296.00000000000000ff 3 1000",
        "G 5.0 3 1000", "G 5.00000000000000fg 3 1000", "G 5.00000000000000FF 3 1000",
        /* the fence and the time */
        "G 5.00000000000000ff", "G 5.00000000000000ff 0 1000", "G 5.00000000000000ff x 1000",
        "G 5.00000000000000ff 3", "G 5.00000000000000ff 3 0", "G 5.00000000000000ff 3 1000 1"
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (message_of("message", "c", texts[i]).kind != BWL_PUSH_OTHER)
            fail_msg("\"%s\" is no other push", texts[i]);
}

TEST(queue_push_is_about_its_channel_and_tag)
{
    bwl_queue_push push = push_of("ssubscribe", "c:{7}", ":1\r\n");

    assert_int_equal(push.kind, BWL_PUSH_SUBSCRIBED);
    assert_int_equal(push.tag.size, 3);
    assert_memory_equal(push.tag.at, "{7}", 3);
    assert_int_equal(push_of("subscribe", "c", ":1\r\n").kind, BWL_PUSH_SUBSCRIBED);
    assert_int_equal(push_of("sunsubscribe", "c", ":0\r\n").kind, BWL_PUSH_UNSUBSCRIBED);
    assert_int_equal(push_of("ssubscribe", "cx", ":1\r\n").kind, BWL_PUSH_OTHER);
    assert_int_equal(push_of("ssubscribe", "d", ":1\r\n").kind, BWL_PUSH_OTHER);
    assert_int_equal(push_of("ssubscribe", "", ":1\r\n").kind, BWL_PUSH_OTHER);
}

TEST(queue_push_of_another_shape)
{
    static const char *const frames[] = {
        "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nH\r\n",
        ">2\r\n$7\r\nmessage\r\n$1\r\nc\r\n",
        ">4\r\n$8\r\npmessage\r\n$1\r\nc\r\n$1\r\nc\r\n$1\r\nH\r\n",
        ">3\r\n$7\r\nmessage\r\n_\r\n$1\r\nH\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n:1\r\n",
        ">3\r\n$8\r\npmessage\r\n$1\r\nc\r\n$1\r\nH\r\n",
        "+OK\r\n",
    };

    for (size_t i = 0; i < COUNT_OF(frames); i++)
        if (bwl_queue_read_push("c", frames[i], strlen(frames[i])).kind != BWL_PUSH_OTHER)
            fail_msg("\"%s\" is no other push", frames[i]);
}
