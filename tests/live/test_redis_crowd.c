/*
 * test_redis_crowd.c -- many threads on one client: how many connections they use, and that their
 * commands go together.
 *
 * The server counts both: its clients, and how often it has read from a socket.  The judge of
 * exclusion is a counter that nothing guards but the lock.
 */
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>

enum { CROWD = 32, PAIRS = 60, LANES = 4 };

typedef struct member {
    pthread_t       thread;
    bowline_client *client;
    char            name[16];
    int            *inside; /* how many hold this name                                         */
    unsigned        pairs;
    int             status;
    bowline_error   error;
} member;

static void *work(void *arg)
{
    member *m = arg;

    for (unsigned i = 0; i < PAIRS && m->status == BOWLINE_OK; i++) {
        bowline_hold *hold = NULL;
        m->status          = acquire_within(&hold, m->client, m->name, 30000, &m->error);
        if (m->status != BOWLINE_OK)
            break;
        int others = __atomic_fetch_add(m->inside, 1, __ATOMIC_SEQ_CST);
        (void)__atomic_fetch_sub(m->inside, 1, __ATOMIC_SEQ_CST);
        m->status = bowline_release(hold, &m->error);
        if (others != 0)
            m->status = 1;
        m->pairs++;
    }
    return NULL;
}

/* `names`: how many names they have between them. */
static void let_crowd_work(bowline_client *client, unsigned names)
{
    static int inside[CROWD];
    member     crowd[CROWD] = { { .pairs = 0 } };

    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i].client = client;
        crowd[i].inside = &inside[i % names];
        (void)snprintf(crowd[i].name, sizeof crowd[i].name, "crowd-%u", i % names);
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, work, &crowd[i]), 0);
    }
    for (unsigned i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
    for (unsigned i = 0; i < CROWD; i++) {
        assert_status(BOWLINE_OK, crowd[i].status, &crowd[i].error);
        assert_int_equal(crowd[i].pairs, PAIRS);
    }
}

/* A figure of INFO. */
static long long figure(const char *section, const char *name)
{
    char question[64];

    (void)snprintf(question, sizeof question, "INFO %s", section);
    const char *answer = server_ask(redis, "%s", question);
    const char *found  = strstr(answer, name);
    assert_non_null(found);
    return strtoll(found + strlen(name) + 1, NULL, 10);
}

static void test_crowd_has_a_few_connections(void **state)
{
    bowline_client *client = must_open(redis->tcp_url);
    long long       before = figure("stats", "total_connections_received");

    let_crowd_work(client, CROWD);
    long long opened = figure("stats", "total_connections_received") - before;
    opened -= 1; /* the one of this question */
    assert_in_range(opened, 2, LANES);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

/* Each would otherwise be read by itself: as many reads as commands. */
static void test_crowd_sends_its_commands_together(void **state)
{
    bowline_client *client = must_open(redis->tcp_url);

    let_crowd_work(client, CROWD); /* the connections are there now, and the scripts known */
    long long reads    = figure("stats", "total_reads_processed");
    long long commands = figure("stats", "total_commands_processed");
    let_crowd_work(client, CROWD);
    reads    = figure("stats", "total_reads_processed") - reads;
    commands = figure("stats", "total_commands_processed") - commands;
    print_message("# %lld commands in %lld reads\n", commands, reads);
    assert_true(commands >= 2 * CROWD * PAIRS);
    assert_true(reads * 4 < commands * 3);
    bowline_close(client);
}

/* One descriptor for an event loop: what is behind it is one connection. */
static void test_crowd_on_a_client_of_an_event_loop_has_one_connection(void **state)
{
    bowline_client *client = must_open(redis->tcp_url);
    long long       before = figure("stats", "total_connections_received");

    assert_true(bowline_fd(client) >= 0);
    let_crowd_work(client, CROWD);
    assert_int_equal(figure("stats", "total_connections_received") - before, 2);
    bowline_close(client);
}

/* Until the server has noticed who has gone, there is no room for us either. */
static void allow(const char *clients)
{
    const char *answer = NULL;

    for (int64_t end = clock_ms() + 10000; clock_ms() < end; sleep_ms(2)) {
        answer = server_may_say(redis, "CONFIG SET maxclients %s", clients);
        if (answer != NULL && strcmp(answer, "OK") == 0)
            return;
    }
    fail_msg("no room at the server: %s", answer != NULL ? answer : "it hangs up");
}

/* No room for one more: those that there are do. */
static void test_crowd_goes_on_where_the_server_takes_no_more(void **state)
{
    assert_string_equal(server_ask(redis, "CONFIG SET maxclients 3"), "OK");
    bowline_client *client = must_open(redis->tcp_url);
    let_crowd_work(client, CROWD);
    bowline_close(client);
    allow("10000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crowd_has_a_few_connections),
        cmocka_unit_test(test_crowd_sends_its_commands_together),
        cmocka_unit_test(test_crowd_on_a_client_of_an_event_loop_has_one_connection),
        cmocka_unit_test(test_crowd_goes_on_where_the_server_takes_no_more),
    };

    return cmocka_run_group_tests_name("redis_crowd", tests, start_server, stop_server);
}
