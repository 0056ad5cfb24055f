#include "engine/file/lock_path.h"
#include "core/text.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char queue_ending[] = ".bowline";

enum { TRIES_MAX = 8 };

/* The page cache keeps what was written, which is enough. */
static void close_file(bwl_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    *file = (bwl_file){ .fd = -1 };
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_path(const char *name)
{
    return name[0] == '/' || strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0;
}

void bwl_file_encode(char ret_path[BWL_FILE_ENCODING_MAX], const char *name, size_t size)
{
    char  *at    = ret_path;
    size_t piece = 0;

    assert(size <= BWL_NAME_MAX);
    for (size_t i = 0; i < size; i++) {
        char   byte[4];
        size_t length = bwl_percent_encode(byte, sizeof byte, name + i, 1, "");
        assert(length > 0);
        if (piece + length > BWL_FILE_PIECE_MAX) {
            *at++ = '+';
            *at++ = '/';
            piece = 0;
        }
        /* No directory entry is ".", ".." or hidden. */
        if (piece == 0 && byte[0] == '.') {
            memcpy(byte, "%2E", 4);
            length = 3;
        }
        memcpy(at, byte, length);
        at += length;
        piece += length;
    }
    *at = '\0';
}

static int make_absolute(char **ret_path, const char *name, bwl_fault *fault)
{
    char *here = NULL;

    while (strncmp(name, "./", 2) == 0) {
        name += 2;
        name += strspn(name, "/"); /* .//x is not /x */
    }
    if (name[0] != '/' && (here = getcwd(NULL, 0)) == NULL)
        return bwl_fail_errno(fault, "cannot tell what \"%.100s\" means here", name);
    int made =
        asprintf(ret_path, "%s%s%s", here != NULL ? here : "", here != NULL ? "/" : "", name);
    free(here);
    return made < 0 ? bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory") : BWL_OK;
}

int bwl_file_path_init(bwl_file_path *p, const bwl_file_directory *directory, const char *name,
                       size_t name_size, bwl_fault *fault)
{
    *p = (bwl_file_path){ .directory = directory,
                          .name      = name,
                          .name_size = name_size,
                          .queue     = { .fd = -1 },
                          .named     = { .fd = -1 } };
    return is_path(name) ? make_absolute(&p->path, name, fault) : BWL_OK;
}

void bwl_file_path_close(bwl_file_path *p)
{
    close_file(&p->queue);
    close_file(&p->named);
    bwl_file_name_lock_close(&p->name_lock);
    free(p->queue_path);
    p->queue_path = NULL;
}

void bwl_file_path_free(bwl_file_path *p)
{
    bwl_file_path_close(p);
    free(p->path);
    p->path = NULL;
}

/* ---- where the files are --------------------------------------------------------------------- */

/* The directory of the last entry of a name, and that entry. */
typedef struct place {
    int               at;       /* of a bare name: perhaps the lock directory, which stays open */
    const char       *leaf;     /* of a path: the named file                                    */
    bwl_file_sharing  sharing;  /* the permissions of the directory; not set by enter           */
    bwl_file_resolved resolved; /* of a path                                                    */
    char              encoded[BWL_FILE_ENCODING_MAX]; /* of a bare name                         */
} place;

static int open_piece(int at, const char *piece, const bwl_file_directory *d, bool make)
{
    bool made = make && mkdirat(at, piece, d->sharing.mode & 0777) == 0;

    if (made && !d->is_private) { /* with the permissions of the directory above */
        int fd = bwl_file_open_at(at, piece, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        if (fd >= 0) {
            bwl_file_share(fd, d->sharing.mode & 03777, &d->sharing);
            (void)close(fd);
        }
    }
    return bwl_file_open_directory(at, piece);
}

/* Goes down to the directory of the last entry of a bare name.  -1: errno is set. */
static int go_down(const bwl_file_directory *d, bool makes, place *at)
{
    char *slash;

    at->at = d->fd;
    for (at->leaf = at->encoded; (slash = strchr(at->leaf, '/')) != NULL; at->leaf = slash + 1) {
        int above = at->at;
        *slash    = '\0';
        at->at    = open_piece(above, at->leaf, d, makes);
        *slash    = '/';
        if (above != d->fd)
            bwl_file_close_keeping_errno(above);
        if (at->at < 0)
            return -1;
    }
    return 0;
}

/* Leave the place afterwards, also after an error; errno then has its cause. */
static int enter(const bwl_file_path *p, bool makes, place *ret_at, bwl_fault *fault)
{
    if (p->path != NULL) {
        int status   = bwl_file_resolve(&ret_at->resolved, p->path, true, fault);
        ret_at->at   = ret_at->resolved.at;
        ret_at->leaf = ret_at->resolved.leaf;
        return status;
    }
    assert(p->directory->fd >= 0);
    bwl_file_encode(ret_at->encoded, p->name, p->name_size);
    if (go_down(p->directory, makes, ret_at) == 0)
        return BWL_OK;
    int error  = errno;
    int status = bwl_file_directory_error(p->directory->path, fault);
    errno      = error;
    return status;
}

static void leave(const bwl_file_path *p, place *at)
{
    if (p->path != NULL)
        bwl_file_resolved_free(&at->resolved);
    else if (at->at >= 0 && at->at != p->directory->fd)
        (void)close(at->at);
}

static int read_sharing(const bwl_file_path *p, place *at, bwl_fault *fault)
{
    struct stat st;

    if (p->path != NULL && fstat(at->at, &st) != 0)
        return bwl_fail_errno(fault, "cannot look at the directory of \"%.100s\"", at->leaf);
    at->sharing = p->path != NULL ? (bwl_file_sharing){ st.st_mode, st.st_uid, st.st_gid }
                                  : p->directory->sharing;
    return BWL_OK;
}

/* ---- the lock on the name -------------------------------------------------------------------- */

/* FNV-1a, cut to an offset. */
static off_t offset_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(1099511628211);
    return (off_t)(hash >> 2);
}

/* Not needed in a private directory: no other user can remove a lock file there.  The lock on a
 * bare name is on the lock directory: the directories of a long name belong to the users that
 * create them. */
static int open_name_lock(bwl_file_path *p, const place *at, bwl_fault *fault)
{
    const bwl_file_directory *d       = p->directory;
    bool                      is_bare = p->path == NULL;
    const char               *name    = is_bare ? at->encoded : at->leaf;

    if (!bwl_file_is_shared(at->sharing.mode) ||
        (is_bare ? d->is_private || d->is_remote : bwl_file_is_remote(at->at)))
        return BWL_OK;
    int fd = bwl_file_open_at(is_bare ? d->fd : at->at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0 && errno != EACCES)
        return bwl_fail_errno(fault, "cannot open the directory of \"%.100s\"", name);
    if (fd >= 0)
        p->name_lock = (bwl_file_name_lock){ .fd = fd, .at = offset_of(name) };
    return BWL_OK;
}

/* ---- the named file -------------------------------------------------------------------------- */

static int refuse_named(const bwl_file_path *p, const char *why, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED, "%.150s %s", p->path, why);
}

