/*
 * interpose.c -- replacements for the functions of libc that can fail.
 *
 * Each calls point_at of point.h to decide whether it fails, and otherwise calls the libc function.
 * The functions that allocate are in interpose_memory.c.
 *
 * tests/torture/test_calls.py compares the list with the calls of the library and the command.
 */
#include "tests/torture/interpose.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8 && sizeof(long) == 8, "open and open64 are the same function");

/* ---- descriptors ----------------------------------------------------------------------------- */

#define NO_DESCRIPTOR ERROR(EMFILE), ERROR(ENFILE), ERROR(ENOMEM)

PLAIN(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol),
      NO_DESCRIPTOR, ERROR(ENOBUFS))
PLAIN(int, -1, epoll_create1, (int flags), (flags), NO_DESCRIPTOR)
PLAIN(int, -1, inotify_init1, (int flags), (flags), NO_DESCRIPTOR)
PLAIN(int, -1, timerfd_create, (int clock, int flags), (clock, flags), NO_DESCRIPTOR)
PLAIN(int, -1, signalfd, (int fd, const void *mask, int flags), (fd, mask, flags), NO_DESCRIPTOR)
PLAIN(int, -1, pipe2, (int fds[2], int flags), (fds, flags), NO_DESCRIPTOR)

/* Reads and writes of these descriptors stay in kernel memory: they can only be interrupted. */
static _Atomic(bool) counter_fds[1024];

OURS(int, eventfd, unsigned count, int flags)
{
    if (POINT(eventfd, NO_DESCRIPTOR) != NULL)
        return -1;
    int fd = THEIRS(eventfd)(count, flags);
    if (fd >= 0 && fd < (int)(sizeof counter_fds / sizeof counter_fds[0]))
        counter_fds[fd] = true;
    return fd;
}

static bool is_counter(int fd)
{
    return fd >= 0 && fd < (int)(sizeof counter_fds / sizeof counter_fds[0]) && counter_fds[fd];
}

static void forget_counter(int fd)
{
    if (is_counter(fd))
        counter_fds[fd] = false;
}

static int opened(const char *name, int flags, const void *from)
{
    static const fault_set opens = { 6,
                                     { NO_DESCRIPTOR, ERROR(EINTR), ERROR(EIO), ERROR(EACCES) } };
    static const fault_set makes = {
        7, { NO_DESCRIPTOR, ERROR(EINTR), ERROR(EIO), ERROR(EACCES), ERROR(ENOSPC) }
    };

    return point_at(name, from, (flags & O_CREAT) != 0 ? &makes : &opens) != NULL ? -1 : 0;
}

OURS(int, open, const char *path, int flags, mode_t mode)
{
    int failed = opened("open", flags, __builtin_return_address(0));
    return failed < 0 ? failed : THEIRS(open)(path, flags, mode);
}
ALSO(open, open64);
ALSO(open, __open_2);
ALSO(open, __open64_2);

OURS(int, openat, int at, const char *path, int flags, mode_t mode)
{
    int failed = opened("openat", flags, __builtin_return_address(0));
    return failed < 0 ? failed : THEIRS(openat)(at, path, flags, mode);
}
ALSO(openat, openat64);
ALSO(openat, __openat_2);
ALSO(openat, __openat64_2);

PLAIN(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode), NO_DESCRIPTOR,
      ERROR(EINTR), ERROR(EACCES))
ALSO(fopen, fopen64);
PLAIN(FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode), ERROR(ENOMEM))
PLAIN(void *, NULL, fdopendir, (int fd), (fd), ERROR(ENOMEM))
PLAIN(void *, NULL, opendir, (const char *path), (path), NO_DESCRIPTOR, ERROR(EACCES),
      ERROR(ENOMEM))

/* pidfd_open and pidfd_send_signal; a filter of system calls may refuse them. */
PLAIN(long, -1, syscall, (long number, long a, long b, long c, long d, long e, long f),
      (number, a, b, c, d, e, f), ERROR(ENOSYS), ERROR(EPERM), ERROR(EMFILE))

/* The descriptor is closed in any case, as on Linux. */
OURS(int, close, int fd)
{
    forget_counter(fd);
    int result = THEIRS(close)(fd);
    int error  = errno;

    if (POINT(close, ERROR(EINTR), ERROR(EIO)) != NULL)
        return -1;
    errno = error;
    return result;
}

