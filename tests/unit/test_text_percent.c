/*
 * test_text_percent.c -- the percent escapes of text.c, byte by byte.  tests/fuzz/fuzz_text.c tests
 * the properties for any bytes.
 */
#include "core/text.h"
#include "tests/lib/suite.h"

TEST(percent_encodes_all_but_the_plain_characters)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        char encoded[4];
        char expected[4] = { '%', "0123456789ABCDEF"[c / 16], "0123456789ABCDEF"[c % 16], '\0' };
        bool is_plain    = c != 0 && strchr(plain, c) != NULL;
        bool is_also     = c == '/' || c == '{';
        assert_int_equal(bwl_percent_encode(encoded, 4, &byte, 1, ""), is_plain ? 1 : 3);
        assert_true(is_plain ? encoded[0] == byte : strcmp(encoded, expected) == 0);
        assert_int_equal(bwl_percent_encode(encoded, 4, &byte, 1, "{/"),
                         is_plain || is_also ? 1 : 3);
    }
}

TEST(percent_encode_fits_with_its_nul_or_not_at_all)
{
    char text[8];

    assert_int_equal(bwl_percent_encode(text, 6, "a/b", 3, ""), 5);
    assert_string_equal(text, "a%2Fb");
    for (size_t capacity = 1; capacity < 6; capacity++)
        assert_int_equal(bwl_percent_encode(text, capacity, "a/b", 3, ""), 0);
    assert_int_equal(bwl_percent_encode(text, 4, "a/b", 3, "/"), 3);
    assert_int_equal(bwl_percent_encode(text, 3, "a/b", 3, "/"), 0);
    assert_int_equal(bwl_percent_encode(text, 1, "", 0, ""), 0);
    assert_string_equal(text, "");
}

TEST(percent_decode_fits_with_its_nul_or_not_at_all)
{
    char bytes[8];

    assert_true(bwl_percent_decode(bytes, 4, "a%2Fb", 5));
    assert_string_equal(bytes, "a/b");
    for (size_t capacity = 1; capacity < 4; capacity++)
        assert_false(bwl_percent_decode(bytes, capacity, "a%2Fb", 5));
    assert_true(bwl_percent_decode(bytes, 1, "", 0));
    assert_string_equal(bytes, "");
}

TEST(percent_broken_escapes_are_refused)
{
    static const char *const bad[] = { "%",   "%2",   "a%",  "a%2",  "%G0", "%0G", "%%41", "%-1",
                                       "% 1", "%4%1", "%00", "a%00", "%2",  "%:0", "%0:",  "%/0",
                                       "%@0", "%0@",  "%`0", "%0`",  "%g0", "%0g", "%+1",  "%0x" };
    char                     bytes[16];

    for (unsigned i = 0; i < COUNT_OF(bad); i++)
        if (bwl_percent_decode(bytes, sizeof bytes, bad[i], strlen(bad[i])))
            fail_msg("\"%s\" was decoded", bad[i]);
    assert_false(
        bwl_percent_decode(bytes, sizeof bytes, "%41", 2)); /* its end is beyond the size */
    assert_false(bwl_percent_decode(bytes, sizeof bytes, "%41", 1));
    assert_false(bwl_percent_decode(bytes, sizeof bytes, "a\0b", 3));
}

TEST(percent_decode_reads_hex_in_any_case)
{
    char bytes[8];

    assert_true(bwl_percent_decode(bytes, sizeof bytes, "%2f%2F%aF%Fa", 12));
    assert_string_equal(bytes, "//\xaf\xfa");
    assert_true(bwl_percent_decode(bytes, sizeof bytes, "%09%90%41", 9));
    assert_string_equal(bytes, "\t\x90"
                               "A");
}
