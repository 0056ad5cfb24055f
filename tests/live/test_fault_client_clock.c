/*
 * test_fault_client_clock.c -- clocks that are wrong on the machine of the holder: a wall clock
 * that must not become a timestamp; CLOCK_BOOTTIME, which a suspend advances; and a clock that goes
 * back, which must not extend a lease.  The simulator has such clocks at any moment of a hold.
 *
 * This program defines clock_gettime, which replaces that of the C library.
 */
#include "tests/lib/testing.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_llong wall_ms; /* how far each clock is off */
static atomic_llong boot_ms;

/* ---- the clocks ------------------------------------------------------------------------------ */

int clock_gettime(clockid_t clock, struct timespec *t)
{
    bool      is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    long long ms      = is_wall ? atomic_load(&wall_ms) : 0;
    int       status  = (int)syscall(SYS_clock_gettime, clock, t);

    if (clock == CLOCK_BOOTTIME)
        ms = atomic_load(&boot_ms);
    long long ns = (long long)t->tv_nsec + ms % 1000 * 1000000;
    t->tv_sec += (time_t)(ms / 1000);
    if (ns < 0) {
        ns += 1000000000;
        t->tv_sec--;
    } else if (ns >= 1000000000) {
        ns -= 1000000000;
        t->tv_sec++;
    }
    t->tv_nsec = (long)ns;
    return status;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec at;

    int status = clock_gettime(CLOCK_REALTIME, &at);
    *t         = (struct timeval){ .tv_sec = at.tv_sec, .tv_usec = at.tv_nsec / 1000 };
    return status;
}

time_t time(time_t *ret_time)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_REALTIME, &at);
    if (ret_time != NULL)
        *ret_time = at.tv_sec;
    return at.tv_sec;
}

/* ---- the wall clock -------------------------------------------------------------------------- */

FIXTURE(NULL, nothing_is_left)

/* Other clients would take over a timestamp of 1970 at once, or never. */
TEST(implausible_wall_clock_writes_no_timestamp)
{
    static const long long years[] = { 0, 30, 131, 200 };
    char                   url[200];
    struct timespec        now;

    (void)snprintf(url, sizeof url, "%s?protocol=setnx-getset&accept-risk=1&key=%%25s",
                   redis->tcp_url);
    (void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    for (size_t i = 0; i < COUNT_OF(years); i++) {
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = NULL;
        bowline_error   error  = { 0 };
        atomic_store(&wall_ms, (years[i] * 365 * 86400 - now.tv_sec) * 1000);
        assert_status(BOWLINE_UNREACHABLE,
                      acquire_within(&hold, client, "x", BOWLINE_NO_WAIT, &error), &error);
        assert_non_null(strstr(error.text, "the time of day on this machine is before 2001"));
        assert_true(server_becomes_empty(redis));
        atomic_store(&wall_ms, 0); /* the counter-check */
        must_release(must_acquire(client, "x"));
        bowline_close(client);
    }
}

/* ---- suspend --------------------------------------------------------------------------------- */

/* CLOCK_BOOTTIME jumps forward by an hour. The server was not suspended, so it still has the key;
 * the client deletes it. */
TEST(hold_ends_after_a_suspend)
{
    bowline_client *client = must_open_url("%s?lease=20s", redis->tcp_url);
    bowline_hold   *hold   = must_acquire(client, "x");

    assert_true(bowline_hold_left_ms(hold) > 0);
    atomic_fetch_add(&boot_ms, 3600000);
    assert_int_equal(bowline_hold_left_ms(hold), 0); /* at once, without a reply */
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(client);
    assert_true(server_becomes_empty(redis)); /* the release deleted the key */
}

/* ---- a clock that goes back ------------------------------------------------------------------ */

TEST(clock_that_goes_back_does_not_extend_the_lease)
{
    bowline_client *client = must_open_url("%s?lease=20s&renew=off", redis->tcp_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    int64_t         before = bowline_hold_left_ms(hold);

    atomic_fetch_add(&boot_ms, -15000);
    assert_true(bowline_hold_left_ms(hold) <= before);
    atomic_fetch_add(&boot_ms, 15000);
    assert_true(bowline_hold_left_ms(hold) <= before);
    must_release(hold);
    bowline_close(client);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int own_server_starts(void **state)
{
    redis = server_start(NULL);
    return 0;
}

AROUND(own_server_starts, stop_server)
