/*
 * test_redis_log.c -- the messages that on_log receives with a real server: their thread and their
 * order.
 */
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <pthread.h>
#include <stdio.h>

static pthread_t caller;

typedef struct log_text {
    char     text[4096];
    unsigned calls;
} log_text;

static void append(int level, const char *text, void *data)
{
    log_text *j    = data;
    size_t    size = strlen(j->text);

    assert_true(pthread_equal(pthread_self(), caller));
    j->calls++;
    (void)snprintf(j->text + size, sizeof j->text - size, "%d %s\n", level, text);
}

static bowline_client *client_with_log(const char *options, log_text *j)
{
    bowline_client *client = NULL;
    bowline_error   error  = { 0 };
    char            url[300];

    caller = pthread_self();
    (void)snprintf(url, sizeof url, "%s?%s", redis->tcp_url, options);
    assert_status(
        BOWLINE_OK,
        bowline_open(&client, BOWLINE_OPTIONS(.url = url, .on_log = append, .log_data = j), &error),
        &error);
    return client;
}

/* The texts follow each other in the log. */
static void assert_logged(const log_text *j, const char *const texts[])
{
    const char *rest = j->text;

    for (size_t i = 0; texts[i] != NULL; i++) {
        const char *at = strstr(rest, texts[i]);
        if (at == NULL)
            fail_msg("\"%s\" is not in \"%s\"", texts[i], rest);
        rest = at + strlen(texts[i]);
    }
}

TEST(connect_and_disconnect_are_logged)
{
    log_text        j      = { 0 };
    bowline_client *client = client_with_log("lease=1h", &j);

    assert_int_equal(j.calls, 0);
    assert_status(BOWLINE_OK, bowline_ping(client, 0, NULL), NULL);
    assert_int_equal(j.calls, 1);
    assert_logged(&j, (const char *[]){ "1 connected: ", NULL });
    server_kill(redis);
    /* A slow machine needs another call to try the next connection. */
    for (int rounds = 0; strstr(j.text, "2 not connected: ") == NULL && rounds < 20; rounds++)
        assert_status(BOWLINE_UNREACHABLE, bowline_ping(client, 1, NULL), NULL);
    assert_logged(&j, (const char *[]){ "1 connected: ", "2 ", "2 not connected: ", NULL });
    server_start_only(redis);
    assert_status(BOWLINE_OK, bowline_ping(client, BOWLINE_FOREVER, NULL), NULL);
    assert_logged(&j, (const char *[]){ "2 not connected: ", "1 connected: ", NULL });
    unsigned calls = j.calls;
    assert_status(BOWLINE_OK, bowline_ping(client, 0, NULL), NULL);
    assert_int_equal(j.calls, calls);
    bowline_close(client);
    assert_int_equal(j.calls, calls); /* no message about the close */
}

/* The renewal thread finds that the key is gone; the next call delivers the message. */
TEST(loss_is_logged_in_the_next_call)
{
    log_text        j      = { 0 };
    bowline_client *client = client_with_log("lease=300ms", &j);
    bowline_hold   *hold   = must_acquire(client, "n");
    bowline_event   event  = { .size = sizeof event };

    (void)server_ask(redis, "DEL bowline:{n}");
    must_end(hold);
    assert_null(strstr(j.text, "lost: n"));
    assert_int_equal(bowline_next_event(client, &event, NULL), 1);
    assert_logged(&j, (const char *[]){ "3 lost: n: ", NULL });
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(client);
}

AROUND(start_server, stop_server)
