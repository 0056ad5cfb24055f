/*
 * test_redis_tls_line.c -- an encrypted line that breaks, stalls or dawdles, at every byte of the
 * whole dialogue: the handshake, hello, taking, extending, giving back.
 *
 * As test_redis_line.c, where the line is clear.  Here the faults also fall between the bytes of a
 * record, of which a part is worth nothing: what was handed over must still be known.
 *
 * Without BOWLINE_THOROUGH=1 the line breaks at every BREAK_STEP-th byte only, the first of them
 * chosen anew each time.  It falls silent at every SILENCE_STEP-th byte, or at every 23rd: each
 * silence is waited for.
 */
#include "tests/lib/proxy.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <stdio.h>

enum { BREAK_STEP = 8, SILENCE_STEP = 92, SILENCE_STEP_THOROUGH = 23 };

static void needs_tls(void)
{
    if (redis->tls_port == 0)
        skip();
}

/* How one dialogue came out. */
typedef struct dialogue {
    int acquire;
    int extend;
    int release;
} dialogue;

/* Takes, extends and gives back through a line with this fault. */
static dialogue talk(const proxy_plan *plan, const char *options)
{
    char            url[300];
    dialogue        d     = { .acquire = 0 };
    proxy          *line  = proxy_start(redis, plan);
    bowline_hold   *hold  = NULL;
    bowline_error   error = { 0 };
    bowline_client *client;

    (void)snprintf(url, sizeof url, "%s&%s", proxy_url(line), options);
    client    = must_open(url);
    d.acquire = acquire_within(&hold, client, "x", 10000, &error);
    if (d.acquire == BOWLINE_OK) {
        /* It says that it is ours: then it is. */
        if (bowline_hold_left_ms(hold) > 0)
            assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "1");
        d.extend  = bowline_extend(hold, 0, &error);
        d.release = bowline_release(hold, &error);
    } else {
        print_error("%s\n", error.text);
    }
    bowline_close(client);
    proxy_stop(line);
    return d;
}

/* How many bytes a dialogue without any fault has, give or take a few: signatures differ. */
static int64_t dialogue_size(bool to_client)
{
    proxy_plan      plan   = { .fault = PROXY_NONE, .is_tls = true };
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

/* The first connection breaks; the next is good. */
static void break_at_every_byte(bool to_client)
{
    int unknown = 0;

    needs_tls();
    byte_steps steps = some_bytes(BREAK_STEP);
    int64_t    size  = dialogue_size(to_client);
    for (int64_t at = steps.first; at < size; at += steps.step) {
        proxy_plan plan = {
            .fault = PROXY_CLOSE, .to_client = to_client, .at = at, .connections = 1, .is_tls = true
        };
        dialogue d = talk(&plan, "lease=60s&timeout=5s");
        assert_status(BOWLINE_OK, d.acquire, NULL);
        if (d.extend != BOWLINE_OK)
            assert_status(BOWLINE_UNKNOWN, d.extend, NULL);
        if (d.release != BOWLINE_OK)
            assert_status(BOWLINE_UNKNOWN, d.release, NULL);
        unknown += d.extend == BOWLINE_UNKNOWN || d.release == BOWLINE_UNKNOWN;
        own_nothing_is_left(&plan);
    }
    print_message("# %lld bytes, %d dialogues with an answer that is not known\n", (long long)size,
                  unknown);
    assert_in_range(unknown, 1, size / 2); /* the handshake leaves nothing in doubt */
}

static void test_line_breaks_at_every_byte_of_the_server(void **state)
{
    break_at_every_byte(true);
}

static void test_line_breaks_at_every_byte_of_the_client(void **state)
{
    break_at_every_byte(false);
}

/* ---- silence --------------------------------------------------------------------------------- */

static void stall_at(proxy_fault fault, bool to_client)
{
    needs_tls();
    byte_steps steps = some_bytes(SILENCE_STEP);
    int64_t    size  = dialogue_size(to_client);
    int64_t    step  = steps.step > 1 ? steps.step : SILENCE_STEP_THOROUGH;
    for (int64_t at = steps.first; at < size; at += step) {
        proxy_plan plan = {
            .fault = fault, .to_client = to_client, .at = at, .connections = 1, .is_tls = true
        };
        dialogue d = talk(&plan, "lease=60s&timeout=100ms");
        assert_status(BOWLINE_OK, d.acquire, NULL);
        assert_true(d.extend == BOWLINE_OK || d.extend == BOWLINE_UNKNOWN);
        if (d.release != BOWLINE_OK) {
            assert_true(d.release == BOWLINE_UNKNOWN || d.release == BOWLINE_UNREACHABLE);
            (void)server_ask(redis, "DEL bowline:{x}");
        }
        own_nothing_is_left(&plan);
    }
}

static void test_server_falls_silent(void **state)
{
    stall_at(PROXY_STALL, true);
}

static void test_what_the_client_says_comes_late(void **state)
{
    stall_at(PROXY_LATE, false);
}

/* ---- slowness -------------------------------------------------------------------------------- */

static void test_a_few_bytes_at_a_time(void **state)
{
    needs_tls();
    for (size_t piece = 1; piece < 8; piece++) {
        proxy_plan plan = { .fault = PROXY_NONE, .piece = piece, .is_tls = true };
        dialogue   d    = talk(&plan, "lease=60s");
        assert_status(BOWLINE_OK, d.acquire, NULL);
        assert_status(BOWLINE_OK, d.extend, NULL);
        assert_status(BOWLINE_OK, d.release, NULL);
    }
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void test_own_server_starts(void **state)
{
    redis = server_start_tls(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_server_starts),
        cmocka_unit_test(test_line_breaks_at_every_byte_of_the_server),
        cmocka_unit_test(test_line_breaks_at_every_byte_of_the_client),
        cmocka_unit_test(test_server_falls_silent),
        cmocka_unit_test(test_what_the_client_says_comes_late),
        cmocka_unit_test(test_a_few_bytes_at_a_time),
    };

    return cmocka_run_group_tests_name("redis_tls_line", tests, NULL, stop_server);
}
