/*
 * test_redis_sentinel.c -- what is said to a sentinel, and what it says: good frames, and all those
 * that are not what was asked for.
 */
#include "engine/redis/wire/sentinel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

static char            room[1024];
static bwl_resp_writer writer;

static int begin(void **state)
{
    (void)state;
    writer = (bwl_resp_writer){ .bytes = room, .capacity = sizeof room };
    return 0;
}

static void assert_written(const char *wanted)
{
    assert_false(writer.overflowed);
    assert_int_equal(writer.size, strlen(wanted));
    assert_memory_equal(room, wanted, writer.size);
}

static void test_hello_names_nobody_without_a_password(void **state)
{
    (void)state;
    bwl_sentinel_write_hello(&writer, "ann", NULL);
    assert_written("*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
}

static void test_hello_is_the_default_user_s_without_a_user(void **state)
{
    (void)state;
    bwl_sentinel_write_hello(&writer, NULL, "pw");
    assert_written("*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$2\r\npw\r\n");
}

static void test_subscribe_and_question(void **state)
{
    (void)state;
    bwl_sentinel_write_subscribe(&writer);
    bwl_sentinel_write_question(&writer, "m");
    assert_written("*2\r\n$9\r\nSUBSCRIBE\r\n$14\r\n+switch-master\r\n"
                   "*3\r\n$8\r\nSENTINEL\r\n$23\r\nGET-MASTER-ADDR-BY-NAME\r\n$1\r\nm\r\n");
}

/* Everything that is written fits into the room that is promised for it, but for the password. */
static void test_words_fit_into_their_room(void **state)
{
    static char longest[BWL_SENTINEL_NAME_MAX + 1];

    (void)state;
    memset(longest, 's', sizeof longest - 1);
    writer.capacity = BWL_SENTINEL_WORD_ROOM;
    bwl_sentinel_write_question(&writer, longest);
    assert_false(writer.overflowed);
    (void)begin(NULL);
    writer.capacity = BWL_SENTINEL_WORD_ROOM + 1;
    bwl_sentinel_write_hello(&writer, longest, "p");
    assert_false(writer.overflowed);
}

typedef struct answer {
    const char       *frame;
    bwl_sentinel_says says;
    const char       *host;
    uint16_t          port;
} answer;

static const answer answers[] = {
    { "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n", BWL_SENTINEL_FOUND, "127.0.0.1", 6379 },
    { "*2\r\n$3\r\n::1\r\n$5\r\n65535\r\n", BWL_SENTINEL_FOUND, "::1", 65535 },
    { "*2\r\n+db.example\r\n$1\r\n1\r\n", BWL_SENTINEL_FOUND, "db.example", 1 },
    { "_\r\n", BWL_SENTINEL_UNKNOWN, NULL, 0 },
    { "*-1\r\n", BWL_SENTINEL_UNKNOWN, NULL, 0 },
    { "-NOAUTH Authentication required.\r\n", BWL_SENTINEL_ERROR, NULL, 0 },
    { "!5\r\nERR x\r\n", BWL_SENTINEL_ERROR, NULL, 0 },
    { "+OK\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*0\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*1\r\n$1\r\nh\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*3\r\n$1\r\nh\r\n$1\r\n1\r\n$1\r\n1\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n$0\r\n\r\n$4\r\n6379\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n$3\r\na b\r\n$4\r\n6379\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n$3\r\na\nb\r\n$4\r\n6379\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n:1\r\n$1\r\n1\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n$1\r\nh\r\n$1\r\n0\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n$1\r\nh\r\n$5\r\n65536\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n$1\r\nh\r\n$2\r\n-1\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n$1\r\nh\r\n$0\r\n\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n$1\r\nh\r\n_\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "*2\r\n*1\r\n$1\r\nh\r\n$1\r\n1\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
    { "%1\r\n$1\r\nh\r\n$1\r\n1\r\n", BWL_SENTINEL_STRANGE, NULL, 0 },
};

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        bwl_primary primary = { .port = 0 };
        print_message("# %zu\n", i);
        assert_int_equal(bwl_sentinel_read(&primary, answers[i].frame, strlen(answers[i].frame)),
                         answers[i].says);
        if (answers[i].host == NULL)
            continue;
        assert_string_equal(primary.host, answers[i].host);
        assert_int_equal(primary.port, answers[i].port);
    }
}

