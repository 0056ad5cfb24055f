/*
 * test_redis_line.c -- a line that breaks, stalls or dawdles at every byte of the whole dialogue:
 * hello, taking, extending, giving back.
 *
 * The server behind it is a real one, so what was carried out and what was not is not in the test's
 * imagination.  After each round the key is there or not as the statuses say, and in the end
 * nothing is left.
 */
#include "tests/lib/proxy.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <stdio.h>

/* How one dialogue came out. */
typedef struct dialogue {
    int acquire;
    int extend;
    int release;
} dialogue;

static const char *options = "?lease=60s&timeout=5s";

/* Takes, extends and gives back through a line with this fault. */
static dialogue talk(const proxy_plan *plan, int64_t wait_ms)
{
    char            url[200];
    dialogue        d     = { .acquire = 0 };
    proxy          *line  = proxy_start(redis, plan);
    bowline_hold   *hold  = NULL;
    bowline_error   error = { 0 };
    bowline_client *client;

    (void)snprintf(url, sizeof url, "%s%s", proxy_url(line), options);
    client    = must_open(url);
    d.acquire = acquire_within(&hold, client, "x", wait_ms, &error);
    if (d.acquire == BOWLINE_REFUSED && strstr(error.text, "too slowly") != NULL)
        d.acquire = BOWLINE_UNKNOWN; /* it was ours, and its lease was over with the answer */
    if (d.acquire == BOWLINE_OK) {
        /* It says that it is ours: then it is. */
        const char *exists = server_ask(redis, "EXISTS bowline:{x}");
        if (bowline_hold_left_ms(hold) > 0)
            assert_string_equal(exists, "1");
        d.extend  = bowline_extend(hold, 0, &error);
        d.release = bowline_release(hold, &error);
    }
    bowline_close(client);
    proxy_stop(line);
    return d;
}

/* How many bytes a dialogue without any fault has. */
static int64_t dialogue_size(bool to_client)
{
    proxy_plan      plan   = { .fault = PROXY_NONE };
    proxy          *line   = proxy_start(redis, &plan);
    bowline_client *client = must_open(proxy_url(line));
    bowline_hold   *hold   = must_acquire(client, "x");

    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    must_release(hold);
    int64_t size = to_client ? proxy_bytes_to_client(line) : proxy_bytes_to_server(line);
    bowline_close(client);
    proxy_stop(line);
    return size;
}

static void own_nothing_is_left(const proxy_plan *plan)
{
    if (strcmp(server_ask(redis, "EXISTS bowline:{x}"), "0") == 0)
        return;
    if (!server_becomes_empty(redis))
        fail_msg("left behind when the line breaks at byte %lld %s", (long long)plan->at,
                 plan->to_client ? "to the client" : "to the server");
}

/* ---- breaking -------------------------------------------------------------------------------- */

/* The first connection breaks; the next is good.  Whoever waits gets the lock, extends it or is
 * told that nobody knows, and gives it back. */
static void break_at_every_byte(bool to_client)
{
    int64_t size = dialogue_size(to_client);

    for (int64_t at = 0; at < size; at++) {
        proxy_plan plan = {
            .fault = PROXY_CLOSE, .to_client = to_client, .at = at, .connections = 1
        };
        dialogue d = talk(&plan, 10000);
        assert_status(BOWLINE_OK, d.acquire, NULL);
        if (d.extend != BOWLINE_OK)
            assert_status(BOWLINE_UNKNOWN, d.extend, NULL);
        if (d.release != BOWLINE_OK)
            assert_status(BOWLINE_UNKNOWN, d.release, NULL);
        own_nothing_is_left(&plan);
    }
}

static void test_line_breaks_at_every_byte_of_the_server(void **state)
{
    break_at_every_byte(true);
}

static void test_line_breaks_at_every_byte_of_the_client(void **state)
{
    break_at_every_byte(false);
}

/* Every connection breaks at the same byte: no lock, or one that is ours. */
static void test_every_line_breaks(void **state)
{
    int64_t size = dialogue_size(true);

    options = "?lease=400ms&timeout=30ms";
    for (int64_t at = 0; at < size; at += 9) {
        proxy_plan plan = {
            .fault = PROXY_CLOSE, .to_client = true, .at = at, .connections = 1000000
        };
        dialogue d = talk(&plan, BOWLINE_NO_WAIT);
        if (d.acquire != BOWLINE_OK && d.acquire != BOWLINE_UNKNOWN)
            assert_status(BOWLINE_UNREACHABLE, d.acquire, NULL);
        own_nothing_is_left(&plan);
    }
    options = "?lease=60s&timeout=5s";
}

/* ---- silence --------------------------------------------------------------------------------- */

