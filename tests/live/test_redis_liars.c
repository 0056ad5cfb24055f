/*
 * test_redis_liars.c -- servers that are old, broken, half-way, or lie.
 *
 * Whatever they say: it ends, it is never taken for a lock, no secret gets into a text, and a
 * connection that has said what was not asked is not used again.
 */
#include "tests/lib/fake_server.h"
#include "tests/lib/testing.h"

#include <stdio.h>

#define CANARY "c4n4ry-5ecret"

/* What a server says: NULL is the right thing. */
typedef struct lie {
    const char *hello;
    const char *set;
    const char *script;
    int         status;  /* of an acquire that tries once                                      */
    int         release; /* of the release, if that was OK                                     */
    const char *tells;
    int         reply_ms;    /* how long is waited for it; 0: as is good for what comes of it    */
    unsigned    hello_times; /* how often `hello` is said in a row; 0: once                      */
} lie;

static void say_times(fake_server *s, const char *text, unsigned times)
{
    for (unsigned i = 0; i < (times > 0 ? times : 1); i++)
        fake_say(s, text);
}

static void tell_lie(fake_server *s, const fake_command *cmd, void *arg)
{
    const lie *l = arg;

    if (strcmp(cmd->words[0], "HELLO") == 0) {
        if (l->hello == NULL)
            fake_say_hello(s, "7.0.15");
        else
            say_times(s, l->hello, l->hello_times);
    } else if (strcmp(cmd->words[0], "SET") == 0) {
        fake_say(s, l->set != NULL ? l->set : "+OK\r\n");
    } else if (strncmp(cmd->words[0], "EVAL", 4) == 0) {
        fake_say(s, l->script != NULL ? l->script : ":1\r\n");
    } else {
        fake_say(s, "+OK\r\n");
    }
}

/* A server that says something is waited for as long as it takes; the other's silence is short. */
enum { PATIENT = 10000, SHORT = 100 };

static bowline_client *client_of(fake_server *s, int reply_ms)
{
    char url[200];
    int  port = 0;

    assert_int_equal(sscanf(fake_url(s), "redis://127.0.0.1:%d", &port), 1);
    (void)snprintf(url, sizeof url,
                   "redis://locker:" CANARY "@127.0.0.1:%d?protocol=token&lease=10s&timeout=%dms",
                   port, reply_ms);
    return must_open(url);
}

static void keeps_the_secret(const bowline_error *error)
{
    if (strstr(error->text, CANARY) != NULL)
        fail_msg("the text tells the secret: %s", error->text);
}

/* To the lie: where its silence is short, a slow machine has not come so far, and tries again. */
static int come_to_the_lie(const lie *l, bowline_client *client, bowline_hold **ret_hold,
                           bowline_error *reterr)
{
    int status = BOWLINE_UNREACHABLE;

    for (int i = 0; i < 100; i++) {
        status = acquire_within(ret_hold, client, "x", BOWLINE_NO_WAIT, reterr);
        if (status == l->status || (status != BOWLINE_UNREACHABLE && status != BOWLINE_UNKNOWN))
            break;
    }
    return status;
}

/* Acquires from a liar and releases; says how it came out. */
static void hear_lie(const lie *l, char *ret_heard, size_t capacity)
{
    fake_server *s      = fake_start(tell_lie, (void *)(uintptr_t)l);
    bool         silent = l->status == BOWLINE_UNKNOWN || l->release == BOWLINE_UNKNOWN ||
                  (l->hello != NULL && l->status == BOWLINE_UNREACHABLE);
    int             usual  = silent ? SHORT : PATIENT;
    bowline_client *client = client_of(s, l->reply_ms != 0 ? l->reply_ms : usual);
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };
    int             status = come_to_the_lie(l, client, &hold, &error);

    keeps_the_secret(&error);
    if (status != l->status)
        print_error("hello %.40s set %.40s script %.40s\n", l->hello, l->set, l->script);
    assert_status(l->status, status, &error);
    if (l->tells != NULL && strstr(error.text, l->tells) == NULL)
        fail_msg("\"%s\" does not tell of \"%s\"", error.text, l->tells);
    if (status == BOWLINE_OK) {
        error  = (bowline_error){ 0 };
        status = bowline_release(hold, &error);
        keeps_the_secret(&error);
        if (status != l->release)
            print_error("set %.40s script %.40s\n", l->set, l->script);
        assert_status(l->release, status, &error);
    }
    (void)snprintf(ret_heard, capacity, "%s", fake_heard(s));
    bowline_close(client);
    fake_stop(s);
}

static void hear_lies(const lie *lies, size_t count)
{
    char heard[8192];

    for (size_t i = 0; i < count; i++)
        hear_lie(&lies[i], heard, sizeof heard);
}

/* ---- instead of a greeting ------------------------------------------------------------------- */

