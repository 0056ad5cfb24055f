/*
 * torture.h -- makes each call fail, one after the other.
 *
 * A shared object that is loaded in front of libc counts the fallible calls from the code under
 * test, and makes the selected one fail. The return address of a call decides whether it comes from
 * the code under test: tools/torture reads the address ranges of our sources from the debug
 * information of the program, so calls from libc, the test and cmocka do not fail.
 *
 * A call has one or more *points*: the ways in which it can fail (EMFILE, EINTR, a short write
 * ...). Points are numbered from 1 in the order of the calls, over all threads and the children of
 * a fork.
 *
 * The state is in a file that all processes map, so it survives a crash.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum torture_mode {
    TORTURE_COUNT = 1, /* nothing fails                                                        */
    TORTURE_ONE,       /* the n-th point                                                       */
    TORTURE_REST,      /* every call from the n-th on with a permanent error */
    TORTURE_EINTR,     /* about every other call that a signal can interrupt */
    TORTURE_BYTES,     /* send and recv move one byte at most, or fail with EAGAIN */
} torture_mode;

enum { TORTURE_WORDS_MAX = 64, TORTURE_SLOTS = 16, TORTURE_SLOT_BYTES = 256 };

typedef struct torture_state {
    _Atomic uint64_t mode; /* 0: disarmed */
    _Atomic uint64_t n;
    _Atomic uint64_t calls;
    _Atomic uint64_t points;
    _Atomic uint64_t injected;
    _Atomic uint64_t failed_address; /* of the first failed call, without the load address */
    _Atomic uint64_t failed_error;   /* its errno; 0: short, the end, or a spurious wake-up */
    char             failed_name[TORTURE_WORDS_MAX];
} torture_state;
_Static_assert(sizeof(torture_state) <= TORTURE_SLOT_BYTES, "a state fits into its slot");

/* From the shared object; NULL if it is not loaded.
 *
 * Environment: TORTURE_STATE is the file of the state; TORTURE_RANGES a file of lines "BEGIN
 * END" (hexadecimal, as linked); TORTURE_PROGRAM the program under test: in any other program,
 * for example a command that it starts, no call fails.
 *
 * The file has several states, for processes that run in parallel. */
__attribute__((weak)) torture_state *torture_slot(unsigned slot);

/* Selects the state of this process and its children. */
__attribute__((weak)) void torture_use(unsigned slot);

/* The number of blocks that the code under test has allocated. */
__attribute__((weak)) uint64_t torture_blocks(void);
