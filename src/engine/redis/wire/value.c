/*
 * value.c -- see value.h.
 *
 * A float is the timestamp as a program prints it that keeps the time in a double: the double
 * nearest to the timestamp, as the shortest decimal that is nearest to that double (Python, Ruby),
 * or rounded to 14 digits (PHP).  Both are computed in whole numbers: printf and strtod depend on
 * the locale, and may write or read a comma in place of the point.
 */
#include "engine/redis/wire/value.h"
#include "protocol/format/timestamps.h"
#include "core/text.h"
#include "protocol/format/token.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum {
    MANTISSA_BITS  = 53,
    DIGITS_MAX     = 17, /* significant digits that identify any double */
    PHP_DIGITS     = 14, /* "precision" in php.ini */
    TIMESTAMP_SIZE = 8,  /* LITTLE_ENDIAN */
    NS_IN_US       = 1000,
    US_IN_MS       = 1000,
};

#define WHOLE_MAX     UINT64_C(1000000000000000) /* of a float, before the point */
#define WHOLE_MAX_PHP UINT64_C(100000000000000)

/* ---- a buffer -------------------------------------------------------------------------------- */

typedef struct writer {
    char  *bytes;
    size_t size;
    bool   overflowed;
} writer;

static void put(writer *w, const char *bytes, size_t size)
{
    w->overflowed = w->overflowed || size > BWL_VALUE_MAX - w->size;
    if (w->overflowed)
        return;
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
}

static void put_text(writer *w, const char *text)
{
    if (text != NULL)
        put(w, text, strlen(text));
}

/* With at least digits_min digits. */
static void put_number(writer *w, uint64_t number, unsigned digits_min)
{
    char     digits[20];
    unsigned count = 0;

    assert(digits_min <= sizeof digits);
    do
        digits[sizeof digits - ++count] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count < digits_min)
        digits[sizeof digits - ++count] = '0';
    put(w, digits + sizeof digits - count, count);
}

/* ---- doubles --------------------------------------------------------------------------------- */

/* mantissa / 2^scale; the mantissa has 53 bits. */
typedef struct binary {
    uint64_t mantissa;
    unsigned scale;
} binary;

static uint64_t power_of_ten(unsigned exponent)
{
    uint64_t power = 1;

    while (exponent-- > 0)
        power *= 10;
    return power;
}

/* above / below, rounded to the nearest, and a tie to the even one, as in IEEE 754. */
static uint64_t divided(wide above, wide below)
{
    wide whole = above / below;
    wide twice = above % below * 2;

    return (uint64_t)whole + (twice > below || (twice == below && (whole & 1) != 0));
}

/* The double nearest to above / below, which is at least 1 and below WHOLE_MAX. */
static binary nearest(uint64_t above, uint64_t below)
{
    uint64_t whole = above / below;
    unsigned scale = MANTISSA_BITS;

    assert(whole >= 1);
    assert(whole < WHOLE_MAX);
    while (whole != 0) {
        whole >>= 1;
        scale--;
    }
    uint64_t mantissa = divided((wide)above << scale, below);
    if (mantissa >> MANTISSA_BITS != 0) { /* rounded up to the next power of two */
        mantissa >>= 1;
        scale--;
    }
    return (binary){ .mantissa = mantissa, .scale = scale };
}

/* A decimal: digits / 10^after. */
typedef struct decimal {
    uint64_t digits;
    unsigned after;
} decimal;

static decimal rounded(binary b, unsigned after)
{
    wide above = (wide)b.mantissa * power_of_ten(after);

    return (decimal){ .digits = divided(above, (wide)1 << b.scale), .after = after };
}

static bool is_same(binary a, binary b)
{
    return a.mantissa == b.mantissa && a.scale == b.scale;
}

/* The decimal with the fewest digits that reads as this double. */
static decimal shortest(binary b)
{
    decimal d = rounded(b, 0);

    while (!is_same(nearest(d.digits, power_of_ten(d.after)), b)) {
        assert(d.after < DIGITS_MAX);
        d = rounded(b, d.after + 1);
    }
    return d;
}

static decimal of_php(binary b)
{
    unsigned whole_digits = 1;

    for (uint64_t whole = b.mantissa >> b.scale; whole >= 10; whole /= 10)
        whole_digits++;
    decimal d = rounded(b, whole_digits < PHP_DIGITS ? PHP_DIGITS - whole_digits : 0);
    while (d.after > 0 && d.digits % 10 == 0)
        d = (decimal){ .digits = d.digits / 10, .after = d.after - 1 };
    return d;
}

