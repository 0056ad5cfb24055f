/*
 * test_fault_restart.c -- a server that restarts with no data, with all data, without the last
 * writes, or with old data.
 *
 * If the lock is gone, another client may acquire it while the holder is still sure: for at most
 * one lease, and no renewal may create the key. If the lock exists, it is unknown whether all data
 * exists: the holder is LOST first, then another client may acquire the lock.
 */
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <unistd.h>

enum { LEASE_MS = 900 };

static server  *redis;
static witness *judge;
static char     holder_url[200];
static char     rival_url[200];

static void begin(const char *options)
{
    redis = server_start(options);
    judge = witness_new();
    (void)snprintf(holder_url, sizeof holder_url, "%s?lease=%dms", redis->tcp_url, LEASE_MS);
    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=%dms", redis->unix_url, LEASE_MS);
}

static int end(void **state)
{
    server_stop(redis);
    judge_dismiss(judge);
    redis = NULL;
    judge = NULL;
    return 0;
}

/* The server has lost the key at `fault_us`: another client acquires the lock, the holder learns of
 * the loss in time, and deletes nothing. */
static void check_hold_is_lost_without_key(bowline_client *client, bowline_hold *hold,
                                           lock_holder *b, int64_t fault_us)
{
    rival *r = rival_start(judge, rival_url, "x");

    assert_true(rival_await_hold(r));
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_true(rival_await_hold(r)); /* it is not disturbed */
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    rival_stop(r);
    assert_true(server_becomes_empty(redis));
    must_be_free(client, "x");
    bowline_close(client);
}

/* The key exists, but the server is a new process: the holder learns of the loss and releases, and
 * only then another client acquires the lock. The lease is too long to end during the test. */
static void check_hold_is_lost_and_releases(bowline_hold *hold, lock_holder *b)
{
    rival *r = rival_start(judge, rival_url, "x");

    assert_true(holder_await_loss(b));
    (void)holder_stop(b);
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "1");
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    assert_true(server_comes_to(redis, "0", "EXISTS bowline:{x}"));
}

/* ---- the lock is gone ------------------------------------------------------------------------ */

FIXTURE(NULL, end)

TEST(restart_without_data_is_a_loss_within_the_lease)
{
    begin(NULL);
    bowline_client *client   = must_open(holder_url);
    bowline_hold   *hold     = must_acquire(client, "x");
    lock_holder    *b        = holder_start(judge, hold);
    int64_t         fault_us = witness_now_us();
    server_restart(redis);
    check_hold_is_lost_without_key(client, hold, b, fault_us);
}

/* A power failure loses what the kernel had not written yet. */
TEST(restart_from_a_truncated_aof_is_a_loss_within_the_lease)
{
    char file[160];

    begin("--appendonly yes --appendfsync always --aof-load-truncated yes");
    (void)server_ask(redis, "SET before the");
    (void)snprintf(file, sizeof file, "%s/appendonlydir/appendonly.aof.1.incr.aof",
                   redis->directory);
    if (access(file, F_OK) != 0) /* before Redis 7 */
        (void)snprintf(file, sizeof file, "%s/appendonly.aof", redis->directory);
    bowline_client *client   = must_open(holder_url);
    bowline_hold   *hold     = must_acquire(client, "x");
    lock_holder    *b        = holder_start(judge, hold);
    int64_t         fault_us = witness_now_us();
    server_kill(redis);
    assert_int_equal(truncate(file, 0), 0);
    server_start_again(redis);
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "0");
    check_hold_is_lost_without_key(client, hold, b, fault_us);
}

/* A failover to an empty server. */
TEST(replication_of_an_empty_primary_is_a_loss_within_the_lease)
{
    server *empty = server_start("--repl-diskless-sync-delay 0");
    begin(NULL);
    bowline_client *client   = must_open(holder_url);
    bowline_hold   *hold     = must_acquire(client, "x");
    lock_holder    *b        = holder_start(judge, hold);
    int64_t         fault_us = 0;
    (void)server_ask(redis, "REPLICAOF 127.0.0.1 %d", empty->port);
    /* The last renewal may be executed just before the server loads the data of the other. */
    assert_true(server_comes_to(redis, "master_link_status:up", "INFO replication"));
    fault_us = witness_now_us();
    assert_string_equal(server_ask(redis, "REPLICAOF NO ONE"), "OK");
    check_hold_is_lost_without_key(client, hold, b, fault_us);
    server_stop(empty);
}

/* ---- the lock still exists ------------------------------------------------------------------- */

