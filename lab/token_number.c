/*
 * token_number.c -- numbers into random bytes, and out of the text of a token.
 *
 * bwl_token_write is RFC 4648 in groups: bytes 0 to 2 are characters 0 to 3, and so on.  The number
 * is in bytes 3 and 4, so in characters 4 to 7.
 */
#include "lab/token_number.h"
#include "core/text.h"
#include <string.h>

bwl_random bwl_token_random(uint16_t number, uint8_t chance)
{
    bwl_random random = { { 0 } };

    random.bytes[1] = chance;
    random.bytes[3] = (uint8_t)(number >> 8);
    random.bytes[4] = (uint8_t)(number & 255);
    return random;
}

static unsigned six_bits(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char       *at       = strchr(digits, c);

    assert(c != '\0');
    assert(at != NULL);
    return (unsigned)(at - digits);
}

uint16_t bwl_token_read(const char *token)
{
    char       again[BWL_TOKEN_MAX + 1];
    bwl_random random;
    unsigned   bits = 0;

    if (token[0] == '\0')
        return 0;
    for (unsigned i = 4; i < 7; i++)
        bits = bits << 6 | six_bits(token[i]);
    bits >>= 2;
    random          = bwl_token_random((uint16_t)bits, 0);
    random.bytes[1] = (uint8_t)((six_bits(token[1]) & 15) << 4 | six_bits(token[2]) >> 2);
    bwl_token_write(again, &random);
    assert(strcmp(again, token) == 0); /* otherwise the machine did not use what we handed out */
    return (uint16_t)bits;
}
