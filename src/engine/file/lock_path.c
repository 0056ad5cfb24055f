#include "engine/file/lock_path.h"
#include "core/text.h"
#include "base/fault.h"
#include "base/calls.h"
#include "engine/file/resolve.h"
#include "engine/file/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* FNV-1a, cut to an offset. */
static off_t offset_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(1099511628211);
    return (off_t)(hash >> 2);
}

int bwl_file_name_lock_open(bwl_file_name_lock *ret_lock, int directory, const char *name)
{
    int fd = bwl_file_openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

    fd        = bwl_file_above_standard(fd);
    *ret_lock = (bwl_file_name_lock){ .fd = fd < 0 ? 0 : fd, .at = offset_of(name) };
    return fd < 0 ? errno : 0;
}

static int set(const bwl_file_name_lock *lock, short type)
{
    struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = lock->at, .l_len = 1 };

    return fcntl(lock->fd, F_OFD_SETLK, &range);
}

bwl_file_lock_state bwl_file_name_lock_test(const bwl_file_name_lock *lock)
{
    struct flock theirs = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock->at, .l_len = 1
    };

    if (lock->fd == 0)
        return BWL_FILE_FREE;
    if (fcntl(lock->fd, F_OFD_GETLK, &theirs) != 0)
        return BWL_FILE_FAILED;
    return theirs.l_type == F_UNLCK ? BWL_FILE_FREE : BWL_FILE_BUSY;
}

bwl_file_lock_state bwl_file_name_lock_acquire(const bwl_file_name_lock *lock)
{
    bwl_file_lock_state state = bwl_file_name_lock_test(lock);

    if (state != BWL_FILE_FREE || lock->fd == 0)
        return state;
    if (set(lock, F_RDLCK) != 0)
        return errno == EAGAIN || errno == EACCES ? BWL_FILE_BUSY : BWL_FILE_FAILED;
    state = bwl_file_name_lock_test(lock);
    if (state != BWL_FILE_FREE) {
        int error = errno;
        bwl_file_name_lock_release(lock);
        errno = error;
    }
    return state;
}

void bwl_file_name_lock_release(const bwl_file_name_lock *lock)
{
    if (lock->fd != 0)
        (void)set(lock, F_UNLCK); /* needs no memory, so it cannot fail */
}

void bwl_file_name_lock_close(bwl_file_name_lock *lock)
{
    if (lock->fd != 0)
        (void)close(lock->fd);
    *lock = (bwl_file_name_lock){ .fd = 0 };
}

static const char queue_ending[] = ".bowline";

enum { RESOLVES_MAX = 8 };

/* ---- names ----------------------------------------------------------------------------------- */

bool bwl_file_is_path(const char *name)
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
    *p = (bwl_file_path){ .directory = directory, .name = name, .name_size = name_size };
    return bwl_file_is_path(name) ? make_absolute(&p->path, name, fault) : BWL_OK;
}

void bwl_file_path_free(bwl_file_path *p)
{
    bwl_file_name_lock_close(&p->name_lock);
    free(p->path);
    free(p->queue);
    p->path  = NULL;
    p->queue = NULL;
}

/* ---- the lock on the name -------------------------------------------------------------------- */

static int open_name_lock(bwl_file_name_lock *ret_lock, int directory, const char *name,
                          bwl_fault *fault)
{
    errno = bwl_file_name_lock_open(ret_lock, directory, name);
    if (errno == 0 || errno == EACCES)
        return BWL_OK;
    return bwl_fail_errno(fault, "cannot open the directory of \"%.100s\"", name);
}

/* Not needed in a private directory: no other user can remove a lock file there. */
static int lock_entry(const bwl_file_resolved *resolved, bwl_file_name_lock *ret_lock,
                      bwl_fault *fault)
{
    struct stat st;

    *ret_lock = (bwl_file_name_lock){ .fd = 0 };
    if (fstat(resolved->at, &st) != 0)
        return bwl_fail_errno(fault, "cannot look at the directory of \"%.100s\"", resolved->leaf);
    if (!bwl_file_is_shared(st.st_mode) || bwl_file_is_remote(resolved->at))
        return BWL_OK;
    return open_name_lock(ret_lock, resolved->at, resolved->leaf, fault);
}

/* ---- bare names ------------------------------------------------------------------------------ */

