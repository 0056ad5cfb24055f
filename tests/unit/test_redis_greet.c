/*
 * test_redis_greet.c -- from a fresh connection to one that may be asked.
 *
 * First what is said, byte by byte and in which order, in every combination of password, a
 * connection to be killed, and database.  Then what the server may say to it: each answer at each
 * step, what it means (for good, or for now), and that no text of ours is quoted back to the
 * caller.
 */
#include "redis_fixture.h"

/* The store is told who it is, and a question makes it connect. */
static void begin(const char *user, const char *password, int64_t to_be_killed, int64_t database)
{
    static bwl_operation operation;

    store->user         = user != NULL ? strdup(user) : NULL;
    store->password     = password != NULL ? strdup(password) : NULL;
    store->to_be_killed = to_be_killed;
    store->database     = database;
    bwl_lock_acquire(lock_named("n"), &operation, 0);
    turn();
    server_accepts();
}

/* ---- what we say ----------------------------------------------------------------------------- */

static void test_redis_greet_says_hello_3_and_asks_who_it_is(void **state)
{
    static const char wanted[] = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
                                 "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n";
    char              is[200];

    (void)state;
    begin(NULL, NULL, 0, 0);
    assert_int_equal(recv(server, is, sizeof is, 0), sizeof wanted - 1);
    assert_memory_equal(is, wanted, sizeof wanted - 1);
}

static void test_redis_greet_password_without_a_user_is_the_default_user_s(void **state)
{
    (void)state;
    begin(NULL, "secret", 0, 0);
    expect("HELLO 3 AUTH default secret\nINFO server");
}

static void test_redis_greet_user_and_password_go_with_hello(void **state)
{
    (void)state;
    begin("ann", "secret", 0, 0);
    expect("HELLO 3 AUTH ann secret\nINFO server");
}

static void test_redis_greet_order_is_hello_info_select_kill(void **state)
{
    (void)state;
    begin("ann", "secret", 4711, 3);
    memset(store->run_id, 'a', BWL_REDIS_RUN_ID_SIZE);
    expect("HELLO 3 AUTH ann secret\nINFO server\nSELECT 3");
    says(HELLO INFO);
    turn();
    expect(NOTHING);
    says("+OK\r\n");
    turn();
    expect("CLIENT KILL ID 4711");
}

static void test_redis_greet_longest_password_fits(void **state)
{
    static char password[4096 + 1];

    (void)state;
    memset(password, 'p', sizeof password - 1);
    begin("ann", password, INT64_MAX, 65535);
    memset(store->run_id, 'a', BWL_REDIS_RUN_ID_SIZE);
    expect("HELLO 3 AUTH ann %s\nINFO server\nSELECT 65535", password);
    says(HELLO INFO "+OK\r\n");
    turn();
    expect("CLIENT KILL ID 9223372036854775807");
}

static void test_redis_greet_ends_when_everything_is_answered(void **state)
{
    (void)state;
    begin(NULL, NULL, 4711, 3);
    memset(store->run_id, 'a', BWL_REDIS_RUN_ID_SIZE);
    expect("HELLO 3\nINFO server\nSELECT 3");
    says(HELLO);
    turn();
    assert_int_equal(store->greeting, BWL_GREET_INFO);
    says(INFO);
    turn();
    assert_int_equal(store->greeting, BWL_GREET_SELECT);
    expect(NOTHING);
    says("+OK\r\n");
    turn();
    assert_int_equal(store->greeting, BWL_GREET_KILL);
    assert_int_equal(store->to_be_killed, 4711);
    expect("CLIENT KILL ID 4711");
    says(":1\r\n");
    turn();
    assert_int_equal(store->to_be_killed, 0);
    assert_int_equal(store->greeting, BWL_GREET_DONE);
    assert_int_equal(store->phase, BWL_REDIS_READY);
    assert_int_equal(store->connection_id, 7);
    expect("SET bowline:{n} %s NX PX 30000", client->locks->hold.claim.token);
}

