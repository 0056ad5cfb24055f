/*
 * line.h -- a fence as text: alone, and as the one line of a fence file.
 *
 *      bowline fence 1763787600123456
 *
 * A number has one form: digits, no leading 0, at most 64 bits. The words before it identify a
 * fence file, so that another file of numbers is not taken for one. A line without its end was not
 * written completely.
 *
 * Fences only grow, so a new line is never shorter than the one that it overwrites.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FENCE_LINE_MAX = sizeof "bowline fence 18446744073709551615\n" - 1 };

typedef struct fence_line {
    size_t size;
    char   text[FENCE_LINE_MAX + 1]; /* terminated by NUL */
} fence_line;

/* `fence` is not 0. */
fence_line fence_line_of(uint64_t fence);

/* Returns false, and writes nothing, unless the bytes are exactly one such line. */
bool fence_line_read(uint64_t *ret_fence, const char *bytes, size_t size);

/* The same for the number alone. */
bool fence_number_read(uint64_t *ret_fence, const char *text);
