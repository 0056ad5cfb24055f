/*
 * The delay proxy of the benchmark delays both directions and changes nothing else.
 *
 * The test is both ends of the connection: `near` is the client, `far` is the connection of the
 * proxy to the server.
 */
#include "bench/base/machine.h"
#include "bench/world/proxy.h"
#include "tests/lib/suite.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000, DELAY_US = 3000, SHORT_US = 50, MESSAGE = 40, BULK = 12 << 20 };

typedef struct fixture {
    bench_proxy proxy;
    int         listener;
    int         near;
    int         far;
} fixture;

/* ---- both ends ------------------------------------------------------------------------------- */

static void await(int fd, short event)
{
    struct pollfd watched = { .fd = fd, .events = event };

    assert_int_equal(poll(&watched, 1, PATIENCE_MS), 1);
}

static int connect_to(int port)
{
    struct sockaddr_in to  = { .sin_family      = AF_INET,
                               .sin_port        = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int                one = 1;
    int                fd  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
    return fd;
}

static int accept_at(int listener)
{
    int one = 1;

    await(listener, POLLIN);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
    return fd;
}

static fixture begin(unsigned delay_us)
{
    fixture          f;
    bench_proxy_plan plan = { .delay_us = delay_us };
    bench_failure    failure;

    f.listener = bench_listen(&plan.server_port, &failure);
    assert_true(f.listener >= 0);
    assert_int_equal(bench_proxy_start(&f.proxy, &plan, &failure), 0);
    f.near = connect_to(f.proxy.port);
    f.far  = accept_at(f.listener);
    return f;
}

static void end(fixture *f)
{
    (void)close(f->near);
    (void)close(f->far);
    (void)close(f->listener);
    bench_proxy_stop(&f->proxy);
    assert_int_equal(f->proxy.pid, 0);
}

static void say(int fd, const char *bytes, size_t size)
{
    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

static void hear(int fd, char *bytes, size_t size)
{
    for (size_t got = 0; got < size;) {
        await(fd, POLLIN);
        ssize_t more = recv(fd, bytes + got, size - got, 0);
        assert_true(more > 0);
        got += (size_t)more;
    }
}

static void must_have_ended(int fd)
{
    char byte;

    await(fd, POLLIN);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
}

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t one_way_ns(int from, int to)
{
    char    byte;
    int64_t began = bench_now_ns();

    say(from, "x", 1);
    hear(to, &byte, 1);
    assert_int_equal(byte, 'x');
    return bench_now_ns() - began;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void pass_in_two(int from, int to, size_t cut)
{
    char sent[MESSAGE], received[MESSAGE];

    for (size_t i = 0; i < MESSAGE; i++)
        sent[i] = (char)(i * 7 + cut); /* NUL and bytes above 127 among them */
    say(from, sent, cut);
    /* The first part has arrived when the second is sent, so they stay apart. */
    hear(to, received, cut);
    say(from, sent + cut, MESSAGE - cut);
    hear(to, received + cut, MESSAGE - cut);
    assert_memory_equal(received, sent, MESSAGE);

    if (cut > 0)
        say(from, sent, cut);
    say(from, sent + cut, MESSAGE - cut);
    hear(to, received, MESSAGE);
    assert_memory_equal(received, sent, MESSAGE);
}

TEST(proxy_passes_bytes_intact_at_every_split)
{
    fixture f = begin(SHORT_US);

    for (size_t cut = 0; cut < MESSAGE; cut++) {
        pass_in_two(f.near, f.far, cut);
        pass_in_two(f.far, f.near, cut);
    }
    end(&f);
}

static char bulk_byte(size_t at)
{
    return (char)(at * 31 + (at >> 8) * 17 + (at >> 16));
}

/* Sends as much as the socket accepts without blocking. */
static size_t push(int fd, const char *bulk, size_t sent)
{
    while (sent < BULK) {
        ssize_t more = send(fd, bulk + sent, BULK - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (more <= 0)
            break;
        sent += (size_t)more;
    }
    return sent;
}

static size_t pull(int fd, size_t received)
{
    static char buffer[100003];
    ssize_t     more = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);

    for (ssize_t i = 0; i < more; i++)
        if (buffer[i] != bulk_byte(received + (size_t)i))
            fail_msg("byte %zu is not what was sent", received + (size_t)i);
    return received + (more > 0 ? (size_t)more : 0);
}

TEST(proxy_passes_more_than_it_can_keep_in_both_directions)
{
    fixture f       = begin(SHORT_US);
    char   *bulk    = malloc(BULK);
    size_t  sent[2] = { 0 }, received[2] = { 0 };
    int     ends[2] = { f.near, f.far };

    assert_non_null(bulk);
    for (size_t i = 0; i < BULK; i++)
        bulk[i] = bulk_byte(i);
    /* Nothing is read until the connection is full. */
    for (unsigned i = 0; i < 50; i++) {
        sent[0] = push(f.near, bulk, sent[0]);
        sent[1] = push(f.far, bulk, sent[1]);
        bench_sleep_ms(1);
    }
    while (received[0] < BULK || received[1] < BULK) {
        struct pollfd watched[2];
        for (unsigned i = 0; i < 2; i++)
            watched[i] =
                (struct pollfd){ .fd     = ends[i],
                                 .events = (short)(POLLIN | (sent[i] < BULK ? POLLOUT : 0)) };
        assert_true(poll(watched, 2, PATIENCE_MS) > 0);
        for (unsigned i = 0; i < 2; i++) {
            sent[i]     = push(ends[i], bulk, sent[i]);
            received[i] = pull(ends[i], received[i]);
        }
    }
    free(bulk);
    end(&f);
}

/* ---- connections ----------------------------------------------------------------------------- */

TEST(proxy_keeps_connections_apart)
{
    enum { OTHERS = 20 };
    fixture f = begin(SHORT_US);
    int     near[OTHERS], far[OTHERS];

    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < OTHERS; i++) {
            near[i] = connect_to(f.proxy.port);
            far[i]  = accept_at(f.listener);
        }
        for (unsigned i = 0; i < OTHERS; i++)
            say(near[i], &(char){ (char)i }, 1);
        for (unsigned i = 0; i < OTHERS; i++) {
            char byte;
            hear(far[i], &byte, 1);
            assert_int_equal(byte, i);
        }
        for (unsigned i = 0; i < OTHERS; i++) {
            (void)close(near[i]);
            must_have_ended(far[i]);
            (void)close(far[i]);
        }
    }
    assert_true(one_way_ns(f.near, f.far) >= (int64_t)SHORT_US * 1000);
    end(&f);
}

TEST(proxy_without_a_server_closes_the_connection)
{
    fixture f = begin(SHORT_US);

    (void)close(f.listener);
    f.listener = -1;
    int near   = connect_to(f.proxy.port);
    must_have_ended(near);
    (void)close(near);
    assert_true(one_way_ns(f.near, f.far) >= (int64_t)SHORT_US * 1000);
    end(&f);
}
