/*
 * test_engines_input.c -- names and options of the URL on every engine: wrong ones are refused with
 * a status and a text before any effect.  unit/test_arguments.c tests every other argument.
 */
#include "tests/lib/engines.h"

#include <stdio.h>

static void expect_refusal(int expected, int status, const bowline_error *error)
{
    assert_status(expected, status, error);
    assert_int_equal(error->status, expected);
    assert_true(strlen(error->text) > 5);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A name of `size` bytes. */
static const char *name_of(char *buffer, size_t size)
{
    memset(buffer, 'n', size);
    buffer[size] = '\0';
    return buffer;
}

static void refuses_name(bowline_client *client, const char *name)
{
    bowline_hold      *hold   = NULL;
    bowline_operation *op     = NULL;
    bowline_holder     holder = { .size = sizeof holder };
    bowline_error      error  = { 0 };

    expect_refusal(BOWLINE_USAGE, acquire_within(&hold, client, name, 0, &error), &error);
    expect_refusal(BOWLINE_USAGE, acquire_within(&hold, client, name, 100, &error), &error);
    expect_refusal(BOWLINE_USAGE, bowline_acquire_start(&op, client, name, NULL, &error), &error);
    expect_refusal(BOWLINE_USAGE, bowline_who(client, name, &holder, &error), &error);
    assert_status(BOWLINE_USAGE, acquire_within(&hold, client, name, 0, NULL), NULL);
    assert_null(hold);
    assert_null(op);
}

ENGINE_TEST(bad_names_are_refused)
{
    static const char *const bad[]  = { "", "\t", "a\nb", "\x01", "a\x1f", "\x7f", "end\r" };
    bowline_client          *client = engine_client(THE_ENGINE, NULL);
    char                     long_name[5000];

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        refuses_name(client, bad[i]);
    refuses_name(client, name_of(long_name, BOWLINE_NAME_MAX + 1));
    refuses_name(client, name_of(long_name, 4096));
}

ENGINE_TEST(unusual_names_are_accepted)
{
    static const char *const good[] = { " ",          "{",
                                        "}",          "{}",
                                        "}{",         "%",
                                        "%s",         "%n%n%n",
                                        "%00",        "\\",
                                        "'",          "\"",
                                        "a b c",      "*",
                                        "?",          "..",
                                        ".",          "-n",
                                        "~",          "$HOME",
                                        "a/../b",     "\xf0\x9f\xaa\xa2",
                                        "\x80\xff",   "a//b",
                                        "bowline:{a}" };
    bowline_client          *client = engine_client(THE_ENGINE, NULL);
    bowline_client          *other  = engine_client(THE_ENGINE, NULL);
    char                     long_name[BOWLINE_NAME_MAX + 1];

    for (size_t i = 0; i <= COUNT_OF(good); i++) {
        const char   *name = i < COUNT_OF(good) ? good[i] : name_of(long_name, BOWLINE_NAME_MAX);
        bowline_hold *hold = must_acquire(client, name);
        assert_string_equal(bowline_hold_name(hold), name);
        assert_status(BOWLINE_BUSY, try_once(other, name), NULL);
        must_release(hold);
        acquire_in_the_end(&hold, other, name); /* of three servers one may be late to release */
        must_release(hold);
    }
}

/* The longest name, in braces: each byte becomes three in a key or a file name. */
ENGINE_TEST(longest_name_of_escaped_bytes_is_accepted)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    char            name[BOWLINE_NAME_MAX + 1];

    for (size_t i = 0; i < BOWLINE_NAME_MAX; i++)
        name[i] = "{}%"[i % 3];
    name[BOWLINE_NAME_MAX]     = '\0';
    bowline_hold *hold         = must_acquire(client, name);
    name[BOWLINE_NAME_MAX - 1] = 'x';
    assert_status(BOWLINE_OK, try_once(client, name), NULL);
    must_release(hold);
}

/* ---- options of an acquire ------------------------------------------------------------------- */

/* The shortest lease may end before its reply arrives, which is no refusal of the lease; the rest
 * of it then ends soon, and the next acquire waits. */
ENGINE_TEST(options_at_their_limits_are_accepted)
{
    bowline_client *client   = engine_client(THE_ENGINE, NULL);
    const uint32_t  leases[] = { BOWLINE_LEASE_MIN_MS, BOWLINE_LEASE_MAX_MS };
    const int64_t   waits[]  = { BOWLINE_NO_WAIT, BOWLINE_WAIT_MAX_MS, 1, BOWLINE_FOREVER };

    for (size_t i = 0; i < 4; i++) {
        const bowline_acquire_options *options =
            BOWLINE_ACQUIRE(.wait_ms = waits[i], .lease_ms = leases[i % 2],
                            .max_hold_ms = INT64_MAX);
        bool          may_end = THE_ENGINE->has_lease && leases[i % 2] == BOWLINE_LEASE_MIN_MS;
        bowline_hold *hold    = NULL;
        bowline_error error   = { 0 };
        int           status  = bowline_acquire(&hold, client, engine_lock(), options, &error);
        if (status == BOWLINE_OK && may_end)
            give_back_or_lose(hold);
        else if (status == BOWLINE_OK)
            must_release(hold);
        else if (!may_end || !came_too_late(status, &error))
            assert_status(BOWLINE_OK, status, &error);
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static void refuses_to_open(const bowline_options *options, int expected)
{
    bowline_client *client = NULL;
    bowline_error   error  = { 0 };

    int status = bowline_open(&client, options, &error);
    if (status != expected)
        print_error("%s:\n", options->url);
    expect_refusal(expected, status, &error);
    assert_null(client);
    assert_status(expected, bowline_open(&client, options, NULL), NULL);
}

ENGINE_TEST(open_options_of_other_sizes_are_read)
{
    struct {
        bowline_options options;
        unsigned char   more[16];
    } newer = { .options = { .size = sizeof newer, .url = engine_url(THE_ENGINE, NULL) } };
    bowline_client *client = NULL;

    assert_status(BOWLINE_OK, bowline_open(&client, &newer.options, NULL), NULL);
    bowline_close(client);
    newer.more[0] = 1;
    refuses_to_open(&newer.options, BOWLINE_UNSUPPORTED);
}

/* session/url.txt has all bad values. */
ENGINE_TEST(bad_url_options_are_refused)
{
    static const char *const bad[] = { "lease=30",         "wait=x",     "max-hold=0s",
                                       "renew=maybe",      "nonsense=1", "lease=1s%00",
                                       "lease=1s&lease=1s" };
    char                     url[600];

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        (void)snprintf(url, sizeof url, "%s", engine_url(THE_ENGINE, bad[i]));
        refuses_to_open(BOWLINE_OPTIONS(.url = url), BOWLINE_USAGE);
    }
}

ENGINE_TEST(options_of_the_call_come_before_the_url)
{
    bowline_client *client = NULL;
    const char     *url    = engine_url(THE_ENGINE, "lease=1h");
    int status = bowline_open(&client, BOWLINE_OPTIONS(.url = url, .lease_ms = 20000), NULL);

    assert_status(BOWLINE_OK, status, NULL);
    bowline_hold *hold = must_acquire(client, engine_lock());
    if (THE_ENGINE->has_lease)
        assert_true(bowline_hold_left_ms(hold) <= 20000);
    must_release(hold);
    bowline_close(client);
}
