/*
 * uncancelled.h -- no call of the library is a cancellation point.
 *
 * A thread that ended in the middle of a call (pthread_cancel, at a read, a write or a wait) would
 * leave the mutex locked, or the loop marked as running, or a held lock without a handle.  So
 * cancellation is disabled from the first line of every call to its last: the call returns its
 * result, and the thread ends at its own next cancellation point.  bowline_cancel ends a wait.
 *
 * For deferred cancellation, the default.  A thread with asynchronous cancellation
 * (PTHREAD_CANCEL_ASYNCHRONOUS) may only call async-cancel-safe functions, so none of this library.
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

/* Must be the first line of a public function. */
#define BWL_UNCANCELLED \
    __attribute__((cleanup(bwl_cancel_as_before), unused)) const int cancel_state = bwl_cancel_off()
