#include "engine/file/resolve.h"
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
    LINKS_MAX      = 40, /* as in the kernel */
    OPEN_ENTRY     = O_PATH | O_NOFOLLOW | O_CLOEXEC,
    ABOVE_STANDARD = 3,
};

typedef struct resolver {
    int         at;           /* the current directory                                         */
    struct stat here;         /* its status                                                    */
    bool        is_untrusted; /* it, or one above it, was made by others in a shared directory */
    bool        follows_last;
    unsigned    links;
    size_t      size;           /* of `path`                                         */
    char        path[PATH_MAX]; /* of `at`, without links; "" for the root directory */
    char       *rest;           /* of the path that is resolved: within `text`       */
    char        text[PATH_MAX];
    char        other[PATH_MAX]; /* the text after the next link                                 */
    char        component[NAME_MAX + 1];
    bool        is_last; /* nothing follows it, not even a "/"                                   */
} resolver;

bool bwl_file_is_shared(mode_t mode)
{
    return (mode & (S_ISVTX | S_IWGRP | S_IWOTH)) != 0;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

void bwl_file_close_keeping_errno(int fd)
{
    int error = errno;

    (void)close(fd);
    errno = error;
}

int bwl_file_open_at(int at, const char *path, int flags, mode_t mode)
{
    int fd = bwl_file_openat(at, path, flags, mode);

    if (fd < 0 || fd >= ABOVE_STANDARD)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_STANDARD);
    bwl_file_close_keeping_errno(fd);
    return higher;
}

/* Enters a directory; takes over its descriptor. */
static void enter(resolver *r, int fd, const struct stat *st)
{
    if (r->at >= 0)
        (void)close(r->at);
    r->at   = fd;
    r->here = *st;
}

static int enter_directory(resolver *r, int at, const char *name)
{
    struct stat st;
    int         fd = bwl_file_openat(at, name, OPEN_ENTRY | O_DIRECTORY, 0);

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0) {
        bwl_file_close_keeping_errno(fd);
        return -1;
    }
    enter(r, fd, &st);
    return 0;
}

static int enter_root(resolver *r)
{
    if (enter_directory(r, AT_FDCWD, "/") < 0)
        return -1;
    r->is_untrusted = false;
    r->size         = 0;
    r->path[0]      = '\0';
    return 0;
}

static int enter_parent(resolver *r)
{
    if (enter_directory(r, r->at, "..") < 0)
        return -1;
    while (r->size > 0 && r->path[--r->size] != '/') {
    }
    r->path[r->size] = '\0';
    return 0;
}

/* Appends the component to the path. */
static int append(resolver *r)
{
    size_t size = strlen(r->component);

    if (r->size + 1 + size >= sizeof r->path)
        return fail(ENAMETOOLONG);
    r->path[r->size++] = '/';
    memcpy(r->path + r->size, r->component, size + 1);
    r->size += size;
    return 0;
}

/* 1: there is another component, 0: there is none, -1: it is too long. */
static int next_component(resolver *r)
{
    r->rest += strspn(r->rest, "/");
    size_t size = strcspn(r->rest, "/");
    if (size > NAME_MAX)
        return fail(ENAMETOOLONG);
    memcpy(r->component, r->rest, size);
    r->component[size] = '\0';
    r->rest += size;
    r->is_last = r->rest[0] == '\0';
    return size > 0 ? 1 : 0;
}

/* O_DIRECTORY first, because only then the kernel mounts file systems on demand. */
static int open_component(const resolver *r)
{
    if (!r->is_last) {
        int fd = bwl_file_openat(r->at, r->component, OPEN_ENTRY | O_DIRECTORY, 0);
        if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
            return fd;
    }
    return bwl_file_openat(r->at, r->component, OPEN_ENTRY, 0);
}

static bool is_trusted(const resolver *r, uid_t owner)
{
    if (owner == geteuid() || owner == 0)
        return true;
    if (r->is_untrusted)
        return false;
    return !bwl_file_is_shared(r->here.st_mode) || owner == r->here.st_uid;
}

