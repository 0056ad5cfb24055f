/*
 * test_core_token.c -- tokens in the formats of other programs: a written token is read, a token
 * with one wrong character is not, and every random bit is in the token.
 */
#include "core/text.h"
#include "protocol/format/token.h"
#include "tests/lib/suite.h"

enum { SHAPES = BWL_TOKEN_PID_TID + 1, TRIES = 2000 };

static uint64_t seed = 88172645463325252u;

static bwl_random some_bytes(void)
{
    bwl_random random;

    for (unsigned i = 0; i < BWL_RANDOM_BYTES; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        random.bytes[i] = (uint8_t)seed;
    }
    return random;
}

TEST(formats_of_known_bytes)
{
    bwl_random random = { { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
                            0xcc, 0xdd, 0xee, 0xff } };
    char       token[BWL_TOKEN_MAX + 1];

    bwl_token_write_as(token, BWL_TOKEN_UUID, &random, 0);
    assert_string_equal(token, "00112233-4455-4667-b126-6aaee2377bbf");
    bwl_token_write_as(token, BWL_TOKEN_HEX, &random, 0);
    assert_string_equal(token, "00112233445566778899aabbccddeeff");
    bwl_token_write_as(token, BWL_TOKEN_PID_TID, &random, 0);
    assert_string_equal(token, "1097-37548393952056"); /* the first 22 bits + 1, and 46 */
    bwl_token_write_as(token, BWL_TOKEN_OURS, &random, 0);
    assert_int_equal(strlen(token), BWL_TOKEN_SIZE);
}

TEST(largest_and_smallest_bytes_fit)
{
    bwl_random random;
    char       token[BWL_TOKEN_MAX + 1];

    for (int fill = 0; fill <= 255; fill += 255) {
        memset(random.bytes, fill, sizeof random.bytes);
        for (int format = 0; format < SHAPES; format++) {
            bwl_token_write_as(token, (bwl_token_format)format, &random, 0);
            assert_true(bwl_token_is_of((bwl_token_format)format, token, strlen(token)));
        }
    }
}

TEST(written_token_is_read)
{
    char token[BWL_TOKEN_MAX + 1];

    for (unsigned i = 0; i < TRIES; i++) {
        bwl_random random = some_bytes();
        for (int format = 0; format < SHAPES; format++) {
            bwl_token_write_as(token, (bwl_token_format)format, &random, 0);
            assert_true(bwl_token_is_of((bwl_token_format)format, token, strlen(token)));
            for (int other = 0; other < SHAPES; other++)
                if (other != format)
                    assert_false(bwl_token_is_of((bwl_token_format)other, token, strlen(token)));
            assert_false(bwl_token_is_of((bwl_token_format)format, token, strlen(token) - 1) &&
                         format != BWL_TOKEN_PID_TID);
        }
    }
}

typedef struct text {
    bwl_token_format format;
    const char      *is;
} text;

TEST(other_token_is_refused)
{
    static const text wrong[] = {
        { BWL_TOKEN_OURS, "" },
        { BWL_TOKEN_OURS, "AAAAAAAAAAAAAAAAAAAAAB" }, /* bits beyond the 128th */
        { BWL_TOKEN_OURS, "AAAAAAAAAAAAAAAAAAAA+A" },
        { BWL_TOKEN_UUID, "00112233-4455-1677-8899-aabbccddeeff" }, /* version 1 */
        { BWL_TOKEN_UUID, "00112233-4455-4677-c899-aabbccddeeff" },
        { BWL_TOKEN_UUID, "00112233-4455-4677-8899-AABBCCDDEEFF" },
        { BWL_TOKEN_UUID, "00112233x4455-4677-8899-aabbccddeeff" },
        { BWL_TOKEN_HEX, "00112233445566778899aabbccddeefg" },
        { BWL_TOKEN_PID_TID, "12" },
        { BWL_TOKEN_PID_TID, "12-" },
        { BWL_TOKEN_PID_TID, "-12" },
        { BWL_TOKEN_PID_TID, "0-12" },
        { BWL_TOKEN_PID_TID, "012-12" },
        { BWL_TOKEN_PID_TID, "12-012" },
        { BWL_TOKEN_PID_TID, "12-0" },
        { BWL_TOKEN_PID_TID, "12-12-12" },
        { BWL_TOKEN_PID_TID, "4194305-12" },
        { BWL_TOKEN_PID_TID, "12-9223372036854775808" },
    };

    for (unsigned i = 0; i < COUNT_OF(wrong); i++)
        if (bwl_token_is_of(wrong[i].format, wrong[i].is, strlen(wrong[i].is)))
            fail_msg("\"%s\" is taken for a token", wrong[i].is);
    assert_true(bwl_token_is_of(BWL_TOKEN_PID_TID, "4194304-9223372036854775807", 27));
}
