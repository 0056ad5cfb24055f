/*
 * test_redis_breaks.c -- `bowline_break` on a real server: it ends exactly the hold that was shown,
 * the next waiter is granted the lock, and any other value stays unchanged.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdlib.h>

static const char *broken_by(bowline_client *client, uint64_t id)
{
    static char   by[BOWLINE_BREAKER_MAX];
    bowline_error error = { 0 };

    assert_status(BOWLINE_OK, bowline_broken_by(client, "x", id, by, &error), &error);
    return by;
}

TEST(break_ends_the_hold_and_grants_to_the_next_waiter)
{
    enum { WAITING = 3 };
    bowline_client *client = must_open(redis->tcp_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_error   error  = { 0 };
    bowline_client *others[WAITING];
    waiter          waiters[WAITING];
    uint64_t        fence = bowline_hold_fence(hold);

    for (int i = 0; i < WAITING; i++) {
        others[i] = must_open(redis->tcp_url);
        queue_await_join(redis, &waiters[i], others[i], "x", i + 1);
    }
    uint64_t id = must_who(client, "x").id;
    assert_status(BOWLINE_OK, bowline_break(client, "x", id, &error), &error);
    assert_true(waiter_ends(&waiters[0]));
    uint64_t next = must_who(client, "x").id;
    assert_true(next != id);
    assert_non_null(strchr(broken_by(client, id), '@'));
    assert_string_equal(broken_by(client, next), "");
    assert_string_equal(broken_by(others[0], id), ""); /* which has never looked */
    /* The same id again: that hold has ended, and the next holder keeps the lock. */
    assert_status(BOWLINE_BUSY, bowline_break(client, "x", id, &error), &error);
    assert_non_null(strstr(error.text, "another client has the lock"));
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, &error), &error);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    for (int i = 0; i < WAITING; i++) {
        assert_true(waiter_ends(&waiters[i]));
        assert_status(BOWLINE_OK, waiter_join(&waiters[i]), &waiters[i].error);
        assert_true(bowline_hold_fence(waiters[i].hold) > fence);
        fence = bowline_hold_fence(waiters[i].hold);
        for (int behind = i + 1; behind < WAITING; behind++)
            assert_false(atomic_load(&waiters[behind].ended));
        must_release(waiters[i].hold);
        bowline_close(others[i]);
    }
    assert_status(BOWLINE_BUSY, bowline_break(client, "x", id, &error), &error);
    assert_non_null(strstr(error.text, "the lock is free"));
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* By another client, or by the one that keeps it. */
TEST(kept_lock_that_is_broken_is_not_handed_out)
{
    for (unsigned is_own = 0; is_own < 2; is_own++) {
        bowline_client *client = must_open_url("%s?sticky=60s", redis->tcp_url);
        bowline_client *other  = must_open(redis->tcp_url);

        must_release(must_acquire(client, "x"));
        assert_status(BOWLINE_BUSY, try_once(other, "x"), NULL);
        uint64_t id = must_who(other, "x").id;
        (void)must_who(client, "x"); /* it has remembered the id, too */
        assert_status(BOWLINE_OK, bowline_break(is_own ? client : other, "x", id, NULL), NULL);
        bowline_hold *hold = must_acquire(other, "x");
        /* The push about the break comes before the reply to what is sent after it. */
        assert_int_equal(must_who(client, "x").held, 1);
        assert_status(BOWLINE_BUSY, try_once(client, "x"), NULL);
        must_release(hold);
        bowline_close(client);
        bowline_close(other);
        (void)server_ask(redis, "FLUSHALL"); /* the note of who broke it */
    }
}

/* A value that is not exactly of this protocol has no id and stays unchanged. */
TEST(break_leaves_foreign_values_unchanged)
{
    static const char *const made[] = {
        "SET bowline:{x} foo",
        "SET bowline:{x} ''",
        "SET bowline:{x} b1:foo",
        "SET bowline:{x} b1:SSSSSSSSSTTTTTTTTTTTTTTTTx",
        "SET bowline:{x} b2:SSSSSSSSSTTTTTTTTTTTTTTTT",
        "RPUSH bowline:{x} b1:SSSSSSSSSTTTTTTTTTTTTTTTT",
        "HSET bowline:{x} b1:SSSSSSSSSTTTTTTTTTTTTTTTT 1",
        "SETBIT bowline:{x} 2000000 1",
    };
    bowline_client *client = must_open(redis->tcp_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        id     = must_who(client, "x").id;

    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        (void)server_ask(redis, "%s", made[i]);
        char *dump = strdup(server_ask(redis, "DUMP bowline:{x}"));
        assert_non_null(dump);
        assert_true(must_who(client, "x").id == 0);
        assert_status(BOWLINE_BUSY, bowline_break(client, "x", id, NULL), NULL);
        assert_string_equal(server_ask(redis, "DUMP bowline:{x}"), dump);
        free(dump);
        (void)server_ask(redis, "DEL bowline:{x}");
    }
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* By compare and delete; with a profile it also wakes the waiters of the other program. */
TEST(break_ends_a_hold_of_each_protocol_and_profile)
{
    static const char *const variants[] = {
        "protocol=token",
        "protocol=setnx-getset&accept-risk=1",
        "protocol=setnx-expire-watch&accept-risk=1",
        "profile=python-redis-lock&accept-risk=1",
    };

    for (size_t i = 0; i < COUNT_OF(variants); i++) {
        print_message("# %s\n", variants[i]);
        bowline_client *client = must_open_url("%s?%s", redis->tcp_url, variants[i]);
        bowline_hold   *hold   = must_acquire(client, "x");
        bowline_error   error  = { 0 };
        uint64_t        id     = must_who(client, "x").id;
        assert_true(id != 0);
        assert_status(BOWLINE_BUSY, bowline_break(client, "x", id + 1, &error), &error);
        assert_int_equal(must_who(client, "x").held, 1);
        assert_status(BOWLINE_OK, bowline_break(client, "x", id, &error), &error);
        assert_int_equal(must_who(client, "x").held, 0);
        (void)bowline_release(hold, NULL); /* the status depends on the protocol */
        (void)server_ask(redis, "FLUSHALL");
        bowline_close(client);
    }
}

AROUND(start_server, stop_server)
