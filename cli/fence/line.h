/*
 * line.h -- a fence as text: by itself, and as the one line that a fence file holds.
 *
 *      bowline fence 1763787600123456
 *
 * There is one way to write a number: digits alone, the first of them not 0, and no more than 64
 * bits.  The words before it say whose file this is, so that a file of numbers that was named by
 * mistake is not taken for one.  A line that lacks its end was not written whole.
 *
 * A fence only grows, so a new line is never shorter than the one it is written over.
 */
#ifndef BOWLINE_CLI_FENCE_LINE_H
#define BOWLINE_CLI_FENCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FENCE_LINE_MAX = sizeof "bowline fence 18446744073709551615\n" - 1 };

typedef struct fence_line {
    size_t size;
    char   text[FENCE_LINE_MAX + 1]; /* ends with 0 */
} fence_line;

/* `fence` is not 0. */
fence_line fence_line_of(uint64_t fence);

/* False, and nothing is written, unless the bytes are exactly one such line. */
bool fence_line_read(uint64_t *ret_fence, const char *bytes, size_t size);

/* The same for the number alone. */
bool fence_number_read(uint64_t *ret_fence, const char *text);

#endif
