#include "lab/base/utf8.h"

#include <stdbool.h>

typedef struct range {
    uint32_t first;
    uint32_t last;
} range;

/* East Asian Width W and F, in large blocks. */
static const range wide[] = {
    { 0x1100, 0x115F },   { 0x2E80, 0x303E },   { 0x3041, 0x4DBF },   { 0x4E00, 0xA4CF },
    { 0xA960, 0xA97F },   { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },   { 0xFE30, 0xFE6F },
    { 0xFF01, 0xFF60 },   { 0xFFE0, 0xFFE6 },   { 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF },
    { 0x1F900, 0x1F9FF }, { 0x20000, 0x3FFFD },
};

static const range without_width[] = {
    { 0x0300, 0x036F }, { 0x200B, 0x200F }, { 0x20D0, 0x20FF },
    { 0xFE00, 0xFE0F }, { 0xFEFF, 0xFEFF },
};

static bool is_in(const range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

static unsigned columns_of(uint32_t c)
{
    if (is_in(without_width, sizeof without_width / sizeof without_width[0], c))
        return 0;
    return is_in(wide, sizeof wide / sizeof wide[0], c) ? 2 : 1;
}

/* Bytes that follow the first one; -1: it begins no character. */
static int more_bytes(unsigned char first)
{
    if (first < 0x80)
        return 0;
    if (first >= 0xC2 && first <= 0xDF)
        return 1;
    if ((first & 0xF0) == 0xE0)
        return 2;
    return first >= 0xF0 && first <= 0xF4 ? 3 : -1;
}

/* Too long a form, a surrogate, or beyond the last character; and what XML excludes. */
static bool is_allowed(uint32_t c, int more)
{
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };

    return c >= least[more] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF) &&
           (c & 0xFFFE) != 0xFFFE;
}

uint32_t bwl_utf8_next(const char **at)
{
    const unsigned char *bytes = (const unsigned char *)*at;
    int                  more  = more_bytes(bytes[0]);
    uint32_t             c     = more > 0 ? bytes[0] & (0x3Fu >> more) : bytes[0];

    if (c == 0 && more == 0)
        return 0;
    for (int i = 1; i <= more; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            more = -1;
        else
            c = c << 6 | (bytes[i] & 0x3Fu);
    }
    if (more < 0 || !is_allowed(c, more)) {
        *at += 1;
        return BWL_UTF8_REPLACEMENT;
    }
    *at += 1 + more;
    return c;
}

unsigned bwl_utf8_columns(const char *text)
{
    unsigned columns = 0;

    for (uint32_t c = bwl_utf8_next(&text); c != 0; c = bwl_utf8_next(&text))
        columns += columns_of(c);
    return columns;
}

static bool is_one_of(const char *marks, uint32_t c)
{
    for (uint32_t mark = bwl_utf8_next(&marks); mark != 0; mark = bwl_utf8_next(&marks))
        if (mark == c)
            return true;
    return false;
}

/* A line may end beside a wide character, but not before a mark that closes or behind one that
 * opens. */
static bool may_end(uint32_t before, uint32_t c)
{
    if (c == ' ')
        return true;
    return (columns_of(before) == 2 || columns_of(c) == 2) && !is_one_of("（《「『“‘", before) &&
           !is_one_of("、。，；：？！）》」』”’…,.;:?!)", c);
}

size_t bwl_utf8_fit(const char *text, unsigned columns)
{
    const char *at     = text;
    const char *end    = text; /* of the characters that there is room for */
    const char *parted = text; /* where the line may end */
    unsigned    used   = 0;
    uint32_t    before = 0;

    for (uint32_t c = bwl_utf8_next(&at); c != 0 && c != '\n'; c = bwl_utf8_next(&at)) {
        if (may_end(before, c))
            parted = end;
        before = c;
        used += columns_of(c);
        if (used > columns && end != text)
            return (size_t)((parted != text ? parted : end) - text);
        end = at;
    }
    return (size_t)(end - text);
}