OURS(int, fcntl, int fd, int command, void *argument)
{
    const fault_way *way = NULL;

    if (command == F_DUPFD_CLOEXEC || command == F_DUPFD)
        way = POINT(fcntl, ERROR(EMFILE));
    else if (command == F_SETLK || command == F_OFD_SETLK)
        way = POINT(fcntl, ERROR(ENOLCK), ERROR(EAGAIN));
    else if (command == F_SETLKW || command == F_OFD_SETLKW)
        way = POINT(fcntl, ERROR(ENOLCK), ERROR(EINTR));
    else if (command == F_GETLK || command == F_OFD_GETLK)
        way = POINT(fcntl, ERROR(ENOLCK));
    return way != NULL ? -1 : THEIRS(fcntl)(fd, command, argument);
}
ALSO(fcntl, fcntl64);

/* ---- files ----------------------------------------------------------------------------------- */

PLAIN(int, -1, fstat, (int fd, struct stat *st), (fd, st), ERROR(EIO), ERROR(ENOMEM))
ALSO(fstat, fstat64);
PLAIN(int, -1, stat, (const char *path, struct stat *st), (path, st), ERROR(EACCES), ERROR(ENOMEM),
      ERROR(EIO))
ALSO(stat, stat64);
PLAIN(int, -1, lstat, (const char *path, struct stat *st), (path, st), ERROR(EACCES), ERROR(ENOMEM),
      ERROR(EIO))
ALSO(lstat, lstat64);
PLAIN(int, -1, fstatat, (int at, const char *path, struct stat *st, int flags),
      (at, path, st, flags), ERROR(EACCES), ERROR(ENOMEM), ERROR(EIO))
ALSO(fstatat, fstatat64);
PLAIN(int, -1, fstatfs, (int fd, void *system), (fd, system), ERROR(EINTR), ERROR(EIO))
ALSO(fstatfs, fstatfs64);
PLAIN(int, -1, faccessat, (int at, const char *path, int mode, int flags), (at, path, mode, flags),
      ERROR(EACCES), ERROR(EIO))
PLAIN(int, -1, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), ERROR(EACCES),
      ERROR(ENOSPC), ERROR(EIO))
PLAIN(int, -1, mkdir, (const char *path, mode_t mode), (path, mode), ERROR(EACCES), ERROR(ENOSPC))
PLAIN(int, -1, mkostemp, (char *path, int flags), (path, flags), NO_DESCRIPTOR, ERROR(ENOSPC))
ALSO(mkostemp, mkostemp64);
PLAIN(int, -1, link, (const char *from, const char *to), (from, to), ERROR(ENOSPC), ERROR(EACCES))
PLAIN(int, -1, rename, (const char *from, const char *to), (from, to), ERROR(ENOSPC), ERROR(EIO))
PLAIN(int, -1, unlink, (const char *path), (path), ERROR(ENOENT), ERROR(EIO))
PLAIN(int, -1, chdir, (const char *path), (path), ERROR(EACCES), ERROR(ENOMEM))
PLAIN(int, -1, dup2, (int fd, int to), (fd, to), ERROR(EMFILE), ERROR(EINTR))
PLAIN(int, -1, ftruncate, (int fd, off_t size), (fd, size), ERROR(EIO), ERROR(EINTR))
ALSO(ftruncate, ftruncate64);
PLAIN(int, -1, fchmod, (int fd, mode_t mode), (fd, mode), ERROR(EPERM), ERROR(EIO))
PLAIN(int, -1, fsync, (int fd), (fd), ERROR(EIO), ERROR(ENOSPC))
PLAIN(int, -1, linkat, (int from_at, const char *from, int to_at, const char *to, int flags),
      (from_at, from, to_at, to, flags), ERROR(EEXIST), ERROR(EPERM))
PLAIN(int, -1, unlinkat, (int at, const char *path, int flags), (at, path, flags), ERROR(ENOENT),
      ERROR(EROFS))
PLAIN(int, -1, fchmodat, (int at, const char *path, mode_t mode, int flags),
      (at, path, mode, flags), ERROR(EPERM), ERROR(EIO))
