/*
 * test_update_refused.c -- what bowline_update cannot change: a key that is no string, a value that
 * is too long, what the user has no right to, a server without memory.  Nothing is written then.
 */
#include "tests/lib/catalogue.h"
#include "tests/lib/counter.h"

static bowline_client *client;

static void test_own_server_starts(void **state)
{
    redis  = server_start("");
    client = must_open(redis->tcp_url);
}

static int update(const char *key, bowline_compute compute, void *context)
{
    return bowline_update(client, key, compute, context, NULL, NULL);
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static void test_key_of_another_type_is_refused_and_left(void **state)
{
    counter       c     = { .calls = 0 };
    bowline_error error = { 0 };

    (void)server_ask(redis, "RPUSH k a b");
    listen_in();
    assert_status(BOWLINE_REFUSED, bowline_update(client, "k", count_one, &c, NULL, &error),
                  &error);
    expect_heard("\"WATCH\" \"k\"\n\"GET\" \"k\"\n\"MULTI\"\n\"DISCARD\"\n");
    assert_string_equal(error.text, "k: the key is no string, but a list, a hash or the like");
    assert_int_equal(c.calls, 0);
    assert_string_equal(server_ask(redis, "LLEN k"), "2");
}

static void test_longest_value_and_one_that_is_longer(void **state)
{
    static char   longest[BOWLINE_VALUE_MAX + 1];
    wanted        w     = { .choice = BOWLINE_UPDATE_WRITE, .value = longest };
    bowline_error error = { 0 };

    memset(longest, 'v', sizeof longest);
    w.size = BOWLINE_VALUE_MAX;
    assert_int_equal(update("k", want, &w), BOWLINE_OK);
    assert_int_equal(update("k", want, &w), BOWLINE_OK);
    assert_int_equal(w.old_size, BOWLINE_VALUE_MAX);
    w.size++;
    assert_status(BOWLINE_USAGE, bowline_update(client, "k", want, &w, NULL, &error), &error);
    assert_non_null(strstr(error.text, "65536"));
    assert_string_equal(server_ask(redis, "APPEND k v"), "65537");
    w.calls = 0;
    assert_status(BOWLINE_UNSUPPORTED, bowline_update(client, "k", want, &w, NULL, &error), &error);
    assert_non_null(strstr(error.text, "longer than the 65536 bytes"));
    assert_int_equal(w.calls, 0);
    assert_string_equal(server_ask(redis, "STRLEN k"), "65537");
    assert_int_equal(count_on(client, "after", NULL, NULL), BOWLINE_OK);
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* A user who may do everything but this. */
static void forbidden(const char *command)
{
    counter         c     = { .calls = 0 };
    bowline_error   error = { 0 };
    char            url[200];
    bowline_client *poor;

    (void)server_ask(redis, "ACL SETUSER poor reset on >pw ~* +@all -%s", command);
    (void)server_ask(redis, "SET k 5");
    (void)snprintf(url, sizeof url, "redis://poor:pw@127.0.0.1:%d", redis->port);
    poor = must_open(url);
    for (int i = 0; i < 2; i++) {
        assert_status(BOWLINE_REFUSED, bowline_update(poor, "k", count_one, &c, NULL, &error),
                      &error);
        if (strstr(error.text, "NOPERM") == NULL || strstr(error.text, command) == NULL)
            fail_msg("without %s: %s", command, error.text);
        assert_key("k", "5");
    }
    /* What it had begun is not in the way of the next one. */
    (void)server_ask(redis, "ACL SETUSER poor +@all");
    assert_status(BOWLINE_OK, bowline_update(poor, "k", count_one, &c, NULL, &error), &error);
    assert_key("k", "6");
    bowline_close(poor);
}

/* Above all without MULTI: the SET would be carried out at once. */
static void test_user_without_a_right_is_told_which_and_nothing_is_written(void **state)
{
    forbidden("watch");
    forbidden("get");
    forbidden("multi");
    forbidden("set");
    forbidden("exec");
}

static void test_server_out_of_memory_refuses(void **state)
{
    counter       c     = { .calls = 0 };
    bowline_error error = { 0 };

    (void)server_ask(redis, "SET k 5");
    (void)server_ask(redis, "CONFIG SET maxmemory 1");
    int status = bowline_update(client, "k", count_one, &c, BOWLINE_UPDATE(.tries_max = 2), &error);
    (void)server_ask(redis, "CONFIG SET maxmemory 0");
    assert_status(BOWLINE_REFUSED, status, &error);
    assert_non_null(strstr(error.text, "OOM"));
    assert_key("k", "5");
    assert_int_equal(count_on(client, "k", NULL, NULL), BOWLINE_OK);
    assert_key("k", "6");
}

#define EACH(test) cmocka_unit_test_setup(test, empty_server)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_server_starts),
        EACH(test_key_of_another_type_is_refused_and_left),
        EACH(test_longest_value_and_one_that_is_longer),
        EACH(test_user_without_a_right_is_told_which_and_nothing_is_written),
        EACH(test_server_out_of_memory_refuses),
    };

    int failed = cmocka_run_group_tests_name("update_refused", tests, NULL, NULL);
    bowline_close(client);
    server_stop(redis);
    return failed;
}
