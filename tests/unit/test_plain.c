/*
 * test_plain.c -- the replies to the commands of locks of other programs; tests/conformance sends
 * the commands to a real server.
 *
 * For each command every kind of reply that a server could send; only exactly the expected one is
 * an answer.
 */
#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/value.h"
#include "tests/lib/suite.h"

static const bwl_compat_rules seconds = { .value   = BWL_VALUE_DECIMAL,
                                          .unit_ns = 1000000000,
                                          .expired = BWL_TIMESTAMP_NOT_AFTER_NOW };

static bwl_redis_command_args args(bwl_redis_command command)
{
    return (bwl_redis_command_args){ .command  = command,
                                     .key      = "k\0y",
                                     .key_size = 3,
                                     .token    = "AAAAAAAAAAAAAAAAAAAAAA",
                                     .lease_ms = 10001,
                                     .number   = 1700000010,
                                     .rules    = &seconds };
}

/* ---- commands -------------------------------------------------------------------------------- */

TEST(WAIT_has_the_replicas_and_the_time)
{
    char                   bytes[64];
    bwl_redis_command_args q        = { .command = REDIS_REPLICATED, .number = 2, .lease_ms = 100 };
    bwl_resp_writer        writer   = { .bytes = bytes, .capacity = sizeof bytes };
    static const char      wanted[] = "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$3\r\n100\r\n";

    bwl_redis_write(&writer, &q);
    assert_int_equal(writer.size, sizeof wanted - 1);
    assert_memory_equal(bytes, wanted, sizeof wanted - 1);
    assert_int_equal(bwl_redis_frames(REDIS_REPLICATED), 1);
    assert_false(bwl_redis_shows_value(REDIS_REPLICATED));
}

TEST(plain_commands_are_known_from_the_others)
{
    for (unsigned command = REDIS_SET_IF_ABSENT; command <= REDIS_DROP_TIMESTAMP; command++) {
        bool shows = command == REDIS_READ || command == REDIS_SWAP || command == REDIS_WATCH_READ;
        assert_int_equal(bwl_redis_shows_value((bwl_redis_command)command), shows);
        assert_int_equal(bwl_redis_frames((bwl_redis_command)command),
                         command == REDIS_WATCH_READ       ? 2
                         : command == REDIS_DELETE_WATCHED ? 3
                                                           : 1);
    }
}

/* ---- replies --------------------------------------------------------------------------------- */

typedef struct reading {
    bwl_redis_verdict verdict;
    bwl_answer        answer;
    uint64_t          number;
    bool              is_mine;
    const char       *frames[8]; /* up to NULL */
} reading;

static bwl_redis_reply reply;

static bwl_redis_verdict read_nth(bwl_redis_command command, unsigned nth, const char *frame)
{
    bwl_redis_command_args q = args(command);

    return bwl_redis_read(&q, nth, frame, strlen(frame), &reply);
}

static void assert_reading(bwl_redis_command command, unsigned nth, const reading *row)
{
    for (const char *const *frame = row->frames; *frame != NULL; frame++) {
        print_message("# %.*s\n", (int)strcspn(*frame, "\r"), *frame);
        assert_int_equal(read_nth(command, nth, *frame), row->verdict);
        if (row->verdict != BWL_REDIS_ANSWER)
            continue;
        assert_int_equal(reply.answer, row->answer);
        assert_int_equal(reply.number, row->number);
        assert_int_equal(reply.value.is_mine, row->is_mine);
    }
}

static void assert_readings(bwl_redis_command command, unsigned nth, const reading *list,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_reading(command, nth, &list[i]);
}

#define ANSWER(a) BWL_REDIS_ANSWER, (a), 0, false
#define STRANGE   BWL_REDIS_STRANGE, 0, 0, false

static const reading shown[] = {
    { ANSWER(BWL_NO), { "_\r\n", "$-1\r\n" } },
    { BWL_REDIS_ANSWER, BWL_YES, 1700000010, true, { "$10\r\n1700000010\r\n" } },
    { BWL_REDIS_ANSWER, BWL_YES, 1700000011, false, { "$10\r\n1700000011\r\n" } },
    { ANSWER(BWL_FOREIGN_VALUE),
      { "$1\r\n0\r\n", "$11\r\n01700000010\r\n", "$0\r\n\r\n", "$5\r\nhello\r\n",
        "-WRONGTYPE Operation against a key\r\n" } },
    { ANSWER(BWL_RETRYABLE), { "-LOADING\r\n" } },
    { ANSWER(BWL_REFUSED), { "-NOPERM\r\n" } },
    { STRANGE, { "+OK\r\n", "+QUEUED\r\n", ":1700000010\r\n", "*0\r\n" } },
};

