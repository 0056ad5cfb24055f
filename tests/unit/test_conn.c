/*
 * test_conn.c -- a stream to one server, over a unix socket and over TCP: how many bytes the kernel
 * took, how many bytes wait, how a connection ends.  tests/session tests replies that are cut at
 * any byte and malformed replies.
 */
#include "conn_ends.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/wait.h>

static char directory[64];

static int listen_in_a_directory(void **state)
{
    (void)snprintf(directory, sizeof directory, "/tmp/bowline-conn-XXXXXX");
    assert_non_null(mkdtemp(directory));
    open_listener(directory);
    return 0;
}

static int tidy_up(void **state)
{
    close_listener();
    assert_int_equal(rmdir(directory), 0);
    return 0;
}

static void connect_both(void)
{
    assert_int_equal(open_conn(&address, &fault), BWL_OK);
    assert_true(bwl_stream_is_open(&conn.stream));
    peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(peer >= 0);
    assert_int_equal(dispatch_once(), BWL_OK);
    assert_false(conn.stream.connecting);
}

/* Reads all bytes that the peer has received. */
static size_t peer_reads(void)
{
    static char bytes[65536];
    size_t      all = 0;
    ssize_t     got;

    while ((got = read(peer, bytes, sizeof bytes)) > 0)
        all += (size_t)got;
    return all;
}

static void peer_sends(const char *text)
{
    assert_int_equal(write(peer, text, strlen(text)), (ssize_t)strlen(text));
}

static void assert_frame(const char *wanted)
{
    const char *bytes;
    size_t      size;

    assert_int_equal(bwl_resp_stream_frame(&conn, &bytes, &size, &fault), 1);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(bytes, wanted, size);
}

static int next_frame(void)
{
    const char *bytes;
    size_t      size;

    return bwl_resp_stream_frame(&conn, &bytes, &size, &fault);
}

/* ---- connecting ------------------------------------------------------------------------------ */

FIXTURE(listen_in_a_directory, tidy_up)

TEST(conn_writes_nothing_before_it_is_connected)
{
    assert_int_equal(open_conn(&address, &fault), BWL_OK);
    size_t size = put(10);
    assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
    assert_int_equal(conn.stream.handed_over, 0);
    peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_int_equal(peer_reads(), 0);
    assert_int_equal(dispatch_once(), BWL_OK); /* this ends the connecting, and flushes */
    assert_int_equal(conn.stream.handed_over, size);
    assert_int_equal(peer_reads(), size);
}

