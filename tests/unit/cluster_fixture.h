/*
 * cluster_fixture.h -- a client of a cluster, and nodes that are played by the test, line by line,
 * in the same thread: 0 and 1 stand in the URL, 2 is heard of.  Their addresses are all that the
 * client can know of them.
 *
 * The client does something only when the test turns it.
 */
#ifndef CLUSTER_FIXTURE_H
#define CLUSTER_FIXTURE_H

#include "engine/redis/topology/cluster.h"
#include "engine/redis/wire/scripts.h"
#include "runtime/engines.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

#define SAYS_HELLO(mode, role)                                                          \
    "%%5\r\n+version\r\n+7.0.15\r\n+proto\r\n:3\r\n+id\r\n:7\r\n+mode\r\n+" mode "\r\n" \
    "+role\r\n+" role "\r\n"
#define SAYS_INFO(digit) \
    "=63\r\ntxt:# Server\r\nrun_id:" TEN(digit) TEN(digit) TEN(digit) TEN(digit) "\r\n\r\n"
#define TEN(d)      d d d d d d d d d d
#define SAYS_NO_MAP "-NOPERM this user has no permissions to run the 'cluster|slots' command\r\n"
#define GREETING    "HELLO|3|INFO|server|CLUSTER|SLOTS|"
#define EXTEND      bwl_scripts[BWL_SCRIPT_EXTEND_IF_MINE].sha1
#define DELETE      bwl_scripts[BWL_SCRIPT_DELETE_IF_MINE].sha1

enum { NODES = 3, LEASE_MS = 30000, ROOM = 16384 };

static const char   *protocol = "token";
static bwl_client   *client;
static bwl_operation operation;
static bwl_fault     fault;
static int           listeners[NODES];
static int           ports[NODES];
static int           lines[NODES]; /* our end of the connection to it; -1 */

/* ---- the nodes ------------------------------------------------------------------------------- */

/* Has the port, 0 being any that is free, and takes no connections yet. */
static inline void bind_to(unsigned i, int port)
{
    struct sockaddr_in at   = { .sin_family      = AF_INET,
                                .sin_port        = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    int                yes  = 1;

    listeners[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* There may be connections of before that are not quite gone. */
    assert_int_equal(setsockopt(listeners[i], SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    assert_int_equal(bind(listeners[i], (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(listeners[i], (struct sockaddr *)&at, &size), 0);
    ports[i] = ntohs(at.sin_port);
}

static inline void comes_up(unsigned i)
{
    lines[i] = -1;
    assert_int_equal(listen(listeners[i], 4), 0);
}

static inline void vanish(unsigned i)
{
    (void)close(listeners[i]);
    listeners[i] = -1;
}

static inline void turn(void)
{
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(bwl_client_drive(client, bwl_client_now(client) + 1, NULL), BWL_OK);
}

static inline bool is_called(unsigned i)
{
    turn();
    lines[i] = accept4(listeners[i], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (lines[i] < 0)
        return false;
    /* Else what is said in two pieces comes when the first was acknowledged. */
    assert_int_equal(setsockopt(lines[i], IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int)), 0);
    turn();
    return true;
}

static inline void hang_up(unsigned i)
{
    (void)close(lines[i]);
    lines[i] = -1;
    turn();
}

__attribute__((format(printf, 2, 3))) static inline void says(unsigned i, const char *format, ...)
{
    char    text[2048];
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_int_equal(send(lines[i], text, (size_t)size, MSG_NOSIGNAL), size);
    turn();
}

/* The words that have come, each with a '|' behind it. */
__attribute__((format(printf, 2, 3))) static inline void expect(unsigned i, const char *format, ...)
{
    static char bytes[ROOM];
    static char words[ROOM];
    static char wanted[ROOM];
    va_list     arguments;

    va_start(arguments, format);
    (void)vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    ssize_t size               = recv(lines[i], bytes, sizeof bytes - 1, 0);
    bytes[size > 0 ? size : 0] = '\0';
    words[0]                   = '\0';
    for (char *line = strtok(bytes, "\r\n"); line != NULL; line = strtok(NULL, "\r\n"))
        if (line[0] != '*' && line[0] != '$') {
            strcat(words, line);
            strcat(words, "|");
        }
    assert_string_equal(words, wanted);
}

/* From a connection to one that may be asked.  It knows no map. */
static inline void greets(unsigned i)
{
    assert_true(is_called(i));
    expect(i, GREETING);
    says(i, SAYS_HELLO("cluster", "master") SAYS_INFO("a") SAYS_NO_MAP);
}

/* The same, and says that all slots are that node's. */
static inline void greets_with_map(unsigned i, unsigned owner)
{
    assert_true(is_called(i));
    expect(i, GREETING);
    says(i,
         SAYS_HELLO("cluster", "master")
             SAYS_INFO("a") "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n+127.0.0.1\r\n:%d\r\n",
         ports[owner]);
}

/* ---- the client ------------------------------------------------------------------------------ */

static inline void open_client(void)
{
    static const bwl_settings nothing;
    char                      url[200];

    (void)snprintf(url, sizeof url,
                   "redis+cluster://127.0.0.1:%d,127.0.0.1:%d?lease=30s&timeout=5s&protocol=%s",
                   ports[0], ports[1], protocol);
    assert_int_equal(bwl_client_open(&client, &nothing, false, url, &fault), BWL_OK);
    bwl_client_lock(client);
}

static inline int play(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NODES; i++) {
        bind_to(i, 0);
        comes_up(i);
    }
    operation = (bwl_operation){ 0 };
    open_client();
    return 0;
}

static inline int play_is_over(void **state)
{
    (void)state;
    bwl_client_unlock(client);
    bwl_client_close(client);
    for (unsigned i = 0; i < NODES; i++) {
        if (lines[i] >= 0)
            (void)close(lines[i]);
        if (listeners[i] >= 0)
            vanish(i);
    }
    return 0;
}

static inline bwl_lock *lock_named(const char *name)
{
    const bwl_terms terms = { .lease_ms    = LEASE_MS,
                              .max_hold_ms = BWL_NEVER,
                              .answer_ms   = client->settings.answer_ms,
                              .renews      = true };
    bwl_lock       *lock;

    assert_int_equal(bwl_lock_new(&lock, client, name, &terms, &fault), BWL_OK);
    return lock;
}

static inline void expect_set(unsigned i, const bwl_lock *lock)
{
    expect(i, "SET|bowline:{%s}|%s|NX|PX|30000|", lock->name, lock->hold.claim.token);
}

/* A lock that node 0 has given. */
static inline bwl_lock *held_at_0(const char *name)
{
    bwl_lock *lock = lock_named(name);

    bwl_lock_acquire(lock, &operation, 0);
    if (lines[0] < 0)
        greets(0);
    expect_set(0, lock);
    says(0, "+OK\r\n");
    assert_int_equal(operation.ended, BWL_HELD);
    return lock;
}

/* "bowline:{a}" and so on; any slot will do, as long as it is this one. */
static inline unsigned slot_of(const char *name)
{
    char key[40];

    (void)snprintf(key, sizeof key, "bowline:{%s}", name);
    return bwl_cluster_slot(key, strlen(key));
}

static inline void says_moved(unsigned i, const char *name, unsigned to)
{
    says(i, "-MOVED %u 127.0.0.1:%d\r\n", slot_of(name), ports[to]);
}

#endif