static int open_piece(int at, const char *piece, const bwl_file_directory *d, bool make)
{
    bool made = make && mkdirat(at, piece, d->sharing.mode & 0777) == 0;

    if (made && !d->is_private) { /* with the permissions of the directory above */
        int fd = bwl_file_openat(at, piece, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        if (fd >= 0) {
            bwl_file_share(fd, d->sharing.mode & 03777, &d->sharing);
            (void)close(fd);
        }
    }
    return bwl_file_open_directory(at, piece);
}

/* Goes down to the directory of the last entry.  Returns d->fd or a new descriptor; close it with
 * close_below.  -1: errno is set. */
static int go_down(const bwl_file_directory *d, char *encoded, bool make, const char **ret_leaf)
{
    int   at = d->fd;
    char *slash;

    for (*ret_leaf = encoded; (slash = strchr(*ret_leaf, '/')) != NULL; *ret_leaf = slash + 1) {
        *slash    = '\0';
        int below = open_piece(at, *ret_leaf, d, make);
        int error = errno;
        if (at != d->fd)
            (void)close(at);
        errno = error;
        if (below < 0)
            return -1;
        at = below;
    }
    return at;
}

static void close_below(const bwl_file_directory *d, int at)
{
    if (at != d->fd)
        (void)close(at);
}

static int open_bare(const bwl_file_path *p, bwl_file *ret_queue, bool writes, bwl_fault *fault)
{
    const bwl_file_directory *d = p->directory;
    char                      encoded[BWL_FILE_ENCODING_MAX];
    const char               *leaf;

    assert(d->fd >= 0);
    bwl_file_encode(encoded, p->name, p->name_size);
    int at = go_down(d, encoded, writes, &leaf);
    if (at < 0 && errno == ENOENT && !writes) {
        *ret_queue = (bwl_file){ .fd = -1 };
        return BWL_OK;
    }
    if (at < 0)
        return bwl_file_directory_error(d->path, fault);
    bwl_file_target t = {
        .at         = at,
        .leaf       = leaf,
        .shown      = d->path,
        .role       = "",
        .sharing    = d->sharing,
        .is_private = d->is_private,
        .makes      = writes,
        .writes     = writes,
    };
    int status = bwl_file_open_checked(ret_queue, &t, fault);
    close_below(d, at);
    return status;
}

/* A lock on the whole name, on the lock directory itself: the directories of a long name belong to
 * the users that create them. */
static int lock_bare_name(const bwl_file_path *p, bwl_file_name_lock *ret_lock, bwl_fault *fault)
{
    const bwl_file_directory *d = p->directory;
    char                      encoded[BWL_FILE_ENCODING_MAX];

    *ret_lock = (bwl_file_name_lock){ .fd = 0 };
    if (d->is_private || !bwl_file_is_shared(d->sharing.mode) || d->is_remote)
        return BWL_OK;
    bwl_file_encode(encoded, p->name, p->name_size);
    return open_name_lock(ret_lock, d->fd, encoded, fault);
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

    *ret_is_this = found && bwl_file_is_this(&st, file);
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

static int check_bare(const bwl_file_path *p, const bwl_file *queue, bool *ret_are_current,
                      bwl_fault *fault)
{
    const bwl_file_directory *d = p->directory;
    char                      encoded[BWL_FILE_ENCODING_MAX];
    const char               *leaf;

    *ret_are_current = false;
    bwl_file_encode(encoded, p->name, p->name_size);
    int at = go_down(d, encoded, false, &leaf);
    if (at < 0)
        return is_replaced(errno) ? BWL_OK : bwl_file_directory_error(d->path, fault);
    int status = check_entry(p, at, leaf, queue, ret_are_current, fault);
    close_below(d, at);
    return status;
}

/* ---- names that are paths -------------------------------------------------------------------- */

static int refuse_named(const bwl_file_path *p, const char *why, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED, "%.150s %s", p->path, why);
}

/* flock needs no more than O_RDONLY, which works for directories too. */
enum { OPEN_NAMED = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW };

/* Opens the entry or creates it.  -1 with ELOOP or EEXIST: it has changed since it was resolved. */
static int open_to_flock(const bwl_file_resolved *resolved, bool *ret_makes)
{
    const char *entry = bwl_file_resolved_entry(resolved);
    int         fd    = bwl_file_openat(resolved->at, entry, OPEN_NAMED, 0);

    *ret_makes = fd < 0 && errno == ENOENT;
    if (*ret_makes)
        fd = bwl_file_openat(resolved->at, entry, OPEN_NAMED | O_CREAT | O_EXCL, 0666);
    return bwl_file_above_standard(fd);
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
static int take_named(const bwl_file_path *p, int fd, bwl_file *ret_named, bwl_fault *fault)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        (void)close(fd);
        return bwl_fail_errno(fault, "cannot look at %.150s", p->path);
    }
    /* Each link would have its own queue and fence. */
    if (!S_ISDIR(st.st_mode) && st.st_nlink > 1) {
        (void)close(fd);
        return refuse_named(p, "has other names (hard links): lock another file", fault);
    }
    *ret_named = (bwl_file){ .fd = fd, .device = st.st_dev, .inode = st.st_ino };
    return BWL_OK;
}

