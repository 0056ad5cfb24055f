/*
 * test_redis_silence.c -- a server that stops, is paused, breaks connections or starts again with
 * nothing in it.
 *
 * What was asked of a server that fell silent may be carried out when it goes on, also when we have
 * hung up long ago.  That may cost others one lease, and never makes two holders.
 */
#include "tests/lib/judged.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static bowline_client *client_with(const char *options)
{
    char url[200];

    (void)snprintf(url, sizeof url, "%s?%s", redis->tcp_url, options);
    return must_open(url);
}

/* A client whose connection is up. */
static bowline_client *warm_client(const char *options)
{
    bowline_client *client = client_with(options);

    must_be_free(client, "warm up");
    return client;
}

/* ---- stopped --------------------------------------------------------------------------------- */

static int own_nothing_is_left(void **state)
{
    if (redis->pid != 0)
        server_signal(redis, SIGCONT);
    return server_becomes_empty(redis) ? 0 : -1;
}

FIXTURE(NULL, own_nothing_is_left)

TEST(stopped_server_leaves_an_acquire_unknown)
{
    bowline_client *client = warm_client("lease=1s&timeout=200ms");
    bowline_client *other  = client_with("lease=60s");
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };

    server_signal(redis, SIGSTOP);
    int64_t began = clock_ms();
    assert_status(BOWLINE_UNKNOWN, acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error),
                  &error);
    assert_true(clock_ms() - began < 10000);
    server_signal(redis, SIGCONT);
    /* The ghost of our SET may hold it now, for one lease at most. */
    assert_status(BOWLINE_OK, acquire_within(&hold, other, "x", 20000, &error), &error);
    sleep_ms(100);
    assert_true(bowline_hold_left_ms(hold) > 0);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "1");
    must_release(hold);
    bowline_close(client);
    bowline_close(other);
}

TEST(stopped_for_longer_than_the_lease_is_lost)
{
    bowline_client *client = client_with("lease=600ms");
    bowline_client *other  = client_with("lease=60s");
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_hold   *next   = NULL;
    bowline_error   error  = { 0 };

    server_signal(redis, SIGSTOP);
    sleep_ms(1000);
    assert_true(bowline_hold_left_ms(hold) == 0); /* without an answer from anybody */
    server_signal(redis, SIGCONT);
    assert_status(BOWLINE_OK, acquire_within(&next, other, "x", 20000, &error), &error);
    assert_true(bowline_hold_left_ms(hold) == 0);
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, &error), &error);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    sleep_ms(100);
    assert_status(BOWLINE_OK, bowline_extend(next, 0, &error), &error); /* nobody took it away */
    must_release(next);
    bowline_close(client);
    bowline_close(other);
}

TEST(extend_and_release_without_an_answer_are_unknown)
{
    bowline_client *client = client_with("lease=15s&timeout=200ms&renew=off");
    bowline_client *second = client_with("lease=15s&timeout=200ms&renew=off");
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_hold   *other  = must_acquire(second, "y");
    bowline_error   error  = { 0 };

    server_signal(redis, SIGSTOP);
    assert_status(BOWLINE_UNKNOWN, bowline_extend(hold, 0, &error), &error);
    assert_true(bowline_hold_left_ms(hold) > 0);
    assert_status(BOWLINE_UNKNOWN, bowline_release(other, &error), &error);
    /* By now there is no connection: this is never sent. */
    assert_status(BOWLINE_UNREACHABLE, bowline_release(hold, &error), &error);
    server_signal(redis, SIGCONT);
    assert_string_equal(server_ask(redis, "DEL bowline:{x}"), "1");
    assert_true(server_becomes_empty(redis)); /* what the server had been sent it has done */
    bowline_close(client);
    bowline_close(second);
}

/* ---- a server that forgets ------------------------------------------------------------------- */

TEST(waiter_outlasts_a_restart)
{
    bowline_client *client = client_with("lease=20s");
    bowline_client *other  = client_with("lease=20s&renew=off");
    bowline_hold   *hold   = must_acquire(other, "x");
    waiter          w;

    waiter_start(&w, client, "x", 30000);
    sleep_ms(50);
    server_kill(redis);
    sleep_ms(200);
    assert_false(atomic_load(&w.ended));
    server_start_again(redis);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    must_release(w.hold);
    bowline_close(client);
    bowline_close(other);
}

/* ---- the cases ------------------------------------------------------------------------------- */

AROUND(start_server, stop_server)
