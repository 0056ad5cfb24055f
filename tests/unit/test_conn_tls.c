/*
 * test_conn_tls.c -- an encrypted stream: a connection of ours, a real OpenSSL session at the other
 * end of a socket, and the test, which moves each piece between that socket and that session.
 *
 * The main property: wherever the connection is cut, the other end never reads a byte that does not
 * count as handed over.
 */
#include "net/stream.h"
#include "tls_pair.h"
#include "conn_ends.h"

static server far;

static int open_ends(void **state)
{
    open_listener(directory);
    bwl_stream_secure(&conn.stream, context, "redis.test");
    far = (server){ 0 };
    return 0;
}

static int close_ends(void **state)
{
    close_listener();
    if (far.ctx != NULL)
        free_server(&far);
    return 0;
}

/* ---- moving bytes ---------------------------------------------------------------------------- */

/* Moves the bytes that have arrived at the other end into its session.  Returns their number. */
static size_t far_receives(void)
{
    char    bytes[65536];
    ssize_t got = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);

    if (got > 0)
        assert_int_equal(BIO_write(far.in, bytes, (int)got), got);
    return got > 0 ? (size_t)got : 0;
}

/* Writes the output of that session to the socket, in pieces. */
static size_t far_sends(size_t piece)
{
    char bytes[4096];
    int  most = piece < sizeof bytes ? (int)piece : (int)sizeof bytes;
    int  size = BIO_read(far.out, bytes, most);

    if (size > 0)
        assert_int_equal(send(peer, bytes, (size_t)size, MSG_NOSIGNAL), size);
    return size > 0 ? (size_t)size : 0;
}

static void begin(const server_terms *how)
{
    far = start_server(how);
    assert_int_equal(open_conn(&address, &fault), BWL_OK);
    peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(peer >= 0);
}

/* Runs until no byte moves, or until the connection fails. */
static int carry(size_t piece)
{
    int  status = BWL_OK;
    bool moves  = true;

    while (moves && status >= 0) {
        moves = far_receives() > 0;
        (void)SSL_do_handshake(far.ssl);
        ERR_clear_error();
        moves  = far_sends(piece) > 0 || moves;
        status = dispatch_once();
        moves  = moves || status != 1;
    }
    return status < 0 ? status : BWL_OK;
}

static void connect_both(int version)
{
    begin(&(server_terms){ .who = &who, .version = version });
    assert_int_equal(carry(SIZE_MAX), BWL_OK);
    assert_false(conn.stream.connecting);
    assert_int_equal(SSL_is_init_finished(far.ssl), 1);
}

/* Connects to a server that accepts only certificates of this authority.  Ends when our handshake
 * has ended. */
static void connect_to_server_that_asks_for(const identity *asked_for)
{
    begin(&(server_terms){ .who = &who, .asks_for = asked_for, .version = TLS1_3_VERSION });
    while (conn.stream.connecting) {
        (void)far_receives();
        (void)SSL_do_handshake(far.ssl);
        (void)far_sends(SIZE_MAX);
        assert_true(dispatch_once() >= 0);
    }
}

static void end_peer(void)
{
    close(peer);
    peer = -1;
    free_server(&far);
    far = (server){ 0 };
}

static void make_send_buffer_small(void)
{
    int size = 4096;

    assert_int_equal(setsockopt(conn.stream.source.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size),
                     0);
}

/* Returns how many plaintext bytes the other end can read. */
static size_t far_reads(void)
{
    static char text[65536];
    size_t      all = 0;
    int         got;

    while ((got = SSL_read(far.ssl, text, sizeof text)) > 0)
        all += (size_t)got;
    ERR_clear_error();
    return all;
}

static int next_frame(size_t *ret_size)
{
    const char *bytes;

    return bwl_resp_stream_frame(&conn, &bytes, ret_size, &fault);
}

/* ---- connecting ------------------------------------------------------------------------------ */

FIXTURE(open_ends, close_ends)

