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
 */
#pragma once

#include <stdint.h>

#include "cli/text/say.h"

/* Checks `fence` against the file.  On success the fence is stored, and *ret_fd keeps the file
 * locked until all copies of that descriptor are closed.  Fails with EXIT_LOST if the file has a
 * higher fence.  Waits while another process has the file locked. */
int fence_file_check(int *ret_fd, const char *path, uint64_t fence, failure *reterr);

/* Reads the highest fence of the file.  Does not wait. */
int fence_file_seen(uint64_t *ret_fence, const char *path, failure *reterr);
