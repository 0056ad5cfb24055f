/*
 * test_renewals.c -- many holds on one thread that are due together: they are renewed by one call
 * of a script, and what is wrong with one of them does not harm the others.
 *
 * The server counts the calls.  Nothing is renewed but by the dispatch of the test.
 */
#include "tests/lib/judged.h"
#include "tests/lib/server.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MANY     = 12,
    LEASE_MS = 3000,
    DUE_MS   = LEASE_MS * 3 / 5, /* of one with less than this left the time has come            */
    FRESH_MS = LEASE_MS * 3 / 4, /* more is left only to one that was renewed just now           */
    TURNS    = 1000,
    WAIT_MS  = 20,
};

static server         *redis;
static bowline_client *client;
static bowline_hold   *holds[MANY];

static int64_t left_of(unsigned i)
{
    return bowline_hold_left_ms(holds[i]);
}

static void hold_all(const char *options)
{
    char url[300];
    char name[16];

    (void)snprintf(url, sizeof url, "%s?lease=%dms&%s", redis->tcp_url, (int)LEASE_MS, options);
    client = must_open_without_keeper(url);
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        holds[i] = must_acquire(client, name);
    }
}

/* Those that were lost on the way are given back in vain. */
static void let_all_go(void)
{
    for (unsigned i = 0; i < MANY; i++)
        (void)bowline_release(holds[i], NULL);
    bowline_close(client);
    (void)server_ask(redis, "FLUSHALL");
}

static void sleep_until_due(void)
{
    for (unsigned i = 0; i < MANY; i++)
        while (left_of(i) > DUE_MS)
            sleep_ms((unsigned)(left_of(i) - DUE_MS + 1));
}

/* Dispatches until each but the first `odd` is good for a lease again. */
static void renew(unsigned odd)
{
    bowline_error error;
    unsigned      i = odd;

    for (unsigned turn = 0; turn < TURNS && i < MANY; turn++) {
        assert_int_equal(bowline_dispatch(client, WAIT_MS, &error), BOWLINE_OK);
        while (i < MANY && left_of(i) > FRESH_MS)
            i++;
    }
    for (i = odd; i < MANY; i++)
        if (left_of(i) <= DUE_MS)
            fail_msg("n%u was not renewed: %lld ms are left", i, (long long)left_of(i));
}

static long long calls_of(const char *command)
{
    char        name[40];
    const char *answer = server_ask(redis, "INFO commandstats");

    (void)snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    const char *found = strstr(answer, name);
    return found != NULL ? strtoll(found + strlen(name), NULL, 10) : 0;
}

static void reset_calls(void)
{
    (void)server_ask(redis, "CONFIG RESETSTAT");
}

/* ---- together -------------------------------------------------------------------------------- */

static void together(const char *options)
{
    hold_all(options);
    for (unsigned round = 0; round < 3; round++) {
        sleep_until_due();
        reset_calls();
        renew(0);
        assert_int_equal(calls_of("pexpire"), MANY);
        /* The first time the server may have to be told the script's text. */
        assert_int_equal(calls_of("evalsha") + calls_of("eval"), round == 0 ? 2 : 1);
    }
    let_all_go();
}

static void test_renewals_that_are_due_together_are_one_call(void **state)
{
    (void)state;
    (void)server_ask(redis, "SCRIPT FLUSH");
    together("protocol=queue");
    (void)server_ask(redis, "SCRIPT FLUSH");
    together("protocol=token");
}

static void test_renewals_script_that_was_forgotten_is_told_again(void **state)
{
    (void)state;
    hold_all("protocol=queue");
    for (unsigned round = 0; round < 2; round++) {
        sleep_until_due();
        (void)server_ask(redis, "SCRIPT FLUSH");
        renew(0);
    }
    let_all_go();
}

/* ---- one of them ----------------------------------------------------------------------------- */

/* The first three: deleted, a stranger's, a list. */
static void spoil_three(void)
{
    (void)server_ask(redis, "DEL bowline:{n0}");
    (void)server_ask(redis, "SET bowline:{n1} stranger PX 60000");
    (void)server_ask(redis, "DEL bowline:{n2}");
    (void)server_ask(redis, "RPUSH bowline:{n2} element");
}

