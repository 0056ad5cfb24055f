/*
 * gate.c -- see gate.h.
 *
 * One thread serves all connections of a gate. Bytes that the other end does not accept yet are
 * kept, so a stopped process does not delay the others.
 */
#include "tests/soak/gate.h"

#include "tests/lib/testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS_MAX = 128, PIECE = 16384, CUT = 'c', WAKE = 'l' };

/* End 0 is the client, end 1 the server; bytes[i] are on the way to end i. */
typedef struct pair {
    int    fds[2]; /* -1: no connection */
    char   bytes[2][PIECE];
    size_t sizes[2];
} pair;

struct gate {
    pthread_t   thread;
    int         listener;
    int         port;
    atomic_int  target_port;
    int         orders[2]; /* a pipe with CUT and WAKE; its end stops the thread */
    atomic_bool is_shut;
    pair        pairs[PAIRS_MAX];
};

static struct sockaddr_in at_port(int port)
{
    return (struct sockaddr_in){ .sin_family      = AF_INET,
                                 .sin_port        = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void hang_up(pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        if (p->fds[i] >= 0)
            (void)close(p->fds[i]);
        p->fds[i]   = -1;
        p->sizes[i] = 0;
    }
}

static void take_connection(gate *g)
{
    struct sockaddr_in target_port = at_port(atomic_load(&g->target_port));
    int                one         = 1;
    pair              *p           = g->pairs;

    while (p < g->pairs + PAIRS_MAX - 1 && p->fds[0] >= 0)
        p++;
    hang_up(p);
    p->fds[0] = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    p->fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->fds[0] < 0 ||
        connect(p->fds[1], (struct sockaddr *)&target_port, sizeof target_port) != 0) {
        hang_up(p);
        return;
    }
    for (unsigned i = 0; i < 2; i++)
        (void)setsockopt(p->fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)fcntl(p->fds[1], F_SETFL, O_NONBLOCK);
}

/* Reads from one end; the bytes go to the other. */
static void relay(pair *p, unsigned from)
{
    unsigned target_port = 1 - from;
    ssize_t  got         = recv(p->fds[from], p->bytes[target_port], PIECE, 0);

    if (got <= 0)
        hang_up(p);
    else
        p->sizes[target_port] = (size_t)got;
}

static void forward(pair *p, unsigned target_port)
{
    ssize_t sent =
        send(p->fds[target_port], p->bytes[target_port], p->sizes[target_port], MSG_NOSIGNAL);

    if (sent <= 0) {
        hang_up(p);
        return;
    }
    p->sizes[target_port] -= (size_t)sent;
    memmove(p->bytes[target_port], p->bytes[target_port] + sent, p->sizes[target_port]);
}

static short events_of(const pair *p, unsigned end)
{
    short events = 0;

    if (p->sizes[1 - end] == 0)
        events |= POLLIN;
    if (p->sizes[end] > 0)
        events |= POLLOUT;
    return events;
}

static void serve_pair(pair *p, const struct pollfd fds[2])
{
    for (unsigned end = 0; end < 2 && p->fds[0] >= 0; end++)
        if ((fds[end].revents & POLLOUT) != 0)
            forward(p, end);
    for (unsigned end = 0; end < 2 && p->fds[0] >= 0; end++)
        if ((fds[end].revents & ~POLLOUT) != 0 && p->sizes[1 - end] == 0)
            relay(p, end);
}

/* False: stop. */
static bool handle_order(gate *g)
{
    char order = 0;

    if (read(g->orders[0], &order, 1) <= 0)
        return false;
    for (unsigned i = 0; order == CUT && i < PAIRS_MAX; i++)
        hang_up(&g->pairs[i]);
    return true;
}

static void *serve(void *arg)
{
    gate         *g = arg;
    struct pollfd fds[2 + 2 * PAIRS_MAX];

    for (bool continues = true; continues;) {
        bool is_shut = atomic_load(&g->is_shut);
        fds[0]       = (struct pollfd){ .fd = g->orders[0], .events = POLLIN };
        fds[1]       = (struct pollfd){ .fd = is_shut ? -1 : g->listener, .events = POLLIN };
        for (unsigned i = 0; i < 2 * PAIRS_MAX; i++) {
            const pair *p = &g->pairs[i / 2];
            fds[2 + i]    = (struct pollfd){ .fd     = is_shut ? -1 : p->fds[i % 2],
                                             .events = events_of(p, i % 2) };
        }
        if (poll(fds, 2 + 2 * PAIRS_MAX, -1) < 0)
            continue;
        for (unsigned i = 0; i < PAIRS_MAX; i++)
            if (g->pairs[i].fds[0] >= 0 && !is_shut)
                serve_pair(&g->pairs[i], &fds[2 + 2 * i]);
        if (fds[1].revents != 0)
            take_connection(g);
        if (fds[0].revents != 0)
            continues = handle_order(g);
    }
    for (unsigned i = 0; i < PAIRS_MAX; i++)
        hang_up(&g->pairs[i]);
    return NULL;
}

gate *gate_new(void)
{
    struct sockaddr_in at   = at_port(0);
    socklen_t          size = sizeof at;
    gate              *g    = calloc(1, sizeof *g);

    assert_non_null(g);
    for (unsigned i = 0; i < PAIRS_MAX; i++)
        g->pairs[i].fds[0] = g->pairs[i].fds[1] = -1;
    g->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(g->listener >= 0);
    assert_int_equal(bind(g->listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(g->listener, 64), 0);
    assert_int_equal(getsockname(g->listener, (struct sockaddr *)&at, &size), 0);
    g->port = ntohs(at.sin_port);
    assert_int_equal(pipe2(g->orders, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&g->thread, NULL, serve, g), 0);
    return g;
}

void gate_free(gate *g)
{
    if (g == NULL)
        return;
    (void)close(g->orders[1]);
    (void)pthread_join(g->thread, NULL);
    (void)close(g->orders[0]);
    (void)close(g->listener);
    free(g);
}

void gate_set_target(gate *g, int port)
{
    atomic_store(&g->target_port, port);
}

int gate_port(const gate *g)
{
    return g->port;
}

void gate_shut(gate *g, bool is_shut)
{
    char order = WAKE;

    atomic_store(&g->is_shut, is_shut);
    assert_int_equal(write(g->orders[1], &order, 1), 1);
}

void gate_cut(gate *g)
{
    char order = CUT;

    assert_int_equal(write(g->orders[1], &order, 1), 1);
}
