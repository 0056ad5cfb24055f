/*
 * fake_net.c -- see fake_net.h.
 */
#include "fake_net.h"

#include "base/clock.h"
#include "base/entropy.h"
#include "base/fault.h"
#include "engine/redis/session/request.h"
#include "net/resolve.h"
#include "net/stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

fake_world fake;

enum { BEGIN_S = 1000, WALL_S = 1700000000 };

static const int64_t SECOND_NS = 1000000000;

/* ---- time and random bits -------------------------------------------------------------------- */

int64_t bwl_clock_ns(void)
{
    return fake.now_ns;
}

bwl_ms bwl_clock_now(void)
{
    return fake.now_ns / 1000000;
}

bwl_ms bwl_clock_tick(bwl_ms at, bwl_ms slack_ms)
{
    return at;
}

int64_t bwl_clock_wall_ns(void)
{
    return WALL_S * SECOND_NS + fake.now_ns;
}

uint64_t bwl_clock_wall_us(void)
{
    return (uint64_t)bwl_clock_wall_ns() / 1000;
}

int nanosleep(const struct timespec *length, struct timespec *left)
{
    fake.now_ns += length->tv_sec * SECOND_NS + length->tv_nsec;
    return 0;
}

void fake_pass(bwl_ms ms)
{
    fake.now_ns += ms * 1000000;
}

bwl_random fake_bits(unsigned n)
{
    bwl_random bits;

    for (unsigned i = 0; i < BWL_RANDOM_BYTES; i++)
        bits.bytes[i] = (uint8_t)(n * 31 + i * 17 + n * i + (n >> 8) * (i + 3));
    return bits;
}

bool bwl_entropy_draw(bwl_entropy *pool, bwl_random *ret_random)
{
    *ret_random = fake_bits(++fake.draws);
    return true;
}

/* ---- servers and connections ----------------------------------------------------------------- */

void fake_begin(bool by_byte)
{
    fake =
        (fake_world){ .now_ns = BEGIN_S * SECOND_NS, .by_byte = by_byte, .leads_to = "127.0.0.1" };
}

void fake_end(void)
{
    for (unsigned i = 0; i < fake.connections_count; i++) {
        free(fake.connections[i].in);
        free(fake.connections[i].out);
    }
}

fake_server *fake_server_of(const char *name)
{
    for (unsigned i = 0; i < fake.servers_count; i++)
        if (strcmp(fake.servers[i].name, name) == 0)
            return &fake.servers[i];
    if (fake.servers_count == FAKE_SERVERS_MAX)
        abort();
    fake_server *server = &fake.servers[fake.servers_count++];
    *server = (fake_server){ .manner = FAKE_ACCEPTS, .is_scripts = true, .takes = SIZE_MAX };
    if (fake.others_refuse)
        server->manner = FAKE_REFUSES;
    (void)snprintf(server->name, sizeof server->name, "%s", name);
    (void)snprintf(server->run_id, sizeof server->run_id, "%040u", fake.servers_count);
    (void)snprintf(server->version, sizeof server->version, "7.2.4");
    (void)snprintf(server->role, sizeof server->role, "master");
    (void)snprintf(server->mode, sizeof server->mode, "standalone");
    return server;
}

static void name_of(const bwl_address *address, char ret_name[FAKE_NAME_MAX])
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)&address->socket;
    char                      host[INET_ADDRSTRLEN];

    if (in->sin_family != AF_INET || inet_ntop(AF_INET, &in->sin_addr, host, sizeof host) == NULL)
        abort();
    if (strcmp(host, "127.0.0.1") == 0)
        (void)snprintf(ret_name, FAKE_NAME_MAX, "%u", ntohs(in->sin_port));
    else
        (void)snprintf(ret_name, FAKE_NAME_MAX, "%s:%u", host, ntohs(in->sin_port));
}

fake_connection *fake_connection_to(const fake_server *server)
{
    for (unsigned i = fake.connections_count; i > 0; i--)
        if (fake.connections[i - 1].server == server && fake.connections[i - 1].stream != NULL)
            return &fake.connections[i - 1];
    return NULL;
}

static fake_connection *connection_of(int fd)
{
    return fd >= FAKE_FD && (unsigned)(fd - FAKE_FD) < fake.connections_count
               ? &fake.connections[fd - FAKE_FD]
               : NULL;
}

/* NULL and 0 are allowed. */
static void move(void *to, const void *from, size_t size)
{
    if (size > 0)
        memmove(to, from, size);
}

