/*
 * seek_fixture.h -- a client of a service with sentinels, of which two are sockets that the test
 * plays, and so are two servers, in the same thread.
 */
#ifndef SEEK_FIXTURE_H
#define SEEK_FIXTURE_H

#include "engine/redis/session/session.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define HELLO_AS(role)                                        \
    "%4\r\n$7\r\nversion\r\n+7.0.15\r\n$5\r\nproto\r\n:3\r\n" \
    "$2\r\nid\r\n:7\r\n$4\r\nrole\r\n+" role "\r\n"
#define DIGITS(d)      d d d d d d d d d d d d d d d d d d d d
#define INFO_BY(d)     "=63\r\ntxt:# Server\r\nrun_id:" DIGITS(d) DIGITS(d) "\r\n\r\n"
#define GREETING(d)    HELLO_AS("master") INFO_BY(d)
#define SENTINEL_HELLO "%1\r\n+server\r\n+redis\r\n"

typedef struct played {
    int listener;
    int port;
    int line; /* -1: nobody has called */
} played;

static bwl_client      *client;
static bwl_redis_store *store;
static bwl_lock        *lock;
static bwl_operation    operation;
static bwl_fault        fault;
static played           watcher;
static played           second;
static played           one;
static played           two;

static inline void listen_as(played *p)
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;

    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    p->line     = -1;
    assert_int_equal(bind(p->listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(p->listener, 4), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &size), 0);
    p->port = ntohs(at.sin_port);
}

static inline void turn(void)
{
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 2, &fault), BWL_OK);
}

static inline bool is_called(played *p)
{
    int line = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (line < 0)
        return false;
    if (p->line >= 0)
        (void)close(p->line);
    p->line = line;
    return true;
}

static inline void says(played *p, const char *text)
{
    assert_int_equal(send(p->line, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    turn();
}

static inline void tells(played *by, const char *host, const played *primary)
{
    char text[64];
    char port[8];

    (void)snprintf(port, sizeof port, "%d", primary->port);
    (void)snprintf(text, sizeof text, "*2\r\n+%s\r\n$%zu\r\n%s\r\n", host, strlen(port), port);
    says(by, text);
}

static inline void names(const played *primary)
{
    tells(&watcher, "127.0.0.1", primary);
}

/* What has come holds these words. */
static inline bool has_heard(played *p, const char *word)
{
    char    bytes[4096];
    ssize_t size = recv(p->line, bytes, sizeof bytes, 0);

    return size > 0 && memmem(bytes, (size_t)size, word, strlen(word)) != NULL;
}

static inline int begin_with(const char *others)
{
    static const bwl_settings settings = { .answer_ms = 2000 };
    const bwl_terms           terms    = {
                     .lease_ms = 30000, .max_hold_ms = BWL_NEVER, .answer_ms = 2000, .renews = true
    };
    char url[160];

    listen_as(&watcher);
    listen_as(&one);
    listen_as(&two);
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d%s/m?protocol=token",
                   watcher.port, others);
    assert_int_equal(bwl_client_open(&client, &settings, false, url, &fault), BWL_OK);
    store = client->store;
    bwl_client_lock(client);
    assert_int_equal(bwl_lock_new(&lock, client, "n", &terms, &fault), BWL_OK);
    bwl_lock_acquire(lock, &operation, 60000);
    turn();
    assert_true(is_called(&watcher));
    says(&watcher, SENTINEL_HELLO);
    return 0;
}

static inline int begin(void **state)
{
    (void)state;
    listen_as(&second);
    return begin_with("");
}

static inline int begin_with_two(void **state)
{
    char other[24];

    (void)state;
    listen_as(&second);
    (void)snprintf(other, sizeof other, ",127.0.0.1:%d", second.port);
    return begin_with(other);
}

static inline int end(void **state)
{
    played *const all[] = { &watcher, &second, &one, &two };

    (void)state;
    bwl_client_unlock(client);
    bwl_client_close(client);
    for (unsigned i = 0; i < 4; i++) {
        (void)close(all[i]->listener);
        if (all[i]->line >= 0)
            (void)close(all[i]->line);
    }
    return 0;
}

#define CASE(name)        cmocka_unit_test_setup_teardown(name, begin, end)
#define CASE_OF_TWO(name) cmocka_unit_test_setup_teardown(name, begin_with_two, end)

#endif
