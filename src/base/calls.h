/*
 * calls.h -- openat(2) and pread(2), repeated when a signal interrupts them, which can happen on a
 * network file system; and threads that get no signals.
 */
#pragma once

#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>

int bwl_file_openat(int at, const char *path, int flags, mode_t mode);

/* Reads up to `size` bytes until the end of the file; a single read may return less.  Below 0: see
 * errno. */
ssize_t bwl_file_read_at(int fd, void *bytes, size_t size, off_t at);

/* Starts a thread that blocks every signal: signals are for the program's own threads.  Below 0:
 * see errno. */
int bwl_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg);
