/*
 * test_queue_server.c -- protocol queue on a server in an unusual state: foreign locks, locks and
 * waiters of another version, keys of another type, dead waiters, a full queue, older data.
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/request.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BOUND = 3 };

static char            url[200];
static bowline_client *client; /* of each test */

/* ---- foreign locks --------------------------------------------------------------------------- */

/* A failed test may have left keys. */
static int open_client(void **state)
{
    (void)server_ask(redis, "FLUSHALL");
    client = must_open(url);
    return 0;
}

static int leaves_no_keys(void **state)
{
    bowline_close(client);
    return queue_await_no_keys(redis) ? 0 : -1;
}

FIXTURE(open_client, leaves_no_keys)

/* A list is a foreign value too. */
TEST(waiter_acquires_after_a_foreign_lock_without_expiry)
{
    static const char *const sets[] = { "SET bowline:{x} of-another", "RPUSH bowline:{x} 1" };

    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        waiter w;
        (void)server_ask(redis, "%s", sets[i]);
        char *dump = strdup(server_ask(redis, "DUMP bowline:{x}"));
        assert_non_null(dump);
        assert_status(BOWLINE_BUSY, try_once(client, "x"), NULL);
        queue_await_join(redis, &w, client, "x", 1);
        assert_true(server_comes_to_run(redis, scripts_run(redis) + 3)); /* heartbeats */
        assert_string_equal(server_ask(redis, "DUMP bowline:{x}"), dump);
        assert_false(atomic_load(&w.ended));
        (void)server_ask(redis, "DEL bowline:{x}");
        waiter_must_release(&w);
        free(dump);
        assert_true(queue_await_no_keys(redis));
    }
}

/* A pattern subscriber must not count as a receiver of a push, or the lock would be granted to a
 * dead waiter. */
TEST(pattern_subscriber_receives_no_push_and_does_not_count)
{
    waiter w;
    char   received[4096] = "";

    if (!server_has_sharded_channels(redis)) {
        print_message("# before 7.0 it receives and counts: see Q7 in docs/reference/faults.md\n");
        return;
    }
    int             fd    = server_say(redis, "PSUBSCRIBE *");
    bowline_client *other = must_open(url);
    bowline_hold   *hold  = must_acquire(client, "x");
    queue_await_join(redis, &w, other, "x", 1);
    (void)server_ask(redis, "ZADD bowline:{x}:bwl.q 1 'b1:gone 1.0 bowline:i:gone 2000'");
    must_release(hold);
    waiter_must_release(&w);
    ssize_t got = recv(fd, received, sizeof received - 1, MSG_DONTWAIT);
    assert_true(got > 0);
    assert_non_null(strstr(received, "psubscribe"));
    assert_null(strstr(received, "bowline:i:"));
    must_release(must_acquire(other, "x"));
    (void)close(fd);
    bowline_close(other);
}

/* A queue entry that is not a valid member is deleted. */
TEST(invalid_queue_entries_are_deleted)
{
    waiter w;

    bowline_hold *hold = must_acquire(client, "x");
    queue_await_join(redis, &w, client, "x", 1);
    const char *const odd[] = { "odd", "'b1:a 1.0 channel 0'", "'b1:a 1.0 channel 99999999999999'",
                                "'of-another 1.0 channel 2000'" };
    for (size_t i = 0; i < COUNT_OF(odd); i++)
        (void)server_ask(redis, "ZADD bowline:{x}:bwl.q 1 %s", odd[i]);
    must_release(hold);
    waiter_must_release(&w);
}

/* ---- fences ---------------------------------------------------------------------------------- */

static void fence_rises_after(const char *first, const char *second)
{
    bowline_hold *hold  = must_acquire(client, "x");
    uint64_t      fence = bowline_hold_fence(hold);
    must_release(hold);
    (void)server_ask(redis, "%s", first);
    (void)server_ask(redis, "%s", second);
    hold = must_acquire(client, "x");
    assert_true(bowline_hold_fence(hold) > fence);
    must_release(hold);
}

