/*
 * test_catalogue_articles.c -- the locks of the articles against a real server: what each says on
 * the wire, word for word; two clients; expiry; release; strangers; and the article's own story, as
 * far as it needs no fault.
 */
#include "tests/lib/catalogue.h"

static const char *const names[] = {
    "setnx-del",    "setnx-del-expire", "setnx-stamp-del",
    "setnx-getset", "set-nx-ex",        "setnx-expire-watch",
};
enum { NAMES = sizeof names / sizeof names[0] };

static bowline_client *open_protocol(const char *name, const char *more)
{
    char options[128];

    (void)snprintf(options, sizeof options, "protocol=%s%s", name, more);
    return open_with(options);
}

/* When it is free, within ten seconds. */
static bowline_hold *acquire_when_free(bowline_client *client, const char *name)
{
    bowline_hold *hold  = NULL;
    bowline_error error = { 0 };

    assert_status(BOWLINE_OK, acquire_within(&hold, client, name, 10000, &error), &error);
    return hold;
}

static int release(bowline_hold *hold)
{
    bowline_error error = { 0 };

    return bowline_release(hold, &error);
}

/* A value from the server, as a number. */
static long long number_at(const char *key)
{
    return atoll(server_ask(redis, "GET %s", key));
}

/* ---- what all have in common ----------------------------------------------------------------- */

static void test_one_at_a_time_and_nothing_left(void **state)
{
    for (int i = 0; i < NAMES; i++) {
        bowline_client *a    = open_protocol(names[i], "");
        bowline_client *b    = open_protocol(names[i], "&wait=0ms");
        bowline_hold   *hold = must_acquire(a, "lock");
        print_message("# %s\n", names[i]);
        assert_int_equal(try_once(b, "lock"), BOWLINE_BUSY);
        assert_true(is_there("lock"));
        must_release(hold);
        assert_false(is_there("lock"));
        assert_int_equal(try_once(b, "lock"), BOWLINE_OK);
        assert_string_equal(server_ask(redis, "DBSIZE"), "0");
        bowline_close(a);
        bowline_close(b);
    }
}

/* Looked at by all of them, deleted by none; and said. */
static void test_value_of_a_stranger_is_left_alone(void **state)
{
    static const char *const sets[] = { "SET lock stranger", "RPUSH lock a",
                                        "SETRANGE lock 99999 x", "SETRANGE lock 9999999 x" };

    for (int i = 0; i < NAMES; i++) {
        for (int j = 0; j < 4; j++) {
            bowline_client *client = open_protocol(names[i], "");
            bowline_hold   *hold   = NULL;
            bowline_error   error  = { 0 };
            bool looks = strstr(names[i], "stamp") != NULL || strstr(names[i], "getset") != NULL ||
                         strstr(names[i], "watch") != NULL;

            (void)server_ask(redis, "FLUSHALL");
            (void)server_ask(redis, "%s", sets[j]);
            print_message("# %s: %s\n", names[i], sets[j]);
            assert_status(BOWLINE_BUSY,
                          acquire_within(&hold, client, "lock", BOWLINE_NO_WAIT, &error), &error);
            assert_int_equal(ttl_ms("lock"), -1);
            assert_int_equal(strstr(error.text, "foreign") != NULL, looks);
            assert_int_equal(try_once(client, "another"), BOWLINE_OK); /* the connection is good */
            bowline_close(client);
        }
    }
}

/* On a new connection there is no question that would tell whether the other lock is still held and
 * change nothing, so none is asked. */
static void test_hold_outlives_its_connection(void **state)
{
    for (int i = 0; i < NAMES; i++) {
        bowline_client *client = open_protocol(names[i], "");
        bowline_hold   *hold   = must_acquire(client, "lock");
        bowline_hold   *other  = must_acquire(client, "other");
        print_message("# %s\n", names[i]);
        server_hang_up(redis);
        sleep_ms(IDLE_MS);
        must_release(hold);
        must_release(
            must_acquire(client, "third")); /* a question about `other` would be answered */
        must_release(other);
        assert_string_equal(server_ask(redis, "DBSIZE"), "0");
        bowline_close(client);
    }
}

/* ---- setnx-del, setnx-del-expire ------------------------------------------------------------- */

/* The article: "once a release does not happen, there is a deadlock". */
static void test_setnx_del_locks_for_ever_when_nobody_releases(void **state)
{
    bowline_client *client = open_protocol("setnx-del", "");

    (void)server_ask(redis, "SETNX lock 1"); /* whoever this was is gone, ages ago */
    assert_int_equal(try_once(client, "lock"), BOWLINE_BUSY);
    assert_int_equal(ttl_ms("lock"), -1);
    bowline_close(client);
}

static void test_setnx_del_release_deletes_what_is_somebody_elses(void **state)
{
    bowline_client *client = open_protocol("setnx-del", "");
    bowline_hold   *hold   = must_acquire(client, "lock");

    (void)server_ask(redis, "SET lock another");
    must_release(hold);
    assert_false(is_there("lock"));

    hold = must_acquire(client, "lock");
    (void)server_ask(redis, "DEL lock");
    assert_int_equal(release(hold), BOWLINE_LOST); /* "release failed" */
    bowline_close(client);
}

