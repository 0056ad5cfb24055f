/*
 * test_tls_hostile.c -- one session against invalid bytes, and with foreign errors queued.
 */
#include "tls_pair.h"
#include "tests/lib/suite.h"

/* ---- invalid bytes of a server --------------------------------------------------------------- */

TEST(hostile_clear_text_is_recognised)
{
    static const struct {
        const char *said;
        const char *words;
    } cases[] = {
        { "-ERR unknown command\r\n",
          "not TLS, it says \"-ERR unknown command\": is this the port" },
        { "HTTP/1.1 400 Bad Request\r\nServer: x\r\n", "it says \"HTTP/1.1 400 Bad Request\"" },
        { "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u7 and so on",
          "it says \"SSH-2.0-OpenSSH_9.2p1 Debian-" },
        { "-", "it says \"-\"" },
        { "+\x1b[2J\r\n", "what answers there is not TLS: is this the port for TLS?" },
        { "\x16\x02\x01\x01\x01\x01", "what answers there is not TLS: is this the port for TLS?" },
        { "\x80\x2e\x01\x03\x01", "what answers there is not TLS: is this the port for TLS?" },
        { "\x17\x03\x03\x01\x01", "what answers there is not TLS: is this the port for TLS?" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pair *p = new_pair(0);
        assert_int_equal(bwl_tls_step(p->tls, &p->fault), BWL_OK);
        (void)carry_to_server(p->tls, &p->s, SIZE_MAX);
        assert_int_equal(bwl_tls_feed(p->tls, cases[i].said, strlen(cases[i].said), &p->fault), 0);
        assert_int_equal(bwl_tls_step(p->tls, &p->fault), BWL_STATUS_REFUSED);
        assert_fault(&p->fault, BWL_STATUS_REFUSED, cases[i].words);
        free_pair(p);
    }
}

/* In a handshake, one bit of the server's bytes is flipped.  A few bits of the record's version are
 * not checked.  Whatever the result, no byte is read that the server has not sent. */
TEST(hostile_flipped_bits_are_never_accepted)
{
    unsigned refused = 0;
    unsigned open    = 0;
    char     flight[4096];

    for (int at = 0, size = 1; at < size; at += 23) {
        pair *p = new_pair(versions[at % 2]);
        (void)bwl_tls_step(p->tls, NULL);
        (void)carry_to_server(p->tls, &p->s, SIZE_MAX);
        (void)SSL_do_handshake(p->s.ssl);
        ERR_clear_error();
        size = BIO_read(p->s.out, flight, sizeof flight);
        assert_true(size > at && size < (int)sizeof flight);
        flight[at] = (char)(flight[at] ^ (1 << (at % 8)));
        assert_int_equal(bwl_tls_feed(p->tls, flight, (size_t)size, &p->fault), BWL_OK);
        int status = do_handshake(p->tls, &p->s, SIZE_MAX, &p->fault);
        refused += status < 0 ? 1 : 0;
        open += bwl_tls_is_open(p->tls) ? 1 : 0;
        assert_int_equal(bwl_tls_is_open(p->tls), SSL_is_init_finished(p->s.ssl) && status == 0);
        free_pair(p);
    }
    assert_true(refused > 20);
    assert_true(open <= 1);
}

TEST(hostile_flipped_bit_in_the_stream_breaks_it)
{
    for (int i = 0; i < 2; i++) {
        char  record[128];
        pair *p = new_open_pair(versions[i]);
        server_sends(&p->s, "+OK\r\n");
        int size         = BIO_read(p->s.out, record, sizeof record);
        record[size - 3] = (char)(record[size - 3] ^ 4);
        assert_int_equal(bwl_tls_feed(p->tls, record, (size_t)size, &p->fault), BWL_OK);
        assert_int_equal(read_all(p->tls, p->text, sizeof p->text, &p->fault),
                         BWL_STATUS_UNREACHABLE);
        assert_string_equal(p->text, "");
        assert_fault(&p->fault, BWL_STATUS_UNREACHABLE, "the TLS connection broke: ");
        /* The peer gets an alert. */
        (void)carry_to_server(p->tls, &p->s, SIZE_MAX);
        assert_true(SSL_read(p->s.ssl, record, 1) <= 0);
        assert_int_equal(ERR_GET_REASON(ERR_peek_error()), SSL_R_SSLV3_ALERT_BAD_RECORD_MAC);
        ERR_clear_error();
        free_pair(p);
    }
}

TEST(hostile_record_that_is_too_long_is_refused)
{
    static const char header[] = "\x16\x03\x03\xff\xff";
    pair             *p        = new_pair(0);

    (void)bwl_tls_step(p->tls, NULL);
    assert_int_equal(bwl_tls_feed(p->tls, header, 5, &p->fault), BWL_OK);
    assert_int_equal(bwl_tls_step(p->tls, &p->fault), BWL_STATUS_REFUSED);
    assert_fault(&p->fault, BWL_STATUS_REFUSED, "violates the TLS protocol: ");
    free_pair(p);
}

TEST(hostile_renegotiation_is_declined)
{
    pair *p = new_open_pair(TLS1_2_VERSION);

    assert_int_equal(SSL_renegotiate(p->s.ssl), 1);
    (void)SSL_do_handshake(p->s.ssl);
    assert_int_equal(client_receives(p), BWL_OK);
    const char *bytes;
    size_t      size = bwl_tls_out(p->tls, &bytes);
    assert_true(size > 0 && bytes[0] == SSL3_RT_ALERT); /* a refusal, not a handshake */
    bwl_tls_sent(p->tls, size);
    assert_int_equal(bwl_tls_write(p->tls, "ping", 4, &p->fault), 4);
    free_pair(p);
}

/* ---- bounds, and errors of other code -------------------------------------------------------- */

TEST(hostile_session_takes_no_more_than_its_room)
{
    static char much[BWL_TLS_IN_MAX];
    pair       *p = new_open_pair(TLS1_3_VERSION);

    assert_int_equal(bwl_tls_room(p->tls), BWL_TLS_IN_MAX);
    memset(much, 0x17, sizeof much);
    assert_int_equal(bwl_tls_feed(p->tls, much, 1000, &p->fault), BWL_OK);
    assert_int_equal(bwl_tls_room(p->tls), BWL_TLS_IN_MAX - 1000);
    assert_int_equal(bwl_tls_feed(p->tls, much, sizeof much - 1000, &p->fault), BWL_OK);
    assert_int_equal(bwl_tls_room(p->tls), 0);
    assert_int_equal(bwl_tls_feed(p->tls, much, 0, &p->fault), BWL_OK);
    free_pair(p);
}

/* A server that renegotiates again and again, and never reads our answers. */
TEST(hostile_peer_that_never_reads_is_disconnected)
{
    pair       *p = new_open_pair(TLS1_2_VERSION);
    const char *bytes;
    int         status = BWL_OK;

    for (int i = 0; i < 20000 && status == BWL_OK; i++) {
        (void)SSL_renegotiate(p->s.ssl);
        (void)SSL_do_handshake(p->s.ssl);
        (void)SSL_renegotiate_abbreviated(p->s.ssl);
        ERR_clear_error();
        status = client_receives(p);
    }
    assert_fault(&p->fault, BWL_STATUS_REFUSED, "the server asks for more than it reads");
    assert_true(bwl_tls_out(p->tls, &bytes) <= BWL_TLS_OUT_MAX + 1024);
    free_pair(p);
}

TEST(hostile_stale_errors_of_other_code_are_ignored)
{
    for (int i = 0; i < 2; i++) {
        pair *p = new_pair(versions[i]);
        ERR_raise(ERR_LIB_SSL, SSL_R_BAD_PACKET);
        assert_int_equal(bwl_tls_step(p->tls, &p->fault), BWL_OK);
        assert_int_equal(ERR_peek_error(), 0);
        assert_int_equal(do_handshake(p->tls, &p->s, SIZE_MAX, &p->fault), BWL_OK);
        assert_true(bwl_tls_is_open(p->tls));
        ERR_raise(ERR_LIB_SSL, SSL_R_BAD_PACKET);
        assert_int_equal(bwl_tls_read(p->tls, p->text, 8, &p->fault), 0);
        assert_int_equal(ERR_peek_error(), 0);
        ERR_raise(ERR_LIB_SSL, SSL_R_BAD_PACKET);
        assert_int_equal(bwl_tls_write(p->tls, "ping", 4, &p->fault), 4);
        assert_int_equal(ERR_peek_error(), 0);
        ERR_raise(ERR_LIB_SSL, SSL_R_BAD_PACKET);
        bwl_tls_goodbye(p->tls);
        free_pair(p);
    }
}

AROUND(make_ends, remove_ends)