static void test_redis_greet_select_may_follow_hello_at_once(void **state)
{
    (void)state;
    begin(NULL, NULL, 0, 3);
    expect("HELLO 3\nINFO server\nSELECT 3");
    says(HELLO INFO "+OK\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* An answer to one step, what comes of it, and a word that the text must contain. */
typedef struct reply {
    bwl_redis_greeting greeting;
    int                status;
    const char        *frame;
    const char        *word;
} reply;

static const reply replies[] = {
    { BWL_GREET_HELLO, BWL_OK, HELLO, "" },
    { BWL_GREET_HELLO, BWL_OK, HELLO_OF("6.2.0", "1"), "" },
    { BWL_GREET_HELLO, BWL_OK, HELLO_OF("6.2", "1"), "" },
    { BWL_GREET_HELLO, BWL_OK, HELLO_OF("10.0.1", "1"), "" },
    { BWL_GREET_HELLO, BWL_OK, HELLO_OF("255.255.255", "1"), "" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, HELLO_OF("6.0.16", "1"), "is Redis 6.0.16" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, HELLO_OF("6", "1"), "is Redis 6:" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, HELLO_OF("5.9.9", "1"), "6.2 or newer" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, HELLO_OF("unstable", "1"), "6.2 or newer" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, HELLO_OF("", "1"), "not a Redis server" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, HELLO_OF("7.0.0-of-a-very-long-name", "1"),
      "not a Redis server" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "+OK\r\n", "not a Redis server" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "%0\r\n", "not a Redis server" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "*2\r\n+proto\r\n:3\r\n", "not a Redis server" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "%2\r\n+version\r\n+7.0.0\r\n+proto\r\n:2\r\n",
      "not a Redis server" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "%2\r\n+version\r\n:7\r\n+proto\r\n:3\r\n",
      "not a Redis server" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "%2\r\n+version\r\n+7.0.0\r\n+proto\r\n+3\r\n",
      "not a Redis server" },
    { BWL_GREET_HELLO, BWL_OK,
      "%4\r\n+a\r\n*2\r\n+version\r\n+1.0\r\n+version\r\n+7.0\r\n+proto\r\n:3\r\n+id\r\n+x\r\n",
      "" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED,
      "%3\r\n*1\r\n+a\r\n:2\r\n+version\r\n+7.0\r\n+proto\r\n:3\r\n", "not a Redis server" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "-NOAUTH HELLO must be called authenticated\r\n",
      "wants a password (NOAUTH)" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "-WRONGPASS invalid username-password pair\r\n",
      "does not accept this user and password (WRONGPASS)" },
    { BWL_GREET_HELLO, BWL_OK, "-NOPROTO unsupported protocol version\r\n", "" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "-ERR syntax error in HELLO\r\n", "ERR syntax error" },
    { BWL_GREET_HELLO, BWL_STATUS_REFUSED, "-DENIED Redis is running in protected mode\r\n",
      "DENIED Redis is running" },
    { BWL_GREET_HELLO, BWL_OK, "-ERR unknown command `HELLO`\r\n", "" },
    { BWL_GREET_AUTH, BWL_OK, "+OK\r\n", "" },
    { BWL_GREET_AUTH, BWL_STATUS_UNREACHABLE, "+MAYBE\r\n", "answers what was not asked" },
    { BWL_GREET_AUTH, BWL_STATUS_REFUSED, "-WRONGPASS invalid username-password pair\r\n",
      "WRONGPASS" },
    { BWL_GREET_AUTH, BWL_STATUS_REFUSED, "-ERR invalid password\r\n", "ERR invalid password" },
    { BWL_GREET_ID, BWL_OK, ":12\r\n", "" },
    { BWL_GREET_ID, BWL_OK, "-ERR unknown subcommand\r\n", "" },
    { BWL_GREET_HELLO, BWL_STATUS_UNREACHABLE, "-LOADING Redis is loading the dataset\r\n",
      "cannot serve now: LOADING" },
    { BWL_GREET_HELLO, BWL_STATUS_UNREACHABLE, "-ERR max number of clients reached\r\n",
      "max number of clients" },
    { BWL_GREET_HELLO, BWL_STATUS_UNREACHABLE,
      "-ERR max number of clients + cluster connections reached\r\n", "max number of clients" },
    { BWL_GREET_INFO, BWL_OK, INFO, "" },
    { BWL_GREET_INFO, BWL_OK, "$3\r\nabc\r\n", "" },
    { BWL_GREET_INFO, BWL_OK, "-NOPERM no\r\n", "" },
    { BWL_GREET_INFO, BWL_OK, "-ERR unknown command 'INFO'\r\n", "" },
    { BWL_GREET_INFO, BWL_STATUS_UNREACHABLE, "-BUSY somebody's script\r\n", "cannot serve now" },
    { BWL_GREET_INFO, BWL_STATUS_UNREACHABLE, "+OK\r\n", "answers what was not asked" },
    { BWL_GREET_INFO, BWL_STATUS_UNREACHABLE, "_\r\n", "answers what was not asked" },
    { BWL_GREET_KILL, BWL_OK, ":1\r\n", "" },
    { BWL_GREET_KILL, BWL_OK, ":0\r\n", "" },
    { BWL_GREET_KILL, BWL_OK, "-ERR No such client\r\n", "" },
    { BWL_GREET_KILL, BWL_OK, "-NOPERM no\r\n", "" },
    { BWL_GREET_KILL, BWL_STATUS_UNREACHABLE, "-BUSY somebody's script\r\n", "cannot serve now" },
    { BWL_GREET_SELECT, BWL_OK, "+OK\r\n", "" },
    { BWL_GREET_SELECT, BWL_STATUS_REFUSED, "-ERR DB index is out of range\r\n",
      "ERR DB index is out of range" },
    { BWL_GREET_SELECT, BWL_STATUS_REFUSED, "-NOPERM no\r\n", "NOPERM no" },
    { BWL_GREET_SELECT, BWL_STATUS_UNREACHABLE, "-LOADING not yet\r\n", "cannot serve now" },
};

static void test_redis_greet_every_answer_has_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(replies); i++) {
        const reply *r = &replies[i];
        print_message("# %.*s\n", (int)strcspn(r->frame, "\r"), r->frame);
        store->greeting     = r->greeting;
        store->to_be_killed = 4711;
        store->database     = 3;
        store->is_resp2     = false;
        store->void_answers = 0;
        fault               = (bwl_fault){ 0 };
        assert_int_equal(bwl_redis_greeted(store, r->frame, strlen(r->frame), &fault), r->status);
        assert_non_null(strstr(fault.text, r->word));
        if (r->status < 0) {
            assert_int_equal(fault.status, r->status);
            assert_non_null(strstr(fault.text, store->where));
        }
    }
}

