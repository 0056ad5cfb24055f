/*
 * test_value.c -- writing values byte for byte, and reading them.
 *
 * The other programs printed the tables of floats: Python's repr, Ruby's to_s, PHP's echo with
 * precision=14.  Two properties are checked too: a value that was written is read as the same
 * value, and random bytes are accepted only if writing produces the same bytes.
 */
#include "protocol/format/token.h"
#include "engine/redis/wire/value.h"
#include "tests/lib/chance.h"
#include "tests/lib/suite.h"

#include <locale.h>
#include <stdlib.h>

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)
#define TOKEN     "AbCdEfGhIjKlMnOpQrStUg"
#define UUID      "00112233-4455-4677-8899-aabbccddeeff"

static const bwl_compat_rules python = { .value    = BWL_VALUE_FLOAT_PYTHON,
                                         .unit_ns  = 1,
                                         .whole_ns = SECOND_NS };
static const bwl_compat_rules php    = { .value    = BWL_VALUE_FLOAT_PHP,
                                         .unit_ns  = 1,
                                         .whole_ns = SECOND_NS };
static const bwl_compat_rules php_ms = { .value    = BWL_VALUE_FLOAT_PHP,
                                         .unit_ns  = 1000,
                                         .whole_ns = MS_NS };

static void assert_writes(const bwl_compat_rules *rules, const char *token, int64_t timestamp,
                          const char *wanted, size_t wanted_size)
{
    char   bytes[BWL_VALUE_MAX];
    size_t size = bwl_value_write(bytes, rules, token, timestamp);

    if (size != wanted_size || memcmp(bytes, wanted, size) != 0)
        fail_msg("wrote \"%.*s\", not \"%.*s\"", (int)size, bytes, (int)wanted_size, wanted);
}

static void assert_reads(const bwl_compat_rules *rules, const char *bytes, size_t size,
                         int64_t wanted)
{
    int64_t timestamp = -1;

    if (!bwl_value_read(&timestamp, rules, bytes, size))
        fail_msg("\"%.*s\" is not read", (int)size, bytes);
    assert_int_equal(timestamp, wanted);
}

static void assert_text(const bwl_compat_rules *rules, const char *token, int64_t timestamp,
                        const char *text)
{
    assert_writes(rules, token, timestamp, text, strlen(text));
    assert_reads(rules, text, strlen(text), timestamp);
}

static void assert_foreign_value(const bwl_compat_rules *rules, const char *bytes, size_t size)
{
    int64_t timestamp = 4711;

    if (bwl_value_read(&timestamp, rules, bytes, size))
        fail_msg("\"%.*s\" is read as %lld", (int)size, bytes, (long long)timestamp);
    assert_int_equal(timestamp, 4711);
}

/* Each of the texts between bars. */
static void assert_foreign_values(const bwl_compat_rules *rules, const char *texts)
{
    const char *end;

    for (; (end = strchr(texts, '|')) != NULL; texts = end + 1)
        assert_foreign_value(rules, texts, (size_t)(end - texts));
    assert_foreign_value(rules, texts, strlen(texts));
}

/* ---- formats --------------------------------------------------------------------------------- */

TEST(value_without_rules_is_the_token)
{
    assert_text(NULL, TOKEN, 0, TOKEN);
    assert_writes(NULL, TOKEN, 1700000000, TOKEN, 22);
    assert_foreign_value(NULL, TOKEN "x", 23);
    assert_foreign_value(NULL, "1700000000", 10);
}

TEST(tokens_and_literals)
{
    bwl_compat_rules uuid    = { .value = BWL_VALUE_TOKEN, .token = BWL_TOKEN_UUID };
    bwl_compat_rules literal = { .value = BWL_VALUE_LITERAL, .literal = "1" };

    assert_text(&uuid, UUID, 0, UUID);
    assert_foreign_value(&uuid, TOKEN, 22);
    assert_text(&literal, TOKEN, 0, "1");
    assert_foreign_value(&literal, "2", 1);
    assert_foreign_value(&literal, "11", 2);
    assert_foreign_value(&literal, "", 0);
}

