/*
 * file.h -- a file that remembers the highest fence that it was shown.
 *
 *      absent --first fence--> bowline fence N --N or higher--> remembered
 *                                              --lower-------> refused, nothing is changed
 *
 * The comparison and the write are one step under flock(2) on the file itself.  A fence that was
 * accepted is on the disk, and so is the file's name, before anybody is told.  The file is never
 * replaced, so the lock, the owner and the mode stay what they are; the first one appears whole, by
 * link(2).
 *
 * What it does not trust is refused and left as it is: what is no regular file, a symbolic link
 * (whoever turns it elsewhere makes the fence forget), what others may write to or replace, and
 * a file that holds anything else than such a line, be it empty.
 *
 * On a network file system it is as good as flock and fsync are there.
 */
#ifndef BOWLINE_CLI_FENCE_FILE_H
#define BOWLINE_CLI_FENCE_FILE_H

#include <stdint.h>

#include "cli/text/say.h"

/* Shows `fence` to the file.  0: it is remembered, and *ret_fd is the file, locked until all copies
 * of that descriptor are closed.  Else failure, with EXIT_LOST if the file has seen a higher one.
 * Waits for whoever has the file locked. */
int fence_file_check(int *ret_fd, const char *path, uint64_t fence, failure *reterr);

/* The highest fence that the file has seen.  Does not wait. */
int fence_file_seen(uint64_t *ret_fence, const char *path, failure *reterr);

#endif
