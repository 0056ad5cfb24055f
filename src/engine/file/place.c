/*
 * place.c -- see place.h.
 */
#include "engine/file/place.h"
#include "core/text.h"
#include "base/fault.h"
#include "base/calls.h"
#include "engine/file/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char side_ending[] = ".bowline";

enum { WALKS_MAX = 8 };

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
        /* So that no piece is "." or "..", nor hidden. */
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

int bwl_file_place_init(bwl_file_place *place, const bwl_file_directory *directory,
                        const char *name, size_t name_size, bwl_fault *fault)
{
    *place = (bwl_file_place){ .directory = directory, .name = name, .name_size = name_size };
    return bwl_file_is_path(name) ? make_absolute(&place->path, name, fault) : BWL_OK;
}

void bwl_file_place_free(bwl_file_place *place)
{
    bwl_file_mark_close(&place->mark);
    free(place->path);
    free(place->side);
    place->path = NULL;
    place->side = NULL;
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* In a directory that nobody else can write to, nobody else can remove a lock file. */
static int open_mark(bwl_file_mark *ret_mark, int directory, const char *name, bwl_fault *fault)
{
    struct stat st;

    *ret_mark = (bwl_file_mark){ .fd = 0 };
    if (fstat(directory, &st) != 0)
        return bwl_fail_errno(fault, "cannot look at the directory of \"%.100s\"", name);
    if (!bwl_file_is_shared(st.st_mode) || bwl_file_is_remote(directory))
        return BWL_OK;
    errno = bwl_file_mark_open(ret_mark, directory, name);
    if (errno == 0 || errno == EACCES)
        return BWL_OK;
    return bwl_fail_errno(fault, "cannot open the directory of \"%.100s\"", name);
}

/* ---- bare names ------------------------------------------------------------------------------ */

static int open_piece(int at, const char *piece, const bwl_file_directory *d, bool make)
{
    bool made = make && mkdirat(at, piece, d->sharing.mode & 0777) == 0;

    if (made && !d->is_private) { /* as shared as the one above */
        int fd = bwl_file_openat(at, piece, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        if (fd >= 0) {
            bwl_file_share(fd, d->sharing.mode & 03777, &d->sharing);
            (void)close(fd);
        }
    }
    return bwl_file_open_directory(at, piece);
}

/* The directory of the last piece, and that piece: the directory's own fd, or one to be closed by
 * `leave`.  -1: errno says why. */
static int walk(const bwl_file_directory *d, char *encoded, bool make, const char **ret_leaf)
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

static void leave(const bwl_file_directory *d, int at)
{
    if (at != d->fd)
        (void)close(at);
}

static int open_bare(const bwl_file_place *place, bwl_file *ret_queue, bool writes,
                     bwl_fault *fault)
{
    const bwl_file_directory *d = place->directory;
    char                      encoded[BWL_FILE_ENCODING_MAX];
    const char               *leaf;

    assert(d->fd >= 0);
    bwl_file_encode(encoded, place->name, place->name_size);
    int at = walk(d, encoded, writes, &leaf);
    if (at < 0 && errno == ENOENT && !writes) {
        *ret_queue = (bwl_file){ .fd = -1 };
        return BWL_OK;
    }
    if (at < 0)
        return bwl_file_no_directory(d->path, fault);
    bwl_file_spot s = {
        .at         = at,
        .leaf       = leaf,
        .shown      = d->path,
        .role       = "",
        .sharing    = d->sharing,
        .is_private = d->is_private,
        .makes      = writes,
        .writes     = writes,
    };
    int status = bwl_file_open_ours(ret_queue, &s, fault);
    leave(d, at);
    return status;
}

/* Of the whole name, on the lock directory itself: the directories of a long name are made by its
 * users. */
static int mark_bare(const bwl_file_place *place, bwl_file_mark *ret_mark, bwl_fault *fault)
{
    char encoded[BWL_FILE_ENCODING_MAX];

    *ret_mark = (bwl_file_mark){ .fd = 0 };
    if (place->directory->is_private)
        return BWL_OK;
    bwl_file_encode(encoded, place->name, place->name_size);
    return open_mark(ret_mark, place->directory->fd, encoded, fault);
}

static bool bare_is_still(const bwl_file_place *place, const bwl_file *queue)
{
    const bwl_file_directory *d = place->directory;
    char                      encoded[BWL_FILE_ENCODING_MAX];
    const char               *leaf;
    struct stat               st;

    bwl_file_encode(encoded, place->name, place->name_size);
    int at = walk(d, encoded, false, &leaf);
    if (at < 0)
        return false;
    bool found = fstatat(at, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0;
    leave(d, at);
    return found && bwl_file_is_this(&st, queue);
}

/* ---- names that are paths -------------------------------------------------------------------- */

static int refuse_named(const bwl_file_place *place, const char *why, bwl_fault *fault)
{
    return bwl_fail(fault, BWL_STATUS_REFUSED, "%.150s %s", place->path, why);
}

/* Read-only is enough to flock, and works on directories. */
enum { OPEN_NAMED = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW };

/* Opens the entry, or makes it.  -1 with ELOOP or EEXIST: it has changed since it was looked at. */
static int open_to_flock(const bwl_file_way *way, bool *ret_makes)
{
    const char *entry = bwl_file_way_entry(way);
    int         fd    = bwl_file_openat(way->at, entry, OPEN_NAMED, 0);

    *ret_makes = fd < 0 && errno == ENOENT;
    if (*ret_makes)
        fd = bwl_file_openat(way->at, entry, OPEN_NAMED | O_CREAT | O_EXCL, 0666);
    return bwl_file_above_standard(fd);
}

static int cannot_open_named(const bwl_file_place *place, bool makes, bwl_fault *fault)
{
    if (makes && (errno == EACCES || errno == EROFS))
        return refuse_named(place, "cannot be made or reached: permission denied", fault);
    if (errno == EACCES)
        return refuse_named(place, "cannot be read, and so not be locked: permission denied",
                            fault);
    if (errno == ENXIO)
        return refuse_named(place, "is a socket, which cannot be locked", fault);
    return bwl_fail_errno(fault, "cannot open %.150s", place->path);
}

/* Takes over the descriptor; closes it when the file is refused. */
static int take_named(const bwl_file_place *place, int fd, bwl_file *ret_named, bwl_fault *fault)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        (void)close(fd);
        return bwl_fail_errno(fault, "cannot look at %.150s", place->path);
    }
    /* Two names would have two queues and two fences. */
    if (!S_ISDIR(st.st_mode) && st.st_nlink > 1) {
        (void)close(fd);
        return refuse_named(place, "has other names (hard links): lock another file", fault);
    }
    *ret_named = (bwl_file){ .fd = fd, .device = st.st_dev, .inode = st.st_ino };
    return BWL_OK;
}

static int name_side(bwl_file_place *place, const bwl_file_way *way, bwl_fault *fault)
{
    free(place->side);
    if (asprintf(&place->side, "%s%s", way->path, side_ending) >= 0)
        return BWL_OK;
    place->side = NULL;
    return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
}

/* The last piece of the path of the file beside. */
static const char *side_leaf(const bwl_file_place *place)
{
    return strrchr(place->side, '/') + 1;
}

/* Who may lock there is who may write in its directory, which matters only when it is made. */
static int open_side(const bwl_file_place *place, const bwl_file_way *way, bwl_file *ret_queue,
                     bool writes, bwl_fault *fault)
{
    struct stat   above = { 0 };
    bwl_file_spot s     = {
            .at     = way->at,
            .leaf   = side_leaf(place),
            .shown  = "",
            .path   = place->side,
            .role   = ", where its queue is kept,",
            .makes  = writes,
            .writes = writes,
    };

    (void)fstat(way->at, &above); /* else it is not shared */
    s.sharing = (bwl_file_sharing){ above.st_mode, above.st_uid, above.st_gid };
    return bwl_file_open_ours(ret_queue, &s, fault);
}

/* The file that was named, in the directory where the way has ended. */
static int open_named(bwl_file_place *place, bwl_file_way *way, bwl_file *ret_named,
                      bwl_fault *fault)
{
    bool makes = false;
    int  fd    = -1;

    for (unsigned i = 0; fd < 0 && i < WALKS_MAX; i++) {
        bwl_file_way_free(way);
        int status = bwl_file_walk(way, place->path, true, fault);
        if (status < 0)
            return status;
        fd = open_to_flock(way, &makes);
        if (fd < 0 && errno != EEXIST && errno != ELOOP)
            break;
    }
    if (fd < 0)
        return cannot_open_named(place, makes, fault);
    return take_named(place, fd, ret_named, fault);
}

static int open_both(bwl_file_place *place, bwl_file *ret_queue, bwl_file *ret_named,
                     bwl_fault *fault)
{
    bwl_file     named  = { .fd = -1 };
    bwl_file_way way    = { .at = -1 };
    int          status = open_named(place, &way, &named, fault);

    if (status == BWL_OK)
        status = open_mark(&place->mark, way.at, way.leaf, fault);
    if (status == BWL_OK)
        status = name_side(place, &way, fault);
    if (status == BWL_OK)
        status = open_side(place, &way, ret_queue, true, fault);
    bwl_file_way_free(&way);
    if (status == BWL_OK)
        *ret_named = named;
    else if (named.fd >= 0)
        (void)close(named.fd);
    return status;
}

/* Without being read or written, what is opened here does not notice, be it a FIFO or a device. */
static int peek_named(const bwl_file_place *place, const bwl_file_way *way, bwl_file *ret_named,
                      bwl_fault *fault)
{
    struct stat st;
    const char *entry = bwl_file_way_entry(way);
    int         fd    = bwl_file_openat(way->at, entry, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0);

    *ret_named = (bwl_file){ .fd = -1 };
    fd         = bwl_file_above_standard(fd);
    if (fd < 0 && errno == ENOENT)
        return BWL_OK;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int status = bwl_fail_errno(fault, "cannot look at %.150s", place->path);
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    *ret_named = (bwl_file){ .fd = fd, .device = st.st_dev, .inode = st.st_ino };
    return BWL_OK;
}

static int peek_both(bwl_file_place *place, bwl_file *ret_queue, bwl_file *ret_named,
                     bwl_fault *fault)
{
    bwl_file     named = { .fd = -1 };
    bwl_file_way way;
    int          status = bwl_file_walk(&way, place->path, true, fault);

    *ret_queue = (bwl_file){ .fd = -1 };
    *ret_named = (bwl_file){ .fd = -1 };
    if (status == BWL_STATUS_SYSTEM && errno == ENOENT)
        status = BWL_OK; /* not even its directory is there */
    else if (status == BWL_OK)
        status = peek_named(place, &way, &named, fault);
    if (status == BWL_OK && named.fd >= 0)
        status = name_side(place, &way, fault);
    if (status == BWL_OK && named.fd >= 0)
        status = open_side(place, &way, ret_queue, false, fault);
    bwl_file_way_free(&way);
    if (status == BWL_OK)
        *ret_named = named;
    else if (named.fd >= 0)
        (void)close(named.fd);
    return status;
}

static bool both_are_still(const bwl_file_place *place, const bwl_file *queue,
                           const bwl_file *named)
{
    struct stat  st;
    bwl_file_way way;
    bwl_fault    fault; /* nobody needs to hear why it is not */
    bool         are = bwl_file_walk(&way, place->path, true, &fault) == BWL_OK &&
               fstatat(way.at, bwl_file_way_entry(&way), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               bwl_file_is_this(&st, named) &&
               fstatat(way.at, side_leaf(place), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               bwl_file_is_this(&st, queue);

    bwl_file_way_free(&way);
    return are;
}

/* ---- the door -------------------------------------------------------------------------------- */

int bwl_file_place_open(bwl_file_place *place, bwl_file *ret_queue, bwl_file *ret_named,
                        bwl_fault *fault)
{
    int status;

    bwl_file_mark_close(&place->mark);
    if (place->path != NULL)
        return open_both(place, ret_queue, ret_named, fault);
    *ret_named = (bwl_file){ .fd = -1 };
    status     = mark_bare(place, &place->mark, fault);
    return status < 0 ? status : open_bare(place, ret_queue, true, fault);
}

int bwl_file_place_peek(bwl_file_place *place, bwl_file *ret_queue, bwl_file *ret_named,
                        bwl_fault *fault)
{
    if (place->path != NULL)
        return peek_both(place, ret_queue, ret_named, fault);
    *ret_named = (bwl_file){ .fd = -1 };
    return open_bare(place, ret_queue, false, fault);
}

bool bwl_file_place_is_still(const bwl_file_place *place, const bwl_file *queue,
                             const bwl_file *named)
{
    if (place->path != NULL)
        return both_are_still(place, queue, named);
    return bare_is_still(place, queue);
}

static int mark_anew(const bwl_file_place *place, bwl_file_mark *ret_mark, bwl_fault *fault)
{
    bwl_file_way way;
    int          status;

    *ret_mark = (bwl_file_mark){ .fd = 0 };
    if (place->path == NULL)
        return mark_bare(place, ret_mark, fault);
    status = bwl_file_walk(&way, place->path, true, fault);
    if (status == BWL_OK)
        status = open_mark(ret_mark, way.at, way.leaf, fault);
    bwl_file_way_free(&way);
    return status;
}

bool bwl_file_place_is_marked(const bwl_file_place *place)
{
    bwl_file_mark mark;
    bwl_fault     fault; /* then it is not known, and nobody needs to hear why */
    bool          is =
        mark_anew(place, &mark, &fault) == BWL_OK && bwl_file_mark_look(&mark) == BWL_FILE_OTHERS;

    bwl_file_mark_close(&mark);
    return is;
}

void bwl_file_place_show(const bwl_file_place *place, char ret_text[BWL_FILE_SHOWN_MAX])
{
    char encoded[BWL_FILE_ENCODING_MAX];

    if (place->path != NULL) {
        (void)snprintf(ret_text, BWL_FILE_SHOWN_MAX, "%.130s",
                       place->side != NULL ? place->side : place->path);
        return;
    }
    bwl_file_encode(encoded, place->name, place->name_size);
    (void)snprintf(ret_text, BWL_FILE_SHOWN_MAX, "%.60s/%.70s", place->directory->path, encoded);
}