static int name_queue(bwl_file_path *p, const bwl_file_resolved *resolved, bwl_fault *fault)
{
    free(p->queue);
    if (asprintf(&p->queue, "%s%s", resolved->path, queue_ending) >= 0)
        return BWL_OK;
    p->queue = NULL;
    return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
}

/* The name of the queue file in its directory. */
static const char *queue_leaf(const bwl_file_path *p)
{
    return strrchr(p->queue, '/') + 1;
}

/* The permissions of the directory matter only if the file is created. */
static int open_queue(const bwl_file_path *p, const bwl_file_resolved *resolved,
                      bwl_file *ret_queue, bool writes, bwl_fault *fault)
{
    struct stat     above = { 0 };
    bwl_file_target t     = {
            .at     = resolved->at,
            .leaf   = queue_leaf(p),
            .shown  = "",
            .path   = p->queue,
            .role   = ", where its queue is kept,",
            .makes  = writes,
            .writes = writes,
    };

    (void)fstat(resolved->at, &above); /* if it fails: not shared */
    t.sharing = (bwl_file_sharing){ above.st_mode, above.st_uid, above.st_gid };
    return bwl_file_open_checked(ret_queue, &t, fault);
}

/* Opens the named file in the directory that its path resolves to. */
static int open_named(bwl_file_path *p, bwl_file_resolved *resolved, bwl_file *ret_named,
                      bwl_fault *fault)
{
    bool makes = false;
    int  fd    = -1;

    for (unsigned i = 0; fd < 0 && i < RESOLVES_MAX; i++) {
        bwl_file_resolved_free(resolved);
        int status = bwl_file_resolve(resolved, p->path, true, fault);
        if (status < 0)
            return status;
        fd = open_to_flock(resolved, &makes);
        if (fd < 0 && errno != EEXIST && errno != ELOOP)
            break;
    }
    if (fd < 0)
        return cannot_open_named(p, makes, fault);
    return take_named(p, fd, ret_named, fault);
}

static int open_both(bwl_file_path *p, bwl_file *ret_queue, bwl_file *ret_named, bwl_fault *fault)
{
    bwl_file          named    = { .fd = -1 };
    bwl_file_resolved resolved = { .at = -1 };
    int               status   = open_named(p, &resolved, &named, fault);

    if (status == BWL_OK)
        status = lock_entry(&resolved, &p->name_lock, fault);
    if (status == BWL_OK)
        status = name_queue(p, &resolved, fault);
    if (status == BWL_OK)
        status = open_queue(p, &resolved, ret_queue, true, fault);
    bwl_file_resolved_free(&resolved);
    if (status == BWL_OK)
        *ret_named = named;
    else
        bwl_file_close(&named);
    return status;
}

/* O_PATH has no effect on the file, even if it is a FIFO or a device. */
static int peek_named(const bwl_file_path *p, const bwl_file_resolved *resolved,
                      bwl_file *ret_named, bwl_fault *fault)
{
    struct stat st;
    const char *entry = bwl_file_resolved_entry(resolved);
    int         fd    = bwl_file_openat(resolved->at, entry, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0);

    *ret_named = (bwl_file){ .fd = -1 };
    fd         = bwl_file_above_standard(fd);
    if (fd < 0 && errno == ENOENT)
        return BWL_OK;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int status = bwl_fail_errno(fault, "cannot look at %.150s", p->path);
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    *ret_named = (bwl_file){ .fd = fd, .device = st.st_dev, .inode = st.st_ino };
    return BWL_OK;
}

