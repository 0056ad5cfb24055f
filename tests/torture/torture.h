/*
 * torture.h -- failing one call after the other.
 *
 * A shared object is loaded in front of libc.  It counts the fallible calls that come from the code
 * under test, and fails the one it was told to.  Which code that is, is decided by the address that
 * the call returns to: tools/torture takes the ranges of our sources from the program's debug
 * information, so that libc's own calls, the test's and cmocka's are left alone.
 *
 * A call has one or more *points*: the ways in which it is made to fail (EMFILE, EINTR, a short
 * write ...).  Points are numbered from 1 in the order of the calls, over all threads and over the
 * children of a fork.
 *
 * The state is a file that is mapped by everybody concerned, so that it outlives a crash.
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum torture_mode {
    TORTURE_COUNT = 1, /* nothing fails                                                        */
    TORTURE_ONE,       /* the n-th point                                                       */
    TORTURE_REST,      /* every call from the n-th on that can fail for good                   */
    TORTURE_EINTR,     /* every other call of each thread that a signal can interrupt          */
    TORTURE_BYTES,     /* no send and no recv moves more than one byte, every other is EAGAIN  */
} torture_mode;

enum { TORTURE_WORDS_MAX = 64, TORTURE_SLOTS = 16, TORTURE_SLOT_BYTES = 256 };

typedef struct torture_state {
    _Atomic uint64_t mode; /* 0: disarmed */
    _Atomic uint64_t n;
    _Atomic uint64_t calls;
    _Atomic uint64_t points;
    _Atomic uint64_t injected;
    _Atomic uint64_t failed_address; /* of the first that failed, without the load address      */
    _Atomic uint64_t failed_error;   /* its errno; 0: short, the end, or a wake-up for nothing  */
    char             failed_name[TORTURE_WORDS_MAX];
} torture_state;
_Static_assert(sizeof(torture_state) <= TORTURE_SLOT_BYTES, "a state fits into its slot");

/* Of the shared object: NULL when it was not loaded.
 *
 * The environment: TORTURE_STATE the file of the state, TORTURE_RANGES a file of lines "BEGIN END"
 * (hexadecimal, as the program was linked), TORTURE_PROGRAM the program that is meant: in every
 * other one, a command that it starts for example, nothing happens.
 *
 * The file has room for several states, for processes that are tortured side by side. */
__attribute__((weak)) torture_state *torture_slot(unsigned slot);

/* From now on this process, and its children, take theirs from there. */
__attribute__((weak)) void torture_use(unsigned slot);

/* How many blocks are allocated that the code under test asked for. */
__attribute__((weak)) uint64_t torture_blocks(void);

#endif
