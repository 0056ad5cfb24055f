#include "engine/file/directory.h"
#include "base/fault.h"
#include "engine/file/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* For all users of a machine: tmpfiles.d/bowline.conf creates it. */
static const char shared_directory[] = "/run/lock/bowline";

enum { SHOWN_TWICE_MAX = 60 };

/* The types of network file systems, see statfs(2).  Those that <linux/magic.h> does not have are
 * from their own headers in the kernel. */
bool bwl_file_is_remote(int fd)
{
    static const unsigned magics[] = {
        NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, AFS_SUPER_MAGIC,   CODA_SUPER_MAGIC,
        NCP_SUPER_MAGIC, V9FS_MAGIC,      OCFS2_SUPER_MAGIC, 0xff534d42u, /* CIFS */
        0xfe534d42u,                                                      /* SMB2 */
        0x00c36400u,                                                      /* Ceph */
        0x65735546u, /* FUSE: sshfs, glusterfs, virtiofs ... */
        0x01161970u, /* GFS2 */
        0x0bd00bd0u, /* Lustre */
        0x47504653u, /* GPFS */
    };
    struct statfs system;

    if (fstatfs(fd, &system) != 0)
        return true; /* polling always works */
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if ((unsigned)system.f_type == magics[i])
            return true;
    return false;
}

static int check_directory(const struct stat *st, const char *path, bool is_private,
                           bwl_fault *fault)
{
    if (is_private && st->st_uid != geteuid())
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%.100s belongs to user %u, not to us (user %u): somebody else made it; "
                        "remove it, or name a directory: file:/DIR",
                        path, st->st_uid, geteuid());
    if (is_private && (st->st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%.100s is open to others (mode %03o): chmod 700 it", path,
                        st->st_mode & 0777);
    if ((st->st_mode & S_IWOTH) != 0 && (st->st_mode & S_ISVTX) == 0)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "in %.100s anybody can replace anybody's files (mode %03o): chmod +t it",
                        path, st->st_mode & 0777);
    return BWL_OK;
}

/* Takes over the descriptor of the open directory.  Closes it if it is refused. */
static int take_directory(bwl_file_directory *directory, int fd, bool is_private, bwl_fault *fault)
{
    struct stat st;
    int         status;

    if (fstat(fd, &st) != 0)
        status = bwl_fail_errno(fault, "cannot look at %.150s", directory->path);
    else
        status = check_directory(&st, directory->path, is_private, fault);
    if (status < 0) {
        (void)close(fd);
        directory->fd = -1;
        return status;
    }
    directory->fd         = fd;
    directory->is_private = is_private;
    directory->is_remote  = bwl_file_is_remote(fd);
    directory->sharing    = (bwl_file_sharing){ st.st_mode, st.st_uid, st.st_gid };
    return BWL_OK;
}

int bwl_file_open_directory(int at, const char *path)
{
    return bwl_file_open_at(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
}

/* The modes are those of bowline(7).  The message has a long path once only. */
static int missing(const char *path, bwl_fault *fault)
{
    if (strcmp(path, shared_directory) == 0)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "cannot use the lock directory %s: it does not exist.  Type: sudo "
                        "systemd-tmpfiles --create bowline.conf, or: sudo install -d -m 1777 %s",
                        path, path);
    if (strlen(path) > SHOWN_TWICE_MAX)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "cannot use the lock directory %.110s: it does not exist.  Make it with "
                        "mode 700, or 1777 if all users are to share it",
                        path);
    return bwl_fail(fault, BWL_STATUS_REFUSED,
                    "cannot use the lock directory %s: it does not exist.  Type: install -d -m 700 "
                    "%s, or -m 1777 if all users are to share it",
                    path, path);
}

int bwl_file_directory_error(const char *path, bwl_fault *fault)
{
    struct stat st;

    if (errno == ENOENT)
        return missing(path, fault);
    if ((errno == ENOTDIR || errno == ELOOP) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%.110s is not a directory, but a symbolic link: not followed.  Name the "
                        "directory that it leads to: readlink -f says which",
                        path);
    if (errno == ENOTDIR || errno == ELOOP)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%.150s is not a directory (nor may it be a symbolic link to one)", path);
    if (errno == EACCES)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "cannot use the lock directory %.150s: permission denied", path);
    return bwl_fail_errno(fault, "cannot use the lock directory %.150s", path);
}

