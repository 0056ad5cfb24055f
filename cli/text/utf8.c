/*
 * utf8.c -- reads UTF-8 as in RFC 3629; a byte that does not fit is skipped alone.
 */
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
