#include "engine/file/directory.h"
#include "base/calls.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- paths ----------------------------------------------------------------------------------- */

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

/* ---- the lock directory ---------------------------------------------------------------------- */

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
