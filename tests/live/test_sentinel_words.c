/*
 * test_sentinel_words.c -- a URL with sentinels: what is refused, what is waited for, and what is
 * said then; with sentinels that lie.
 */
#include "tests/lib/attempt.h"
#include "tests/lib/fake_server.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int named; /* the port that fake sentinels name; 0: they know no such service */

/* A sentinel: HELLO and SUBSCRIBE as they should be, and the port of the test, or its own. */
static void sentinel_says(fake_server *s, const fake_command *cmd, void *arg)
{
    const int *port = arg != NULL ? arg : &named;
    char       names[16];
    char       text[80];

    if (strcmp(cmd->words[0], "HELLO") == 0) {
        fake_say(s, "%1\r\n+server\r\n+redis\r\n");
    } else if (strcmp(cmd->words[0], "SUBSCRIBE") == 0) {
        fake_say(s, ">3\r\n+subscribe\r\n++switch-master\r\n:1\r\n");
    } else if (*port == 0) {
        fake_say(s, "_\r\n");
    } else {
        (void)snprintf(names, sizeof names, "%d", *port);
        (void)snprintf(text, sizeof text, "*2\r\n+127.0.0.1\r\n$%zu\r\n%s\r\n", strlen(names),
                       names);
        fake_say(s, text);
    }
}

/* "127.0.0.1:PORT" */
static const char *place_of(fake_server *s)
{
    return fake_url(s) + strlen("redis://");
}

/* ---- what they say --------------------------------------------------------------------------- */

TEST(sentinel_that_names_a_primary_is_believed)
{
    fake_server *one = fake_start(sentinel_says, NULL);

    named = redis->port;
    expect(BOWLINE_OK, "", "redis+sentinel://%s/m", place_of(one));
    expect(BOWLINE_OK, "", "redis+sentinel://%s/m/3", place_of(one));
    fake_stop(one);
}

TEST(replica_is_no_primary)
{
    fake_server *one     = fake_start(sentinel_says, NULL);
    server      *replica = server_start(NULL);

    (void)server_ask(replica, "REPLICAOF 127.0.0.1 %d", redis->port);
    named = replica->port;
    expect(BOWLINE_UNREACHABLE, "names as the primary, and is a replica",
           "redis+sentinel://%s/m?timeout=500ms&wait=300ms", place_of(one));
    assert_string_equal(server_ask(redis, "EXISTS bowline:{x}"), "0");
    fake_stop(one);
    server_stop(replica);
}

TEST(dead_address_is_unreachable)
{
    fake_server *one = fake_start(sentinel_says, NULL);

    named = server_free_port();
    expect(BOWLINE_UNREACHABLE, "m (127.0.0.1:", "redis+sentinel://%s/m?wait=300ms", place_of(one));
    fake_stop(one);
}

/* As one who would not wait, and has waited for nobody before.  A machine that stands still for the
 * rest of the time-out is outlasted. */
static void must_be_had_at_once(const char *url)
{
    bowline_error error  = { 0 };
    int           status = attempt(url, &error);

    for (int round = 1; round < 20 && status != BOWLINE_OK; round++) {
        if (strstr(error.text, "no answer within") == NULL)
            break;
        (void)server_ask(redis, "DEL bowline:{x}"); /* it may have been carried out */
        status = attempt(url, &error);
    }
    assert_status(BOWLINE_OK, status, &error);
}

/* The second one is asked in the same attempt: whoever would not wait has the lock. */
TEST(next_sentinel_may_know_better)
{
    char url[200];

    server      *replica = server_start(NULL);
    int          dead    = server_free_port();
    int          silent  = replica->port;
    fake_server *first   = fake_start(sentinel_says, &dead);
    fake_server *stopped = fake_start(sentinel_says, &silent);
    fake_server *last    = fake_start(sentinel_says, &redis->port);

    (void)server_ask(replica, "REPLICAOF 127.0.0.1 %d", redis->port);
    expect(BOWLINE_OK, "", "redis+sentinel://%s,%s/m", place_of(first), place_of(last));
    expect(BOWLINE_OK, "", "redis+sentinel://%s,%s/m", place_of(stopped), place_of(last));
    server_signal(replica, SIGSTOP);
    (void)snprintf(url, sizeof url, "redis+sentinel://%s,%s,%s/m?timeout=300ms", place_of(stopped),
                   place_of(first), place_of(last));
    must_be_had_at_once(url);
    server_signal(replica, SIGCONT);
    expect(BOWLINE_UNREACHABLE, "m (127.0.0.1:", "redis+sentinel://%s,%s/m", place_of(first),
           place_of(first));
    fake_stop(first);
    fake_stop(stopped);
    fake_stop(last);
    server_stop(replica);
}

/* ---- who we are ------------------------------------------------------------------------------ */

/* Each has a password of its own. */
TEST(sentinel_and_service_have_passwords_of_their_own)
{
    char path[96];

    server *node     = server_start("--requirepass hunter2");
    server *sentinel = server_start_sentinel(node->port, 1);
    (void)snprintf(node->login, sizeof node->login, "AUTH hunter2");
    (void)server_ask(sentinel, "SENTINEL SET m auth-pass hunter2");
    (void)server_ask(sentinel, "ACL SETUSER watcher on >hunter2-watches +@all &*");
    (void)server_ask(sentinel, "ACL SETUSER default off");
    (void)snprintf(path, sizeof path, "%s/secret", node->directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_int_equal(fputs("hunter2-watches\n", file) >= 0, true);
    assert_int_equal(fclose(file), 0);

    expect(BOWLINE_OK, "",
           "redis+sentinel://:hunter2@127.0.0.1:%d/m?sentinel-user=watcher&"
           "sentinel-password-file=%s",
           sentinel->port, path);
    expect(BOWLINE_REFUSED, "it wants a password (NOAUTH): give sentinel-password-file=",
           "redis+sentinel://:hunter2@127.0.0.1:%d/m", sentinel->port);
    expect(BOWLINE_REFUSED, "wants a password (NOAUTH)",
           "redis+sentinel://127.0.0.1:%d/m?sentinel-user=watcher&sentinel-password-file=%s",
           sentinel->port, path);
    (void)server_ask(node, "CONFIG SET requirepass changed");
    expect(BOWLINE_REFUSED, "WRONGPASS",
           "redis+sentinel://:hunter2@127.0.0.1:%d/m?sentinel-user=watcher&"
           "sentinel-password-file=%s",
           sentinel->port, path);
    server_stop(sentinel);
    server_stop(node);
}

AROUND(start_server, stop_server)
