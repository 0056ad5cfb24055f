/*
 * token_format.h -- the formats of tokens: that of bowline and those of other programs.
 *
 * A client only compares a token with the one that it has written, so any format would work.  But
 * people and tools read the values on a server, and expect the format that their programs write.
 *
 * Each attempt has a new token, made from 128 random bits.  A format with less room holds as many
 * random bits as the tokens of the other program, at least.
 */
#ifndef BWL_TOKEN_FORMAT_H
#define BWL_TOKEN_FORMAT_H

#include "core/compat_rules.h"

/* A format, described for users. */
typedef struct bwl_token_format_info {
    const char *description; /* "32 hexadecimal digits" */
    const char *pattern;     /* one character for each of the token; see token_format.c */
    unsigned    bits;        /* random bits in it */
    bool        is_dated;    /* contains the time of day */
} bwl_token_format_info;

const bwl_token_format_info *bwl_token_format_info_of(bwl_token_format format);

/* Writes a token by the pattern of its format.  Reads wall_ns only if the format is dated.  Call
 * bwl_token_write_as instead: it handles every format, also those without a pattern. */
void bwl_token_format_write(char ret_token[BWL_TOKEN_MAX + 1], bwl_token_format format,
                            const bwl_random *random, int64_t wall_ns);

/* True if the text matches the pattern of the format. */
bool bwl_token_format_matches(bwl_token_format format, const char *text, size_t size);

#endif
