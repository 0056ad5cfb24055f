/*
 * test_fault_pause.c -- a server that pauses: CLIENT PAUSE ALL and WRITE, during an acquire, a
 * renewal and a release, for less and for more than the lease.
 *
 * After a pause the server executes the commands that arrived during it, if their connection still
 * exists. So an acquire that timed out must not leave a key for longer than a lease, and a hold
 * whose key expired meanwhile must end.
 */
#include "tests/lib/judged.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>

enum { SHORT_MS = 400, LEASE_MS = 900, LONG_MS = 1600 };

static witness *judge;
static char     rival_url[200];

static const char *const modes[] = { "ALL", "WRITE" };

static bowline_client *client_with(const char *options)
{
    char url[200];

    (void)snprintf(url, sizeof url, "%s?%s", redis->tcp_url, options);
    bowline_client *client = must_open(url);
    must_be_free(client, "warm up");
    return client;
}

/* Returns the earliest end of the pause. */
static int64_t pause_for(const char *mode, int ms)
{
    int64_t asked = clock_ms();

    assert_string_equal(server_ask(redis, "CLIENT PAUSE %d %s", ms, mode), "OK");
    return asked + ms;
}

static void wait_until_after(int64_t end)
{
    while (clock_ms() < end + 20)
        sleep_ms(5);
}

/* Another client can acquire the lock now. */
static void assert_lock_is_available(void)
{
    rival *r = rival_start(judge, rival_url, "x");

    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    assert_true(server_becomes_empty(redis));
}

/* ---- during an acquire ----------------------------------------------------------------------- */

/* False: shows nothing, because the machine was stopped just before the request. (A lease that
 * counted from the reply would fail in every round.) */
static bool acquire_through_a_short_pause(const char *mode)
{
    bowline_client *client = client_with("lease=10s&timeout=9s&renew=off");
    bowline_hold   *hold   = NULL;

    (void)pause_for(mode, SHORT_MS);
    int64_t asked = clock_ms();
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, NULL), NULL);
    int64_t left     = bowline_hold_left_ms(hold);
    int64_t took     = clock_ms() - asked;
    bool    is_shown = took > SHORT_MS / 2 && left + took <= 10000;
    must_release(hold);
    bowline_close(client);
    return is_shown;
}

/* False: shows nothing, because the machine was stopped until the end of the pause. */
static bool acquire_through_a_long_pause(const char *mode)
{
    bowline_client *client = client_with("lease=900ms&timeout=100ms");
    bowline_hold   *hold   = NULL;
    int64_t         over   = pause_for(mode, LONG_MS);
    int             status = acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, NULL);

    if (status != BOWLINE_UNKNOWN && clock_ms() >= over) {
        bowline_close(client);
        return false;
    }
    assert_status(BOWLINE_UNKNOWN, status, NULL);
    rival *r = rival_start(judge, rival_url, "x");
    /* The waiter is granted the lock after the pause, and no other client while it holds the
     * lock. */
    acquire_in_the_end(&hold, client, "x");
    assert_true(clock_ms() >= over - 5);
    lock_holder *b = holder_start(judge, hold);
    sleep_ms(100);
    (void)holder_stop(b);
    (void)bowline_release(hold, NULL);
    rival_stop(r);
    bowline_close(client);
    return true;
}

static int begin(void **state)
{
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    judge_dismiss(judge);
    return 0;
}

FIXTURE(begin, end)

TEST(acquire_through_a_pause_leaves_no_key_beyond_a_lease)
{
    for (int i = 0; i < 2; i++) {
        for (int rounds = 1; !acquire_through_a_short_pause(modes[i]); rounds++)
            assert_true(rounds < 20);
        assert_lock_is_available();
        for (int rounds = 1; !acquire_through_a_long_pause(modes[i]); rounds++)
            assert_true(rounds < 20);
        assert_lock_is_available();
    }
}

/* ---- during a renewal ------------------------------------------------------------------------ */

/* The pause covers at least one renewal and is shorter than the lease. False: the machine was too
 * slow. */
