/*
 * Counts the commands that clients send to a server, without those inside of scripts.
 */
#include "tests/lib/suite.h"

#include "bench/world/watch.h"

#include <hiredis/hiredis.h>

#include "bench/world/server.h"
#include "tests/lib/server.h"

typedef struct world {
    bench_janitor janitor;
    bench_server  server;
    redisContext *context;
} world;

static world there;

static int begin(void **state)
{
    bench_failure failure;

    server_needed();
    if (bench_janitor_hire(&there.janitor, &failure) < 0 ||
        bench_server_start(&there.server, &there.janitor, &failure) < 0)
        return -1;
    there.context = redisConnect("127.0.0.1", there.server.port);
    return there.context != NULL && there.context->err == 0 ? 0 : -1;
}

static int end(void **state)
{
    redisFree(there.context);
    bench_server_stop(&there.server, &there.janitor);
    bench_janitor_dismiss(&there.janitor);
    return 0;
}

static void say(const char *command)
{
    redisReply *reply = redisCommand(there.context, command);

    assert_non_null(reply);
    freeReplyObject(reply);
}

TEST(commands_inside_scripts_are_not_counted)
{
    bench_watch   watch = { .info = NULL };
    bench_failure failure;
    double        commands = 0;

    assert_int_equal(bench_watch_open(&watch, there.server.port, &failure), 0);
    say("SET a 0");
    assert_int_equal(bench_watch_begin(&watch, there.server.port, &failure), 0);
    for (unsigned i = 0; i < 3; i++)
        say("EVAL redis.call('incr','a')redis.call('incr','a')return{} 0");
    say("GET a");
    assert_int_equal(bench_watch_end(&watch, &commands, &failure), 0);
    say("GET a");
    assert_int_equal(commands, 4);

    /* And again, from zero. */
    assert_int_equal(bench_watch_begin(&watch, there.server.port, &failure), 0);
    say("GET lua]");
    assert_int_equal(bench_watch_end(&watch, &commands, &failure), 0);
    assert_int_equal(commands, 1);
    bench_watch_close(&watch);
}

TEST(named_commands_are_counted_separately)
{
    bench_watch   watch = { .apart = { "heartbeat", "confirm" } };
    bench_failure failure;
    double        commands = 0;

    assert_int_equal(bench_watch_open(&watch, there.server.port, &failure), 0);
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(bench_watch_begin(&watch, there.server.port, &failure), 0);
        say("GET heartbeat");
        say("GET confirm");
        say("GET confirm");
        say("GET a");
        assert_int_equal(bench_watch_end(&watch, &commands, &failure), 0);
        assert_int_equal(commands, 1);
        assert_int_equal(watch.apart_commands[0], 1);
        assert_int_equal(watch.apart_commands[1], 2);
    }
    bench_watch_close(&watch);
}

TEST(cpu_of_the_server_grows)
{
    bench_watch   watch = { .info = NULL };
    bench_failure failure;
    double        before = 0, after = 0;

    assert_int_equal(bench_watch_open(&watch, there.server.port, &failure), 0);
    assert_int_equal(bench_watch_cpu(&watch, &before, &failure), 0);
    for (unsigned i = 0; i < 2000; i++)
        say("SET a 0");
    assert_int_equal(bench_watch_cpu(&watch, &after, &failure), 0);
    assert_true(before > 0);
    assert_true(after > before);
    bench_watch_close(&watch);
}

TEST(watch_may_be_closed_while_it_counts)
{
    bench_watch   watch = { .info = NULL };
    bench_failure failure;

    assert_int_equal(bench_watch_open(&watch, there.server.port, &failure), 0);
    assert_int_equal(bench_watch_begin(&watch, there.server.port, &failure), 0);
    bench_watch_close(&watch);
    bench_watch_close(&watch);
}

AROUND(begin, end)