static void append(char **bytes, size_t *size, const char *more, size_t more_size)
{
    *bytes = realloc(*bytes, *size + more_size + 1);
    if (*bytes == NULL)
        abort();
    move(*bytes + *size, more, more_size);
    *size += more_size;
    (*bytes)[*size] = '\0';
}

void fake_send(fake_connection *to, const char *bytes, size_t size)
{
    append(&to->in, &to->in_size, bytes, size);
}

/* ---- net/stream.h ---------------------------------------------------------------------------- */

void bwl_stream_init(bwl_stream *conn, bwl_reactor                             *reactor,
                     void (*ready)(bwl_source *source, uint32_t events), size_t in_max)
{
    *conn = (bwl_stream){ .source     = { .fd = -1, .ready = ready },
                          .reactor    = reactor,
                          .awaited_fd = -1,
                          .in_max     = in_max };
}

void bwl_stream_secure(bwl_stream *conn, const bwl_tls_context *context, const char *host)
{
    conn->context = context;
    conn->host    = host;
}

static int broken(bwl_fault *fault, const char *what)
{
    int status = bwl_fail_errno(fault, "%s", what);

    if (fault != NULL && status == BWL_STATUS_SYSTEM)
        fault->status = BWL_STATUS_UNREACHABLE;
    return status == BWL_STATUS_SYSTEM ? BWL_STATUS_UNREACHABLE : status;
}

int bwl_stream_open(bwl_stream *conn, const bwl_address *address, bwl_fault *fault)
{
    char name[FAKE_NAME_MAX];

    if (conn->source.fd >= 0 || fake.connections_count == FAKE_CONNECTIONS_MAX)
        abort();
    name_of(address, name);
    fake_server *server = fake_server_of(name);
    fake.connections[fake.connections_count] =
        (fake_connection){ .stream = conn, .server = server, .id = ++server->connections };
    conn->source.fd   = FAKE_FD + (int)fake.connections_count++;
    conn->connecting  = true;
    conn->joined      = false;
    conn->heard       = false;
    conn->wants_out   = true;
    conn->in_size     = 0;
    conn->in_taken    = 0;
    conn->out_size    = 0;
    conn->out_sent    = 0;
    conn->written     = 0;
    conn->handed_over = 0;
    story_dialled(server);
    return BWL_OK;
}

void bwl_stream_close(bwl_stream *conn)
{
    fake_connection *connection = connection_of(conn->source.fd);

    if (connection == NULL)
        return;
    connection->stream = NULL;
    conn->source.fd    = -1;
    conn->in_size      = 0;
    conn->in_taken     = 0;
    story_closed(connection);
}

void bwl_stream_free(bwl_stream *conn)
{
    bwl_stream_close(conn);
    free(conn->in);
    free(conn->out);
    conn->in  = NULL;
    conn->out = NULL;
}

bool bwl_stream_has_unread(const bwl_stream *conn)
{
    const fake_connection *connection = connection_of(conn->source.fd);

    return conn->in_size > conn->in_taken || connection->in_size > 0 || connection->ended ||
           connection->broken;
}

char *bwl_stream_reserve(bwl_stream *conn, size_t size)
{
    size_t need = conn->out_size + size;

    if (need > BWL_STREAM_OUT_MAX)
        return NULL;
    if (need > conn->out_room) {
        conn->out = realloc(conn->out, need * 2);
        if (conn->out == NULL)
            abort();
        conn->out_room = need * 2;
    }
    return conn->out + conn->out_size;
}

/* The linker replaces calloc by it. */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    if (fake.no_memory && size == sizeof(bwl_request))
        return NULL;
    return __real_calloc(count, size);
}

void bwl_stream_commit(bwl_stream *conn, size_t size)
{
    conn->out_size += size;
    conn->written += size;
}

int bwl_stream_flush(bwl_stream *conn, bwl_fault *fault)
{
    fake_connection *connection = connection_of(conn->source.fd);

    if (connection == NULL || conn->connecting)
        return BWL_OK;
    size_t size = conn->out_size - conn->out_sent;
    if (size > 0 && (connection->broken || connection->breaks_late)) {
        errno = EPIPE;
        return broken(fault, "the connection broke");
    }
    if (size > connection->server->takes)
        size = connection->server->takes;
    append(&connection->out, &connection->out_size, conn->out + conn->out_sent, size);
    conn->out_sent += size;
    conn->handed_over += size;
    if (connection->server->takes != SIZE_MAX)
        connection->server->takes -= size;
    conn->wants_out = conn->handed_over != conn->written;
    if (!conn->wants_out) {
        conn->out_size = 0;
        conn->out_sent = 0;
    }
    if (size > 0)
        story_handed_over(connection);
    return BWL_OK;
}

