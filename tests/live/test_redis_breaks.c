/*
 * test_redis_breaks.c -- `bowline_break` on a real server: exactly the hold that was shown ends,
 * the next in line has the lock, and what is somebody else's by then, or nobody's of ours, stays.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>

static char url[200];

static bowline_holder seen(bowline_client *client, const char *name)
{
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error  = { 0 };

    assert_status(BOWLINE_OK, bowline_who(client, name, &holder, &error), &error);
    return holder;
}

TEST(hold_is_lost_and_the_next_in_line_has_the_lock)
{
    enum { WAITING = 3 };
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_error   error  = { 0 };
    bowline_client *others[WAITING];
    waiter          waiters[WAITING];
    uint64_t        fence = bowline_hold_fence(hold);

    for (int i = 0; i < WAITING; i++) {
        others[i] = must_open(url);
        queue_await_join(redis, &waiters[i], others[i], "x", i + 1);
    }
    uint64_t id = seen(client, "x").id;
    assert_status(BOWLINE_OK, bowline_break(client, "x", id, &error), &error);
    assert_true(waiter_ends(&waiters[0]));
    assert_true(seen(client, "x").id != id);
    /* The same once more: it is gone, and whose turn it is keeps it. */
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

/* Whatever is no value of this protocol's, to the letter, has no id and stays as it is. */
TEST(strangers_are_not_touched)
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
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    uint64_t        id     = seen(client, "x").id;

    assert_status(BOWLINE_OK, bowline_release(hold, NULL), NULL);
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        (void)server_ask(redis, "%s", made[i]);
        char *dump = strdup(server_ask(redis, "DUMP bowline:{x}"));
        assert_non_null(dump);
        assert_true(seen(client, "x").id == 0);
        assert_status(BOWLINE_BUSY, bowline_break(client, "x", id, NULL), NULL);
        assert_string_equal(server_ask(redis, "DUMP bowline:{x}"), dump);
        free(dump);
        (void)server_ask(redis, "DEL bowline:{x}");
    }
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

/* By compare and delete; those who wait in ways of their own are woken where there is a profile. */
TEST(other_protocols_and_profiles)
{
    static const char *const ways[] = {
        "protocol=token",
        "protocol=setnx-getset&accept-risk=1",
        "protocol=setnx-expire-watch&accept-risk=1",
        "profile=python-redis-lock&accept-risk=1",
    };
    char with[300];

    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        print_message("# %s\n", ways[i]);
        (void)snprintf(with, sizeof with, "%s?%s", url, ways[i]);
        bowline_client *client = must_open(with);
        bowline_hold   *hold   = must_acquire(client, "x");
        bowline_error   error  = { 0 };
        uint64_t        id     = seen(client, "x").id;
        assert_true(id != 0);
        assert_status(BOWLINE_BUSY, bowline_break(client, "x", id + 1, &error), &error);
        assert_int_equal(seen(client, "x").held, 1);
        assert_status(BOWLINE_OK, bowline_break(client, "x", id, &error), &error);
        assert_int_equal(seen(client, "x").held, 0);
        (void)bowline_release(hold, NULL); /* each tells of it in its own way */
        (void)server_ask(redis, "FLUSHALL");
        bowline_close(client);
    }
}

static int start(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s", redis->tcp_url);
    return 0;
}

AROUND(start, stop_server)
