#include "engine/file/kernel_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "the nodes are beyond 2^40: build with 64-bit file offsets");

static const off_t queue_at = (off_t)1 << 40;
static const off_t latch_at = (off_t)1 << 62;

/* The length of a lock without end. */
enum { TO_THE_END = 0 };

/* Its holder needs it for four system calls. */
enum { LATCH_TRIES = 32 };

static off_t node_of(uint64_t ticket)
{
    assert(ticket <= BWL_FILE_TICKET_MAX);
    return queue_at + (off_t)ticket;
}

static bwl_file_lock_state set(int fd, short type, off_t start, off_t length)
{
    struct flock range = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length
    };

    if (fcntl(fd, F_OFD_SETLK, &range) == 0)
        return BWL_FILE_FREE;
    return errno == EAGAIN || errno == EACCES ? BWL_FILE_BUSY : BWL_FILE_FAILED;
}

/* A lock that conflicts with this range: any, not the lowest. */
static bwl_file_lock_state get(int fd, off_t start, off_t length, struct flock *ret_theirs)
{
    *ret_theirs = (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length
    };
    if (fcntl(fd, F_OFD_GETLK, ret_theirs) != 0)
        return BWL_FILE_FAILED;
    return ret_theirs->l_type == F_UNLCK ? BWL_FILE_FREE : BWL_FILE_BUSY;
}

bwl_file_lock_state bwl_file_queue_lock_empty(int fd)
{
    return set(fd, F_WRLCK, queue_at, TO_THE_END);
}

bwl_file_lock_state bwl_file_queue_keep(int fd, uint64_t ticket)
{
    return set(fd, F_UNLCK, node_of(ticket) + 1, TO_THE_END);
}

bwl_file_lock_state bwl_file_queue_keep_waiting(int fd, uint64_t ticket)
{
    bwl_file_lock_state state = set(fd, F_UNLCK, queue_at, node_of(ticket) - queue_at);

    return state == BWL_FILE_FREE ? bwl_file_queue_keep(fd, ticket) : state;
}

bwl_file_lock_state bwl_file_queue_latch(int fd)
{
    bwl_file_lock_state state = BWL_FILE_BUSY;

    for (unsigned i = 0; i < LATCH_TRIES && state == BWL_FILE_BUSY; i++)
        state = set(fd, F_WRLCK, latch_at, TO_THE_END);
    return state;
}

bwl_file_lock_state bwl_file_queue_unlatch(int fd)
{
    return set(fd, F_UNLCK, latch_at, TO_THE_END);
}

bwl_file_lock_state bwl_file_queue_enqueue(int fd, uint64_t *ticket)
{
    struct flock theirs;

    for (;;) {
        bwl_file_lock_state state = set(fd, F_WRLCK, node_of(*ticket), 1);
        if (state != BWL_FILE_BUSY)
            return state;
        state = get(fd, node_of(*ticket), 1, &theirs);
        if (state == BWL_FILE_FAILED)
            return state;
        if (state == BWL_FILE_FREE) /* it has just been removed */
            continue;
        off_t end = theirs.l_start + theirs.l_len;
        if (theirs.l_len == TO_THE_END || end >= latch_at) {
            errno = EOVERFLOW;
            return BWL_FILE_FAILED;
        }
        *ticket = (uint64_t)(end - queue_at);
    }
}

bwl_file_lock_state bwl_file_queue_test_head(int fd, uint64_t granted, uint64_t ticket)
{
    struct flock theirs;

    assert(granted < ticket);
    return get(fd, node_of(granted), node_of(ticket) - node_of(granted), &theirs);
}

bwl_file_lock_state bwl_file_queue_test_from(int fd, uint64_t granted)
{
    struct flock theirs;

    return get(fd, node_of(granted), TO_THE_END, &theirs);
}

bool bwl_file_queue_leave(int fd)
{
    struct flock theirs;

    /* To unlock everything needs no memory, so it cannot fail. */
    (void)set(fd, F_UNLCK, 0, TO_THE_END);
    return get(fd, queue_at, TO_THE_END, &theirs) == BWL_FILE_BUSY;
}

bwl_file_queue_first bwl_file_queue_head(int fd, uint64_t granted)
{
    bwl_file_queue_first first = { .kind = BWL_FILE_NOBODY };
    struct flock         theirs;
    off_t                start  = node_of(granted);
    off_t                length = TO_THE_END;

    while (get(fd, start, length, &theirs) == BWL_FILE_BUSY) {
        off_t end = theirs.l_start + theirs.l_len;
        if (theirs.l_start < queue_at)
            return (bwl_file_queue_first){ .kind = BWL_FILE_FOREIGN, .pid = theirs.l_pid };
        if (theirs.l_len == TO_THE_END || end > latch_at)
            first = (bwl_file_queue_first){ .kind = BWL_FILE_JOINING };
        else
            first = (bwl_file_queue_first){ .kind   = BWL_FILE_TICKET,
                                            .ticket = (uint64_t)(end - 1 - queue_at) };
        length = theirs.l_start - start;
        if (length <= 0)
            break;
    }
    return first;
}

unsigned bwl_file_queue_count(int fd, uint64_t granted, uint64_t ticket, unsigned max)
{
    bwl_file_queue_first first = bwl_file_queue_head(fd, granted);
    unsigned             count = 0;

    for (; count < max && first.kind == BWL_FILE_TICKET && first.ticket < ticket; count++)
        first = bwl_file_queue_head(fd, first.ticket + 1);
    return count;
}

/* ---- the lock on a name ---------------------------------------------------------------------- */

bwl_file_lock_state bwl_file_name_lock_test(const bwl_file_name_lock *lock)
{
    struct flock theirs;

    return lock->fd == 0 ? BWL_FILE_FREE : get(lock->fd, lock->at, 1, &theirs);
}

bwl_file_lock_state bwl_file_name_lock_acquire(const bwl_file_name_lock *lock)
{
    bwl_file_lock_state state = bwl_file_name_lock_test(lock);

    if (state != BWL_FILE_FREE || lock->fd == 0)
        return state;
    state = set(lock->fd, F_RDLCK, lock->at, 1);
    if (state != BWL_FILE_FREE)
        return state;
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
        (void)set(lock->fd, F_UNLCK, lock->at, 1); /* needs no memory, so it cannot fail */
}

void bwl_file_name_lock_close(bwl_file_name_lock *lock)
{
    if (lock->fd != 0)
        (void)close(lock->fd);
    *lock = (bwl_file_name_lock){ .fd = 0 };
}
