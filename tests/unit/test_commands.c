/*
 * test_commands.c -- the commands of protocol/store/redis.h: the room for them, and their replies.
 *
 * tests/session compares the commands.  Replies are a table: for each command every kind of reply
 * that a server could send, the expected one, wrong ones, and errors by code.  Only exactly the
 * expected reply is a YES.
 */
#include "engine/redis/wire/scripts.h"
#include "engine/redis/wire/commands.h"
#include "engine/redis/wire/key.h"
#include "tests/lib/suite.h"

#include <stdio.h>

#define TOKEN           "AbCdEfGhIjKlMnOpQrStUv"
#define UUID_AND_THREAD "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed:1"
#define SIXTY_FOUR      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* ---- commands -------------------------------------------------------------------------------- */

static char            bytes[2048];
static bwl_resp_writer writer;

TEST(command_that_does_not_fit_is_refused)
{
    writer = (bwl_resp_writer){ .bytes = bytes, .capacity = 20 };
    bwl_redis_write_holder_query(&writer, &bwl_scripts[BWL_SCRIPT_HOLDER_QUERY],
                                 (bwl_bytes){ "key", 3 }, "", false);
    assert_true(writer.overflowed);
    assert_in_range(writer.size, 0, 20);
}

static bool fits(bwl_redis_command command, size_t key_size, const bwl_compat_rules *rules)
{
    static char            key[BWL_KEY_MAX];
    static char            room[16384];
    bwl_redis_command_args args = { .command       = command,
                                    .use_eval      = true,
                                    .key           = memset(key, 'k', sizeof key),
                                    .key_size      = key_size,
                                    .token         = UUID_AND_THREAD,
                                    .lease_ms      = INT32_MAX,
                                    .is_of_cluster = true,
                                    .rules         = rules };

    writer = (bwl_resp_writer){ .bytes = room, .capacity = bwl_redis_size_max(command, key_size) };
    assert_true(writer.capacity <= sizeof room);
    bwl_redis_write(&writer, &args);
    return !writer.overflowed;
}

TEST(shortest_and_longest_key_fit_in_the_commands_of_hash_and_sorted_set)
{
    static const bwl_compat_rules rules = { .value         = BWL_VALUE_TOKEN,
                                            .token         = BWL_TOKEN_UUID_THREAD,
                                            .counts_fences = true };

    for (bwl_redis_command command = REDIS_HASH_TAKE; command <= REDIS_ZSET_RELEASE; command++) {
        assert_true(fits(command, 1, &rules));
        assert_true(fits(command, BWL_KEY_MAX, &rules));
    }
}

TEST(longest_affixes_fit_in_the_command_of_a_timestamp)
{
    char             affix[BWL_AFFIX_MAX + 1];
    bwl_compat_rules rules = { .value   = BWL_VALUE_TOKEN_TIMESTAMP,
                               .unit_ns = 1000000,
                               .prefix  = affix,
                               .suffix  = affix,
                               .expired = BWL_TIMESTAMP_BEFORE_NOW };

    memset(affix, '.', BWL_AFFIX_MAX); /* escaped in a pattern */
    affix[BWL_AFFIX_MAX] = '\0';
    assert_true(fits(REDIS_TAKE_TIMESTAMP, 1, &rules));
}

/* ---- replies --------------------------------------------------------------------------------- */

/* A parse result, with ANSWER the answer, and the frames that are read so. */
typedef struct reading {
    bwl_redis_verdict verdict;
    bwl_answer        answer;
    const char       *frames[16]; /* up to NULL */
} reading;

static void assert_readings(bwl_redis_command command, const reading *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (const char *const *frame = list[i].frames; *frame != NULL; frame++) {
            bwl_redis_command_args args  = { .command = command, .token = TOKEN };
            bwl_redis_reply        reply = { 0 };
            print_message("# %.*s\n", (int)strcspn(*frame, "\r"), *frame);
            assert_int_equal(bwl_redis_read(&args, 0, *frame, strlen(*frame), &reply),
                             list[i].verdict);
            assert_int_equal(reply.answer, list[i].answer);
        }
}

TEST(reply_to_SET_is_OK_or_nil)
{
    static const reading list[] = {
        { BWL_REDIS_ANSWER, BWL_YES, { "+OK\r\n", "|1\r\n+a\r\n+b\r\n+OK\r\n" } },
        { BWL_REDIS_ANSWER, BWL_NO, { "_\r\n", "$-1\r\n" } },
        { BWL_REDIS_STRANGE,
          0,
          { "+QUEUED\r\n", "+ok\r\n", "+OKAY\r\n", "$2\r\nOK\r\n", ":1\r\n", ":0\r\n", "#t\r\n",
            "*1\r\n+OK\r\n", "*0\r\n" } },
    };

    assert_readings(REDIS_SET_IF_ABSENT, list, COUNT_OF(list));
}