static bool renew_through_a_short_pause(const char *mode, int round)
{
    bowline_client *client = client_with("lease=900ms&timeout=250ms");
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    int64_t         over   = pause_for(mode, LEASE_MS / 2);

    rival *r = rival_start(judge, rival_url, "x");
    wait_until_after(over + LEASE_MS);
    bool kept = bowline_hold_left_ms(hold) > 0 && rival_hold_count(r) == 0;
    (void)holder_stop(b);
    int status = bowline_release(hold, NULL);
    rival_stop(r);
    bowline_close(client);
    return keeps_in_round(kept, status, round);
}

static void renew_through_a_long_pause(const char *mode)
{
    bowline_client *client = client_with("lease=900ms&timeout=250ms");
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);

    int64_t over = pause_for(mode, LONG_MS);
    rival  *r    = rival_start(judge, rival_url, "x");
    assert_true(holder_await_loss(b));
    bool got_in  = rival_hold_count(r) > 0;
    bool is_over = clock_ms() >= over;
    assert_true(is_over || !got_in); /* lost by its own clock, before a rival acquired it */
    (void)holder_stop(b);
    assert_true(rival_await_hold(r));
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(rival_await_hold(r)); /* its lock was not deleted */
    rival_stop(r);
    bowline_close(client);
}

TEST(renewal_through_a_pause_keeps_or_ends_the_hold_in_time)
{
    for (int i = 0; i < 2; i++) {
        for (int round = 1; !renew_through_a_short_pause(modes[i], round); round++)
            continue;
        assert_lock_is_available();
        renew_through_a_long_pause(modes[i]);
        assert_lock_is_available();
    }
}

/* ---- during a release ------------------------------------------------------------------------ */

static void release_through_a_short_pause(const char *mode)
{
    bowline_client *client = client_with("lease=20s&timeout=10s");
    bowline_hold   *hold   = must_acquire(client, "x");

    (void)pause_for(mode, SHORT_MS);
    must_release(hold);
    assert_lock_is_available();
    bowline_close(client);
}

/* False: shows nothing, because the machine was stopped until the end of the pause. */
static bool release_through_a_long_pause(const char *mode)
{
    bowline_client *client   = client_with("lease=3s&timeout=100ms&renew=off");
    bowline_hold   *hold     = must_acquire(client, "x");
    int64_t         over     = pause_for(mode, LONG_MS);
    int             status   = bowline_release(hold, NULL);
    bool            is_shown = status == BOWLINE_UNKNOWN || clock_ms() < over;

    if (is_shown)
        assert_status(BOWLINE_UNKNOWN, status, NULL);
    assert_lock_is_available();
    bowline_close(client);
    return is_shown;
}

TEST(release_through_a_pause_leaves_no_key_beyond_a_lease)
{
    for (int i = 0; i < 2; i++) {
        release_through_a_short_pause(modes[i]);
        for (int rounds = 1; !release_through_a_long_pause(modes[i]); rounds++)
            assert_true(rounds < 20);
    }
}

/* ---- late expiry ----------------------------------------------------------------------------- */

/* The holder is dead. The server deletes the expired key only when it is accessed. */
TEST(waiter_acquires_an_expired_lock_without_active_expiry)
{
    bowline_client *client = client_with("lease=20s");
    bowline_hold   *hold   = NULL;

    assert_string_equal(server_ask(redis, "DEBUG SET-ACTIVE-EXPIRE 0"), "OK");
    assert_string_equal(server_ask(redis, "SET bowline:{x} 1234567890123456789012 PX 300"), "OK");
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", 20000, NULL), NULL);
    must_release(hold);
    assert_string_equal(server_ask(redis, "DEBUG SET-ACTIVE-EXPIRE 1"), "OK");
    assert_lock_is_available();
    bowline_close(client);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    redis = server_start(server_is_new() ? "--enable-debug-command yes" : NULL);
    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=900ms&timeout=300ms", redis->unix_url);
    return 0;
}

AROUND(own_server_starts, stop_server)
