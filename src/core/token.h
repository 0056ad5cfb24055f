/*
 * token.h -- the token of an attempt, in any of the formats of compat_rules.h.
 */
#ifndef BWL_TOKEN_H
#define BWL_TOKEN_H

#include "core/compat_rules.h"

/* Writes the token of this format for 128 random bits.  OURS and HEX have all of them, UUID 122,
 * PID_TID 68.  wall_ns: only for a format with a date. */
void bwl_token_write_as(char ret_token[BWL_TOKEN_MAX + 1], bwl_token_format format,
                        const bwl_random *random, int64_t wall_ns);

/* True for a text that bwl_token_write_as can write; PID_TID: also with a tid of any size. */
bool bwl_token_is_of(bwl_token_format format, const char *text, size_t size);

#endif
