/*
 * test_conn_tcp.c -- what a connection asks of TCP: to send at once, and to find out that the other
 * end is not there any more.
 */
#include "engine/redis/session/resp_stream.h"
#include "tests/lib/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

static int open_conn(bwl_resp_stream *conn, const bwl_address *address, bwl_fault *fault)
{
    bwl_frames_reset(&conn->frames);
    return bwl_stream_open(&conn->stream, address, fault);
}

static bwl_reactor     reactor;
static bwl_resp_stream conn;
static bwl_fault       fault;
static int             last_step;

static void step(bwl_source *source, uint32_t events)
{
    assert_ptr_equal(source, &conn.stream.source);
    last_step = bwl_stream_step(&conn.stream, events, &fault);
}

static int open_reactor(void **state)
{
    reactor = (bwl_reactor)BWL_REACTOR_CLOSED;
    assert_int_equal(bwl_reactor_open(&reactor, &fault), BWL_OK);
    bwl_resp_stream_init(&conn, &reactor, step);
    return 0;
}

static int close_reactor(void **state)
{
    bwl_stream_free(&conn.stream);
    bwl_reactor_close(&reactor);
    return 0;
}

/* Lets the reactor dispatch what there is, once; what the step said, 1 if there was none. */
static int turn(void)
{
    bwl_ready ready[BWL_READY_MAX];

    last_step = 1;
    int count = bwl_reactor_wait(&reactor, 0, ready);
    for (int i = 0; i < count; i++)
        ready[i].source->ready(ready[i].source, ready[i].events);
    return last_step;
}

/* A listener on the loopback, and its address. */
static int listen_on_tcp(bwl_address *ret_address)
{
    struct sockaddr_in *to   = (struct sockaddr_in *)&ret_address->socket;
    socklen_t           size = sizeof *to;
    int                 fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *ret_address        = (bwl_address){ .size = sizeof *to };
    to->sin_family      = AF_INET;
    to->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)to, sizeof *to), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)to, &size), 0);
    return fd;
}

FIXTURE(open_reactor, close_reactor)

TEST(conn_tcp_sends_at_once_and_notices_a_dead_peer)
{
    bwl_address tcp;
    int         fd    = listen_on_tcp(&tcp);
    int         one   = 0;
    int         alive = 0;
    socklen_t   size  = sizeof one;

    assert_int_equal(open_conn(&conn, &tcp, &fault), BWL_OK);
    assert_int_equal(getsockopt(conn.stream.source.fd, IPPROTO_TCP, TCP_NODELAY, &one, &size), 0);
    assert_int_equal(getsockopt(conn.stream.source.fd, SOL_SOCKET, SO_KEEPALIVE, &alive, &size), 0);
    assert_true(one != 0 && alive != 0);
    while (turn() == 1)
        ;
    assert_int_equal(last_step, BWL_OK);
    assert_false(conn.stream.connecting);
    close(fd);
}

static int option_of(int level, int option)
{
    int       value = -1;
    socklen_t size  = sizeof value;

    assert_int_equal(getsockopt(conn.stream.source.fd, level, option, &value, &size), 0);
    return value;
}

TEST(conn_tcp_gives_up_a_peer_after_its_silence)
{
    static const struct {
        int silence_ms;
        int idle_s;
        int between_s;
    } list[] = { { 10, 1, 1 }, { 999, 1, 1 }, { 1001, 2, 1 }, { 5000, 5, 2 }, { 60000, 60, 20 } };
    bwl_address tcp;
    int         fd = listen_on_tcp(&tcp);

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        conn.stream.silence_ms = list[i].silence_ms;
        assert_int_equal(open_conn(&conn, &tcp, &fault), BWL_OK);
        assert_int_equal(option_of(IPPROTO_TCP, TCP_USER_TIMEOUT), list[i].silence_ms);
        assert_int_equal(option_of(IPPROTO_TCP, TCP_KEEPIDLE), list[i].idle_s);
        assert_int_equal(option_of(IPPROTO_TCP, TCP_KEEPINTVL), list[i].between_s);
        assert_int_equal(option_of(IPPROTO_TCP, TCP_KEEPCNT), 3);
        bwl_stream_close(&conn.stream);
    }
    close(fd);
}

TEST(conn_tcp_that_is_refused_says_so_in_the_step)
{
    bwl_address tcp;

    close(listen_on_tcp(&tcp));
    int status = open_conn(&conn, &tcp, &fault);
    while (status == BWL_OK && (status = turn()) == 1)
        status = BWL_OK;
    assert_int_equal(status, BWL_STATUS_UNREACHABLE);
    assert_string_equal(fault.text, "cannot connect: Connection refused");
}
