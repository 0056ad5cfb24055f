/*
 * walk.c -- see walk.h.
 */
#include "engine/file/walk.h"
#include "base/fault.h"
#include "base/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINKS_MAX = 40, /* as in the kernel */
    OPEN_WALK = O_PATH | O_NOFOLLOW | O_CLOEXEC,
};

typedef struct walk {
    int         at;           /* the directory that was reached                                  */
    struct stat here;         /* what it is                                                      */
    bool        is_strangers; /* it, or one above it, was made by others in a shared directory   */
    bool        follows_last;
    unsigned    links;
    size_t      size;           /* of `path`                                                     */
    char        path[PATH_MAX]; /* of `at`, without links; "" for the root directory             */
    char       *rest;           /* of the path that is followed: within `text`                   */
    char        text[PATH_MAX];
    char        other[PATH_MAX]; /* the text after the next link                                 */
    char        piece[NAME_MAX + 1];
    bool        is_last; /* nothing follows the piece, not even a "/"                            */
} walk;

bool bwl_file_is_shared(mode_t mode)
{
    return (mode & (S_ISVTX | S_IWGRP | S_IWOTH)) != 0;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

static void close_keeping_errno(int fd)
{
    int error = errno;

    (void)close(fd);
    errno = error;
}

/* Takes over the descriptor of the next directory. */
static void enter(walk *w, int fd, const struct stat *st)
{
    if (w->at >= 0)
        (void)close(w->at);
    w->at   = fd;
    w->here = *st;
}

static int enter_root(walk *w)
{
    struct stat st;
    int         fd = bwl_file_openat(AT_FDCWD, "/", OPEN_WALK | O_DIRECTORY, 0);

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0) {
        close_keeping_errno(fd);
        return -1;
    }
    enter(w, fd, &st);
    w->is_strangers = false;
    w->size         = 0;
    w->path[0]      = '\0';
    return 0;
}

static int enter_parent(walk *w)
{
    struct stat st;
    int         fd = bwl_file_openat(w->at, "..", OPEN_WALK | O_DIRECTORY, 0);

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0) {
        close_keeping_errno(fd);
        return -1;
    }
    enter(w, fd, &st);
    while (w->size > 0 && w->path[--w->size] != '/') {
    }
    w->path[w->size] = '\0';
    return 0;
}

/* Appends the piece to the path. */
static int append(walk *w)
{
    size_t size = strlen(w->piece);

    if (w->size + 1 + size >= sizeof w->path)
        return fail(ENAMETOOLONG);
    w->path[w->size++] = '/';
    memcpy(w->path + w->size, w->piece, size + 1);
    w->size += size;
    return 0;
}

/* Is there a piece?  Its name may be too long for any entry: -1. */
static int next_piece(walk *w)
{
    w->rest += strspn(w->rest, "/");
    size_t size = strcspn(w->rest, "/");
    if (size > NAME_MAX)
        return fail(ENAMETOOLONG);
    memcpy(w->piece, w->rest, size);
    w->piece[size] = '\0';
    w->rest += size;
    w->is_last = w->rest[0] == '\0';
    return size > 0 ? 1 : 0;
}

/* O_DIRECTORY first: with it the kernel mounts what is to be mounted there on demand. */
static int open_piece(const walk *w)
{
    if (!w->is_last) {
        int fd = bwl_file_openat(w->at, w->piece, OPEN_WALK | O_DIRECTORY, 0);
        if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
            return fd;
    }
    return bwl_file_openat(w->at, w->piece, OPEN_WALK, 0);
}

static bool is_trusted(const walk *w, uid_t owner)
{
    if (owner == geteuid() || owner == 0)
        return true;
    if (w->is_strangers)
        return false;
    return !bwl_file_is_shared(w->here.st_mode) || owner == w->here.st_uid;
}

/* Replaces the piece by what the link says. */
static int read_link(walk *w, int fd)
{
    size_t  rest = strlen(w->rest);
    ssize_t size = readlinkat(fd, "", w->other, sizeof w->other);

    if (size < 0)
        return -1;
    if (size == 0)
        return fail(ENOENT);
    if ((size_t)size + rest >= sizeof w->other)
        return fail(ENAMETOOLONG);
    memcpy(w->other + size, w->rest, rest + 1);
    memcpy(w->text, w->other, (size_t)size + rest + 1);
    w->rest = w->text;
    return w->text[0] == '/' ? enter_root(w) : 0;
}

