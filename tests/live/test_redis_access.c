/*
 * test_redis_access.c -- who we are to the server: passwords, users, rights.  After a refusal
 * nothing is done under another name, and no secret is told to anybody.
 */
#include "tests/lib/shared_server.h"
#include "tests/lib/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CANARY "c4n4ry-5ecret"

/* The minimum that a user needs, and what makes BUSY tell more. */
#define RIGHTS                                                                                 \
    "~bowline:* resetchannels &bowline:i:* -@all +hello +eval +evalsha +ssubscribe +spublish " \
    "+subscribe +publish +get +set +del +exists +type +incr +time +persist +pexpire +pttl "    \
    "+zadd +zrem +zpopmin +zscore +zrank +zcard +hget +hset +hdel"

static const char *url_as(const char *who)
{
    static char url[300];

    (void)snprintf(url, sizeof url, "redis://%s127.0.0.1:%d", who, redis->port);
    return url;
}

static int open_and_acquire(const char *url, bowline_error *reterr)
{
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = NULL;
    int             status = acquire_within(&hold, client, "access", 300, reterr);

    if (status == BOWLINE_OK)
        status = bowline_release(hold, reterr);
    bowline_close(client);
    return status;
}

static void refused(const char *url)
{
    bowline_error error = { 0 };

    assert_status(BOWLINE_REFUSED, open_and_acquire(url, &error), &error);
    assert_int_equal(error.status, BOWLINE_REFUSED);
    if (strstr(error.text, CANARY) != NULL)
        fail_msg("the text tells the secret: %s", error.text);
}

/* How many commands that write the server has carried out. */
static const char *writes(void)
{
    return server_ask(redis, "INFO commandstats");
}

/* ---- passwords ------------------------------------------------------------------------------- */

static void test_right_password(void **state)
{
    bowline_error error = { 0 };

    assert_status(BOWLINE_OK, open_and_acquire(url_as("locker:right@"), &error), &error);
    assert_status(BOWLINE_OK, open_and_acquire(url_as("locker:%72ight@"), &error), &error);
}

/* The default user may do everything without a password.  A wrong one must not end there. */
static void test_wrong_password_is_refused_and_nothing_is_written(void **state)
{
    static const char *const wrong[] = { "locker:" CANARY "@", "nobody:" CANARY "@", "locker:@",
                                         ":" CANARY "@", "disabled:right@" };

    assert_string_equal(server_ask(redis, "ACL SETUSER default on nopass ~* &* +@all"), "OK");
    (void)server_ask(redis, "FLUSHALL");
    (void)server_ask(redis, "CONFIG RESETSTAT");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        /* A default user without a password takes any: that is not a wrong one. */
        if (wrong[i][0] == ':')
            continue;
        refused(url_as(wrong[i]));
    }
    assert_null(strstr(writes(), "cmdstat_set:"));
    assert_null(strstr(writes(), "cmdstat_eval"));
    assert_string_equal(server_ask(redis, "DBSIZE"), "0");
}

static void test_wrong_password_of_the_default_user(void **state)
{
    assert_string_equal(server_ask(redis, "ACL SETUSER default on resetpass >secret ~* &* +@all"),
                        "OK");
    (void)server_ask(redis, "FLUSHALL");
    refused(url_as(":" CANARY "@"));
    refused(url_as(""));
    assert_string_equal(server_ask(redis, "DBSIZE"), "0");
    bowline_error error = { 0 };
    assert_status(BOWLINE_OK, open_and_acquire(url_as(":secret@"), &error), &error);
    assert_status(BOWLINE_OK, open_and_acquire(url_as("default:secret@"), &error), &error);
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* The user is gone: the server closes our connection, and will not have us again. */
static void test_user_deleted_while_held(void **state)
{
    char url[400];

    (void)server_ask(redis, "ACL SETUSER gone on >" CANARY " " RIGHTS);
    (void)snprintf(url, sizeof url, "%s?lease=300ms", url_as("gone:" CANARY "@"));
    bowline_client *client = must_open(url);
    bowline_hold   *hold   = must_acquire(client, "gone");
    bowline_error   error  = { 0 };
    (void)server_ask(redis, "ACL DELUSER gone");
    int status = bowline_extend(hold, 0, &error);
    assert_true(status < 0);
    assert_null(strstr(error.text, CANARY));
    sleep_ms(700);
    assert_true(bowline_hold_left_ms(hold) == 0);
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_null(strstr(error.text, CANARY));
    bowline_close(client);
    assert_true(server_becomes_empty(redis));
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void test_own_server_starts(void **state)
{
    redis = server_start(NULL);
    (void)server_ask(redis, "ACL SETUSER admin on >admin ~* &* +@all");
    (void)snprintf(redis->login, sizeof redis->login, "AUTH admin admin");
    (void)server_ask(redis, "ACL SETUSER locker on >right ~* &* +@all");
    (void)server_ask(redis, "ACL SETUSER disabled off >right ~* +@all");
    (void)server_ask(redis, "ACL SETUSER least on >right " RIGHTS);
    (void)server_ask(redis, "ACL SETUSER odd on '>a b%%\r\n\"\xC3\xA4' ~* &* +@all");
}

#define CASE(test) cmocka_unit_test_teardown(test, nothing_is_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_server_starts),
        CASE(test_right_password),
        CASE(test_wrong_password_is_refused_and_nothing_is_written),
        CASE(test_wrong_password_of_the_default_user),
        CASE(test_user_deleted_while_held),
    };

    return cmocka_run_group_tests_name("redis_access", tests, NULL, stop_server);
}
