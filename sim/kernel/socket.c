#include "sim/kernel/socket.h"

#include "lab/base/memory.h"
#include "sim/kernel/network.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

/* How long Linux tries by itself: tcp_retries2, and tcp_syn_retries for a connect. */
enum { SILENCE_S = 900, CONNECT_S = 127 };

typedef struct socket_descriptor {
    sim_descriptor     descriptor; /* first */
    sim_connection    *connection; /* NULL: not connected, or it has failed */
    struct sockaddr_in peer;
    int                error; /* pending, as SO_ERROR */
    bool               is_connected;
    bool               has_failed;
    bool               is_shut;
    int64_t            silence_ns;  /* TCP_USER_TIMEOUT; 0: the kernel's */
    int64_t            patience_ns; /* SO_RCVTIMEO; 0: none */
} socket_descriptor;

static void connected(void *arg)
{
    socket_descriptor *s = arg;

    s->is_connected = true;
    sim_descriptor_changed(&s->descriptor);
}

static void changed(void *arg)
{
    sim_descriptor_changed(&((socket_descriptor *)arg)->descriptor);
}

static void failed(void *arg, int error)
{
    socket_descriptor *s = arg;

    s->connection = NULL;
    s->error      = error;
    s->has_failed = true;
    sim_descriptor_changed(&s->descriptor);
}

static const sim_client callbacks = { connected, changed, failed };

static uint32_t socket_ready(sim_descriptor *descriptor)
{
    socket_descriptor *s     = (socket_descriptor *)(void *)descriptor;
    uint32_t           ready = 0;

    if (s->has_failed)
        return EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP;
    if (s->connection == NULL)
        return EPOLLOUT | EPOLLHUP;
    if (!s->is_connected)
        return 0;
    if (sim_connection_room(s->connection) > 0)
        ready |= EPOLLOUT;
    if (sim_connection_unread_since(s->connection) != SIM_NEVER ||
        sim_connection_at_end(s->connection))
        ready |= EPOLLIN;
    return ready;
}

static void socket_close(sim_descriptor *descriptor)
{
    socket_descriptor *s = (socket_descriptor *)(void *)descriptor;

    if (s->connection != NULL)
        sim_connection_leave(s->connection);
    free(s);
}

static const sim_descriptor_kind socket_kind = { socket_ready, NULL, NULL, socket_close };

static socket_descriptor *find_socket(int fd)
{
    sim_descriptor *found = sim_descriptor_find(fd);

    if (found != NULL && found->kind != &socket_kind)
        errno = ENOTSOCK;
    return found != NULL && found->kind == &socket_kind ? (socket_descriptor *)(void *)found : NULL;
}

int sim_socket(int family, int type)
{
    if (family != AF_INET) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    socket_descriptor *s  = bwl_room_for(1, sizeof *s);
    int                fd = sim_descriptor_add(&s->descriptor, &socket_kind);
    s->descriptor.blocks  = (type & SOCK_NONBLOCK) == 0;
    if (fd < 0)
        free(s);
    return fd;
}

int sim_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    socket_descriptor *s = find_socket(fd);

    if (s == NULL)
        return -1;
    assert(size == sizeof s->peer && s->connection == NULL && !s->descriptor.blocks);
    memcpy(&s->peer, address, sizeof s->peer);
    s->connection = sim_connection_open(
        sim_host_of(s->descriptor.process), s->peer.sin_addr.s_addr, ntohs(s->peer.sin_port),
        s->silence_ns != 0 ? s->silence_ns : CONNECT_S * SIM_S, &callbacks, s);
    errno = EINPROGRESS;
    return -1;
}

/* -1 with errno, as a call on a socket without a connection. */
static ssize_t over(socket_descriptor *s, ssize_t otherwise, int error)
{
    if (s->error != 0) {
        errno    = s->error;
        s->error = 0;
        return -1;
    }
    errno = error;
    return error == 0 ? otherwise : -1;
}

ssize_t sim_send(int fd, const void *bytes, size_t size)
{
    socket_descriptor *s = find_socket(fd);

    if (s == NULL)
        return -1;
    sim_give_way();
    if (s->has_failed || s->connection == NULL || s->is_shut)
        return over(s, 0, EPIPE);
    size_t sent = s->is_connected ? sim_connection_write(s->connection, bytes, size) : 0;
    if (sent == 0) {
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t)sent;
}

static int64_t limit(const socket_descriptor *s)
{
    if (s->patience_ns == 0)
        return SIM_NEVER;
    return sim_clock_read(s->descriptor.process, SIM_CLOCK_MONOTONIC) + s->patience_ns;
}

ssize_t sim_recv(int fd, void *bytes, size_t size, int flags)
{
    socket_descriptor *s     = find_socket(fd);
    int64_t            until = s != NULL ? limit(s) : 0;
    bool               waits = s != NULL && s->descriptor.blocks && (flags & MSG_DONTWAIT) == 0;

    if (s == NULL)
        return -1;
    sim_give_way();
    for (;;) {
        if (s->connection == NULL)
            return over(s, 0, s->has_failed ? 0 : ENOTCONN);
        size_t got = sim_connection_read(s->connection, bytes, size, (flags & MSG_PEEK) != 0);
        if (got > 0 || sim_connection_at_end(s->connection))
            return (ssize_t)got;
        if (s->is_shut)
            return 0;
        if (!waits || !sim_block(&s->descriptor, until)) {
            errno = EAGAIN;
            return -1;
        }
    }
}

int sim_shutdown(int fd, int how)
{
    socket_descriptor *s = find_socket(fd);

    if (s == NULL)
        return -1;
    if (s->connection == NULL) {
        errno = ENOTCONN;
        return -1;
    }
    sim_connection_shut(s->connection);
    s->is_shut = how == SHUT_RDWR;
    sim_descriptor_changed(&s->descriptor);
    return 0;
}

int sim_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
    socket_descriptor *s      = find_socket(fd);
    int                number = 0;
    struct timeval     time;

    if (s == NULL)
        return -1;
    if (size == sizeof number)
        memcpy(&number, value, sizeof number);
    if (level == IPPROTO_TCP && option == TCP_USER_TIMEOUT)
        s->silence_ns = (int64_t)number * SIM_MS;
    if (level == SOL_SOCKET && option == SO_RCVTIMEO) {
        assert(size == sizeof time);
        memcpy(&time, value, sizeof time);
        s->patience_ns = time.tv_sec * SIM_S + time.tv_usec * SIM_US;
    }
    return 0;
}

int sim_getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
    socket_descriptor *s = find_socket(fd);

    if (s == NULL)
        return -1;
    assert(level == SOL_SOCKET && option == SO_ERROR && *size == sizeof s->error);
    memcpy(value, &s->error, sizeof s->error);
    s->error = 0;
    return 0;
}

int sim_getpeername(int fd, struct sockaddr *address, socklen_t *size)
{
    socket_descriptor *s = find_socket(fd);

    if (s == NULL)
        return -1;
    if (s->connection == NULL || !s->is_connected) {
        errno = ENOTCONN;
        return -1;
    }
    assert(*size >= sizeof s->peer);
    memcpy(address, &s->peer, sizeof s->peer);
    *size = sizeof s->peer;
    return 0;
}

int sim_fcntl(int fd, int what, int flags)
{
    socket_descriptor *s = find_socket(fd);

    if (s == NULL)
        return -1;
    if (what == F_GETFL)
        return s->descriptor.blocks ? O_RDWR : O_RDWR | O_NONBLOCK;
    assert(what == F_SETFL);
    s->descriptor.blocks = (flags & O_NONBLOCK) == 0;
    return 0;
}