static void test_redis_greet_id_is_that_of_the_connection(void **state)
{
    (void)state;
    store->greeting = BWL_GREET_HELLO;
    assert_int_equal(bwl_redis_greeted(store, HELLO, strlen(HELLO), &fault), BWL_OK);
    assert_int_equal(store->connection_id, 7);
    store->greeting           = BWL_GREET_HELLO;
    static const char no_id[] = "%2\r\n+version\r\n+7.0.0\r\n+proto\r\n:3\r\n";
    assert_int_equal(bwl_redis_greeted(store, no_id, sizeof no_id - 1, &fault), BWL_OK);
    assert_int_equal(store->connection_id, 0);
}

/* ---- which process it is --------------------------------------------------------------------- */

static void hear_info(const char *frame)
{
    store->greeting = BWL_GREET_INFO;
    assert_int_equal(bwl_redis_greeted(store, frame, strlen(frame), &fault), BWL_OK);
}

static void test_redis_greet_run_id_is_forty_digits_or_nothing(void **state)
{
    static const struct {
        const char *frame;
        size_t      size; /* of the run_id that is read */
    } list[] = {
        { INFO, 40 },
        { "$56\r\nabc:1\r\nrun_id:" DIGITS("0") DIGITS("f") "\r\n\r\n", 40 },
        { "$48\r\n\nrun_id:" DIGITS("0") DIGITS("f") "\r\n", 40 },
        { "$47\r\nrun_id:" DIGITS("0") DIGITS("f") "\r\n", 0 },
        { "$49\r\n\nrun_id:" DIGITS("0") DIGITS("f") "0\r\n", 0 },
        { "$28\r\n\nrun_id:" DIGITS("0") "\r\n", 0 },
        { "$48\r\n\nrun_id:" DIGITS("0") DIGITS("g") "\r\n", 0 },
        { "$49\r\n\nxrun_id:" DIGITS("0") DIGITS("f") "\r\n", 0 },
        { "$8\r\n\nrun_id:\r\n", 0 },
        { "$0\r\n\r\n", 0 },
        { "-NOPERM no\r\n", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        hear_info(INFO_BY("b"));
        hear_info(list[i].frame);
        assert_int_equal(strlen(store->run_id), list[i].size);
    }
}

static void test_redis_greet_another_run_id_is_another_process(void **state)
{
    (void)state;
    hear_info(INFO);
    store->is_another = false;
    hear_info(INFO);
    assert_false(store->is_another);
    hear_info(INFO_BY("b"));
    assert_true(store->is_another);
    hear_info(INFO_BY("b")); /* nobody was told yet */
    assert_true(store->is_another);
    store->is_another = false;
    hear_info("-NOPERM no\r\n");
    assert_true(store->is_another); /* it may be, and there is no way to know */
    store->is_another = false;
    hear_info("-NOPERM no\r\n");
    assert_false(store->is_another);
}

/* Its numbers begin anew, and ours may be somebody else's by now. */
static void test_redis_greet_nobody_is_killed_in_another_process(void **state)
{
    (void)state;
    begin(NULL, NULL, 4711, 0);
    memset(store->run_id, 'a', BWL_REDIS_RUN_ID_SIZE);
    expect("HELLO 3\nINFO server");
    says(HELLO INFO_BY("b"));
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
    assert_int_equal(store->to_be_killed, 0);
    expect("SET bowline:{n} %s NX PX 30000", client->locks->hold.claim.token);
}

/* Where nobody says which process it is, it may be another, and the number somebody else's. */
static void test_redis_greet_nobody_is_killed_where_no_process_has_a_name(void **state)
{
    (void)state;
    begin(NULL, NULL, 4711, 0);
    expect("HELLO 3\nINFO server");
    says(HELLO "-NOPERM no\r\n");
    turn();
    assert_int_equal(store->phase, BWL_REDIS_READY);
    expect("SET bowline:{n} %s NX PX 30000", client->locks->hold.claim.token);
}

/* Busy with a script, it greets and says no more: nothing is known that was not known before. */
static void test_redis_greet_who_is_busy_is_not_another(void **state)
{
    static const char busy[] = "-BUSY Redis is busy running a script.\r\n";

    (void)state;
    hear_info(INFO);
    store->is_another   = false;
    store->to_be_killed = 4711;
    for (bwl_redis_greeting at = BWL_GREET_INFO;; at = BWL_GREET_KILL) {
        store->greeting   = at;
        store->is_put_off = false;
        assert_int_equal(bwl_redis_greeted(store, busy, sizeof busy - 1, &fault),
                         BWL_STATUS_UNREACHABLE);
        assert_true(store->is_put_off);
        assert_false(store->is_another);
        assert_int_equal(store->to_be_killed, 4711);
        if (at == BWL_GREET_KILL)
            break;
    }
    hear_info(INFO);
    assert_false(store->is_another);
}

/* ---- secrets --------------------------------------------------------------------------------- */

static void test_redis_greet_text_of_an_error_holds_no_password(void **state)
{
    static const char frame[] =
        "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' "
        "'ann' 'hunter2' \r\n";
    static const char other[] =
        "-ODD unknown command 'HELLO', with args beginning with: '3' 'AUTH' "
        "'ann' 'hunter2' \r\n";

    (void)state;
    store->greeting = BWL_GREET_SELECT;
    assert_int_equal(bwl_redis_greeted(store, frame, sizeof frame - 1, &fault), BWL_STATUS_REFUSED);
    assert_null(strstr(fault.text, "hunter2"));
    store->greeting = BWL_GREET_HELLO;
    assert_int_equal(bwl_redis_greeted(store, other, sizeof other - 1, &fault), BWL_STATUS_REFUSED);
    assert_null(strstr(fault.text, "hunter2"));
    assert_non_null(strstr(fault.text, "ODD unknown command 'HELLO'"));
}

/* A server may say anything, also what it was told before. */
static void test_redis_greet_text_of_an_error_that_holds_the_password_is_not_quoted(void **state)
{
    static const struct {
        const char *password;
        const char *frame;
        const char *text;
    } list[] = {
        { "hunter2", "-DENIED to hunter2\r\n",
          "DENIED (not quoted: it repeats a part of the password)" },
        { "hunter2", "-denied to hunter2\r\n",
          "an error that is not quoted: it repeats a part of the password" },
        { "DENIED", "-DENIED to you\r\n",
          "an error that is not quoted: it repeats a part of the password" },
        { "hunter2", "-ABCDEFGHIJKLMNOPQRSTUVW hunter2\r\n",
          "ABCDEFGHIJKLMNOPQRSTUVW (not quoted: it repeats a part of the password)" },
        { "hunter2", "-ABCDEFGHIJKLMNOPQRSTUVWX hunter2\r\n",
          "an error that is not quoted: it repeats a part of the password" },
        { "hunter2", "-ERR no such user: hunter\r\n",
          "ERR (not quoted: it repeats a part of the password)" },
        { "hunter2", "-ERR bad word hun...\r\n",
          "ERR (not quoted: it repeats a part of the password)" },
        { "hunter2", "-ERR bad word NTE\r\n",
          "ERR (not quoted: it repeats a part of the password)" },
        { "hunter2", "-ERR unknown command 'unter2', with args beginning with: 'x'\r\n",
          "ERR (not quoted: it repeats a part of the password)" },
        { "hunter2", "-ERR unknown command 'HELLO', with args beginning with: 'hunter'\r\n",
          "ERR unknown command 'HELLO'" },
        { "hunter2", "-DENIED to hu\r\n", "DENIED to hu" },
        { "pw", "-ERR bad PW\r\n", "ERR (not quoted: it repeats a part of the password)" },
        { "pw", "-ERR bad p\r\n", "ERR bad p" },
        { "", "-DENIED to you\r\n", "DENIED to you" },
    };
    char text[120];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        free(store->password);
        store->password = strdup(list[i].password);
        bwl_redis_error_words(store, text, sizeof text, list[i].frame, strlen(list[i].frame));
        assert_string_equal(text, list[i].text);
    }
}

