/*
 * test_update.c -- bowline_update with a real server: what it writes, conflicts, values that it
 * refuses and leaves unchanged, and many writers at once.
 */
#include "tests/lib/catalogue.h"
#include "tests/lib/counter.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <stdio.h>

static bowline_client *client;

static int start_redis(void **state)
{
    redis  = server_start("");
    client = must_open(redis->tcp_url);
    return 0;
}

static int stop_redis(void **state)
{
    bowline_close(client);
    return stop_server(state);
}

AROUND(start_redis, stop_redis)
FIXTURE(empty_server, NULL)

static int update(const char *key, bowline_compute compute, void *context)
{
    return bowline_update(client, key, compute, context, NULL, NULL);
}

/* ---- what is written ------------------------------------------------------------------------- */

TEST(update_reads_and_writes_any_bytes)
{
    wanted w = { .choice = BOWLINE_UPDATE_WRITE, .value = "a\0\r\n\xff", .size = 5 };

    assert_int_equal(update("bytes with \r\n", want, &w), BOWLINE_OK);
    assert_false(w.was_there);
    assert_int_equal(update("bytes with \r\n", want, &w), BOWLINE_OK);
    assert_true(w.was_there);
    assert_int_equal(w.old_size, 5);
    assert_memory_equal(w.old_value, "a\0\r\n\xff", 6); /* with a NUL behind it */

    w = (wanted){ .choice = BOWLINE_UPDATE_WRITE }; /* an empty value is not a missing key */
    assert_int_equal(update("empty", want, &w), BOWLINE_OK);
    assert_int_equal(update("empty", want, &w), BOWLINE_OK);
    assert_true(w.was_there);
    assert_int_equal(w.old_size, 0);
}

TEST(update_uses_the_raw_key_in_the_database_of_the_url)
{
    counter         c     = { .calls = 0 };
    bowline_client *third = must_open_url("redis://127.0.0.1:%d/3?key=lock:%%25s", redis->port);

    assert_int_equal(bowline_update(third, "{x}%", count_one, &c, NULL, NULL), BOWLINE_OK);
    bowline_close(third);
    assert_string_equal(server_ask(redis, "DBSIZE"), "0");
    assert_non_null(strstr(server_ask(redis, "INFO keyspace"), "db3:keys=1,"));
    assert_string_equal(server_ask(redis, "MOVE {x}%% 3"), "0");
    assert_string_equal(server_ask(redis, "SWAPDB 0 3"), "OK");
    assert_key("{x}%", "1");
}

TEST(update_deletes_the_key)
{
    wanted w = { .choice = BOWLINE_UPDATE_DELETE };

    (void)server_ask(redis, "SET k old");
    assert_int_equal(update("k", want, &w), BOWLINE_OK);
    assert_false(is_there("k"));
    assert_int_equal(update("k", want, &w), BOWLINE_OK); /* no key: nothing to delete */
    assert_int_equal(w.calls, 2);
}

TEST(update_keeps_removes_or_sets_the_expiry)
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

/* The command of another program between the read and the write, in the first `times` calls. */
typedef struct other_writer {
    const char *command;
    unsigned    times;
} other_writer;

static void run_other_writer(void *arg, unsigned call)
{
    const other_writer *m = arg;

    if (call <= m->times)
        (void)server_ask(redis, "%s", m->command);
}

