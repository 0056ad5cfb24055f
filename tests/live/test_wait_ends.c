/*
 * test_wait_ends.c -- an acquire ends with its wait and the time for one answer, whatever the
 * server does: attempts are counted, as a second one would take as long again.
 */
#include "tests/lib/fake_server.h"
#include "tests/lib/server.h"
#include "tests/lib/testing.h"

#include <signal.h>
#include <stdio.h>

enum { WAIT_MS = 100, ANSWER_MS = 600, PATIENT_MS = 3000 };

static server *redis;

static bowline_client *client_of(fake_server *s, int answer_ms, const char *options)
{
    char url[200];

    (void)snprintf(url, sizeof url, "%s?timeout=%dms%s", fake_url(s), answer_ms, options);
    return must_open(url);
}

static void says_nothing(fake_server *s, const fake_command *cmd, void *arg)
{
    (void)s;
    (void)cmd;
    (void)arg;
}

static void test_silent_server_is_tried_once_when_the_wait_is_shorter(void **state)
{
    static const char *const options[] = { "", "&protocol=token",
                                           "&protocol=setnx-del&accept-risk=1" };

    for (unsigned i = 0; i < sizeof options / sizeof options[0]; i++) {
        fake_server    *s      = fake_start(says_nothing, NULL);
        bowline_client *client = client_of(s, ANSWER_MS, options[i]);
        bowline_hold   *hold   = NULL;
        bowline_error   error  = { 0 };
        assert_status(BOWLINE_UNREACHABLE, acquire_within(&hold, client, "x", WAIT_MS, &error),
                      &error);
        assert_int_equal(fake_connections(s), 1);
        assert_non_null(strstr(error.text, "no answer within 600 ms"));
        bowline_close(client);
        fake_stop(s);
    }
}

/* It has our question, and never answers it.  There is time for the greeting on a slow machine. */
static void hears_and_is_silent(fake_server *s, const fake_command *cmd, void *arg)
{
    (void)arg;
    if (strcmp(cmd->words[0], "HELLO") == 0)
        fake_say_hello(s, "7.0.15");
}

static void test_server_that_does_not_answer_the_question_leaves_it_unknown(void **state)
{
    fake_server    *s      = fake_start(hears_and_is_silent, NULL);
    bowline_client *client = client_of(s, PATIENT_MS, "&protocol=token");
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };

    assert_status(BOWLINE_UNKNOWN, acquire_within(&hold, client, "x", WAIT_MS, &error), &error);
    assert_non_null(strstr(fake_heard(s), "SET"));
    bowline_close(client);
    fake_stop(s);
}

/* A stopped server: nothing was asked, so nothing is done when it goes on. */
static void test_stopped_server_has_not_heard_of_it(void **state)
{
    char            url[200];
    bowline_client *client;
    bowline_hold   *hold  = NULL;
    bowline_error   error = { 0 };

    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?timeout=%dms&protocol=token&lease=20s", redis->tcp_url,
                   ANSWER_MS);
    client = must_open(url);
    server_signal(redis, SIGSTOP);
    assert_status(BOWLINE_UNREACHABLE, acquire_within(&hold, client, "x", WAIT_MS, &error), &error);
    server_signal(redis, SIGCONT);
    bowline_close(client);
    assert_true(server_comes_to(redis, "0", "EXISTS bowline:{x}"));
    /* HELLO and INFO of the attempt, and no SET. */
    assert_null(strstr(server_ask(redis, "INFO commandstats"), "cmdstat_set:"));
    server_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent_server_is_tried_once_when_the_wait_is_shorter),
        cmocka_unit_test(test_server_that_does_not_answer_the_question_leaves_it_unknown),
        cmocka_unit_test(test_stopped_server_has_not_heard_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
