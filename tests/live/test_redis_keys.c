/*
 * test_redis_keys.c -- what there is on the server: our own keys to the byte, and the keys of
 * others, which are never touched.  And scripts that the server has forgotten.  Of protocol token;
 * those of queue are in test_queue_server.c.
 */
#include "tests/lib/judged.h"
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <stdio.h>
#include <stdlib.h>

static const char *url_with(const char *options)
{
    static char url[300];

    (void)snprintf(url, sizeof url, "%s%s", redis->tcp_url, options);
    return url;
}

static bool is_on_server(const char *key)
{
    return strcmp(server_ask(redis, "EXISTS %s", key), "1") == 0;
}

/* ---- our own --------------------------------------------------------------------------------- */

FIXTURE(empty_server, nothing_is_left)

TEST(key_is_what_the_documentation_says)
{
    bowline_client *client = must_open(url_with("?protocol=token&lease=20s"));
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

TEST(every_hold_has_another_value)
{
    bowline_client *client = must_open(url_with("?protocol=token"));
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

TEST(names_cannot_leave_their_braces)
{
    bowline_client *client = must_open(url_with("?protocol=token"));
    bowline_hold   *hold   = must_acquire(client, "a}{b%");

    assert_string_equal(server_ask(redis, "KEYS *"), "bowline:{a%7D%7Bb%25}");
    must_release(hold);
    bowline_close(client);
}

/* ---- what others have put there -------------------------------------------------------------- */

typedef struct stranger {
    const char *makes; /* the command that makes the key */
    const char *note;  /* what the text of BUSY tells    */
} stranger;

static const stranger strangers[] = {
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

TEST(keys_of_others_are_busy_and_stay_as_they_are)
{
    bowline_client *client = must_open(url_with("?protocol=token"));

    for (size_t i = 0; i < COUNT_OF(strangers); i++) {
        bowline_hold  *hold   = NULL;
        bowline_error  error  = { 0 };
        bowline_holder holder = { .size = sizeof holder };
        (void)server_ask(redis, "%s", strangers[i].makes);
        const char *before = server_ask(redis, "DUMP bowline:{x}");
        const char *ends   = server_ask(redis, "PEXPIRETIME bowline:{x}");
        assert_status(BOWLINE_BUSY, bowline_acquire(&hold, client, "x", NULL, &error), &error);
        if (strangers[i].note != NULL && strstr(error.text, strangers[i].note) == NULL)
            fail_msg("\"%s\" does not tell of \"%s\"", error.text, strangers[i].note);
        assert_status(BOWLINE_TIMEOUT, acquire_within(&hold, client, "x", 50, &error), &error);
        assert_status(BOWLINE_OK, bowline_who(client, "x", &holder, &error), &error);
        assert_int_equal(holder.held, 1);
        assert_int_equal(holder.foreign, strangers[i].note != NULL || holder.left_ms == INT64_MAX ||
                                             strstr(strangers[i].makes, "''") != NULL);
        assert_string_equal(server_ask(redis, "DUMP bowline:{x}"), before);
        assert_string_equal(server_ask(redis, "PEXPIRETIME bowline:{x}"), ends);
        (void)server_ask(redis, "DEL bowline:{x}");
    }
    bowline_close(client);
}

/* While we hold, the key becomes somebody else's: release and extend say so and do nothing. */
static void lost_to(const char *makes, bool extends)
{
    bowline_client *client = must_open(url_with("?protocol=token"));
    bowline_hold   *hold   = must_acquire(client, "x");
    bowline_error   error  = { 0 };

    (void)server_ask(redis, "DEL bowline:{x}");
    (void)server_ask(redis, "%s", makes);
    const char *before = server_ask(redis, "DUMP bowline:{x}");
    const char *ends   = server_ask(redis, "PEXPIRETIME bowline:{x}");
    if (extends) {
        assert_status(BOWLINE_LOST, bowline_extend(hold, 60000, &error), &error);
        assert_true(bowline_hold_left_ms(hold) == 0);
    }
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_string_equal(server_ask(redis, "DUMP bowline:{x}"), before);
    assert_string_equal(server_ask(redis, "PEXPIRETIME bowline:{x}"), ends);
    (void)server_ask(redis, "DEL bowline:{x}");
    bowline_close(client);
}

TEST(replaced_while_held_is_lost)
{
    for (size_t i = 0; i < COUNT_OF(strangers); i++) {
        lost_to(strangers[i].makes, false);
        lost_to(strangers[i].makes, true);
    }
}

/* ---- scripts that the server has forgotten --------------------------------------------------- */

static void forget_scripts(void)
{
    assert_string_equal(server_ask(redis, "SCRIPT FLUSH SYNC"), "OK");
}

TEST(scripts_are_sent_again_when_forgotten)
{
    bowline_client *client = must_open(url_with("?protocol=token"));
    bowline_client *other  = must_open(redis->unix_url);
    bowline_holder  holder = { .size = sizeof holder };

    for (int i = 0; i < 3; i++) {
        forget_scripts();
        bowline_hold *hold = must_acquire(client, "script");
        forget_scripts();
        assert_status(BOWLINE_OK, bowline_extend(hold, 60000, NULL), NULL);
        forget_scripts();
        assert_status(BOWLINE_OK, bowline_extend(hold, 0, NULL), NULL);
        forget_scripts();
        assert_status(BOWLINE_BUSY, try_once(other, "script"), NULL);
        forget_scripts();
        assert_status(BOWLINE_OK, bowline_who(other, "script", &holder, NULL), NULL);
        assert_int_equal(holder.held, 1);
        forget_scripts();
        must_release(hold);
        assert_false(is_on_server("bowline:{script}"));
    }
    bowline_close(client);
    bowline_close(other);
}

/* ---- the cases ------------------------------------------------------------------------------- */

AROUND(start_server, stop_server)
