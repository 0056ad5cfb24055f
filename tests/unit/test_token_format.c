/*
 * test_token_format.c -- tokens in the formats of other programs: alphabet, length, random bits.
 *
 * The alphabets are repeated here as regular expressions.  The random bytes are the same on every
 * run.
 */
#include "protocol/format/token.h"
#include "tests/lib/chance.h"
#include "tests/lib/suite.h"

#include <regex.h>
#include <stdlib.h>

#define HEX(n) "[0-9a-f]{" #n "}"

typedef struct expectation {
    bwl_token_format format;
    const char      *form;
    double           their_bits; /* random bits of a token of the other program; or 128 */
} expectation;

static const expectation expectations[] = {
    { BWL_TOKEN_OURS, "^[A-Za-z0-9_-]{21}[AQgw]$", 128 },
    { BWL_TOKEN_UUID, "^" HEX(8) "-" HEX(4) "-4" HEX(3) "-[89ab]" HEX(3) "-" HEX(12) "$", 122 },
    { BWL_TOKEN_HEX, "^" HEX(32) "$", 128 },
    { BWL_TOKEN_UUID_BARE, "^" HEX(12) "4" HEX(3) "[89ab]" HEX(15) "$", 122 },
    { BWL_TOKEN_UUID1, "^" HEX(8) "-" HEX(4) "-1" HEX(3) "-[89ab]" HEX(3) "-" HEX(12) "$",
      74 }, /* the time and a sequence number */
    { BWL_TOKEN_UUID1_BARE, "^" HEX(12) "1" HEX(3) "[89ab]" HEX(15) "$", 74 },
    { BWL_TOKEN_BASE64, "^[A-Za-z0-9+/]{21}[AQgw]==$", 128 },
    { BWL_TOKEN_BASE64_18, "^[A-Za-z0-9+/]{24}$", 128 },
    { BWL_TOKEN_ALNUM_16, "^[A-Za-z0-9]{16}$", 95 },
    { BWL_TOKEN_ALNUM_20, "^[A-Za-z0-9]{20}$", 119 },
    { BWL_TOKEN_ALNUM_22, "^[A-Za-z0-9]{22}$", 128 },
    { BWL_TOKEN_DATE_UUID,
      "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z@" HEX(8) "-" HEX(
          4) "-4" HEX(3) "-[89ab]" HEX(3) "-" HEX(12) "$",
      122 },
    { BWL_TOKEN_BASE64_32, "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$", 128 },
    { BWL_TOKEN_UUID_THREAD, "^" HEX(8) "-" HEX(4) "-4" HEX(3) "-[89ab]" HEX(3) "-" HEX(12) ":1$",
      122 },
};

enum { COUNT = COUNT_OF(expectations), ROUNDS = 20000 };

#define WALL_NS INT64_C(1795307460123456789) /* 2026-11-22T00:31:00.123Z */

/* ---- form ------------------------------------------------------------------------------------ */

FIXTURE(same_chance, NULL)

TEST(token_has_the_alphabet_and_length_of_the_other_program)
{
    char token[BWL_TOKEN_MAX + 1];

    for (unsigned i = 0; i < COUNT; i++) {
        const expectation *e = &expectations[i];
        regex_t            form;
        print_message("# %s\n", bwl_token_format_info_of(e->format)->description);
        assert_int_equal(regcomp(&form, e->form, REG_EXTENDED | REG_NOSUB), 0);
        for (unsigned round = 0; round < 2000; round++) {
            bwl_random random = random_bytes();
            memset(token, '!', sizeof token);
            bwl_token_write_as(token, e->format, &random, WALL_NS);
            assert_int_equal(regexec(&form, token, 0, NULL, 0), 0);
            assert_true(bwl_token_is_of(e->format, token, strlen(token)));
        }
        regfree(&form);
    }
}

