/*
 * proxy.c -- see proxy.h.
 */
#include "tests/soak/proxy.h"
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

enum { CUT = 'c', LOOK = 'l' };

struct proxy {
    pthread_t          thread;
    struct sockaddr_in to;
    int                listener;
    int                orders[2]; /* bytes: CUT, LOOK; its end: stop */
    int                client;    /* -1: none                        */
    int                server;
    _Atomic int64_t    held_from[2]; /* to the server, to the client; clock_ms */
    _Atomic int64_t    held_until[2];
    char               url[40];
};

static void hang_up(proxy *p)
{
    if (p->server >= 0)
        (void)close(p->server);
    if (p->client >= 0)
        (void)close(p->client);
    p->client = -1;
    p->server = -1;
}

static void relay(proxy *p, bool to_client)
{
    char    bytes[4096];
    ssize_t got  = recv(to_client ? p->server : p->client, bytes, sizeof bytes, 0);
    ssize_t sent = 0;

    for (ssize_t size = 0; size < got; size += sent) {
        sent = send(to_client ? p->client : p->server, bytes + size, (size_t)(got - size),
                    MSG_NOSIGNAL);
        if (sent <= 0)
            break;
    }
    if (got <= 0 || sent <= 0)
        hang_up(p);
}

static void take_connection(proxy *p)
{
    int one = 1;

    p->client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    p->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(p->client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(p->server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(p->server, (struct sockaddr *)&p->to, sizeof p->to) != 0)
        hang_up(p);
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
        bool          no_questions = is_held_back(p, false, &next);
        bool          no_answers   = is_held_back(p, true, &next);
        int           from         = talks ? p->client : p->listener;
        struct pollfd fds[]        = {
                   { .fd = p->orders[0], .events = POLLIN },
                   { .fd = no_questions ? -1 : from, .events = POLLIN },
                   { .fd = talks && !no_answers ? p->server : -1, .events = POLLIN },
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

proxy *proxy_start(const server *s)
{
    struct sockaddr_in at   = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          size = sizeof at;
    proxy             *p    = calloc(1, sizeof *p);

    assert_non_null(p);
    p->client   = -1;
    p->server   = -1;
    p->to       = (struct sockaddr_in){ .sin_family      = AF_INET,
                                        .sin_port        = htons((uint16_t)s->port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(p->listener >= 0);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(p->listener, 16), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &size), 0);
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
