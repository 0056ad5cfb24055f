/*
 * proxy.c -- see proxy.h.
 *
 * A relay is a connection from a client and one to the server. It has two flows, one per direction.
 * Data read from one end of a flow gets a due time, and is written to the other end at that time;
 * the end of a stream is delayed in the same way. The process sleeps until the first due time, or
 * until it can read or write.
 *
 *      OPEN --end is read--> DRAINING --all is written--> ENDED       (for each flow)
 */
#include "bench/world/proxy.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/base/janitor.h"
#include "bench/base/machine.h"

enum {
    RELAYS_MAX = 64,
    CHUNK_MAX  = 65536,
    QUEUED_MAX = 1 << 22, /* bytes in flight in one direction; reading stops above it */
};

typedef struct chunk {
    struct chunk *next;
    int64_t       due_ns;
    size_t        size; /* 0: the end of the stream */
    size_t        sent;
    char          bytes[];
} chunk;

typedef enum flow_state { OPEN = 1, DRAINING, ENDED } flow_state;

typedef struct flow {
    flow_state state;
    bool       is_full; /* a short write: wait until the other end is writable */
    int        from;
    int        to;
    size_t     queued;
    chunk     *first;
    chunk     *last;
} flow;

typedef struct relay {
    bool is_used;
    flow flows[2];
} relay;

typedef struct line {
    int      listener;
    int      server_port;
    int64_t  delay_ns;
    unsigned relays_count; /* slots in use so far */
    relay    relays[RELAYS_MAX];
    char     buffer[CHUNK_MAX];
} line;

