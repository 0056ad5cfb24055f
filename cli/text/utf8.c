#include "cli/text/utf8.h"

#include <assert.h>

size_t utf8_next(uint32_t *ret_character, const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    uint32_t             character, least;
    size_t               size;

    assert(byte[0] != '\0');
    if (byte[0] < 0x80) {
        *ret_character = byte[0];
        return 1;
    }
    *ret_character = UTF8_BROKEN;
    if ((byte[0] & 0xe0) == 0xc0) {
        size = 2, least = 0x80, character = byte[0] & 0x1fU;
    } else if ((byte[0] & 0xf0) == 0xe0) {
        size = 3, least = 0x800, character = byte[0] & 0x0fU;
    } else if ((byte[0] & 0xf8) == 0xf0) {
        size = 4, least = 0x10000, character = byte[0] & 0x07U;
    } else {
        return 1;
    }
    /* A NUL is no continuation byte, so this never reads past the end. */
    for (size_t i = 1; i < size; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 1;
        character = character << 6 | (byte[i] & 0x3fU);
    }
    if (character < least || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
        return 1;
    *ret_character = character;
    return size;
}

bool utf8_is_control(uint32_t character)
{
    if (character < 0x20 || (character >= 0x7f && character <= 0x9f))
        return true;
    return (character >= 0x202a && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069);
}

typedef struct range {
    uint32_t first;
    uint32_t last;
} range;

static bool is_in(const range *ranges, size_t count, uint32_t character)
{
    size_t i = 0;

    while (i < count && (character < ranges[i].first || character > ranges[i].last))
        i++;
    return i < count;
}

/* Not wcwidth(3), which needs the locale of the user.  Its tables follow Unicode's East Asian
 * Width too: W and F, here in large blocks. */
size_t utf8_columns(uint32_t character)
{
    static const range combining[] = {
        { 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x064b, 0x065f },
        { 0x200b, 0x200f }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
    };
    static const range wide[] = {
        { 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0x4dbf },   { 0x4e00, 0xa4cf },
        { 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
        { 0xff01, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff },
        { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
    };

    if (is_in(combining, sizeof combining / sizeof combining[0], character))
        return 0;
    return is_in(wide, sizeof wide / sizeof wide[0], character) ? 2 : 1;
}

size_t utf8_columns_of(const char *text)
{
    size_t columns = 0;

    while (*text != '\0') {
        uint32_t character;
        text += utf8_next(&character, text);
        columns += utf8_columns(character);
    }
    return columns;
}