/* The fence counter is deleted, the connection stays. */
TEST(fences_rise_after_flushall)
{
    fence_rises_after("FLUSHALL", "PING");
}

/* The server has older data: the counter is behind by an hour; it ends connections as a restart. */
TEST(fences_rise_after_older_data_was_restored)
{
    fence_rises_after("DECRBY bowline:f 3600000000", "CLIENT KILL TYPE pubsub");
}

/* ---- keys of another type -------------------------------------------------------------------- */

TEST(release_is_refused_when_the_queue_has_another_type)
{
    bowline_error error = { 0 };

    bowline_hold *hold = must_acquire(client, "x");
    (void)server_ask(redis, "RPUSH bowline:{x}:bwl.q 1");
    assert_status(BOWLINE_REFUSED, bowline_release(hold, &error), &error);
    assert_non_null(strstr(error.text, "bowline:{x}:bwl.q is a list"));
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "1");
    (void)server_ask(redis, "DEL bowline:{x} bowline:{x}:bwl.q");
}

/* ---- another version of itself: see "Versions" in docs/reference/wire.md --------------------- */

#define OF_ANOTHER "b2:SSSSSSSSSSSSSSSSSSSSSSTTTTTTTTTTTTTTTTTTTTTT"
#define TTL_MS     600000

static void assert_untouched(void)
{
    assert_string_equal(server_ask(redis, "GET bowline:{x}"), OF_ANOTHER);
    assert_true(strtol(server_ask(redis, "PTTL bowline:{x}"), NULL, 10) > TTL_MS / 2);
}

/* The error names the version, the key stays unchanged, and the waiter acquires the lock when the
 * key is gone, although no push arrives. */
TEST(waiter_acquires_after_a_lock_of_another_version)
{
    waiter        w;
    bowline_hold *never = NULL;
    bowline_error error = { 0 };

    (void)server_ask(redis, "SET bowline:{x} " OF_ANOTHER " PX %d", TTL_MS);
    assert_status(BOWLINE_BUSY, acquire_within(&never, client, "x", 0, &error), &error);
    assert_non_null(strstr(error.text, "another version of bowline (b2)"));
    bowline_holder holder = must_who(client, "x");
    assert_true(holder.held && holder.foreign);
    assert_non_null(strstr(holder.note, "(b2)"));
    queue_await_join(redis, &w, client, "x", 1);
    assert_true(server_comes_to_run(redis, scripts_run(redis) + 3)); /* heartbeats */
    assert_false(atomic_load(&w.ended));
    assert_untouched();
    (void)server_ask(redis, "DEL bowline:{x}");
    waiter_must_release(&w);
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
        waiter        w;
        bowline_hold *hold = must_acquire(client, "x");
        int           fd   = server_say(redis, "%s bowline:i:2222222222222222222222",
                            server_has_sharded_channels(redis) ? "SSUBSCRIBE" : "SUBSCRIBE");
        (void)server_ask(redis, "ZADD bowline:{x}:bwl.q 1 '%s'", members[i]);
        queue_await_join(redis, &w, client, "x", 2);
        (void)server_ask(redis, "CONFIG RESETSTAT");
        must_release(hold);
        const char *has_it = server_ask(redis, "GET bowline:{x}"); /* the owner after the release */
        assert_true(strncmp(has_it, members[i], strcspn(members[i], " ")) != 0);
        assert_int_equal(server_command_count(redis, "zpopmin"), 3); /* the first one is put back */
        assert_true(waiter_ends(&w));
        assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
        assert_int_equal(queue_push_count(redis), 1);
        assert_string_equal(server_ask(redis, "EXISTS bowline:{x}:bwl.q"), "0");
        must_release(w.hold);
        (void)close(fd);
        assert_true(queue_await_no_keys(redis));
    }
}

/* The value must not keep the larger buffer of a string that the script built: see
 * docs/design/bytes.md. */