TEST(token_fits_only_its_own_format)
{
    bwl_random random = random_bytes();
    char       token[BWL_TOKEN_MAX + 1];

    for (unsigned i = 0; i < COUNT; i++) {
        bwl_token_format format = expectations[i].format;
        bwl_token_write_as(token, format, &random, WALL_NS);
        size_t size = strlen(token);
        print_message("# %s\n", token);
        assert_false(bwl_token_is_of(format, token, size - 1));
        assert_false(bwl_token_is_of(format, "", 0));
        for (int other = 0; other <= BWL_TOKEN_PID_TID; other++)
            if (format <= BWL_TOKEN_PID_TID && other != (int)format)
                assert_false(bwl_token_is_of((bwl_token_format)other, token, size));
        for (size_t at = 0; at < size; at++) {
            char kept = token[at];
            token[at] = '!';
            assert_false(bwl_token_is_of(format, token, size));
            token[at] = kept;
        }
        assert_true(bwl_token_is_of(format, token, size));
    }
}

typedef struct refused {
    bwl_token_format format;
    const char      *texts[12]; /* up to NULL */
} refused;

TEST(other_token_is_refused)
{
    static const refused wrong[] = {
        /* bits beyond the 128th, another alphabet */
        { BWL_TOKEN_OURS, { "", "AAAAAAAAAAAAAAAAAAAAAB", "AAAAAAAAAAAAAAAAAAAA+A" } },
        { BWL_TOKEN_UUID, /* of version 1, of no variant, in capitals, with another separator */
          { "00112233-4455-1677-8899-aabbccddeeff", "00112233-4455-4677-c899-aabbccddeeff",
            "00112233-4455-4677-8899-AABBCCDDEEFF", "00112233x4455-4677-8899-aabbccddeeff" } },
        { BWL_TOKEN_HEX, { "00112233445566778899aabbccddeefg" } },
        { BWL_TOKEN_PID_TID,
          { "12", "12-", "-12", "0-12", "012-12", "12-012", "12-0", "12-12-12", "4194305-12",
            "12-9223372036854775808" } },
    };

    for (unsigned i = 0; i < COUNT_OF(wrong); i++)
        for (const char *const *text = wrong[i].texts; *text != NULL; text++)
            if (bwl_token_is_of(wrong[i].format, *text, strlen(*text)))
                fail_msg("\"%s\" is taken for a token", *text);
    assert_true(bwl_token_is_of(BWL_TOKEN_PID_TID, "4194304-9223372036854775807", 27));
}

TEST(largest_and_smallest_bytes_fit)
{
    bwl_random random;
    char       token[BWL_TOKEN_MAX + 1];

    for (int fill = 0; fill <= 255; fill += 255) {
        memset(random.bytes, fill, sizeof random.bytes);
        for (int format = 0; format < BWL_TOKEN_PID_TID + 1; format++) {
            bwl_token_write_as(token, (bwl_token_format)format, &random, 0);
            assert_true(bwl_token_is_of((bwl_token_format)format, token, strlen(token)));
        }
    }
}

FIXTURE(NULL, NULL)

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

TEST(own_format_is_the_token_itself)
{
    bwl_random counting = { { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } };
    char       token[BWL_TOKEN_MAX + 1];
    char       ours[BWL_TOKEN_MAX + 1];

    bwl_token_write_as(token, BWL_TOKEN_OURS, &counting, 0);
    bwl_token_write(ours, &counting);
    assert_string_equal(token, ours);
    assert_string_equal(token, "AAECAwQFBgcICQoLDA0ODw");
}

/* ---- random bits ----------------------------------------------------------------------------- */

/* The bits of one letter of an alphabet of this size. */
static double bits_of(unsigned letters)
{
    switch (letters) {
    case 64: return 6;
    case 62: return 5.954;
    case 16: return 4;
    case 4: return 2;
    case 1: return 0;
    }
    print_message("# %u letters at one place\n", letters);
    fail();
    return 0;
}

FIXTURE(same_chance, NULL)