TEST(conn_tls_is_connecting_until_the_handshake_is_done)
{
    for (size_t i = 0; i < 2; i++) {
        begin(&(server_terms){ .who = &who, .version = versions[i] });
        assert_true(conn.stream.connecting);
        assert_false(conn.stream.joined);
        assert_int_equal(dispatch_once(), BWL_OK);
        assert_true(conn.stream.joined);
        assert_true(conn.stream.connecting);
        assert_false(conn.stream.heard);
        size_t size = put(10);
        assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
        assert_int_equal(conn.stream.handed_over, 0);
        assert_int_equal(carry(1), BWL_OK);
        assert_false(conn.stream.connecting);
        assert_true(conn.stream.heard);
        assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
        assert_int_equal(conn.stream.handed_over, size);
        assert_int_equal(conn.stream.out_size, 0);
        (void)far_receives();
        assert_int_equal(far_reads(), size);
        bwl_stream_close(&conn.stream);
        assert_null(conn.stream.tls);
        end_peer();
    }
}

/* The other end gets an alert with the reason. */
TEST(conn_tls_refused_certificate_is_a_refusal_and_an_alert)
{
    identity other = make_host("DNS:other.test", &authority);
    char     bytes[100];

    begin(&(server_terms){ .who = &other, .version = TLS1_2_VERSION });
    assert_int_equal(carry(SIZE_MAX), BWL_STATUS_REFUSED);
    assert_fault(&fault, BWL_STATUS_REFUSED, "the certificate of redis.test is for other.test");
    assert_true(conn.stream.connecting);
    ssize_t got = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT);
    assert_int_equal(got, 7);
    assert_memory_equal(bytes, "\x15\x03\x03\x00\x02\x02\x2a", 7); /* fatal, bad_certificate */
    free_identity(&other);
}

/* With TLS 1.3 the server checks our certificate after our handshake has ended. */
TEST(conn_tls_refusal_of_our_certificate_comes_with_the_first_read)
{
    identity other_ca = make_identity(&(recipe){ .common_name = "b", .is_authority = true });

    connect_to_server_that_asks_for(&other_ca);
    assert_int_equal(carry(SIZE_MAX), BWL_STATUS_REFUSED);
    assert_fault(&fault, BWL_STATUS_REFUSED, "does not know the authority of our certificate");
    free_identity(&other_ca);
}

/* The connection is broken when we write, but an alert has arrived before. */
TEST(conn_tls_alert_is_read_after_a_failed_write)
{
    identity other_ca = make_identity(&(recipe){ .common_name = "b", .is_authority = true });

    connect_to_server_that_asks_for(&other_ca);
    (void)far_receives();
    (void)SSL_do_handshake(far.ssl);
    ERR_clear_error();
    assert_true(far_sends(SIZE_MAX) > 0);
    close(peer);
    peer = -1;
    (void)put(10);
    assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_STATUS_REFUSED);
    assert_fault(&fault, BWL_STATUS_REFUSED, "does not know the authority of our certificate");
    assert_int_equal(conn.stream.handed_over, 0);
    free_identity(&other_ca);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* The other end reads a little from time to time.  Wherever the connection is cut, it has no byte
 * that does not count as handed over. */
TEST(conn_tls_peer_reads_only_bytes_handed_over)
{
    size_t all  = 0;
    size_t read = 0;

    for (size_t i = 0; i < 2; i++) {
        connect_both(versions[i]);
        make_send_buffer_small();
        all  = 0;
        read = 0;
        for (unsigned n = 0; n < 8; n++)
            all += put(50000 + n * 1000);
        assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
        assert_in_range(conn.stream.handed_over, 1, all - 1);
        assert_true(conn.stream.wants_out);
        for (unsigned turns = 0; read < all && turns < 10000; turns++) {
            (void)far_receives();
            read += far_reads();
            assert_true(read <= conn.stream.handed_over);
            assert_true(conn.stream.handed_over <= conn.stream.out_sent ||
                        conn.stream.out_size == 0);
            (void)dispatch_once();
        }
        assert_int_equal(read, all);
        assert_int_equal(conn.stream.handed_over, all);
        assert_int_equal(conn.stream.out_size, 0);
        assert_false(conn.stream.wants_out);
        bwl_stream_close(&conn.stream);
        end_peer();
    }
}

