/*
 * backoff.h -- how long to leave a store alone between two attempts: twice as long each time, up to
 * a bound, and half of it left to chance, lest equal clients stay in step ("equal jitter":
 * M. Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015).
 */
#ifndef BWL_LOCK_BACKOFF_H
#define BWL_LOCK_BACKOFF_H

#include "core/core.h"

enum { BWL_BACKOFF_MIN_MS = 10 };

/* The pause after so many before it, `longest_ms` at most.  Of `fresh` the first two bytes are
 * used: not those that a token will be made of, as each event brings its own. */
bwl_ms bwl_backoff_ms(unsigned pauses, bwl_ms longest_ms, const bwl_random *fresh);

#endif
