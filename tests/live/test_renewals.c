/*
 * test_renewals.c -- many holds on one thread that are due together: they are renewed by one call
 * of a script, and what is wrong with one of them does not harm the others.
 *
 * The server counts the calls.  Nothing is renewed but by the dispatch of the test.  A round in
 * which the machine was too slow for the lease says nothing, and is repeated.
 */
#include "tests/lib/judged.h"
#include "tests/lib/shared_server.h"
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
    GAP_MS   = 500, /* longer than this between two looks: the machine is too slow               */
    ROUNDS   = 20,
};

static bowline_client *client;
static bowline_hold   *holds[MANY];
static bool            was_slow; /* the machine, in this round */
static int64_t         looked_at;

static int64_t left_of(unsigned i)
{
    return bowline_hold_left_ms(holds[i]);
}

static void hold_all(const char *options)
{
    char url[300];
    char name[16];

    (void)snprintf(url, sizeof url, "%s?lease=%dms&%s", redis->tcp_url, (int)LEASE_MS, options);
    client   = must_open_without_keeper(url);
    was_slow = false;
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

static void look(void)
{
    int64_t now = clock_ms();

    was_slow  = was_slow || now - looked_at > GAP_MS;
    looked_at = now;
}

/* Until all are but the first `odd`. */
static void sleep_until_due(unsigned odd)
{
    for (unsigned i = odd; i < MANY; i++)
        while (left_of(i) > DUE_MS)
            sleep_ms((unsigned)(left_of(i) - DUE_MS + 1));
    int64_t least = DUE_MS;
    for (unsigned i = odd; i < MANY; i++)
        least = left_of(i) < least ? left_of(i) : least;
    looked_at = clock_ms() - (DUE_MS - least); /* when the first of them was */
    look();
}

/* Dispatches until each but the first `odd` is good for a lease again, or one of them is lost. */
static void renew(unsigned odd)
{
    bowline_error error;
    unsigned      i = odd;

    for (unsigned turn = 0; turn < TURNS && i < MANY && left_of(i) > 0; turn++) {
        assert_int_equal(bowline_dispatch(client, WAIT_MS, &error), BOWLINE_OK);
        look();
        while (i < MANY && left_of(i) > FRESH_MS)
            i++;
    }
    for (i = odd; i < MANY && !was_slow; i++)
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

static void in_a_quick_round(void (*scenario)(const char *options), const char *options)
{
    scenario(options);
    for (int round = 1; was_slow; round++) {
        print_message("# round %d: the machine was too slow\n", round);
        assert_true(round < ROUNDS);
        scenario(options);
    }
}

/* ---- together -------------------------------------------------------------------------------- */

static void together(const char *options)
{
    (void)server_ask(redis, "SCRIPT FLUSH");
    hold_all(options);
    for (unsigned turn = 0; turn < 3; turn++) {
        sleep_until_due(0);
        reset_calls();
        renew(0);
        if (was_slow)
            break;
        assert_int_equal(calls_of("pexpire"), MANY);
        /* The first time the server has to be told the script's text. */
        assert_int_equal(calls_of("evalsha") + calls_of("eval"), turn == 0 ? 2 : 1);
    }
    let_all_go();
}

static void test_renewals_that_are_due_together_are_one_call(void **state)
{
    in_a_quick_round(together, "protocol=queue");
    in_a_quick_round(together, "protocol=token");
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
    sleep_until_due(0);
    spoil_three();
    int64_t least = left_of(0);
    renew(3);
    for (unsigned i = 0; i < 3 && !was_slow; i++) {
        assert_true(least > 0);
        assert_int_equal(left_of(i), 0);
    }
    /* Nothing of a stranger was touched. */
    assert_string_equal(server_ask(redis, "GET bowline:{n1}"), "stranger");
    assert_string_equal(server_ask(redis, "EXISTS bowline:{n0}"), "0");
    assert_string_equal(server_ask(redis, "TTL bowline:{n2}"), "-1");
    for (unsigned turn = 0; turn < 2; turn++) {
        sleep_until_due(3);
        renew(3);
    }
    let_all_go();
}

static void test_renewals_what_is_gone_is_lost_alone(void **state)
{
    in_a_quick_round(one_by_one, "protocol=queue");
    in_a_quick_round(one_by_one, "protocol=token");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_renewals_that_are_due_together_are_one_call),
        cmocka_unit_test(test_renewals_what_is_gone_is_lost_alone),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
