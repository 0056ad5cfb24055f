/*
 * test_sentinel.c -- a primary that sentinels watch, and what becomes of locks when it is another.
 *
 * Each test has a service of its own (sentinels.h).  What is held is looked for at the new primary
 * before anything is said of it: it is held where it has arrived, and LOST where it has not.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/judged.h"
#include "tests/lib/sentinels.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEASE_MS = 120000, WAITERS = 20, LONG_MS = 120000 };

static service *there;
static witness *judge;
static char     url[320];

static int begin(void **state)
{
    server_needed();
    there = service_start(2, NULL);
    judge = witness_new();
    (void)snprintf(url, sizeof url, "%s?lease=%dms&timeout=1s", there->url, LEASE_MS);
    return 0;
}

static int end(void **state)
{
    service_stop(there);
    judge_dismiss(judge);
    there = NULL;
    judge = NULL;
    return 0;
}

/* The primary is gone, and the other one is it now. */
static server *kill_primary(void)
{
    server *old = there->nodes[0];

    server_kill(old);
    return service_primary(there, old);
}

static bool has_lock(server *node, const char *name)
{
    return strcmp(server_ask(node, "EXISTS bowline:{%s}", name), "1") == 0;
}

/* The sentinel that is asked may still name the old one: nobody is there, and that is said. */
static void must_extend(bowline_hold *hold)
{
    int status = BOWLINE_UNREACHABLE;

    for (int64_t end = clock_ms() + 20000; status == BOWLINE_UNREACHABLE && clock_ms() < end;
         sleep_ms(5))
        status = bowline_extend(hold, 0, NULL);
    assert_status(BOWLINE_OK, status, NULL);
}

/* ---- in peace -------------------------------------------------------------------------------- */

FIXTURE(begin, end)

TEST(one_sentinel_is_enough)
{
    server_kill(there->sentinels[0]);
    server_signal(there->sentinels[1], SIGSTOP);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");

    must_release(hold);
    bowline_close(client);
    server_signal(there->sentinels[1], SIGCONT);
}

/* ---- another primary ------------------------------------------------------------------------- */

/* Killed: what is held has arrived, stays held, and shuts others out until it is given back. */
TEST(hold_outlives_its_primary)
{
    bowline_hold *second = NULL;

    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    uint64_t        fence  = bowline_hold_fence(hold);

    assert_true(server_comes_to(there->nodes[1], "1", "EXISTS bowline:{x}"));
    server *now = kill_primary();
    assert_true(has_lock(now, "x"));
    must_extend(hold);
    assert_status(BOWLINE_TIMEOUT, acquire_within(&second, other, "x", 500, NULL), NULL);
    assert_int_equal(bowline_hold_fence(hold), fence);
    assert_true(bowline_hold_left_ms(hold) > 0);
    (void)holder_stop(b);
    must_release(hold);
    assert_status(BOWLINE_OK, acquire_within(&second, other, "x", LONG_MS, NULL), NULL);
    assert_true(bowline_hold_fence(second) > fence);
    must_release(second);
    assert_one_at_a_time(judge);
    bowline_close(client);
    bowline_close(other);
}

/* By hand, with everybody alive: the old one is told to follow. */
TEST(hold_outlives_a_switch_by_hand)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    rival          *r      = rival_start_queued(judge, url, "x");

    assert_true(server_comes_to(there->nodes[1], "1", "EXISTS bowline:{x}"));
    server *now = service_switch(there, there->nodes[0]);
    must_extend(hold);
    assert_true(has_lock(now, "x"));
    assert_int_equal(rival_hold_count(r), 0);
    (void)holder_stop(b);
    must_release(hold);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
}

/* The last that was written has not arrived at the one that becomes the primary. */
TEST(hold_that_did_not_arrive_is_lost)
{
    bowline_client *client = must_open(url);
    must_release(must_acquire(client, "before"));
    server_signal(there->nodes[1], SIGSTOP);
    (void)server_ask(there->nodes[0], "CLIENT KILL TYPE replica"); /* nothing is on its way */
    bowline_hold *hold  = must_acquire(client, "x");
    lock_holder  *b     = holder_start(judge, hold);
    uint64_t      fence = bowline_hold_fence(hold);
    int64_t       at_us = witness_now_us();

    server_kill(there->nodes[0]);
    server_signal(there->nodes[1], SIGCONT);
    server *now = service_primary(there, there->nodes[0]);
    assert_false(has_lock(now, "x"));
    bowline_client *other  = must_open(url);
    bowline_hold   *second = NULL;
    assert_status(BOWLINE_OK, acquire_within(&second, other, "x", LONG_MS, NULL), NULL);
    assert_true(bowline_hold_fence(second) > fence);
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, at_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(has_lock(now, "x")); /* it was not its own any more */
    must_release(second);
    bowline_close(client);
    bowline_close(other);
}

/* It comes back, is told to follow, and is asked for nothing. */
TEST(old_primary_returns)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");

    assert_true(server_comes_to(there->nodes[1], "1", "EXISTS bowline:{x}"));
    server *now = kill_primary();
    must_extend(hold);
    server_start_again(there->nodes[0]);
    service_settles(there, now);
    must_extend(hold);
    must_release(hold);
    bowline_client *fresh = must_open(url); /* whom does it find? */
    bowline_hold   *found = NULL;
    assert_status(BOWLINE_OK, acquire_within(&found, fresh, "x", LONG_MS, NULL), NULL);
    must_release(found);
    bowline_close(fresh);
    bowline_close(client);
}

/* ---- passwords ------------------------------------------------------------------------------- */

FIXTURE(NULL, NULL)

TEST(sentinel_and_service_have_passwords_of_their_own)
{
    char path[96];

    server *node     = server_start("--requirepass hunter2");
    server *sentinel = server_start_sentinel(node->port, 1);
    (void)snprintf(node->login, sizeof node->login, "AUTH hunter2");
    (void)server_ask(sentinel, "SENTINEL SET m auth-pass hunter2");
    (void)server_ask(sentinel, "ACL SETUSER watcher on >hunter2-watches +@all &*");
    (void)server_ask(sentinel, "ACL SETUSER default off");
    (void)snprintf(path, sizeof path, "%s/secret", node->directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_int_equal(fputs("hunter2-watches\n", file) >= 0, true);
    assert_int_equal(fclose(file), 0);

    expect(BOWLINE_OK, "",
           "redis+sentinel://:hunter2@127.0.0.1:%d/m?sentinel-user=watcher&"
           "sentinel-password-file=%s",
           sentinel->port, path);
    expect(BOWLINE_REFUSED, "it wants a password (NOAUTH): give sentinel-password-file=",
           "redis+sentinel://:hunter2@127.0.0.1:%d/m", sentinel->port);
    expect(BOWLINE_REFUSED, "wants a password (NOAUTH)",
           "redis+sentinel://127.0.0.1:%d/m?sentinel-user=watcher&sentinel-password-file=%s",
           sentinel->port, path);
    (void)server_ask(node, "CONFIG SET requirepass changed");
    expect(BOWLINE_REFUSED, "WRONGPASS",
           "redis+sentinel://:hunter2@127.0.0.1:%d/m?sentinel-user=watcher&"
           "sentinel-password-file=%s",
           sentinel->port, path);
    server_stop(sentinel);
    server_stop(node);
}
