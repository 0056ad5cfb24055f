/*
 * test_text.c -- tokens, numbers, durations and names: which texts are read, and which are refused.
 *
 * Tables of good and bad texts for the parsers; for tokens also a property of random bytes that are
 * the same on every run.  The percent escapes are in test_text_percent.c.
 */
#include "core/text.h"
#include "tests/lib/chance.h"
#include "tests/lib/suite.h"

#include <stdio.h>

/* ---- tokens ---------------------------------------------------------------------------------- */

TEST(token_is_unpadded_base64url)
{
    bwl_random counting = { { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } };
    bwl_random ones;
    char       token[BWL_TOKEN_MAX + 1];

    bwl_token_write(token, &counting);
    assert_string_equal(token, "AAECAwQFBgcICQoLDA0ODw");
    memset(ones.bytes, 0xff, sizeof ones.bytes);
    bwl_token_write(token, &ones);
    assert_string_equal(token, "_____________________w");
    memset(ones.bytes, 0xfb, sizeof ones.bytes);
    bwl_token_write(token, &ones);
    assert_string_equal(token, "-_v7-_v7-_v7-_v7-_v7-w");
}

FIXTURE(same_chance, NULL)

TEST(token_has_all_128_bits)
{
    char tokens[129][BWL_TOKEN_MAX + 1];

    for (unsigned run = 0; run < 20; run++) {
        bwl_random random = random_bytes();
        bwl_token_write(tokens[128], &random);
        for (unsigned bit = 0; bit < 128; bit++) {
            bwl_random other     = random;
            other.bytes[bit / 8] = (uint8_t)(other.bytes[bit / 8] ^ 1u << bit % 8);
            bwl_token_write(tokens[bit], &other);
        }
        for (unsigned i = 0; i < 129; i++)
            for (unsigned j = 0; j < i; j++)
                assert_string_not_equal(tokens[i], tokens[j]);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void expect_number(const char *text, uint64_t max, uint64_t expected)
{
    uint64_t number = 4711;

    if (!bwl_number_parse(&number, text, strlen(text), max))
        fail_msg("\"%s\" was not read as a number", text);
    assert_int_equal(number, expected);
}

static void expect_no_number(const char *text, size_t size, uint64_t max)
{
    uint64_t number = 4711;

    if (bwl_number_parse(&number, text, size, max))
        fail_msg("\"%s\" was read as a number", text);
    assert_int_equal(number, 4711); /* untouched */
}

FIXTURE(NULL, NULL)

TEST(number_is_digits_up_to_the_largest_allowed)
{
    uint64_t number = 0;

    expect_number("0", 0, 0);
    expect_number("7", 7, 7);
    expect_number("10", 10, 10);
    expect_number("255", 255, 255);
    expect_number("1234567890", UINT64_MAX, 1234567890);
    expect_number("18446744073709551615", UINT64_MAX, UINT64_MAX);
    assert_true(bwl_number_parse(&number, "123", 2, 99));
    assert_int_equal(number, 12);
}

TEST(number_beyond_the_largest_is_refused)
{
    expect_no_number("1", 1, 0);
    expect_no_number("8", 1, 7);
    expect_no_number("10", 2, 9);
    expect_no_number("11", 2, 10);
    expect_no_number("256", 3, 255);
    expect_no_number("18446744073709551616", 20, UINT64_MAX);
    expect_no_number("99999999999999999999", 20, UINT64_MAX);
    expect_no_number("184467440737095516150", 21, UINT64_MAX);
}

TEST(number_has_only_digits)
{
    static const char *const bad[] = {
        "",    "00",  "007", "01",  "-1", "+1", " 1", "1 ",
        "1.0", "1e3", "0x1", "1,0", "/",  ":",  "1:", "3O",
    };

    for (unsigned i = 0; i < COUNT_OF(bad); i++)
        expect_no_number(bad[i], strlen(bad[i]), UINT64_MAX);
    expect_no_number("1\0002", 3, UINT64_MAX);
    expect_no_number("1", 0, UINT64_MAX);
}

/* ---- durations ------------------------------------------------------------------------------- */

TEST(duration_good_forms_are_read)
{
    static const struct {
        const char *text;
        bwl_ms      ms;
    } good[] = {
        { "250ms", 250 },      { "30s", 30000 },
        { "5m", 300000 },      { "2h", 7200000 },
        { "1d", 86400000 },    { "1m30s", 90000 },
        { "90m", 5400000 },    { "1h30m", 5400000 },
        { "1m1ms", 60001 },    { "1d2h3m4s5ms", 93784005 },
        { "1d5ms", 86400005 }, { "0s", 0 },
        { "0ms", 0 },          { "1h0s", 3600000 },
    };

    for (unsigned i = 0; i < COUNT_OF(good); i++) {
        bwl_ms ms = -1;
        if (!bwl_duration_parse(&ms, good[i].text, strlen(good[i].text)))
            fail_msg("\"%s\" was refused", good[i].text);
        assert_int_equal(ms, good[i].ms);
    }
}

static void expect_no_duration(const char *text, size_t size)
{
    bwl_ms ms = -4711;

    if (bwl_duration_parse(&ms, text, size))
        fail_msg("\"%s\" was read as a duration", text);
    assert_int_equal(ms, -4711); /* untouched */
}

TEST(duration_bad_forms_are_refused)
{
    static const char *const bad[] = {
        /* no number, no unit, or another form of a number */
        "", "5", "0", "s", "ms", "m", "-1s", "+1s", "1.5s", "1,5s", "0x1s", "1e3s", "3Os", "00s",
        "01s", "1m01s",
        /* other units */
        "1S", "1M", "1MS", "1Ms", "1D", "ss", "1ss", "1sm", "1mss", "1min", "1sec", "1us", "1w",
        "1y",
        /* another order, or a unit twice */
        "5ms3s", "1s1m", "1m1h", "1h1d", "1s1d", "1m1m", "1s1s", "1d1d", "1h1h", "1ms1ms",
        "1d2h3m4s5ms6ms",
        /* other characters, and a number without a unit behind one with a unit */
        "1 s", " 1s", "1s ", "1\nms", "1m-1s", "1m+1s", "1m 1s", "1m,1s", "1m:30", "1m30", "1ms5",
        "30s5", "1m1", "s1",
        /* too large */
        "9223372036854775807s", "18446744073709551616ms"
    };

    for (unsigned i = 0; i < COUNT_OF(bad); i++)
        expect_no_duration(bad[i], strlen(bad[i]));
    expect_no_duration("1s\0", 3);
    expect_no_duration("1\0s", 3);
    expect_no_duration("\0", 1);
}

TEST(duration_is_at_most_2_to_the_53)
{
    static const char *const most[] = { "9007199254740992ms", "9007199254740s992ms",
                                        "104249991d8h59m992ms", "104249991d8h59m0s992ms" };
    static const char *const more[] = { "9007199254740993ms",   "9007199254740s993ms",
                                        "104249991d8h59m993ms", "104249991d8h59m1s",
                                        "9007199254741s",       "150119987580m",
                                        "2501999793h",          "104249992d" };

    for (unsigned i = 0; i < COUNT_OF(most); i++) {
        bwl_ms ms = -1;
        assert_true(bwl_duration_parse(&ms, most[i], strlen(most[i])));
        assert_int_equal(ms, INT64_C(1) << 53);
    }
    for (unsigned i = 0; i < COUNT_OF(more); i++)
        expect_no_duration(more[i], strlen(more[i]));
}

TEST(duration_is_not_read_beyond_its_size)
{
    bwl_ms ms = -1;

    assert_true(bwl_duration_parse(&ms, "5ms", 2));
    assert_int_equal(ms, 300000);
    assert_true(bwl_duration_parse(&ms, "1m30s", 2));
    assert_int_equal(ms, 60000);
    expect_no_duration("30s", 2);
    expect_no_duration("30s", 0);
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(name_has_1_to_200_bytes)
{
    char name[BWL_NAME_MAX + 1];

    memset(name, 'n', sizeof name);
    assert_string_equal(bwl_name_fault(name, 0), "a name has at least one character");
    assert_null(bwl_name_fault(name, 1));
    assert_null(bwl_name_fault(name, 199));
    assert_null(bwl_name_fault(name, 200));
    assert_string_equal(bwl_name_fault(name, 201), "a name has at most 200 bytes");
}

TEST(name_has_no_control_characters)
{
    for (int c = 0; c < 256; c++) {
        char name[3]    = { 'a', (char)c, 'z' };
        bool is_control = c < 0x20 || c == 0x7f;
        for (size_t start = 0; start < 2; start++)
            for (size_t end = 2; end <= 3; end++)
                assert_int_equal(bwl_name_fault(name + start, end - start) != NULL, is_control);
    }
    assert_non_null(bwl_name_fault("a\0b", 3));
    assert_non_null(bwl_name_fault("nightly\n", 8));
}

TEST(name_may_be_any_visible_text)
{
    static const char *const good[] = {
        "nightly", "a b", "/var/lock/x",
        /* letters of other languages, and characters with a meaning elsewhere */
        "bl\xc3\xa5 p\xc3\xa6re", "\xe6\x97\xa5\xe6\x9c\xac", "{a}{b}", "}{", "%00", "*?[", "\"'\\"
    };

    for (unsigned i = 0; i < COUNT_OF(good); i++)
        assert_null(bwl_name_fault(good[i], strlen(good[i])));
}

TEST(password_of_a_url_is_hidden_at_any_place)
{
    static const struct {
        const char *text, *hidden;
        bool        is_cut;
    } rows[] = {
        { "redis://u:pass@h", "redis://u:***@h", false },
        { "a redis://:pass@h/0 b", "a redis://:***@h/0 b", false },
        { "x://u:p@h y://v:longer@i", "x://u:*@h y://v:***@i", false },
        { "x://u:p@q@h", "x://u:***@h", false },
        { "x://u:p/q@h", "x://u:***@h", false },
        { "'x://u:pass@h' z@y", "'x://u:***@h' z@y", false },
        { "x://h:6379 held by a@b", "x://h:6379 held by a@b", false },
        { "x://u@h", "x://u@h", false },
        { "x://u:@h", "x://u:@h", false },
        { "x://h?k=a:b@c", "x://h?k=a:b@c", false },
        { "x://h:6379?k=b@c", "x://h:6379?k=b@c", false },
        { "x://h:6379/2?k=b@c", "x://h:6379/2?k=b@c", false },
        { "x://u:a?b@h z@y", "x://u:***@h z@y", false },
        { "x://h:6379", "x://h:6379", true },
        { "x://u:pass", "x://u:pass", false },
        { "x://u:pass", "x://u:***", true },
        { "x://u:pass@h held", "x://u:***@h held", true },
        { "://", "://", true },
        { ":/", ":/", true },
        { "", "", true },
    };
    char text[40];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        (void)snprintf(text, sizeof text, "%s", rows[i].text);
        bwl_hide_passwords(text, rows[i].is_cut);
        assert_string_equal(text, rows[i].hidden);
    }
}

TEST(text_that_is_cut_ends_after_a_whole_word)
{
    static const char *const rows[][2] = {
        { "one two three fo", "one two three..." },
        { "one two three four", "one two three..." },
        { "one two three, four", "one two three..." },
        { "xxxxxxxxxxxxxxxx", "xxxxxxxxxxxxx..." },
        { "a xxxxxxxxxxxxxx", "a xxxxxxxxxxx..." },
        { "one two thr", "one two thr" },
        { "", "" },
    };
    char text[40];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        (void)snprintf(text, sizeof text, "%s", rows[i][0]);
        bwl_mark_cut(text);
        assert_string_equal(text, rows[i][1]);
    }
}
