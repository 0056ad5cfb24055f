#include "engine/file/name_lock.h"
#include "base/calls.h"
#include "engine/file/open.h"

#include <errno.h>
#include <fcntl.h>
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