/* A relative path begins at the working directory of the call. */
static bool make_absolute(char ret_path[BWL_FILE_PATH_MAX], const char *path)
{
    char  here[BWL_FILE_PATH_MAX] = "";
    char *end;

    if (path[0] != '/' && getcwd(here, sizeof here - 1) == NULL)
        return false;
    int size =
        snprintf(ret_path, BWL_FILE_PATH_MAX, "%s%s%s", here, here[0] != '\0' ? "/" : "", path);
    if (size < 0 || size >= BWL_FILE_PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (end = ret_path + size; end > ret_path + 1 && end[-1] == '/'; end--)
        end[-1] = '\0'; /* else "link/" would be followed */
    return true;
}

int bwl_file_directory_open(bwl_file_directory *directory, const char *path, bwl_fault *fault)
{
    char absolute[BWL_FILE_PATH_MAX];

    if (!make_absolute(absolute, path))
        return bwl_fail_errno(fault, "cannot use the lock directory %.100s", path);
    memcpy(directory->path, absolute, sizeof absolute);
    directory->fd = -1;
    bwl_file_resolved resolved;
    int               status = bwl_file_resolve(&resolved, absolute, false, fault);
    if (status == BWL_OK)
        directory->fd = bwl_file_open_directory(resolved.at, resolved.leaf);
    bool is_link =
        status == BWL_STATUS_REFUSED && errno == ELOOP; /* the message is there already */
    if (directory->fd < 0 && status != BWL_STATUS_NOMEM && !is_link)
        status = bwl_file_directory_error(absolute, fault);
    bwl_file_resolved_free(&resolved);
    return status == BWL_OK ? take_directory(directory, directory->fd, false, fault) : status;
}

/* The parent of the default directory: others may write to it, but must not be able to replace an
 * entry of ours. */
static int open_parent(const char *parent, int *ret_fd, bwl_fault *fault)
{
    struct stat st;
    int         fd = bwl_file_open_at(AT_FDCWD, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0)
            (void)close(fd);
        return bwl_file_directory_error(parent, fault);
    }
    bool others_write = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (st.st_uid != 0 || (others_write && (st.st_mode & S_ISVTX) == 0)) {
        (void)close(fd);
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "in %.100s others can replace our files (owner %u, mode %04o; it should be "
                        "root's and 1777): name a directory: file:/DIR",
                        parent, st.st_uid, st.st_mode & 07777);
    }
    *ret_fd = fd;
    return BWL_OK;
}

/* The mode does not depend on the umask.  Nobody else can replace the new directory before the
 * fchmodat: see open_parent. */
static int make_own(int above, const char *leaf, const char *path, bwl_fault *fault)
{
    if (mkdirat(above, leaf, S_IRWXU) == 0 && fchmodat(above, leaf, S_IRWXU, 0) == 0)
        return BWL_OK;
    if (errno == EACCES || errno == EROFS)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "cannot make %.80s: permission denied.  root can: install -d -m 700 -o %u "
                        "%.60s.  Or name a directory: file:/DIR",
                        path, geteuid(), path);
    if (errno != EEXIST)
        return bwl_fail_errno(fault, "cannot make %.150s", path);
    return BWL_OK;
}

int bwl_file_directory_open_own(bwl_file_directory *directory, const char *parent, bool make,
                                bwl_fault *fault)
{
    char        leaf[32];
    struct stat st;
    int         above = -1;

    (void)snprintf(leaf, sizeof leaf, "bowline-%u", geteuid());
    (void)snprintf(directory->path, sizeof directory->path, "%s/%s", parent, leaf);
    directory->fd = -1;
    if (!make && lstat(directory->path, &st) != 0 && errno == ENOENT)
        return BWL_OK;
    int status = open_parent(parent, &above, fault);
    if (status == BWL_OK && make)
        status = make_own(above, leaf, directory->path, fault);
    if (status == BWL_OK) {
        int fd = bwl_file_open_directory(above, leaf);
        status = fd < 0 ? bwl_file_directory_error(directory->path, fault)
                        : take_directory(directory, fd, true, fault);
    }
    if (above >= 0)
        (void)close(above);
    return status;
}

void bwl_file_directory_close(bwl_file_directory *directory)
{
    if (directory->fd >= 0)
        (void)close(directory->fd);
    directory->fd = -1;
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
