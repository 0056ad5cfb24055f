/*
 * test_fault_evict.c -- a server that is short of memory and evicts keys, under each of its
 * policies; the key of a held lock is among them.
 *
 * First the server is slightly above its limit, as in production: volatile-ttl evicts the lock
 * first, the other policies may. If the key survives, the limit drops to 1 byte and all evictable
 * keys go. The holder learns at its next renewal. noeviction evicts nothing, and the hold is kept.
 */
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEASE_MS = 900, OTHERS = 60 };

static server  *redis;
static witness *judge;
static char     holder_url[200];
static char     rival_url[200];

static long used_memory(void)
{
    const char *info = server_ask(redis, "INFO memory");
    const char *at   = strstr(info, "used_memory:");

    assert_non_null(at);
    return atol(at + strlen("used_memory:"));
}

static bool is_there(void)
{
    return strcmp(server_ask(redis, "EXISTS bowline:{x}"), "1") == 0;
}

/* Other keys, which expire in an hour or never. */
static void fill(int from, int count)
{
    (void)server_ask(redis,
                     "EVAL 'for i = 1, ARGV[2] do local k = \"other\" .. (ARGV[1] + i) "
                     "redis.call(\"SET\", k, string.rep(\"x\", 300)) "
                     "if i %% 3 > 0 then redis.call(\"EXPIRE\", k, 3600) end end' 0 %d %d",
                     from, count);
}

/* Lowers the limit slightly, and runs commands until the lock is gone. */
static bool is_evicted_at_low_pressure(void)
{
    (void)server_ask(redis, "CONFIG SET maxmemory %ld", used_memory() - 4096);
    for (int i = 0; i < 60 && is_there(); i++) /* each command evicts first */
        (void)server_ask(redis, "SET another%d xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", i);
    return !is_there();
}

static void evict_everything(void)
{
    (void)server_ask(redis, "CONFIG SET maxmemory 1");
    for (int64_t end = clock_ms() + 10000; is_there() && clock_ms() < end;)
        (void)server_ask(redis, "GET nothing");
    assert_false(is_there());
}

static void evict_the_lock(const char *policy)
{
    bowline_client *client = must_open(holder_url);

    assert_string_equal(server_ask(redis, "CONFIG SET maxmemory-policy %s", policy), "OK");
    fill(0, OTHERS);
    bowline_hold *hold  = must_acquire(client, "x");
    lock_holder  *b     = holder_start(judge, hold);
    bool          early = is_evicted_at_low_pressure();
    if (!early)
        evict_everything();
    /* 64 samples, the maximum of Redis 8, cover all keys here: the lock has the shortest TTL. */
    if (strcmp(policy, "volatile-ttl") == 0)
        assert_true(early);
    print_message("# %s: the lock was evicted %s\n", policy, early ? "early" : "late");
    int64_t fault_us = witness_now_us();
    assert_string_equal(server_ask(redis, "CONFIG SET maxmemory 0"), "OK");
    rival *r = rival_start(judge, rival_url, "x");
    assert_true(rival_await_hold(r));
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(rival_await_hold(r)); /* its lock was not deleted */
    rival_stop(r);
    bowline_close(client);
    (void)server_ask(redis, "FLUSHALL");
}

/* The hold is renewed and released as usual; a new acquire is REFUSED with the error of the
 * server. */
static void keep_the_lock(void)
{
    assert_string_equal(server_ask(redis, "CONFIG SET maxmemory-policy noeviction"), "OK");
    for (int rounds = 1;; rounds++) {
        bowline_client *client = must_open(holder_url);
        bowline_hold   *none   = NULL;
        bowline_error   error  = { 0 };
        fill(0, OTHERS);
        bowline_hold *hold = must_acquire(client, "x");
        lock_holder  *b    = holder_start(judge, hold);
        rival        *r    = rival_start(judge, rival_url, "x");
        (void)server_ask(redis, "CONFIG SET maxmemory 1");
        sleep_ms(2 * LEASE_MS);
        int  refused = acquire_within(&none, client, "y", BOWLINE_NO_WAIT, &error);
        bool kept    = bowline_hold_left_ms(hold) > 0 && rival_hold_count(r) == 0;
        (void)holder_stop(b);
        int status = bowline_release(hold, NULL);
        assert_status(BOWLINE_REFUSED, refused, &error);
        assert_non_null(strstr(error.text, "OOM"));
        (void)server_ask(redis, "CONFIG SET maxmemory 0");
        assert_true(rival_await_hold(r));
        rival_stop(r);
        bowline_close(client);
        (void)server_ask(redis, "FLUSHALL");
        if (keeps_in_round(kept, status, rounds))
            break;
    }
    assert_one_at_a_time(judge);
}

TEST(eviction_is_a_loss_and_noeviction_keeps_the_hold)
{
    static const char *const policies[] = {
        "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
        "allkeys-lru",  "allkeys-lfu",  "allkeys-random",
    };

    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        judge = witness_new();
        evict_the_lock(policies[i]);
        judge_dismiss(judge);
    }
    judge = witness_new();
    keep_the_lock();
    judge_dismiss(judge);
    judge = NULL;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int server_starts(void **state)
{
    redis = server_start("--maxmemory-samples 64");
    (void)snprintf(holder_url, sizeof holder_url, "%s?lease=%dms", redis->tcp_url, LEASE_MS);
    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=%dms", redis->unix_url, LEASE_MS);
    return 0;
}

static int stop_server(void **state)
{
    judge_dismiss(judge);
    server_stop(redis);
    return 0;
}

AROUND(server_starts, stop_server)
