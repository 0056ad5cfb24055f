/*
 * test_fault_restart.c -- a server that restarts with all data: the lock exists, but it is unknown
 * whether nothing was lost.  The holder is LOST first, then another client may acquire the lock.
 *
 * The simulator loses data in restarts.
 */
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <stdio.h>

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

FIXTURE(NULL, end)

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