static int peek_both(bwl_file_path *p, bwl_file *ret_queue, bwl_file *ret_named, bwl_fault *fault)
{
    bwl_file          named = { .fd = -1 };
    bwl_file_resolved resolved;
    int               status = bwl_file_resolve(&resolved, p->path, true, fault);

    *ret_queue = (bwl_file){ .fd = -1 };
    *ret_named = (bwl_file){ .fd = -1 };
    if (status == BWL_STATUS_SYSTEM && errno == ENOENT)
        status = BWL_OK; /* not even its directory exists */
    else if (status == BWL_OK)
        status = peek_named(p, &resolved, &named, fault);
    if (status == BWL_OK && named.fd >= 0)
        status = name_queue(p, &resolved, fault);
    if (status == BWL_OK && named.fd >= 0)
        status = open_queue(p, &resolved, ret_queue, false, fault);
    bwl_file_resolved_free(&resolved);
    if (status == BWL_OK)
        *ret_named = named;
    else
        bwl_file_close(&named);
    return status;
}

static int check_both(const bwl_file_path *p, const bwl_file *queue, const bwl_file *named,
                      bool *ret_are_current, bwl_fault *fault)
{
    bwl_file_resolved resolved;
    int               status = bwl_file_resolve(&resolved, p->path, true, fault);

    *ret_are_current = false;
    if (status < 0)
        return is_replaced(errno) ? BWL_OK : status;
    status = check_entry(p, resolved.at, bwl_file_resolved_entry(&resolved), named, ret_are_current,
                         fault);
    if (*ret_are_current)
        status = check_entry(p, resolved.at, queue_leaf(p), queue, ret_are_current, fault);
    bwl_file_resolved_free(&resolved);
    return status;
}

/* ---- the interface --------------------------------------------------------------------------- */

int bwl_file_path_open(bwl_file_path *p, bwl_file *ret_queue, bwl_file *ret_named, bwl_fault *fault)
{
    int status;

    bwl_file_name_lock_close(&p->name_lock);
    if (p->path != NULL)
        return open_both(p, ret_queue, ret_named, fault);
    *ret_named = (bwl_file){ .fd = -1 };
    status     = lock_bare_name(p, &p->name_lock, fault);
    return status < 0 ? status : open_bare(p, ret_queue, true, fault);
}

int bwl_file_path_peek(bwl_file_path *p, bwl_file *ret_queue, bwl_file *ret_named, bwl_fault *fault)
{
    if (p->path != NULL)
        return peek_both(p, ret_queue, ret_named, fault);
    *ret_named = (bwl_file){ .fd = -1 };
    return open_bare(p, ret_queue, false, fault);
}

int bwl_file_path_check(const bwl_file_path *p, const bwl_file *queue, const bwl_file *named,
                        bool *ret_are_current, bwl_fault *fault)
{
    if (p->path != NULL)
        return check_both(p, queue, named, ret_are_current, fault);
    return check_bare(p, queue, ret_are_current, fault);
}

static int open_name_lock_again(const bwl_file_path *p, bwl_file_name_lock *ret_lock,
                                bwl_fault *fault)
{
    bwl_file_resolved resolved;
    int               status;

    *ret_lock = (bwl_file_name_lock){ .fd = 0 };
    if (p->path == NULL)
        return lock_bare_name(p, ret_lock, fault);
    status = bwl_file_resolve(&resolved, p->path, true, fault);
    if (status == BWL_OK)
        status = lock_entry(&resolved, ret_lock, fault);
    bwl_file_resolved_free(&resolved);
    return status;
}

bool bwl_file_path_is_name_locked(const bwl_file_path *p)
{
    bwl_file_name_lock lock;
    bwl_fault          fault; /* the cause does not matter */
    bool               is = open_name_lock_again(p, &lock, &fault) == BWL_OK &&
              bwl_file_name_lock_test(&lock) == BWL_FILE_BUSY;

    bwl_file_name_lock_close(&lock);
    return is;
}

void bwl_file_path_show(const bwl_file_path *p, char ret_text[BWL_FILE_SHOWN_MAX])
{
    char encoded[BWL_FILE_ENCODING_MAX];

    if (p->path != NULL) {
        (void)snprintf(ret_text, BWL_FILE_SHOWN_MAX, "%.130s",
                       p->queue != NULL ? p->queue : p->path);
        return;
    }
    bwl_file_encode(encoded, p->name, p->name_size);
    (void)snprintf(ret_text, BWL_FILE_SHOWN_MAX, "%.60s/%.70s", p->directory->path, encoded);
}