/* flock needs no more than O_RDONLY, which works for directories too. */
enum { OPEN_NAMED = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW };

/* Opens the entry or creates it.  -1 with ELOOP or EEXIST: it has changed since it was resolved. */
static int open_to_flock(const place *at, bool *ret_makes)
{
    int fd = bwl_file_open_at(at->at, at->leaf, OPEN_NAMED, 0);

    *ret_makes = fd < 0 && errno == ENOENT;
    if (*ret_makes)
        fd = bwl_file_open_at(at->at, at->leaf, OPEN_NAMED | O_CREAT | O_EXCL, 0666);
    return fd;
}

static int cannot_open_named(const bwl_file_path *p, bool makes, bwl_fault *fault)
{
    if (makes && (errno == EACCES || errno == EROFS))
        return refuse_named(p, "cannot be made or reached: permission denied", fault);
    if (errno == EACCES)
        return refuse_named(p, "cannot be read, and so not be locked: permission denied", fault);
    if (errno == ENXIO)
        return refuse_named(p, "is a socket, which cannot be locked", fault);
    return bwl_fail_errno(fault, "cannot open %.150s", p->path);
}

/* Takes over the descriptor; closes it if the file is refused. */
static int take_named(bwl_file_path *p, int fd, bool writes, bwl_fault *fault)
{
    struct stat st;
    int         status = BWL_OK;

    if (fstat(fd, &st) != 0)
        status = bwl_fail_errno(fault, "cannot look at %.150s", p->path);
    else if (writes && !S_ISDIR(st.st_mode) && st.st_nlink > 1) /* each would have its own queue */
        status = refuse_named(p, "has other names (hard links): lock another file", fault);
    if (status < 0)
        (void)close(fd);
    else
        p->named = (bwl_file){ .fd = fd, .device = st.st_dev, .inode = st.st_ino };
    return status;
}

/* Enters the place too.  For a query, the file is opened with O_PATH, which has no effect on it,
 * even if it is a FIFO or a device. */