TEST(conn_is_not_inherited_and_never_blocks)
{
    connect_both();
    assert_int_equal(fcntl(conn.stream.source.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(conn.stream.source.fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

TEST(conn_missing_socket_fails_at_once_and_is_closed)
{
    assert_int_equal(unlink(((struct sockaddr_un *)&address.socket)->sun_path), 0);
    assert_int_equal(open_conn(&address, &fault), BWL_STATUS_UNREACHABLE);
    assert_int_equal(fault.status, BWL_STATUS_UNREACHABLE);
    assert_string_equal(fault.text, "cannot connect: No such file or directory");
    assert_false(bwl_stream_is_open(&conn.stream));
    bwl_stream_close(&conn.stream);
    address.socket.ss_family = 255;
    assert_int_equal(open_conn(&address, NULL), BWL_STATUS_SYSTEM);
    assert_false(bwl_stream_is_open(&conn.stream));
}

/* ---- output ---------------------------------------------------------------------------------- */

TEST(conn_counts_the_bytes_that_the_kernel_took)
{
    size_t all  = 0;
    size_t read = 0;

    connect_both();
    for (unsigned i = 0; i < 10; i++)
        all += put(60000);
    assert_int_equal(conn.stream.written, all);
    assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
    assert_in_range(conn.stream.handed_over, 1, all - 1); /* the peer does not read */
    assert_true(conn.stream.wants_out);
    for (unsigned turns = 0; read < all && turns < 1000; turns++) {
        uint64_t taken = conn.stream.handed_over;
        read += peer_reads();
        assert_int_equal(read, taken);
        (void)dispatch_once();
    }
    assert_int_equal(read, all);
    assert_int_equal(conn.stream.handed_over, all);
    assert_false(conn.stream.wants_out);
    assert_int_equal(dispatch_once(), 1); /* nothing to write: room is not reported any more */
}

TEST(conn_queue_is_bounded)
{
    bwl_resp_writer writer;

    connect_both();
    assert_false(bwl_resp_stream_reserve(&conn, BWL_STREAM_OUT_MAX + 1, &writer));
    assert_true(bwl_resp_stream_reserve(&conn, BWL_STREAM_OUT_MAX, &writer));
    assert_int_equal(writer.capacity, BWL_STREAM_OUT_MAX);
    size_t size = put(10);
    assert_false(bwl_resp_stream_reserve(&conn, BWL_STREAM_OUT_MAX - size + 1, &writer));
    assert_true(bwl_resp_stream_reserve(&conn, BWL_STREAM_OUT_MAX - size, &writer));
}

TEST(conn_frees_the_sent_bytes)
{
    static const char nothing[5000];

    connect_both();
    size_t size = put(4000);
    assert_memory_not_equal(conn.stream.out, nothing, size);
    assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
    assert_memory_equal(conn.stream.out, nothing, size);
    assert_int_equal(conn.stream.out_size, 0);
}

TEST(conn_broken_pipe_is_an_error_and_no_signal)
{
    connect_both();
    close(peer);
    peer = -1;
    (void)put(10);
    assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_STATUS_UNREACHABLE);
    assert_string_equal(fault.text, "the connection broke: Broken pipe");
    assert_int_equal(conn.stream.handed_over, 0);
}

/* ---- input ----------------------------------------------------------------------------------- */

TEST(conn_large_frame_arrives)
{
    static char text[60020];
    int         size = snprintf(text, sizeof text, "$%d\r\n", 60000);

    memset(text + size, 'x', 60000);
    memcpy(text + size + 60000, "\r\n", 3);
    connect_both();
    for (unsigned round = 0; round < 5; round++) {
        peer_sends(text);
        for (unsigned turns = 0; turns < 100 && next_frame() == 0; turns++)
            (void)dispatch_once();
        assert_int_equal(conn.stream.in_taken, conn.stream.in_size);
    }
    assert_in_range(conn.stream.in_room, 1, BWL_RESP_STREAM_IN_MAX);
}

TEST(conn_peer_that_sends_too_much_is_disconnected)
{
    static char text[4096];
    int         status = BWL_OK;

    memset(text, ' ', sizeof text);
    connect_both();
    for (unsigned i = 0; i < 200 && status == BWL_OK; i++) {
        (void)!write(peer, text, sizeof text);
        status = dispatch_once();
    }
    assert_int_equal(status, BWL_STATUS_NOMEM);
    assert_in_range(conn.stream.in_room, 1, BWL_RESP_STREAM_IN_MAX);
}

TEST(conn_TLS_alert_is_recognised)
{
    connect_both();
    assert_false(bwl_stream_sounds_like_tls(&conn.stream)); /* nothing has arrived */
    peer_sends("\x15\x03\x03");
    assert_int_equal(dispatch_once(), BWL_OK);
    assert_true(bwl_stream_sounds_like_tls(&conn.stream));
    assert_int_equal(next_frame(), BWL_STATUS_REFUSED);
    assert_true(bwl_stream_sounds_like_tls(&conn.stream));
}

/* ---- reopening ------------------------------------------------------------------------------- */

TEST(conn_reopened_starts_empty)
{
    connect_both();
    (void)put(100);
    assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
    (void)put(100); /* never sent */
    peer_sends("$10\r\nhal");
    assert_int_equal(dispatch_once(), BWL_OK);
    assert_int_equal(next_frame(), 0);
    bwl_stream_close(&conn.stream);
    bwl_stream_close(&conn.stream);
    close(peer);
    connect_both();
    assert_int_equal(conn.stream.written, 0);
    assert_int_equal(conn.stream.handed_over, 0);
    assert_int_equal(peer_reads(), 0);
    peer_sends("+OK\r\n");
    assert_int_equal(dispatch_once(), BWL_OK);
    assert_frame("+OK\r\n");
}

/* A forked child has a copy of the descriptor: closing ours does not end the socket, and its later
 * events must not be reported. */
TEST(conn_closed_is_not_watched_even_with_a_copy_in_a_child)
{
    int gate[2];

    connect_both();
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        char c;
        (void)close(gate[1]);
        _exit((int)read(gate[0], &c, 1)); /* until the parent closes its end */
    }
    bwl_stream_close(&conn.stream);
    peer_sends("+too late\r\n");
    int status = dispatch_once();
    close(gate[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(gate[0]);
    assert_int_equal(status, 1);
}

TEST(conn_freed_in_a_child_is_still_watched_in_the_parent)
{
    connect_both();
    pid_t child = fork();
    if (child == 0) {
        bwl_stream_free(&conn.stream);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    peer_sends("+OK\r\n");
    assert_int_equal(dispatch_once(), BWL_OK);
    assert_frame("+OK\r\n");
}

/* ---- TCP ------------------------------------------------------------------------------------- */

/* A listener on the loopback interface, and its address. */
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

TEST(conn_tcp_has_nodelay_and_keepalive)
{
    bwl_address tcp;
    int         fd    = listen_on_tcp(&tcp);
    int         one   = 0;
    int         alive = 0;
    socklen_t   size  = sizeof one;

    assert_int_equal(open_conn(&tcp, &fault), BWL_OK);
    assert_int_equal(getsockopt(conn.stream.source.fd, IPPROTO_TCP, TCP_NODELAY, &one, &size), 0);
    assert_int_equal(getsockopt(conn.stream.source.fd, SOL_SOCKET, SO_KEEPALIVE, &alive, &size), 0);
    assert_true(one != 0 && alive != 0);
    while (dispatch_once() == 1)
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

TEST(conn_tcp_closes_after_the_silence_of_the_peer)
{
    static const struct {
        int silence_ms;
        int idle_s;
        int between_s;
    } list[] = { { 10, 1, 1 }, { 999, 1, 1 }, { 1001, 2, 1 }, { 5000, 5, 2 }, { 60000, 60, 20 } };
    bwl_address tcp;
    int         fd = listen_on_tcp(&tcp);

    for (size_t i = 0; i < COUNT_OF(list); i++) {
        conn.stream.silence_ms = list[i].silence_ms;
        assert_int_equal(open_conn(&tcp, &fault), BWL_OK);
        assert_int_equal(option_of(IPPROTO_TCP, TCP_USER_TIMEOUT), list[i].silence_ms);
        assert_int_equal(option_of(IPPROTO_TCP, TCP_KEEPIDLE), list[i].idle_s);
        assert_int_equal(option_of(IPPROTO_TCP, TCP_KEEPINTVL), list[i].between_s);
        assert_int_equal(option_of(IPPROTO_TCP, TCP_KEEPCNT), 3);
        bwl_stream_close(&conn.stream);
    }
    close(fd);
}

TEST(conn_tcp_refused_connect_is_reported_by_the_step)
{
    bwl_address tcp;

    close(listen_on_tcp(&tcp));
    int status = open_conn(&tcp, &fault);
    while (status == BWL_OK && (status = dispatch_once()) == 1)
        status = BWL_OK;
    assert_int_equal(status, BWL_STATUS_UNREACHABLE);
    assert_string_equal(fault.text, "cannot connect: Connection refused");
}
