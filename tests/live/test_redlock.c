/*
 * test_redlock.c -- a lock on most of five real servers: some are killed, stopped, silent or
 * started again, empty, and the lock is held by one at a time, and held on.
 *
 * The judge is the witness: an flock(2) that whoever holds the lock takes too.
 */
#include "tests/lib/frozen.h"
#include "tests/lib/judged.h"
#include "tests/lib/proxy.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { SERVERS = 5, LEASE_MS = 1500, LONG_MS = 60000, URL_MAX = 400 };

static server  *servers[SERVERS];
static witness *judge;
static proxy   *line; /* in front of the last server; NULL */
static char     url[URL_MAX];

/* All five, or the first so many and then the proxy. */
static void write_url_of(int lease_ms, const char *options)
{
    size_t size = (size_t)snprintf(url, sizeof url, "redlock://");

    for (unsigned i = 0; i < SERVERS; i++) {
        const char *one = line != NULL && i == SERVERS - 1 ? proxy_url(line) : servers[i]->tcp_url;
        size += (size_t)snprintf(url + size, sizeof url - size, "%s%s", i == 0 ? "" : ",",
                                 one + sizeof "redis://" - 1);
    }
    (void)snprintf(url + size, sizeof url - size, "?lease=%dms&%s", lease_ms, options);
}

static void write_url(const char *options)
{
    write_url_of(LEASE_MS, options);
}

static void begin_with(const char *options)
{
    for (unsigned i = 0; i < SERVERS; i++)
        if (servers[i] == NULL)
            servers[i] = server_start(NULL);
    judge = witness_new();
    write_url(options);
}

static int begin(void **state)
{
    begin_with("restart-wait=off");
    return 0;
}

static int end(void **state)
{
    if (line != NULL)
        proxy_stop(line);
    line = NULL;
    for (unsigned i = 0; i < SERVERS; i++) {
        server_stop(servers[i]);
        servers[i] = NULL;
    }
    if (judge != NULL)
        judge_dismiss(judge);
    judge = NULL;
    return 0;
}

/* On how many of the servers that run is the key?  It comes to be so many within ten seconds. */
static bool keys_come_to_be(unsigned from, unsigned to, const char *exists)
{
    for (unsigned i = from; i < to; i++)
        if (!server_comes_to(servers[i], exists, "EXISTS bowline:{x}"))
            return false;
    return true;
}

/* Is this there again?  False: the lock was lost meanwhile, for the machine was too slow. */
static bool comes_back(server *s, const char *token, bowline_hold *hold)
{
    for (int64_t last = clock_ms() + 10000; clock_ms() < last; sleep_ms(2)) {
        if (strcmp(server_ask(s, "GET bowline:{x}"), token) == 0)
            return true;
        if (bowline_hold_left_ms(hold) == 0)
            return false;
    }
    fail_msg("it is not there again");
    return false;
}

/* All have it; which token that is. */
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

/* Takes it and gives it back, in a round in which the machine is quick enough for the lease. */
static void take_and_give(bowline_client *client)
{
    bowline_hold *hold = must_acquire(client, "x");

    for (int round = 1; !keeps_in_round(true, bowline_release(hold, NULL), round); round++)
        acquire_in_the_end(&hold, client, "x");
}

/* ---- servers that are not there -------------------------------------------------------------- */

FIXTURE(begin, end)

/* The holder knows in time, and nobody else gets in before. */
TEST(redlock_is_lost_when_most_are_gone)
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

/* ---- servers that forget --------------------------------------------------------------------- */

/* One after the other, all of them: each gets the key again before the next one goes, though the
 * rival has it there for a moment now and then. */
TEST(redlock_heals_servers_that_restart_empty)
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
        unsigned turns = rival_hold_count(r);
        kept           = kept && bowline_hold_left_ms(hold) > 0;
        assert_true(!kept || turns == 0);
        assert_true(holder_stop(b) > 0 || !kept);
        kept = keeps_in_round(kept, bowline_release(hold, NULL), ++round);
        assert_true(rival_await_hold(r));
        rival_stop(r);
    } while (!kept);
    bowline_close(client);
    assert_one_at_a_time(judge);
}

/* Three at once: had they a vote, the rival would be in. */
TEST(redlock_servers_that_restart_have_no_vote_for_a_lease)
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

/* ---- servers that are slow ------------------------------------------------------------------- */

TEST(redlock_two_stopped_servers_are_not_waited_for)
{
    bowline_client *client = must_open(url);

    take_and_give(client);
    server_signal(servers[0], SIGSTOP);
    server_signal(servers[4], SIGSTOP);
    for (unsigned i = 0; i < 20; i++)
        take_and_give(client);
    server_signal(servers[0], SIGCONT);
    server_signal(servers[4], SIGCONT);
    bowline_close(client);
    for (unsigned i = 0; i < SERVERS; i++)
        assert_true(server_becomes_empty(servers[i]));
}

/* ---- many who want it ------------------------------------------------------------------------ */

TEST(redlock_is_held_by_one_at_a_time_while_servers_come_and_go)
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
