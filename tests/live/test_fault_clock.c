/*
 * test_fault_clock.c -- the clock of the server jumps forward, jumps back, or runs too fast.
 *
 * Redis stores the expiry of a key as a time of its wall clock. A clock that jumps forward ends
 * locks early: another client may acquire the lock while the holder is still sure, until its next
 * renewal. A clock that jumps back only makes waiters wait longer for a dead holder.
 */
#include "tests/lib/clock_shim.h"
#include "tests/lib/judged.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LEASE_MS = 900, WAITERS = 3 };

static witness       *judge;
static clock_setting *setting;
static char           holder_url[200];
static char           rival_url[200];
static char           queue_url[200];

static long long true_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Valkey reads the clock only now and then. */
static bool has_seen(long long offset_ms)
{
    bool has_seen = false;

    for (int64_t last = clock_ms() + 10000; !has_seen && clock_ms() < last; sleep_ms(2)) {
        long long told_s = atoll(server_ask(redis, "TIME"));
        has_seen         = llabs(told_s - (true_us() / 1000000 + offset_ms / 1000)) < 30;
    }
    return has_seen;
}

/* Sets the error of the server's clock, and waits until the server has read it. */
static void set_clock(long long offset_ms, long long too_fast_ppm)
{
    __atomic_store_n(&setting->since_us, true_us(), __ATOMIC_RELEASE);
    __atomic_store_n(&setting->too_fast_ppm, too_fast_ppm, __ATOMIC_RELEASE);
    __atomic_store_n(&setting->offset_us, offset_ms * 1000, __ATOMIC_RELEASE);
    assert_true(has_seen(offset_ms));
}

/* The value of the key, which identifies the owner. */
static void copy_value(char ret_value[64])
{
    (void)snprintf(ret_value, 64, "%s", server_ask(redis, "GET bowline:{x}"));
}

/* After the clock went back, the key of a holder that lost it lives an hour too long and blocks the
 * others: deletes it, unless it is the key of another holder. */
static void remove_left_key(const char *value)
{
    if (strcmp(server_ask(redis, "GET bowline:{x}"), value) == 0)
        (void)server_ask(redis, "DEL bowline:{x}");
}

/* ---- speed ----------------------------------------------------------------------------------- */

static int begin(void **state)
{
    judge = witness_new();
    return 0;
}

static int end(void **state)
{
    judge_dismiss(judge);
    (void)server_ask(redis, "FLUSHALL");
    return 0;
}

FIXTURE(begin, end)

/* The clock is a quarter too fast: a lease of 900 ms ends after 720. */
TEST(hold_is_kept_by_renewal_when_the_server_clock_is_fast)
{
    bowline_client *client = must_open(holder_url);

    for (int rounds = 1;; rounds++) {
        set_clock(0, 250000);
        bowline_hold *hold = must_acquire(client, "x");
        lock_holder  *b    = holder_start(judge, hold);
        rival        *r    = rival_start(judge, rival_url, "x");
        sleep_ms(4 * LEASE_MS);
        bool kept = bowline_hold_left_ms(hold) > 0 && rival_hold_count(r) == 0;
        (void)holder_stop(b);
        int status = bowline_release(hold, NULL);
        assert_true(rival_await_hold(r));
        rival_stop(r);
        if (keeps_in_round(kept, status, rounds))
            break;
    }
    bowline_close(client);
}

/* The clock is twice as fast, without renewal: another client acquires the lock while the holder is
 * sure, which lasts at most one lease. */
TEST(overlap_is_bounded_without_renewal_when_the_server_clock_is_fast)
{
    char url[200];

    (void)snprintf(url, sizeof url, "%s?lease=%dms&renew=off", redis->tcp_url, LEASE_MS);
    bowline_client *client = must_open(url);
    set_clock(0, 1000000);
    bowline_hold *hold        = must_acquire(client, "x");
    int64_t       acquired_us = witness_now_us(); /* at the latest */
    lock_holder  *b           = holder_start(judge, hold);
    rival        *r           = rival_start(judge, rival_url, "x");
    assert_true(rival_await_hold(r));
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, acquired_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    bowline_close(client);
}

/* ---- jumps, with waiters --------------------------------------------------------------------- */

/* Whether all rivals were in the queue at once: only if the hold lasts that long. */
static bool start_queued_rivals(rival *rivals[WAITERS])
{
    bool all = true;

    for (int i = 0; i < WAITERS; i++) {
        rivals[i] = rival_start_queued(judge, queue_url, "x");
        all       = all && queue_await_size(redis, "x", i + 1);
    }
    return all;
}