void bwl_stream_goodbye(bwl_stream *conn)
{
}

static void keep(bwl_stream *conn, const char *bytes, size_t size)
{
    move(conn->in, conn->in + conn->in_taken, conn->in_size - conn->in_taken);
    conn->in_size -= conn->in_taken;
    conn->in_taken = 0;
    conn->in       = realloc(conn->in, conn->in_size + size);
    if (conn->in == NULL)
        abort();
    move(conn->in + conn->in_size, bytes, size);
    conn->in_size += size;
    conn->heard = true;
}

static int receive(bwl_stream *conn, fake_connection *connection, bwl_fault *fault)
{
    size_t size = fake.by_byte && connection->in_size > 1 ? 1 : connection->in_size;

    if (connection->broken && size == 0) {
        errno = ECONNRESET;
        return broken(fault, "the connection broke");
    }
    if (size == 0)
        return connection->ended
                   ? bwl_fail(fault, BWL_STATUS_UNREACHABLE, "the server closed the connection")
                   : BWL_OK;
    keep(conn, connection->in, size);
    move(connection->in, connection->in + size, connection->in_size - size);
    connection->in_size -= size;
    return BWL_OK;
}

int bwl_stream_step(bwl_stream *conn, uint32_t events, bwl_fault *fault)
{
    fake_connection *connection = connection_of(conn->source.fd);
    int              status     = BWL_OK;

    if (!conn->joined && connection->server->manner == FAKE_REFUSES) {
        errno = ECONNREFUSED;
        return broken(fault, "cannot connect");
    }
    conn->joined     = true;
    conn->connecting = false;
    if ((events & EPOLLOUT) != 0)
        status = bwl_stream_flush(conn, fault);
    if (status == BWL_OK && (events & EPOLLIN) != 0)
        status = receive(conn, connection, fault);
    return status;
}

int bwl_stream_await_begin(bwl_stream *conn)
{
    if (conn->source.fd < 0 || conn->connecting || conn->handed_over != conn->written)
        return -1;
    conn->awaited_fd = conn->source.fd;
    return conn->awaited_fd;
}

bool bwl_stream_await_end(bwl_stream *conn)
{
    bool is_closed = conn->awaited_fd != conn->source.fd;

    conn->awaited_fd = -1;
    return !is_closed;
}

int bwl_stream_take(bwl_stream *conn, const char *bytes, ssize_t got, bwl_fault *fault)
{
    if (got == 0)
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "the server closed the connection");
    if (got < 0)
        return broken(fault, "the connection broke");
    keep(conn, bytes, (size_t)got);
    return BWL_OK;
}

const char *bwl_stream_unread(const bwl_stream *conn, size_t *ret_size)
{
    *ret_size = conn->in_size - conn->in_taken;
    return *ret_size > 0 ? conn->in + conn->in_taken : NULL;
}

void bwl_stream_consume(bwl_stream *conn, size_t size)
{
    conn->in_taken += size;
}

bool bwl_stream_sounds_like_tls(const bwl_stream *conn)
{
    const char *at = conn->in + conn->in_taken;

    return conn->context == NULL && conn->in_size - conn->in_taken >= 2 && at[0] == 21 &&
           at[1] == 3;
}

/* ---- net/reactor.h --------------------------------------------------------------------------- */

int bwl_reactor_open(bwl_reactor *reactor, bwl_fault *fault)
{
    reactor->epoll_fd = FAKE_FD - 1;
    return BWL_OK;
}

void bwl_reactor_close(bwl_reactor *reactor)
{
    reactor->epoll_fd = -1;
}

int bwl_reactor_watch(bwl_reactor *reactor, bwl_source *source, uint32_t events, bwl_fault *fault)
{
    (void)reactor, (void)source, (void)events, (void)fault;
    return BWL_OK;
}

void bwl_reactor_rewatch(bwl_reactor *reactor, bwl_source *source, uint32_t events)
{
    (void)reactor, (void)source, (void)events;
}

void bwl_reactor_forget(bwl_reactor *reactor, bwl_source *source)
{
    (void)reactor, (void)source;
}

void bwl_reactor_wake(bwl_reactor *reactor)
{
    fake.is_woken = true;
}

static uint32_t events_of(const fake_connection *connection)
{
    const bwl_stream *conn   = connection->stream;
    uint32_t          events = 0;

    if (conn == NULL)
        return 0;
    if (!conn->joined)
        return connection->server->manner == FAKE_DROPS_PACKETS ? 0 : EPOLLOUT;
    if (conn->wants_out && connection->server->takes > 0)
        events |= EPOLLOUT;
    if (connection->in_size > 0 || connection->ended || connection->broken)
        events |= EPOLLIN;
    return events;
}

