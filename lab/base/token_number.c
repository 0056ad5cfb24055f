/*
 * token_number.c -- puts a number into random bytes and reads it from the text of a token.
 *
 * bwl_token_write is RFC 4648 in groups: bytes 0 to 2 are characters 0 to 3, and so on.  The number
 * is in bytes 3 and 4, so in characters 4 to 7.
 */
#include "lab/base/token_number.h"
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

static const uint8_t values[256] = {
    ['A'] = 0,  ['B'] = 1,  ['C'] = 2,  ['D'] = 3,  ['E'] = 4,  ['F'] = 5,  ['G'] = 6,  ['H'] = 7,
    ['I'] = 8,  ['J'] = 9,  ['K'] = 10, ['L'] = 11, ['M'] = 12, ['N'] = 13, ['O'] = 14, ['P'] = 15,
    ['Q'] = 16, ['R'] = 17, ['S'] = 18, ['T'] = 19, ['U'] = 20, ['V'] = 21, ['W'] = 22, ['X'] = 23,
    ['Y'] = 24, ['Z'] = 25, ['a'] = 26, ['b'] = 27, ['c'] = 28, ['d'] = 29, ['e'] = 30, ['f'] = 31,
    ['g'] = 32, ['h'] = 33, ['i'] = 34, ['j'] = 35, ['k'] = 36, ['l'] = 37, ['m'] = 38, ['n'] = 39,
    ['o'] = 40, ['p'] = 41, ['q'] = 42, ['r'] = 43, ['s'] = 44, ['t'] = 45, ['u'] = 46, ['v'] = 47,
    ['w'] = 48, ['x'] = 49, ['y'] = 50, ['z'] = 51, ['0'] = 52, ['1'] = 53, ['2'] = 54, ['3'] = 55,
    ['4'] = 56, ['5'] = 57, ['6'] = 58, ['7'] = 59, ['8'] = 60, ['9'] = 61, ['-'] = 62, ['_'] = 63,
};

static unsigned six_bits(char c)
{
    return values[(unsigned char)c];
}

uint16_t bwl_token_read(const char *token)
{
    if (token[0] == '\0')
        return 0;
    return (uint16_t)((six_bits(token[4]) << 12 | six_bits(token[5]) << 6 | six_bits(token[6])) >>
                      2);
}

bool bwl_token_is_ours(const char *token)
{
    char       again[BWL_TOKEN_MAX + 1];
    bwl_random random = bwl_token_random(bwl_token_read(token), 0);

    random.bytes[1] = (uint8_t)((six_bits(token[1]) & 15) << 4 | six_bits(token[2]) >> 2);
    bwl_token_write(again, &random);
    return strcmp(again, token) == 0;
}