/* ---- sockets --------------------------------------------------------------------------------- */

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){ .sin_family      = AF_INET,
                                 .sin_port        = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

int bench_listen(int *ret_port, bench_failure *reterr)
{
    struct sockaddr_in at   = loopback(0);
    socklen_t          size = sizeof at;
    int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, RELAYS_MAX) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0) {
        (void)bench_fail_errno(reterr, bench_text_of("cannot listen on 127.0.0.1"));
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* Without Nagle's delay, which would add to ours. */
static void tune(int fd)
{
    int one = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void admit(line *l)
{
    struct sockaddr_in to     = loopback(l->server_port);
    unsigned           place  = 0;
    int                client = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);

    while (place < l->relays_count && l->relays[place].is_used)
        place++;
    if (client < 0)
        return;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (place == RELAYS_MAX || server < 0 ||
        connect(server, (const struct sockaddr *)&to, sizeof to) != 0) {
        (void)close(client);
        if (server >= 0)
            (void)close(server);
        return;
    }
    tune(client);
    tune(server);
    l->relays[place] = (relay){
        .is_used = true,
        .flows   = { { .state = OPEN, .from = client, .to = server },
                     { .state = OPEN, .from = server, .to = client } },
    };
    if (place == l->relays_count)
        l->relays_count++;
}

static void part(relay *k)
{
    (void)close(k->flows[0].from);
    (void)close(k->flows[0].to);
    for (unsigned i = 0; i < 2; i++)
        for (chunk *c = k->flows[i].first, *next; c != NULL; c = next) {
            next = c->next;
            free(c);
        }
    *k = (relay){ .is_used = false };
}

/* ---- a flow ---------------------------------------------------------------------------------- */

static bool enqueue(flow *f, const char *bytes, size_t size, int64_t due_ns)
{
    chunk *c = malloc(sizeof *c + size);

    if (c == NULL)
        return false;
    *c = (chunk){ .due_ns = due_ns, .size = size };
    memcpy(c->bytes, bytes, size);
    if (f->last != NULL)
        f->last->next = c;
    else
        f->first = c;
    f->last = c;
    f->queued += size;
    return true;
}

/* Reads what has arrived. False: the relay is broken. */
static bool take_in(line *l, flow *f, int64_t now_ns)
{
    ssize_t got = recv(f->from, l->buffer, sizeof l->buffer, 0);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (got == 0)
        f->state = DRAINING;
    return enqueue(f, l->buffer, (size_t)got, now_ns + l->delay_ns);
}

static void drop_first(flow *f)
{
    chunk *c = f->first;

    f->queued -= c->size;
    f->first = c->next;
    if (f->first == NULL)
        f->last = NULL;
    free(c);
}

/* Writes what is due. False: the relay is broken. */
static bool hand_on(flow *f, int64_t now_ns)
{
    f->is_full = false;
    while (f->first != NULL && f->first->due_ns <= now_ns) {
        chunk *c = f->first;
        if (c->size == 0) {
            (void)shutdown(f->to, SHUT_WR);
            f->state = ENDED;
            drop_first(f);
            return true;
        }
        ssize_t sent = send(f->to, c->bytes + c->sent, c->size - c->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            f->is_full = true;
            return true;
        }
        if (sent < 0 && errno != EINTR)
            return false;
        c->sent += sent > 0 ? (size_t)sent : 0;
        if (c->sent == c->size)
            drop_first(f);
    }
    return true;
}

/* ---- the process ----------------------------------------------------------------------------- */

enum { WATCHED_MAX = 1 + 2 * RELAYS_MAX };

/* Fills in the poll set; returns the first due time, or INT64_MAX. Slot 1 + 2i + d polls the source
 * of flow d of relay i. */
static int64_t watch(const line *l, struct pollfd ret_watched[WATCHED_MAX])
{
    int64_t due_ns = INT64_MAX;

    ret_watched[0] = (struct pollfd){ .fd = l->listener, .events = POLLIN };
    for (unsigned i = 0; i < l->relays_count; i++)
        for (unsigned d = 0; d < 2; d++) {
            const relay   *k  = &l->relays[i];
            const flow    *in = &k->flows[d], *out = &k->flows[1 - d];
            struct pollfd *w = &ret_watched[1 + 2 * i + d];
            *w               = (struct pollfd){ .fd = -1 };
            if (!k->is_used)
                continue;
            if (in->state == OPEN && in->queued < QUEUED_MAX)
                w->events |= POLLIN;
            if (out->is_full)
                w->events |= POLLOUT;
            /* A broken connection without events of interest would wake poll again and again. */
            w->fd = w->events != 0 ? in->from : -1;
            if (in->first != NULL && !in->is_full && in->first->due_ns < due_ns)
                due_ns = in->first->due_ns;
        }
    return due_ns;
}

static void serve_relay(line *l, relay *k, const struct pollfd watched[2], int64_t now_ns)
{
    bool is_whole = true;

    for (unsigned d = 0; d < 2 && is_whole; d++) {
        if ((watched[d].revents & (POLLERR | POLLNVAL)) != 0)
            is_whole = false;
        else if ((watched[d].revents & (POLLIN | POLLHUP)) != 0 && k->flows[d].state == OPEN)
            is_whole = take_in(l, &k->flows[d], now_ns);
    }
    for (unsigned d = 0; d < 2 && is_whole; d++)
        is_whole = hand_on(&k->flows[d], now_ns);
    if (!is_whole || (k->flows[0].state == ENDED && k->flows[1].state == ENDED))
        part(k);
}

_Noreturn static void serve(line *l)
{
    struct pollfd watched[WATCHED_MAX];

    /* Removes the timer slack of 50 us. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    for (;;) {
        int64_t         due_ns  = watch(l, watched);
        int64_t         wait_ns = due_ns - bench_now_ns();
        struct timespec t       = { 0 };
        if (wait_ns > 0)
            t = (struct timespec){ .tv_sec  = (time_t)(wait_ns / 1000000000),
                                   .tv_nsec = (long)(wait_ns % 1000000000) };
        nfds_t count = 1 + 2 * (nfds_t)l->relays_count;
        if (ppoll(watched, count, due_ns != INT64_MAX ? &t : NULL, NULL) < 0 && errno != EINTR)
            _exit(1);
        int64_t now_ns = bench_now_ns();
        for (unsigned i = 0; i < l->relays_count; i++)
            if (l->relays[i].is_used)
                serve_relay(l, &l->relays[i], &watched[1 + 2 * i], now_ns);
        if (watched[0].revents != 0)
            admit(l);
    }
}

int bench_proxy_start(bench_proxy *ret_proxy, const bench_proxy_plan *plan, bench_failure *reterr)
{
    bench_proxy p      = { .pid = 0 };
    pid_t       parent = getpid();
    int         fd     = bench_listen(&p.port, reterr);

    if (fd < 0)
        return -1;
    p.pid = fork();
    if (p.pid < 0) {
        (void)close(fd);
        return bench_fail_errno(reterr, bench_text_of("cannot start the delay proxy"));
    }
    if (p.pid == 0) {
        line *l = calloc(1, sizeof *l);
        bench_child_alone(parent, fd);
        if (l == NULL)
            _exit(1);
        l->listener    = fd;
        l->server_port = plan->server_port;
        l->delay_ns    = (int64_t)plan->delay_us * 1000;
        serve(l);
    }
    (void)close(fd);
    *ret_proxy = p;
    return 0;
}

void bench_proxy_stop(bench_proxy *proxy)
{
    if (proxy->pid == 0)
        return;
    (void)kill(proxy->pid, SIGKILL);
    (void)waitpid(proxy->pid, NULL, 0);
    *proxy = (bench_proxy){ .pid = 0 };
}