TEST(reply_of_a_script_is_one_or_zero)
{
    static const reading list[] = {
        { BWL_REDIS_ANSWER, BWL_YES, { ":1\r\n" } },
        { BWL_REDIS_ANSWER, BWL_NO, { ":0\r\n" } },
        { BWL_REDIS_STRANGE,
          0,
          { ":2\r\n", ":-2\r\n", "+OK\r\n", "+QUEUED\r\n", "$1\r\n1\r\n", "#t\r\n", "_\r\n",
            "*1\r\n:1\r\n" } },
    };

    static const reading taken_from_owner = { BWL_REDIS_ANSWER, BWL_NO, { ":-1\r\n" } };
    static const reading taken            = { BWL_REDIS_STRANGE, 0, { ":-1\r\n" } };

    assert_readings(REDIS_SET_IF_ABSENT_OR_MINE, list, COUNT_OF(list));
    assert_readings(REDIS_SET_IF_ABSENT_OR_MINE, &taken, 1);
    assert_readings(REDIS_EXTEND_IF_MINE, &taken_from_owner, 1);
    assert_readings(REDIS_DELETE_IF_MINE, &taken_from_owner, 1);
    assert_readings(REDIS_EXTEND_IF_MINE, list, COUNT_OF(list));
    assert_readings(REDIS_DELETE_IF_MINE, list, COUNT_OF(list));
}

TEST(error_is_retryable_or_a_refusal_by_its_code)
{
    static const reading list[] = {
        { BWL_REDIS_ANSWER,
          BWL_RETRYABLE,
          { "-LOADING Redis is loading the dataset in memory\r\n",
            "-BUSY Redis is busy running a script.\r\n", "-MASTERDOWN Link with MASTER is down\r\n",
            "-READONLY You can't write against a read only replica.\r\n",
            "-NOREPLICAS Not enough good replicas to write.\r\n",
            "-TRYAGAIN Multiple keys request\r\n",
            "-MISCONF Redis is configured to save RDB snapshots\r\n",
            "-CLUSTERDOWN The cluster is down\r\n",
            "-OOM command not allowed when used memory > 'maxmemory'.\r\n", "-LOADING\r\n",
            "!12\r\nOOM no memory\r\n",
            "-ERR Error running script (call to f_0): @user_script:11: @user_script: 11: -OOM no "
            "memory\r\n" } },
        { BWL_REDIS_ANSWER,
          BWL_REFUSED,
          { "-BUSYKEY Target key name already exists.\r\n", "-LOADINGS\r\n", "-loading\r\n",
            "-NOPERM this user has no permissions\r\n", "-NOAUTH Authentication required.\r\n",
            "-MOVED 3999 127.0.0.1:6381\r\n", "-WRONGTYPE Operation against a key\r\n",
            "-ERR unknown command\r\n", "-ERR value-OOM is not a code\r\n",
            "-ERR ends with a -\r\n", "-WRONG wraps nothing: -OOM\r\n", "-\r\n" } },
    };

    for (bwl_redis_command command = REDIS_SET_IF_ABSENT; command <= REDIS_DELETE_IF_MINE;
         command++)
        assert_readings(command, list, COUNT_OF(list));
}

TEST(NOSCRIPT_asks_for_the_text_of_the_script)
{
    static const reading list[] = {
        { BWL_REDIS_NOSCRIPT, 0, { "-NOSCRIPT No matching script. Please use EVAL.\r\n" } },
        { BWL_REDIS_ANSWER, BWL_REFUSED, { "-NOSCRIPTS\r\n" } },
    };

    assert_readings(REDIS_DELETE_IF_MINE, list, COUNT_OF(list));
}

/* ---- holder query ---------------------------------------------------------------------------- */

static bwl_holder_reply look;

static bwl_redis_verdict read_holder_query(const char *frame, bwl_answer *ret_answer)
{
    look = (bwl_holder_reply){ .left_ms = 4711 };
    print_message("# %.*s\n", (int)strcspn(frame, "\r"), frame);
    return bwl_redis_read_holder_query(frame, strlen(frame), ret_answer, &look);
}

