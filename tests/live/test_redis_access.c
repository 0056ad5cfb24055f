/*
 * test_redis_access.c -- passwords and users of a real server, and a server without HELLO.
 *
 * After a refusal nothing is sent under another name, and no error text holds a password.
 */
#include "tests/lib/counter.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>

#define CANARY "c4n4ry-5ecret"

static int acquire_as(const char *who, bowline_error *reterr)
{
    bowline_client *client = must_open_url("redis://%s127.0.0.1:%d", who, redis->port);
    bowline_hold   *hold   = NULL;
    int             status = acquire_within(&hold, client, "access", 300, reterr);

    if (status == BOWLINE_OK)
        status = bowline_release(hold, reterr);
    bowline_close(client);
    return status;
}

static void must_be_refused(const char *who)
{
    bowline_error error = { 0 };

    assert_status(BOWLINE_REFUSED, acquire_as(who, &error), &error);
    if (strstr(error.text, CANARY) != NULL)
        fail_msg("the text holds the password: %s", error.text);
}

FIXTURE(NULL, nothing_is_left)

/* The default user needs no password at first, and a wrong one does not fall back to it. */
TEST(wrong_password_is_refused_and_nothing_is_written)
{
    static const char *const wrong[] = { "locker:" CANARY "@", "nobody:" CANARY "@", "locker:@",
                                         "disabled:right@" };
    bowline_error            error   = { 0 };

    (void)server_ask(redis, "CONFIG RESETSTAT");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        must_be_refused(wrong[i]);
    assert_string_equal(server_ask(redis, "ACL SETUSER default on resetpass >secret ~* &* +@all"),
                        "OK");
    must_be_refused(":" CANARY "@");
    must_be_refused("");
    const char *commands = server_ask(redis, "INFO commandstats");
    assert_null(strstr(commands, "cmdstat_set:"));
    assert_null(strstr(commands, "cmdstat_eval"));
    assert_string_equal(server_ask(redis, "DBSIZE"), "0");
    assert_status(BOWLINE_OK, acquire_as(":secret@", &error), &error);
    assert_status(BOWLINE_OK, acquire_as("default:secret@", &error), &error);
    assert_status(BOWLINE_OK, acquire_as("locker:%72ight@", &error), &error);
}

/* The server closes the connection, and refuses the next one. */
TEST(user_deleted_while_held)
{
    (void)server_ask(redis, "ACL SETUSER gone on >" CANARY " ~* &* +@all");
    bowline_client *client =
        must_open_url("redis://gone:" CANARY "@127.0.0.1:%d?lease=300ms", redis->port);
    bowline_hold *hold  = must_acquire(client, "gone");
    bowline_error error = { 0 };

    (void)server_ask(redis, "ACL DELUSER gone");
    assert_true(bowline_extend(hold, 0, &error) < 0);
    assert_null(strstr(error.text, CANARY));
    while (bowline_hold_left_ms(hold) > 0)
        sleep_ms(5);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_null(strstr(error.text, CANARY));
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

/* ---- without HELLO --------------------------------------------------------------------------- */

/* HELLO is renamed, as some proxies do: protocol token works in RESP2, also after a connection that
 * broke, and an update reads the other nil. */
TEST(server_without_HELLO_serves_protocol_token)
{
    server        *old    = server_start("--rename-command HELLO is-not-known");
    bowline_error  error  = { 0 };
    bowline_holder holder = { .size = sizeof holder };
    counter        c      = { .calls = 0 };

    (void)server_ask(old, "ACL SETUSER ann on >right ~* +@all");
    bowline_client *client =
        must_open_url("redis://ann:right@127.0.0.1:%d?protocol=token", old->port);
    bowline_client *other = must_open_url("%s?protocol=token", old->tcp_url);
    bowline_hold   *hold  = must_acquire(client, "x");
    assert_non_null(strstr(server_ask(old, "CLIENT LIST"), "user=ann"));
    for (int i = 0; i < 5; i++) {
        (void)server_ask(old, "CLIENT KILL TYPE normal SKIPME yes");
        sleep_ms(IDLE_MS); /* a connection that breaks under a request leaves it in doubt */
        assert_status(BOWLINE_OK, bowline_extend(hold, 0, &error), &error);
        assert_int_equal(try_once(other, "x"), BOWLINE_BUSY);
    }
    assert_status(BOWLINE_OK, bowline_who(other, "x", &holder, &error), &error);
    assert_true(holder.held && !holder.foreign);
    must_release(hold);
    assert_status(BOWLINE_OK, bowline_update(other, "k", count_one, &c, NULL, &error), &error);
    assert_string_equal(server_ask(old, "GET k"), "1");
    (void)server_ask(old, "DEL k");
    assert_true(server_becomes_empty(old));
    bowline_close(other);
    bowline_close(client);
    server_stop(old);
}

static int own_server_starts(void **state)
{
    redis = server_start(NULL);
    (void)server_ask(redis, "ACL SETUSER admin on >admin ~* &* +@all");
    (void)snprintf(redis->login, sizeof redis->login, "AUTH admin admin");
    (void)server_ask(redis, "ACL SETUSER locker on >right ~* &* +@all");
    (void)server_ask(redis, "ACL SETUSER disabled off >right ~* +@all");
    return 0;
}

AROUND(own_server_starts, stop_server)