TEST(lock_uses_as_much_memory_as_a_plain_set)
{
    char held[24];

    bowline_hold *hold = must_acquire(client, "nightly-report-1");
    assert_string_equal(server_ask(redis, "STRLEN bowline:{nightly-report-1}"), "28");
    (void)snprintf(held, sizeof held, "%s",
                   server_ask(redis, "MEMORY USAGE bowline:{nightly-report-1}"));
    must_release(hold);
    (void)server_ask(redis, "SET bowline:{nightly-report-1} b1:sessionettokenettokenette PX 9999");
    assert_string_equal(server_ask(redis, "MEMORY USAGE bowline:{nightly-report-1}"), held);
    (void)server_ask(redis, "DEL bowline:{nightly-report-1}");
}

/* ---- what people see ------------------------------------------------------------------------- */

/* No KEYS, one SCAN for 250 keys, one script for each held lock. */
TEST(list_costs_one_scan_for_250_keys)
{
    enum { OTHERS = 5000, HELD = 40, SCANS_MAX = (OTHERS + 2 * HELD) / 250 + 1, BYTES_EACH = 200 };
    static bowline_hold *holds[HELD];
    bowline_list        *list   = NULL;
    bowline_holder       holder = { .size = sizeof holder };
    unsigned             all    = 0;
    char                 name[20];

    (void)server_ask(redis, "EVAL 'for i = 1, %d do redis.call(\"SET\", \"o\" .. i, i) end' 0",
                     OTHERS);
    for (unsigned i = 0; i < HELD; i++) {
        (void)snprintf(name, sizeof name, "held %u", i);
        holds[i] = must_acquire(client, name);
    }
    bowline_client *other = must_open(url);
    assert_status(BOWLINE_OK, bowline_ping(other, 0, NULL), NULL);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    assert_status(BOWLINE_OK, bowline_list_start(&list, other, "held *", NULL), NULL);
    while (bowline_list_next(&holder, list, NULL) == 1)
        all++;
    bowline_list_free(list);
    const char *sent = strstr(server_ask(redis, "INFO stats"), "total_net_input_bytes:");
    assert_int_equal(all, HELD);
    assert_int_equal(server_command_count(redis, "keys"), 0);
    assert_in_range(server_command_count(redis, "scan"), OTHERS / 250, SCANS_MAX);
    assert_in_range(server_command_count(redis, "dbsize"), 1, SCANS_MAX);
    assert_int_equal(scripts_run(redis), HELD);
    assert_in_range(atol(sent + 22), 1, (SCANS_MAX + HELD) * BYTES_EACH + 2000); /* a script */
    for (unsigned i = 0; i < HELD; i++)
        must_release(holds[i]);
    (void)server_ask(redis, "EVAL 'for i = 1, %d do redis.call(\"DEL\", \"o\" .. i) end' 0",
                     OTHERS);
    bowline_close(other);
}

/* Up to 32 names are one call; the first time the server does not know the script. */
TEST(free_names_are_acquired_by_one_script)
{
    enum { NAMES = 64, CALLS = 2 };
    static char          texts[NAMES][16];
    static const char   *names[NAMES];
    static bowline_hold *holds[NAMES];

    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "name %u", i);
        names[i] = texts[i];
    }
    for (unsigned round = 0; round < 2; round++) {
        bowline_error error = { 0 };
        (void)server_ask(redis, "CONFIG RESETSTAT");
        int status = bowline_acquire_all(holds, client, names, NAMES, NULL, &error);
        assert_status(BOWLINE_OK, status, &error);
        if (round > 0) {
            assert_int_equal(scripts_run(redis), CALLS);
            assert_int_equal(server_command_count(redis, "set"), NAMES);
        }
        for (unsigned i = 1; i < NAMES; i++)
            assert_int_not_equal(bowline_hold_fence(holds[i]), bowline_hold_fence(holds[i - 1]));
        assert_status(BOWLINE_OK, bowline_release_all(holds, NAMES, &error), &error);
    }
}

