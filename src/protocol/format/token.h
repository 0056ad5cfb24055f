/*
 * token.h -- the token of an attempt, in the format of bowline or of another program.
 *
 * A client only compares a token with the one that it has written, so any format would work.  But
 * people and tools read the values on a server, and expect the format that their programs write.
 *
 * Each attempt has a new token, made from 128 random bits.  A format with less room holds as many
 * random bits as the tokens of the other program, at least.
 */
#ifndef BWL_TOKEN_H
#define BWL_TOKEN_H

#include "protocol/format/compat_rules.h"

/* A format, described for users. */
typedef struct bwl_token_format_info {
    const char *description; /* "32 hexadecimal digits" */
    const char *pattern;     /* one character for each of the token; see token.c; "": none */
    unsigned    bits;        /* random bits in it */
    bool        is_dated;    /* contains the time of day */
} bwl_token_format_info;

const bwl_token_format_info *bwl_token_format_info_of(bwl_token_format format);

/* Writes the token of this format for 128 random bits.  OURS and HEX have all of them, UUID 122,
 * PID_TID 68.  wall_ns: only for a format with a date. */
void bwl_token_write_as(char ret_token[BWL_TOKEN_MAX + 1], bwl_token_format format,
                        const bwl_random *random, int64_t wall_ns);

/* True for a text that bwl_token_write_as can write; PID_TID: also with a tid of any size. */
bool bwl_token_is_of(bwl_token_format format, const char *text, size_t size);

#endif
