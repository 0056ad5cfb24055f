/*
 * witness.h -- records which holders were inside, and checks the records.
 *
 * A holder of the lock under test also takes an exclusive flock(2) on a file of the witness,
 * without waiting: if that fails, two holders are inside, and this is detected without a clock.
 * While it is inside, it also records repeatedly when it last was sure of the lock.  Afterwards the
 * records are compared: a time at which two holders were sure is an overlap, even if one of them
 * was stopped meanwhile and could not know.
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
    int64_t  sure_us;    /* the last time at which it was surely ours; 0: never */
    int64_t  left_us;    /* 0: it has not left */
    bool     collided;   /* another holder was inside already */
    bool     tainted;    /* stopped, killed, or late to leave: it may have been inside too long */
} witness_record;

typedef struct witness witness;

typedef struct witness_visit {
    int             fd;
    witness_record *record;
} witness_visit;

typedef struct witness_verdict {
    size_t visits;
    size_t collisions;      /* visits that found the file locked */
    size_t unexcused;       /* of these, those without a tainted visit */
    size_t overlaps;        /* pairs of visits that were sure at the same time */
    size_t fences_backward; /* later visits whose fence is not larger */
} witness_verdict;

/* Create it before forking.  Free with witness_free. */
witness *witness_new(void);
void     witness_free(witness *w);

/* Call it when the lock is ours.  False: another holder is inside; leave nevertheless. */
bool witness_enter(witness *w, witness_visit *ret_visit, uint64_t fence);

/* The lock was surely ours at this time, which was read before the library was called. */
void witness_sure(witness_visit *visit, int64_t at_us);

/* Call it before the release. */
void witness_leave(witness_visit *visit);

int64_t witness_now_us(void);

/* This process was stopped, or is_gone: was killed.  It cannot leave in time. */
void witness_taint(witness *w, pid_t pid, bool is_gone);

/* Call it when all visits have ended. */
witness_verdict witness_judge(witness *w);

#endif
