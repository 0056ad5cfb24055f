/*
 * proxy.c -- see proxy.h.
 */
#include "tests/lib/proxy.h"
#include "tests/lib/testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LATE_MAX = 65536, CUT = 'c', LOOK = 'l' };

struct proxy {
    pthread_t          thread;
    struct sockaddr_in to;
    proxy_plan         plan;
    int                listener;
    int                orders[2]; /* bytes: CUT, LOOK; its end: stop */
    int                client;    /* -1: none                        */
    int                server;
    int                late_server; /* the server's end, after the client has closed its own; -1 */
    int                connections;
    bool               faulty;    /* this connection has the fault */
    bool               silent;    /* ... and is silent since       */
    int64_t            passed[2]; /* to the server, to the client  */
    _Atomic int64_t    most[2];
    _Atomic int64_t    held_from[2]; /* clock_ms                                             */
    _Atomic int64_t    held_until[2];
    char               late[LATE_MAX];
    size_t             late_size;
    char               url[160];
};

static void hang_up(proxy *p)
{
    if (p->server >= 0 && p->late_size > 0 && p->late_server < 0)
        p->late_server = p->server; /* the server still has the connection open */
    else if (p->server >= 0)
        (void)close(p->server);
    if (p->client >= 0)
        (void)close(p->client);
    p->client = -1;
    p->server = -1;
}

/* Sends the bytes of PROXY_LATE, after everything else; the server may execute them. */
static void send_late(proxy *p)
{
    char answer[64];

    if (p->late_server < 0)
        return;
    (void)send(p->late_server, p->late, p->late_size, MSG_NOSIGNAL);
    (void)shutdown(p->late_server, SHUT_WR);
    while (recv(p->late_server, answer, sizeof answer, 0) > 0)
        continue;
    (void)close(p->late_server);
}

/* Performs the fault; the bytes are those after it. */
static void strike(proxy *p, const char *bytes, size_t size)
{
    switch (p->plan.fault) {
    case PROXY_CLOSE: hang_up(p); return;
    case PROXY_STALL: p->silent = true; return;
    case PROXY_LATE:
        p->silent = true;
        if (size > 0 && p->late_size + size <= LATE_MAX) {
            memcpy(p->late + p->late_size, bytes, size);
            p->late_size += size;
        }
        return;
    case PROXY_PAUSE: sleep_ms(p->plan.pause_ms); break;
    case PROXY_NONE: break;
    }
    p->faulty = false;
}

