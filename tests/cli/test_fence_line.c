/*
 * test_fence_line.c -- the line of a fence file: a written line is read back, and no other text is
 * accepted.
 */
#include "tests/lib/suite.h"

#include "cli/fence/file.h"

static const struct {
    uint64_t    fence;
    const char *text;
} good[] = {
    { 1, "1" },
    { 9, "9" },
    { 10, "10" },
    { UINT64_C(1763787600123456), "1763787600123456" },
    { UINT64_C(9007199254740993), "9007199254740993" }, /* 2^53 + 1: no double */
    { UINT64_C(9223372036854775808), "9223372036854775808" },
    { UINT64_MAX - 1, "18446744073709551614" },
    { UINT64_MAX, "18446744073709551615" },
};

TEST(fence_line_is_read_back)
{
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        fence_line line = fence_line_of(good[i].fence);
        uint64_t   fence;
        assert_int_equal(line.size, strlen(line.text));
        assert_true(fence_line_read(&fence, line.text, line.size));
        assert_true(fence == good[i].fence);
    }
    assert_string_equal(fence_line_of(7).text, "bowline fence 7\n");
    assert_int_equal(fence_line_of(UINT64_MAX).size, FENCE_LINE_MAX);
}

TEST(fence_line_is_not_shorter_for_a_higher_fence)
{
    for (size_t i = 1; i < COUNT_OF(good); i++)
        assert_true(fence_line_of(good[i].fence).size >= fence_line_of(good[i - 1].fence).size);
}

TEST(fence_line_has_one_form_for_each_number)
{
    static const char *const bad[] = { "", "0", "00", "01", "-1", "+1", " 1", "1 ", "1\n", "1.0",
                                       "0x10", "1e3", "1a", "a", "1,", "\xff",
                                       /* above 64 bits */
                                       "18446744073709551616", "18446744073709551620",
                                       "99999999999999999999", "184467440737095516150" };

    for (size_t i = 0; i < COUNT_OF(good); i++) {
        uint64_t fence;
        assert_true(fence_number_read(&fence, good[i].text));
        assert_true(fence == good[i].fence);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        uint64_t fence = 77;
        if (fence_number_read(&fence, bad[i]))
            fail_msg("\"%s\" is taken for a fence", bad[i]);
        assert_true(fence == 77);
    }
}

static void refuse(const char *bytes, size_t size)
{
    uint64_t fence = 77;

    if (fence_line_read(&fence, bytes, size))
        fail_msg("\"%.*s\" is taken for the line of a fence", (int)size, bytes);
    assert_true(fence == 77);
}

TEST(fence_line_in_another_form_is_refused)
{
    static const char *const bad[] = {
        /* cut, or with another end */
        "", "\n", "7\n", "bowline fence ", "bowline fence \n", "bowline fence 7",
        "bowline fence 7\n\n", "bowline fence 7\r\n", "bowline fence 7 \n",
        "bowline fence 7\nbowline fence 8\n",
        /* other words or numbers */
        "bowline fence  7\n", " bowline fence 7\n", "Bowline fence 7\n", "bowline Fence 7\n",
        "bowline fence 0\n", "bowline fence 07\n", "bowline fence -7\n",
        "bowline fence 18446744073709551616\n"
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        refuse(bad[i], strlen(bad[i]));
    refuse("bowline fence 7\0\n", sizeof "bowline fence 7\0\n" - 1);
    refuse("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

TEST(fence_line_that_is_cut_is_refused)
{
    fence_line line = fence_line_of(UINT64_MAX);

    for (size_t size = 0; size < line.size; size++)
        refuse(line.text, size);
}
