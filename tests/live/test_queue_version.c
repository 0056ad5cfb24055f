/*
 * test_queue_version.c -- protocol queue beside another version of itself: a value that begins with
 * "b2:" is foreign everywhere. See "Versions" in docs/wire.md.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OF_ANOTHER "b2:SSSSSSSSSSSSSSSSSSSSSSTTTTTTTTTTTTTTTTTTTTTT"
#define TTL_MS     600000

static char url[200];

static void assert_untouched(void)
{
    assert_string_equal(server_ask(redis, "GET bowline:{x}"), OF_ANOTHER);
    assert_true(strtol(server_ask(redis, "PTTL bowline:{x}"), NULL, 10) > TTL_MS / 2);
}

FIXTURE(empty_server, NULL)

/* The error names the version, the key stays unchanged, and the waiter acquires the lock when the
 * key is gone, although no push arrives. */
TEST(waiter_acquires_after_a_lock_of_another_version)
{
    waiter         w;
    bowline_hold  *never  = NULL;
    bowline_error  error  = { 0 };
    bowline_holder holder = { .size = sizeof holder };

    bowline_client *client = must_open(url);
    (void)server_ask(redis, "SET bowline:{x} " OF_ANOTHER " PX %d", TTL_MS);
    assert_status(BOWLINE_BUSY, acquire_within(&never, client, "x", 0, &error), &error);
    assert_non_null(strstr(error.text, "another version of bowline (b2)"));
    assert_status(BOWLINE_OK, bowline_who(client, "x", &holder, &error), &error);
    assert_true(holder.held && holder.foreign);
    assert_non_null(strstr(holder.note, "(b2)"));
    queue_await_join(redis, &w, client, "x", 1);
    sleep_ms(300); /* a few heartbeats */
    assert_false(atomic_load(&w.ended));
    assert_untouched();
    (void)server_ask(redis, "DEL bowline:{x}");
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    must_release(w.hold);
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

TEST(release_leaves_a_lock_of_another_version_unchanged)
{
    for (int i = 0; i < 2; i++) {
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = must_acquire(client, "x");
        (void)server_ask(redis, "SET bowline:{x} " OF_ANOTHER " PX %d", TTL_MS);
        if (i == 0)
            assert_status(BOWLINE_LOST, bowline_extend(hold, 0, NULL), NULL);
        assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
        bowline_close(client);
        assert_untouched();
        (void)server_ask(redis, "DEL bowline:{x}");
        assert_true(queue_await_no_keys(redis));
    }
}

/* Another version has its own queue. An entry of it in our queue is deleted like any invalid one:
 * it gets no grant and delays no waiter. */
TEST(queue_entry_of_another_version_is_skipped)
{
    static const char *const members[] = {
        OF_ANOTHER " 1.0 bowline:i:2222222222222222222222 2000",
        OF_ANOTHER " 1.0 bowline:i:2222222222222222222222 2000 more",
        "b1:aa 1.0 bowline:i:2222222222222222222222 2000 more",
        "b1:aa 1.0 bowline:i:2222222222222222222222",
    };

    for (size_t i = 0; i < COUNT_OF(members); i++) {
        waiter          w;
        bowline_client *client = must_open(url);
        bowline_hold   *hold   = must_acquire(client, "x");
        int             fd     = server_say(redis, "%s bowline:i:2222222222222222222222",
                            server_has_sharded_channels(redis) ? "SSUBSCRIBE" : "SUBSCRIBE");
        (void)server_ask(redis, "ZADD bowline:{x}:bwl.q 1 '%s'", members[i]);
        queue_await_join(redis, &w, client, "x", 2);
        (void)server_ask(redis, "CONFIG RESETSTAT");
        must_release(hold);
        const char *has_it = server_ask(redis, "GET bowline:{x}"); /* the owner after the release */
        assert_true(strncmp(has_it, members[i], strcspn(members[i], " ")) != 0);
        assert_int_equal(server_command_count(redis, "zpopmin"), 2);
        assert_true(waiter_ends(&w));
        assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
        assert_int_equal(queue_push_count(redis), 1);
        assert_string_equal(server_ask(redis, "EXISTS bowline:{x}:bwl.q"), "0");
        must_release(w.hold);
        (void)close(fd);
        bowline_close(client);
        assert_true(queue_await_no_keys(redis));
    }
}

/* The value must not keep the larger buffer of a string that the script built: see
 * docs/design/bytes.md. */
TEST(lock_uses_as_much_memory_as_a_plain_set)
{
    char held[24];

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "nightly-report-1");
    assert_string_equal(server_ask(redis, "STRLEN bowline:{nightly-report-1}"), "28");
    (void)snprintf(held, sizeof held, "%s",
                   server_ask(redis, "MEMORY USAGE bowline:{nightly-report-1}"));
    must_release(hold);
    (void)server_ask(redis, "SET bowline:{nightly-report-1} b1:sessionettokenettokenette PX 9999");
    assert_string_equal(server_ask(redis, "MEMORY USAGE bowline:{nightly-report-1}"), held);
    (void)server_ask(redis, "DEL bowline:{nightly-report-1}");
    bowline_close(client);
    assert_true(queue_await_no_keys(redis));
}

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=queue", redis->tcp_url);
    return 0;
}

AROUND(open_server, stop_server)
