/*
 * test_redis_keys.c -- the keys of protocol token on the server, to the byte; foreign keys, which
 * stay unchanged; and scripts that the server lost. Those of queue are in test_queue_server.c.
 */
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>

static bowline_client *open_with(const char *options)
{
    return must_open_url("%s%s", redis->tcp_url, options);
}

static bool is_on_server(const char *key)
{
    return strcmp(server_ask(redis, "EXISTS %s", key), "1") == 0;
}

/* ---- our keys -------------------------------------------------------------------------------- */

FIXTURE(empty_server, nothing_is_left)

TEST(key_and_value_are_as_documented)
{
    bowline_client *client = open_with("?protocol=token&lease=20s");
    bowline_hold   *hold   = must_acquire(client, "nightly");
    const char     *value  = server_ask(redis, "GET bowline:{nightly}");
    long            left   = atol(server_ask(redis, "PTTL bowline:{nightly}"));

    assert_string_equal(server_ask(redis, "KEYS *"), "bowline:{nightly}");
    assert_int_equal(strlen(value), 22);
    assert_int_equal(strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                   "0123456789-_"),
                     22);
    assert_true(left > 10000 && left <= 20000);
    must_release(hold);
    assert_string_equal(server_ask(redis, "KEYS *"), "");
    bowline_close(client);
}

TEST(each_hold_has_a_new_value)
{
    bowline_client *client = open_with("?protocol=token");
    char            values[10][32];

    for (int i = 0; i < 10; i++) {
        bowline_hold *hold = must_acquire(client, "value");
        (void)snprintf(values[i], sizeof values[i], "%s", server_ask(redis, "GET bowline:{value}"));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(values[i], values[j]);
        must_release(hold);
    }
    bowline_close(client);
}

TEST(braces_in_a_name_are_encoded)
{
    bowline_client *client = open_with("?protocol=token");
    bowline_hold   *hold   = must_acquire(client, "a}{b%");

    assert_string_equal(server_ask(redis, "KEYS *"), "bowline:{a%7D%7Bb%25}");
    must_release(hold);
    bowline_close(client);
}

/* ---- foreign keys ---------------------------------------------------------------------------- */

typedef struct foreign_key {
    const char *command; /* creates the key */
    const char *note;    /* part of the error text of BUSY */
} foreign_key;

static const foreign_key foreign_keys[] = {
    { "SET bowline:{x} somebody PX 600000", "not in the form of bowline" },
    { "SET bowline:{x} 1234567890123456789012 PX 600000", NULL },
    { "SET bowline:{x} '' PX 600000", NULL },
    { "SET bowline:{x} somebody", "no expiry" },
    { "LPUSH bowline:{x} a b c", "list" },
    { "HSET bowline:{x} field value", "hash" },
    { "SADD bowline:{x} member", "set" },
    { "ZADD bowline:{x} 1 member", "sorted set" },
    { "XADD bowline:{x} 1-1 f v", "stream" },
};

TEST(acquire_is_busy_and_leaves_a_foreign_key_unchanged)
{
    bowline_client *client = open_with("?protocol=token");

    for (size_t i = 0; i < COUNT_OF(foreign_keys); i++) {
        bowline_hold *hold  = NULL;
        bowline_error error = { 0 };
        (void)server_ask(redis, "%s", foreign_keys[i].command);
        const char *before = server_ask(redis, "DUMP bowline:{x}");
        const char *ends   = server_ask(redis, "PEXPIRETIME bowline:{x}");
        assert_status(BOWLINE_BUSY, bowline_acquire(&hold, client, "x", NULL, &error), &error);
        if (foreign_keys[i].note != NULL && strstr(error.text, foreign_keys[i].note) == NULL)
            fail_msg("\"%s\" does not contain \"%s\"", error.text, foreign_keys[i].note);
        assert_status(BOWLINE_TIMEOUT, acquire_within(&hold, client, "x", 50, &error), &error);
        bowline_holder holder = must_who(client, "x");
        assert_int_equal(holder.held, 1);
        assert_int_equal(holder.foreign, foreign_keys[i].note != NULL ||
                                             holder.left_ms == INT64_MAX ||
                                             strstr(foreign_keys[i].command, "''") != NULL);
        assert_string_equal(server_ask(redis, "DUMP bowline:{x}"), before);
        assert_string_equal(server_ask(redis, "PEXPIRETIME bowline:{x}"), ends);
        (void)server_ask(redis, "DEL bowline:{x}");
    }
    bowline_close(client);
}

