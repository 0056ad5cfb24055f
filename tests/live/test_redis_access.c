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

static void test_odd_password(void **state)
{
    bowline_error error = { 0 };

    assert_status(BOWLINE_OK, open_and_acquire(url_as("odd:a%20b%25%0d%0a%22%C3%A4@"), &error),
                  &error);
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

static void test_default_user_that_is_off(void **state)
{
    assert_string_equal(server_ask(redis, "ACL SETUSER default off"), "OK");
    refused(url_as(""));
    refused(url_as(":" CANARY "@"));
}

/* ---- a password that is kept in a file ------------------------------------------------------- */

static const char *password_file(const char *text, mode_t mode)
{
    static char path[120];

    (void)snprintf(path, sizeof path, "%s/password", redis->directory);
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
    return path;
}

static int open_with_file(const char *text, mode_t mode, bowline_error *reterr)
{
    bowline_client *client = NULL;
    char            url[300];

    (void)snprintf(url, sizeof url, "redis://locker@127.0.0.1:%d?password-file=%s", redis->port,
                   password_file(text, mode));
    int status = bowline_open(&client, BOWLINE_OPTIONS(.url = url), reterr);
    bowline_close(client);
    return status == BOWLINE_OK ? open_and_acquire(url, reterr) : status;
}

static void test_password_file(void **state)
{
    bowline_error error = { 0 };

    assert_status(BOWLINE_OK, open_with_file("right", 0600, &error), &error);
    assert_status(BOWLINE_OK, open_with_file("right\n", 0400, &error), &error);
    assert_status(BOWLINE_OK, open_with_file("right\r\nsecond line\n", 0600, &error), &error);
    assert_status(BOWLINE_REFUSED, open_with_file(CANARY "\n", 0600, &error), &error);
    assert_null(strstr(error.text, CANARY));
    assert_status(BOWLINE_REFUSED, open_with_file("right\n", 0640, &error), &error);
    assert_status(BOWLINE_REFUSED, open_with_file("right\n", 0604, &error), &error);
    assert_status(BOWLINE_REFUSED, open_with_file("", 0600, &error), &error);
    assert_status(BOWLINE_REFUSED, open_with_file("\nright\n", 0600, &error), &error);
}

/* ---- rights ---------------------------------------------------------------------------------- */

static void test_right_to_select_is_needed_for_a_database(void **state)
{
    char url[400];

    (void)snprintf(url, sizeof url, "%s/2", url_as("least:right@"));
    (void)server_ask(redis, "FLUSHALL");
    refused(url);
    assert_string_equal(server_ask(redis, "INFO keyspace"), "# Keyspace\\x0D\\x0A");
}

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
        CASE(test_odd_password),
        CASE(test_wrong_password_is_refused_and_nothing_is_written),
        CASE(test_wrong_password_of_the_default_user),
        CASE(test_default_user_that_is_off),
        CASE(test_password_file),
        CASE(test_right_to_select_is_needed_for_a_database),
        CASE(test_user_deleted_while_held),
    };

    return cmocka_run_group_tests_name("redis_access", tests, NULL, stop_server);
}