static void test_redis_greet_version_that_is_the_password_is_not_quoted(void **state)
{
    static const char frame[] = HELLO_OF("5.hunter2", "1");

    (void)state;
    store->password = strdup("hunter2");
    store->greeting = BWL_GREET_HELLO;
    assert_int_equal(bwl_redis_greeted(store, frame, sizeof frame - 1, &fault), BWL_STATUS_REFUSED);
    assert_null(strstr(fault.text, "hunter2"));
}

static void test_redis_greet_version_is_quoted_without_control_characters(void **state)
{
    static const char frame[] = "%2\r\n+version\r\n$7\r\n5.\x1b[31m\r\n+proto\r\n:3\r\n";

    (void)state;
    store->greeting = BWL_GREET_HELLO;
    assert_int_equal(bwl_redis_greeted(store, frame, sizeof frame - 1, &fault), BWL_STATUS_REFUSED);
    for (const char *c = fault.text; *c != '\0'; c++)
        assert_in_range((unsigned char)*c, 0x20, 0x7e);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, play, play_is_over)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_redis_greet_says_hello_3_and_asks_who_it_is),
        CASE(test_redis_greet_password_without_a_user_is_the_default_user_s),
        CASE(test_redis_greet_user_and_password_go_with_hello),
        CASE(test_redis_greet_order_is_hello_info_select_kill),
        CASE(test_redis_greet_longest_password_fits),
        CASE(test_redis_greet_ends_when_everything_is_answered),
        CASE(test_redis_greet_select_may_follow_hello_at_once),
        CASE(test_redis_greet_every_answer_has_its_meaning),
        CASE(test_redis_greet_id_is_that_of_the_connection),
        CASE(test_redis_greet_run_id_is_forty_digits_or_nothing),
        CASE(test_redis_greet_another_run_id_is_another_process),
        CASE(test_redis_greet_nobody_is_killed_in_another_process),
        CASE(test_redis_greet_nobody_is_killed_where_no_process_has_a_name),
        CASE(test_redis_greet_who_is_busy_is_not_another),
        CASE(test_redis_greet_text_of_an_error_holds_no_password),
        CASE(test_redis_greet_text_of_an_error_that_holds_the_password_is_not_quoted),
        CASE(test_redis_greet_version_that_is_the_password_is_not_quoted),
        CASE(test_redis_greet_version_is_quoted_without_control_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