static void one_by_one(const char *options)
{
    hold_all(options);
    sleep_until_due();
    spoil_three();
    int64_t least = left_of(0);
    renew(3);
    assert_true(least > 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(left_of(i), 0);
    /* Nothing of a stranger was touched. */
    assert_string_equal(server_ask(redis, "GET bowline:{n1}"), "stranger");
    assert_string_equal(server_ask(redis, "EXISTS bowline:{n0}"), "0");
    assert_string_equal(server_ask(redis, "TTL bowline:{n2}"), "-1");
    for (unsigned round = 0; round < 2; round++) {
        sleep_until_due();
        renew(3);
    }
    let_all_go();
}

static void test_renewals_what_is_gone_is_lost_alone(void **state)
{
    (void)state;
    one_by_one("protocol=queue");
    one_by_one("protocol=token");
}

/* One key is forbidden from now on: it ends with its lease, and the others go on. */
static void test_renewals_key_that_an_acl_forbids_is_lost_alone(void **state)
{
    bowline_error error = { 0 };
    char          rights[400];
    int           size;

    (void)state;
    hold_all("protocol=queue");
    size =
        snprintf(rights, sizeof rights, "ACL SETUSER default resetkeys ~bowline:f ~bowline:who:*");
    for (unsigned i = 1; i < MANY; i++)
        size += snprintf(rights + size, sizeof rights - (size_t)size, " ~bowline:{n%u}*", i);
    assert_string_equal(server_ask(redis, "%s", rights), "OK");
    sleep_until_due();
    renew(1);
    assert_int_equal(bowline_hold_trouble(holds[0], &error), BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "NOPERM"));
    assert_int_equal(bowline_hold_trouble(holds[1], NULL), BOWLINE_OK);
    for (unsigned round = 0; round < 3; round++) {
        sleep_until_due();
        reset_calls();
        renew(1);
        /* The others are together again, and not refused with it. */
        assert_int_equal(calls_of("pexpire"), MANY - 1);
        assert_int_equal(calls_of("mget"), 1);
    }
    assert_int_equal(left_of(0), 0);
    (void)server_ask(redis, "ACL SETUSER default ~*");
    let_all_go();
}

/* A user without MGET is served all the same: each is read by itself. */
static void test_renewals_need_no_right_beside_those_of_one(void **state)
{
    (void)state;
    hold_all("protocol=queue");
    (void)server_ask(redis, "ACL SETUSER default -mget");
    for (unsigned round = 0; round < 2; round++) {
        sleep_until_due();
        reset_calls();
        renew(0);
        assert_int_equal(calls_of("pexpire"), MANY);
        assert_int_equal(calls_of("get"), MANY);
    }
    (void)server_ask(redis, "ACL SETUSER default +@all");
    let_all_go();
}

/* ---- the server ------------------------------------------------------------------------------ */

/* Cut between and in the middle: the answer of some is never heard. */
static void test_renewals_go_on_after_connections_that_broke(void **state)
{
    (void)state;
    hold_all("protocol=queue");
    for (unsigned round = 0; round < 4; round++) {
        sleep_until_due();
        if (round % 2 == 0)
            server_hang_up(redis);
        renew(0);
        if (round % 2 == 1)
            server_hang_up(redis);
    }
    let_all_go();
}

static void test_renewals_by_another_process_are_no_renewals(void **state)
{
    bowline_error error;

    (void)state;
    hold_all("protocol=queue");
    sleep_until_due();
    renew(0);
    server_kill(redis);
    server_start_again(redis);
    int64_t before = left_of(0);
    for (unsigned turn = 0; turn < TURNS && left_of(MANY - 1) > 0; turn++)
        assert_int_equal(bowline_dispatch(client, WAIT_MS, &error), BOWLINE_OK);
    assert_true(before > 0);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(left_of(i), 0);
    let_all_go();
}

/* No HELLO: the answers are those of RESP2. */
static void test_renewals_in_the_older_language(void **state)
{
    server *newer = redis;

    (void)state;
    redis = server_start("--rename-command HELLO is-not-known");
    together("protocol=token");
    one_by_one("protocol=token");
    server_stop(redis);
    redis = newer;
}

static int set_up(void **state)
{
    (void)state;
    server_needed();
    redis = server_start(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    server_stop(redis);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_renewals_that_are_due_together_are_one_call),
        cmocka_unit_test(test_renewals_script_that_was_forgotten_is_told_again),
        cmocka_unit_test(test_renewals_what_is_gone_is_lost_alone),
        cmocka_unit_test(test_renewals_key_that_an_acl_forbids_is_lost_alone),
        cmocka_unit_test(test_renewals_need_no_right_beside_those_of_one),
        cmocka_unit_test(test_renewals_go_on_after_connections_that_broke),
        cmocka_unit_test(test_renewals_by_another_process_are_no_renewals),
        cmocka_unit_test(test_renewals_in_the_older_language),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