TEST(decimals)
{
    bwl_compat_rules decimal = { .value = BWL_VALUE_DECIMAL, .unit_ns = MS_NS };

    assert_text(&decimal, TOKEN, 1700000000123, "1700000000123");
    assert_text(&decimal, TOKEN, 0, "0");
    assert_text(&decimal, TOKEN, INT64_MAX, "9223372036854775807");
    assert_foreign_values(&decimal,
                          "9223372036854775808|01700000000|+1700000000|-1| 1|1 |1\n|1.0|1e9|true|");
    assert_foreign_value(&decimal, "1\0", 2);
}

TEST(affixes_enclose_the_token)
{
    bwl_compat_rules decimal = {
        .value = BWL_VALUE_DECIMAL, .unit_ns = SECOND_NS, .prefix = "at:", .suffix = ";"
    };

    assert_text(&decimal, TOKEN, 17, "at:17;");
    assert_foreign_values(&decimal, "17|at:17|17;|at:;|at:|AT:17;");
}

TEST(eight_bytes)
{
    bwl_compat_rules le = { .value = BWL_VALUE_LITTLE_ENDIAN, .unit_ns = SECOND_NS };

    assert_writes(&le, TOKEN, 0x0102030405060708, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
    assert_reads(&le, "\x08\x07\x06\x05\x04\x03\x02\x01", 8, 0x0102030405060708);
    assert_writes(&le, TOKEN, 1700000000, "\x00\xf1\x53\x65\x00\x00\x00\x00", 8);
    assert_foreign_value(&le, "\x08\x07\x06\x05\x04\x03\x02", 7);
    assert_foreign_value(&le, "\x08\x07\x06\x05\x04\x03\x02\x01\x00", 9);
    assert_foreign_value(&le, "\x00\x00\x00\x00\x00\x00\x00\x80", 8);
    assert_foreign_value(&le, "", 0);
}

TEST(tokens_with_stamps)
{
    bwl_compat_rules before = { .value   = BWL_VALUE_TOKEN_TIMESTAMP,
                                .token   = BWL_TOKEN_UUID,
                                .unit_ns = MS_NS };
    bwl_compat_rules behind = { .value   = BWL_VALUE_TIMESTAMP_TOKEN,
                                .token   = BWL_TOKEN_PID_TID,
                                .unit_ns = SECOND_NS };

    assert_text(&before, UUID, 1700000000123, UUID ":1700000000123");
    assert_foreign_values(&before, UUID "|" UUID ":|:1700000000123|" UUID ":1700000000123:|" TOKEN
                                        ":1700000000123");
    assert_text(&behind, "71-968", 1700000000, "1700000000-71-968");
    assert_foreign_values(&behind, "1700000000-71|1700000000|-71-968|1700000000-71-968-1");
}

/* ---- floats ---------------------------------------------------------------------------------- */

typedef struct row {
    int64_t     ns;
    const char *text;
} row;

TEST(floats_as_python_and_ruby_print_them)
{
    static const row rows[] = {
        { 1700000010000000000, "1700000010.0" },
        { 1700000031123456000, "1700000031.123456" },
        { 1700000031123456717, "1700000031.1234567" },
        { 1000000000100000024, "1000000000.1" },
        { 1000000000, "1.0" },
        { 1500000000, "1.5" },
        { 2147483649000000000, "2147483649.0" },
        { 1400000005000000000, "1400000005.0" },
        { 1622901694889701843, "1622901694.8897018" },
        { 1741786989260729313, "1741786989.2607293" },
        { 1922324996665416956, "1922324996.665417" },
        { 1029005228283614755, "1029005228.2836148" },
    };
    bwl_compat_rules ruby = python;

    ruby.value = BWL_VALUE_FLOAT_RUBY;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t timestamp = 0;
        assert_writes(&python, TOKEN, rows[i].ns, rows[i].text, strlen(rows[i].text));
        assert_writes(&ruby, TOKEN, rows[i].ns, rows[i].text, strlen(rows[i].text));
        assert_true(bwl_value_read(&timestamp, &python, rows[i].text, strlen(rows[i].text)));
        assert_true(llabs(timestamp - rows[i].ns) <=
                    120); /* half of the distance of two doubles there */
        assert_writes(&python, TOKEN, timestamp, rows[i].text, strlen(rows[i].text));
    }
}

