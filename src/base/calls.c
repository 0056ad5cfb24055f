#include "base/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

int bwl_file_openat(int at, const char *path, int flags, mode_t mode)
{
    for (;;) {
        int fd = openat(at, path, flags, mode);
        if (fd >= 0 || errno != EINTR)
            return fd;
    }
}

ssize_t bwl_file_read_at(int fd, void *bytes, size_t size, off_t at)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fd, (char *)bytes + done, size - done, at + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

int bwl_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(ret_thread, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return error == 0 ? 0 : -1;
}
