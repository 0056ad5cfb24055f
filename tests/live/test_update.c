/*
 * test_update.c -- bowline_update against a real server: what is written, and what is a conflict
 * and what is not.
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

/* ---- what is written ------------------------------------------------------------------------- */

static void test_any_bytes_are_read_and_written(void **state)
{
    wanted w = { .choice = BOWLINE_UPDATE_WRITE, .value = "a\0\r\n\xff", .size = 5 };

    assert_int_equal(update("bytes with \r\n", want, &w), BOWLINE_OK);
    assert_false(w.was_there);
    assert_int_equal(update("bytes with \r\n", want, &w), BOWLINE_OK);
    assert_true(w.was_there);
    assert_int_equal(w.old_size, 5);
    assert_memory_equal(w.old_value, "a\0\r\n\xff", 6); /* and a NUL behind it */

    w = (wanted){ .choice = BOWLINE_UPDATE_WRITE }; /* nothing, which is not no key */
    assert_int_equal(update("empty", want, &w), BOWLINE_OK);
    assert_int_equal(update("empty", want, &w), BOWLINE_OK);
    assert_true(w.was_there);
    assert_int_equal(w.old_size, 0);
}

static void test_key_is_raw_and_in_the_database_of_the_url(void **state)
{
    counter c = { .calls = 0 };
    char    url[200];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d/3?key=lock:%%25s", redis->port);
    bowline_client *third = must_open(url);
    assert_int_equal(bowline_update(third, "{x}%", count_one, &c, NULL, NULL), BOWLINE_OK);
    bowline_close(third);
    assert_string_equal(server_ask(redis, "DBSIZE"), "0");
    assert_non_null(strstr(server_ask(redis, "INFO keyspace"), "db3:keys=1,"));
    assert_string_equal(server_ask(redis, "MOVE {x}%% 3"), "0");
    assert_string_equal(server_ask(redis, "SWAPDB 0 3"), "OK");
    assert_key("{x}%", "1");
}

static void test_function_that_deletes(void **state)
{
    wanted w = { .choice = BOWLINE_UPDATE_DELETE };

    (void)server_ask(redis, "SET k old");
    assert_int_equal(update("k", want, &w), BOWLINE_OK);
    assert_false(is_there("k"));
    assert_int_equal(update("k", want, &w), BOWLINE_OK); /* there is none: as it was wanted */
    assert_int_equal(w.calls, 2);
}

static void test_expiry_is_kept_taken_away_or_set(void **state)
{
    wanted w = { .choice = BOWLINE_UPDATE_WRITE, .value = "v", .size = 1 };

    (void)server_ask(redis, "SET k old PX 60000");
    assert_int_equal(update("k", want, &w), BOWLINE_OK);
    assert_in_range(ttl_ms("k"), 1000, 60000);
    w.lasts_ms = 5000000;
    assert_int_equal(update("k", want, &w), BOWLINE_OK);
    assert_in_range(ttl_ms("k"), 4000000, 5000000);
    w.lasts_ms = BOWLINE_FOREVER;
    assert_int_equal(update("k", want, &w), BOWLINE_OK);
    assert_int_equal(ttl_ms("k"), -1);
}

/* ---- conflicts ------------------------------------------------------------------------------- */

/* What another program does between reading and writing: this, the first so many times. */
typedef struct meddler {
    const char *command;
    unsigned    times;
} meddler;

static void meddle(void *arg, unsigned call)
{
    const meddler *m = arg;

    if (call <= m->times)
        (void)server_ask(redis, "%s", m->command);
}

static void touched_by(const char *before, const char *command, bool is_conflict, const char *after)
{
    meddler       m         = { .command = command, .times = 1 };
    counter       c         = { .between = meddle, .arg = &m };
    uint32_t      conflicts = 99;
    bowline_error error     = { 0 };

    (void)server_ask(redis, "FLUSHALL");
    if (before != NULL)
        (void)server_ask(redis, "%s", before);
    assert_status(BOWLINE_OK,
                  bowline_update(client, "k", count_one, &c,
                                 BOWLINE_UPDATE(.ret_conflicts = &conflicts), &error),
                  &error);
    assert_int_equal(conflicts, is_conflict ? 1 : 0);
    assert_int_equal(c.calls, is_conflict ? 2 : 1);
    assert_key("k", after);
}

static void test_what_touches_the_key_is_a_conflict(void **state)
{
    touched_by("SET k 5", "SET k 100", true, "101");
    touched_by("SET k 5", "INCR k", true, "7");
    touched_by("SET k 5", "DEL k", true, "1");
    touched_by(NULL, "SET k 5", true, "6");
    touched_by("SET k 5", "SET k 5", true, "6"); /* also as it was */
    touched_by("SET k 5", "PEXPIRE k 1000000", true, "6");
    touched_by("SET k 5", "FLUSHALL", true, "1");
    touched_by("SET k 5 PX 1000000", "PERSIST k", true, "6");
}

#define EACH(test) cmocka_unit_test_setup(test, empty_server)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_server_starts),
        EACH(test_any_bytes_are_read_and_written),
        EACH(test_key_is_raw_and_in_the_database_of_the_url),
        EACH(test_function_that_deletes),
        EACH(test_expiry_is_kept_taken_away_or_set),
        EACH(test_what_touches_the_key_is_a_conflict),
    };

    int failed = cmocka_run_group_tests_name("update", tests, NULL, NULL);
    bowline_close(client);
    server_stop(redis);
    return failed;
}