PLAIN(int, -1, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid), ERROR(EPERM), ERROR(EIO))
PLAIN(int, -1, futimens, (int fd, const struct timespec *times), (fd, times), ERROR(EACCES),
      ERROR(EIO))
PLAIN(ssize_t, -1, fgetxattr, (int fd, const char *name, void *value, size_t size),
      (fd, name, value, size), ERROR(ENODATA), ERROR(EIO), ERROR(ERANGE))
PLAIN(char *, NULL, getcwd, (char *path, size_t size), (path, size), ERROR(ENOENT), ERROR(ENOMEM))
PLAIN(int, -1, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask),
      ERROR(ENOSPC), ERROR(ENOMEM), ERROR(EACCES))
PLAIN(char *, NULL, fgets, (char *text, int size, FILE *file), (text, size, file), ERROR(EIO))
PLAIN(ssize_t, -1, __getdelim, (char **text, size_t *size, int end, FILE *file),
      (text, size, end, file), ERROR(ENOMEM), ERROR(EIO))
PLAIN(ssize_t, -1, getline, (char **text, size_t *size, FILE *file), (text, size, file),
      ERROR(ENOMEM), ERROR(EIO))

PLAIN(void *, NULL, readdir, (void *directory), (directory), ERROR(EIO))
ALSO(readdir, readdir64);

OURS(int, flock, int fd, int what)
{
    const fault_way *way = NULL;

    if ((what & LOCK_NB) != 0)
        way = POINT(flock, ERROR(EWOULDBLOCK), ERROR(ENOLCK));
    else if ((what & LOCK_UN) == 0)
        way = POINT(flock, ERROR(EINTR), ERROR(ENOLCK));
    return way != NULL ? -1 : THEIRS(flock)(fd, what);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Whether the call moves bytes after all; else its result. May limit the size to one byte. */
static bool may_move(const fault_way *way, size_t *size, ssize_t *ret_result)
{
    if (way == NULL)
        return true;
    *ret_result = way->kind == FAULT_END ? 0 : -1;
    if (way->kind == FAULT_SHORT && *size > 1)
        *size = 1;
    return way->kind == FAULT_SHORT;
}

#define MOVING(name, parameters, arguments, ...)                           \
    ssize_t our_##name parameters __asm__(#name);                          \
    static void       *next_##name;                                        \
    ssize_t our_##name parameters                                          \
    {                                                                      \
        ssize_t result;                                                    \
        bool    real = may_move(POINT(name, __VA_ARGS__), &size, &result); \
        return real ? THEIRS(name) arguments : result;                     \
    }

#define CANNOT_WRITE ERROR(ENOSPC), ERROR(EIO), ERROR(EINTR), OTHER(FAULT_SHORT)

OURS(ssize_t, read, int fd, void *bytes, size_t size)
{
    static const fault_set interrupted = { 1, { ERROR(EINTR) } };
    ssize_t                result;
    const fault_set *any = SET(ERROR(EINTR), ERROR(EIO), OTHER(FAULT_END), OTHER(FAULT_SHORT));
    const fault_way *way =
        point_at("read", __builtin_return_address(0), is_counter(fd) ? &interrupted : any);

    return may_move(way, &size, &result) ? THEIRS(read)(fd, bytes, size) : result;
}

MOVING(pread, (int fd, void *bytes, size_t size, off_t at), (fd, bytes, size, at), ERROR(EIO),
       ERROR(EINTR), OTHER(FAULT_END), OTHER(FAULT_SHORT))
ALSO(pread, pread64);
OURS(ssize_t, write, int fd, const void *bytes, size_t size)
{
    static const fault_set interrupted = { 1, { ERROR(EINTR) } };
    ssize_t                result;
    const fault_way       *way =
        point_at("write", __builtin_return_address(0),
                 is_counter(fd) ? &interrupted : SET(CANNOT_WRITE, ERROR(EPIPE)));

    return may_move(way, &size, &result) ? THEIRS(write)(fd, bytes, size) : result;
}

MOVING(pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at),
       CANNOT_WRITE)
ALSO(pwrite, pwrite64);
MOVING(send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags),
       ERROR(ECONNRESET), ERROR(EPIPE), ERROR(EINTR), ERROR(EAGAIN), ERROR(ENOMEM),
       OTHER(FAULT_SHORT))