static bool hand_on(proxy *p, bool to_client, const char *bytes, size_t size)
{
    int fd = to_client ? p->client : p->server;

    /* First: the receiver of the last byte may read the count at once. */
    int64_t passed = p->passed[to_client] + (int64_t)size;
    if (passed > atomic_load(&p->most[to_client]))
        atomic_store(&p->most[to_client], passed);
    while (size > 0) {
        size_t  piece = p->plan.piece > 0 && p->plan.piece < size ? p->plan.piece : size;
        ssize_t sent  = send(fd, bytes, piece, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
        p->passed[to_client] += sent;
    }
    return true;
}

static void relay(proxy *p, bool to_client)
{
    char    bytes[4096];
    ssize_t got   = recv(to_client ? p->server : p->client, bytes, sizeof bytes, 0);
    size_t  first = got > 0 ? (size_t)got : 0;
    bool    mine  = p->faulty && p->plan.to_client == to_client;

    if (got <= 0) {
        hang_up(p);
        return;
    }
    if (mine) {
        int64_t room = p->plan.at - p->passed[to_client];
        first        = room < 0 ? 0 : room < got ? (size_t)room : (size_t)got;
    }
    if (!hand_on(p, to_client, bytes, first)) {
        hang_up(p);
        return;
    }
    if (!mine || p->passed[to_client] < p->plan.at)
        return;
    strike(p, bytes + first, (size_t)got - first);
    if (p->client >= 0 && !p->silent && !hand_on(p, to_client, bytes + first, (size_t)got - first))
        hang_up(p);
}

static void take_connection(proxy *p)
{
    int one = 1;

    p->client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    p->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    p->faulty = p->connections++ < p->plan.connections && p->plan.fault != PROXY_NONE;
    p->silent = false;
    memset(p->passed, 0, sizeof p->passed);
    (void)setsockopt(p->client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(p->server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(p->server, (struct sockaddr *)&p->to, sizeof p->to) != 0)
        hang_up(p);
    else if (p->faulty && p->plan.at == 0)
        strike(p, NULL, 0);
}

/* False: stop. */
static bool obey(proxy *p)
{
    char order = 0;

    if (read(p->orders[0], &order, 1) <= 0)
        return false;
    if (order == CUT)
        hang_up(p);
    return true;
}

/* Whether that direction is held back now, and until when. */
static bool is_held_back(proxy *p, bool to_client, int64_t *next)
{
    int64_t now   = clock_ms();
    int64_t from  = atomic_load(&p->held_from[to_client]);
    int64_t until = atomic_load(&p->held_until[to_client]);
    int64_t then  = now < from ? from : until;

    if (then > now && then < *next)
        *next = then;
    return now >= from && now < until;
}

static void *serve(void *arg)
{
    proxy *p = arg;

    for (;;) {
        int64_t       now = clock_ms(), next = INT64_MAX;
        bool          talks        = p->client >= 0;
        bool          deaf         = p->silent && p->plan.to_client; /* the server's bytes wait */
        bool          no_questions = is_held_back(p, false, &next);
        bool          no_answers   = is_held_back(p, true, &next);
        int           from         = talks ? p->client : p->listener;
        struct pollfd fds[]        = {
                   { .fd = p->orders[0], .events = POLLIN },
                   { .fd = no_questions ? -1 : from, .events = POLLIN },
                   { .fd = talks && !deaf && !no_answers ? p->server : -1, .events = POLLIN },
        };
        if (poll(fds, 3, next == INT64_MAX ? -1 : (int)(next - now)) < 0)
            continue;
        if (fds[0].revents != 0) {
            if (!obey(p))
                break;
            continue;
        }
        if (!talks && fds[1].revents != 0) {
            take_connection(p);
            continue;
        }
        if (fds[1].revents != 0)
            relay(p, false);
        if (p->client >= 0 && fds[2].revents != 0)
            relay(p, true);
    }
    hang_up(p);
    return NULL;
}

proxy *proxy_start(const server *s, const proxy_plan *plan)
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    proxy             *p    = calloc(1, sizeof *p);

    assert_non_null(p);
    p->plan        = *plan;
    p->client      = -1;
    p->server      = -1;
    p->late_server = -1;
    p->to =
        (struct sockaddr_in){ .sin_family = AF_INET,
                              .sin_port   = htons((uint16_t)(plan->is_tls ? s->tls_port : s->port)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(p->listener >= 0);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(p->listener, 16), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &size), 0);
    if (plan->is_tls)
        (void)snprintf(p->url, sizeof p->url, "rediss://127.0.0.1:%d?ca=%s/ca.pem",
                       ntohs(at.sin_port), s->directory);
    else
        (void)snprintf(p->url, sizeof p->url, "redis://127.0.0.1:%d", ntohs(at.sin_port));
    assert_int_equal(pipe2(p->orders, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&p->thread, NULL, serve, p), 0);
    return p;
}

void proxy_stop(proxy *p)
{
    if (p == NULL)
        return;
    (void)close(p->orders[1]);
    (void)pthread_join(p->thread, NULL);
    send_late(p);
    (void)close(p->orders[0]);
    (void)close(p->listener);
    free(p);
}

static void give_order(proxy *p, char order)
{
    assert_int_equal(write(p->orders[1], &order, 1), 1);
}

void proxy_cut(proxy *p)
{
    give_order(p, CUT);
}

void proxy_hold_back(proxy *p, bool to_client, int64_t in_ms, int64_t for_ms)
{
    int64_t from = clock_ms() + in_ms;

    atomic_store(&p->held_until[to_client], 0);
    atomic_store(&p->held_from[to_client], from);
    atomic_store(&p->held_until[to_client], from + for_ms);
    give_order(p, LOOK);
}

const char *proxy_url(proxy *p)
{
    return p->url;
}

int64_t proxy_bytes_to_server(proxy *p)
{
    return atomic_load(&p->most[0]);
}

int64_t proxy_bytes_to_client(proxy *p)
{
    return atomic_load(&p->most[1]);
}
