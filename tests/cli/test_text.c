/*
 * test_text.c -- text from outside: UTF-8, and URLs with a secret.
 */
#include "tests/lib/suite.h"

#include "cli/text/url.h"
#include "cli/text/utf8.h"

/* ---- characters ------------------------------------------------------------------------------ */

typedef struct character {
    const char *text;
    uint32_t    is;
    size_t      size;
} character;

static void expect(const character *c)
{
    uint32_t is   = 0;
    size_t   size = utf8_next(&is, c->text);

    if (is != c->is || size != c->size)
        fail_msg("\"%s\" is read as %x of %zu bytes", c->text, is, size);
}

TEST(utf8_is_read_by_RFC_3629)
{
    static const character all[] = {
        { "a", 'a', 1 },
        { "\x7f", 0x7f, 1 },
        { "\xc2\x80", 0x80, 2 },
        { "\xdf\xbf", 0x7ff, 2 },
        { "\xe0\xa0\x80", 0x800, 3 },
        { "\xed\x9f\xbf", 0xd7ff, 3 },
        { "\xee\x80\x80", 0xe000, 3 },
        { "\xf0\x90\x80\x80", 0x10000, 4 },
        { "\xf4\x8f\xbf\xbf", 0x10ffff, 4 },
    };

    for (size_t i = 0; i < COUNT_OF(all); i++)
        expect(&all[i]);
}

TEST(invalid_utf8_is_one_error_per_byte)
{
    static const char *const all[] = {
        "\x80",             /* a continuation of nothing     */
        "\xff",             /* not a first byte */
        "\xc1\xbf",         /* overlong                      */
        "\xe0\x9f\xbf",     /* likewise                      */
        "\xf0\x8f\xbf\xbf", /* likewise                      */
        "\xed\xa0\x80",     /* a surrogate                   */
        "\xed\xbf\xbf",     /* the last of them              */
        "\xf4\x90\x80\x80", /* beyond U+10FFFF               */
        "\xc3",             /* incomplete */
        "\xe2\x82",         /* likewise                      */
        "\xf0\x9f\x92z",    /* another byte in its place */
    };

    for (size_t i = 0; i < COUNT_OF(all); i++)
        expect(&(character){ all[i], UTF8_BROKEN, 1 });
}

TEST(control_characters_are_those_of_a_terminal)
{
    static const uint32_t controls[] = { 0x01, 0x1b,   0x1f,   0x7f,   0x80,
                                         0x9f, 0x202a, 0x202e, 0x2066, 0x2069 };
    static const uint32_t plain[] = { 0x20, 0x7e, 0xa0, 0x2029, 0x202f, 0x2065, 0x206a, 0x1f600 };

    for (size_t i = 0; i < COUNT_OF(controls); i++)
        assert_true(utf8_is_control(controls[i]));
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        assert_false(utf8_is_control(plain[i]));
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static void expect_without(const char *expected, const char *url)
{
    char bare[URL_MAX + 1];

    url_without_password(bare, url);
    assert_string_equal(bare, expected);
}

TEST(option_of_a_url_is_found_only_in_its_options)
{
    assert_true(url_says("file:?lease=1s", "lease"));
    assert_true(url_says("file:?wait=1s&lease=1s", "lease"));
    assert_false(url_says("file:?leases=1s", "lease"));
    assert_false(url_says("file:?lease", "lease"));
    assert_false(url_says("file:/lease=1s", "lease"));
    assert_false(url_says("file:?release=1s", "lease"));
}

TEST(password_is_found_at_any_place_of_a_url)
{
    assert_true(url_has_password("redis://:secret@host"));
    assert_true(url_has_password("redis://user:sec/r@et@host"));
    assert_true(url_has_password("redis://host?password=secret"));
    assert_false(url_has_password("redis://user@host"));
    assert_false(url_has_password("redis://user:@host"));
    assert_false(url_has_password("redis://host:6379"));
    assert_false(url_has_password("file:/tmp/a:b@c"));
    assert_false(url_has_password("file:/tmp?x=redis://a:b@c"));
    assert_string_equal(url_shown("redis://:secret@host").text, "(not shown)");
    assert_string_equal(url_shown("redis://host").text, "redis://host");
}

TEST(url_for_the_command_has_no_password)
{
    expect_without("redis://host/1?wait=1s", "redis://:secret@host/1?wait=1s");
    expect_without("redis://user@host", "redis://user:sec/r@et@host");
    expect_without("redis://host", "redis://host?password=secret");
    expect_without("redis://host?wait=1s", "redis://host?wait=1s");
    expect_without("file:", "file:");
}
