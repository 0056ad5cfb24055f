/*
 * sentinel_fixture.h -- three sentinels that are played by the test, line by line, in the same
 * thread, and a client that never connects, for its reactor and its clock.  This clock is put
 * forward where a time must be over, and so no test waits, nor is too late.
 */
#ifndef SENTINEL_FIXTURE_H
#define SENTINEL_FIXTURE_H

#include "engine/redis/topology/sentinel.h"
#include "api/engines.h"
#include "runtime/lock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define HELLO     "%1\r\n+server\r\n+redis\r\n>3\r\n+subscribe\r\n++switch-master\r\n:1\r\n"
#define AT(port)  "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n" port "\r\n"
#define GREETING  "HELLO|3|SUBSCRIBE|+switch-master|"
#define QUESTION  "SENTINEL|GET-MASTER-ADDR-BY-NAME|m|"
#define SWITCH(s) ">3\r\n+message\r\n++switch-master\r\n+" s "\r\n"

enum { SENTINELS = 3 };

static bwl_shard    *client;
static bwl_sentinel *sentinel;
static bwl_url_host  hosts[SENTINELS];
static int           listeners[SENTINELS];
static int           lines[SENTINELS]; /* our end of the connection to it; -1 */
static bwl_primary   primary;
static bwl_fault     failure;
static unsigned      found, failed;
static void (*then)(void); /* inside of heard */

static inline void heard(void *c, const bwl_primary *p, const bwl_fault *fault)
{
    assert_ptr_equal(c, client);
    if (p != NULL) {
        primary = *p;
        found++;
    } else {
        failure = *fault;
        failed++;
    }
    if (then != NULL)
        then();
}

static inline void stirred(void *c)
{
    assert_ptr_equal(c, client);
}

/* ---- the sentinels --------------------------------------------------------------------------- */

static inline void listen_as(unsigned i)
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;

    at.sin_port  = htons(hosts[i].port); /* 0 at first: a free one */
    listeners[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(setsockopt(listeners[i], SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)),
                     0);
    assert_int_equal(bind(listeners[i], (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(listeners[i], 4), 0);
    assert_int_equal(getsockname(listeners[i], (struct sockaddr *)&at, &size), 0);
    hosts[i] = (bwl_url_host){ .name = "127.0.0.1", .port = ntohs(at.sin_port) };
}

static inline void vanish(unsigned i)
{
    (void)close(listeners[i]);
    listeners[i] = -1;
}

static inline void turn(void)
{
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(bwl_loop_run(&client->loop, bwl_shard_now(client) + 2, NULL), BWL_OK);
}

static inline bool is_called(unsigned i)
{
    lines[i] = accept4(listeners[i], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return lines[i] >= 0;
}

static inline void says(unsigned i, const char *text)
{
    assert_int_equal(send(lines[i], text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    turn();
}

static inline void hangs_up(unsigned i)
{
    (void)close(lines[i]);
    lines[i] = -1;
    turn();
}

/* The words that have come, each with a '|' behind it. */
static inline void expect(unsigned i, const char *wanted)
{
    char    bytes[4096];
    char    words[4096] = "";
    ssize_t size        = recv(lines[i], bytes, sizeof bytes - 1, 0);

    bytes[size > 0 ? size : 0] = '\0';
    for (char *line = strtok(bytes, "\r\n"); line != NULL; line = strtok(NULL, "\r\n"))
        if (line[0] != '*' && line[0] != '$') {
            strcat(words, line);
            strcat(words, "|");
        }
    assert_string_equal(words, wanted);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static inline void make(bwl_sentinel_plan plan)
{
    plan.hosts       = hosts;
    plan.hosts_count = SENTINELS;
    plan.service     = "m";
    plan.heard       = heard;
    plan.stirred     = stirred;
    plan.arg         = client;
    assert_int_equal(bwl_sentinel_new(&sentinel, &client->host, &plan, NULL), BWL_OK);
}

static inline int begin(void **state)
{
    static const bwl_settings settings = { .answer_ms = 30000 };
    bwl_fault                 fault;

    (void)state;
    found = failed = 0;
    then           = NULL;
    for (unsigned i = 0; i < SENTINELS; i++) {
        hosts[i] = (bwl_url_host){ .port = 0 };
        listen_as(i);
        lines[i] = -1;
    }
    if (bwl_shard_open(&client, bwl_engines, &settings, false, "redis://127.0.0.1:1", &fault) < 0)
        return -1;
    bwl_shard_lock(client);
    make((bwl_sentinel_plan){ .user = NULL });
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    bwl_sentinel_free(sentinel);
    bwl_shard_unlock(client);
    bwl_shard_close(client);
    for (unsigned i = 0; i < SENTINELS; i++) {
        (void)close(listeners[i]);
        (void)close(lines[i]);
    }
    return 0;
}

/* What it waits for by time has come. */
static inline void await_its_time(void)
{
    bwl_ms at = bwl_sentinel_waits_until(sentinel);

    assert_true(at != BWL_NEVER);
    if (bwl_shard_now(client) < at)
        client->host.latest = at;
    bwl_sentinel_woken(sentinel);
    turn();
}

/* The first one has answered, and is listened to. */
static inline void watch_first(void)
{
    bwl_sentinel_seek(sentinel);
    turn();
    assert_true(is_called(0));
    says(0, HELLO AT("6379"));
    assert_int_equal(found, 1);
    expect(0, GREETING QUESTION);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
