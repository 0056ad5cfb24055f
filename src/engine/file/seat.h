/*
 * seat.h -- one lock's part in the queue of its file: joining, trying, leaving.
 *
 * Two things are taken, in this order:
 *
 *   1. a place in the queue of a file that is ours to write (ticket.h): order, and the fence
 *   2. flock(2) on the file: so that flock(1), and whoever else locks that way, and bowline exclude
 *      each other.  With it goes the mark of the name, where others can remove the file
 *      (mark.h)
 *
 * Who is at the head of the queue and has the flock holds the lock, and writes into the file who he
 * is (record.h).  Of a bare name both are on one file in the lock directory; of a name that is
 * a path, the flock is on that very file and the queue beside it (place.h).
 *
 *      join   seize the empty queue, flock, and that is all.  Else stand at the end, have the file
 *             watched (watch.h), and look once, since it may have become ours meanwhile
 *      try    at the head, and the flock is free: ours, if the name still leads to this file
 *      leave  gives up each explicitly, so that a child that still has the file open does not keep
 *             them; if others are there they are told by a change of our file, which is seen even
 *             then
 *
 * Who sleeps when it is his turn (stopped, in a debugger, in a frozen container) holds up nobody
 * but himself.  When no ticket has held the lock for a second, and then for each place before ours
 * we have found the flock free four times, a quarter of a second apart, without anybody taking it,
 * we overtake.  That is safe, since the flock decides; and the fence goes on growing, since tickets
 * below the last that was granted do not count any more: whose it is joins anew when he wakes up.
 *
 * What it does not promise: order among those who use flock(1), or against them.  A process that is
 * stopped in the few microseconds in which it has the latch keeps others from joining.
 */
#ifndef BWL_ENGINE_FILE_SEAT_H
#define BWL_ENGINE_FILE_SEAT_H

#include "engine/file/place.h"
#include "engine/file/record.h"
#include "engine/file/watch.h"

enum { BWL_FILE_PATIENCE_MS = 1000, BWL_FILE_SIGHTINGS = 4, BWL_FILE_SIGHTING_MS = 250 };

typedef struct bwl_file_store { /* of one client */
    bwl_file_directory directory;
    const char        *parent; /* of the directory of `file:` alone; NULL: one was named         */
    bwl_file_watcher   watcher;
    bwl_file_self      self;
} bwl_file_store;

typedef struct bwl_file_seat {
    bwl_engine_lock *lock;
    bwl_file_store  *store;
    bwl_file_place   place;
    bwl_file         queue; /* fd -1: not open                                                    */
    bwl_file         named; /* the file whose name was given; fd -1: it was a bare name           */
    bool             may_wait;
    bool             queued;
    bool             flocked;
    bool             marked; /* in a directory where others can remove the file: mark.h      */
    uint64_t         ticket;
    uint64_t        tells; /* while we wait: how we shall learn of our turn                       */
    uint64_t        idle_after; /* this ticket was granted last, and is not there any more ...   */
    bwl_ms          idle_since; /* ... at any look since; 0: it was                              */
    unsigned        free_seen;  /* so often the flock was free, too                              */
    bwl_ms          free_at;    /* when it last was                                              */
    bool            met_others; /* it was not, when we looked last: we have looked again at once */
    bwl_file_waiter waits_for_queue;
    bwl_file_waiter waits_for_named;
} bwl_file_seat;

/* Nothing is opened.  USAGE, SYSTEM, NOMEM. */
int bwl_file_seat_init(bwl_file_seat *s, bwl_engine_lock *lock, bwl_file_store *store,
                       bwl_fault *fault);

/* In a forked child, where what is locked and watched is the parent's, only closes. */
void bwl_file_seat_free(bwl_file_seat *s);

/* The words of protocol/store/local.h: with YES the fence, with NO how we shall learn of our
 * turn. */
bwl_answer bwl_file_seat_join(bwl_file_seat *s, bool may_wait, uint64_t *ret_number);
bwl_answer bwl_file_seat_try(bwl_file_seat *s, uint64_t *ret_number);
void       bwl_file_seat_leave(bwl_file_seat *s);

/* Opens the directory of bare names unless it is open: the one that was named (in
 * directory.path), or that of `file:` alone, which is made; to look only, it may be missing, and
 * that is OK. */
int bwl_file_store_open(bwl_file_store *store, bool make, bwl_fault *fault);

#endif
