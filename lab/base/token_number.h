/*
 * token_number.h -- the tokens of the lab: the client, and its serial number.
 *
 * The lab provides the random bytes of a machine, so it puts a number into them and reads it from
 * the token's text.
 */
#pragma once

#include "core/core.h"

enum {
    BWL_TOKENS_PER_CLIENT = 4096,
    BWL_TOKEN_SHARED      = 14 * BWL_TOKENS_PER_CLIENT, /* a value that several clients share */
    BWL_TOKEN_FOREIGN     = 15 * BWL_TOKENS_PER_CLIENT, /* a value of another program */
};

static inline uint16_t bwl_token_number(unsigned client, unsigned serial)
{
    assert(serial > 0);
    assert(serial < BWL_TOKENS_PER_CLIENT);
    return (uint16_t)((client + 1) * BWL_TOKENS_PER_CLIENT + serial);
}

static inline unsigned bwl_token_client(uint16_t number)
{
    return number / BWL_TOKENS_PER_CLIENT - 1u;
}

static inline unsigned bwl_token_serial(uint16_t number)
{
    return number % BWL_TOKENS_PER_CLIENT;
}

/* Its random bytes.  `chance` goes into the bits that choose the length of a pause. */
bwl_random bwl_token_random(uint16_t number, uint8_t chance);

/* The number in the text; 0 for an empty text. */
uint16_t bwl_token_read(const char *token);

/* False if the machine did not use the bytes of the lab. */
bool bwl_token_is_ours(const char *token);