/* Replaces the component by the target of the link. */
static int read_link(resolver *r, int fd)
{
    size_t  rest = strlen(r->rest);
    ssize_t size = readlinkat(fd, "", r->other, sizeof r->other);

    if (size < 0)
        return -1;
    if (size == 0)
        return fail(ENOENT);
    if ((size_t)size + rest >= sizeof r->other)
        return fail(ENAMETOOLONG);
    memcpy(r->other + size, r->rest, rest + 1);
    memcpy(r->text, r->other, (size_t)size + rest + 1);
    r->rest = r->text;
    return r->text[0] == '/' ? enter_root(r) : 0;
}

static int refuse_link(const resolver *r, uid_t owner, bwl_fault *fault)
{
    int status = bwl_fail(fault, BWL_STATUS_REFUSED,
                          "%.60s/%.50s is a symbolic link of user %u, in a directory where others "
                          "can put links: not followed.  Name the file itself, or create the link "
                          "as your own",
                          r->path, r->component, owner);

    errno = ELOOP;
    return status;
}

/* Handles an entry; closes its descriptor or enters it.  1: it is the last component. */
static int handle(resolver *r, int fd, bwl_fault *fault)
{
    struct stat st;
    int         status = -1;

    if (fstat(fd, &st) == 0) {
        if (S_ISLNK(st.st_mode) && (!r->is_last || r->follows_last)) {
            if (!is_trusted(r, st.st_uid))
                status = refuse_link(r, st.st_uid, fault);
            else
                status = ++r->links > LINKS_MAX ? fail(ELOOP) : read_link(r, fd);
        } else if (r->is_last) {
            status = append(r) < 0 ? -1 : 1;
        } else if (!S_ISDIR(st.st_mode)) {
            status = fail(ENOTDIR);
        } else if (append(r) == 0) {
            r->is_untrusted = !is_trusted(r, st.st_uid);
            enter(r, fd, &st);
            return 0;
        }
    }
    bwl_file_close_keeping_errno(fd);
    return status;
}

/* The path has ended in a directory: its entry is in the directory above. */
static int step_back(resolver *r)
{
    struct stat st;
    struct stat was = r->here;
    char       *leaf;

    if (r->size == 0)
        return 1;
    leaf = strrchr(r->path, '/') + 1;
    memcpy(r->component, leaf, strlen(leaf) + 1);
    if (enter_parent(r) < 0 || fstatat(r->at, r->component, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    if (st.st_ino != was.st_ino || st.st_dev != was.st_dev)
        return fail(ENOENT); /* it was moved meanwhile */
    return append(r) < 0 ? -1 : 1;
}

/* 1: done; 0: continue; -1: errno is set; a status below -1: the message is written. */
static int step(resolver *r, bwl_fault *fault)
{
    int found = next_component(r);

    if (found < 0)
        return -1;
    if (found == 0)
        return step_back(r);
    if (strcmp(r->component, ".") == 0)
        return 0;
    if (strcmp(r->component, "..") == 0)
        return enter_parent(r);
    int fd = open_component(r);
    if (fd >= 0)
        return handle(r, fd, fault);
    if (errno != ENOENT || !r->is_last)
        return -1;
    return append(r) < 0 ? -1 : 1;
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

int bwl_file_resolve(bwl_file_resolved *ret_resolved, const char *path, bool follows_last,
                     bwl_fault *fault)
{
    resolver r; /* mostly buffers, so it is not cleared */
    int      found;

    assert(path[0] == '/');
    *ret_resolved  = (bwl_file_resolved){ .at = -1 };
    r.at           = -1;
    r.links        = 0;
    r.follows_last = follows_last;
    r.rest         = r.text;
    found          = strlen(path) < sizeof r.text ? enter_root(&r) : fail(ENAMETOOLONG);
    if (found == 0)
        memcpy(r.text, path, strlen(path) + 1);
    while (found == 0)
        found = step(&r, fault);
    if (found == 1 && (ret_resolved->path = strdup(r.size > 0 ? r.path : "/")) == NULL)
        found = bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    if (found == 1) {
        ret_resolved->at   = r.at;
        ret_resolved->leaf = r.size > 0 ? strrchr(ret_resolved->path, '/') + 1 : ".";
        return BWL_OK;
    }
    if (r.at >= 0)
        bwl_file_close_keeping_errno(r.at);
    return found == -1 ? explain(path, fault) : found;
}

void bwl_file_resolved_free(bwl_file_resolved *resolved)
{
    if (resolved->at >= 0)
        (void)close(resolved->at);
    free(resolved->path);
    *resolved = (bwl_file_resolved){ .at = -1 };
}