#define HELLO_MAP(version, proto) \
    "%3\r\n$7\r\nversion\r\n$" version "\r\n$5\r\nproto\r\n:" proto "\r\n$2\r\nid\r\n:7\r\n"

/* ---- instead of an answer -------------------------------------------------------------------- */

/* The first word is a lie; asked again, in another way, the server says that it is somebody
 * else's. */
static void test_what_is_no_answer_to_set(void **state)
{
    static const char *const lies[] = {
        "+QUEUED\r\n", "+OKAY\r\n", "+ok\r\n",    "+O\r\n",  "+\r\n",         "$2\r\nOK\r\n",
        ":1\r\n",      ":0\r\n",    "#t\r\n",     "*0\r\n",  "*1\r\n+OK\r\n", "%0\r\n",
        "~0\r\n",      ",1\r\n",    "$0\r\n\r\n", "+OK \r\n"
    };

    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        lie             l      = { .set = lies[i], .script = ":0\r\n" };
        fake_server    *s      = fake_start(tell_lie, &l);
        bowline_client *client = client_of(s, PATIENT);
        if (try_once(client, "x") != BOWLINE_BUSY)
            fail_msg("%.*s was believed", (int)strcspn(lies[i], "\r"), lies[i]);
        assert_int_equal(fake_connections(s), 2); /* the first was not used again */
        bowline_close(client);
        fake_stop(s);
    }
}

static void test_errors_in_answer_to_set(void **state)
{
    static const lie lies[] = {
        { .set = "-MOVED 3999 127.0.0.1:1\r\n", .status = BOWLINE_REFUSED, .tells = "MOVED" },
        { .set = "-ASK 3999 127.0.0.1:1\r\n", .status = BOWLINE_REFUSED, .tells = "ASK" },
        { .set = "-CLUSTERDOWN x\r\n", .status = BOWLINE_REFUSED, .tells = "CLUSTERDOWN" },
        { .set = "-TRYAGAIN x\r\n", .status = BOWLINE_REFUSED, .tells = "TRYAGAIN" },
        { .set = "-MASTERDOWN x\r\n", .status = BOWLINE_REFUSED, .tells = "MASTERDOWN" },
        { .set = "!8\r\nERR what\r\n", .status = BOWLINE_REFUSED, .tells = "what" },
        { .set = "-\r\n", .status = BOWLINE_REFUSED },
        { .set = "-ERR \x1b[31mred\x07\r\n", .status = BOWLINE_REFUSED, .tells = "?[31mred?" },
        { .set = "_\r\n", .status = BOWLINE_BUSY },
        { .set = "$-1\r\n", .status = BOWLINE_BUSY },
    };

    hear_lies(lies, sizeof lies / sizeof lies[0]);
}

/* ---- too much -------------------------------------------------------------------------------- */

static void test_pushes_are_nothing(void **state)
{
#define PUSH ">2\r\n+invalidate\r\n_\r\n>1\r\n$3\r\nfoo\r\n"
    static const lie lies[] = {
        { .hello = PUSH HELLO_MAP("5\r\n7.0.0", "3") PUSH, .status = BOWLINE_OK },
        { .set = PUSH "+OK\r\n" PUSH, .status = BOWLINE_OK },
        { .script = PUSH ":1\r\n" PUSH, .status = BOWLINE_OK },
        { .set = PUSH "_\r\n" PUSH, .status = BOWLINE_BUSY },
    };

    hear_lies(lies, sizeof lies / sizeof lies[0]);
}

/* The second answer belongs to nothing: the connection is closed, and the next question is asked on
 * another. */
static void test_two_answers_to_one_question(void **state)
{
    lie             l      = { .set = "+OK\r\n:1\r\n", .script = ":0\r\n" };
    fake_server    *s      = fake_start(tell_lie, &l);
    bowline_client *client = client_of(s, PATIENT);
    bowline_hold   *hold   = must_acquire(client, "x");

    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL); /* not the :1 from before */
    assert_int_equal(fake_connections(s), 2);
    bowline_close(client);
    fake_stop(s);
}

static void test_answer_that_came_while_nothing_was_asked(void **state)
{
    lie             l      = { .script = ":0\r\n" };
    fake_server    *s      = fake_start(tell_lie, &l);
    bowline_client *client = client_of(s, PATIENT);
    bowline_hold   *hold   = must_acquire(client, "x");

    fake_say(s, ":1\r\n");
    sleep_ms(20);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_int_equal(fake_connections(s), 2);
    bowline_close(client);
    fake_stop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_answer_to_set),
        cmocka_unit_test(test_errors_in_answer_to_set),
        cmocka_unit_test(test_pushes_are_nothing),
        cmocka_unit_test(test_two_answers_to_one_question),
        cmocka_unit_test(test_answer_that_came_while_nothing_was_asked),
    };

    return cmocka_run_group_tests_name("redis_liars", tests, NULL, NULL);
}
