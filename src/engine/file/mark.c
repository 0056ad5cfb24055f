/*
 * mark.c -- see mark.h.
 */
#include "engine/file/mark.h"
#include "base/calls.h"
#include "engine/file/open.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* FNV-1a, as far as it fits into an offset. */
static off_t place_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(1099511628211);
    return (off_t)(hash >> 2);
}

int bwl_file_mark_open(bwl_file_mark *ret_mark, int directory, const char *name)
{
    int fd = bwl_file_openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

    fd        = bwl_file_above_standard(fd);
    *ret_mark = (bwl_file_mark){ .fd = fd < 0 ? 0 : fd, .at = place_of(name) };
    return fd < 0 ? errno : 0;
}

static int set(const bwl_file_mark *mark, short type)
{
    struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = mark->at, .l_len = 1 };

    return fcntl(mark->fd, F_OFD_SETLK, &range);
}

bwl_file_luck bwl_file_mark_look(const bwl_file_mark *mark)
{
    struct flock theirs = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = mark->at, .l_len = 1
    };

    if (mark->fd == 0)
        return BWL_FILE_OURS;
    if (fcntl(mark->fd, F_OFD_GETLK, &theirs) != 0)
        return BWL_FILE_FAILED;
    return theirs.l_type == F_UNLCK ? BWL_FILE_OURS : BWL_FILE_OTHERS;
}

bwl_file_luck bwl_file_mark_take(const bwl_file_mark *mark)
{
    bwl_file_luck luck = bwl_file_mark_look(mark);

    if (luck != BWL_FILE_OURS || mark->fd == 0)
        return luck;
    if (set(mark, F_RDLCK) != 0)
        return errno == EAGAIN || errno == EACCES ? BWL_FILE_OTHERS : BWL_FILE_FAILED;
    luck = bwl_file_mark_look(mark);
    if (luck != BWL_FILE_OURS) {
        int error = errno;
        bwl_file_mark_give(mark);
        errno = error;
    }
    return luck;
}

void bwl_file_mark_give(const bwl_file_mark *mark)
{
    if (mark->fd != 0)
        (void)set(mark, F_UNLCK); /* needs no memory, and so cannot fail */
}

void bwl_file_mark_close(bwl_file_mark *mark)
{
    if (mark->fd != 0)
        (void)close(mark->fd);
    *mark = (bwl_file_mark){ .fd = 0 };
}
