/*
 * backoff.h -- the pause between two attempts: it doubles up to a limit, and half of it is random,
 * so that clients do not retry at the same times ("equal jitter": M. Brooker, Exponential Backoff
 * And Jitter, AWS Architecture Blog, 2015).
 */
#ifndef BWL_LOCK_BACKOFF_H
#define BWL_LOCK_BACKOFF_H

#include "core/core.h"

enum { BWL_BACKOFF_MIN_MS = 10 };

/* The pause after `pauses` pauses in a row: BWL_BACKOFF_MIN_MS / 2 .. longest_ms.  Uses the first
 * two bytes of `fresh`; no token is made from the same bytes, because each event has its own. */
bwl_ms bwl_backoff_ms(unsigned pauses, bwl_ms longest_ms, const bwl_random *fresh);

#endif