TEST(holder_query_shows_kind_time_and_value)
{
    bwl_answer answer = 0;

    assert_int_equal(read_holder_query("*3\r\n$6\r\nstring\r\n:29000\r\n$3\r\nabc\r\n", &answer),
                     BWL_REDIS_ANSWER);
    assert_int_equal(answer, BWL_YES);
    assert_string_equal(look.kind, "string");
    assert_int_equal(look.left_ms, 29000);
    assert_string_equal(look.value, "abc");
    assert_int_equal(read_holder_query("*3\r\n+none\r\n:-2\r\n$0\r\n\r\n", &answer),
                     BWL_REDIS_ANSWER);
    assert_string_equal(look.kind, "none");
    assert_int_equal(look.left_ms, -2);
    assert_string_equal(look.value, "");
}

/* waiting, ms since the grant, fence, pid of the command, sharers, permits */
#define PUBLISHED ":3\r\n:192000\r\n$19\r\n1838410000000000000\r\n$4\r\n4121\r\n:2\r\n:5\r\n"
#define LOOKED    "*13\r\n$6\r\nstring\r\n:29000\r\n$3\r\nabc\r\n"

TEST(holder_query_shows_the_client_info)
{
    bwl_answer answer;

    assert_int_equal(
        read_holder_query(
            LOOKED "$4\r\n1000\r\n$2\r\n42\r\n$5\r\nweb-2\r\n$4\r\ncron\r\n" PUBLISHED, &answer),
        BWL_REDIS_ANSWER);
    assert_int_equal(look.waiting, 3);
    assert_int_equal(look.since_ms, 192000);
    assert_int_equal(look.fence, UINT64_C(1838410000000000000));
    assert_int_equal(look.command_pid, 4121);
    assert_int_equal(look.sharers, 2);
    assert_int_equal(look.permits, 5);
    assert_int_equal(look.uid, 1000);
    assert_int_equal(look.pid, 42);
    assert_string_equal(look.host, "web-2");
    assert_string_equal(look.program, "cron");
}

/* Other programs may have written it. */
TEST(holder_query_omits_invalid_client_info)
{
    char       frame[512];
    char       longest[101];
    bwl_answer answer;

    memset(longest, 'a', 100);
    longest[100] = '\0';
    (void)snprintf(frame, sizeof frame,
                   LOOKED "$2\r\n-1\r\n$0\r\n\r\n$100\r\n%s\r\n$100\r\n%s\r\n"
                          ":0\r\n:0\r\n$1\r\nx\r\n$2\r\n-1\r\n:0\r\n:0\r\n",
                   longest, longest);
    assert_int_equal(read_holder_query(frame, &answer), BWL_REDIS_ANSWER);
    assert_int_equal(look.uid, 0);
    assert_int_equal(look.pid, 0);
    assert_string_equal(look.host, "");
    assert_string_equal(look.program, "");
    assert_int_equal(look.fence, 0);
    assert_int_equal(look.command_pid, 0);
    assert_int_equal(
        read_holder_query(LOOKED ":1\r\n$1\r\n1\r\n$1\r\na\r\n$1\r\nb\r\n" PUBLISHED, &answer),
        BWL_REDIS_STRANGE);
    assert_int_equal(
        read_holder_query(LOOKED "$1\r\n1\r\n$1\r\n1\r\n$1\r\na\r\n:7\r\n" PUBLISHED, &answer),
        BWL_REDIS_STRANGE);
    assert_int_equal(
        read_holder_query(
            LOOKED "$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n:-1\r\n:0\r\n$0\r\n\r\n$0\r\n\r\n",
            &answer),
        BWL_REDIS_STRANGE);
}

