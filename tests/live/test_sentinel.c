/*
 * test_sentinel.c -- a primary that sentinels watch, and locks when another node becomes the
 * primary.
 *
 * Each test has its own service (sentinels.h). A hold is verified at the new primary: it is kept if
 * the key was replicated, and LOST if not.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/judged.h"
#include "tests/lib/sentinels.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

enum { LEASE_MS = 120000, WAITERS = 20, LONG_MS = 120000 };

static service *sentinel_service;
static witness *judge;
static char     url[320];

static int begin(void **state)
{
    server_needed();
    sentinel_service = service_start(2, NULL);
    judge            = witness_new();
    (void)snprintf(url, sizeof url, "%s?lease=%dms&timeout=1s", sentinel_service->url, LEASE_MS);
    return 0;
}

static int end(void **state)
{
    service_stop(sentinel_service);
    judge_dismiss(judge);
    sentinel_service = NULL;
    judge            = NULL;
    return 0;
}

/* Kills the primary, and waits until the replica is the primary. */
static server *kill_primary(void)
{
    server *old = sentinel_service->nodes[0];

    server_kill(old);
    return service_primary(sentinel_service, old);
}

static bool has_lock(server *node, const char *name)
{
    return strcmp(server_ask(node, "EXISTS bowline:{%s}", name), "1") == 0;
}

/* ---- some sentinels are down ----------------------------------------------------------------- */

FIXTURE(begin, end)

TEST(acquire_succeeds_when_one_sentinel_answers)
{
    server_kill(sentinel_service->sentinels[0]);
    server_signal(sentinel_service->sentinels[1], SIGSTOP);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");

    must_release(hold);
    bowline_close(client);
    server_signal(sentinel_service->sentinels[1], SIGCONT);
}

/* ---- failover -------------------------------------------------------------------------------- */

/* The primary is killed after replication: the hold is kept, and excludes others until its
 * release. */
TEST(hold_is_kept_when_its_primary_is_killed)
{
    bowline_hold *second = NULL;

    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    uint64_t        fence  = bowline_hold_fence(hold);

    assert_true(server_comes_to(sentinel_service->nodes[1], "1", "EXISTS bowline:{x}"));
    server *now = kill_primary();
    assert_true(has_lock(now, "x"));
    must_extend_in_failover(hold);
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

/* SENTINEL FAILOVER while all nodes run: the old primary becomes a replica. */
TEST(hold_is_kept_by_a_manual_failover)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    rival          *r      = rival_start_queued(judge, url, "x");

    assert_true(server_comes_to(sentinel_service->nodes[1], "1", "EXISTS bowline:{x}"));
    server *now = service_switch(sentinel_service, sentinel_service->nodes[0]);
    must_extend_in_failover(hold);
    assert_true(has_lock(now, "x"));
    assert_int_equal(rival_hold_count(r), 0);
    (void)holder_stop(b);
    must_release(hold);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
}

/* The key was not replicated to the node that becomes the primary. */
TEST(hold_is_lost_when_it_was_not_replicated)
{
    bowline_client *client = must_open(url);
    must_release(must_acquire(client, "before"));
    server_signal(sentinel_service->nodes[1], SIGSTOP);
    (void)server_ask(sentinel_service->nodes[0],
                     "CLIENT KILL TYPE replica"); /* nothing is in the socket buffers */
    bowline_hold *hold  = must_acquire(client, "x");
    lock_holder  *b     = holder_start(judge, hold);
    uint64_t      fence = bowline_hold_fence(hold);
    int64_t       at_us = witness_now_us();

    server_kill(sentinel_service->nodes[0]);
    server_signal(sentinel_service->nodes[1], SIGCONT);
    server *now = service_primary(sentinel_service, sentinel_service->nodes[0]);
    assert_false(has_lock(now, "x"));
    bowline_client *other  = must_open(url);
    bowline_hold   *second = NULL;
    assert_status(BOWLINE_OK, acquire_within(&second, other, "x", LONG_MS, NULL), NULL);
    assert_true(bowline_hold_fence(second) > fence);
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, at_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(has_lock(now, "x")); /* the release left the key of the next holder */
    must_release(second);
    bowline_close(client);
    bowline_close(other);
}

/* The old primary restarts and becomes a replica; no client uses it. */
TEST(hold_is_kept_when_the_old_primary_returns)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");

    assert_true(server_comes_to(sentinel_service->nodes[1], "1", "EXISTS bowline:{x}"));
    server *now = kill_primary();
    must_extend_in_failover(hold);
    server_start_again(sentinel_service->nodes[0]);
    service_await_replicas(sentinel_service, now);
    must_extend_in_failover(hold);
    must_release(hold);
    bowline_client *fresh = must_open(url); /* a new client finds the new primary */
    bowline_hold   *found = NULL;
    assert_status(BOWLINE_OK, acquire_within(&found, fresh, "x", LONG_MS, NULL), NULL);
    must_release(found);
    bowline_close(fresh);
    bowline_close(client);
}

/* ---- passwords ------------------------------------------------------------------------------- */

FIXTURE(NULL, NULL)

TEST(sentinel_and_primary_have_separate_passwords)
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