TEST(values_are_shown)
{
    assert_readings(REDIS_READ, 0, shown, COUNT_OF(shown));
    assert_readings(REDIS_SWAP, 0, shown, COUNT_OF(shown));
    assert_readings(REDIS_WATCH_READ, 1, shown, COUNT_OF(shown));
}

TEST(time_to_live)
{
    static const reading list[] = {
        { BWL_REDIS_ANSWER, BWL_YES, 50, false, { ":50\r\n" } },
        { BWL_REDIS_ANSWER, BWL_YES, 0, false, { ":0\r\n" } },
        { BWL_REDIS_ANSWER, BWL_YES, REDIS_NO_EXPIRY, false, { ":-1\r\n" } },
        { ANSWER(BWL_NO), { ":-2\r\n" } },
        { STRANGE, { ":-3\r\n", "_\r\n", "$2\r\n50\r\n" } },
        { ANSWER(BWL_RETRYABLE), { "-LOADING\r\n" } },
    };

    assert_readings(REDIS_READ_EXPIRY, 0, list, COUNT_OF(list));
}

/* 0 is less than a millisecond; it does not mean that there is no key. */
TEST(key_without_an_expiry)
{
    static const reading list[] = {
        { ANSWER(BWL_YES), { ":-1\r\n" } },
        { ANSWER(BWL_FOREIGN_VALUE), { ":50\r\n", ":0\r\n" } },
        { ANSWER(BWL_NO), { ":-2\r\n" } },
        { STRANGE, { ":-3\r\n", "_\r\n", "$2\r\n50\r\n" } },
        { ANSWER(BWL_RETRYABLE), { "-LOADING\r\n" } },
        { ANSWER(BWL_REFUSED), { "-NOPERM\r\n" } },
    };

    assert_readings(REDIS_FIND_NO_EXPIRY, 0, list, COUNT_OF(list));
}

TEST(watching)
{
    static const reading ok[] = {
        { ANSWER(BWL_YES), { "+OK\r\n" } },
        { STRANGE, { "+QUEUED\r\n", ":1\r\n", "_\r\n" } },
        { ANSWER(BWL_REFUSED), { "-NOPERM\r\n" } },
        { ANSWER(BWL_RETRYABLE), { "-LOADING\r\n" } },
    };
    static const reading queued[] = {
        /* a number: it was carried out at once */
        { ANSWER(BWL_YES), { "+QUEUED\r\n" } },
        { STRANGE, { ":1\r\n", ":0\r\n", "+OK\r\n" } },
        { ANSWER(BWL_REFUSED), { "-NOPERM\r\n" } },
    };
    static const reading exec[] = {
        { ANSWER(BWL_YES), { "*1\r\n:1\r\n" } },
        { ANSWER(BWL_NO), { "*1\r\n:0\r\n", "_\r\n", "*-1\r\n" } },
        { STRANGE, { "*0\r\n", "*2\r\n:1\r\n:1\r\n", "*1\r\n+OK\r\n", ":1\r\n" } },
        { ANSWER(BWL_REFUSED), { "-EXECABORT Transaction discarded\r\n" } },
    };

    assert_readings(REDIS_WATCH_READ, 0, ok, COUNT_OF(ok));
    assert_readings(REDIS_UNWATCH, 0, ok, COUNT_OF(ok));
    assert_readings(REDIS_DELETE_WATCHED, 0, ok, COUNT_OF(ok));
    assert_readings(REDIS_DELETE_WATCHED, 1, queued, COUNT_OF(queued));
    assert_readings(REDIS_DELETE_WATCHED, 2, exec, COUNT_OF(exec));
}

/* As many as required, or more: question() uses the timestamp as the number required. */
TEST(replicas_are_counted)
{
    static const reading list[] = {
        { BWL_REDIS_ANSWER, BWL_YES, 1700000010, false, { ":1700000010\r\n" } },
        { BWL_REDIS_ANSWER, BWL_YES, 1700000011, false, { ":1700000011\r\n" } },
        { BWL_REDIS_ANSWER, BWL_NO, 1700000009, false, { ":1700000009\r\n" } },
        { ANSWER(BWL_NO), { ":0\r\n" } },
        { STRANGE, { ":-1\r\n", "+OK\r\n", "_\r\n", "$1\r\n1\r\n" } },
        { ANSWER(BWL_RETRYABLE),
          { "-UNBLOCKED force unblock from blocking operation\r\n",
            "-ERR WAIT cannot be used with replica instances. Please\r\n", "-LOADING it is\r\n" } },
        { ANSWER(BWL_REFUSED),
          { "-ERR replica instance\r\n",
            "-NOPERM this user has no permissions to run the 'wait'\r\n" } },
    };

    assert_readings(REDIS_REPLICATED, 0, list, COUNT_OF(list));
}
