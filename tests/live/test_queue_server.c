/*
 * test_queue_server.c -- protocol queue on a server in an unusual state: foreign locks, keys of
 * another type, flushed scripts, a restart without data.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static char url[200];

/* ---- foreign locks --------------------------------------------------------------------------- */

static void check_wait_for_foreign_lock(const char *set, const char *ends)
{
    waiter w;

    bowline_client *client = must_open(url);
    (void)server_ask(redis, "%s", set);
    assert_status(BOWLINE_BUSY, try_once(client, "x"), NULL);
    queue_await_join(redis, &w, client, "x", 1);
    sleep_ms(200); /* a few heartbeats */
    assert_string_equal(server_ask(redis, "GET bowline:{x}"), "of-another");
    assert_false(atomic_load(&w.ended));
    (void)server_ask(redis, "%s", ends);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* A failed test may have left keys. */
static int delete_all_keys(void **state)
{
    (void)server_ask(redis, "CONFIG SET maxmemory 0");
    (void)server_ask(redis, "FLUSHALL");
    return 0;
}

FIXTURE(delete_all_keys, NULL)

TEST(waiter_acquires_after_a_foreign_lock_without_expiry)
{
    check_wait_for_foreign_lock("SET bowline:{x} of-another", "DEL bowline:{x}");
}

TEST(release_leaves_a_foreign_lock_unchanged)
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

/* A list is a foreign value. */
TEST(waiter_acquires_after_a_foreign_list)
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

/* A pattern subscriber must not count as a receiver of a push, or the lock would be granted to a
 * dead waiter. */
TEST(pattern_subscriber_receives_no_push_and_does_not_count)
{
    waiter w;
    char   received[4096] = "";

    if (!server_has_sharded_channels(redis)) {
        print_message("# before 7.0 it receives and counts: see Q7 in docs/faults.md\n");
        return;
    }
    int             fd     = server_say(redis, "PSUBSCRIBE *");
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_hold   *last   = NULL;
    queue_await_join(redis, &w, other, "x", 1);
    (void)server_ask(redis, "ZADD bowline:{x}:bwl.q 1 'b1:gone 1.0 bowline:i:gone 2000'");
    must_release(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    ssize_t got = recv(fd, received, sizeof received - 1, MSG_DONTWAIT);
    assert_true(got > 0);
    assert_non_null(strstr(received, "psubscribe"));
    assert_null(strstr(received, "bowline:i:"));
    assert_status(BOWLINE_OK, acquire_within(&last, other, "x", 0, NULL), NULL);
    must_release(last);
    (void)close(fd);
    bowline_close(other);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* A queue entry that is not a valid member is deleted. */
TEST(invalid_queue_entries_are_deleted)
{
    waiter w;

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    queue_await_join(redis, &w, client, "x", 1);
    const char *const odd[] = { "odd", "'b1:a 1.0 channel 0'", "'b1:a 1.0 channel 99999999999999'",
                                "'of-another 1.0 channel 2000'" };
    for (size_t i = 0; i < COUNT_OF(odd); i++)
        (void)server_ask(redis, "ZADD bowline:{x}:bwl.q 1 %s", odd[i]);
    must_release(hold);
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* ---- flushed scripts ------------------------------------------------------------------------- */

TEST(queue_works_when_scripts_are_flushed)
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

/* ---- restart --------------------------------------------------------------------------------- */

TEST(restart_without_data_is_a_loss_and_fences_rise)
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

TEST(waiters_survive_a_restart_without_data)
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

/* The fence counter is deleted, the connection stays. */
TEST(fences_rise_after_flushall)
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

/* The server has older data: the counter is behind by an hour. */
TEST(fences_rise_after_older_data_was_restored)
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

/* ---- keys of another type -------------------------------------------------------------------- */

TEST(release_is_refused_when_the_queue_has_another_type)
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

/* ---- set-up ---------------------------------------------------------------------------------- */

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=queue&turns=1", redis->tcp_url);
    return 0;
}

AROUND(open_server, stop_server)