static void put_float(writer *w, bwl_value_format format, binary b)
{
    bool    is_php = format == BWL_VALUE_FLOAT_PHP;
    decimal d      = is_php ? of_php(b) : shortest(b);

    put_number(w, d.digits / power_of_ten(d.after), 1);
    if (is_php && d.after == 0)
        return;
    put(w, ".", 1);
    put_number(w, d.digits % power_of_ten(d.after), d.after == 0 ? 1 : d.after);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_float(bwl_value_format format)
{
    return format == BWL_VALUE_FLOAT_PYTHON || format == BWL_VALUE_FLOAT_RUBY ||
           format == BWL_VALUE_FLOAT_PHP;
}

static bool fits_float(const bwl_compat_rules *rules, int64_t timestamp)
{
    uint64_t end   = rules->value == BWL_VALUE_FLOAT_PHP ? WHOLE_MAX_PHP : WHOLE_MAX;
    int64_t  max   = (INT64_MAX - rules->whole_ns) / rules->unit_ns; /* it may be rounded up */
    int64_t  whole = timestamp <= max ? timestamp * rules->unit_ns / rules->whole_ns : 0;

    return whole >= 1 && (uint64_t)whole < end - 1; /* rounding may make it one more */
}

static void put_little_endian(writer *w, uint64_t timestamp)
{
    char bytes[TIMESTAMP_SIZE];

    for (unsigned i = 0; i < TIMESTAMP_SIZE; i++)
        bytes[i] = (char)(timestamp >> 8 * i & 255);
    put(w, bytes, TIMESTAMP_SIZE);
}

static void put_middle(writer *w, const bwl_compat_rules *rules, const char *token,
                       int64_t timestamp)
{
    switch (rules->value) {
    case BWL_VALUE_TOKEN: put_text(w, token); break;
    case BWL_VALUE_LITERAL: put_text(w, rules->literal); break;
    case BWL_VALUE_DECIMAL: put_number(w, (uint64_t)timestamp, 1); break;
    case BWL_VALUE_FLOAT_PYTHON:
    case BWL_VALUE_FLOAT_RUBY:
    case BWL_VALUE_FLOAT_PHP:
        put_float(w, rules->value,
                  nearest((uint64_t)(timestamp * rules->unit_ns), (uint64_t)rules->whole_ns));
        break;
    case BWL_VALUE_LITTLE_ENDIAN: put_little_endian(w, (uint64_t)timestamp); break;
    case BWL_VALUE_TOKEN_TIMESTAMP:
        put_text(w, token);
        put(w, ":", 1);
        put_number(w, (uint64_t)timestamp, 1);
        break;
    case BWL_VALUE_TIMESTAMP_TOKEN:
        put_number(w, (uint64_t)timestamp, 1);
        put(w, "-", 1);
        put_text(w, token);
        break;
    }
}

size_t bwl_value_write(char ret_bytes[BWL_VALUE_MAX], const bwl_compat_rules *rules,
                       const char *token, int64_t timestamp)
{
    writer w = { .bytes = ret_bytes };

    if (rules == NULL) {
        put_text(&w, token);
        return w.size;
    }
    if (timestamp < 0 || (is_float(rules->value) && !fits_float(rules, timestamp)))
        return 0;
    put_text(&w, rules->prefix);
    put_middle(&w, rules, token, timestamp);
    put_text(&w, rules->suffix);
    assert(!w.overflowed); /* two affixes, a token and a number fit */
    return w.size;
}

/* ---- for scripts/take_timestamp.lua ---------------------------------------------------------- */

/* In a pattern of Lua, '%' before a character that is neither letter nor digit escapes it. */
static void put_affix(writer *w, const char *affix, bool as_pattern)
{
    for (; affix != NULL && *affix != '\0'; affix++) {
        bool is_plain = (*affix >= '0' && *affix <= '9') || (*affix >= 'A' && *affix <= 'Z') ||
                        (*affix >= 'a' && *affix <= 'z') || (unsigned char)*affix >= 0x80;
        if (as_pattern && !is_plain)
            put(w, "%", 1);
        put(w, affix, 1);
    }
}

/* A pattern that matches any token of this format. */
static const char *any_token(bwl_token_format format)
{
    if (format == BWL_TOKEN_UUID)
        return "%x+%-%x+%-%x+%-%x+%-%x+";
    if (format == BWL_TOKEN_HEX)
        return "%x+";
    return format == BWL_TOKEN_PID_TID ? "[1-9]%d*%-[1-9]%d*" : "[%w_%-+/=:.@]+";
}

/* The texts before and after the number.  token NULL: as patterns, which match those of any
 * holder. */
static void write_affixes(bwl_resp_writer *out, const bwl_compat_rules *rules, const char *token)
{
    char        bytes[2][BWL_VALUE_MAX];
    writer      before     = { .bytes = bytes[0] };
    writer      after      = { .bytes = bytes[1] };
    bool        as_pattern = token == NULL;
    const char *middle     = as_pattern ? any_token(rules->token) : token;

    put_affix(&before, rules->prefix, as_pattern);
    if (rules->value == BWL_VALUE_TOKEN_TIMESTAMP) {
        put_text(&before, middle);
        put_text(&before, ":");
    }
    if (rules->value == BWL_VALUE_TIMESTAMP_TOKEN) {
        put_affix(&after, "-", as_pattern);
        put_text(&after, middle);
    }
    put_affix(&after, rules->suffix, as_pattern);
    assert(!before.overflowed && !after.overflowed);
    bwl_resp_write_bulk(out, before.bytes, before.size);
    bwl_resp_write_bulk(out, after.bytes, after.size);
}

/* The server's clock has microseconds.  A timestamp in nanoseconds ends with three zeros.  A float
 * is the double that is nearest to the whole number of microseconds. */
void bwl_take_timestamp_write(bwl_resp_writer *out, const bwl_compat_rules *rules,
                              const char *token, bwl_ms lease_ms)
{
    assert(rules->unit_ns > 0);
    bwl_resp_write_text(out, rules->value == BWL_VALUE_LITTLE_ENDIAN ? "l"
                             : rules->value == BWL_VALUE_FLOAT_PHP   ? "p"
                             : is_float(rules->value)                ? "f"
                                                                     : "d");
    write_affixes(out, rules, token);
    bwl_resp_write_integer(out, rules->unit_ns / NS_IN_US);
    bwl_resp_write_integer(out, rules->whole_ns / NS_IN_US);
    bwl_resp_write_integer(out, lease_ms * US_IN_MS + rules->extra_ns / NS_IN_US);
    bwl_resp_write_text(out, rules->expired == BWL_TIMESTAMP_BEFORE_NOW ? "<" : "<=");
    bwl_resp_write_text(out, rules->timestamp_is_start ? "1" : "0");
    write_affixes(out, rules, NULL);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Removes a prefix and a suffix.  False: they are missing. */
static bool strip(const char **bytes, size_t *size, const char *prefix, const char *suffix)
{
    size_t before = prefix != NULL ? strlen(prefix) : 0;
    size_t after  = suffix != NULL ? strlen(suffix) : 0;

    if (*size < before + after || (before != 0 && memcmp(*bytes, prefix, before) != 0) ||
        (after != 0 && memcmp(*bytes + *size - after, suffix, after) != 0))
        return false;
    *bytes += before;
    *size -= before + after;
    return true;
}

static bool read_decimal(int64_t *ret_timestamp, const char *bytes, size_t size)
{
    uint64_t number;

    if (!bwl_number_parse(&number, bytes, size, INT64_MAX))
        return false;
    *ret_timestamp = (int64_t)number;
    return true;
}

/* Reads digits, or digits, a point and digits. */
static bool read_digits(decimal *ret_decimal, const char *bytes, size_t size)
{
    char     digits[DIGITS_MAX + 1];
    size_t   count = 0;
    decimal  d     = { .after = 0 };
    uint64_t whole;

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '.' && d.after == 0 && i > 0 && i + 1 < size)
            d.after = (unsigned)(size - i - 1);
        else if (count > DIGITS_MAX - 1 || bytes[i] < '0' || bytes[i] > '9')
            return false;
        else
            digits[count++] = bytes[i];
    }
    if (count == 0 || d.after >= count)
        return false;
    while (count > 1 && digits[count - 1] == '0' && d.after > 0) { /* "10.0" */
        count--;
        d.after--;
    }
    if (!bwl_number_parse(&d.digits, digits, count, UINT64_MAX))
        return false;
    whole        = d.digits / power_of_ten(d.after);
    *ret_decimal = d;
    return whole >= 1 && whole < WHOLE_MAX - 1;
}