/* The key of a hold is replaced by `command`, or deleted: release and extend return LOST, say which
 * of both, and change nothing. */
static void check_lost_to(const char *protocol, const char *command, bool extends)
{
    bowline_client *client = open_with(protocol);
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_error   error  = { 0 };
    int             loss   = command == NULL ? BOWLINE_LOSS_GONE : BOWLINE_LOSS_TAKEN;

    (void)server_ask(redis, "DEL bowline:{x}");
    if (command != NULL)
        (void)server_ask(redis, "%s", command);
    const char *before = server_ask(redis, "DUMP bowline:{x}");
    const char *ends   = server_ask(redis, "PEXPIRETIME bowline:{x}");
    if (extends) {
        assert_status(BOWLINE_LOST, bowline_extend(hold, 60000, &error), &error);
        assert_int_equal(error.loss, loss);
        assert_true(bowline_hold_left_ms(hold) == 0);
    }
    error.loss = -1;
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_int_equal(error.loss, loss);
    assert_string_equal(server_ask(redis, "DUMP bowline:{x}"), before);
    assert_string_equal(server_ask(redis, "PEXPIRETIME bowline:{x}"), ends);
    (void)server_ask(redis, "DEL bowline:{x}");
    bowline_close(client);
}

TEST(hold_is_lost_when_its_key_is_replaced)
{
    static const char *const protocols[] = { "?protocol=token", "?protocol=queue" };

    for (size_t i = 0; i < 2 * COUNT_OF(protocols); i++) {
        for (size_t j = 0; j < COUNT_OF(foreign_keys); j++)
            check_lost_to(protocols[i / 2], foreign_keys[j].command, i % 2 == 0);
        check_lost_to(protocols[i / 2], NULL, i % 2 == 0);
    }
}

/* Another program removes or shortens the expiry. */
TEST(extension_restores_the_expiry_of_the_key)
{
    bowline_client *client = open_with("?lease=20s&renew=off");
    bowline_hold   *hold   = must_acquire(client, "x");

    (void)server_ask(redis, "PEXPIRE bowline:{x} 10000");
    assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
    assert_true(atol(server_ask(redis, "PTTL bowline:{x}")) > 10000);
    for (int extends = 1; extends >= 0; extends--) {
        assert_string_equal(server_ask(redis, "PERSIST bowline:{x}"), "1");
        assert_non_null(strstr(must_who(client, "x").note, "no expiry"));
        if (extends) {
            assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
            assert_in_range(atol(server_ask(redis, "PTTL bowline:{x}")), 1, 20000);
        }
    }
    must_release(hold); /* also deletes a key without an expiry */
    bowline_close(client);
}

/* ---- scripts that the server lost ------------------------------------------------------------ */

static void flush_scripts(void)
{
    assert_string_equal(server_ask(redis, "SCRIPT FLUSH SYNC"), "OK");
}

TEST(scripts_are_sent_again_after_script_flush)
{
    bowline_client *client = open_with("?protocol=token");
    bowline_client *other  = must_open(redis->unix_url);

    for (int i = 0; i < 3; i++) {
        flush_scripts();
        bowline_hold *hold = must_acquire(client, "script");
        flush_scripts();
        assert_status(BOWLINE_OK, bowline_extend(hold, 60000, NULL), NULL);
        flush_scripts();
        assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
        flush_scripts();
        assert_status(BOWLINE_BUSY, try_once(other, "script"), NULL);
        flush_scripts();
        assert_int_equal(must_who(other, "script").held, 1);
        flush_scripts();
        must_release(hold);
        assert_false(is_on_server("bowline:{script}"));
    }
    bowline_close(client);
    bowline_close(other);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

AROUND(start_server, stop_server)
