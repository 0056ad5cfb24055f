#include "cli/fence/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "doctor/trust.h"

enum {
    TRIES_MAX  = 100,  /* the file may vanish or appear this often */
    LOOKS_MAX  = 100,  /* attempts before the message that bowline waits */
    LOOK_EACH  = 10,   /* ms                                                              */
    NEW_MODE   = 0644, /* minus the umask */
    GROUP_MODE = 0664, /* in a directory that a group shares */
    SUFFIX_MAX = 24,
    FILE_GONE  = 1, /* neither 0 nor an error: try again */
    OPEN_FLAGS = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
};

/* A file and its open directory, so the path is resolved only once.  Descriptors below 0 are not
 * open. */
typedef struct place {
    const char *path;
    int         dir_fd;
    int         fd;
    char        name[NAME_MAX + 1];
    failure    *reterr;
} place;

static void close_file(place *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    p->fd = -1;
}

static int call_failed(const place *p, const char *call)
{
    return failed(p->reterr, words_of("the fence was not checked against %s", p->path),
                  words_of("%s: %s", call, strerror(errno)), words_of("type: ls -l %s", p->path));
}

/* ---- the line -------------------------------------------------------------------------------- */

static const char head[] = "bowline fence ";

enum { HEAD_BYTES = sizeof head - 1 };

fence_line fence_line_of(uint64_t fence)
{
    fence_line line;

    assert(fence != 0);
    int size = snprintf(line.text, sizeof line.text, "%s%" PRIu64 "\n", head, fence);
    assert(size > HEAD_BYTES && size <= FENCE_LINE_MAX);
    line.size = (size_t)size;
    return line;
}

/* A text is accepted if the number in it is written in the same way. */
bool fence_line_read(uint64_t *ret_fence, const char *bytes, size_t size)
{
    char text[FENCE_LINE_MAX + 1] = "";

    if (size <= HEAD_BYTES || size > FENCE_LINE_MAX)
        return false;
    memcpy(text, bytes, size);
    uint64_t fence = strtoull(text + HEAD_BYTES, NULL, 10);
    if (fence == 0)
        return false;
    fence_line line = fence_line_of(fence);
    if (size != line.size || memcmp(bytes, line.text, size) != 0)
        return false;
    *ret_fence = fence;
    return true;
}

bool fence_number_read(uint64_t *ret_fence, const char *text)
{
    char line[FENCE_LINE_MAX + 2];
    int  size = snprintf(line, sizeof line, "%s%s\n", head, text);

    return size > 0 && (size_t)size < sizeof line && fence_line_read(ret_fence, line, (size_t)size);
}

/* ---- what may be a fence file ---------------------------------------------------------------- */

static int kind_failed(const place *p, mode_t mode)
{
    const char *kind = S_ISDIR(mode) ? "a directory"
                       : S_ISLNK(mode)
                           ? "a symbolic link, which can be changed to point to another file"
                       : S_ISFIFO(mode) ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device";

    return failed(p->reterr, words_of("%s cannot be a fence file", p->path),
                  words_of("it is %s", kind),
                  S_ISLNK(mode) ? words_of("name the file itself: readlink -f %s", p->path)
                                : words_of("name a regular file that has no other use"));
}

static int check_kind(const place *p, const struct stat *is)
{
    return S_ISREG(is->st_mode) ? 0 : kind_failed(p, is->st_mode);
}

/* A user who can write or replace the file can lower the fence. */
static int check_trust(const place *p)
{
    trust_fault fault;

    if (trust_may_be_shared(p->fd, p->dir_fd, p->path, &fault))
        return 0;
    return failed(p->reterr, words_of("%s is not trusted", p->path),
                  words_of("its fence could be lowered: %s", fault.why),
                  words_of("%s", fault.type));
}

