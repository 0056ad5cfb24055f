/*
 * test_redis_resp2.c -- a server that knows no HELLO (the command is renamed; an old proxy does the
 * same): protocol token speaks the older language with it, and protocol queue says why it cannot.
 */
#include "tests/lib/counter.h"
#include "tests/lib/judged.h"
#include "tests/lib/line.h"
#include "tests/lib/shared_server.h"

#include <stdio.h>
#include <stdlib.h>

#define WITHOUT_HELLO "--rename-command HELLO is-not-known"

static char token_url[200];
static char queue_url[200];

static void test_token_is_taken_extended_asked_for_and_given_back(void **state)
{
    bowline_hold  *never  = NULL;
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error  = { 0 };

    bowline_client *client = must_open(token_url);
    bowline_client *other  = must_open(token_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    assert_status(BOWLINE_BUSY, acquire_within(&never, other, "x", 0, &error), &error);
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, &error), &error);
    assert_status(BOWLINE_OK, bowline_who(other, "x", &holder, &error), &error);
    assert_true(holder.held && !holder.foreign);
    must_release(hold);
    assert_status(BOWLINE_OK, bowline_who(other, "x", &holder, &error), &error);
    assert_false(holder.held);
    bowline_close(other);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

/* The connection breaks while the lock is held, and the next one is greeted as the first was. */
static void test_token_is_kept_when_connections_break(void **state)
{
    witness *judge = witness_new();

    bowline_client *client = must_open(token_url);
    bowline_hold   *hold   = must_acquire(client, "x");
    believer       *b      = believer_start(judge, hold);
    rival          *r      = rival_start(judge, token_url, "x");
    for (int i = 0; i < 5; i++) {
        (void)server_ask(redis, "CLIENT KILL TYPE normal SKIPME yes");
        sleep_ms(20);
        assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    }
    assert_int_equal(rival_turns(r), 0);
    (void)believer_stop(b);
    must_release(hold);
    assert_true(rival_gets_a_turn(r));
    rival_stop(r);
    assert_one_at_a_time(judge);
    judge_dismiss(judge);
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

static void test_token_with_a_password_is_who_it_says(void **state)
{
    char          text[200];
    bowline_error error = { 0 };
    bowline_hold *never = NULL;

    (void)server_ask(redis, "ACL SETUSER ann on >right ~* +@all");
    (void)snprintf(text, sizeof text, "redis://ann:right@127.0.0.1:%d?protocol=token", redis->port);
    bowline_client *client = must_open(text);
    bowline_hold   *hold   = must_acquire(client, "x");
    assert_non_null(strstr(server_ask(redis, "CLIENT LIST"), "user=ann"));
    must_release(hold);
    bowline_close(client);
    (void)snprintf(text, sizeof text, "redis://ann:wrong@127.0.0.1:%d?protocol=token", redis->port);
    client = must_open(text);
    assert_status(BOWLINE_REFUSED, acquire_within(&never, client, "x", 500, &error), &error);
    assert_non_null(strstr(error.text, "WRONGPASS"));
    assert_null(strstr(error.text, "wrong@"));
    bowline_close(client);
    (void)server_ask(redis, "ACL DELUSER ann");
    assert_true(server_becomes_empty(redis));
}

enum { THREADS = 4, ROUNDS = 50 };

static void *count_up(void *client)
{
    counter c = { .calls = 0 };

    for (int i = 0; i < ROUNDS;)
        i += bowline_update(client, "k", count_one, &c, NULL, NULL) == BOWLINE_OK;
    return NULL;
}

/* An EXEC that was not carried out is answered by another kind of nothing. */
static void test_update_of_many_loses_nothing(void **state)
{
    pthread_t       threads[THREADS];
    char            text[220];
    bowline_client *client;

    (void)snprintf(text, sizeof text, "%s&key=%%25s", token_url);
    client = must_open(text);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, client), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_string_equal(server_ask(redis, "GET k"), "200");
    bowline_close(client);
    (void)server_ask(redis, "DEL k");
}

static void test_queue_is_refused_with_what_to_type(void **state)
{
    bowline_error error = { 0 };
    bowline_hold *never = NULL;

    bowline_client *client = must_open(queue_url);
    for (int i = 0; i < 2; i++) {
        assert_status(BOWLINE_REFUSED, acquire_within(&never, client, "x", i * 500, &error),
                      &error);
        assert_non_null(strstr(error.text, "HELLO 3"));
        assert_non_null(strstr(error.text, "protocol=token"));
    }
    bowline_close(client);
    assert_true(line_leaves_nothing(redis));
}

static int open_server(void **state)
{
    server_needed();
    redis = server_start(WITHOUT_HELLO);
    (void)snprintf(token_url, sizeof token_url, "%s?protocol=token", redis->tcp_url);
    (void)snprintf(queue_url, sizeof queue_url, "%s?protocol=queue", redis->tcp_url);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_is_taken_extended_asked_for_and_given_back),
        cmocka_unit_test(test_token_is_kept_when_connections_break),
        cmocka_unit_test(test_token_with_a_password_is_who_it_says),
        cmocka_unit_test(test_update_of_many_loses_nothing),
        cmocka_unit_test(test_queue_is_refused_with_what_to_type),
    };

    return cmocka_run_group_tests_name("redis_resp2", tests, open_server, stop_server);
}
