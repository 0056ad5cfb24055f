/*
 * test_redis_reconnect.c -- what becomes of the locks that are held when the connection, or the
 * server, is another one than before.
 *
 * A server that keeps its data on the disk is killed and started again: the key of a lock is there,
 * and proves nothing, as nobody knows what was in between.  Leases here are so long that no renewal
 * comes: whatever a hold learns, it learns from the reconnect.
 */
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bowline_client *client_with(const char *options)
{
    char url[300];

    (void)snprintf(url, sizeof url, "%s?lease=1h%s", redis->tcp_url, options);
    return must_open(url);
}

static void kill_connections(void)
{
    server_hang_up(redis);
}

/* Within ten seconds, of a lease of an hour. */
static bool comes_to_be_lost(bowline_hold *hold)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(2))
        if (bowline_hold_left_ms(hold) == 0)
            return true;
    return false;
}

/* How often a command was carried out, of all connections; statistics are reset before. */
static long count_of(const char *command)
{
    char        mark[64];
    const char *info = server_ask(redis, "INFO commandstats");

    (void)snprintf(mark, sizeof mark, "cmdstat_%s:calls=", command);
    const char *at = strstr(info, mark);
    return at != NULL ? strtol(at + strlen(mark), NULL, 10) : 0;
}

static bool comes_to_count(const char *command, long count)
{
    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(2))
        if (count_of(command) >= count)
            return true;
    return false;
}

/* ---- the same server ------------------------------------------------------------------------- */

/* Nobody is inside a call: the keeper sees it. */
static void test_broken_connection_is_followed_and_the_lock_asked_for(void **state)
{
    bowline_client *client = client_with("");
    bowline_hold   *hold   = must_acquire(client, "x");
    for (int i = 0; i < 5; i++) {
        (void)server_ask(redis, "CONFIG RESETSTAT");
        kill_connections();
        assert_true(comes_to_count("evalsha", 1));
        assert_int_equal(count_of("hello"), 1);
        assert_true(bowline_hold_left_ms(hold) > 3000000);
    }
    must_release(hold);
    bowline_close(client);
}

/* ---- another process ------------------------------------------------------------------------- */

/* Nobody gives it back: then it is taken back when the time is over that he was told of. */
static void test_lost_hold_that_is_kept_ends_with_what_it_was_told(void **state)
{
    bowline_client *client = client_with("");
    bowline_client *other  = client_with("");
    bowline_hold   *never  = NULL;
    bowline_hold   *hold   = NULL;
    assert_status(BOWLINE_OK,
                  bowline_acquire(&hold, client, "x", BOWLINE_ACQUIRE(.lease_ms = 2000), NULL),
                  NULL);
    int64_t told = clock_ms() + bowline_hold_left_ms(hold);
    assert_true(told > clock_ms());
    server_restart(redis);
    assert_true(comes_to_be_lost(hold));
    assert_status(BOWLINE_OK, acquire_within(&never, other, "x", 20000, NULL), NULL);
    assert_true(clock_ms() >= told);
    must_release(never);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(other);
    bowline_close(client);
}

/* The keys are there: the test would prove nothing if they were not. */
static void test_server_keeps_its_data(void **state)
{
    (void)server_ask(redis, "SET bowline:{k} v PX 3600000");
    server_restart(redis);
    assert_string_equal(server_ask(redis, "GET bowline:{k}"), "v");
    (void)server_ask(redis, "DEL bowline:{k}");
}

/* Who waited before the restart gets it after it, from whoever lost it. */
static void test_waiter_outlasts_a_restart_with_data(void **state)
{
    bowline_client *client = client_with("");
    bowline_client *other  = client_with("");
    bowline_hold   *hold   = must_acquire(other, "x");
    waiter          w;
    waiter_start(&w, client, "x", 30000);
    sleep_ms(50);
    server_restart(redis);
    assert_true(comes_to_be_lost(hold));
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL); /* which gives it back */
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    bowline_close(other);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void test_own_server_starts(void **state)
{
    redis = server_start("--appendonly yes --appendfsync always");
}

#define CASE(test) cmocka_unit_test_teardown(test, nothing_is_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_server_starts),
        CASE(test_server_keeps_its_data),
        CASE(test_broken_connection_is_followed_and_the_lock_asked_for),
        CASE(test_lost_hold_that_is_kept_ends_with_what_it_was_told),
        CASE(test_waiter_outlasts_a_restart_with_data),
    };

    return cmocka_run_group_tests_name("redis_reconnect", tests, NULL, stop_server);
}