static int open_place(place *p)
{
    const char *path  = p->path;
    const char *slash = strrchr(path, '/');
    const char *name  = slash != NULL ? slash + 1 : path;
    size_t      size  = slash != NULL ? (size_t)(slash + 1 - path) : 0;
    char        directory[PATH_MAX];

    errno = path[0] == '\0' ? ENOENT : ENAMETOOLONG;
    if (path[0] == '\0' || strlen(name) > NAME_MAX || size >= sizeof directory)
        return call_failed(p, "its name");
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return kind_failed(p, S_IFDIR);
    memcpy(p->name, name, strlen(name) + 1);
    memcpy(directory, path, size);
    directory[size] = '\0';
    /* Opened for reading to sync it: the directory holds the name of a new file. */
    p->dir_fd = open(size > 0 ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir_fd < 0)
        return call_failed(p, "its directory");
    return 0;
}

/* ---- opening it ------------------------------------------------------------------------------ */

/* Checks the kind before open: opening a device may have an effect. */
static int open_trusted(place *p, int access)
{
    struct stat is;

    if (fstatat(p->dir_fd, p->name, &is, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? FILE_GONE : call_failed(p, "stat");
    if (check_kind(p, &is) < 0)
        return -1;
    p->fd = openat(p->dir_fd, p->name, access | OPEN_FLAGS);
    if (p->fd < 0)
        return errno == ENOENT ? FILE_GONE : call_failed(p, "open");
    if (fstat(p->fd, &is) < 0)
        return call_failed(p, "stat");
    return check_kind(p, &is) < 0 ? -1 : check_trust(p);
}

static bool lock_at_once(const place *p)
{
    return flock(p->fd, LOCK_EX | LOCK_NB) == 0;
}

/* A command that runs under the lock of this file may take long. A script that has locked the file
 * with flock(1) and calls bowline would wait for ever, so a message says what bowline waits for. */
static int lock_in_turn(const place *p)
{
    static const struct timespec pause = { .tv_nsec = LOOK_EACH * 1000000 };

    for (int looks = 0; looks < LOOKS_MAX; looks++) {
        if (lock_at_once(p))
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        (void)nanosleep(&pause, NULL); /* (void): a shorter pause does no harm */
    }
    say_line("waiting for %s, which another process has locked", p->path);
    while (flock(p->fd, LOCK_EX) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

/* The file may have been removed or replaced during the wait for its lock. */
static bool is_still_there(const place *p)
{
    struct stat by_name, by_fd;

    return fstatat(p->dir_fd, p->name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(p->fd, &by_fd) == 0 && by_name.st_dev == by_fd.st_dev &&
           by_name.st_ino == by_fd.st_ino;
}

static int open_locked(place *p)
{
    int status = open_trusted(p, O_RDWR);

    if (status != 0)
        return status;
    if (lock_in_turn(p) < 0)
        return call_failed(p, "flock");
    return is_still_there(p) ? 0 : FILE_GONE;
}

/* ---- reading and writing it ------------------------------------------------------------------ */

static int read_seen(uint64_t *ret_seen, const place *p)
{
    char    bytes[FENCE_LINE_MAX + 1]; /* one more byte, to detect a longer file */
    ssize_t size = pread(p->fd, bytes, sizeof bytes, 0);

    if (size < 0)
        return call_failed(p, "read");
    if (fence_line_read(ret_seen, bytes, (size_t)size))
        return 0;
    return failed(
        p->reterr, words_of("%s does not contain a fence", p->path),
        size == 0 ? words_of("it is empty: the highest fence is lost")
                  : words_of("it is not a line \"bowline fence N\"; bowline does not change it"),
        words_of("name another file; or, when every holder has ended, type: rm %s", p->path));
}

/* Writes an unchanged line too: after a failed fsync the kernel treats the page as written. */
static int write_line(const place *p, uint64_t fence)
{
    fence_line line = fence_line_of(fence);
    ssize_t    size = pwrite(p->fd, line.text, line.size, 0);

    if (size >= 0 && (size_t)size < line.size)
        errno = ENOSPC;
    if (size != (ssize_t)line.size)
        return call_failed(p, "write");
    if (fsync(p->fd) < 0)
        return call_failed(p, "fsync");
    return 0;
}

static int sync_name(const place *p)
{
    return fsync(p->dir_fd) < 0 ? call_failed(p, "fsync of its directory") : 0;
}

/* The file gets its name when it is complete and locked. */
static int fill_and_name(const place *p, const char *unnamed, uint64_t fence)
{
    if (check_trust(p) < 0 || write_line(p, fence) < 0)
        return -1;
    if (!lock_at_once(p))
        return call_failed(p, "flock");
    if (linkat(p->dir_fd, unnamed, p->dir_fd, p->name, 0) < 0)
        return errno == EEXIST ? FILE_GONE : call_failed(p, "link");
    return sync_name(p);
}

static int create(place *p, uint64_t fence)
{
    char     unnamed[sizeof p->name + SUFFIX_MAX];
    uint64_t chance;

    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return call_failed(p, "getrandom");
    (void)snprintf(unnamed, sizeof unnamed, "%.200s.%016" PRIx64, p->name, chance);
    mode_t mode = trust_is_shared_directory(p->dir_fd) ? GROUP_MODE : NEW_MODE;
    p->fd       = openat(p->dir_fd, unnamed, O_RDWR | O_CREAT | O_EXCL | OPEN_FLAGS, mode);
    if (p->fd < 0)
        return call_failed(p, "create");
    int status = fill_and_name(p, unnamed, fence);
    (void)unlinkat(p->dir_fd, unnamed, 0); /* (void): a second name does no harm */
    return status;
}

/* ---- check and show -------------------------------------------------------------------------- */

static int compare_and_write(const place *p, uint64_t fence)
{
    uint64_t seen;

    if (read_seen(&seen, p) < 0)
        return -1;
    if (fence < seen)
        return failed_with(
            p->reterr,
            (failure){
                .code = EXIT_LOST,
                .what =
                    words_of("fence %" PRIu64 " is refused: %s has %" PRIu64, fence, p->path, seen),
                .why  = words_of("a later holder has acquired the lock"),
                .hint = words_of(
                    "write nothing more, and exit; to do the work again, acquire the lock again"),
            });
    if (write_line(p, fence) < 0)
        return -1;
    /* Also for an old file: its creator may have ended before this step. */
    return sync_name(p);
}

int fence_file_check(int *ret_fd, const char *path, uint64_t fence, failure *reterr)
{
    place p      = { .path = path, .dir_fd = -1, .fd = -1, .reterr = reterr };
    int   status = open_place(&p) < 0 ? -1 : FILE_GONE;

    assert(fence != 0);
    for (int tries = 0; status == FILE_GONE && tries < TRIES_MAX; tries++) {
        status = open_locked(&p);
        if (status == 0) {
            status = compare_and_write(&p, fence);
        } else if (status == FILE_GONE) {
            close_file(&p);
            status = create(&p, fence);
        }
        if (status == 0)
            *ret_fd = p.fd;
        else
            close_file(&p);
    }
    if (p.dir_fd >= 0)
        (void)close(p.dir_fd);
    if (status != FILE_GONE)
        return status;
    return failed(reterr, words_of("the fence was not checked against %s", path),
                  words_of("another process removes the file again and again"),
                  words_of("do not remove it: it must keep the highest fence"));
}

int fence_file_seen(uint64_t *ret_fence, const char *path, failure *reterr)
{
    place p      = { .path = path, .dir_fd = -1, .fd = -1, .reterr = reterr };
    int   status = open_place(&p) < 0 ? -1 : open_trusted(&p, O_RDONLY);

    if (status == FILE_GONE)
        status = failed(reterr, words_of("%s has stored no fence", path),
                        words_of("there is no such file: the first check creates it"),
                        words_of("type: bowline fence check %s", path));
    else if (status == 0)
        status = read_seen(ret_fence, &p);
    close_file(&p);
    if (p.dir_fd >= 0)
        (void)close(p.dir_fd);
    return status;
}
