/*
 * test_catalogue_watch.c -- setnx-expire-watch against a real server: the words on the wire, the
 * waiter's repair, and releases under WATCH: of one lock, of many on one connection at once, of one
 * that is touched in between.
 */
#include "tests/lib/catalogue.h"

#define UUID "00112233-4455-4677-8899-aabbccddeeff"

static bowline_client *open_watch(const char *more)
{
    char options[128];

    (void)snprintf(options, sizeof options, "protocol=setnx-expire-watch%s", more);
    return open_with(options);
}

/* A program that died between SETNX and EXPIRE. */
static void test_waiter_repairs_with_its_own_lease(void **state)
{
    bowline_client *client = open_watch("&lease=2s");
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };

    (void)server_ask(redis, "SET lock " UUID);
    assert_int_equal(try_once(client, "lock"), BOWLINE_BUSY);
    assert_true(ttl_ms("lock") > 0 && ttl_ms("lock") <= 2000);
    assert_key("lock", UUID);
    listen_in();
    assert_int_equal(try_once(client, "lock"), BOWLINE_BUSY);
    assert_null(strstr(heard(), "EXPIRE")); /* it has one now */
    assert_status(BOWLINE_OK, acquire_within(&hold, client, "lock", 10000, &error), &error);
    must_release(hold);
    bowline_close(client);
}

static void test_release_of_what_is_another_uuid_is_lost(void **state)
{
    bowline_client *client = open_watch("");
    bowline_hold   *hold   = must_acquire(client, "lock");
    bowline_error   error  = { 0 };

    (void)server_ask(redis, "SET lock " UUID);
    listen_in();
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    expect_heard("\"WATCH\" \"lock\"\n\"GET\" \"lock\"\n\"UNWATCH\"\n");
    assert_key("lock", UUID);

    hold = must_acquire(client, "twice");
    (void)server_ask(redis, "DEL twice");
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    bowline_close(client);
}

enum { MANY = 200 };

/* They share a connection, and EXEC ends what everybody watches there. */
static void test_many_releases_at_once_on_one_connection(void **state)
{
    bowline_client    *client = open_watch("");
    bowline_hold      *holds[MANY];
    bowline_operation *operations[MANY];
    bowline_error      error = { 0 };
    char               name[16];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "lock%d", i);
        holds[i] = must_acquire(client, name);
    }
    for (int i = 0; i < MANY; i += 2) { /* every other one is somebody else's by now */
        (void)server_ask(redis, "SET lock%d " UUID, i);
    }
    for (int i = 0; i < MANY; i++)
        assert_status(BOWLINE_OK, bowline_release_start(&operations[i], holds[i], &error), &error);
    for (int i = 0; i < MANY; i++) {
        int wanted = i % 2 == 0 ? BOWLINE_LOST : BOWLINE_OK;
        assert_status(BOWLINE_OK, bowline_operation_wait(operations[i], 10000, &error), &error);
        assert_status(wanted, bowline_finish(operations[i], &error), &error);
    }
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "lock%d", i);
        assert_int_equal(is_there(name), i % 2 == 0);
    }
    bowline_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_starts),
        cmocka_unit_test_setup(test_waiter_repairs_with_its_own_lease, empty_server),
        cmocka_unit_test_setup(test_release_of_what_is_another_uuid_is_lost, empty_server),
        cmocka_unit_test_setup(test_many_releases_at_once_on_one_connection, empty_server),
    };

    return cmocka_run_group_tests_name("catalogue_watch", tests, NULL, stop_server);
}
