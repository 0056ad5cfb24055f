/*
 * shape.h -- what a token looks like: ours, or one that another program could have written.
 *
 * Nobody reads a token: it is compared, byte for byte, with what one has written oneself.  So any
 * would do; but people and their tools look at the values of a server, and a value in the form
 * that they know tells them no lies about where it may go.
 *
 * Every token is new for every attempt and made from 128 random bits.  How many of them are in it
 * is what the shape has room for: never fewer than the other program's own tokens hold, or 128.
 */
#ifndef BWL_SHAPE_H
#define BWL_SHAPE_H

#include "core/core.h"

typedef enum bwl_token_shape {
    BWL_TOKEN_OURS       = 0, /* 22 characters of A-Z a-z 0-9 - _                              */
    BWL_TOKEN_UUID       = 1, /* RFC 4122, version 4, in lower case                            */
    BWL_TOKEN_HEX        = 2, /* 32 hexadecimal digits in lower case                           */
    BWL_TOKEN_PID_TID    = 3, /* two numbers of plausible size: 71-968                         */
    BWL_TOKEN_UUID_BARE  = 4, /* version 4 without its dashes                                  */
    BWL_TOKEN_UUID1      = 5, /* the form of version 1, all of it drawn                        */
    BWL_TOKEN_UUID1_BARE = 6, /* the same without its dashes                                   */
    BWL_TOKEN_BASE64     = 7, /* 16 bytes in base64, padded: 24 characters                     */
    BWL_TOKEN_BASE64_18  = 8, /* 18 bytes in base64: 24 characters                             */
    BWL_TOKEN_ALNUM_16   = 9, /* 16 letters and digits                                         */
    BWL_TOKEN_ALNUM_20   = 10,
    BWL_TOKEN_ALNUM_22   = 11,
    BWL_TOKEN_DATE_UUID  = 12, /* 2026-11-22T00:31:00.123Z@ and a UUID                          */
} bwl_token_shape;

enum { BWL_TOKEN_SHAPES = 13 };

/* What a shape is, for people, and what is in it. */
typedef struct bwl_shape_kind {
    const char *words;    /* "32 hexadecimal digits"                                            */
    const char *pattern;  /* one character for each of the token; see shape.c                   */
    unsigned    bits;     /* of chance in it                                                    */
    bool        is_dated; /* the time of day is in it as well                                  */
} bwl_shape_kind;

const bwl_shape_kind *bwl_shape_kind_of(bwl_token_shape shape);

/* Writes a token of this shape.  wall_ns is read only if the shape is dated. */
void bwl_shape_write(char ret_token[BWL_TOKEN_MAX + 1], bwl_token_shape shape,
                     const bwl_random *random, int64_t wall_ns);

/* Could it be a token of this shape? */
bool bwl_shape_fits(bwl_token_shape shape, const char *text, size_t size);

#endif
