/*
 * ticket.h -- the queue of a lock file, kept by the kernel in its table of file locks.
 *
 * Whoever stands in the queue has a write lock on bytes of the file that do not exist (OFD locks:
 * they belong to the open file, Linux 3.15):
 *
 *      QUEUE + n    the place of ticket n, a number that only grows
 *      LATCH ...    everything from there on: held for microseconds, by who draws a ticket
 *
 * Nobody has a place between the ticket that was granted last and ours: we are at the head.  The
 * places of the dead vanish by themselves: the kernel closes their files.  So the table of locks is
 * the queue, and there is nothing to repair.  Places below the ticket that was granted last are
 * those of waiters who slept when it was their turn, and were overtaken (seat.h).
 *
 * The short way: one lock over QUEUE ... and LATCH, tried once, succeeds only if nobody holds,
 * waits or joins; it is then cut down to QUEUE ... QUEUE + n, which is the place of ticket n all
 * the same, since nobody was before us.
 *
 * Nothing here waits for a lock: a process that was stopped with the latch in its hands must not
 * stop us too.
 *
 * What it does not promise: whoever may write to the file can take any place and stay there.
 */
#ifndef BWL_ENGINE_FILE_TICKET_H
#define BWL_ENGINE_FILE_TICKET_H

#include "core/core.h"

#include <sys/types.h>

/* Tickets are microseconds since 1970 or a little more: this is the year 146000. */
#define BWL_FILE_TICKET_MAX ((UINT64_C(1) << 62) - (UINT64_C(1) << 40) - 1)

typedef enum bwl_file_luck {
    BWL_FILE_OURS = 1,
    BWL_FILE_OTHERS, /* somebody is there                                                       */
    BWL_FILE_FAILED, /* errno says why                                                          */
} bwl_file_luck;

/* OURS: nobody holds, waits or joins, and until keep or quit nobody will. */
bwl_file_luck bwl_file_seize(int fd);

/* Seized: keeps the place of this ticket, and lets others join behind it. */
bwl_file_luck bwl_file_keep(int fd, uint64_t ticket);

/* The same, and gives up what is below the ticket: for who has to wait all the same. */
bwl_file_luck bwl_file_keep_only(int fd, uint64_t ticket);

/* OTHERS: somebody else is joining, for longer than we try. */
bwl_file_luck bwl_file_latch(int fd);
bwl_file_luck bwl_file_unlatch(int fd);

/* Latched: takes the place of *ticket, which is raised above the places there are if it is not.
 * (It is not when the counter in the file was put back.)  FAILED with EOVERFLOW: there is none
 * above. */
bwl_file_luck bwl_file_stand(int fd, uint64_t *ticket);

/* OURS: nobody is between these two tickets; the one granted last may be 0, and counts. */
bwl_file_luck bwl_file_head_of(int fd, uint64_t granted, uint64_t ticket);

/* How many are; no more than max are counted. */
unsigned bwl_file_count(int fd, uint64_t granted, uint64_t ticket, unsigned max);

/* OURS: nobody has this ticket or one above it, and nobody is joining. */
bwl_file_luck bwl_file_rest_of(int fd, uint64_t granted);

/* Gives up whatever we have, also where a child still has the file open.  True: others are
 * there. */
bool bwl_file_quit(int fd);

typedef enum bwl_file_first_kind {
    BWL_FILE_NOBODY = 1,
    BWL_FILE_TICKET,   /* the head of the queue                                                */
    BWL_FILE_JOINING,  /* somebody who has drawn no ticket yet                                  */
    BWL_FILE_OUTSIDER, /* no bowline: somebody who locked the bytes of the file with fcntl      */
} bwl_file_first_kind;

typedef struct bwl_file_first {
    bwl_file_first_kind kind;
    uint64_t            ticket; /* TICKET                                                       */
    pid_t               pid;    /* OUTSIDER, if it is known: above 0                            */
} bwl_file_first;

/* Looks who is first from this ticket on, and changes nothing: the file may be open for reading
 * only. */
bwl_file_first bwl_file_look(int fd, uint64_t granted);

#endif