/* Each letter of the alphabet occurs at each random place, about as often as the others. */
TEST(token_uses_the_whole_alphabet_at_every_place)
{
    static unsigned counts[BWL_TOKEN_MAX][256];
    char            token[BWL_TOKEN_MAX + 1];

    for (unsigned i = 0; i < COUNT; i++) {
        const char *pattern = bwl_token_format_info_of(expectations[i].format)->pattern;
        size_t      size    = strlen(pattern);
        double      bits    = 0;
        memset(counts, 0, sizeof counts);
        for (unsigned round = 0; round < ROUNDS; round++) {
            bwl_random random = random_bytes();
            bwl_token_write_as(token, expectations[i].format, &random, WALL_NS);
            for (size_t at = 0; at < size; at++)
                counts[at][(unsigned char)token[at]]++;
        }
        for (size_t at = 0; at < size; at++) {
            unsigned seen = 0, least = ROUNDS, most = 0;
            for (unsigned c = 0; c < 256; c++) {
                if (counts[at][c] == 0)
                    continue;
                seen++;
                least = counts[at][c] < least ? counts[at][c] : least;
                most  = counts[at][c] > most ? counts[at][c] : most;
            }
            bits += bits_of(seen);
            if (seen > 1)
                assert_true(least * 2 > most); /* 20000 / 64 = 312: seven deviations */
        }
        print_message("# %s: room for %.1f bits\n",
                      bwl_token_format_info_of(expectations[i].format)->description, bits);
        assert_true(bits >= expectations[i].their_bits);
        assert_true(bits >= bwl_token_format_info_of(expectations[i].format)->bits);
    }
}

static int use_eval(const void *a, const void *b)
{
    return memcmp(a, b, BWL_TOKEN_MAX + 1);
}

/* Two tokens that differ in one random bit differ, for as many bits as the format says: no random
 * bit is dropped.  And no two of many tokens are the same. */
TEST(token_has_its_number_of_random_bits)
{
    static char tokens[ROUNDS][BWL_TOKEN_MAX + 1];
    char        token[BWL_TOKEN_MAX + 1];
    char        other[BWL_TOKEN_MAX + 1];

    for (unsigned i = 0; i < COUNT; i++) {
        bwl_token_format format = expectations[i].format;
        unsigned         counts = 0;
        bwl_random       random = random_bytes();
        bwl_token_write_as(token, format, &random, WALL_NS);
        for (unsigned bit = 0; bit < 8 * BWL_RANDOM_BYTES; bit++) {
            random.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            bwl_token_write_as(other, format, &random, WALL_NS);
            counts += strcmp(token, other) != 0;
            random.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        print_message("# %s: %u\n", bwl_token_format_info_of(format)->description, counts);
        assert_true(counts >= bwl_token_format_info_of(format)->bits);
        assert_true(bwl_token_format_info_of(format)->bits >= expectations[i].their_bits);
        memset(tokens, 0, sizeof tokens);
        for (unsigned round = 0; round < ROUNDS; round++) {
            random = random_bytes();
            bwl_token_write_as(tokens[round], format, &random, WALL_NS);
        }
        qsort(tokens, ROUNDS, sizeof tokens[0], use_eval);
        for (unsigned round = 1; round < ROUNDS; round++)
            assert_string_not_equal(tokens[round - 1], tokens[round]);
    }
}

/* ---- the time of day ------------------------------------------------------------------------- */

static void assert_date(int64_t seconds, int64_t ms, const char *date)
{
    bwl_random random = random_bytes();
    char       token[BWL_TOKEN_MAX + 1];

    bwl_token_write_as(token, BWL_TOKEN_DATE_UUID, &random,
                       seconds * 1000000000 + ms * 1000000 + 1);
    token[24] = '\0';
    assert_string_equal(token, date);
}

TEST(token_with_a_date_has_the_right_date)
{
    assert_date(0, 0, "1970-01-01T00:00:00.000Z");
    assert_date(951782399, 999, "2000-02-28T23:59:59.999Z");
    assert_date(951782400, 0, "2000-02-29T00:00:00.000Z");
    assert_date(951868800, 0, "2000-03-01T00:00:00.000Z");
    assert_date(1709164800, 0, "2024-02-29T00:00:00.000Z");
    assert_date(1735689599, 1, "2024-12-31T23:59:59.001Z");
    assert_date(1735689600, 10, "2025-01-01T00:00:00.010Z");
    assert_date(1795307460, 123, "2026-11-22T00:31:00.123Z");
    assert_date(4107542400, 0, "2100-03-01T00:00:00.000Z");
    assert_date(-5, 0, "1970-01-01T00:00:00.000Z"); /* a clock that was never set */
}
