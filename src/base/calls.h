/*
 * calls.h -- openat(2) and pread(2), once more when a signal interrupts them, as it may on a
 * network file system.
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

int bwl_file_openat(int at, const char *path, int flags, mode_t mode);

/* As many bytes as there are, at most `size`: a read may bring less than there is.  Below 0: errno
 * says why. */
ssize_t bwl_file_read_at(int fd, void *bytes, size_t size, off_t at);