/* ---- set-nx-ex ------------------------------------------------------------------------------- */

static void test_set_nx_ex_on_the_wire(void **state)
{
    bowline_client *client = open_protocol("set-nx-ex", "&lease=2500ms");

    listen_in();
    must_release(must_acquire(client, "lock"));
    expect_heard("\"SET\" \"lock\" \"1\" \"NX\" \"EX\" \"3\"\n\"DEL\" \"lock\"\n");
    bowline_close(client);
}

/* The article: P1 overran, and its DEL removes P2's lock.  P1's time is over before that here, and
 * its release says so instead. */
static void test_set_nx_ex_who_overran_is_told(void **state)
{
    bowline_client *p1    = open_protocol("set-nx-ex", "&lease=1s");
    bowline_client *p2    = open_protocol("set-nx-ex", "&lease=30s");
    bowline_hold   *first = must_acquire(p1, "lock");
    bowline_hold   *next  = acquire_when_free(p2, "lock"); /* the first lease has ended */

    assert_int_equal(release(first), BOWLINE_LOST);
    assert_true(is_there("lock"));
    must_release(next);
    bowline_close(p1);
    bowline_close(p2);
}

/* ---- setnx-stamp-del ------------------------------------------------------------------------- */

static void test_stamp_del_takes_over_what_has_expired(void **state)
{
    bowline_client *client = open_protocol("setnx-stamp-del", "&lease=10s");
    long long       now    = wall_ms() / 1000;
    long long       mine;

    (void)server_ask(redis, "SET lock %lld", now - 5);
    listen_in();
    bowline_hold *hold = must_acquire(client, "lock");
    mine               = number_at("lock");
    assert_true(mine >= now + 10 && mine <= wall_ms() / 1000 + 10);
    must_release(hold);
    const char *said = heard();
    assert_non_null(strstr(said, "\"GET\" \"lock\"\n\"PTTL\" \"lock\"\n\"DEL\" \"lock\"\n"
                                 "\"SETNX\" \"lock\""));
    assert_false(is_there("lock"));
    bowline_close(client);
}

static void test_stamp_del_leaves_what_has_not_expired(void **state)
{
    bowline_client *client = open_protocol("setnx-stamp-del", "");
    long long       ahead  = wall_ms() / 1000 + 1000;
    char            text[32];

    (void)server_ask(redis, "SET lock %lld", ahead);
    assert_int_equal(try_once(client, "lock"), BOWLINE_BUSY);
    (void)snprintf(text, sizeof text, "%lld", ahead);
    assert_key("lock", text);
    bowline_close(client);
}

/* ---- setnx-getset ---------------------------------------------------------------------------- */

static void test_getset_takes_over_what_has_expired(void **state)
{
    bowline_client *client = open_protocol("setnx-getset", "&lease=10s");
    const char     *said;

    (void)server_ask(redis, "SET lock 1500000000");
    listen_in();
    bowline_hold *hold = must_acquire(client, "lock");
    long long     mine = number_at("lock");
    must_release(hold);
    said = heard();
    assert_true(mine >= wall_ms() / 1000 + 7);
    assert_true(strncmp(said, "\"SETNX\" \"lock\" \"", 16) == 0);
    char wanted[256];
    (void)snprintf(
        wanted, sizeof wanted,
        "\n\"GET\" \"lock\"\n\"PTTL\" \"lock\"\n\"GETSET\" \"lock\" \"%lld\"\n\"GET\" \"lock\"\n"
        "\"DEL\" \"lock\"\n",
        mine);
    assert_string_equal(strchr(said, '\n'), wanted);
    bowline_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_starts),
        cmocka_unit_test_setup(test_one_at_a_time_and_nothing_left, empty_server),
        cmocka_unit_test_setup(test_value_of_a_stranger_is_left_alone, empty_server),
        cmocka_unit_test_setup(test_hold_outlives_its_connection, empty_server),
        cmocka_unit_test_setup(test_setnx_del_locks_for_ever_when_nobody_releases, empty_server),
        cmocka_unit_test_setup(test_setnx_del_release_deletes_what_is_somebody_elses, empty_server),
        cmocka_unit_test_setup(test_set_nx_ex_on_the_wire, empty_server),
        cmocka_unit_test_setup(test_set_nx_ex_who_overran_is_told, empty_server),
        cmocka_unit_test_setup(test_stamp_del_takes_over_what_has_expired, empty_server),
        cmocka_unit_test_setup(test_stamp_del_leaves_what_has_not_expired, empty_server),
        cmocka_unit_test_setup(test_getset_takes_over_what_has_expired, empty_server),
    };

    return cmocka_run_group_tests_name("catalogue_articles", tests, NULL, stop_server);
}
