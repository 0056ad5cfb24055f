/*
 * test_redis_line.c -- a connection that breaks, stalls or is slow at every byte of the whole
 * dialogue: handshake, HELLO, acquire, extend, release; in clear and with TLS.
 *
 * The server behind it is a real one.  After each round the key is there or not as the statuses
 * say, and in the end nothing is left.  With TLS the faults also fall between the bytes of a
 * record.
 *
 * With TLS, and without BOWLINE_THOROUGH=1, the connection breaks at every BREAK_STEP-th byte only,
 * the first of them chosen anew each time, and falls silent at every SILENCE_STEP-th.
 */
#include "tests/lib/proxy.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <stdio.h>

enum { BREAK_STEP = 8, SILENCE_STEP = 92, SILENCE_STEP_THOROUGH = 23 };

/* What may come of a dialogue. */
typedef enum outcome {
    ALL_OK = 1,
    OK_OR_UNKNOWN, /* the acquire waits, and is OK                                              */
    OK_OR_SILENT,  /* likewise; the release may not have been sent                             */
    ANY_FAILURE,   /* the lock is ours or it is not                                             */
} outcome;

typedef struct dialogue {
    int acquire;
    int extend;
    int release;
} dialogue;

typedef struct row {
    proxy_plan  plan;
    int64_t     step; /* of the byte at which the fault comes                                   */
    const char *options;
    int64_t     wait_ms;
    outcome     outcome;
} row;

