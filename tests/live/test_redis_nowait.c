/*
 * test_redis_nowait.c -- bowline_release_nowait with a real server: a loss is reported, a release
 * whose connection broke is sent again, and a server that reads nothing blocks no call.
 *
 * Each case runs with both protocols.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/proxy.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <stdio.h>

static const char *const protocols[] = { "token", "queue" };

static const char *url_of(const char *where, const char *protocol, const char *options)
{
    static char url[256];

    (void)snprintf(url, sizeof url, "%s?protocol=%s%s", where, protocol, options);
    return url;
}

static void nowait_reports_a_deleted_key_as_lost(const char *protocol)
{
    bowline_client *client = must_open(url_of(redis->tcp_url, protocol, ""));
    bowline_hold   *hold   = must_acquire(client, "n");
    bowline_error   error  = { 0 };

    assert_string_equal(server_ask(redis, "DEL bowline:{n}"), "1");
    assert_status(BOWLINE_OK, bowline_release_nowait(hold, &error), &error);
    assert_status(BOWLINE_LOST, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    assert_non_null(strstr(error.text, "n is no longer ours"));
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    bowline_close(client);
}

/* A foreign value stays unchanged. */
static void nowait_leaves_a_foreign_value_unchanged(const char *protocol)
{
    bowline_client *client = must_open(url_of(redis->tcp_url, protocol, ""));
    bowline_hold   *hold   = must_acquire(client, "n");
    bowline_error   error  = { 0 };

    assert_string_equal(server_ask(redis, "SET bowline:{n} theirs PX 60000"), "OK");
    assert_status(BOWLINE_OK, bowline_release_nowait(hold, &error), &error);
    assert_status(BOWLINE_LOST, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    assert_string_equal(server_ask(redis, "GET bowline:{n}"), "theirs");
    assert_string_equal(server_ask(redis, "DEL bowline:{n}"), "1");
    bowline_close(client);
}

/* No caller waits for the result: the renewal thread receives the reply, and the loss is reported
 * at the next flush. */
static void nowait_loss_is_kept_until_the_next_flush(const char *protocol)
{
    bowline_client *client = must_open(url_of(redis->tcp_url, protocol, ""));
    bowline_hold   *hold   = must_acquire(client, "n");
    bowline_error   error  = { 0 };

    assert_string_equal(server_ask(redis, "DEL bowline:{n}"), "1");
    assert_status(BOWLINE_OK, bowline_release_nowait(hold, &error), &error);
    for (unsigned i = 0; i < 10; i++)
        must_release(must_acquire(client, "other"));
    assert_status(BOWLINE_LOST, bowline_flush_releases(client, 0, &error), &error);
    bowline_close(client);
}

/* An acquire and a release over a connection that breaks after so many bytes. */
static void release_through(const char *protocol, const proxy_plan *plan)
{
    proxy          *line   = proxy_start(redis, plan);
    bowline_client *client = must_open(url_of(proxy_url(line), protocol, "&lease=60s&timeout=5s"));
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };

    assert_status(BOWLINE_OK, acquire_within(&hold, client, "n", 10000, &error), &error);
    assert_status(BOWLINE_OK, bowline_release_nowait(hold, &error), &error);
    int status = bowline_flush_releases(client, BOWLINE_FOREVER, &error);
    if (status != BOWLINE_OK)
        assert_status(BOWLINE_UNKNOWN, status, &error);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
    if (strcmp(server_ask(redis, "EXISTS bowline:{n}"), "0") != 0)
        fail_msg("the key remains when the connection breaks at byte %lld %s", (long long)plan->at,
                 plan->to_client ? "to the client" : "to the server");
    bowline_close(client);
    proxy_stop(line);
}

static void nowait_release_is_sent_again_when_its_connection_breaks(const char *protocol)
{
    for (unsigned side = 0; side < 2; side++) {
        proxy_plan      whole  = { .fault = PROXY_NONE };
        proxy          *line   = proxy_start(redis, &whole);
        bowline_client *client = must_open(url_of(proxy_url(line), protocol, ""));
        must_release(must_acquire(client, "n"));
        int64_t size = side == 0 ? proxy_bytes_to_client(line) : proxy_bytes_to_server(line);
        bowline_close(client);
        proxy_stop(line);
        byte_steps steps = some_bytes(17);
        for (int64_t at = steps.first; at < size; at += steps.step)
            release_through(protocol, &(proxy_plan){ .fault       = PROXY_CLOSE,
                                                     .to_client   = side == 0,
                                                     .at          = at,
                                                     .connections = 1 });
    }
}

/* The server stops reading, and the socket buffers are full: no call blocks, and no release is
 * lost. */
static void nowait_does_not_block_when_the_server_reads_nothing(const char *protocol)
{
    enum { HOLDS = 900 };
    static bowline_hold *holds[HOLDS];
    bowline_client      *client = must_open(url_of(redis->unix_url, protocol, "&timeout=20s"));
    char                 name[BOWLINE_NAME_MAX + 1];

    for (unsigned i = 0; i < HOLDS; i++) {
        (void)snprintf(name, sizeof name, "%0*u", BOWLINE_NAME_MAX, i);
        holds[i] = must_acquire(client, name);
    }
    server_signal(redis, SIGSTOP);
    for (unsigned i = 0; i < HOLDS; i++)
        assert_status(BOWLINE_OK, bowline_release_nowait(holds[i], NULL), NULL);
    assert_status(BOWLINE_TIMEOUT, bowline_flush_releases(client, 0, NULL), NULL);
    server_signal(redis, SIGCONT);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
    assert_true(queue_await_no_keys(redis));
    bowline_close(client);
}

#define BOTH_TEST(name)                                      \
    TEST(name)                                               \
    {                                                        \
        for (unsigned i = 0; i < COUNT_OF(protocols); i++) { \
            name(protocols[i]);                              \
            assert_true(queue_await_no_keys(redis));         \
        }                                                    \
    }

BOTH_TEST(nowait_reports_a_deleted_key_as_lost)
BOTH_TEST(nowait_leaves_a_foreign_value_unchanged)
BOTH_TEST(nowait_loss_is_kept_until_the_next_flush)
BOTH_TEST(nowait_release_is_sent_again_when_its_connection_breaks)
BOTH_TEST(nowait_does_not_block_when_the_server_reads_nothing)

AROUND(start_server, stop_server)