/* It is shorter than the wait: if it began with the first name, it would be lost each time. */
TEST(max_hold_of_several_names_begins_when_all_are_held)
{
    static const char *const names[] = { "a", "b" };
    bowline_client          *other   = must_open(url);
    bowline_client          *brief   = must_open_url("%s?lease=300ms", redis->tcp_url);
    bowline_hold            *held    = must_acquire(other, "b");
    bowline_acquire_options  options = BOWLINE_ACQUIRE_INIT;
    bowline_hold            *holds[2];
    request                  all;

    options.wait_ms     = BOWLINE_FOREVER;
    options.max_hold_ms = 50;
    assert_status(BOWLINE_OK, bowline_acquire_all_start(&all.op, brief, names, 2, &options, NULL),
                  NULL);
    request_run(&all);
    assert_true(queue_await_size(redis, "b", 1));
    for (int i = 0; i < 3; i++) /* the renewal thread renews it after a third of the lease */
        assert_true(queue_await_renewal(redis, "a"));
    must_release(held);
    request_join(&all);
    assert_status(BOWLINE_OK, bowline_acquire_all_finish(holds, all.op, NULL), NULL);
    for (int i = 0; i < 2; i++) {
        assert_true(bowline_hold_left_ms(holds[i]) <= 50);
        while (bowline_hold_left_ms(holds[i]) > 0)
            sleep_ms(1);
        assert_status(BOWLINE_LOST, bowline_release(holds[i], NULL), NULL);
    }
    bowline_close(brief);
    bowline_close(other);
}

/* The server has lost what was published, and ends the connections. */
TEST(hold_is_shown_again_after_a_reconnect)
{
    enum { PID = 4711 };
    bowline_holder  holder = { .size = sizeof holder };
    bowline_client *other  = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");

    assert_status(BOWLINE_OK, bowline_hold_set_command(hold, PID, NULL), NULL);
    for (unsigned round = 0; round < 2; round++) {
        for (int64_t end = clock_ms() + 10000; holder.since_ms == 0 && clock_ms() < end;)
            holder = must_who(other, "x");
        assert_int_equal(holder.command_pid, PID);
        assert_int_equal(holder.fence, bowline_hold_fence(hold));
        assert_int_equal(holder.pid, getpid());
        assert_true(holder.since_ms > 0);
        (void)server_ask(redis,
                         "EVAL 'for _, key in ipairs(redis.call(\"KEYS\", \"bowline:who:*\")) "
                         "do redis.call(\"DEL\", key) end' 0");
        holder = must_who(other, "x");
        assert_int_equal(holder.command_pid, 0);
        server_hang_up(redis);
        assert_status(BOWLINE_OK, bowline_ping(other, 10000, NULL), NULL);
    }
    must_release(hold);
    bowline_close(other);
}

/* ---- dead waiters ---------------------------------------------------------------------------- */

static void add_dead_waiters(int count)
{
    (void)server_ask(redis,
                     "EVAL 'for i = 1, %d do redis.call(\"ZADD\", \"bowline:{x}:bwl.q\", i, "
                     "\"b1:dead\" .. i .. \" 1.0 bowline:i:none 2000\") end' 0",
                     count);
}

/* The live waiter behind ten thousand dead ones is granted the lock after the release: each script
 * call skips 64. */
TEST(ten_thousand_dead_waiters_are_skipped)
{
    enum { DEAD = 10000, EACH = 64, OTHER_CALLS = 8 };
    waiter live;

    bowline_client *other = must_open_url("%s&queue-max=0", url);
    bowline_hold   *hold  = must_acquire(client, "x");
    add_dead_waiters(DEAD);
    queue_await_join(redis, &live, other, "x", DEAD + 1);
    long calls_before = server_command_count(redis, "evalsha");
    must_release(hold);
    waiter_must_release(&live);
    assert_in_range(server_command_count(redis, "evalsha") - calls_before, DEAD / EACH,
                    DEAD / EACH + OTHER_CALLS);
    bowline_close(other);
}

