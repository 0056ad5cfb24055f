/*
 * test_sentinel_words.c -- what is wrong with a sentinel, in words: what, why, and what to type.
 */
#include "engine/redis/topology/sentinel.h"
#include "tests/lib/suite.h"

#include <string.h>

static bwl_fault fault;

static int says(const char *error)
{
    return bwl_sentinel_turned_away("hunter2", error, strlen(error), &fault);
}

static void must_say(const char *part)
{
    if (strstr(fault.text, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, fault.text);
    assert_null(strstr(fault.text, "hunter2"));
}

TEST(error_says_what_to_type)
{
    assert_int_equal(says("-NOAUTH Authentication required.\r\n"), BWL_STATUS_REFUSED);
    must_say("give sentinel-password-file=");
    assert_int_equal(says("-WRONGPASS invalid, hunter2\r\n"), BWL_STATUS_REFUSED);
    must_say("see sentinel-user= and sentinel-password-file=");
    assert_int_equal(says("-ERR unknown command 'SENTINEL'\r\n"), BWL_STATUS_REFUSED);
    must_say("this is no sentinel: it says ERR unknown command 'SENTINEL'; if it is the server, "
             "write redis://");
}

TEST(error_that_passes_is_no_refusal)
{
    assert_int_equal(says("-LOADING not yet\r\n"), BWL_STATUS_UNREACHABLE);
    must_say("LOADING not yet");
    assert_int_equal(says("-NOPERM no\r\n"), BWL_STATUS_REFUSED);
    must_say("NOPERM no");
}

TEST(password_is_never_quoted)
{
    assert_int_equal(says("-ERR hunter2 is what you said\r\n"), BWL_STATUS_REFUSED);
    must_say("an error that is not quoted: it repeats a part of the password");
    assert_int_equal(says("-ERR AUTH hunt...\r\n"), BWL_STATUS_REFUSED);
    must_say("an error that is not quoted: it repeats a part of the password");
}

TEST(name_of_a_service_is_quoted_and_where_it_stands)
{
    assert_int_equal(bwl_sentinel_knows_none("nightly", &fault), BWL_STATUS_REFUSED);
    must_say("it knows no service \"nightly\"");
    must_say("sentinel monitor");
}

/* A connection as it is when it is given up. */
static void suspect(bwl_stream conn, bool is_silent, bwl_status status)
{
    fault = (bwl_fault){ .status = status, .text = "no answer" };
    bwl_sentinel_add_hint(&conn, is_silent, &fault);
}

TEST(port_that_closes_or_ignores_a_handshake_may_be_of_the_other_kind)
{
    static const char tls[4];
    const void       *context = tls; /* any */
    bwl_stream        conn    = { .source = { .fd = 3 }, .joined = true };

    suspect(conn, false, BWL_STATUS_UNREACHABLE);
    assert_string_equal(fault.text, "no answer: if it speaks TLS, write rediss+sentinel://");
    conn.context = context;
    for (int is_silent = 0; is_silent < 2; is_silent++) {
        suspect(conn, is_silent != 0, BWL_STATUS_UNREACHABLE);
        assert_string_equal(fault.text, "no answer: if it speaks no TLS, write redis+sentinel://");
    }
    suspect(conn, false, BWL_STATUS_REFUSED); /* TLS knows why */
    assert_string_equal(fault.text, "no answer");
    assert_int_equal(fault.status, BWL_STATUS_REFUSED);
}

TEST(silence_after_clear_text_is_no_hint_of_tls)
{
    bwl_stream conn = { .source = { .fd = 3 }, .joined = true };

    suspect(conn, true, BWL_STATUS_UNREACHABLE);
    assert_string_equal(fault.text, "no answer");
}

TEST(port_that_sends_an_alert_is_of_the_other_kind)
{
    static char alert[] = "\x15\x03\x03";
    bwl_stream  conn    = {
            .source = { .fd = 3 }, .joined = true, .heard = true, .in = alert, .in_size = 3
    };

    suspect(conn, false, BWL_STATUS_REFUSED);
    assert_string_equal(fault.text, "this is a port for TLS: write rediss+sentinel://");
    assert_int_equal(fault.status, BWL_STATUS_REFUSED);
}

TEST(nothing_is_suspected_of_who_has_spoken_or_was_not_reached)
{
    bwl_stream conn = { .source = { .fd = 3 }, .joined = true, .heard = true };

    suspect(conn, false, BWL_STATUS_UNREACHABLE);
    assert_string_equal(fault.text, "no answer");
    conn = (bwl_stream){ .source = { .fd = 3 } };
    suspect(conn, false, BWL_STATUS_UNREACHABLE);
    assert_string_equal(fault.text, "no answer");
    conn = (bwl_stream){ .source = { .fd = -1 }, .joined = true };
    suspect(conn, false, BWL_STATUS_UNREACHABLE);
    assert_string_equal(fault.text, "no answer");
}
