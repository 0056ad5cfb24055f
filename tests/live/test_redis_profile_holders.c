/*
 * test_redis_profile_holders.c -- who holds a lock of another program, on a real server: the values
 * that the other program writes are known as locks, and exactly that lock is broken.
 *
 * The values are as the programs themselves write them, which is not always as bowline does.
 */
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct theirs {
    const char *options; /* of the URL                                                          */
    const char *key;     /* of the lock "nightly"                                               */
    const char *value;   /* for EVAL: backslashes are Lua's                                     */
    const char *list;    /* that a release pushes to; NULL: none                                */
} theirs;

#define GUID "9e3779b9-7f4a-4c15-b39c-c0605cedc834"
#define BARE "e973979bf7a44c759cc372038175b323"

static const theirs values[] = {
    { "profile=redis-py", "nightly", "4902a0d0e61411f19a6002fc00000001", NULL },
    { "profile=django-redis", ":1:nightly", "4902a0d0e61411f19a6002fc00000001", NULL },
    { "profile=walrus", "lock:nightly", "\\0\\1\\10\\13abcdefghijklmnopqrstuvw\\255\\254\\0\\31z",
      "lock.event:nightly" },
    { "profile=python-redis-lock", "lock:nightly", "eeTe5+nS8Vx8cCMYc1Oy04oO",
      "lock-signal:nightly" },
    { "profile=shedlock&accept-risk=1", "job-lock:default:nightly",
      "ADDED:2026-11-22T00:31:00.123Z@web-1:" GUID, NULL },
    { "profile=shedlock&accept-risk=1", "job-lock:default:nightly",
      "ADDED:2024-11-22T00:31:00.123Z@web-1", NULL },
    { "profile=distributedlock", "nightly", "DESKTOP_7_1234_" BARE, NULL },
    { "profile=bsm-redislock", "nightly", "njd5uX9KfBXznMBgXO3INAmy metadata", NULL },
    { "profile=rueidislock&accept-risk=1&key=rueidislock:0:%25s", "rueidislock:0:nightly",
      "\\0\\1\\10\\13abcdefghijklmno\\255\\254\\0\\31z", NULL },
};

static bowline_client *open_with(const char *options)
{
    char url[300];

    (void)snprintf(url, sizeof url, "%s?%s&wait=0s", redis->tcp_url, options);
    return must_open(url);
}

static bowline_holder who(bowline_client *client)
{
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error;

    assert_status(BOWLINE_OK, bowline_who(client, "nightly", &holder, &error), &error);
    assert_int_equal(holder.held, 1);
    print_message("# %s\n", holder.note);
    return holder;
}

/* By EVAL, for values that have any bytes. */
static void set(const theirs *v)
{
    (void)server_ask(redis,
                     "EVAL 'return redis.call(\"SET\", KEYS[1], \"%s\", \"PX\", 20000)' 1 %s",
                     v->value, v->key);
    assert_string_equal(server_ask(redis, "EXISTS %s", v->key), "1");
}

static void test_holder_of_the_other_program_is_known(void **state)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        bowline_client *client = open_with(values[i].options);
        print_message("# %s\n", values[i].options);
        set(&values[i]);
        assert_int_equal(try_once(client, "nightly"), BOWLINE_BUSY);
        bowline_holder holder = who(client);
        assert_int_equal(holder.foreign, 0);
        assert_true(holder.id != 0);
        assert_string_equal(holder.note, "");
        assert_true(holder.left_ms > 0 && holder.left_ms <= 20000);
        (void)server_ask(redis, "SET %s somebody PX 20000", values[i].key);
        holder = who(client);
        assert_int_equal(holder.foreign, 1);
        assert_true(holder.id == 0);
        (void)server_ask(redis, "FLUSHALL");
        bowline_close(client);
    }
}

static void test_holder_of_the_other_program_is_broken_and_no_other(void **state)
{
    bowline_error error;

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        bowline_client *client = open_with(values[i].options);
        print_message("# %s\n", values[i].options);
        set(&values[i]);
        uint64_t id = who(client).id;
        (void)server_ask(redis, "SET %s somebody PX 20000", values[i].key);
        assert_true(bowline_break(client, "nightly", id, &error) < 0);
        assert_string_equal(server_ask(redis, "GET %s", values[i].key), "somebody");
        set(&values[i]);
        assert_status(BOWLINE_OK, bowline_break(client, "nightly", id, &error), &error);
        assert_string_equal(server_ask(redis, "EXISTS %s", values[i].key), "0");
        if (values[i].list != NULL)
            assert_string_equal(server_ask(redis, "LLEN %s", values[i].list), "1");
        (void)server_ask(redis, "FLUSHALL");
        bowline_close(client);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

#define TEST(name) cmocka_unit_test_teardown(name, nothing_is_left)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_holder_of_the_other_program_is_known),
        TEST(test_holder_of_the_other_program_is_broken_and_no_other),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