TEST(holder_query_refuses_a_malformed_reply)
{
    static const char *const list[] = {
        ":1\r\n",
        "_\r\n",
        "*0\r\n",
        "*2\r\n$6\r\nstring\r\n:1\r\n",
        "*4\r\n$6\r\nstring\r\n:1\r\n$1\r\na\r\n$1\r\nb\r\n",
        "%3\r\n+a\r\n:1\r\n+b\r\n:2\r\n+c\r\n:3\r\n",
        "*3\r\n:1\r\n:1\r\n$1\r\na\r\n",
        "*3\r\n_\r\n:1\r\n$1\r\na\r\n",
        "*3\r\n$16\r\naaaaaaaaaaaaaaaa\r\n:1\r\n$1\r\na\r\n",
        "*3\r\n$6\r\nstring\r\n$1\r\n1\r\n$1\r\na\r\n",
        "*3\r\n$6\r\nstring\r\n:1\r\n_\r\n",
        "*3\r\n$6\r\nstring\r\n:1\r\n*0\r\n",
        ("*3\r\n$6\r\nstring\r\n:1\r\n$162\r\n" SIXTY_FOUR SIXTY_FOUR
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\r\n"),
    };
    bwl_answer answer = 0;

    for (size_t i = 0; i < COUNT_OF(list); i++)
        assert_int_equal(read_holder_query(list[i], &answer), BWL_REDIS_STRANGE);
}

TEST(holder_query_may_fail_with_an_error)
{
    bwl_answer answer = 0;

    assert_int_equal(read_holder_query("-LOADING not yet\r\n", &answer), BWL_REDIS_ANSWER);
    assert_int_equal(answer, BWL_RETRYABLE);
    assert_int_equal(read_holder_query("-NOPERM no\r\n", &answer), BWL_REDIS_ANSWER);
    assert_int_equal(answer, BWL_REFUSED);
    assert_int_equal(read_holder_query("-NOSCRIPT no\r\n", &answer), BWL_REDIS_NOSCRIPT);
}

/* ---- error texts ----------------------------------------------------------------------------- */

static void assert_error_text(const char *frame, size_t capacity, const char *wanted)
{
    char text[64];

    memset(text, '#', sizeof text);
    bwl_redis_error_text(text, capacity, frame, strlen(frame));
    assert_string_equal(text, wanted);
    assert_int_equal(text[capacity], '#');
}

TEST(error_code_is_the_word_in_capitals)
{
    static const struct {
        const char *text;
        const char *code;
    } list[] = {
        { "NOPERM this user has no permissions", "NOPERM" },
        { "OOM", "OOM" },
        { "ERR no such thing", "ERR" },
        { "ERR a value of -1 or -x", "ERR" },
        { "an error that is not quoted", "" },
        { "Err no", "" },
        { "X short", "" },
        { "NOPERM: colon", "" },
        { "ABCDEFGHIJKLMNOPQRS as long as may be", "ABCDEFGHIJKLMNOPQRS" },
        { "ABCDEFGHIJKLMNOPQRST one more", "" },
        { "", "" },
    };
    char code[BOWLINE_SERVER_CODE_MAX];

    for (size_t i = 0; i < COUNT_OF(list); i++) {
        memset(code, '#', sizeof code);
        bwl_redis_error_code(code, list[i].text);
        assert_string_equal(code, list[i].code);
    }
}

TEST(error_text_is_that_of_the_server)
{
    assert_error_text("-ERR no such thing\r\n", 60, "ERR no such thing");
    assert_error_text("!7\r\nERR a\nb\r\n", 60, "ERR a?b");
    assert_error_text(
        "-ERR Error running script (call to f_0): @user_script: 1: -OOM no memory\r\n", 60,
        "OOM no memory");
    assert_error_text("-@user_script: 10: -NOREPLICAS too few\r\n", 60, "NOREPLICAS too few");
    assert_error_text("-NOPERM no key a -OOM b\r\n", 60, "NOPERM no key a -OOM b");
    assert_error_text("-ERR a -b and - C D-E F\r\n", 60, "ERR a -b and - C D-E F");
    assert_error_text("-ERR \x1b[31mred\x7f\xff\r\n", 60, "ERR ?[31mred??");
    assert_error_text("-ERR no such thing\r\n", 7, "ERR no");
    assert_error_text("-ERR no such thing\r\n", 17, "ERR no such...");
    assert_error_text("-ERR no such thing\r\n", 18, "ERR no such thing");
    assert_error_text("-ERR no such thing\r\n", 1, "");
    assert_error_text("+OK\r\n", 60, "");
    assert_error_text("*1\r\n-ERR inside\r\n", 60, "");
}

TEST(error_text_omits_our_arguments)
{
    assert_error_text(
        "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'u' 'pw'\r\n", 60,
        "ERR unknown command 'HELLO'");
    assert_error_text("-ERR x with args beginning with\r\n", 60, "ERR x");
    assert_error_text("-with args beginning with: pw\r\n", 60, "");
}

TEST(error_is_known_by_its_whole_code)
{
    static const char error[] = "-WRONGPASS invalid\r\n";
    static const char ok[]    = "+WRONGPASS\r\n";

    assert_true(bwl_redis_is_error(error, sizeof error - 1));
    assert_true(bwl_redis_error_is(error, sizeof error - 1, "WRONGPASS"));
    assert_false(bwl_redis_error_is(error, sizeof error - 1, "WRONG"));
    assert_false(bwl_redis_error_is(error, sizeof error - 1, "WRONGPASS invalid or not"));
    assert_false(bwl_redis_is_error(ok, sizeof ok - 1));
    assert_false(bwl_redis_error_is(ok, sizeof ok - 1, "WRONGPASS"));
    assert_false(bwl_redis_is_not_now(ok, sizeof ok - 1));
}
