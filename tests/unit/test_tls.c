/*
 * test_tls.c -- one session against a real server: bytes in pieces of every size, the count of
 * bytes handed over, and how the session ends.
 *
 * test_tls_hostile.c has the errors of a server, test_tls_words.c the checks of its certificate.
 */
#include "tls_pair.h"
#include "tests/lib/suite.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

TEST(tls_bytes_go_both_ways)
{
    for (int i = 0; i < 2; i++) {
        pair *p = new_open_pair(versions[i]);
        assert_int_equal(SSL_version(p->s.ssl), versions[i]);
        assert_int_equal(bwl_tls_write(p->tls, "ping", 4, &p->fault), 4);
        (void)carry_to_server(p->tls, &p->s, SIZE_MAX);
        assert_string_equal(server_receives(&p->s), "ping");
        server_sends(&p->s, "+PO");
        server_sends(&p->s, "NG\r\n");
        assert_int_equal(client_receives(p), BWL_OK);
        assert_string_equal(p->text, "+PONG\r\n");
        free_pair(p);
    }
}

/* A ticket with our certificate in it, in records of 512 bytes: after the handshake a message of
 * the server arrives in pieces, and no data can be written in the middle of one. */
TEST(tls_single_bytes_are_one_message)
{
    static const char question[] = "SET lock token PX 30000 NX";

    for (int i = 0; i < 2; i++) {
        pair        *p         = calloc(1, sizeof *p);
        size_t       asked     = 0;
        char         heard[64] = "";
        bool         moved     = true;
        bool         answered  = false;
        server_terms terms     = { .who = &who, .asks_for = &authority, .piece_max = 512 };
        terms.version          = versions[i];
        p->s                   = start_server(&terms);
        p->tls                 = must_start(context, "redis.test");
        while (moved) {
            ssize_t got;
            assert_int_equal(bwl_tls_step(p->tls, &p->fault), BWL_OK);
            got = bwl_tls_write(p->tls, question + asked, asked < 26 ? 1 : 0, &p->fault);
            assert_true(got == 0 || got == 1);
            asked += (size_t)got;
            moved = carry_to_server(p->tls, &p->s, 1) > 0;
            (void)strcat(heard, server_receives(&p->s));
            if (strcmp(heard, question) == 0 && !answered) {
                server_sends(&p->s, "+OK\r\n");
                answered = true;
            }
            moved = carry_to_client(p->tls, &p->s, 1, &p->fault) > 0 || moved;
            got   = bwl_tls_read(p->tls, p->text + strlen(p->text), 1, &p->fault);
            assert_true(got == 0 || got == 1);
            moved = moved || got > 0;
        }
        assert_string_equal(heard, question);
        assert_string_equal(p->text, "+OK\r\n");
        assert_int_equal(bwl_tls_handed_over(p->tls), 26);
        free_pair(p);
    }
}

TEST(tls_pieces_of_every_size_give_the_same_bytes)
{
    for (size_t piece = 1; piece < 4000; piece += piece < 6 ? 1 : piece) {
        pair *p = new_pair(TLS1_3_VERSION);
        assert_int_equal(do_handshake(p->tls, &p->s, piece, &p->fault), BWL_OK);
        assert_true(bwl_tls_is_open(p->tls));
        for (int i = 0; i < 50; i++)
            server_sends(&p->s, "0123456789");
        size_t used = 0;
        while (carry_to_client(p->tls, &p->s, piece, &p->fault) > 0) {
            assert_int_equal(read_all(p->tls, p->text + used, sizeof p->text - used, &p->fault), 0);
            used += strlen(p->text + used);
        }
        assert_int_equal(used, 500);
        free_pair(p);
    }
}

TEST(tls_large_message_is_sent_in_records)
{
    static char much[3 * BWL_TLS_RECORD_MAX];
    pair       *p    = new_open_pair(TLS1_3_VERSION);
    size_t      sent = 0;
    size_t      got  = 0;

    memset(much, 'm', sizeof much);
    while (sent < sizeof much) {
        ssize_t taken = bwl_tls_write(p->tls, much + sent, sizeof much - sent, &p->fault);
        assert_true(taken > 0 && taken <= BWL_TLS_RECORD_MAX);
        sent += (size_t)taken;
        while (carry_to_server(p->tls, &p->s, 5000) > 0)
            got += strlen(server_receives(&p->s));
    }
    assert_int_equal(got, sizeof much);
    assert_int_equal(bwl_tls_handed_over(p->tls), sizeof much);
    free_pair(p);
}

