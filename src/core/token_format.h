/*
 * token_format.h -- what a token looks like: ours, or one that another program could have written.
 *
 * Nobody reads a token: it is compared, byte for byte, with what one has written oneself.  So any
 * would do; but people and their tools look at the values of a server, and a value in the form
 * that they know tells them no lies about where it may go.
 *
 * Every token is new for every attempt and made from 128 random bits.  How many of them are in it
 * is what the shape has room for: never fewer than the other program's own tokens hold, or 128.
 */
#ifndef BWL_TOKEN_FORMAT_H
#define BWL_TOKEN_FORMAT_H

#include "core/compat_rules.h"

/* What a shape is, for people, and what is in it. */
typedef struct bwl_token_format_info {
    const char *description; /* "32 hexadecimal digits" */
    const char *pattern;     /* one character for each of the token; see token_format.c */
    unsigned    bits;        /* of chance in it                                                   */
    bool        is_dated;    /* the time of day is in it as well                                  */
} bwl_token_format_info;

const bwl_token_format_info *bwl_token_format_info_of(bwl_token_format format);

/* Writes a token by the pattern of its shape.  wall_ns is read only if the shape is dated.  The
 * shapes that core/token.h writes in ways of its own are asked for there, as all others may be. */
void bwl_token_format_write(char ret_token[BWL_TOKEN_MAX + 1], bwl_token_format format,
                            const bwl_random *random, int64_t wall_ns);

/* Does the text follow the pattern? */
bool bwl_token_format_matches(bwl_token_format format, const char *text, size_t size);

#endif
