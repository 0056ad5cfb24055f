/*
 * file_fixture.h -- a temporary directory, small helpers for the files in it, and child processes,
 * for the tests of file:.
 */
#pragma once

#include "tests/lib/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, PATH_SIZE = 1024 };

static char directory[64];

static inline int make_directory(void **state)
{
    (void)umask(022);
    (void)snprintf(directory, sizeof directory, "/tmp/bowline-test-XXXXXX");
    assert_non_null(mkdtemp(directory));
    return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    return remove(path);
}

static inline int remove_directory(void **state)
{
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Returns the path of an entry of the directory.  It is valid for seven more calls. */
static inline const char *in(const char *leaf)
{
    static char     paths[8][PATH_SIZE];
    static unsigned next;
    char           *path = paths[next++ % 8];

    (void)snprintf(path, PATH_SIZE, "%s/%s", directory, leaf);
    return path;
}

static inline void put(const char *leaf, const void *bytes, size_t size)
{
    int fd = open(in(leaf), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(close(fd), 0);
}

static inline int open_in(const char *leaf)
{
    int fd = open(in(leaf), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    return fd;
}

static inline bool exists(const char *leaf)
{
    struct stat st;

    return lstat(in(leaf), &st) == 0;
}

static inline mode_t mode_of(const char *leaf)
{
    struct stat st;

    assert_int_equal(lstat(in(leaf), &st), 0);
    return st.st_mode & 07777;
}

/* Only root can act as another user: without root the test ends here. */
static inline void needs_root(void)
{
    if (geteuid() != 0)
        skip();
}

/* A child process that runs `body` and then runs until it is killed. */
static inline pid_t start_child(void (*body)(void *arg), void *arg)
{
    int  ready[2];
    char byte;

    (void)fflush(NULL);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(ready[0]);
        body(arg);
        (void)!write(ready[1], "", 1);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return pid;
}

static inline void end_child(pid_t pid)
{
    int how;

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &how, 0), pid);
}
