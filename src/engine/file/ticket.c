/*
 * ticket.c -- see ticket.h.
 */
#include "engine/file/ticket.h"

#include <errno.h>
#include <fcntl.h>

_Static_assert(sizeof(off_t) == 8, "the places are beyond 2^40: build with 64-bit file offsets");

static const off_t queue_at = (off_t)1 << 40;
static const off_t latch_at = (off_t)1 << 62;

/* As the length of a lock: all there is, and ever will be. */
enum { TO_THE_END = 0 };

/* The latch is held for four system calls. */
enum { LATCH_TRIES = 32 };

static off_t place_of(uint64_t ticket)
{
    assert(ticket <= BWL_FILE_TICKET_MAX);
    return queue_at + (off_t)ticket;
}

static bwl_file_luck set(int fd, short type, off_t start, off_t length)
{
    struct flock range = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length
    };

    if (fcntl(fd, F_OFD_SETLK, &range) == 0)
        return BWL_FILE_OURS;
    return errno == EAGAIN || errno == EACCES ? BWL_FILE_OTHERS : BWL_FILE_FAILED;
}

/* Whose lock is in the way of ours: the first one that the kernel comes upon, not the lowest. */
static bwl_file_luck get(int fd, off_t start, off_t length, struct flock *ret_theirs)
{
    *ret_theirs = (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length
    };
    if (fcntl(fd, F_OFD_GETLK, ret_theirs) != 0)
        return BWL_FILE_FAILED;
    return ret_theirs->l_type == F_UNLCK ? BWL_FILE_OURS : BWL_FILE_OTHERS;
}

bwl_file_luck bwl_file_seize(int fd)
{
    return set(fd, F_WRLCK, queue_at, TO_THE_END);
}

bwl_file_luck bwl_file_keep(int fd, uint64_t ticket)
{
    return set(fd, F_UNLCK, place_of(ticket) + 1, TO_THE_END);
}

bwl_file_luck bwl_file_keep_only(int fd, uint64_t ticket)
{
    bwl_file_luck luck = set(fd, F_UNLCK, queue_at, place_of(ticket) - queue_at);

    return luck == BWL_FILE_OURS ? bwl_file_keep(fd, ticket) : luck;
}

bwl_file_luck bwl_file_latch(int fd)
{
    bwl_file_luck luck = BWL_FILE_OTHERS;

    for (unsigned i = 0; i < LATCH_TRIES && luck == BWL_FILE_OTHERS; i++)
        luck = set(fd, F_WRLCK, latch_at, TO_THE_END);
    return luck;
}

bwl_file_luck bwl_file_unlatch(int fd)
{
    return set(fd, F_UNLCK, latch_at, TO_THE_END);
}

bwl_file_luck bwl_file_stand(int fd, uint64_t *ticket)
{
    struct flock theirs;

    for (;;) {
        bwl_file_luck luck = set(fd, F_WRLCK, place_of(*ticket), 1);
        if (luck != BWL_FILE_OTHERS)
            return luck;
        luck = get(fd, place_of(*ticket), 1, &theirs);
        if (luck == BWL_FILE_FAILED)
            return luck;
        if (luck == BWL_FILE_OURS) /* has just gone */
            continue;
        off_t behind = theirs.l_start + theirs.l_len;
        if (theirs.l_len == TO_THE_END || behind >= latch_at) {
            errno = EOVERFLOW;
            return BWL_FILE_FAILED;
        }
        *ticket = (uint64_t)(behind - queue_at);
    }
}

bwl_file_luck bwl_file_head_of(int fd, uint64_t granted, uint64_t ticket)
{
    struct flock theirs;

    assert(granted < ticket);
    return get(fd, place_of(granted), place_of(ticket) - place_of(granted), &theirs);
}

/* One is found, and then those on both sides of it. */
static unsigned count(int fd, off_t start, off_t end, unsigned max)
{
    struct flock theirs;

    if (max == 0 || start >= end || get(fd, start, end - start, &theirs) != BWL_FILE_OTHERS)
        return 0;
    unsigned below = count(fd, start, theirs.l_start, max - 1);
    off_t    above = theirs.l_len == TO_THE_END ? end : theirs.l_start + theirs.l_len;
    return 1 + below + count(fd, above, end, max - 1 - below);
}

unsigned bwl_file_count(int fd, uint64_t granted, uint64_t ticket, unsigned max)
{
    return count(fd, place_of(granted), place_of(ticket), max);
}

bwl_file_luck bwl_file_rest_of(int fd, uint64_t granted)
{
    struct flock theirs;

    return get(fd, place_of(granted), TO_THE_END, &theirs);
}

bool bwl_file_quit(int fd)
{
    struct flock theirs;

    /* To unlock everything needs no memory, and so cannot fail. */
    (void)set(fd, F_UNLCK, 0, TO_THE_END);
    return get(fd, queue_at, TO_THE_END, &theirs) == BWL_FILE_OTHERS;
}

bwl_file_first bwl_file_look(int fd, uint64_t granted)
{
    bwl_file_first first = { .kind = BWL_FILE_NOBODY };
    struct flock   theirs;
    off_t          start  = place_of(granted);
    off_t          length = TO_THE_END;

    while (get(fd, start, length, &theirs) == BWL_FILE_OTHERS) {
        off_t behind = theirs.l_start + theirs.l_len;
        if (theirs.l_start < queue_at)
            return (bwl_file_first){ .kind = BWL_FILE_OUTSIDER, .pid = theirs.l_pid };
        if (theirs.l_len == TO_THE_END || behind > latch_at)
            first = (bwl_file_first){ .kind = BWL_FILE_JOINING };
        else
            first = (bwl_file_first){ .kind   = BWL_FILE_TICKET,
                                      .ticket = (uint64_t)(behind - 1 - queue_at) };
        length = theirs.l_start - start;
        if (length <= 0)
            break;
    }
    return first;
}