static void each_is_granted_the_lock(rival *rivals[WAITERS])
{
    for (int i = 0; i < WAITERS; i++)
        assert_true(rival_hold_count(rivals[i]) > 0 || rival_await_hold(rivals[i]));
}

static void stop_rivals(rival *rivals[WAITERS])
{
    for (int i = 0; i < WAITERS; i++)
        rival_stop(rivals[i]);
}

/* False: the hold ended before all rivals were in the queue. */
static bool jump_forward_with_waiters(void)
{
    rival *rivals[WAITERS];

    set_clock(0, 0);
    bowline_client *client = must_open(queue_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    bool            all    = start_queued_rivals(rivals);
    assert_true(all || bowline_hold_left_ms(hold) == 0);
    set_clock(3600000, 0);
    int64_t fault_us = witness_now_us();
    each_is_granted_the_lock(rivals);
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    stop_rivals(rivals);
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    bowline_close(client);
    judge_dismiss(judge);
    judge = witness_new();
    return all;
}

/* The queue expires with the lock: an hour exceeds its TTL of 60 seconds, and all waiters count as
 * dead. They rejoin with their tickets. */
TEST(server_clock_jump_forward_loses_the_hold_and_keeps_the_waiters)
{
    rival *rivals[WAITERS];
    char   url[200];

    for (int rounds = 1; !jump_forward_with_waiters(); rounds++) {
        print_message("# round %d: the machine was too slow\n", rounds);
        assert_true(rounds < 20);
        (void)server_ask(redis, "FLUSHALL");
    }
    /* Afterwards everything works as before. */
    (void)snprintf(url, sizeof url, "%s?protocol=queue", redis->tcp_url);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    assert_true(start_queued_rivals(rivals));
    (void)holder_stop(b);
    must_release(hold);
    each_is_granted_the_lock(rivals);
    stop_rivals(rivals);
    assert_one_at_a_time(judge);
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    bowline_close(client);
}

TEST(server_clock_jump_back_keeps_the_hold_and_the_waiters)
{
    rival *rivals[WAITERS];

    bowline_client *client = must_open(queue_url);
    for (int rounds = 1;; rounds++) {
        char value[64];
        set_clock(0, 0);
        bowline_hold *hold = must_acquire(client, "x");
        lock_holder  *b    = holder_start(judge, hold);
        copy_value(value);
        bool all = start_queued_rivals(rivals);
        set_clock(-3600000, 0);
        sleep_ms(2 * LEASE_MS);
        bool kept = bowline_hold_left_ms(hold) > 0;
        assert_true(all || !kept);
        (void)holder_stop(b);
        int status = bowline_release(hold, NULL);
        remove_left_key(value);
        each_is_granted_the_lock(rivals);
        stop_rivals(rivals);
        if (keeps_in_round(kept, status, rounds))
            break;
    }
    assert_one_at_a_time(judge);
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    bowline_close(client);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    char        path[]    = "/tmp/bowline-clock-XXXXXX";
    int         fd        = mkstemp(path);
    const char *shim      = getenv("BOWLINE_CLOCK_SHIM");
    const char *preload   = getenv("LD_PRELOAD");
    char        kept[400] = "";

    assert_non_null(shim);
    assert_int_equal(access(shim, R_OK), 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof *setting), 0);
    setting = mmap(NULL, sizeof *setting, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(setting != MAP_FAILED);
    (void)close(fd);
    if (preload != NULL)
        (void)snprintf(kept, sizeof kept, "%s", preload);
    assert_int_equal(setenv("LD_PRELOAD", shim, 1), 0);
    assert_int_equal(setenv("BOWLINE_CLOCK_FILE", path, 1), 0);
    redis = server_start(NULL);
    (void)unlink(path); /* the server has mapped it */
    (void)unsetenv("BOWLINE_CLOCK_FILE");
    if (preload != NULL)
        assert_int_equal(setenv("LD_PRELOAD", kept, 1), 0);
    else
        (void)unsetenv("LD_PRELOAD");
    (void)snprintf(holder_url, sizeof holder_url, "%s?lease=%dms", redis->tcp_url, LEASE_MS);
    (void)snprintf(rival_url, sizeof rival_url, "%s?lease=%dms", redis->unix_url, LEASE_MS);
    (void)snprintf(queue_url, sizeof queue_url, "%s?protocol=queue&lease=%dms", redis->tcp_url,
                   LEASE_MS);
    return 0;
}

AROUND(own_server_starts, stop_server)
