/*
 * file.h -- a file that stores the highest fence that was checked against it.
 *
 *      absent --first fence--> bowline fence N --N or higher--> stored
 *                                              --lower-------> refused, file unchanged
 *
 * Comparison and write are one step under flock(2) on the file.  An accepted fence, and the name of
 * the file, are on the disk before the call returns.  The file is never replaced, so its lock,
 * owner and mode stay; a new file appears complete, by link(2).
 *
 * Refused and left unchanged are: anything but a regular file; a symbolic link, because a user who
 * changes its target would lower the fence; a file that others may write or replace; a file that
 * does not contain exactly one such line, such as an empty one.
 *
 * On a network file system the guarantees are those of its flock and fsync.
 *
 * The file has one line:
 *
 *      bowline fence 1763787600123456
 *
 * A number has one form: digits, no leading 0, at most 64 bits.  The words before it identify a
 * fence file, so that another file of numbers is not taken for one.  A line without its end was not
 * written completely.  Fences only grow, so a new line is never shorter than the one that it
 * overwrites.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/text/say.h"

/* Checks `fence` against the file.  On success the fence is stored, and *ret_fd keeps the file
 * locked until all copies of that descriptor are closed.  Fails with EXIT_LOST if the file has a
 * higher fence.  Waits while another process has the file locked. */
int fence_file_check(int *ret_fd, const char *path, uint64_t fence, failure *reterr);

/* Reads the highest fence of the file.  Does not wait. */
int fence_file_seen(uint64_t *ret_fence, const char *path, failure *reterr);

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