static void stall_at(proxy_fault fault, bool to_client, int64_t step)
{
    int64_t size = dialogue_size(to_client);

    options = "?lease=60s&timeout=20ms";
    for (int64_t at = 0; at < size; at += step) {
        proxy_plan plan = { .fault = fault, .to_client = to_client, .at = at, .connections = 1 };
        dialogue   d    = talk(&plan, 10000);
        assert_status(BOWLINE_OK, d.acquire, NULL);
        assert_true(d.extend == BOWLINE_OK || d.extend == BOWLINE_UNKNOWN);
        /* Whoever waits for the answer has no patience left for asking again: it ends with its
         * lease. */
        if (d.release != BOWLINE_OK) {
            assert_true(d.release == BOWLINE_UNKNOWN || d.release == BOWLINE_UNREACHABLE);
            (void)server_ask(redis, "DEL bowline:{x}");
        }
        own_nothing_is_left(&plan);
    }
    options = "?lease=60s&timeout=5s";
}

static void test_server_falls_silent(void **state)
{
    stall_at(PROXY_STALL, true, 5);
}

static void test_what_the_client_says_is_swallowed(void **state)
{
    stall_at(PROXY_STALL, false, 9);
}

/* What was sent arrives when all is over.  The connection that it comes on was killed by the one
 * after it: else a late SET would take the lock for nobody, for a whole lease. */
static void test_what_the_client_says_comes_late(void **state)
{
    stall_at(PROXY_LATE, false, 9);
}

/* ---- slowness -------------------------------------------------------------------------------- */

static void test_pause_at_every_byte(void **state)
{
    for (int to_client = 0; to_client < 2; to_client++) {
        int64_t size = dialogue_size(to_client != 0);
        for (int64_t at = 0; at < size; at++) {
            proxy_plan plan = { .fault       = PROXY_PAUSE,
                                .pause_ms    = 3,
                                .to_client   = to_client != 0,
                                .at          = at,
                                .connections = 1 };
            dialogue   d    = talk(&plan, BOWLINE_NO_WAIT);
            assert_status(BOWLINE_OK, d.acquire, NULL);
            assert_status(BOWLINE_OK, d.extend, NULL);
            assert_status(BOWLINE_OK, d.release, NULL);
        }
    }
}

/* A lease runs from before the question, however late the answer comes. */
static void test_lease_is_counted_from_the_question(void **state)
{
    char            url[200];
    proxy_plan      none   = { .fault = PROXY_NONE };
    proxy          *line   = proxy_start(redis, &none);
    bowline_client *client = must_open(proxy_url(line));
    bowline_hold   *hold   = must_acquire(client, "x");
    int64_t         hello  = proxy_bytes_to_client(line) - 5; /* all but +OK */

    must_release(hold);
    bowline_close(client);
    proxy_stop(line);

    proxy_plan late = {
        .fault = PROXY_PAUSE, .pause_ms = 600, .to_client = true, .at = hello + 1, .connections = 1
    };
    line = proxy_start(redis, &late);
    (void)snprintf(url, sizeof url, "%s?lease=60s&timeout=20s&renew=off", proxy_url(line));
    client = must_open(url);
    hold   = must_acquire(client, "x");
    assert_true(bowline_hold_left_ms(hold) < 60000 - 600);
    assert_true(bowline_hold_left_ms(hold) > 0);
    must_release(hold);
    bowline_close(client);
    proxy_stop(line);
}

static void test_one_byte_at_a_time(void **state)
{
    for (size_t piece = 1; piece < 8; piece++) {
        proxy_plan plan = { .fault = PROXY_NONE, .piece = piece };
        dialogue   d    = talk(&plan, BOWLINE_NO_WAIT);
        assert_status(BOWLINE_OK, d.acquire, NULL);
        assert_status(BOWLINE_OK, d.extend, NULL);
        assert_status(BOWLINE_OK, d.release, NULL);
    }
}

/* ---- the cases ------------------------------------------------------------------------------- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_starts),
        cmocka_unit_test(test_line_breaks_at_every_byte_of_the_server),
        cmocka_unit_test(test_line_breaks_at_every_byte_of_the_client),
        cmocka_unit_test(test_every_line_breaks),
        cmocka_unit_test(test_server_falls_silent),
        cmocka_unit_test(test_what_the_client_says_is_swallowed),
        cmocka_unit_test(test_what_the_client_says_comes_late),
        cmocka_unit_test(test_pause_at_every_byte),
        cmocka_unit_test(test_lease_is_counted_from_the_question),
        cmocka_unit_test(test_one_byte_at_a_time),
    };

    return cmocka_run_group_tests_name("redis_line", tests, NULL, stop_server);
}
