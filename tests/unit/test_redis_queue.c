/*
 * test_redis_queue.c -- the words of a lock with a queue as commands, word for word.  What is
 * answered is in test_queue_answer.c, what the scripts do in live/test_queue_server.c.
 */
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/scripts.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <string.h>

#define COUNT_OF(list)       (sizeof(list) / sizeof((list)[0]))
#define SESSION              "SSSSSSSSS"
#define TOKEN                "TTTTTTTTTTTTTTTTTTTTTT"
#define VALUE                "b1:" SESSION "TTTTTTTTTTTTTTTT"
#define IN_1                 "bowline:i:1111111111111111111111"
#define IN_2                 "bowline:i:2222222222222222222222"
#define IN_3                 "bowline:i:3333333333333333333333"
#define MEMBER(push_channel) VALUE " 7.00000000000000ff " push_channel " 2000"
#define KEYS                 "|4|bowline:{n}|bowline:{n}:bwl.q|bowline:{n}:bwl.b|bowline:f|"

static bwl_queue_self self;
static char           bytes[8192];

static bwl_redis_command_args question_of(bwl_redis_command command)
{
    return (bwl_redis_command_args){ .command        = command,
                                     .key            = "bowline:{n}",
                                     .key_size       = 11,
                                     .token          = TOKEN,
                                     .previous_token = TOKEN,
                                     .lease_ms       = 30000,
                                     .self           = &self };
}

static int set_up(void **state)
{
    (void)state;
    self = (bwl_queue_self){ .uses_sharded_pubsub = true,
                             .slot                = 7,
                             .generation          = 255,
                             .provisional_ttl_ms  = 2000,
                             .queue_max           = 50,
                             .session             = SESSION,
                             .push_channels       = { IN_1 } };
    return 0;
}

/* The words of a command, with bars between; a script by its name. */
static const char *words_of(const bwl_redis_command_args *q)
{
    static char     text[4096];
    size_t          size   = 0;
    bwl_resp_writer writer = { .bytes = bytes, .capacity = sizeof bytes };
    bwl_resp_value  value;
    unsigned        count = 0;

    bwl_redis_write(&writer, q);
    assert_false(writer.overflowed);
    assert_true(writer.size <= bwl_redis_size_max(q->command, q->key_size));
    bwl_resp_cursor cursor = bwl_resp_begin(bytes, writer.size);
    assert_true(bwl_resp_next(&cursor, &value));
    uint32_t wanted = value.count;
    while (bwl_resp_next(&cursor, &value)) {
        const char *name = NULL;
        for (unsigned i = 0; i < BWL_SCRIPTS_COUNT; i++)
            if (bwl_resp_text_is(&value, bwl_scripts[i].sha1) ||
                bwl_resp_text_is(&value, bwl_scripts[i].text))
                name = bwl_scripts[i].name;
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%.*s", count == 0 ? "" : "|",
                                 name != NULL ? (int)strlen(name) : (int)value.size,
                                 name != NULL ? name : value.text);
        count++;
    }
    assert_int_equal(count, wanted);
    return text;
}

static const char *words_to(bwl_redis_command command)
{
    bwl_redis_command_args q = question_of(command);

    return words_of(&q);
}

FIXTURE(set_up, NULL)

TEST(redis_queue_commands)
{
    assert_string_equal(words_to(REDIS_QUEUE_TAKE),
                        "EVALSHA|queue_take" KEYS VALUE "|30000|SPUBLISH");
    assert_string_equal(words_to(REDIS_QUEUE_JOIN),
                        "EVALSHA|queue_join" KEYS VALUE "|30000|SPUBLISH|" MEMBER(IN_1) "|0|50");
    assert_string_equal(words_to(REDIS_QUEUE_HEARTBEAT),
                        "EVALSHA|queue_heartbeat" KEYS VALUE "|SPUBLISH|" MEMBER(IN_1));
    assert_string_equal(words_to(REDIS_QUEUE_RELEASE),
                        "EVALSHA|queue_release" KEYS VALUE "|SPUBLISH");
    assert_string_equal(words_to(REDIS_QUEUE_CANCEL),
                        "EVALSHA|queue_cancel" KEYS VALUE "|SPUBLISH|" MEMBER(IN_1));
    assert_string_equal(words_to(REDIS_QUEUE_DISPATCH_NEXT),
                        "EVALSHA|queue_dispatch_next" KEYS "SPUBLISH");
    assert_string_equal(words_to(REDIS_QUEUE_EXTEND),
                        "EVALSHA|extend_if_mine|1|bowline:{n}|" VALUE "|30000");
}

