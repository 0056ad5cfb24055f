/*
 * test_redlock.c -- a lock on the majority of five real servers, some of which are stopped or
 * restarted without data: at most one holder at a time, and the hold is kept if it can be.
 *
 * The witness detects two holders: each holder also takes an flock(2).
 */
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <stdio.h>

enum { SERVERS = 5, LEASE_MS = 1500, URL_MAX = 400 };

static server  *servers[SERVERS];
static witness *judge;
static char     url[URL_MAX];

static void write_url(const char *options)
{
    size_t size = (size_t)snprintf(url, sizeof url, "redlock://");

    for (unsigned i = 0; i < SERVERS; i++)
        size += (size_t)snprintf(url + size, sizeof url - size, "%s%s", i == 0 ? "" : ",",
                                 servers[i]->tcp_url + sizeof "redis://" - 1);
    (void)snprintf(url + size, sizeof url - size, "?lease=%dms&%s", LEASE_MS, options);
}

static int begin(void **state)
{
    for (unsigned i = 0; i < SERVERS; i++)
        servers[i] = server_start(NULL);
    judge = witness_new();
    write_url("restart-wait=off");
    return 0;
}

static int end(void **state)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        server_stop(servers[i]);
        servers[i] = NULL;
    }
    if (judge != NULL)
        judge_dismiss(judge);
    judge = NULL;
    return 0;
}

/* Waits until each of these servers replies so to EXISTS. */
static bool keys_come_to_be(unsigned from, unsigned to, const char *exists)
{
    for (unsigned i = from; i < to; i++)
        if (!server_comes_to(servers[i], exists, "EXISTS bowline:{x}"))
            return false;
    return true;
}

/* Waits until the server has the token again. False: the lock was lost meanwhile, because the
 * machine was too slow. */
static bool comes_back(server *s, const char *token, bowline_hold *hold)
{
    for (int64_t last = clock_ms() + 10000; clock_ms() < last; sleep_ms(2)) {
        if (strcmp(server_ask(s, "GET bowline:{x}"), token) == 0)
            return true;
        if (bowline_hold_left_ms(hold) == 0)
            return false;
    }
    fail_msg("the server did not get the key again");
    return false;
}

/* Waits until all servers have the key, and returns its token. */
static bool on_every_server(char ret_token[64], bowline_hold *hold)
{
    bool all = true;

    do
        (void)snprintf(ret_token, 64, "%s", server_ask(servers[0], "GET bowline:{x}"));
    while (strcmp(ret_token, "(nil)") == 0 && bowline_hold_left_ms(hold) > 0);
    for (unsigned i = 1; all && i < SERVERS; i++)
        all = comes_back(servers[i], ret_token, hold);
    return all;
}

/* Acquires and releases, until a round in which the machine is fast enough for the lease. */
static void acquire_and_release(bowline_client *client)
{
    bowline_hold *hold = must_acquire(client, "x");

    for (int round = 1; !keeps_in_round(true, bowline_release(hold, NULL), round); round++)
        acquire_in_the_end(&hold, client, "x");
}

/* ---- silent servers -------------------------------------------------------------------------- */

FIXTURE(begin, end)

/* The holder learns in time, and no other client acquires the lock earlier. */
TEST(redlock_is_lost_when_the_majority_is_silent)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    rival          *r      = rival_start(judge, url, "x");
    int64_t         fault_us;

    assert_true(keys_come_to_be(0, SERVERS, "1"));
    fault_us = witness_now_us();
    for (unsigned i = 0; i < 3; i++)
        server_signal(servers[i], SIGSTOP);
    assert_true(holder_await_loss(b));
    assert_bounded(holder_stop(b), fault_us, LEASE_MS);
    for (unsigned i = 0; i < 3; i++)
        server_signal(servers[i], SIGCONT);
    assert_true(rival_await_hold(r));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    rival_stop(r);
    bowline_close(client);
    assert_one_at_a_time(judge);
}

/* ---- servers that lose their data ------------------------------------------------------------ */

/* All servers restart, one after the other: each gets the key again before the next restarts,
 * although the rival has its own key there now and then. */
TEST(redlock_writes_its_key_again_to_restarted_servers)
{
    char            token[64] = "";
    bowline_client *client    = must_open(url);
    bowline_hold   *hold      = NULL;
    int             round     = 0;
    bool            kept;

    do {
        acquire_in_the_end(&hold, client, "x");
        kept           = on_every_server(token, hold);
        lock_holder *b = holder_start(judge, hold);
        rival       *r = rival_start(judge, url, "x");
        for (unsigned i = 0; kept && i < SERVERS; i++) {
            server_restart(servers[i]);
            kept = comes_back(servers[i], token, hold);
        }
        unsigned holds = rival_hold_count(r);
        kept           = kept && bowline_hold_left_ms(hold) > 0;
        assert_true(!kept || holds == 0);
        assert_true(holder_stop(b) > 0 || !kept);
        kept = keeps_in_round(kept, bowline_release(hold, NULL), ++round);
        assert_true(rival_await_hold(r));
        rival_stop(r);
    } while (!kept);
    bowline_close(client);
    assert_one_at_a_time(judge);
}

/* Three servers restart at once: if they had a vote, the rival would acquire the lock too early. */
TEST(redlock_restarted_servers_have_no_vote_for_a_lease)
{
    bowline_client *client;
    bowline_hold   *hold = NULL;
    bowline_error   error;

    write_url("restart-wait=on");
    client = must_open(url);
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "x", 20000, &error), &error);
    lock_holder *b = holder_start(judge, hold);
    rival       *r = rival_start(judge, url, "x");
    for (unsigned i = 0; i < 3; i++)
        server_restart(servers[i]);
    assert_true(holder_await_loss(b));
    (void)holder_stop(b);
    assert_true(rival_await_hold(r));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    rival_stop(r);
    bowline_close(client);
    assert_one_at_a_time(judge);
}

/* ---- servers that are stopped ---------------------------------------------------------------- */

TEST(redlock_works_while_two_servers_are_stopped)
{
    bowline_client *client = must_open(url);

    acquire_and_release(client);
    server_signal(servers[0], SIGSTOP);
    server_signal(servers[4], SIGSTOP);
    for (unsigned i = 0; i < 20; i++)
        acquire_and_release(client);
    server_signal(servers[0], SIGCONT);
    server_signal(servers[4], SIGCONT);
    bowline_close(client);
    for (unsigned i = 0; i < SERVERS; i++)
        assert_true(server_becomes_empty(servers[i]));
}

/* ---- contention ------------------------------------------------------------------------------ */

TEST(redlock_has_one_holder_while_servers_stop_and_restart)
{
    enum { RIVALS = 3, ROUNDS = 5 };
    rival *r[RIVALS];

    write_url("restart-wait=on");
    for (unsigned i = 0; i < RIVALS; i++)
        r[i] = rival_start(judge, url, "x");
    for (unsigned round = 0; round < ROUNDS; round++) {
        assert_true(rival_await_hold(r[round % RIVALS]));
        server_signal(servers[round], SIGSTOP);
        server_restart(servers[(round + 2) % SERVERS]);
        assert_true(rival_await_hold(r[round % RIVALS]));
        server_signal(servers[round], SIGCONT);
    }
    for (unsigned i = 0; i < RIVALS; i++)
        rival_stop(r[i]);
    assert_one_at_a_time(judge);
}