static bool read_float(int64_t *ret_timestamp, const bwl_compat_rules *rules, const char *bytes,
                       size_t size)
{
    char    again[BWL_VALUE_MAX];
    writer  w = { .bytes = again };
    decimal d;

    if (!read_digits(&d, bytes, size))
        return false;
    binary b = nearest(d.digits, power_of_ten(d.after));
    if (rules->value == BWL_VALUE_FLOAT_PHP && b.mantissa >> b.scale >= WHOLE_MAX_PHP - 1)
        return false;
    put_float(&w, rules->value, b);
    if (w.size != size || memcmp(again, bytes, size) != 0)
        return false; /* not as these programs write this double */
    wide above = (wide)b.mantissa * (uint64_t)rules->whole_ns;
    wide below = ((wide)1 << b.scale) * (uint64_t)rules->unit_ns;
    if ((above + below / 2) / below > (uint64_t)(INT64_MAX / rules->unit_ns))
        return false;
    *ret_timestamp = (int64_t)((above + below / 2) / below);
    return true;
}

static bool read_little_endian(int64_t *ret_timestamp, const char *bytes, size_t size)
{
    uint64_t timestamp = 0;

    if (size != TIMESTAMP_SIZE)
        return false;
    for (unsigned i = 0; i < TIMESTAMP_SIZE; i++)
        timestamp |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    *ret_timestamp = (int64_t)timestamp;
    return timestamp <= INT64_MAX;
}

