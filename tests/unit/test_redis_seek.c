/*
 * test_redis_seek.c -- of a service with sentinels: where its primary is, and what shows that it is
 * elsewhere now.
 *
 * A sentinel and two servers are sockets that the test plays, in the same thread.
 */
#include "engine/redis_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
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
static played           one;
static played           two;

static void listen_as(played *p)
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

static void turn(void)
{
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 2, &fault), BWL_OK);
}

static bool is_called(played *p)
{
    int line = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (line < 0)
        return false;
    if (p->line >= 0)
        (void)close(p->line);
    p->line = line;
    return true;
}

static void says(played *p, const char *text)
{
    assert_int_equal(send(p->line, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    turn();
}

static void names_as(const char *host, const played *primary)
{
    char text[64];
    char port[8];

    (void)snprintf(port, sizeof port, "%d", primary->port);
    (void)snprintf(text, sizeof text, "*2\r\n+%s\r\n$%zu\r\n%s\r\n", host, strlen(port), port);
    says(&watcher, text);
}

static void names(const played *primary)
{
    names_as("127.0.0.1", primary);
}

/* What has come holds these words. */
static bool has_heard(played *p, const char *word)
{
    char    bytes[4096];
    ssize_t size = recv(p->line, bytes, sizeof bytes, 0);

    return size > 0 && memmem(bytes, (size_t)size, word, strlen(word)) != NULL;
}

static int begin(void **state)
{
    static const bwl_settings settings = { .answer_ms = 2000 };
    const bwl_terms           terms    = {
                     .lease_ms = 30000, .max_hold_ms = BWL_NEVER, .answer_ms = 2000, .renews = true
    };
    char url[128];

    (void)state;
    listen_as(&watcher);
    listen_as(&one);
    listen_as(&two);
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/m?protocol=token", watcher.port);
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

static int end(void **state)
{
    played *const all[] = { &watcher, &one, &two };

    (void)state;
    bwl_client_unlock(client);
    bwl_client_close(client);
    for (unsigned i = 0; i < 3; i++) {
        (void)close(all[i]->listener);
        if (all[i]->line >= 0)
            (void)close(all[i]->line);
    }
    return 0;
}

/* ---- a name server of our own, in threads of the client's ------------------------------------ */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t  changed;
    bool            holds_back;
} answers = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void hold_back(bool holds_back)
{
    (void)pthread_mutex_lock(&answers.mutex);
    answers.holds_back = holds_back;
    (void)pthread_cond_broadcast(&answers.changed);
    (void)pthread_mutex_unlock(&answers.mutex);
}

/* Every host is this machine. */
static int look_up(const char *host, const char *port, const struct addrinfo *hints,
                   struct addrinfo **ret_found)
{
    if (strchr(host, '.') == NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)
        return EAI_NONAME;
    (void)pthread_mutex_lock(&answers.mutex);
    while (answers.holds_back)
        (void)pthread_cond_wait(&answers.changed, &answers.mutex);
    (void)pthread_mutex_unlock(&answers.mutex);
    return getaddrinfo("127.0.0.1", port, hints, ret_found);
}

/* The lock is held, at the first server. */
static void hold_at_one(void)
{
    names(&one);
    assert_true(is_called(&one));
    says(&one, GREETING("a"));
    assert_int_equal(store->phase, BWL_REDIS_READY);
    assert_true(has_heard(&one, "SET"));
    says(&one, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
}

static void test_primary_is_where_the_sentinel_says(void **state)
{
    (void)state;
    assert_int_equal(store->phase, BWL_REDIS_SEEKING);
    assert_false(is_called(&one));
    hold_at_one();
    assert_non_null(strstr(store->where, "m (127.0.0.1:"));
    assert_false(is_called(&two));
}

static void test_service_that_is_not_known_is_refused(void **state)
{
    (void)state;
    says(&watcher, "_\r\n");
    assert_int_equal(operation.ended, BWL_STORE_REFUSED);
    assert_non_null(strstr(lock->why, "knows no service \"m\""));
}

static void test_replica_is_not_asked(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, HELLO_AS("replica") INFO_BY("a"));
    assert_true(has_heard(&one, "HELLO"));
    assert_int_equal(recv(one.line, &(char){ 0 }, 1, 0), 0); /* hung up */
    assert_int_equal(operation.ended, BWL_PENDING);
}

/* It is heard of on the line to the sentinel; what is held is asked for, for its whole lease. */
static void test_switch_takes_what_is_held_along(void **state)
{
    char text[128];

    (void)state;
    hold_at_one();
    (void)snprintf(text, sizeof text,
                   ">3\r\n+message\r\n++switch-master\r\n+m 127.0.0.1 %d 127.0.0.1 %d\r\n",
                   one.port, two.port);
    says(&watcher, text);
    assert_int_equal(recv(one.line, text, 1, 0), 0); /* hung up */
    assert_int_equal(store->phase, BWL_REDIS_SEEKING);
    assert_true(has_heard(&watcher, "GET-MASTER-ADDR-BY-NAME"));
    names(&two);
    assert_true(is_called(&two));
    says(&two, GREETING("b"));
    assert_true(bwl_hold_is_held(&lock->hold));
    assert_true(has_heard(&two, "$5\r\n30000\r\n"));
    says(&two, ":1\r\n");
    assert_true(bwl_hold_is_held(&lock->hold));
}

static void test_what_is_not_there_after_a_switch_is_lost(void **state)
{
    (void)state;
    hold_at_one();
    (void)close(one.line);
    one.line = -1;
    turn();
    names(&two);
    assert_true(is_called(&two));
    says(&two, GREETING("b"));
    assert_true(bwl_hold_is_held(&lock->hold));
    says(&two, ":0\r\n");
    assert_false(bwl_hold_is_held(&lock->hold));
}

/* The same server, started again: it may have come back with an older state. */
static void test_restart_in_the_same_place_is_a_loss(void **state)
{
    (void)state;
    hold_at_one();
    (void)close(one.line);
    one.line = -1;
    turn();
    names(&one);
    assert_true(is_called(&one));
    says(&one, GREETING("b"));
    assert_false(bwl_hold_is_held(&lock->hold));
}

static void test_switch_to_where_we_are_is_nothing(void **state)
{
    char text[128];

    (void)state;
    hold_at_one();
    (void)snprintf(text, sizeof text,
                   ">3\r\n+message\r\n++switch-master\r\n+m 127.0.0.1 %d 127.0.0.1 %d\r\n",
                   two.port, one.port);
    says(&watcher, text);
    assert_int_equal(store->phase, BWL_REDIS_READY);
}

static void test_server_that_may_not_write_is_left(void **state)
{
    (void)state;
    names(&one);
    assert_true(is_called(&one));
    says(&one, GREETING("a"));
    assert_true(has_heard(&one, "SET"));
    says(&one, "-READONLY You can't write against a read only replica.\r\n");
    assert_int_equal(recv(one.line, &(char){ 0 }, 1, 0), 0);
    assert_int_equal(operation.ended, BWL_PENDING); /* it is tried again, at the other one */
}

/* A lookup that is late is kept for the next attempt, which may be at another host. */
static void test_late_lookup_of_the_former_host_is_let_go(void **state)
{
    (void)state;
    client->settings.answer_ms = 50;
    store->resolver            = (bwl_resolver){ look_up, freeaddrinfo };
    hold_back(true);
    assert_true(has_heard(&watcher, "GET-MASTER-ADDR-BY-NAME"));
    names_as("first", &one);
    assert_int_equal(store->phase, BWL_REDIS_RESOLVING);
    while (!has_heard(&watcher, "GET-MASTER-ADDR-BY-NAME"))
        turn();
    names_as("second", &two);
    assert_int_equal(store->phase, BWL_REDIS_RESOLVING);
    client->settings.answer_ms = 2000;
    hold_back(false);
    while (!is_called(&two)) {
        assert_false(is_called(&one));
        turn();
    }
    assert_string_equal(store->host, "second");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_primary_is_where_the_sentinel_says),
        CASE(test_service_that_is_not_known_is_refused),
        CASE(test_replica_is_not_asked),
        CASE(test_switch_takes_what_is_held_along),
        CASE(test_what_is_not_there_after_a_switch_is_lost),
        CASE(test_restart_in_the_same_place_is_a_loss),
        CASE(test_switch_to_where_we_are_is_nothing),
        CASE(test_server_that_may_not_write_is_left),
        CASE(test_late_lookup_of_the_former_host_is_let_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