TEST(floats_as_php_prints_them)
{
    static const row rows[] = {
        { 1700000010000000000, "1700000010" },      { 1700000031123456000, "1700000031.1235" },
        { 1000000000100000024, "1000000000.1" },    { 1500000000, "1.5" },
        { 1622901694889701843, "1622901694.8897" }, { 1922324996665416956, "1922324996.6654" },
        { 1700000000000000238, "1700000000" },      { 1700000000031250000, "1700000000.0312" },
        { 1700000000093750000, "1700000000.0938" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_writes(&php, TOKEN, rows[i].ns, rows[i].text, strlen(rows[i].text));
    assert_text(&php_ms, TOKEN, 1496826000000100, "1496826000000.1");
    assert_text(&php_ms, TOKEN, 1496826000000000, "1496826000000");
}

TEST(floats_that_no_program_prints_are_foreign)
{
    assert_foreign_values(&python,
                          "1700000010|1700000010.|1700000010.00|.5|01.5|1.50|1,5|1.5e9|1.7e+16|"
                          "-1.5|+1.5|nan|inf|0.5|1700000031.12345670|1.2.3|1700000031.12345672|"
                          "99999999999999999999.0|1000000000000000.0||.|1700000010.0 ");
    assert_foreign_values(&php,
                          "1700000010.0|1700000010.10|1700000031.12345|1.7E+15|1700000010.|0");
}

TEST(floats_beyond_the_limits_are_foreign)
{
    bwl_compat_rules wide_ms = { .value    = BWL_VALUE_FLOAT_PYTHON,
                                 .unit_ns  = MS_NS,
                                 .whole_ns = MS_NS };
    char             bytes[BWL_VALUE_MAX];

    assert_int_equal(bwl_value_write(bytes, &python, TOKEN, SECOND_NS - 1), 0);
    assert_int_equal(bwl_value_write(bytes, &python, TOKEN, -1), 0);
    assert_true(bwl_value_write(bytes, &wide_ms, TOKEN, INT64_C(9000000000000)) != 0);
    assert_int_equal(bwl_value_write(bytes, &wide_ms, TOKEN, INT64_MAX), 0);
}

/* The nearest double is above the largest number of nanoseconds: it could not be read back. */
TEST(float_that_is_rounded_up_is_read)
{
    const int64_t last = INT64_MAX - SECOND_NS;
    char          bytes[BWL_VALUE_MAX];
    int64_t       timestamp;

    assert_int_equal(bwl_value_write(bytes, &python, TOKEN, INT64_MAX), 0);
    assert_int_equal(bwl_value_write(bytes, &php, TOKEN, INT64_MAX), 0);
    size_t size = bwl_value_write(bytes, &python, TOKEN, last);
    assert_true(size != 0 && bwl_value_read(&timestamp, &python, bytes, size));
    size = bwl_value_write(bytes, &php, TOKEN, last);
    assert_true(size != 0 && bwl_value_read(&timestamp, &php, bytes, size));
}

TEST(locale_does_not_matter)
{
    static const char *const commas[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };

    for (size_t i = 0; i < COUNT_OF(commas); i++)
        (void)setlocale(LC_ALL, commas[i]); /* if the machine has any of them */
    assert_writes(&python, TOKEN, 1500000000, "1.5", 3);
    assert_reads(&python, "1.5", 3, 1500000000);
    (void)setlocale(LC_ALL, "C");
}

/* ---- properties ------------------------------------------------------------------------------ */

static const bwl_compat_rules shapes[] = {
    { .value = BWL_VALUE_TOKEN, .token = BWL_TOKEN_OURS },
    { .value = BWL_VALUE_DECIMAL, .unit_ns = SECOND_NS },
    { .value = BWL_VALUE_DECIMAL, .unit_ns = 1, .prefix = "x" },
    { .value = BWL_VALUE_FLOAT_PYTHON, .unit_ns = SECOND_NS, .whole_ns = SECOND_NS },
    { .value = BWL_VALUE_FLOAT_RUBY, .unit_ns = 1000, .whole_ns = SECOND_NS },
    { .value = BWL_VALUE_FLOAT_PYTHON, .unit_ns = 1000, .whole_ns = MS_NS },
    { .value = BWL_VALUE_FLOAT_PHP, .unit_ns = 100000, .whole_ns = SECOND_NS },
    { .value = BWL_VALUE_FLOAT_PHP, .unit_ns = 100000, .whole_ns = MS_NS },
    { .value = BWL_VALUE_LITTLE_ENDIAN, .unit_ns = MS_NS },
    { .value = BWL_VALUE_TOKEN_TIMESTAMP, .token = BWL_TOKEN_HEX, .unit_ns = MS_NS },
    { .value = BWL_VALUE_TIMESTAMP_TOKEN, .token = BWL_TOKEN_PID_TID, .unit_ns = SECOND_NS },
    { .value   = BWL_VALUE_TIMESTAMP_TOKEN,
      .token   = BWL_TOKEN_UUID,
      .unit_ns = MS_NS,
      .suffix  = "!" },
};

/* Times of day from 2001 to 2103, for which a double has a precision of a microsecond. */
TEST(written_value_is_read_back)
{
    for (unsigned i = 0; i < 200000; i++) {
        const bwl_compat_rules *rules = &shapes[i % COUNT_OF(shapes)];
        char                    token[BWL_TOKEN_MAX + 1];
        char                    bytes[BWL_VALUE_MAX];
        bwl_random              random = random_bytes();
        int64_t                 ns     = (int64_t)(any() % UINT64_C(3200000000000000000));
        int64_t                 read   = -1;
        bwl_token_write_as(token, rules->token, &random, ns);
        int64_t timestamp =
            rules->unit_ns != 0 ? (ns + INT64_C(1000000000000000000)) / rules->unit_ns : 0;
        size_t size = bwl_value_write(bytes, rules, token, timestamp);
        assert_true(size > 0);
        if (!bwl_value_read(&read, rules, bytes, size) || read != timestamp)
            fail_msg("\"%.*s\" of %lld is read as %lld", (int)size, bytes, (long long)timestamp,
                     (long long)read);
    }
}

/* Bytes that look like a value, with an error in most of them. */
static size_t garbage(char *ret_bytes)
{
    static const char some[] = "0123456789.-:xe+E, \n\0abcdef";
    size_t            size   = any() % (any() % 8 == 0 ? 300 : 30);

    for (size_t i = 0; i < size; i++)
        ret_bytes[i] =
            any() % 3 == 0 ? some[any() % (sizeof some - 1)] : (char)('0' + (int)(any() % 10));
    if (any() % 2 == 0 && size > 12)
        ret_bytes[10] = '.';
    return size;
}

static void assert_garbage(const bwl_compat_rules *rules, const char *bytes, size_t size)
{
    char    again[BWL_VALUE_MAX];
    int64_t timestamp = -1;

    if (!bwl_value_read(&timestamp, rules, bytes, size))
        return;
    assert_true(timestamp >= 0);
    if (rules->value == BWL_VALUE_TOKEN || rules->token != BWL_TOKEN_OURS)
        return; /* the token is not known */
    size_t written = bwl_value_write(again, rules, "", timestamp);
    /* A float between two timestamps is read as the nearest one. */
    if (rules->whole_ns == 0 && (written != size || memcmp(again, bytes, size) != 0))
        fail_msg("\"%.*s\" is read, and written as \"%.*s\"", (int)size, bytes, (int)written,
                 again);
}

TEST(garbage_is_refused_or_written_byte_for_byte)
{
    char bytes[300];

    for (unsigned i = 0; i < 300000; i++) {
        size_t size = garbage(bytes);
        char  *copy = malloc(size + 1); /* so that a read of one byte too many is noticed */
        memcpy(copy, bytes, size);
        assert_garbage(&shapes[i % COUNT_OF(shapes)], copy, size);
        free(copy);
    }
}
