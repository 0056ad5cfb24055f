/*
 * test_input.c -- bad URLs, without a server; and the names of the statuses.
 */
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

static void refuses_url(const char *url, int expected)
{
    bowline_client *client = NULL;
    bowline_error   error  = { 0 };
    int             status = bowline_open(&client, BOWLINE_OPTIONS(.url = url), &error);

    if (status != expected)
        print_error("%.100s:\n", url);
    assert_status(expected, status, &error);
    assert_int_equal(error.status, expected);
    assert_true(strlen(error.text) > 5);
    assert_null(client);
}

TEST(bad_urls_are_refused)
{
    static const struct {
        const char *url;
        int         status;
    } bad[] = {
        { "", BOWLINE_USAGE },
        { ":", BOWLINE_USAGE },
        { "redis", BOWLINE_USAGE },
        { "/tmp/x", BOWLINE_USAGE },
        { "Redis://h", BOWLINE_USAGE },
        { "re dis://h", BOWLINE_USAGE },
        { "nonsense:", BOWLINE_UNSUPPORTED },
        { "http://h", BOWLINE_UNSUPPORTED },
        { "rediss:", BOWLINE_USAGE },
        { "rediss://", BOWLINE_USAGE },
        { "rediss://127.0.0.1:0", BOWLINE_USAGE },
        { "redis://127.0.0.1?ca=/etc/passwd", BOWLINE_USAGE },
        { "redis:", BOWLINE_USAGE },
        { "redis://", BOWLINE_USAGE },
        { "redis:///0", BOWLINE_USAGE },
        { "redis://127.0.0.1:0", BOWLINE_USAGE },
        { "redis://127.0.0.1:65536", BOWLINE_USAGE },
        { "redis://127.0.0.1:99999999999999999999", BOWLINE_USAGE },
        { "redis://127.0.0.1:-1", BOWLINE_USAGE },
        { "redis://127.0.0.1:", BOWLINE_USAGE },
        { "redis://127.0.0.1:x", BOWLINE_USAGE },
        { "redis://127.0.0.1:06379", BOWLINE_USAGE },
        { "redis://[::1", BOWLINE_USAGE },
        { "redis://[::1]x", BOWLINE_USAGE },
        { "redis://127.0.0.1/x", BOWLINE_USAGE },
        { "redis://127.0.0.1/-1", BOWLINE_USAGE },
        { "redis://127.0.0.1/65536", BOWLINE_USAGE },
        { "redis://127.0.0.1/0/1", BOWLINE_USAGE },
        { "redis://127.0.0.1/%00", BOWLINE_USAGE },
        { "redis://127.0.0.1%00.example", BOWLINE_USAGE },
        { "redis://127.0.0.1%zz", BOWLINE_USAGE },
        { "redis://user@127.0.0.1", BOWLINE_USAGE },
        { "redis://us%00er:p@127.0.0.1", BOWLINE_USAGE },
        { "redis://user:p%00@127.0.0.1", BOWLINE_USAGE },
        { "redis://user:p%@127.0.0.1", BOWLINE_USAGE },
        { "redis://127.0.0.1?key=x", BOWLINE_USAGE },
        { "redis://127.0.0.1?key=%25s%25s", BOWLINE_USAGE },
        { "redis://127.0.0.1?key=%25d", BOWLINE_USAGE },
        { "redis://127.0.0.1?key=%25", BOWLINE_USAGE },
        { "redis://127.0.0.1?protocol=nonsense", BOWLINE_UNSUPPORTED },
        { "redis://:p@127.0.0.1?password-file=/x", BOWLINE_USAGE },
        { "redis://127.0.0.1?password-file=/nonexistent/x", BOWLINE_SYSTEM },
        { "redis://127.0.0.1?password-file=/dev/null", BOWLINE_REFUSED },
        { "redis://127.0.0.1?password-file=/tmp", BOWLINE_REFUSED },
        { "unix:", BOWLINE_USAGE },
        { "unix://", BOWLINE_USAGE },
        { "unix://host/path", BOWLINE_USAGE },
        { "unix:///a?db=x", BOWLINE_USAGE },
        { "thread:x", BOWLINE_USAGE },
        { "thread://host", BOWLINE_USAGE },
        { "thread:?key=%25s", BOWLINE_USAGE },
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        refuses_url(bad[i].url, bad[i].status);
    }
}

TEST(long_urls_are_refused)
{
    char url[20000];

    for (size_t size = 100; size < sizeof url; size *= 2) {
        memset(url, 'a', size);
        memcpy(url, "unix:///", 8);
        url[size] = '\0';
        if (size > 150)
            refuses_url(url, BOWLINE_USAGE);
    }
}

/* ---- statuses -------------------------------------------------------------------------------- */

TEST(every_status_has_a_name_and_a_text)
{
    for (int status = -20; status < 20; status++) {
        assert_non_null(bowline_status_name(status));
        assert_true(strlen(bowline_status_words(status)) > 3);
    }
    assert_string_equal(bowline_status_name(BOWLINE_LOST), "LOST");
    assert_string_equal(bowline_status_name(-99), "?");
    assert_non_null(strstr(bowline_status_words(-99), "does not know"));
    assert_int_equal(bowline_version(), BOWLINE_VERSION_NUMBER);
    assert_string_equal(bowline_version_string(), BOWLINE_VERSION_STRING);
}