/* The value that is to have it comes where it always does; the one that has it, last. */
TEST(redis_queue_who_yields_names_both_values)
{
    bwl_redis_command_args q = question_of(REDIS_QUEUE_REQUEUE);

    q.previous_token = "ZZZZZZZZZZZZZZZZZZZZZZ";
    assert_string_equal(words_of(&q), "EVALSHA|queue_requeue" KEYS VALUE "|30000|SPUBLISH|" MEMBER(
                                          IN_1) "|b1:" SESSION "ZZZZZZZZZZZZZZZZ");
}

TEST(redis_queue_ticket_of_an_earlier_attempt_is_kept)
{
    bwl_redis_command_args q = question_of(REDIS_QUEUE_JOIN);

    q.timestamp = INT64_C(1795323949966265);
    assert_non_null(strstr(words_of(&q), MEMBER(IN_1) "|1795323949966265"));
}

TEST(redis_queue_server_without_shards_publishes)
{
    self.uses_sharded_pubsub = false;
    assert_string_equal(words_to(REDIS_QUEUE_RELEASE),
                        "EVALSHA|queue_release" KEYS VALUE "|PUBLISH");
}

TEST(redis_queue_by_text_has_the_whole_script)
{
    bwl_redis_command_args q = question_of(REDIS_QUEUE_HEARTBEAT);

    q.use_eval = true;
    assert_memory_equal(words_of(&q), "EVAL|queue_heartbeat|", 16);
}

/* All inboxes by which it may stand there, each once, the present one first. */
TEST(redis_queue_members_are_those_that_it_may_stand_by)
{
    memcpy(self.push_channels[1], IN_2, sizeof IN_2);
    memcpy(self.push_channels[2], IN_2, sizeof IN_2);
    assert_string_equal(words_to(REDIS_QUEUE_HEARTBEAT),
                        "EVALSHA|queue_heartbeat" KEYS VALUE
                        "|SPUBLISH|" MEMBER(IN_1) "|" MEMBER(IN_2));
    memcpy(self.push_channels[2], IN_3, sizeof IN_3);
    assert_string_equal(words_to(REDIS_QUEUE_CANCEL),
                        "EVALSHA|queue_cancel" KEYS VALUE
                        "|SPUBLISH|" MEMBER(IN_1) "|" MEMBER(IN_2) "|" MEMBER(IN_3));
    memcpy(self.push_channels[1], IN_1, sizeof IN_1);
    assert_string_equal(words_to(REDIS_QUEUE_CANCEL), "EVALSHA|queue_cancel" KEYS VALUE
                                                      "|SPUBLISH|" MEMBER(IN_1) "|" MEMBER(IN_3));
}

/* Every key of one lock is in one place of a cluster. */
TEST(redis_queue_keys_have_the_hash_tag_of_the_lock)
{
    static const char *const keys[][2] = {
        { "lock:n", "|lock:n|{lock:n}:bwl.q|{lock:n}:bwl.b|" },
        { "a{b}c", "|a{b}c|a{b}c:bwl.q|a{b}c:bwl.b|" },
        { "a{}c", "|a{}c|{a{}c}:bwl.q|{a{}c}:bwl.b|" },
        { "a{c", "|a{c|{a{c}:bwl.q|{a{c}:bwl.b|" },
        { "a}c", "|a}c|{a}c}:bwl.q|{a}c}:bwl.b|" },
    };

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        bwl_redis_command_args q = question_of(REDIS_QUEUE_DISPATCH_NEXT);
        q.key                    = keys[i][0];
        q.key_size               = strlen(keys[i][0]);
        assert_non_null(strstr(words_of(&q), keys[i][1]));
    }
}

