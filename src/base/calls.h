/*
 * calls.h -- openat(2) and pread(2), repeated when a signal interrupts them, which can happen on a
 * network file system.
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

int bwl_file_openat(int at, const char *path, int flags, mode_t mode);

/* Reads up to `size` bytes until the end of the file; a single read may return less.  Below 0: see
 * errno. */
ssize_t bwl_file_read_at(int fd, void *bytes, size_t size, off_t at);