static bool read_token_timestamp(int64_t *ret_timestamp, const bwl_compat_rules *rules,
                                 const char *bytes, size_t size)
{
    const char *colon = memrchr(bytes, ':', size);
    size_t      token = colon != NULL ? (size_t)(colon - bytes) : 0;

    return colon != NULL && bwl_token_is_of(rules->token, bytes, token) &&
           read_decimal(ret_timestamp, colon + 1, size - token - 1);
}

static bool read_timestamp_token(int64_t *ret_timestamp, const bwl_compat_rules *rules,
                                 const char *bytes, size_t size)
{
    const char *dash   = memchr(bytes, '-', size);
    size_t      before = dash != NULL ? (size_t)(dash - bytes) : 0;

    return dash != NULL && bwl_token_is_of(rules->token, dash + 1, size - before - 1) &&
           read_decimal(ret_timestamp, bytes, before);
}

static bool read_middle(int64_t *ret_timestamp, const bwl_compat_rules *rules, const char *bytes,
                        size_t size)
{
    switch (rules->value) {
    case BWL_VALUE_TOKEN: return bwl_token_is_of(rules->token, bytes, size);
    case BWL_VALUE_LITERAL:
        return size == strlen(rules->literal) && memcmp(bytes, rules->literal, size) == 0;
    case BWL_VALUE_DECIMAL: return read_decimal(ret_timestamp, bytes, size);
    case BWL_VALUE_FLOAT_PYTHON:
    case BWL_VALUE_FLOAT_RUBY:
    case BWL_VALUE_FLOAT_PHP: return read_float(ret_timestamp, rules, bytes, size);
    case BWL_VALUE_LITTLE_ENDIAN: return read_little_endian(ret_timestamp, bytes, size);
    case BWL_VALUE_TOKEN_TIMESTAMP: return read_token_timestamp(ret_timestamp, rules, bytes, size);
    case BWL_VALUE_TIMESTAMP_TOKEN: return read_timestamp_token(ret_timestamp, rules, bytes, size);
    }
    bwl_unreachable("no such value format");
}

bool bwl_value_read(int64_t *ret_timestamp, const bwl_compat_rules *rules, const char *bytes,
                    size_t size)
{
    int64_t timestamp = 0;

    if (size > BWL_VALUE_MAX)
        return false;
    if (rules == NULL && !bwl_token_is_of(BWL_TOKEN_OURS, bytes, size))
        return false;
    if (rules != NULL && (!strip(&bytes, &size, rules->prefix, rules->suffix) ||
                          !read_middle(&timestamp, rules, bytes, size)))
        return false;
    *ret_timestamp = timestamp;
    return true;
}

bool bwl_value_read_plausible(int64_t *ret_timestamp, const bwl_compat_rules *rules,
                              const char *bytes, size_t size)
{
    int64_t timestamp;

    if (!bwl_value_read(&timestamp, rules, bytes, size) ||
        (rules != NULL && !bwl_timestamp_is_plausible(rules, timestamp)))
        return false;
    *ret_timestamp = timestamp;
    return true;
}

uint64_t bwl_value_hash(const char *bytes, size_t size)
{
    uint64_t value_hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < size; i++)
        value_hash = (value_hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return value_hash != 0 ? value_hash : 1;
}
