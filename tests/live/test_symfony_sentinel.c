/*
 * test_symfony_sentinel.c -- a lock of Symfony on the primary of a service with sentinels: it is
 * held across a switch to a replica that has it, and lost when somebody else has the key there.
 */
#include "tests/lib/sentinels.h"
#include "tests/lib/symfony_scripts.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <string.h>

enum { LEASE_MS = 300000, TRIES_MAX = 100 };

static service *its;

static bowline_client *open_profile(void)
{
    char url[400];

    (void)snprintf(url, sizeof url, "%s%sprofile=symfony", its->url,
                   strchr(its->url, '?') != NULL ? "&" : "?");
    return must_open(url);
}

/* What an extension comes to once the new primary is known. */
static int extend_at_last(bowline_hold *hold)
{
    bowline_error error;
    int           status = BOWLINE_UNKNOWN;

    for (unsigned i = 0; i < TRIES_MAX && status != BOWLINE_OK && status != BOWLINE_LOST; i++)
        status = bowline_extend(hold, 2 * LEASE_MS, &error);
    return status;
}

static void test_symfony_hold_outlives_a_switch(void **state)
{
    bowline_client *client  = open_profile();
    server         *primary = service_primary(its, NULL);
    server         *replica = its->nodes[primary == its->nodes[0] ? 1 : 0];
    bowline_hold   *hold    = must_acquire(client, "nightly");
    char            kept[100];
    bowline_error   error;

    (void)snprintf(kept, sizeof kept, "%s", server_ask(primary, "ZRANGE nightly 0 -1"));
    assert_true(server_comes_to(replica, "nightly", "KEYS nightly"));
    primary = service_switch(its, primary);
    assert_int_equal(extend_at_last(hold), BOWLINE_OK);
    assert_string_equal(server_ask(primary, "ZRANGE nightly 0 -1"), kept);
    assert_string_equal(
        server_ask(primary, "EVAL '%s' 1 nightly 1.5 theirs %d", SYMFONY_SAVE, LEASE_MS), "(nil)");
    assert_string_equal(server_ask(primary, "DEL nightly"), "1");
    assert_string_equal(
        server_ask(primary, "EVAL '%s' 1 nightly 1.5 theirs %d", SYMFONY_SAVE, LEASE_MS), "1");
    assert_int_equal(extend_at_last(hold), BOWLINE_LOST);
    (void)bowline_release(hold, &error); /* it is over already */
    assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
    assert_string_equal(server_ask(primary, "EVAL '%s' 1 nightly theirs", SYMFONY_DELETE), "1");
    bowline_close(client);
}

static int start_service(void **state)
{
    server_needed();
    its = service_start(2, NULL);
    return 0;
}

static int stop_service(void **state)
{
    service_stop(its);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symfony_hold_outlives_a_switch),
    };

    return cmocka_run_group_tests(tests, start_service, stop_service);
}
