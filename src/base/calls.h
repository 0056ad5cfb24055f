/*
 * calls.h -- openat(2) and pread(2), repeated when a signal interrupts them, which can happen on a
 * network file system; threads that get no signals, and their mutexes.
 */
#pragma once

#include <assert.h>
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

/* For a mutex of the default kind that this thread has not locked, or has: neither can fail. */
static inline void bwl_mutex_lock(pthread_mutex_t *mutex)
{
    int error = pthread_mutex_lock(mutex);
    assert(error == 0);
    (void)error;
}

static inline void bwl_mutex_unlock(pthread_mutex_t *mutex)
{
    int error = pthread_mutex_unlock(mutex);
    assert(error == 0);
    (void)error;
}