/* A record that was encrypted, and of which the socket took nothing. */
TEST(conn_tls_record_that_waits_is_not_handed_over)
{
    size_t size = 0;

    connect_both(TLS1_3_VERSION);
    make_send_buffer_small();
    while (!conn.stream.wants_out) {
        size = put(500);
        assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
    }
    assert_int_equal(conn.stream.handed_over, conn.stream.written - size);
    assert_int_equal(conn.stream.out_sent, conn.stream.out_size); /* the session has it */
    for (size_t got = 1; got > 0;)
        got = far_receives();
    assert_int_equal(far_reads(), conn.stream.handed_over);
    assert_int_equal(dispatch_once(), BWL_OK);
    assert_int_equal(conn.stream.handed_over, conn.stream.written);
    (void)far_receives();
    assert_int_equal(far_reads(), size);
}

/* ---- input ----------------------------------------------------------------------------------- */

TEST(conn_tls_peer_that_sends_too_much_is_disconnected)
{
    static char text[16000];
    int         status = BWL_OK;

    memset(text, ' ', sizeof text - 1);
    connect_both(TLS1_3_VERSION);
    for (unsigned i = 0; i < 200 && status >= 0; i++) {
        server_sends(&far, text);
        while (status >= 0 && far_sends(SIZE_MAX) > 0)
            status = dispatch_once();
    }
    assert_int_equal(status, BWL_STATUS_NOMEM);
    assert_in_range(conn.stream.in_room, 1, BWL_RESP_STREAM_IN_MAX);
}

/* Bytes that arrived before the end can still be read. */
TEST(conn_tls_end_is_reported_after_the_last_bytes)
{
    size_t size = 0;

    for (int politely = 0; politely < 2; politely++) {
        connect_both(TLS1_2_VERSION);
        server_sends(&far, "-ERR bye\r\n");
        if (politely)
            (void)SSL_shutdown(far.ssl);
        while (far_sends(SIZE_MAX) > 0)
            continue;
        close(peer);
        peer       = -1;
        int status = dispatch_once();
        while (status >= 0)
            status = dispatch_once();
        assert_fault(&fault, BWL_STATUS_UNREACHABLE,
                     politely ? "the server closed the connection" : "was cut off");
        assert_int_equal(next_frame(&size), 1);
        assert_int_equal(size, 10);
        bwl_stream_close(&conn.stream);
        assert_int_equal(next_frame(&size), 0);
        free_server(&far);
        far = (server){ 0 };
    }
}

TEST(conn_tls_unexpected_bytes_are_seen)
{
    connect_both(TLS1_2_VERSION);
    assert_false(bwl_stream_has_unread(&conn.stream));
    server_sends(&far, "+x\r\n");
    assert_true(far_sends(SIZE_MAX) > 0);
    assert_true(bwl_stream_has_unread(&conn.stream));
}

/* ---- close_notify ---------------------------------------------------------------------------- */

TEST(conn_tls_close_notify_is_sent)
{
    connect_both(TLS1_3_VERSION);
    size_t size = put(10);
    assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
    bwl_stream_goodbye(&conn.stream);
    (void)far_receives();
    assert_int_equal(far_reads(), size);
    assert_int_equal(SSL_get_shutdown(far.ssl), SSL_RECEIVED_SHUTDOWN);
}

/* It would flush bytes that count as never handed over. */
TEST(conn_tls_close_notify_flushes_no_unsent_bytes)
{
    connect_both(TLS1_3_VERSION);
    make_send_buffer_small();
    for (unsigned n = 0; n < 8; n++)
        (void)put(50000);
    assert_int_equal(bwl_stream_flush(&conn.stream, &fault), BWL_OK);
    uint64_t handed_over = conn.stream.handed_over;
    assert_true(handed_over < conn.stream.written);
    size_t heard = 0;
    for (size_t got; (got = far_receives()) > 0;)
        heard += got;
    bwl_stream_goodbye(&conn.stream); /* there is room now */
    assert_int_equal(far_receives(), 0);
    assert_int_equal(conn.stream.handed_over, handed_over);
    bwl_stream_close(&conn.stream);
    assert_int_equal(far_receives(), 0);
    assert_true(heard > 0);
    assert_true(far_reads() <= handed_over);
}

AROUND(make_ends, remove_ends)
