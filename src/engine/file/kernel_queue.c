#include "engine/file/kernel_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "the nodes are beyond 2^40: build with 64-bit file offsets");

static const off_t queue_at = (off_t)1 << 40;
static const off_t latch_at = (off_t)1 << 62;
static const off_t share_at = ((off_t)1 << 40) - 1;

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

/* A lock that conflicts with one of this type on this range: any, not the lowest. */
static bwl_file_lock_state conflict(int fd, short type, off_t start, off_t length,
                                    struct flock *ret_theirs)
{
    *ret_theirs =
        (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length };
    if (fcntl(fd, F_OFD_GETLK, ret_theirs) != 0)
        return BWL_FILE_FAILED;
    return ret_theirs->l_type == F_UNLCK ? BWL_FILE_FREE : BWL_FILE_BUSY;
}

/* Any lock of another on this range. */
static bwl_file_lock_state get(int fd, off_t start, off_t length, struct flock *ret_theirs)
{
    return conflict(fd, F_WRLCK, start, length, ret_theirs);
}

static off_t bytes_of(bwl_file_place place)
{
    return place.weight > 0 ? (off_t)place.weight : 1;
}

static off_t first_of(bwl_file_place place)
{
    return node_of(place.ticket) + 1 - bytes_of(place);
}

bwl_file_lock_state bwl_file_queue_lock_empty(int fd)
{
    return set(fd, F_WRLCK, queue_at, TO_THE_END);
}

bwl_file_lock_state bwl_file_queue_keep(int fd, uint64_t ticket)
{
    return set(fd, F_UNLCK, node_of(ticket) + 1, TO_THE_END);
}

bwl_file_lock_state bwl_file_queue_keep_only(int fd, bwl_file_place place)
{
    bwl_file_lock_state state = set(fd, F_UNLCK, queue_at, first_of(place) - queue_at);

    return state == BWL_FILE_FREE ? bwl_file_queue_keep(fd, place.ticket) : state;
}

bwl_file_lock_state bwl_file_queue_share(int fd, bwl_file_place place)
{
    return set(fd, F_RDLCK, first_of(place), bytes_of(place));
}

bwl_file_lock_state bwl_file_queue_hold_share(int fd, bwl_file_place place)
{
    bwl_file_lock_state state = bwl_file_queue_share(fd, place);

    return state == BWL_FILE_FREE ? set(fd, F_RDLCK, share_at, 1) : state;
}

