/*
 * test_queue_faults.c -- protocol queue on a server that is disturbed while there is a line: its
 * data is deleted, writes are held back for longer than a claim, a connection is cut off with the
 * grant inside, somebody listens to everything.
 *
 * The judge is the witness.  What a fault does to those who wait: no harm, and no harm to those
 * behind them.
 */
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/scripts.h"
#include "tests/lib/judged.h"
#include "tests/lib/line.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LEASE_MS = 900, LINE = 3 };

#define KEY   "bowline:{x}"
#define VALUE "b1:SSSSSSSSSTTTTTTTTTTTTTTTT"

static witness *judge;
static char     url[200];
static char     short_url[220];

static void each_gets_a_turn(rival *rivals[LINE])
{
    for (int i = 0; i < LINE; i++)
        assert_true(rival_gets_a_turn(rivals[i]));
}

/* Did they all stand in line at once?  They do if the lock is kept for so long. */
static bool line_up(rival *rivals[LINE])
{
    bool all = true;

    for (int i = 0; i < LINE; i++) {
        rivals[i] = rival_start_in_line(judge, short_url, "x");
        all       = all && line_comes_to(redis, "x", i + 1);
    }
    return all;
}

static void line_goes(rival *rivals[LINE])
{
    for (int i = 0; i < LINE; i++)
        rival_stop(rivals[i]);
}

