/*
 * test_renewals_crowd.c -- three thousand holds on one thread, kept for several leases: none is
 * lost but the one whose key is taken away, and that is told before its time would have been over.
 *
 * A machine that let us sleep for a good part of the lease says nothing about that.
 */
#include "tests/lib/judged.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    CROWD    = 3000,
    LEASE_MS = 4000,
    LEASES   = 3,
    WAIT_MS  = 20,
    GAP_MS   = LEASE_MS / 4, /* longer than this between two dispatches: the machine is too slow */
    KILLED   = 1234,
};

static bowline_client *client;
static bowline_hold   *holds[CROWD];
static int64_t         dispatched_at;
static int64_t         longest_gap_ms;

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void dispatch(void)
{
    bowline_error error;

    assert_int_equal(bowline_dispatch(client, WAIT_MS, &error), BOWLINE_OK);
    int64_t gap_ms = now_ms() - dispatched_at;
    longest_gap_ms = gap_ms > longest_gap_ms ? gap_ms : longest_gap_ms;
    dispatched_at  = now_ms();
}

static long long calls_of(const char *command)
{
    const char *answer = server_ask(redis, "INFO commandstats");
    const char *found  = strstr(answer, command);

    assert_non_null(found);
    return strtoll(found + strlen(command), NULL, 10);
}

/* How many are held; the one whose key was taken away is left out. */
static unsigned held(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < CROWD; i++)
        count += i != KILLED && bowline_hold_left_ms(holds[i]) > 0;
    return count;
}

static void assert_all_are_held(void)
{
    unsigned count = held();

    if (count == CROWD - 1)
        return;
    if (longest_gap_ms > GAP_MS) {
        print_message("# %lld ms without us: the machine was too slow\n",
                      (long long)longest_gap_ms);
        skip();
    }
    fail_msg("%u of %u are held; the longest time without a dispatch was %lld ms", count, CROWD - 1,
             (long long)longest_gap_ms);
}

static void acquire_all(void)
{
    static bowline_operation *ops[CROWD];
    char                      name[24];
    bowline_error             error = { 0 };

    for (unsigned i = 0; i < CROWD; i++) {
        (void)snprintf(name, sizeof name, "crowd-%u", i);
        assert_status(BOWLINE_OK, bowline_acquire_start(&ops[i], client, name, NULL, &error),
                      &error);
    }
    for (unsigned i = 0; i < CROWD; i++)
        assert_status(BOWLINE_OK, bowline_acquire_finish(&holds[i], ops[i], &error), &error);
}

static void test_crowd_is_kept_by_one_thread(void **state)
{
    char url[200];

    (void)snprintf(url, sizeof url, "%s?lease=%dms", redis->tcp_url, (int)LEASE_MS);
    client = must_open_without_keeper(url);
    acquire_all();
    dispatched_at = now_ms() + LEASE_MS / 2;
    sleep_ms(LEASE_MS / 2); /* from now on all of them are due at about the same time          */
    (void)server_ask(redis, "CONFIG RESETSTAT");
    int64_t end = now_ms() + (int64_t)LEASES * LEASE_MS;
    while (now_ms() < end) {
        dispatch();
        assert_all_are_held();
    }
    assert_true(bowline_hold_left_ms(holds[KILLED]) > 0);
    assert_true(calls_of("cmdstat_pexpire:calls=") > LEASES * CROWD);
    assert_true(calls_of("cmdstat_evalsha:calls=") < LEASES * CROWD / 10);

    int64_t over_at = now_ms() + bowline_hold_left_ms(holds[KILLED]);
    (void)server_ask(redis, "DEL bowline:{crowd-%d}", (int)KILLED);
    while (bowline_hold_left_ms(holds[KILLED]) > 0)
        dispatch();
    assert_true(now_ms() < over_at);
    assert_all_are_held();

    end = now_ms() + LEASE_MS;
    while (now_ms() < end)
        dispatch();
    assert_all_are_held();
    for (unsigned i = 0; i < CROWD; i++)
        (void)bowline_release(holds[i], NULL);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crowd_is_kept_by_one_thread),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
