#include "engine/file/open.h"
#include "base/fault.h"
#include "base/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ABOVE_STANDARD = 3, TRIES_MAX = 8 };

int bwl_file_above_standard(int fd)
{
    if (fd < 0 || fd >= ABOVE_STANDARD)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_STANDARD);
    int error  = errno;
    (void)close(fd);
    errno = error;
    return higher;
}

static int refuse(const bwl_file_target *t, const char *why, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED, "%.90s%s%.90s%s %s", t->shown,
                    t->shown[0] != '\0' ? "/" : "", t->path != NULL ? t->path : t->leaf, t->role,
                    why);
}

static int cannot_open_file(const bwl_file_target *t, bwl_fault *fault)
{
    switch (errno) {
    case ELOOP: return refuse(t, "is a symbolic link: not followed.  Remove it", fault);
    case EISDIR:
    case ENXIO:
    case ENODEV: return refuse(t, "is not a regular file", fault);
    case EACCES:
    case EPERM: return refuse(t, "cannot be opened: permission denied", fault);
    case EROFS: return refuse(t, "cannot be written: the file system is read-only", fault);
    default:
        return bwl_fail_errno(fault, "cannot open %.80s%s%.100s", t->shown,
                              t->shown[0] != '\0' ? "/" : "", t->path != NULL ? t->path : t->leaf);
    }
}

void bwl_file_share(int fd, mode_t mode, const bwl_file_sharing *with)
{
    struct stat st;
    bool        group_writes = (with->mode & S_IWGRP) != 0;
    uid_t       owner        = geteuid() == 0 ? with->owner : (uid_t)-1;
    gid_t       group        = group_writes ? with->group : (gid_t)-1;

    if (fstat(fd, &st) != 0)
        return;
    /* If one of these fails, other users get "permission denied" later. */
    if ((owner != (uid_t)-1 && owner != st.st_uid) || (group_writes && group != st.st_gid))
        (void)!fchown(fd, owner, group);
    if ((st.st_mode & mode) != mode)
        (void)fchmod(fd, (st.st_mode | mode) & 07777);
}

/* Users who may write to the directory may read and write the file. */
static mode_t mode_for(const bwl_file_target *t)
{
    mode_t mode = S_IRUSR | S_IWUSR;

    if (!t->is_private && (t->sharing.mode & S_IWGRP) != 0)
        mode |= S_IRGRP | S_IWGRP;
    if (!t->is_private && (t->sharing.mode & S_IWOTH) != 0)
        mode |= S_IROTH | S_IWOTH;
    return mode;
}

/* Creates the file with all its permissions before it has a name, because another user may open it
 * at once.  -1: the file system cannot, or another process was faster (EEXIST). */
static int make_unnamed(const bwl_file_target *t)
{
    char path[32];
    int  fd = bwl_file_openat(t->at, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);

    if (fd < 0)
        return -1;
    bwl_file_share(fd, mode_for(t), &t->sharing);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, t->at, t->leaf, AT_SYMLINK_FOLLOW) == 0)
        return fd;
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

static int make(const bwl_file_target *t, int flags)
{
    bool is_shared = !t->is_private && (t->sharing.mode & (S_IWGRP | S_IWOTH)) != 0;
    int  fd        = is_shared ? make_unnamed(t) : -1;

    if (fd >= 0 || (is_shared && errno == EEXIST))
        return fd;
    fd = bwl_file_openat(t->at, t->leaf, flags | O_CREAT | O_EXCL, t->is_private ? 0600 : 0666);
    if (fd >= 0)
        bwl_file_share(fd, mode_for(t), &t->sharing);
    return fd;
}

/* Without O_CREAT first, see open.h.  With O_NONBLOCK, so as not to wait for the writer of a
 * FIFO. */
static int open_or_make(const bwl_file_target *t)
{
    int flags = (t->writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int fd    = -1;

    for (int i = 0; i < TRIES_MAX; i++) {
        fd = bwl_file_openat(t->at, t->leaf, flags, 0);
        if (fd >= 0 || errno != ENOENT || !t->makes)
            break;
        fd = make(t, flags);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return bwl_file_above_standard(fd);
}

static int check_file(const bwl_file_target *t, const struct stat *st, bwl_fault *fault)
{
    if (!S_ISREG(st->st_mode))
        return refuse(t, "is not a regular file", fault);
    if (st->st_nlink > 1)
        return refuse(t, "has other names (hard links): not touched", fault);
    if (t->is_private && st->st_uid != geteuid())
        return refuse(t, "belongs to another user: not touched", fault);
    return BWL_OK;
}

int bwl_file_open_checked(bwl_file *ret_file, const bwl_file_target *t, bwl_fault *fault)
{
    struct stat st;
    int         fd = open_or_make(t);

    if (fd < 0 && errno == ENOENT && !t->makes) {
        *ret_file = (bwl_file){ .fd = -1 };
        return BWL_OK;
    }
    if (fd < 0)
        return cannot_open_file(t, fault);
    int status = fstat(fd, &st) != 0 ? bwl_fail_errno(fault, "cannot look at a lock file")
                                     : check_file(t, &st, fault);
    if (status < 0) {
        (void)close(fd);
        return status;
    }
    *ret_file = (bwl_file){ .fd = fd, .device = st.st_dev, .inode = st.st_ino };
    return BWL_OK;
}

void bwl_file_close(bwl_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    *file = (bwl_file){ .fd = -1 };
}

bool bwl_file_is_this(const struct stat *st, const bwl_file *file)
{
    return st->st_ino == file->inode && st->st_dev == file->device;
}