MOVING(recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags),
       ERROR(ECONNRESET), ERROR(EINTR), ERROR(EAGAIN), ERROR(ENOMEM), OTHER(FAULT_END),
       OTHER(FAULT_SHORT))
MOVING(getrandom, (void *bytes, size_t size, unsigned flags), (bytes, size, flags), ERROR(EINTR),
       OTHER(FAULT_SHORT))

PLAIN(int, -1, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t *mask), (pid, size, mask),
      ERROR(EINVAL), ERROR(EPERM))

/* ---- sockets and events ---------------------------------------------------------------------- */

PLAIN(int, -1, connect, (int fd, const struct sockaddr *to, socklen_t size), (fd, to, size),
      ERROR(ECONNREFUSED), ERROR(ETIMEDOUT), ERROR(EAGAIN), ERROR(ENETUNREACH))
PLAIN(int, -1, setsockopt, (int fd, int level, int name, const void *value, socklen_t size),
      (fd, level, name, value, size), ERROR(ENOMEM))
PLAIN(int, -1, getsockopt, (int fd, int level, int name, void *value, socklen_t *size),
      (fd, level, name, value, size), ERROR(ENOBUFS))
PLAIN(int, -1, getpeername, (int fd, struct sockaddr *peer, socklen_t *size), (fd, peer, size),
      ERROR(ENOTCONN))
PLAIN(int, -1, bind, (int fd, const struct sockaddr *at, socklen_t size), (fd, at, size),
      ERROR(EADDRINUSE), ERROR(EACCES))
PLAIN(int, -1, listen, (int fd, int backlog), (fd, backlog), ERROR(EADDRINUSE))
PLAIN(int, -1, accept4, (int fd, struct sockaddr *peer, socklen_t *size, int flags),
      (fd, peer, size, flags), NO_DESCRIPTOR, ERROR(ECONNABORTED))
PLAIN(int, -1, shutdown, (int fd, int how), (fd, how), ERROR(ENOTCONN))
PLAIN(int, -1, epoll_wait, (int fd, struct epoll_event *events, int count, int wait_ms),
      (fd, events, count, wait_ms), ERROR(EINTR))
/* A poll that does not wait cannot be interrupted. */
static bool poll_fails(int wait_ms, const void *from)
{
    return point_at("poll", from,
                    wait_ms == 0 ? SET(ERROR(ENOMEM)) : SET(ERROR(EINTR), ERROR(ENOMEM))) != NULL;
}

OURS(int, poll, struct pollfd *fds, nfds_t count, int wait_ms)
{
    if (poll_fails(wait_ms, __builtin_return_address(0)))
        return -1;
    return THEIRS(poll)(fds, count, wait_ms);
}

OURS(int, __poll_chk, struct pollfd *fds, nfds_t count, int wait_ms, size_t size)
{
    if (poll_fails(wait_ms, __builtin_return_address(0)))
        return -1;
    return THEIRS(__poll_chk)(fds, count, wait_ms, size);
}

OURS(int, epoll_ctl, int epoll_fd, int what, int fd, struct epoll_event *event)
{
    bool fails = what == EPOLL_CTL_ADD && POINT(epoll_ctl, ERROR(ENOMEM), ERROR(ENOSPC)) != NULL;
    fails      = fails || (what == EPOLL_CTL_MOD && POINT(epoll_ctl, ERROR(ENOMEM)) != NULL);
    return fails ? -1 : THEIRS(epoll_ctl)(epoll_fd, what, fd, event);
}

OURS(int, getaddrinfo, const char *host, const char *port, const struct addrinfo *hints,
     struct addrinfo **ret_found)
{
    const fault_way *way =
        POINT(getaddrinfo, ERROR(EMFILE), ERROR(EAGAIN), ERROR(ENOMEM), ERROR(ENOENT));

    if (way == NULL)
        return THEIRS(getaddrinfo)(host, port, hints, ret_found);
    switch (way->error) {
    case EAGAIN: return EAI_AGAIN;
    case ENOMEM: return EAI_MEMORY;
    case ENOENT: return EAI_NONAME;
    default: return EAI_SYSTEM;
    }
}

