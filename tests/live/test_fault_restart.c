/*
 * test_fault_restart.c -- a server that starts again, and what it still knows then: nothing, all of
 * it, all but the last words, or something old.
 *
 * Where it forgets the lock, another gets in while the holder still believes; that is bounded by
 * the lease, and no renewal may make a key.  Where it remembers, nobody can know that it remembers
 * all: the holder is LOST, then nobody believes, then another gets in.
 */
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
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

/* The server has forgotten the lock since `fault_us`: another gets it, the holder learns of it in
 * time, and takes nothing away. */
static void holder_is_lost(bowline_client *client, bowline_hold *hold, lock_holder *b,
                           int64_t fault_us)
{
    rival *r = rival_start(judge, rival_url, "x");

    assert_true(rival_await_hold(r));
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_true(rival_await_hold(r)); /* it works on, undisturbed */
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    rival_stop(r);
    assert_true(server_becomes_empty(redis));
    must_be_free(client, "x");
    bowline_close(client);
}

/* It remembers the lock, but is another process: the holder learns of it, gives it back, and
 * only then another gets in.  The lease is so long that it explains nothing. */
static void holder_gives_it_back(bowline_hold *hold, lock_holder *b)
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

/* ---- it forgets ------------------------------------------------------------------------------ */

FIXTURE(NULL, end)

TEST(restart_empty_lets_another_in)
{
    begin(NULL);
    bowline_client *client   = must_open(holder_url);
    bowline_hold   *hold     = must_acquire(client, "x");
    lock_holder    *b        = holder_start(judge, hold);
    int64_t         fault_us = witness_now_us();
    server_restart(redis);
    holder_is_lost(client, hold, b, fault_us);
}

/* A power cut takes what the kernel had not written yet. */
TEST(aof_without_its_tail_forgets_the_lock)
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
    holder_is_lost(client, hold, b, fault_us);
}

/* Failover to one that has seen nothing. */
TEST(replica_of_an_empty_master_forgets_the_lock)
{
    server *empty = server_start("--repl-diskless-sync-delay 0");
    begin(NULL);
    bowline_client *client   = must_open(holder_url);
    bowline_hold   *hold     = must_acquire(client, "x");
    lock_holder    *b        = holder_start(judge, hold);
    int64_t         fault_us = 0;
    (void)server_ask(redis, "REPLICAOF 127.0.0.1 %d", empty->port);
    /* The last renewal may be carried out just before it takes the other's data. */
    assert_true(server_comes_to(redis, "master_link_status:up", "INFO replication"));
    fault_us = witness_now_us();
    assert_string_equal(server_ask(redis, "REPLICAOF NO ONE"), "OK");
    holder_is_lost(client, hold, b, fault_us);
    server_stop(empty);
}

/* ---- it remembers ---------------------------------------------------------------------------- */

TEST(restart_from_aof_ends_the_hold)
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
        /* By everysec it may be kept back in the process, while the disk is busy. */
        assert_true(server_comes_to(redis, "aof_buffer_length:0", "INFO persistence"));
        server_restart(redis);
        holder_gives_it_back(hold, b);
        assert_status(BOWLINE_OK, try_once(client, "x"), NULL);
        bowline_close(client);
        (void)end(state);
    }
}

/* Nobody gives the lock back: its key is deleted when the time has passed that the holder knew. */
TEST(lost_hold_that_is_kept_ends_with_what_it_was_told)
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

/* The key comes back from the dead: nobody has it, and it ends with its old lease. */
TEST(old_snapshot_brings_back_a_key_of_nobody)
{
    bowline_hold *none = NULL;

    begin("--save '3600 1000'");
    bowline_client *client = must_open(holder_url);
    for (int rounds = 1;; rounds++) {
        bowline_hold *hold = must_acquire(client, "x");
        assert_string_equal(server_ask(redis, "SAVE"), "OK");
        give_back_or_lose(hold); /* a disk that is busy takes longer than the lease */
        server_restart(redis);
        if (strcmp(server_ask(redis, "EXISTS bowline:{x}"), "1") == 0)
            break;
        print_message("# round %d: the old lease had ended before the server was there\n", rounds);
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

/* A server that loads for a while, with the lock in the last words of its file: what comes before
 * them is a snapshot, while whose loading it answers. */
static void load_slowly(void)
{
    assert_true(server_comes_to(redis, "aof_rewrite_in_progress:0", "INFO persistence"));
    server_kill(redis);
    (void)snprintf(redis->options, sizeof redis->options,
                   "--appendonly yes --appendfsync always --key-load-delay 500 "
                   "--loading-process-events-interval-bytes 1024");
    (void)unlink(redis->socket);
    server_start_only(redis);
    assert_true(server_comes_up(redis));
}

/* Which process it is it says while it loads already: the hold is lost then.  To take the key back
 * is refused for as long as it loads; when that is given up, the key ends with its lease.  False:
 * loading was not to be seen. */
static bool is_lost_while_loading(bowline_hold *hold)
{
    lock_holder *b = holder_start(judge, hold);

    bool learnt  = holder_await_loss(b);
    bool loading = strstr(server_ask(redis, "GET x"), "LOADING") != NULL;
    assert_true(learnt);
    assert_true(server_comes_to(redis, "PONG", "PING"));
    holder_gives_it_back(hold, b);
    return loading;
}

TEST(loading_while_held)
{
    char url[200];

    if (!server_is_new())
        skip(); /* it cannot be told to load slowly */
    for (int rounds = 1;; rounds++) {
        begin("--appendonly yes --appendfsync always");
        (void)server_ask(redis,
                         "EVAL 'for i = 1, 3000 do redis.call(\"SET\", \"k\" .. i, i) end' 0");
        (void)server_ask(redis, "BGREWRITEAOF");
        assert_true(server_comes_to(redis, "aof_rewrite_in_progress:0", "INFO persistence"));
        (void)snprintf(url, sizeof url, "%s?lease=8s&timeout=500ms", redis->tcp_url);
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = must_acquire(client, "x");
        load_slowly();
        bool seen = is_lost_while_loading(hold);
        bowline_close(client);
        if (seen)
            return;
        print_message("# round %d: loading was not seen\n", rounds);
        assert_true(rounds < 20);
        (void)end(state);
    }
}