static int refuse_link(const walk *w, uid_t owner, bwl_fault *fault)
{
    int status = bwl_fail(fault, BWL_STATUS_REFUSED,
                          "%.60s/%.50s is a symbolic link of user %u, in a directory where others "
                          "can put links: not followed.  Name the file itself, or make the link "
                          "anew as your own",
                          w->path, w->piece, owner);

    errno = ELOOP;
    return status;
}

/* The descriptor of an entry is dealt with, and closed or kept.  1: it is the last one. */
static int pass(walk *w, int fd, bwl_fault *fault)
{
    struct stat st;
    int         status = -1;

    if (fstat(fd, &st) == 0) {
        if (S_ISLNK(st.st_mode) && (!w->is_last || w->follows_last)) {
            if (!is_trusted(w, st.st_uid))
                status = refuse_link(w, st.st_uid, fault);
            else
                status = ++w->links > LINKS_MAX ? fail(ELOOP) : read_link(w, fd);
        } else if (w->is_last) {
            status = append(w) < 0 ? -1 : 1;
        } else if (!S_ISDIR(st.st_mode)) {
            status = fail(ENOTDIR);
        } else if (append(w) == 0) {
            w->is_strangers = !is_trusted(w, st.st_uid);
            enter(w, fd, &st);
            return 0;
        }
    }
    close_keeping_errno(fd);
    return status;
}

/* The path has ended in a directory: its entry in the one above it is what is looked for. */
static int step_back(walk *w)
{
    struct stat st;
    struct stat was = w->here;
    char       *leaf;

    if (w->size == 0)
        return 1;
    leaf = strrchr(w->path, '/') + 1;
    memcpy(w->piece, leaf, strlen(leaf) + 1);
    if (enter_parent(w) < 0 || fstatat(w->at, w->piece, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    if (st.st_ino != was.st_ino || st.st_dev != was.st_dev)
        return fail(ENOENT); /* it was moved meanwhile */
    return append(w) < 0 ? -1 : 1;
}

/* 1: there; 0: go on; -1: errno says why not; a status below that was explained. */
static int step(walk *w, bwl_fault *fault)
{
    int found = next_piece(w);

    if (found < 0)
        return -1;
    if (found == 0)
        return step_back(w);
    if (strcmp(w->piece, ".") == 0)
        return 0;
    if (strcmp(w->piece, "..") == 0)
        return enter_parent(w);
    int fd = open_piece(w);
    if (fd >= 0)
        return pass(w, fd, fault);
    if (errno != ENOENT || !w->is_last)
        return -1;
    return append(w) < 0 ? -1 : 1;
}

static int explain(const char *path, bwl_fault *fault)
{
    int error = errno;
    int status;

    if (error == EACCES)
        status = bwl_fail(fault, BWL_STATUS_REFUSED,
                          "%.150s cannot be made or reached: permission denied", path);
    else
        status = bwl_fail_errno(fault, "cannot open %.150s", path);
    errno = error;
    return status;
}

int bwl_file_walk(bwl_file_way *ret_way, const char *path, bool follows_last, bwl_fault *fault)
{
    walk *w    = malloc(sizeof *w);
    int   went = -1;

    assert(path[0] == '/');
    *ret_way = (bwl_file_way){ .at = -1 };
    if (w == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    w->at           = -1;
    w->links        = 0;
    w->follows_last = follows_last;
    w->rest         = w->text;
    if (strlen(path) >= sizeof w->text)
        went = fail(ENAMETOOLONG);
    else
        went = enter_root(w);
    if (went == 0)
        memcpy(w->text, path, strlen(path) + 1);
    while (went == 0)
        went = step(w, fault);
    if (went == 1 && (ret_way->path = strdup(w->size > 0 ? w->path : "/")) == NULL)
        went = bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (went == 1) {
        ret_way->at   = w->at;
        ret_way->leaf = strrchr(ret_way->path, '/') + 1;
    } else if (w->at >= 0) {
        close_keeping_errno(w->at);
    }
    int error = errno;
    free(w);
    errno = error;
    if (went == -1)
        return explain(path, fault);
    return went == 1 ? BWL_OK : went;
}

void bwl_file_way_free(bwl_file_way *way)
{
    if (way->at >= 0)
        (void)close(way->at);
    free(way->path);
    *way = (bwl_file_way){ .at = -1 };
}

const char *bwl_file_way_entry(const bwl_file_way *way)
{
    return way->leaf[0] != '\0' ? way->leaf : ".";
}