/* False: the holder had lost it before they all stood in line. */
static bool all_is_deleted_under_a_line(void)
{
    rival *rivals[LINE];

    bowline_client *client = must_open(short_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    believer       *b      = believer_start(judge, hold);
    bool            all    = line_up(rivals);
    assert_true(all || bowline_hold_left_ms(hold) == 0);
    int64_t fault_us = witness_now_us();
    assert_string_equal(server_ask(redis, "FLUSHALL"), "OK");
    each_gets_a_turn(rivals);
    assert_true(believer_learns(b));
    int64_t sure_us = believer_stop(b);
    assert_bounded(sure_us, fault_us, LEASE_MS);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
    each_gets_a_turn(rivals);
    line_goes(rivals);
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
    return all;
}

/* Everything is gone, and every connection is there still: nobody is told. */
static void test_flushall_under_a_line(void **state)
{
    for (int rounds = 1; !all_is_deleted_under_a_line(); rounds++) {
        print_message("# round %d: the machine was too slow\n", rounds);
        assert_true(rounds < 20);
        judge_dismiss(judge); /* the fences begin anew */
        judge = witness_new();
    }
}

/* A release, a claim and its confirmation may each be what is held back. */
static void test_writes_held_back_for_longer_than_a_claim(void **state)
{
    rival *rivals[LINE];

    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "x");
    assert_true(line_up(rivals));
    must_release(hold);
    for (int i = 0; i < 6; i++) {
        sleep_ms(7 * i);
        assert_string_equal(server_ask(redis, "CLIENT PAUSE %d WRITE", LEASE_MS + 200), "OK");
        sleep_ms(LEASE_MS + 250);
        each_gets_a_turn(rivals);
    }
    line_goes(rivals);
    assert_one_at_a_time(judge);
    assert_int_equal(witness_judge(judge).fences_backward, 0);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* As the holder releases it; but before that, in the same step, the inbox is told more than may be
 * waiting for a client (the first 16 KiB do not count), and more than a greeting is answered: who
 * comes back while that is so stays. */
static void release_behind_a_flood(const char *inbox)
{
    static wire line;
    static char script[8192];
    const char *say = line_has_shards(redis) ? "SPUBLISH" : "PUBLISH";

    (void)snprintf(script, sizeof script, "redis.call('%s', '%s', string.rep('.', 262144))\n%s",
                   say, inbox, bwl_scripts[BWL_SCRIPT_QUEUE_RELEASE].text);
    const char *const words[] = {
        "EVAL", script, "4", KEY, KEY ":bwl.q", KEY ":bwl.b", BWL_QUEUE_FENCES_KEY, VALUE, say,
    };
    assert_string_equal(
        server_ask(redis, "CONFIG SET client-output-buffer-limit 'pubsub 131072 0 0'"), "OK");
    wire_open(&line, redis->socket);
    bwl_resp_write_array(&line.out, sizeof words / sizeof words[0]);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        bwl_resp_write_text(&line.out, words[i]);
    wire_flush(&line);
    assert_memory_equal(wire_next(&line).bytes, ":1\r\n", 4); /* it was ours, and is another's */
    wire_close(&line);
    assert_string_equal(server_ask(redis, "CONFIG SET client-output-buffer-limit 'pubsub 0 0 0'"),
                        "OK");
}

/* False: the first in line had not connected again before its claim was over, which is another
 * story. */
static bool finds_what_was_never_sent(void)
{
    waiter w[2];
    char   inbox[40] = "";

    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(url);
    (void)server_ask(redis, "SET " KEY " " VALUE " PX 600000");
    line_join(redis, &w[0], client, "x", 1);
    line_join(redis, &w[1], other, "x", 2);
    const char *at = strstr(server_ask(redis, "ZRANGE " KEY ":bwl.q 0 0"), "bowline:i:");
    assert_non_null(at);
    (void)snprintf(inbox, sizeof inbox, "%.32s", at);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    release_behind_a_flood(inbox);
    while (!atomic_load(&w[0].ended) && !atomic_load(&w[1].ended))
        sleep_ms(1);
    bool is_in_time = line_count(redis, "zpopmin") == 1;
    int  first      = atomic_load(&w[0].ended) ? 0 : 1;
    if (is_in_time) { /* it has asked on its next connection */
        assert_int_equal(first, 0);
        assert_int_equal(line_count(redis, "hello"), 1);
        assert_true(bowline_hold_left_ms(w[0].hold) > 0);
    }
    for (int i = 0; i < 2; i++) {
        waiter *next = &w[i == 0 ? first : 1 - first];
        assert_status(BOWLINE_OK, waiter_join(next), &next->error);
        must_release(next->hold);
    }
    bowline_close(other);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
    return is_in_time;
}

/* The server ends a connection that has too much to be told: the grant was written to it, counts as
 * heard, and is never sent. */
static void test_connection_that_is_cut_off_with_the_grant_inside(void **state)
{
    for (int rounds = 1; !finds_what_was_never_sent(); rounds++) {
        print_message("# round %d: the machine was too slow\n", rounds);
        assert_true(rounds < 20);
    }
}

/* Before 7.0 who listens to everything hears the grants and counts as a receiver.  A waiter that
 * has gone, but for its place, then costs a claim. */
static void test_who_listens_to_everything_costs_a_claim_at_most(void **state)
{
    waiter w;

    int             fd     = server_say(redis, "PSUBSCRIBE *");
    bowline_client *client = must_open(url);
    bowline_client *other  = must_open(short_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    line_join(redis, &w, other, "x", 1);
    (void)server_ask(redis, "ZADD " KEY ":bwl.q 1 'b1:gone 1.0 bowline:i:gone %d'", LEASE_MS);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    must_release(hold);
    assert_true(waiter_ends(&w));
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    assert_int_equal(line_count(redis, "zpopmin"), 2);
    must_release(w.hold);
    (void)close(fd);
    bowline_close(other);
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

/* A right that is needed only where somebody has to wait is missed only then. */
static void test_user_who_may_not_join_the_line_is_refused_alone(void **state)
{
    static const char *const missing[] = { "zadd", "zcard" };
    char                     text[200];

    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        bowline_hold *never = NULL;
        bowline_error error = { 0 };
        waiter        w;
        (void)server_ask(redis, "ACL SETUSER ann reset on >pw ~* &* +@all -%s", missing[i]);
        (void)snprintf(text, sizeof text, "redis://ann:pw@127.0.0.1:%d?protocol=queue",
                       redis->port);
        bowline_client *client = must_open(url);
        bowline_client *ann    = must_open(text);
        must_release(must_acquire(ann, "x"));
        bowline_hold *hold = must_acquire(client, "x");
        assert_status(BOWLINE_REFUSED, acquire_within(&never, ann, "x", 5000, &error), &error);
        if (strstr(error.text, missing[i]) == NULL && strstr(error.text, "RIGHTS") == NULL)
            fail_msg("\"%s\" does not tell what is missing", error.text);
        assert_string_equal(server_ask(redis, "EXISTS " KEY ":bwl.q " KEY ":bwl.b"), "0");
        assert_true(bowline_hold_left_ms(hold) > 0);
        line_join(redis, &w, client, "x", 1);
        must_release(hold);
        assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
        must_release(w.hold);
        bowline_close(ann);
        bowline_close(client);
        assert_true(line_leaves_nothing(redis));
    }
}

static int begin_anew(void **state)
{
    (void)server_ask(redis, "FLUSHALL");
    judge = witness_new();
    return 0;
}

static int dismiss(void **state)
{
    judge_dismiss(judge);
    return 0;
}

static int open_server(void **state)
{
    server_needed();
    redis = server_start(NULL);
    (void)snprintf(url, sizeof url, "%s?protocol=queue", redis->tcp_url);
    (void)snprintf(short_url, sizeof short_url, "%s&lease=%dms", url, LEASE_MS);
    return 0;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin_anew, dismiss)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_flushall_under_a_line),
        CASE(test_writes_held_back_for_longer_than_a_claim),
        CASE(test_connection_that_is_cut_off_with_the_grant_inside),
        CASE(test_who_listens_to_everything_costs_a_claim_at_most),
        CASE(test_user_who_may_not_join_the_line_is_refused_alone),
    };

    return cmocka_run_group_tests_name("queue_faults", tests, open_server, stop_server);
}