/* Acquires, extends and releases by a connection with this fault. */
static dialogue talk(const proxy_plan *plan, const char *options, int64_t wait_ms)
{
    char            url[300];
    dialogue        d     = { .acquire = 0 };
    proxy          *line  = proxy_start(redis, plan);
    bowline_hold   *hold  = NULL;
    bowline_error   error = { 0 };
    bowline_client *client;

    (void)snprintf(url, sizeof url, "%s%c%s", proxy_url(line), plan->is_tls ? '&' : '?', options);
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

/* The bytes of a dialogue without a fault; with TLS give or take a few, as signatures differ. */
static int64_t dialogue_size(const proxy_plan *plan)
{
    proxy_plan      none   = { .fault = PROXY_NONE, .is_tls = plan->is_tls };
    proxy          *line   = proxy_start(redis, &none);
    bowline_client *client = must_open(proxy_url(line));
    bowline_hold   *hold   = must_acquire(client, "x");

    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    must_release(hold);
    int64_t size = plan->to_client ? proxy_bytes_to_client(line) : proxy_bytes_to_server(line);
    bowline_close(client);
    proxy_stop(line);
    return size;
}

static void check(const row *r, const proxy_plan *plan, const dialogue *d)
{
    switch (r->outcome) {
    case ALL_OK:
        assert_status(BOWLINE_OK, d->acquire, NULL);
        assert_status(BOWLINE_OK, d->extend, NULL);
        assert_status(BOWLINE_OK, d->release, NULL);
        break;
    case OK_OR_UNKNOWN:
    case OK_OR_SILENT:
        assert_status(BOWLINE_OK, d->acquire, NULL);
        assert_true(d->extend == BOWLINE_OK || d->extend == BOWLINE_UNKNOWN);
        assert_true(d->release == BOWLINE_OK || d->release == BOWLINE_UNKNOWN ||
                    (d->release == BOWLINE_UNREACHABLE && r->outcome == OK_OR_SILENT));
        if (r->outcome == OK_OR_SILENT && d->release != BOWLINE_OK)
            (void)server_ask(redis, "DEL bowline:{x}"); /* it would end with its lease */
        break;
    case ANY_FAILURE:
        if (d->acquire != BOWLINE_OK && d->acquire != BOWLINE_UNKNOWN)
            assert_status(BOWLINE_UNREACHABLE, d->acquire, NULL);
        break;
    }
    if (strcmp(server_ask(redis, "EXISTS bowline:{x}"), "0") != 0 && !server_becomes_empty(redis))
        fail_msg("left behind after a fault at byte %lld %s", (long long)plan->at,
                 plan->to_client ? "to the client" : "to the server");
}

/* With TLS, at some bytes only. */
static byte_steps steps_of(const row *r)
{
    if (!r->plan.is_tls)
        return (byte_steps){ .first = 0, .step = r->step };
    if (redis->tls_port == 0)
        skip();
    byte_steps steps = some_bytes(r->step);
    if (steps.step == 1 && r->step == SILENCE_STEP)
        steps.step = SILENCE_STEP_THOROUGH;
    return steps;
}

static void play(const row *r)
{
    byte_steps steps   = steps_of(r);
    int64_t    size    = dialogue_size(&r->plan);
    int64_t    unknown = 0;

    for (int64_t at = steps.first; at < size; at += steps.step) {
        proxy_plan plan = r->plan;
        plan.at         = at;
        dialogue d      = talk(&plan, r->options, r->wait_ms);
        unknown += d.extend == BOWLINE_UNKNOWN || d.release == BOWLINE_UNKNOWN;
        check(r, &plan, &d);
    }
    if (r->outcome == OK_OR_UNKNOWN) /* the handshake leaves nothing in doubt */
        assert_in_range(unknown, 1, size / 2);
}

/* ---- the connection breaks, and the next one is good ----------------------------------------- */

#define BREAKS(to_client_, is_tls_, step_)      \
    play(&(row){ { .fault       = PROXY_CLOSE,  \
                   .to_client   = (to_client_), \
                   .connections = 1,            \
                   .is_tls      = (is_tls_) },       \
                 (step_),                       \
                 "lease=60s&timeout=5s",        \
                 10000,                         \
                 OK_OR_UNKNOWN })

static void test_line_breaks_at_every_byte_of_the_server(void **state)
{
    BREAKS(true, false, 1);
}

static void test_line_breaks_at_every_byte_of_the_client(void **state)
{
    BREAKS(false, false, 1);
}

static void test_line_with_tls_breaks_at_every_byte_of_the_server(void **state)
{
    BREAKS(true, true, BREAK_STEP);
}

static void test_line_with_tls_breaks_at_every_byte_of_the_client(void **state)
{
    BREAKS(false, true, BREAK_STEP);
}

static void test_every_line_breaks(void **state)
{
    play(&(row){ { .fault = PROXY_CLOSE, .to_client = true, .connections = 1000000 },
                 9,
                 "lease=400ms&timeout=30ms",
                 BOWLINE_NO_WAIT,
                 ANY_FAILURE });
}

/* ---- silence --------------------------------------------------------------------------------- */

static void test_server_falls_silent(void **state)
{
    play(&(row){ { .fault = PROXY_STALL, .to_client = true, .connections = 1 },
                 5,
                 "lease=60s&timeout=20ms",
                 10000,
                 OK_OR_SILENT });
    play(&(row){ { .fault = PROXY_STALL, .to_client = true, .connections = 1, .is_tls = true },
                 SILENCE_STEP,
                 "lease=60s&timeout=100ms",
                 10000,
                 OK_OR_SILENT });
}

static void test_what_the_client_says_is_swallowed(void **state)
{
    play(&(row){ { .fault = PROXY_STALL, .connections = 1 },
                 9,
                 "lease=60s&timeout=20ms",
                 10000,
                 OK_OR_SILENT });
}

/* What was sent arrives when all is over.  The connection that it comes on was killed by the one
 * after it: else a late SET would take the lock for nobody, for a whole lease. */
static void test_what_the_client_says_comes_late(void **state)
{
    play(&(row){ { .fault = PROXY_LATE, .connections = 1 },
                 9,
                 "lease=60s&timeout=20ms",
                 10000,
                 OK_OR_SILENT });
    play(&(row){ { .fault = PROXY_LATE, .connections = 1, .is_tls = true },
                 SILENCE_STEP,
                 "lease=60s&timeout=100ms",
                 10000,
                 OK_OR_SILENT });
}

/* ---- slowness -------------------------------------------------------------------------------- */

static void test_pause_at_every_byte(void **state)
{
    for (int to_client = 0; to_client < 2; to_client++)
        play(&(row){
            { .fault = PROXY_PAUSE, .to_client = to_client != 0, .connections = 1, .pause_ms = 3 },
            1,
            "lease=60s&timeout=5s",
            BOWLINE_NO_WAIT,
            ALL_OK });
}

static void test_few_bytes_at_a_time(void **state)
{
    for (size_t piece = 1; piece < 8; piece++)
        for (int is_tls = 0; is_tls < (redis->tls_port != 0 ? 2 : 1); is_tls++) {
            proxy_plan plan = { .fault = PROXY_NONE, .piece = piece, .is_tls = is_tls != 0 };
            dialogue   d    = talk(&plan, "lease=60s&timeout=5s", 10000);
            check(&(row){ .outcome = ALL_OK }, &plan, &d);
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

/* ---- the cases ------------------------------------------------------------------------------- */

static void test_server_with_tls_starts(void **state)
{
    redis = server_start_tls(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_with_tls_starts),
        cmocka_unit_test(test_line_breaks_at_every_byte_of_the_server),
        cmocka_unit_test(test_line_breaks_at_every_byte_of_the_client),
        cmocka_unit_test(test_line_with_tls_breaks_at_every_byte_of_the_server),
        cmocka_unit_test(test_line_with_tls_breaks_at_every_byte_of_the_client),
        cmocka_unit_test(test_every_line_breaks),
        cmocka_unit_test(test_server_falls_silent),
        cmocka_unit_test(test_what_the_client_says_is_swallowed),
        cmocka_unit_test(test_what_the_client_says_comes_late),
        cmocka_unit_test(test_pause_at_every_byte),
        cmocka_unit_test(test_few_bytes_at_a_time),
        cmocka_unit_test(test_lease_is_counted_from_the_question),
    };

    return cmocka_run_group_tests_name("redis_line", tests, NULL, stop_server);
}
