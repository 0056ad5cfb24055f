/*
 * bytes.c -- see bytes.h.
 */
#include "sim/redis/data/bytes.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ROOM_MIN = 32, DOUBLE_TEXT_MAX = 128, PATTERN_DEPTH_MAX = 64 };

void *model_allocate(size_t size)
{
    return model_resize(NULL, size);
}

void *model_resize(void *memory, size_t size)
{
    void *larger = realloc(memory, size != 0 ? size : 1);

    if (larger == NULL)
        abort();
    return larger;
}

/* ---- texts ----------------------------------------------------------------------------------- */

char *model_text_copy(model_text text)
{
    char *copy = model_allocate(text.size + 1);

    if (text.size != 0)
        memcpy(copy, text.at, text.size);
    copy[text.size] = '\0';
    return copy;
}

model_text model_text_of(const char *text)
{
    return (model_text){ text, strlen(text) };
}

bool model_text_equal(model_text a, model_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

bool model_text_is(model_text text, const char *word)
{
    return strlen(word) == text.size && strncasecmp(text.at, word, text.size) == 0;
}

int model_text_compare(model_text a, model_text b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int    order  = common != 0 ? memcmp(a.at, b.at, common) : 0;

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* One character against [...] at the start of the pattern.  Returns how long that is. */
static size_t match_set(model_text pattern, char c, bool *ret_matches)
{
    size_t at     = 1;
    bool   negate = at < pattern.size && pattern.at[at] == '^';
    bool   found  = false;

    at += negate;
    while (at < pattern.size && pattern.at[at] != ']') {
        if (pattern.at[at] == '\\' && at + 1 < pattern.size) {
            at++;
            found = found || pattern.at[at] == c;
        } else if (at + 2 < pattern.size && pattern.at[at + 1] == '-') {
            unsigned char low  = (unsigned char)pattern.at[at];
            unsigned char high = (unsigned char)pattern.at[at + 2];
            unsigned char byte = (unsigned char)c;
            found = found || (byte >= low && byte <= high) || (byte >= high && byte <= low);
            at += 2;
        } else {
            found = found || pattern.at[at] == c;
        }
        at++;
    }
    *ret_matches = found != negate;
    return at < pattern.size ? at + 1 : at;
}

static bool matches(model_text text, model_text pattern, unsigned depth)
{
    while (pattern.size > 0) {
        size_t used = 1;
        bool   good = text.size > 0;
        if (pattern.at[0] == '*') {
            while (pattern.size > 0 && pattern.at[0] == '*')
                pattern = (model_text){ pattern.at + 1, pattern.size - 1 };
            if (pattern.size == 0)
                return true;
            if (depth == PATTERN_DEPTH_MAX)
                return false;
            for (size_t i = 0; i <= text.size; i++)
                if (matches((model_text){ text.at + i, text.size - i }, pattern, depth + 1))
                    return true;
            return false;
        }
        if (!good)
            return false;
        if (pattern.at[0] == '[') {
            used = match_set(pattern, text.at[0], &good);
        } else if (pattern.at[0] != '?') {
            used = pattern.at[0] == '\\' && pattern.size > 1 ? 2 : 1;
            good = pattern.at[used - 1] == text.at[0];
        }
        if (!good)
            return false;
        pattern = (model_text){ pattern.at + used, pattern.size - used };
        text    = (model_text){ text.at + 1, text.size - 1 };
    }
    return text.size == 0;
}

bool model_text_matches(model_text text, model_text pattern)
{
    return matches(text, pattern, 0);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* As string2ll: no spaces, no plus, no leading zeros. */
bool model_text_integer(model_text text, int64_t *ret_number)
{
    uint64_t value    = 0;
    size_t   at       = 0;
    bool     negative = text.size > 1 && text.at[0] == '-';

    if (text.size == 0 || text.size > 20)
        return false;
    at += negative;
    if (text.at[at] == '0' && (text.size != 1))
        return false;
    for (; at < text.size; at++) {
        unsigned digit = (unsigned)(text.at[at] - '0');
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (value > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_number = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool model_text_double(model_text text, double *ret_number)
{
    char  copy[DOUBLE_TEXT_MAX];
    char *end;

    if (text.size == 0 || text.size >= sizeof copy || isspace((unsigned char)text.at[0]))
        return false;
    memcpy(copy, text.at, text.size);
    copy[text.size] = '\0';
    *ret_number     = strtod(copy, &end);
    return (size_t)(end - copy) == text.size && !isnan(*ret_number);
}

static size_t write_short(char *ret_text, size_t room, double number)
{
    size_t size = 0;

    for (int digits = 15; digits <= 17; digits++) {
        size = (size_t)snprintf(ret_text, room, "%.*g", digits, number);
        if (strtod(ret_text, NULL) == number)
            break;
    }
    return size;
}

size_t model_write_double(char *ret_text, size_t room, double number, bool is_short)
{
    /* The bounds within which a double has every integer; Valkey takes those of 64 bits. */
    double bound = is_short ? 9223372036854774784.0 : 4503599627370495.0;

    if (isinf(number))
        return (size_t)snprintf(ret_text, room, number > 0 ? "inf" : "-inf");
    if (number > -bound && number < bound && number == floor(number)) {
        if (number == 0 && signbit(number))
            return (size_t)snprintf(ret_text, room, "-0");
        return (size_t)snprintf(ret_text, room, "%lld", (long long)number);
    }
    return is_short ? write_short(ret_text, room, number)
                    : (size_t)snprintf(ret_text, room, "%.17g", number);
}

/* ---- buffers --------------------------------------------------------------------------------- */

char *model_bytes_reserve(model_bytes *bytes, size_t size)
{
    if (bytes->room - bytes->size < size) {
        size_t room = bytes->room * 2;
        if (room < bytes->size + size)
            room = bytes->size + size;
        if (room < ROOM_MIN)
            room = ROOM_MIN;
        bytes->at   = model_resize(bytes->at, room);
        bytes->room = room;
    }
    return bytes->at + bytes->size;
}

void model_bytes_add(model_bytes *bytes, const void *at, size_t size)
{
    char *to = model_bytes_reserve(bytes, size);

    if (size != 0)
        memcpy(to, at, size);
    bytes->size += size;
}

void model_bytes_add_text(model_bytes *bytes, const char *text)
{
    model_bytes_add(bytes, text, strlen(text));
}

void model_bytes_add_integer(model_bytes *bytes, int64_t number)
{
    char     digits[24];
    size_t   at    = sizeof digits;
    uint64_t value = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    if (number < 0)
        digits[--at] = '-';
    model_bytes_add(bytes, digits + at, sizeof digits - at);
}

void model_bytes_print(model_bytes *bytes, const char *format, ...)
{
    va_list args;
    va_list again;

    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size > 0) {
        char *to = model_bytes_reserve(bytes, (size_t)size + 1);
        (void)vsnprintf(to, (size_t)size + 1, format, again);
        bytes->size += (size_t)size;
    }
    va_end(again);
}

void model_bytes_drop(model_bytes *bytes, size_t size)
{
    bytes->size -= size;
    if (bytes->size != 0)
        memmove(bytes->at, bytes->at + size, bytes->size);
}

void model_bytes_set(model_bytes *bytes, model_text text)
{
    bytes->size = 0;
    model_bytes_add(bytes, text.at, text.size);
}

model_text model_bytes_text(const model_bytes *bytes)
{
    return (model_text){ bytes->size != 0 ? bytes->at : "", bytes->size };
}

void model_bytes_free(model_bytes *bytes)
{
    free(bytes->at);
    *bytes = (model_bytes){ .size = 0 };
}
