/*
 * uncancelled.h -- no call of the library is a cancellation point.
 *
 * A thread that ended in the middle of a call (pthread_cancel, at a read, a write, a wait of ours)
 * would leave the client's mutex locked, or a driver that is not there, or a lock that is held and
 * that nobody has a handle to.  So cancelling is put off from the first line of every call to its
 * last: the call comes back with its result, and the thread ends at its own next cancellation
 * point.  Who wants to end a wait uses bowline_cancel.
 *
 * For deferred cancelling, the default.  A thread that may be cancelled at every instruction
 * (PTHREAD_CANCEL_ASYNCHRONOUS) may call nothing that is not made for it, and so nothing of ours.
 */
#pragma once

#include <pthread.h>

static inline int bwl_cancel_off(void)
{
    int before;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* fails for bad states only */
    return before;
}

static inline void bwl_cancel_as_before(const int *before)
{
    int ours;

    (void)pthread_setcancelstate(*before, &ours);
}

/* The first line of a public function, ended by a semicolon. */
#define BWL_UNCANCELLED \
    __attribute__((cleanup(bwl_cancel_as_before), unused)) const int cancel_state = bwl_cancel_off()