/* ---- bytes handed over ----------------------------------------------------------------------- */

TEST(tls_no_data_is_taken_during_the_handshake)
{
    pair *p = new_pair(TLS1_3_VERSION);

    assert_int_equal(bwl_tls_write(p->tls, "early", 5, &p->fault), 0);
    assert_int_equal(bwl_tls_step(p->tls, &p->fault), BWL_OK);
    assert_int_equal(bwl_tls_write(p->tls, "early", 5, &p->fault), 0);
    assert_int_equal(bwl_tls_read(p->tls, p->text, 1, &p->fault), 0);
    (void)carry_to_server(p->tls, &p->s, SIZE_MAX);
    (void)SSL_do_handshake(p->s.ssl);
    ERR_clear_error();
    (void)carry_to_client(p->tls, &p->s, SIZE_MAX, &p->fault);
    assert_int_equal(bwl_tls_write(p->tls, "early", 5, &p->fault), 0);
    assert_int_equal(bwl_tls_read(p->tls, p->text, 1, &p->fault), 0);
    assert_false(bwl_tls_is_open(p->tls)); /* only a step checks the peer, and ends it */
    assert_int_equal(bwl_tls_step(p->tls, &p->fault), BWL_OK);
    assert_true(bwl_tls_is_open(p->tls));
    /* The last message of our handshake goes first. */
    assert_int_equal(bwl_tls_write(p->tls, "early", 5, &p->fault), 0);
    (void)carry_to_server(p->tls, &p->s, SIZE_MAX);
    assert_int_equal(bwl_tls_handed_over(p->tls), 0);
    assert_int_equal(bwl_tls_write(p->tls, "early", 5, &p->fault), 5);
    free_pair(p);
}

TEST(tls_unsent_bytes_are_not_handed_over)
{
    const char *bytes;

    for (int i = 0; i < 2; i++) {
        pair *p = new_open_pair(versions[i]);
        assert_int_equal(bwl_tls_write(p->tls, "first", 5, &p->fault), 5);
        size_t size = bwl_tls_out(p->tls, &bytes);
        assert_true(size > 5);
        assert_null(memmem(bytes, size, "first", 5));
        assert_int_equal(bwl_tls_handed_over(p->tls), 0);
        /* Data that is encrypted later could not be told from it: so it is not encrypted. */
        assert_int_equal(bwl_tls_write(p->tls, "second", 6, &p->fault), 0);
        bwl_tls_sent(p->tls, 0);
        assert_int_equal(bwl_tls_handed_over(p->tls), 0);

        (void)carry_to_server(p->tls, &p->s, 1);
        assert_int_equal(bwl_tls_handed_over(p->tls), 5);
        (void)carry_to_server(p->tls, &p->s, size - 2);
        assert_string_equal(server_receives(&p->s), ""); /* one byte of it is still here */
        assert_int_equal(bwl_tls_write(p->tls, "second", 6, &p->fault), 0);
        (void)carry_to_server(p->tls, &p->s, 1);
        assert_string_equal(server_receives(&p->s), "first");

        assert_int_equal(bwl_tls_write(p->tls, "second", 6, &p->fault), 6);
        assert_int_equal(bwl_tls_handed_over(p->tls), 5);
        (void)carry_to_server(p->tls, &p->s, SIZE_MAX);
        assert_int_equal(bwl_tls_handed_over(p->tls), 11);
        assert_string_equal(server_receives(&p->s), "second");
        free_pair(p);
    }
}

TEST(tls_count_handed_over_is_right_after_a_failure)
{
    pair *p = new_open_pair(TLS1_3_VERSION);

    assert_int_equal(bwl_tls_write(p->tls, "first", 5, &p->fault), 5);
    (void)carry_to_server(p->tls, &p->s, SIZE_MAX);
    assert_int_equal(bwl_tls_write(p->tls, "second", 6, &p->fault), 6);
    bwl_tls_feed_end(p->tls);
    assert_int_equal(bwl_tls_read(p->tls, p->text, 8, &p->fault), BWL_STATUS_UNREACHABLE);
    assert_int_equal(bwl_tls_handed_over(p->tls), 5);
    free_pair(p);
}