static void test_host_has_a_longest_size(void **state)
{
    char        frame[400];
    bwl_primary primary;

    (void)state;
    for (int more = 0; more < 2; more++) {
        int size = BWL_PRIMARY_HOST_MAX + more;
        int all  = snprintf(frame, sizeof frame, "*2\r\n$%d\r\n%0*d\r\n$1\r\n1\r\n", size, size, 1);
        assert_int_equal(bwl_sentinel_read(&primary, frame, (size_t)all),
                         more == 0 ? BWL_SENTINEL_FOUND : BWL_SENTINEL_STRANGE);
    }
}

#define MESSAGE(channel, text) ">3\r\n+message\r\n+" channel "\r\n+" text "\r\n"

static void test_switch_of_the_service_is_read(void **state)
{
    static const char frame[] = MESSAGE("+switch-master", "m 10.0.0.1 6379 ::2 6380");
    bwl_primary       primary;

    (void)state;
    assert_true(bwl_sentinel_read_switch(&primary, "m", frame, sizeof frame - 1));
    assert_string_equal(primary.host, "::2");
    assert_int_equal(primary.port, 6380);
    assert_false(bwl_sentinel_read_switch(&primary, "n", frame, sizeof frame - 1));
    assert_false(bwl_sentinel_read_switch(&primary, "mm", frame, sizeof frame - 1));
}

static void test_other_pushes_are_no_switch(void **state)
{
    static const char *const frames[] = {
        ">3\r\n+subscribe\r\n+switch-master\r\n:1\r\n",
        MESSAGE("+sdown", "m 10.0.0.1 6379 ::2 6380"),
        MESSAGE("+switch-master", ""),
        MESSAGE("+switch-master", "m 10.0.0.1 6379 ::2"),
        MESSAGE("+switch-master", "m 10.0.0.1 6379 ::2 6380 x"),
        MESSAGE("+switch-master", "m 10.0.0.1 6379 ::2 0"),
        MESSAGE("+switch-master", "m 10.0.0.1 6379  6380"),
        MESSAGE("+switch-master", "m  10.0.0.1 6379 ::2 6380"),
        ">2\r\n+message\r\n+switch-master\r\n",
        ">3\r\n+message\r\n+switch-master\r\n:1\r\n",
        "*3\r\n+message\r\n+switch-master\r\n+m a 1 b 2\r\n",
    };
    bwl_primary primary;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        print_message("# %zu\n", i);
        assert_false(bwl_sentinel_read_switch(&primary, "m", frames[i], strlen(frames[i])));
    }
}

/* Whoever hands in half a frame is told no. */
static void test_half_a_frame_says_nothing(void **state)
{
    static const char   reply[]         = "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n";
    static const char   push[]          = MESSAGE("+switch-master", "m a 1 b 2");
    static const size_t ends_of_reply[] = { 0, 4, 19 };
    static const size_t ends_of_push[]  = { 0, 4, 14, 31 };
    bwl_primary         primary;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ends_of_reply); i++)
        assert_int_equal(bwl_sentinel_read(&primary, reply, ends_of_reply[i]),
                         BWL_SENTINEL_STRANGE);
    for (size_t i = 0; i < COUNT_OF(ends_of_push); i++)
        assert_false(bwl_sentinel_read_switch(&primary, "m", push, ends_of_push[i]));
    assert_true(bwl_sentinel_read_switch(&primary, "m", push, sizeof push - 1));
}

static void test_two_addresses_are_compared(void **state)
{
    bwl_primary one = { "a", 1 }, other = { "a", 1 };

    (void)state;
    assert_true(bwl_primary_is(&one, &other));
    other.port = 2;
    assert_false(bwl_primary_is(&one, &other));
    other = (bwl_primary){ "b", 1 };
    assert_false(bwl_primary_is(&one, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_hello_names_nobody_without_a_password, begin),
        cmocka_unit_test_setup(test_hello_is_the_default_user_s_without_a_user, begin),
        cmocka_unit_test_setup(test_subscribe_and_question, begin),
        cmocka_unit_test_setup(test_words_fit_into_their_room, begin),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_host_has_a_longest_size),
        cmocka_unit_test(test_switch_of_the_service_is_read),
        cmocka_unit_test(test_other_pushes_are_no_switch),
        cmocka_unit_test(test_half_a_frame_says_nothing),
        cmocka_unit_test(test_two_addresses_are_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
