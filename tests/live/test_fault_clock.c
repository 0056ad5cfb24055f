/*
 * test_fault_clock.c -- the clock of the server jumps forward, jumps back, goes too fast.
 *
 * Redis keeps the end of a key as a time of its wall clock.  A clock that is set forward ends locks
 * early: another gets in while the holder believes, until its next renewal.  One that is set back
 * keeps them too long, which harms nobody but those who wait for the dead.
 */
#include "tests/lib/clock_shim.h"
#include "tests/lib/judged.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LEASE_MS = 900, LINE = 3 };

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

/* Valkey looks at the clock once in a while. */
static bool has_seen(long long offset_ms)
{
    bool has_seen = false;

    for (int64_t last = clock_ms() + 10000; !has_seen && clock_ms() < last; sleep_ms(2)) {
        long long told_s = atoll(server_ask(redis, "TIME"));
        has_seen         = llabs(told_s - (true_us() / 1000000 + offset_ms / 1000)) < 30;
    }
    return has_seen;
}

/* By so much, from now on; and the server has seen it. */
static void set_clock(long long offset_ms, long long too_fast_ppm)
{
    __atomic_store_n(&setting->since_us, true_us(), __ATOMIC_RELEASE);
    __atomic_store_n(&setting->too_fast_ppm, too_fast_ppm, __ATOMIC_RELEASE);
    __atomic_store_n(&setting->offset_us, offset_ms * 1000, __ATOMIC_RELEASE);
    assert_true(has_seen(offset_ms));
}

/* What the key holds: whose it is. */
static void copy_value(char ret_value[64])
{
    (void)snprintf(ret_value, 64, "%s", server_ask(redis, "GET bowline:{x}"));
}

/* A key that lives an hour too long, of a holder who has lost it, blocks the others until somebody
 * removes it.  One of another holder is left alone. */
static void remove_what_is_left(const char *value)
{
    if (strcmp(server_ask(redis, "GET bowline:{x}"), value) == 0)
        (void)server_ask(redis, "DEL bowline:{x}");
}

/* ---- pace ------------------------------------------------------------------------------------ */

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

/* A quarter too fast: a lease of 900 ms ends after 720. */
TEST(fast_server_clock_is_outrun_by_renewal)
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

/* Twice as fast, and nobody renews: another gets in while the holder believes, for no longer than
 * its lease. */
TEST(fast_server_clock_without_renewal)
{
    char url[200];

    (void)snprintf(url, sizeof url, "%s?lease=%dms&renew=off", redis->tcp_url, LEASE_MS);
    bowline_client *client = must_open(url);
    set_clock(0, 1000000);
    bowline_hold *hold     = must_acquire(client, "x");
    int64_t       asked_us = witness_now_us(); /* or before */
    lock_holder  *b        = holder_start(judge, hold);
    rival        *r        = rival_start(judge, rival_url, "x");
    assert_true(rival_await_hold(r));
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, asked_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_true(rival_await_hold(r));
    rival_stop(r);
    bowline_close(client);
}

/* ---- jumps, with a line ---------------------------------------------------------------------- */

/* Did they all stand in line at once?  They do if the lock is kept for so long. */
static bool line_up(rival *rivals[LINE])
{
    bool all = true;

    for (int i = 0; i < LINE; i++) {
        rivals[i] = rival_start_queued(judge, queue_url, "x");
        all       = all && queue_await_size(redis, "x", i + 1);
    }
    return all;
}

static void each_gets_a_turn(rival *rivals[LINE])
{
    for (int i = 0; i < LINE; i++)
        assert_true(rival_hold_count(rivals[i]) > 0 || rival_await_hold(rivals[i]));
}

static void line_goes(rival *rivals[LINE])
{
    for (int i = 0; i < LINE; i++)
        rival_stop(rivals[i]);
}

/* False: the holder had lost it before they all stood in line. */
static bool goes_an_hour_forward_with_a_line(void)
{
    rival *rivals[LINE];

    set_clock(0, 0);
    bowline_client *client = must_open(queue_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    bool            all    = line_up(rivals);
    assert_true(all || bowline_hold_left_ms(hold) == 0);
    set_clock(3600000, 0);
    int64_t fault_us = witness_now_us();
    each_gets_a_turn(rivals);
    assert_true(holder_await_loss(b));
    int64_t sure_us = holder_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    line_goes(rivals);
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    bowline_close(client);
    judge_dismiss(judge);
    judge = witness_new();
    return all;
}

/* The line, too, ends with the lock: an hour is more than its 60 seconds, and all in it seem dead.
 * They come back by their tickets. */
TEST(server_clock_an_hour_forward_with_a_line)
{
    rival *rivals[LINE];
    char   url[200];

    for (int rounds = 1; !goes_an_hour_forward_with_a_line(); rounds++) {
        print_message("# round %d: the machine was too slow\n", rounds);
        assert_true(rounds < 20);
        (void)server_ask(redis, "FLUSHALL");
    }
    /* From then on all is as ever. */
    (void)snprintf(url, sizeof url, "%s?protocol=queue", redis->tcp_url);
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    lock_holder    *b      = holder_start(judge, hold);
    assert_true(line_up(rivals));
    (void)holder_stop(b);
    must_release(hold);
    each_gets_a_turn(rivals);
    line_goes(rivals);
    assert_one_at_a_time(judge);
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    bowline_close(client);
}

TEST(server_clock_an_hour_back_with_a_line)
{
    rival *rivals[LINE];

    bowline_client *client = must_open(queue_url);
    for (int rounds = 1;; rounds++) {
        char value[64];
        set_clock(0, 0);
        bowline_hold *hold = must_acquire(client, "x");
        lock_holder  *b    = holder_start(judge, hold);
        copy_value(value);
        bool all = line_up(rivals);
        set_clock(-3600000, 0);
        sleep_ms(2 * LEASE_MS);
        bool kept = bowline_hold_left_ms(hold) > 0;
        assert_true(all || !kept);
        (void)holder_stop(b);
        int status = bowline_release(hold, NULL);
        remove_what_is_left(value);
        each_gets_a_turn(rivals);
        line_goes(rivals);
        if (keeps_in_round(kept, status, rounds))
            break;
    }
    assert_one_at_a_time(judge);
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    bowline_close(client);
}

/* ---- the cases ------------------------------------------------------------------------------- */

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
    (void)unlink(path); /* the server has it in memory */
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