/* One script call skips 64 members of the queue. A waiter behind them may be alive. */
TEST(try_does_not_overtake_a_waiter_behind_dead_ones)
{
    enum { EACH = 64 };

    add_dead_waiters(EACH + 1);
    assert_status(BOWLINE_BUSY, try_once(client, "x"), NULL);
    assert_string_equal(server_ask(redis, "ZCARD bowline:{x}:bwl.q"), "1");
    must_release(must_acquire(client, "x"));
}

/* ---- a full queue ---------------------------------------------------------------------------- */

/* A waiter that lost its queue entry rejoins with its ticket, although the queue is full now. */
TEST(earlier_waiter_rejoins_a_full_queue)
{
    waiter w;

    bowline_client *bounded = must_open_url("%s&queue-max=%d", url, BOUND);
    bowline_hold   *hold    = must_acquire(client, "x");
    queue_await_join(redis, &w, bounded, "x", 1);
    (void)server_ask(redis, "DEL bowline:{x}:bwl.q");
    for (int i = 1; i < BOUND + 1; i++) /* usually before its next heartbeat */
        (void)server_ask(
            redis, "ZADD bowline:{x}:bwl.q 9007199254740%d 'b1:v%d n bowline:i:%d 2000'", i, i, i);
    assert_true(queue_await_size(redis, "x", BOUND + 1));
    must_release(hold);
    waiter_must_release(&w);
    bowline_close(bounded);
}

/* The lock is free and the queue is full of dead waiters: the acquire succeeds. */
TEST(acquire_succeeds_when_the_queue_is_full_of_dead_waiters)
{
    bowline_client *bounded = must_open_url("%s&queue-max=%d", url, BOUND);
    for (int i = 0; i < 2 * BOUND; i++)
        (void)server_ask(redis, "ZADD bowline:{x}:bwl.q %d 'b1:v%d n bowline:i:%d 2000'", i + 1, i,
                         i);
    must_release(must_acquire_within(bounded, "x", 5000));
    bowline_close(bounded);
}

/* ---- confirmation of a grant ----------------------------------------------------------------- */

/* A waiter confirms its grant a moment later, unless no thread would do it, or the grant is too
 * short: see docs/design/hand-over-cost.md. */
TEST(grant_is_confirmed_at_once_without_a_renewal_thread)
{
    waiter w;

    bowline_client *second = must_open_without_renewal_thread(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    queue_await_join(redis, &w, second, "x", 1);
    must_release(hold);
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    for (int i = 0; strtol(server_ask(redis, "PTTL bowline:{x}"), NULL, 10) <= 2000; i++) {
        assert_true(i < 1000);
        sleep_ms(10);
    }
    must_release(w.hold);
    bowline_close(second);
}

/* A release that follows a confirmation in another packet is preceded by EXISTS. */
TEST(short_grant_is_confirmed_at_once)
{
    unsigned at_once = 0;

    bowline_client *second = must_open_url("%s&lease=100ms&timeout=100ms", url);
    for (int i = 0; i < 30; i++) {
        waiter        w;
        bowline_hold *hold = must_acquire(client, "x");
        queue_await_join(redis, &w, second, "x", 1);
        (void)server_ask(redis, "CONFIG RESETSTAT");
        must_release(hold);
        if (waiter_join(&w) != BOWLINE_OK) {
            assert_true(came_too_late(w.status, &w.error));
            continue;
        }
        if (bowline_release(w.hold, NULL) != BOWLINE_OK) /* the hold may have ended */
            continue;
        assert_true(server_command_count(redis, "exists") > 0);
        at_once++;
    }
    assert_true(at_once > 0);
    bowline_close(second);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int open_server(void **state)
{
    (void)start_server(state);
    (void)snprintf(url, sizeof url, "%s?protocol=queue&turns=1", redis->tcp_url);
    return 0;
}

AROUND(open_server, stop_server)