/* ---- threads and processes ------------------------------------------------------------------- */

PLAIN(int, EAGAIN, pthread_create,
      (pthread_t * ret_thread, const pthread_attr_t *attributes, void *(*body)(void *), void *arg),
      (ret_thread, attributes, body, arg), ERROR(EAGAIN))
PLAIN(int, -1, fork, (void), (), ERROR(EAGAIN), ERROR(ENOMEM))

/* A jump to the libc function, by -foptimize-sibling-calls: the child of a vfork must not return
 * from a frame that the parent still needs. */
OURS(pid_t, vfork, void)
{
    if (POINT(vfork, ERROR(EAGAIN), ERROR(ENOMEM)) != NULL)
        return -1;
    return THEIRS(vfork)();
}

PLAIN(ssize_t, -1, readlink, (const char *path, char *to, size_t size), (path, to, size),
      ERROR(ENOENT), ERROR(EACCES))
PLAIN(ssize_t, -1, readlinkat, (int at, const char *path, char *to, size_t size),
      (at, path, to, size), ERROR(ENOENT), ERROR(EACCES))
PLAIN(int, -1, execv, (const char *path, char *const message[]), (path, message), ERROR(EACCES),
      ERROR(ENOENT), ERROR(ENOMEM))
PLAIN(int, -1, execvp, (const char *path, char *const message[]), (path, message), ERROR(EACCES),
      ERROR(ENOENT), ERROR(ENOMEM))
OURS(int, waitid, int kind, unsigned id, void *about, int options)
{
    bool fails = (options & WNOHANG) == 0 && POINT(waitid, ERROR(EINTR)) != NULL;
    return fails ? -1 : THEIRS(waitid)(kind, id, about, options);
}

PLAIN(int, -1, waitpid, (pid_t pid, int *status, int options), (pid, status, options), ERROR(EINTR))
PLAIN(int, -1, tcgetattr, (int fd, void *settings), (fd, settings), ERROR(EIO))
PLAIN(int, -1, tcsetattr, (int fd, int when, const void *settings), (fd, when, settings),
      ERROR(EINTR), ERROR(EIO))
PLAIN(int, -1, setpgid, (pid_t pid, pid_t group), (pid, group), ERROR(EACCES))
PLAIN(int, -1, tcsetpgrp, (int fd, pid_t group), (fd, group), ERROR(EPERM))
PLAIN(int, EIO, getpwuid_r, (uid_t uid, void *user, char *text, size_t size, void **ret_found),
      (uid, user, text, size, ret_found), ERROR(EIO))
PLAIN(void *, NULL, getpwuid, (uid_t uid), (uid), ERROR(EIO), ERROR(ENOMEM))
PLAIN(void *, NULL, dlopen, (const char *path, int flags), (path, flags), ERROR(ENOENT))

PLAIN(int, EBUSY, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex), ERROR(EBUSY))

/* A spurious wake-up, which POSIX allows. */
static bool wakes_spuriously(const fault_way *way, pthread_mutex_t *mutex)
{
    if (way == NULL)
        return false;
    (void)pthread_mutex_unlock(mutex);
    (void)sched_yield();
    (void)pthread_mutex_lock(mutex);
    return true;
}

OURS(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (wakes_spuriously(POINT(pthread_cond_wait, OTHER(FAULT_NOTHING)), mutex))
        return 0;
    return THEIRS(pthread_cond_wait)(cond, mutex);
}

OURS(int, pthread_cond_timedwait, pthread_cond_t *cond, pthread_mutex_t *mutex,
     const struct timespec *at)
{
    if (wakes_spuriously(POINT(pthread_cond_timedwait, OTHER(FAULT_NOTHING)), mutex))
        return 0;
    return THEIRS(pthread_cond_timedwait)(cond, mutex, at);
}

/* ---- the test framework ---------------------------------------------------------------------- */

/* cmocka calls this when an assertion fails: prints that, and leaves the test. The message of
 * cmocka comes later, if at all. */
OURS(void, _fail, const char *file, int line)
{
    static const char message[] = "torture: the case has failed\n";

    (void)!THEIRS(write)(STDOUT_FILENO, message, sizeof message - 1);
    THEIRS(_fail)(file, line);
}