/* ---- the end --------------------------------------------------------------------------------- */

TEST(tls_close_notify_is_an_end_and_a_cut_is_not)
{
    for (int i = 0; i < 2; i++) {
        pair *p = new_open_pair(versions[i]);
        server_sends(&p->s, "last words");
        (void)SSL_shutdown(p->s.ssl);
        assert_int_equal(client_receives(p), BWL_STATUS_UNREACHABLE);
        assert_string_equal(p->text, "last words");
        assert_string_equal(p->fault.text, "the server closed the connection");
        bwl_tls_feed_end(p->tls);
        assert_int_equal(bwl_tls_write(p->tls, "x", 1, &p->fault), BWL_STATUS_UNREACHABLE);
        assert_string_equal(p->fault.text, "the server closed the connection");
        free_pair(p);
    }
}

TEST(tls_cut_at_any_byte_is_detected)
{
    size_t whole = SIZE_MAX;

    for (size_t cut = 0; cut < whole; cut++) {
        pair *p = new_open_pair(TLS1_3_VERSION);
        server_sends(&p->s, "+OK\r\n");
        (void)SSL_shutdown(p->s.ssl);
        whole = BIO_ctrl_pending(p->s.out);
        if (cut > 0)
            assert_int_equal(carry_to_client(p->tls, &p->s, cut, &p->fault), cut);
        bwl_tls_feed_end(p->tls);
        int status = read_all(p->tls, p->text, sizeof p->text, &p->fault);
        assert_int_equal(status, BWL_STATUS_UNREACHABLE);
        assert_fault(&p->fault, BWL_STATUS_UNREACHABLE, "the connection was cut off");
        /* All of it or nothing, because it was one record. */
        assert_string_equal(p->text, cut < whole - 24 ? "" : "+OK\r\n");
        free_pair(p);
    }
    assert_true(whole > 24 && whole < 200);
}

TEST(tls_cut_in_the_handshake_is_detected)
{
    for (int i = 0; i < 2; i++) {
        for (size_t cut = 0;; cut += 101) {
            pair *p = new_pair(versions[i]);
            assert_int_equal(bwl_tls_step(p->tls, &p->fault), BWL_OK);
            (void)carry_to_server(p->tls, &p->s, SIZE_MAX);
            (void)SSL_do_handshake(p->s.ssl);
            ERR_clear_error();
            bool beyond = cut >= BIO_ctrl_pending(p->s.out);
            if (cut > 0)
                (void)carry_to_client(p->tls, &p->s, cut, &p->fault);
            bwl_tls_feed_end(p->tls);
            if (!beyond) {
                assert_int_equal(bwl_tls_step(p->tls, &p->fault), BWL_STATUS_UNREACHABLE);
                assert_fault(&p->fault, BWL_STATUS_UNREACHABLE,
                             cut > 0 ? "closed the connection during the TLS handshake"
                                     : "the TLS handshake: is this the port for TLS?");
                assert_false(bwl_tls_is_open(p->tls));
            }
            free_pair(p);
            if (beyond)
                break;
        }
    }
}

TEST(tls_close_notify_reaches_the_server)
{
    char byte;

    for (int i = 0; i < 2; i++) {
        pair *p = new_open_pair(versions[i]);
        assert_int_equal(bwl_tls_write(p->tls, "bye", 3, &p->fault), 3);
        bwl_tls_goodbye(p->tls);
        bwl_tls_goodbye(p->tls);
        assert_int_equal(bwl_tls_write(p->tls, "more", 4, &p->fault), BWL_STATUS_UNREACHABLE);
        while (carry_to_server(p->tls, &p->s, SIZE_MAX) > 0)
            continue;
        assert_string_equal(server_receives(&p->s), "bye");
        int result = SSL_read(p->s.ssl, &byte, 1);
        assert_int_equal(SSL_get_error(p->s.ssl, result), SSL_ERROR_ZERO_RETURN);
        free_pair(p);

        p = new_pair(versions[i]);
        bwl_tls_goodbye(p->tls); /* not sent to anyone yet */
        const char *bytes;
        assert_int_equal(bwl_tls_out(p->tls, &bytes), 0);
        free_pair(p);
    }
}

AROUND(make_ends, remove_ends)
