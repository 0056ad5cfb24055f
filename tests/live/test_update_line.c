/*
 * test_update_line.c -- a line that breaks or falls silent at every byte under bowline_update, and
 * a server that goes away: what was written is written once, and nothing is said to be written that
 * is not.
 */
#include "tests/lib/counter.h"
#include "tests/lib/proxy.h"
#include "tests/lib/shared_server.h"

#include <signal.h>
#include <stdio.h>

static long long sum(void)
{
    return atoll(server_ask(redis, "GET sum"));
}

/* How many bytes one update has, from the hello to the answer of EXEC. */
static int64_t update_size(bool to_client)
{
    proxy_plan      plan   = { .fault = PROXY_NONE };
    proxy          *line   = proxy_start(redis, &plan);
    bowline_client *client = must_open(proxy_url(line));

    assert_int_equal(count_on(client, "sum", NULL, NULL), BOWLINE_OK);
    int64_t size = to_client ? proxy_bytes_to_client(line) : proxy_bytes_to_server(line);
    bowline_close(client);
    proxy_stop(line);
    return size;
}

typedef struct tally {
    unsigned ok;
    unsigned unknown;
    unsigned unreachable;
} tally;

static void update_through(const proxy_plan *plan, const char *options, tally *t)
{
    proxy        *line   = proxy_start(redis, plan);
    long long     before = sum();
    bowline_error error  = { 0 };
    counter       c      = { .calls = 0 };
    char          url[200];

    (void)snprintf(url, sizeof url, "%s%s", proxy_url(line), options);
    bowline_client *client = must_open(url);
    int             status = bowline_update(client, "sum", count_one, &c, NULL, &error);
    bowline_close(client);
    long long more = sum() - before;
    proxy_stop(line);
    switch (status) {
    case BOWLINE_OK:
        t->ok++;
        assert_int_equal(more, 1);
        break;
    case BOWLINE_UNKNOWN:
        t->unknown++;
        assert_in_range(more, 0, 1);
        assert_non_null(strstr(error.text, "it is unknown whether it was written"));
        break;
    default:
        assert_status(BOWLINE_UNREACHABLE, status, &error);
        t->unreachable++;
        assert_int_equal(more, 0);
    }
}

/* The first connection has the fault, the next is good: so what breaks before the write is tried
 * again, and what breaks behind it is not known. */
static void test_line_breaks_at_every_byte(void **state)
{
    byte_steps some = some_bytes(4);

    for (int direction = 0; direction < 2; direction++) {
        bool    to_client = direction == 0;
        int64_t size      = update_size(to_client);
        tally   t         = { .ok = 0 };
        for (int64_t at = some.first; at < size; at += some.step)
            update_through(
                &(proxy_plan){
                    .fault = PROXY_CLOSE, .to_client = to_client, .at = at, .connections = 1 },
                "", &t);
        assert_int_equal(t.unreachable, 0);
        assert_true(t.ok > 0 && t.unknown > 0);
    }
}

/* "+QUEUED\r\n*1\r\n+OK\r\n" is what the server says to SET and EXEC. */
static void test_answer_to_exec_that_is_cut_off_is_unknown_and_not_tried_again(void **state)
{
    int64_t size   = update_size(true);
    tally   t      = { .ok = 0 };
    int     behind = (int)strlen("*1\r\n+OK\r\n");

    for (int at = 1; at <= behind; at++) {
        long long before = sum();
        update_through(
            &(proxy_plan){
                .fault = PROXY_CLOSE, .to_client = true, .at = size - at, .connections = 1 },
            "", &t);
        assert_int_equal(sum(), before + 1); /* it was carried out */
    }
    assert_int_equal(t.unknown, behind);
}

/* ---- a server that goes away ----------------------------------------------------------------- */

static void restart_server(void *arg, unsigned call)
{
    (void)arg;
    if (call == 1) {
        server_restart(redis);
        sleep_ms(IDLE_MS);
    }
}

/* The watch has gone with the connection, so what was computed is not written over the new one. */
static void test_server_that_is_restarted_meanwhile_is_read_again(void **state)
{
    counter         c      = { .between = restart_server };
    bowline_client *client = must_open(redis->tcp_url);
    bowline_error   error  = { 0 };

    (void)server_ask(redis, "SET sum 41");
    assert_status(BOWLINE_OK, bowline_update(client, "sum", count_one, &c, NULL, &error), &error);
    assert_int_equal(c.calls, 2);
    assert_string_equal(c.before, "-"); /* it has nothing in it */
    assert_int_equal(sum(), 1);
    bowline_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_starts),
        cmocka_unit_test(test_line_breaks_at_every_byte),
        cmocka_unit_test(test_answer_to_exec_that_is_cut_off_is_unknown_and_not_tried_again),
        cmocka_unit_test(test_server_that_is_restarted_meanwhile_is_read_again),
    };

    int failed = cmocka_run_group_tests_name("update_line", tests, NULL, NULL);
    server_stop(redis);
    return failed;
}
