/*
 * token.h -- what tells one attempt from every other, in the form that others expect.
 */
#ifndef BWL_TOKEN_H
#define BWL_TOKEN_H

#include "core/compat_rules.h"

/* The token of this shape for 128 random bits.  OURS has all of them, HEX as well; UUID has 122,
 * PID_TID 68. */
void bwl_token_write_as(char ret_token[BWL_TOKEN_MAX + 1], bwl_token_format format,
                        const bwl_random *random, int64_t wall_ns);

/* True for the texts that bwl_token_write_as could have written; and a tid of any size. */
bool bwl_token_is_of(bwl_token_format format, const char *text, size_t size);

#endif
