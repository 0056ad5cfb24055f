/*
 * witness.h -- the judge of who was inside.
 *
 * Whoever holds the lock under test also takes an exclusive flock(2) on a file of the judge,
 * without waiting: if that fails, two were inside, and it is seen at once by somebody who needs no
 * clock.  And it says, again and again while it is inside, when it last knew the lock to be its
 * own.  Afterwards the judge compares these claims: what one holder was sure of and another one too
 * is an overlap, also when a holder was stopped meanwhile and could not know better.
 *
 * The records are in memory that forked processes share.
 */
#ifndef TEST_WITNESS_H
#define TEST_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct witness_record {
    pid_t    pid;
    uint64_t fence;
    int64_t  entered_us; /* CLOCK_BOOTTIME */
    int64_t  sure_us;    /* the last moment at which it was surely ours; 0: it never was        */
    int64_t  left_us;    /* 0: it never said                                                    */
    bool     collided;   /* somebody was inside already                                         */
    bool     tainted;    /* stopped, killed, or late to leave: it may have been inside too long  */
} witness_record;

typedef struct witness witness;

typedef struct witness_visit {
    int             fd;
    witness_record *record;
} witness_visit;

typedef struct witness_verdict {
    size_t visits;
    size_t collisions;      /* the file was taken when somebody came in                         */
    size_t unexcused;       /* of those, with nobody tainted among the two                      */
    size_t overlaps;        /* pairs of visits of which both were sure at the same time         */
    size_t fences_backward; /* a later visit with a fence that is not larger                    */
} witness_verdict;

/* Make it before forking.  Free with witness_free. */
witness *witness_new(void);
void     witness_free(witness *w);

/* Call it when the lock is ours.  False: somebody else is inside; leave all the same. */
bool witness_enter(witness *w, witness_visit *ret_visit, uint64_t fence);

/* The lock was surely ours at this moment, taken before the library was asked. */
void witness_sure(witness_visit *visit, int64_t at_us);

/* Call it before the lock is given back. */
void witness_leave(witness_visit *visit);

int64_t witness_now_us(void);

/* This process was stopped or, being gone, killed: what it is inside of, it cannot leave in
 * time. */
void witness_taint(witness *w, pid_t pid, bool is_gone);

/* When nobody is inside any more. */
witness_verdict witness_judge(witness *w);

#endif