bwl_file_lock_state bwl_file_queue_test_shares(int fd)
{
    struct flock theirs;

    return get(fd, share_at, 1, &theirs);
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

bwl_file_lock_state bwl_file_queue_enqueue(int fd, bwl_file_place *place)
{
    struct flock theirs;

    for (;;) {
        bwl_file_lock_state state = set(fd, F_WRLCK, first_of(*place), bytes_of(*place));
        if (state != BWL_FILE_BUSY)
            return state;
        state = get(fd, first_of(*place), bytes_of(*place), &theirs);
        if (state == BWL_FILE_FAILED)
            return state;
        if (state == BWL_FILE_FREE) /* it has just been removed */
            continue;
        off_t end = theirs.l_start + theirs.l_len;
        if (theirs.l_len == TO_THE_END || end >= latch_at - bytes_of(*place)) {
            errno = EOVERFLOW;
            return BWL_FILE_FAILED;
        }
        place->ticket = (uint64_t)(end - queue_at + bytes_of(*place) - 1);
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

bwl_file_lock_state bwl_file_queue_test_shared(int fd, uint64_t granted, uint64_t ticket)
{
    struct flock theirs;

    assert(granted < ticket);
    return conflict(fd, F_RDLCK, node_of(granted), node_of(ticket) - node_of(granted), &theirs);
}

bwl_file_lock_state bwl_file_queue_test_node(int fd, uint64_t ticket)
{
    struct flock theirs;

    return get(fd, node_of(ticket), 1, &theirs);
}

bool bwl_file_queue_is_closed(int fd, uint64_t granted)
{
    struct flock theirs;
    off_t        start = node_of(granted);

    return conflict(fd, F_RDLCK, start, latch_at - start, &theirs) == BWL_FILE_BUSY &&
           theirs.l_len != TO_THE_END;
}

bool bwl_file_queue_leave(int fd)
{
    struct flock theirs;

    /* To unlock everything needs no memory, so it cannot fail. */
    (void)set(fd, F_UNLCK, 0, TO_THE_END);
    return get(fd, queue_at, TO_THE_END, &theirs) == BWL_FILE_BUSY;
}

/* The first node from this offset on.  FAILED: it may be another one. */
static bwl_file_lock_state find_first(int fd, off_t start, bwl_file_queue_first *ret_first)
{
    struct flock        theirs;
    off_t               length = TO_THE_END;
    bwl_file_lock_state state;

    *ret_first = (bwl_file_queue_first){ .kind = BWL_FILE_NOBODY };
    while ((state = get(fd, start, length, &theirs)) == BWL_FILE_BUSY) {
        off_t end = theirs.l_start + theirs.l_len;
        if (theirs.l_start < queue_at) {
            *ret_first = (bwl_file_queue_first){ .kind = BWL_FILE_FOREIGN, .pid = theirs.l_pid };
            return state;
        }
        if (theirs.l_len == TO_THE_END || end > latch_at)
            *ret_first = (bwl_file_queue_first){ .kind = BWL_FILE_JOINING };
        else
            *ret_first = (bwl_file_queue_first){
                .kind   = BWL_FILE_TICKET,
                .ticket = (uint64_t)(end - 1 - queue_at),
                .weight = theirs.l_type == F_RDLCK ? (uint32_t)theirs.l_len : 0,
            };
        length = theirs.l_start - start;
        if (length <= 0)
            break;
    }
    return state;
}

bwl_file_queue_first bwl_file_queue_head(int fd, uint64_t granted)
{
    bwl_file_queue_first first;

    (void)find_first(fd, node_of(granted), &first); /* for a query: what is known */
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

/* Counts also below the ticket granted last: a share that was overtaken counts until it leaves. */
bwl_file_lock_state bwl_file_queue_test_permits(int fd, bwl_file_place place, uint32_t limit)
{
    uint64_t             used = place.weight;
    off_t                at   = queue_at;
    bwl_file_queue_first first;

    while (used <= limit) {
        if (find_first(fd, at, &first) == BWL_FILE_FAILED)
            return BWL_FILE_FAILED;
        if (first.kind != BWL_FILE_TICKET || first.ticket >= place.ticket)
            return first.kind == BWL_FILE_FOREIGN ? BWL_FILE_BUSY : BWL_FILE_FREE;
        used += first.weight;
        at = node_of(first.ticket) + 1;
    }
    return BWL_FILE_BUSY;
}

/* ---- the lock on a name ---------------------------------------------------------------------- */

bwl_file_lock_state bwl_file_name_lock_test(const bwl_file_name_lock *lock)
{
    struct flock theirs;

    return lock->fd == 0 ? BWL_FILE_FREE : get(lock->fd, lock->at, 1, &theirs);
}

/* BUSY: another process holds the name by a lock that excludes this one. */
static bwl_file_lock_state test_name(const bwl_file_name_lock *lock, bool shares)
{
    struct flock theirs;

    if (!shares)
        return bwl_file_name_lock_test(lock);
    bwl_file_lock_state state = get(lock->fd, lock->at + 1, 1, &theirs);
    if (state != BWL_FILE_FREE)
        return state;
    state = get(lock->fd, lock->at, 1, &theirs);
    return state == BWL_FILE_BUSY && theirs.l_start != lock->at ? BWL_FILE_FREE : state;
}

bwl_file_lock_state bwl_file_name_lock_acquire(const bwl_file_name_lock *lock, bool shares)
{
    if (lock->fd == 0)
        return BWL_FILE_FREE;
    bwl_file_lock_state state = test_name(lock, shares);
    if (state != BWL_FILE_FREE)
        return state;
    state = set(lock->fd, F_RDLCK, shares ? lock->at - 1 : lock->at, 2);
    if (state != BWL_FILE_FREE)
        return state;
    state = test_name(lock, shares);
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
        (void)set(lock->fd, F_UNLCK, lock->at - 1, 3); /* needs no memory, so it cannot fail */
}

void bwl_file_name_lock_close(bwl_file_name_lock *lock)
{
    if (lock->fd != 0)
        (void)close(lock->fd);
    *lock = (bwl_file_name_lock){ .fd = 0 };
}