TEST(restart_from_aof_loses_the_hold_before_another_client_acquires)
{
    static const char *const options[] = { "--appendonly yes --appendfsync always",
                                           "--appendonly yes --appendfsync everysec" };
    char                     url[200];

    for (int i = 0; i < 2; i++) {
        begin(options[i]);
        (void)snprintf(url, sizeof url, "%s?lease=10m", redis->tcp_url);
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = must_acquire(client, "x");
        lock_holder    *b      = holder_start(judge, hold);
        /* With everysec the write may stay in the process while the disk is busy. */
        assert_true(server_comes_to(redis, "aof_buffer_length:0", "INFO persistence"));
        server_restart(redis);
        check_hold_is_lost_and_releases(hold, b);
        assert_status(BOWLINE_OK, try_once(client, "x"), NULL);
        bowline_close(client);
        (void)end(state);
    }
}

/* The caller does not release the lock: its key is deleted when the time that the holder was
 * guaranteed is over. */
TEST(key_of_an_unreleased_lost_hold_is_deleted_after_its_guaranteed_time)
{
    bowline_hold *next = NULL;
    bowline_hold *hold = NULL;

    begin("--appendonly yes --appendfsync always");
    bowline_client *client = must_open_url("%s?lease=1h", redis->tcp_url);
    bowline_client *other  = must_open_url("%s?lease=1h", redis->tcp_url);
    assert_status(BOWLINE_OK,
                  bowline_acquire(&hold, client, "x", BOWLINE_ACQUIRE(.lease_ms = 2000), NULL),
                  NULL);
    int64_t      until = clock_ms() + bowline_hold_left_ms(hold);
    lock_holder *b     = holder_start(judge, hold);
    server_restart(redis);
    assert_true(holder_await_loss(b));
    (void)holder_stop(b);
    assert_status(BOWLINE_OK, acquire_within(&next, other, "x", 20000, NULL), NULL);
    assert_true(clock_ms() >= until);
    must_release(next);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(other);
    bowline_close(client);
}

/* An old snapshot restores the key of a released lock: it has no owner, and expires after its old
 * lease. */
TEST(key_from_an_old_snapshot_expires_with_its_lease)
{
    bowline_hold *none = NULL;

    begin("--save '3600 1000'");
    bowline_client *client = must_open(holder_url);
    for (int rounds = 1;; rounds++) {
        bowline_hold *hold = must_acquire(client, "x");
        assert_string_equal(server_ask(redis, "SAVE"), "OK");
        give_back_or_lose(hold); /* may be lost: a busy disk takes longer than the lease */
        server_restart(redis);
        if (strcmp(server_ask(redis, "EXISTS bowline:{x}"), "1") == 0)
            break;
        print_message("# round %d: the old lease ended before the server was up\n", rounds);
        assert_true(rounds < 50);
    }
    rival *r = rival_start(judge, rival_url, "x");
    acquire_in_the_end(&none, client, "x");
    lock_holder *b = holder_start(judge, none);
    sleep_ms(50);
    (void)holder_stop(b);
    give_back_or_lose(none);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    bowline_close(client);
}

/* Restarts the server so that it loads slowly, with the lock at the end of its file. The file
 * begins with a snapshot, and the server answers while it loads that. */
static void restart_with_slow_load(const char *options)
{
    assert_true(server_comes_to(redis, "aof_rewrite_in_progress:0", "INFO persistence"));
    server_kill(redis);
    (void)snprintf(redis->options, sizeof redis->options,
                   "--appendonly yes --appendfsync always %s", options);
    (void)unlink(redis->socket);
    server_start_only(redis);
    assert_true(server_comes_up(redis));
}

/* The server reports its run_id while it loads, so the hold is lost then. The deletion of the key
 * is refused while it loads; after the last attempt the key expires with its lease. False: the load
 * was not observed. */
static bool is_lost_while_loading(bowline_hold *hold)
{
    lock_holder *b = holder_start(judge, hold);

    bool is_learned = holder_await_loss(b);
    bool is_loading = strstr(server_ask(redis, "GET x"), "LOADING") != NULL;
    assert_true(is_learned);
    assert_true(server_comes_to(redis, "PONG", "PING"));
    check_hold_is_lost_and_releases(hold, b);
    return is_loading;
}

TEST(hold_is_lost_while_the_restarted_server_loads)
{
    char url[200];

    for (int rounds = 1;; rounds++) {
        begin("--appendonly yes --appendfsync always");
        const char *options = server_fill_to_load_slowly(redis);
        (void)server_ask(redis, "BGREWRITEAOF");
        assert_true(server_comes_to(redis, "aof_rewrite_in_progress:0", "INFO persistence"));
        (void)snprintf(url, sizeof url, "%s?lease=8s&timeout=500ms", redis->tcp_url);
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = must_acquire(client, "x");
        restart_with_slow_load(options);
        bool seen = is_lost_while_loading(hold);
        bowline_close(client);
        if (seen)
            return;
        print_message("# round %d: loading was not seen\n", rounds);
        assert_true(rounds < 20);
        (void)end(state);
    }
}