bool fake_has_event(void)
{
    for (unsigned i = 0; i < fake.connections_count; i++)
        if (events_of(&fake.connections[i]) != 0)
            return true;
    return fake.is_woken;
}

int bwl_reactor_wait(bwl_reactor *reactor, bwl_ms wait_ms, bwl_ready ret_ready[BWL_READY_MAX])
{
    int count = 0;

    if (!fake_has_event())
        story_idle(wait_ms);
    if (fake.is_woken)
        ret_ready[count++] = (bwl_ready){ .source = NULL };
    fake.is_woken = false;
    for (unsigned i = 0; i < fake.connections_count && count < BWL_READY_MAX; i++) {
        uint32_t events = events_of(&fake.connections[i]);
        if (events != 0)
            ret_ready[count++] =
                (bwl_ready){ .source = &fake.connections[i].stream->source, .events = events };
    }
    fake.events += (uint64_t)count;
    return count;
}

/* ---- net/resolve.h --------------------------------------------------------------------------- */

/* A numeric address is itself; "two.test" has two addresses, "none.test" none, any other name that
 * of fake.leads_to. */
struct bwl_resolve {
    char     host[BWL_RESOLVE_HOST_MAX + 1];
    uint16_t port;
};

int bwl_resolve_start(bwl_resolve **ret_resolve, const bwl_dial *request, bwl_fault *fault)
{
    bwl_resolve *resolve = calloc(1, sizeof *resolve);

    if (resolve == NULL)
        abort();
    (void)snprintf(resolve->host, sizeof resolve->host, "%s", request->host);
    resolve->port = request->port;
    *ret_resolve  = resolve;
    return BWL_OK;
}

static void write_address(bwl_address *ret_address, const char *host, uint16_t port)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&ret_address->socket;

    *ret_address = (bwl_address){ .size = sizeof *in };
    *in          = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
    if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
        abort();
}

int bwl_resolve_take(bwl_resolve *resolve, bwl_address ret_addresses[BWL_RESOLVE_MAX],
                     bwl_fault *fault)
{
    bool is_number = strspn(resolve->host, "0123456789.") == strlen(resolve->host);

    if (strcmp(resolve->host, "none.test") == 0)
        return bwl_fail(fault, BWL_STATUS_UNREACHABLE, "the host has no address");
    if (!is_number && fake.stalls_lookups)
        return 0;
    write_address(&ret_addresses[0], is_number ? resolve->host : fake.leads_to, resolve->port);
    if (strcmp(resolve->host, "two.test") != 0)
        return 1;
    write_address(&ret_addresses[1], "127.0.0.2", resolve->port);
    return 2;
}

void bwl_resolve_forget(bwl_resolve *resolve)
{
    free(resolve);
}

/* ---- system calls outside of the reactor ----------------------------------------------------- */

int shutdown(int fd, int how)
{
    connection_of(fd)->shut = true;
    return 0;
}

/* A client that closes or busy-polls passes MSG_DONTWAIT; a client that blocks does not. */
ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
    fake_connection *connection = connection_of(fd);

    story_receives(connection, (flags & MSG_DONTWAIT) == 0);
    if ((flags & MSG_DONTWAIT) == 0 && events_of(connection) == 0)
        story_idle(BWL_STREAM_AWAIT_MS);
    size_t got = connection->in_size < size ? connection->in_size : size;
    if (got > 0 && fake.by_byte && (flags & MSG_DONTWAIT) == 0)
        got = 1;
    move(bytes, connection->in, got);
    move(connection->in, connection->in + got, connection->in_size - got);
    connection->in_size -= got;
    if (got > 0 || connection->ended)
        return (ssize_t)got;
    errno = connection->broken ? ECONNRESET : EAGAIN;
    return -1;
}

int poll(struct pollfd *polled, nfds_t count, int wait_ms)
{
    int ready = 0;

    fake.polls++;
    for (int turn = 0; turn < 2 && ready == 0; turn++) {
        if (turn == 1)
            story_closing(wait_ms);
        for (nfds_t i = 0; i < count; i++) {
            const fake_connection *c     = connection_of(polled[i].fd);
            bool                   reads = c->in_size > 0 || c->ended || c->broken;
            polled[i].revents            = (short)(polled[i].events & ((reads ? POLLIN : 0) |
                                                            (c->server->takes > 0 ? POLLOUT : 0)));
            ready += polled[i].revents != 0;
        }
    }
    return ready;
}
