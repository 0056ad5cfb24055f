/*
 * test_queue_server.c -- protocol queue on a server that is not as it should be: strangers have the
 * lock, keys are something else, scripts are forgotten, memory is full, rights are missing, it was
 * started again with nothing in it.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static char url[200];

/* ---- strangers ------------------------------------------------------------------------------- */

static void wait_for_a_stranger(const char *set, const char *ends)
{
    waiter w;

    bowline_client *client = must_open(url);
    (void)server_ask(redis, "%s", set);
    assert_status(BOWLINE_BUSY, try_once(client, "x"), NULL);
    queue_await_join(redis, &w, client, "x", 1);
    sleep_ms(200); /* some beats */
    assert_string_equal(server_ask(redis, "GET bowline:{x}"), "of-another");
    assert_false(atomic_load(&w.ended));
    (void)server_ask(redis, "%s", ends);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* One that failed has left something. */
static int begin_anew(void **state)
{
    (void)server_ask(redis, "CONFIG SET maxmemory 0");
    (void)server_ask(redis, "FLUSHALL");
    return 0;
}

FIXTURE(begin_anew, NULL)

TEST(stranger_without_an_end_is_waited_for)
{
    wait_for_a_stranger("SET bowline:{x} of-another", "DEL bowline:{x}");
}

TEST(stranger_who_comes_instead_of_us_is_not_touched)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    (void)server_ask(redis, "SET bowline:{x} of-another");
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    assert_string_equal(server_ask(redis, "GET bowline:{x}"), "of-another");
    (void)server_ask(redis, "DEL bowline:{x}");
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* A list is no value of ours. */
TEST(lock_that_is_no_string_is_a_strangers)
{
    waiter w;

    bowline_client *client = must_open(url);
    (void)server_ask(redis, "RPUSH bowline:{x} 1");
    assert_status(BOWLINE_BUSY, try_once(client, "x"), NULL);
    queue_await_join(redis, &w, client, "x", 1);
    assert_string_equal(server_ask(redis, "LLEN bowline:{x}"), "1");
    (void)server_ask(redis, "DEL bowline:{x}");
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* Who listens to everything is no receiver, and hears nothing: else a waiter that has gone would
 * seem to be there, and the lock be given to nobody. */
TEST(who_listens_to_everything_neither_counts_nor_hears)
{
    waiter w;
    char   heard[4096] = "";

    if (!server_has_sharded_channels(redis)) {
        print_message("# before 7.0 he does both: see Q7 in docs/faults.md\n");
        return;
    }
    int             fd      = server_say(redis, "PSUBSCRIBE *");
    bowline_client *client  = must_open(url);
    bowline_client *other   = must_open(url);
    bowline_hold   *hold    = must_acquire(client, "x");
    bowline_hold   *nobodys = NULL;
    queue_await_join(redis, &w, other, "x", 1);
    (void)server_ask(redis, "ZADD bowline:{x}:bwl.q 1 'b1:gone 1.0 bowline:i:gone 2000'");
    must_release(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    ssize_t got = recv(fd, heard, sizeof heard - 1, MSG_DONTWAIT);
    assert_true(got > 0);
    assert_non_null(strstr(heard, "psubscribe"));
    assert_null(strstr(heard, "bowline:i:"));
    assert_status(BOWLINE_OK, acquire_within(&nobodys, other, "x", 0, NULL), NULL);
    must_release(nobodys);
    (void)close(fd);
    bowline_close(other);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* What stands in the queue and is no member is dropped. */
TEST(what_is_no_member_of_the_queue_is_dropped)
{
    waiter w;

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    queue_await_join(redis, &w, client, "x", 1);
    const char *const odd[] = { "odd", "'b1:a 1.0 inbox 0'", "'b1:a 1.0 inbox 99999999999999'",
                                "'of-another 1.0 inbox 2000'" };
    for (size_t i = 0; i < COUNT_OF(odd); i++)
        (void)server_ask(redis, "ZADD bowline:{x}:bwl.q 1 %s", odd[i]);
    must_release(hold);
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- scripts that are forgotten -------------------------------------------------------------- */

TEST(scripts_may_be_forgotten_at_any_time)
{
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    for (int i = 0; i < 20; i++) {
        waiter        w;
        bowline_hold *hold = must_acquire(client, "x");
        (void)server_ask(redis, "SCRIPT FLUSH");
        queue_await_join(redis, &w, other, "x", 1);
        (void)server_ask(redis, "SCRIPT FLUSH");
        must_release(hold);
        assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
        (void)server_ask(redis, "SCRIPT FLUSH");
        assert_status(BOWLINE_OK, bowline_extend(w.hold, 0, NULL), NULL);
        (void)server_ask(redis, "SCRIPT FLUSH");
        must_release(w.hold);
        (void)server_ask(redis, "SCRIPT FLUSH");
    }
    bowline_close(other);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- started again --------------------------------------------------------------------------- */

TEST(restart_with_nothing_is_a_loss_and_fences_go_on_rising)
{
    uint64_t fence = 0;

    bowline_client *client = must_open(url);
    for (int i = 0; i < 3; i++) {
        bowline_hold *hold = must_acquire(client, "x");
        assert_true(bowline_hold_fence(hold) > fence);
        fence = bowline_hold_fence(hold);
        server_kill(redis);
        server_start_again(redis);
        for (int64_t end = clock_ms() + 10000; bowline_hold_left_ms(hold) > 0; sleep_ms(2))
            assert_true(clock_ms() < end);
        assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    }
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

TEST(who_waits_outlasts_a_restart_with_nothing)
{
    waiter waiters[3];

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    for (int i = 0; i < 3; i++)
        queue_await_join(redis, &waiters[i], client, "x", i + 1);
    server_kill(redis);
    server_start_again(redis);
    for (int left = 3; left > 0;) {
        for (int i = 0; i < 3; i++) {
            if (waiters[i].client == NULL || !atomic_load(&waiters[i].ended))
                continue;
            assert_status(BOWLINE_OK, waiter_join(&waiters[i]), &waiters[i].error);
            must_release(waiters[i].hold);
            waiters[i].client = NULL;
            left--;
        }
        sleep_ms(1);
    }
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* The count of fences is gone, the connection is not. */
TEST(fences_rise_after_everything_was_deleted)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    must_release(hold);
    (void)server_ask(redis, "FLUSHALL");
    hold = must_acquire(client, "x");
    assert_true(bowline_hold_fence(hold) > fence);
    must_release(hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* An older state of the data is there: the count was set back by an hour. */
TEST(fences_rise_after_an_older_state_has_come_back)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        fence  = bowline_hold_fence(hold);
    must_release(hold);
    (void)server_ask(redis, "DECRBY bowline:f 3600000000");
    (void)server_ask(redis, "CLIENT KILL TYPE pubsub"); /* as a restart does */
    hold = must_acquire(client, "x");
    assert_true(bowline_hold_fence(hold) > fence);
    must_release(hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- keys that are something else ------------------------------------------------------------ */

TEST(queue_of_a_wrong_type_keeps_the_lock_to_its_end)
{
    bowline_error error = { 0 };

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    (void)server_ask(redis, "RPUSH bowline:{x}:bwl.q 1");
    assert_status(BOWLINE_REFUSED, bowline_release(hold, &error), &error);
    assert_non_null(strstr(error.text, "bowline:{x}:bwl.q is a list"));
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "1");
    (void)server_ask(redis, "DEL bowline:{x} bowline:{x}:bwl.q");
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- rights ---------------------------------------------------------------------------------- */

#define KEYS_AND_ALL "~bowline:* resetchannels +@all"

/* As docs/wire.md has it. */
#define ENOUGH                                                                               \
    "~bowline:* resetchannels &bowline:i:* -@all +hello +eval +evalsha "                     \
    "+get +set +del +exists +type +incr +time +persist +pexpire +pttl +zadd +zrem +zpopmin " \
    "+zscore +zrank +zcard +hget +hset +hdel"

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=queue&turns=1", redis->tcp_url);
    return 0;
}

AROUND(open_server, stop_server)