static void check_conflict(const char *before, const char *command, bool is_conflict,
                           const char *after)
{
    other_writer  m         = { .command = command, .times = 1 };
    counter       c         = { .between = run_other_writer, .arg = &m };
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

TEST(update_conflicts_with_each_change_of_the_key)
{
    check_conflict("SET k 5", "SET k 100", true, "101");
    check_conflict("SET k 5", "INCR k", true, "7");
    check_conflict("SET k 5", "DEL k", true, "1");
    check_conflict(NULL, "SET k 5", true, "6");
    check_conflict("SET k 5", "SET k 5", true, "6"); /* also with the same value */
    check_conflict("SET k 5", "PEXPIRE k 1000000", true, "6");
    check_conflict("SET k 5", "FLUSHALL", true, "1");
    check_conflict("SET k 5 PX 1000000", "PERSIST k", true, "6");
}

/* ---- refused values -------------------------------------------------------------------------- */

TEST(update_of_another_type_is_refused_and_changes_nothing)
{
    counter       c     = { .calls = 0 };
    bowline_error error = { 0 };

    (void)server_ask(redis, "RPUSH k a b");
    start_monitor();
    assert_status(BOWLINE_REFUSED, bowline_update(client, "k", count_one, &c, NULL, &error),
                  &error);
    expect_monitored("\"WATCH\" \"k\"\n\"GET\" \"k\"\n\"MULTI\"\n\"DISCARD\"\n");
    assert_string_equal(error.text, "k: the key is no string, but a list, a hash or the like");
    assert_int_equal(c.calls, 0);
    assert_string_equal(server_ask(redis, "LLEN k"), "2");
}

TEST(update_accepts_the_longest_value_and_no_longer_one)
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

/* ---- permissions ----------------------------------------------------------------------------- */

/* A user with all permissions but this one. */
static void check_without(const char *command)
{
    counter       c     = { .calls = 0 };
    bowline_error error = { 0 };

    (void)server_ask(redis, "ACL SETUSER poor reset on >pw ~* +@all -%s", command);
    (void)server_ask(redis, "SET k 5");
    bowline_client *limited = must_open_url("redis://poor:pw@127.0.0.1:%d", redis->port);
    for (int i = 0; i < 2; i++) {
        assert_status(BOWLINE_REFUSED, bowline_update(limited, "k", count_one, &c, NULL, &error),
                      &error);
        if (strstr(error.text, "NOPERM") == NULL || strstr(error.text, command) == NULL)
            fail_msg("without %s: %s", command, error.text);
        assert_key("k", "5");
    }
    /* The next update is not affected by the failed one. */
    (void)server_ask(redis, "ACL SETUSER poor +@all");
    assert_status(BOWLINE_OK, bowline_update(limited, "k", count_one, &c, NULL, &error), &error);
    assert_key("k", "6");
    bowline_close(limited);
}

/* MULTI matters most: without it the SET would be executed at once. */
TEST(update_without_a_permission_is_refused_and_writes_nothing)
{
    check_without("watch");
    check_without("get");
    check_without("multi");
    check_without("set");
    check_without("exec");
}

TEST(update_is_refused_when_the_server_is_out_of_memory)
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

/* ---- wrong calls ----------------------------------------------------------------------------- */

TEST(update_with_an_invalid_change_is_usage_and_writes_nothing)
{
    wanted bad[] = {
        { .choice = 3 },
        { .choice = BOWLINE_UPDATE_WRITE, .size = 1 },
        { .choice = BOWLINE_UPDATE_WRITE, .value = "v", .size = 1, .lasts_ms = -2 },
        { .choice = BOWLINE_UPDATE_WRITE, .value = "v", .size = 1, .lasts_ms = 1LL << 31 },
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        bowline_error error = { 0 };
        assert_status(BOWLINE_USAGE,
                      bowline_update(client, "a\nb\x7f", want, &bad[i], NULL, &error), &error);
        assert_non_null(strstr(error.text, "a?b?: the function has "));
        assert_false(is_there("a\nb\x7f"));
    }
}

static int update_again(bowline_change *change, void *context)
{
    counter       c     = { .calls = 0 };
    bowline_error error = { 0 };

    assert_status(BOWLINE_USAGE, bowline_update(client, "inner", count_one, &c, NULL, &error),
                  &error);
    assert_non_null(strstr(error.text, "may not call bowline_update"));
    return BOWLINE_UPDATE_LEAVE;
}

TEST(update_inside_an_update_is_usage)
{
    assert_int_equal(update("outer", update_again, NULL), BOWLINE_OK);
    assert_false(is_there("inner"));
    assert_int_equal(count_on(client, "outer", NULL, NULL), BOWLINE_OK);
}

/* ---- a server that restarts ------------------------------------------------------------------ */

static void restart_server(void *arg, unsigned call)
{
    if (call == 1) {
        server_restart(redis);
        sleep_ms(IDLE_MS);
    }
}

/* The WATCH ended with the connection, so the computed value is not written over the new one. */
TEST(update_reads_again_after_a_restart_of_the_server)
{
    counter         c       = { .between = restart_server };
    bowline_client *updater = must_open(redis->tcp_url);
    bowline_error   error   = { 0 };

    (void)server_ask(redis, "SET sum 41");
    assert_status(BOWLINE_OK, bowline_update(updater, "sum", count_one, &c, NULL, &error), &error);
    assert_int_equal(c.calls, 2);
    assert_string_equal(c.before, "-"); /* the restarted server is empty */
    assert_key("sum", "1");
    bowline_close(updater);
}

/* ---- many writers ---------------------------------------------------------------------------- */

enum { CONNECTIONS = 16, CROWD = 24, EACH_ADDS = 40 };

typedef struct writer {
    pthread_t       thread;
    bowline_client *updater;
    uint64_t        conflicts;
    int             status;
    bowline_error   error;
} writer;

static void *add(void *arg)
{
    writer *m = arg;

    for (unsigned i = 0; i < EACH_ADDS && m->status == BOWLINE_OK; i++) {
        uint32_t conflicts = 0;
        m->status          = count_on(m->updater, "sum", &conflicts, &m->error);
        m->conflicts += conflicts;
    }
    return NULL;
}

static uint64_t add_in_threads(bowline_client *updater, unsigned threads)
{
    writer   crowd[CROWD] = { { .updater = NULL } };
    uint64_t conflicts    = 0;

    for (unsigned i = 0; i < threads; i++) {
        crowd[i].updater = updater;
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, add, &crowd[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++) {
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
        assert_status(BOWLINE_OK, crowd[i].status, &crowd[i].error);
        conflicts += crowd[i].conflicts;
    }
    return conflicts;
}

static void expect_sum(long long sum)
{
    assert_int_equal(atoll(server_ask(redis, "GET sum")), sum);
    (void)server_ask(redis, "DEL sum");
}

/* The number of connections of the server. */
static long connected(void)
{
    const char *field = strstr(server_ask(redis, "INFO clients"), "connected_clients:");

    assert_non_null(field);
    return strtol(field + strlen("connected_clients:"), NULL, 10);
}

/* More threads than connections: some threads wait for one. */
TEST(update_loses_nothing_with_many_threads)
{
    bowline_client *updater = must_open(redis->tcp_url);
    unsigned        before  = count_descriptors();

    uint64_t conflicts = add_in_threads(updater, CROWD);
    expect_sum(CROWD * EACH_ADDS);
    assert_true(conflicts > 0);
    assert_in_range(connected(), 2, CONNECTIONS + 1); /* plus the connection of the test */
    bowline_close(updater);
    assert_true(count_descriptors() <= before);
}