TEST(redis_queue_longest_key_has_room)
{
    static char            key[BWL_KEY_MAX];
    bwl_redis_command_args q = question_of(REDIS_QUEUE_CANCEL);

    memset(key, 'k', sizeof key);
    q.key      = key;
    q.key_size = sizeof key;
    q.use_eval = true;
    memcpy(self.push_channels[1], IN_2, sizeof IN_2);
    memcpy(self.push_channels[2], IN_3, sizeof IN_3);
    self.slot               = UINT32_MAX;
    self.generation         = UINT64_MAX;
    self.provisional_ttl_ms = 999999999;
    for (bwl_redis_command command = REDIS_QUEUE_TAKE; command <= REDIS_QUEUE_REQUEUE; command++) {
        q.command = command;
        (void)words_of(&q);
    }
}

TEST(redis_queue_value_is_known_by_its_beginning)
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

TEST(redis_queue_value_says_of_which_version_it_is)
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

/* ---- greeting -------------------------------------------------------------------------------- */

TEST(redis_queue_missing_scripts_are_those_with_a_0)
{
    static const char all[]  = "*8\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n";
    static const char some[] = "*8\r\n:1\r\n:0\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:0\r\n";
    static const char few[]  = "*2\r\n:1\r\n:0\r\n";
    unsigned          missing;

    assert_true(bwl_queue_read_scripts(all, sizeof all - 1, &missing));
    assert_int_equal(missing, 0);
    assert_true(bwl_queue_read_scripts(some, sizeof some - 1, &missing));
    assert_int_equal(missing, 1u << 1 | 1u << 7);
    assert_false(bwl_queue_read_scripts(few, sizeof few - 1, &missing));
    assert_false(bwl_queue_read_scripts("+OK\r\n", 5, &missing));
}

TEST(redis_queue_of_a_cluster_names_the_slot)
{
    bwl_resp_writer writer = { .bytes = bytes, .capacity = sizeof bytes };

    strcpy(self.tag, "{109757}");
    self.is_patient = true;
    assert_string_equal(
        words_to(REDIS_QUEUE_DISPATCH_NEXT),
        "EVALSHA|queue_dispatch_next|4|bowline:{n}|bowline:{n}:bwl.q|bowline:{n}:bwl.b|"
        "bowline:f:{109757}|spublish");
    bwl_queue_write_leave(&writer, "{7}", SESSION);
    bwl_queue_write_holder_query(&writer, "bowline:{n}", 11, "{7}", false);
    bytes[writer.size] = '\0';
    assert_non_null(strstr(bytes, "\r\nbowline:who:{7}:" SESSION "\r\n"));
    assert_non_null(strstr(bytes, "\r\nbowline:who:{7}:\r\n"));
}

TEST(redis_queue_greeting_has_room)
{
    bwl_resp_writer       writer = { .bytes = bytes, .capacity = BWL_QUEUE_HANDSHAKE_SIZE_MAX };
    bwl_queue_client_info info   = {
          .session = SESSION, .uid = UINT32_MAX, .pid = INT32_MAX, .kept_ms = 86400000
    };

    memset(info.host, 'h', sizeof info.host - 1);
    memset(info.program, 'p', sizeof info.program - 1);
    bwl_queue_write_channel(&writer, true, IN_1);
    bwl_queue_write_scripts(&writer);
    bwl_queue_write_fence_minimum(&writer, &info);
    assert_false(writer.overflowed);
    for (unsigned i = 0; i < BWL_QUEUE_SCRIPTS; i++) {
        writer = (bwl_resp_writer){ .bytes = bytes, .capacity = BWL_QUEUE_LOAD_SIZE_MAX };
        bwl_queue_write_load(&writer, i);
        assert_false(writer.overflowed);
    }
}
