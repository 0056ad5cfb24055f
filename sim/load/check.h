/*
 * check.h -- what must be true in every world, and the first thing that was not.
 *
 * A program under test reports what it may rely on: that it holds a lock, for how long by its own
 * clock, and that it no longer does.  After every event the checker compares these claims.  It
 * knows nothing of servers and protocols.
 */
#pragma once

#include "sim/kernel/process.h"

enum { CHECK_NAMES_MAX = 8 };

/* What the world promises.  A server that loses what it acknowledged breaks mutual exclusion, as
 * docs/guarantees.md says. */
typedef struct check_rules {
    bool excludes;    /* two holders never */
    bool has_fences;  /* and they grow, if it excludes: see check.c */
    bool keeps_order; /* first come, first served */
} check_rules;

typedef struct check_hold check_hold; /* a claim to hold a lock */

void check_begin(check_rules rules);
void check_end(void);

/* From now on the process relies on the lock, for left_ms by its boot clock as of now. */
check_hold *check_granted(unsigned name, sim_process *process, uint64_t fence, int64_t left_ms);
/* The library was asked again. */
void check_left(check_hold *hold, int64_t left_ms);
/* It does not rely on it any more: a release began, or it has learned of a loss. */
void check_over(check_hold *hold);
/* So for all holds of a process that was killed. */
void check_killed(const sim_process *process);

/* Records a failure; only the first counts. */
void check_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Compares all claims; false: there was a failure, here or before. */
bool check_step(void);

/* NULL: none. */
const char *check_failure(void);

/* Grants so far. */
uint64_t check_grants(void);