static int open_named(bwl_file_path *p, bool writes, place *at, bwl_fault *fault)
{
    bool makes = false;
    int  fd    = -1;

    for (unsigned i = 0; fd < 0 && i < TRIES_MAX; i++) {
        if (i > 0)
            leave(p, at);
        int status = enter(p, writes, at, fault);
        if (status < 0)
            return status;
        fd = writes ? open_to_flock(at, &makes)
                    : bwl_file_open_at(at->at, at->leaf, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0);
        if (fd < 0 && errno != EEXIST && errno != ELOOP)
            break;
    }
    if (fd < 0 && writes)
        return cannot_open_named(p, makes, fault);
    if (fd < 0)
        return errno == ENOENT ? BWL_OK : bwl_fail_errno(fault, "cannot look at %.150s", p->path);
    return take_named(p, fd, writes, fault);
}

/* ---- the queue file -------------------------------------------------------------------------- */

/* The name of the queue file in its directory. */
static const char *queue_leaf(const bwl_file_path *p, const place *at)
{
    return p->path != NULL ? strrchr(p->queue_path, '/') + 1 : at->leaf;
}

static bool is_private(const bwl_file_path *p)
{
    return p->path == NULL && p->directory->is_private;
}

static int refuse_queue(const bwl_file_path *p, const place *at, const char *why, bwl_fault *fault)
{
    if (p->path == NULL)
        return bwl_fail(fault, BWL_STATUS_REFUSED, "%.90s/%.90s %s", p->directory->path, at->leaf,
                        why);
    return bwl_fail(fault, BWL_STATUS_REFUSED, "%.90s, where its queue is kept, %s", p->queue_path,
                    why);
}

static int cannot_open_queue(const bwl_file_path *p, const place *at, bwl_fault *fault)
{
    switch (errno) {
    case ELOOP: return refuse_queue(p, at, "is a symbolic link: not followed.  Remove it", fault);
    case EISDIR:
    case ENXIO:
    case ENODEV: return refuse_queue(p, at, "is not a regular file", fault);
    case EACCES:
    case EPERM: return refuse_queue(p, at, "cannot be opened: permission denied", fault);
    case EROFS:
        return refuse_queue(p, at, "cannot be written: the file system is read-only", fault);
    default: break;
    }
    if (p->path == NULL)
        return bwl_fail_errno(fault, "cannot open %.80s/%.100s", p->directory->path, at->leaf);
    return bwl_fail_errno(fault, "cannot open %.100s", p->queue_path);
}

/* Users who may write to the directory may read and write the file. */
static mode_t mode_for(const bwl_file_path *p, const place *at)
{
    mode_t mode = S_IRUSR | S_IWUSR;

    if (!is_private(p) && (at->sharing.mode & S_IWGRP) != 0)
        mode |= S_IRGRP | S_IWGRP;
    if (!is_private(p) && (at->sharing.mode & S_IWOTH) != 0)
        mode |= S_IROTH | S_IWOTH;
    return mode;
}

/* Creates the file with all its permissions before it has a name, because another user may open it
 * at once.  -1: the file system cannot, or another process was faster (EEXIST). */
static int make_unnamed(const bwl_file_path *p, const place *at)
{
    char path[32];
    int  fd = bwl_file_open_at(at->at, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);

    if (fd < 0)
        return -1;
    bwl_file_share(fd, mode_for(p, at), &at->sharing);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, at->at, queue_leaf(p, at), AT_SYMLINK_FOLLOW) == 0)
        return fd;
    bwl_file_close_keeping_errno(fd);
    return -1;
}

static int make(const bwl_file_path *p, const place *at, int flags)
{
    bool is_shared = !is_private(p) && (at->sharing.mode & (S_IWGRP | S_IWOTH)) != 0;
    int  fd        = is_shared ? make_unnamed(p, at) : -1;

    if (fd >= 0 || (is_shared && errno == EEXIST))
        return fd;
    fd = bwl_file_open_at(at->at, queue_leaf(p, at), flags | O_CREAT | O_EXCL,
                          is_private(p) ? 0600 : 0666);
    if (fd >= 0)
        bwl_file_share(fd, mode_for(p, at), &at->sharing);
    return fd;
}

/* Without O_CREAT first, see lock_path.h.  With O_NONBLOCK, so as not to wait for the writer of a
 * FIFO. */
static int open_or_make(const bwl_file_path *p, const place *at, bool writes)
{
    int flags = (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int fd    = -1;

    for (int i = 0; i < TRIES_MAX; i++) {
        fd = bwl_file_open_at(at->at, queue_leaf(p, at), flags, 0);
        if (fd >= 0 || errno != ENOENT || !writes)
            break;
        fd = make(p, at, flags);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

static int check_queue(const bwl_file_path *p, const place *at, const struct stat *st,
                       bwl_fault *fault)
{
    if (!S_ISREG(st->st_mode))
        return refuse_queue(p, at, "is not a regular file", fault);
    if (st->st_nlink > 1)
        return refuse_queue(p, at, "has other names (hard links): not touched", fault);
    if (is_private(p) && st->st_uid != geteuid())
        return refuse_queue(p, at, "belongs to another user: not touched", fault);
    return BWL_OK;
}

static int open_queue(bwl_file_path *p, const place *at, bool writes, bwl_fault *fault)
{
    struct stat st;

    if (p->path != NULL && asprintf(&p->queue_path, "%s%s", at->resolved.path, queue_ending) < 0) {
        p->queue_path = NULL;
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    }
    int fd = open_or_make(p, at, writes);
    if (fd < 0 && errno == ENOENT && !writes)
        return BWL_OK;
    if (fd < 0)
        return cannot_open_queue(p, at, fault);
    int status = fstat(fd, &st) != 0 ? bwl_fail_errno(fault, "cannot look at a lock file")
                                     : check_queue(p, at, &st, fault);
    if (status < 0)
        (void)close(fd);
    else
        p->queue = (bwl_file){ .fd = fd, .device = st.st_dev, .inode = st.st_ino };
    return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

int bwl_file_path_open(bwl_file_path *p, bool writes, bwl_fault *fault)
{
    bool  is_bare = p->path == NULL;
    place at;
    int   status     = is_bare ? enter(p, writes, &at, fault) : open_named(p, writes, &at, fault);
    bool  is_nowhere = status < 0 && errno == ENOENT && !writes; /* not even its directory */
    bool  is_there   = is_bare ? !is_nowhere : p->named.fd >= 0;

    if (is_nowhere)
        status = BWL_OK;
    /* A name lock can be held though the file is missing: the file was removed. */
    if (status == BWL_OK && (is_bare || !is_nowhere))
        status = read_sharing(p, &at, fault);
    if (status == BWL_OK && (is_bare || !is_nowhere))
        status = open_name_lock(p, &at, fault);
    if (status == BWL_OK && is_there)
        status = open_queue(p, &at, writes, fault);
    leave(p, &at);
    if (status < 0)
        bwl_file_path_close(p);
    return status;
}

/* True for the errors of a path whose file or directory was removed or replaced. */
static bool is_replaced(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == ESTALE;
}

static int check_entry(const bwl_file_path *p, int at, const char *entry, const bwl_file *file,
                       bool *ret_is_this, bwl_fault *fault)
{
    struct stat st;
    char        shown[BWL_FILE_SHOWN_MAX];
    bool        found = fstatat(at, entry, &st, AT_SYMLINK_NOFOLLOW) == 0;

    *ret_is_this = found && st.st_ino == file->inode && st.st_dev == file->device;
    if (found || is_replaced(errno))
        return BWL_OK;
    int error = errno;
    bwl_file_path_show(p, shown);
    errno = error;
    if (error == EACCES)
        return bwl_fail(fault, BWL_STATUS_REFUSED, "%s cannot be reached: permission denied",
                        shown);
    return bwl_fail_errno(fault, "cannot look at %s", shown);
}

int bwl_file_path_check(const bwl_file_path *p, bool *ret_are_current, bwl_fault *fault)
{
    place at;
    int   status = enter(p, false, &at, fault);

    *ret_are_current = status == BWL_OK;
    if (status < 0)
        return is_replaced(errno) ? BWL_OK : status;
    if (p->path != NULL)
        status = check_entry(p, at.at, at.leaf, &p->named, ret_are_current, fault);
    if (*ret_are_current)
        status = check_entry(p, at.at, queue_leaf(p, &at), &p->queue, ret_are_current, fault);
    leave(p, &at);
    return status;
}

void bwl_file_path_show(const bwl_file_path *p, char ret_text[BWL_FILE_SHOWN_MAX])
{
    char encoded[BWL_FILE_ENCODING_MAX];

    if (p->path != NULL) {
        (void)snprintf(ret_text, BWL_FILE_SHOWN_MAX, "%.130s",
                       p->queue_path != NULL ? p->queue_path : p->path);
        return;
    }
    bwl_file_encode(encoded, p->name, p->name_size);
    (void)snprintf(ret_text, BWL_FILE_SHOWN_MAX, "%.60s/%.70s", p->directory->path, encoded);
}
