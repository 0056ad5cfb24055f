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
    bool excludes;   /* two holders never */
    bool has_fences; /* and they grow, if it excludes: see check.c */

    /* First come, first served: no later waiter of another process is served before one that began
     * to wait order_ns earlier; SIM_NEVER: no order is promised.  `turns`: so many times, because
     * the threads of a process hand the lock on. */
    int64_t  order_ns;
    unsigned turns;
} check_rules;

typedef struct check_hold check_hold; /* a claim to hold a lock */
typedef struct check_wait check_wait; /* an acquire that has not ended */

void check_begin(check_rules rules);
void check_end(void);

/* An acquire or a yield begins, for wait_ms (below 0: without a limit); it ends, with a grant or
 * without.  When the time is nearly up, its request may be withdrawn already. */
check_wait *check_waits(unsigned name, sim_process *process, int64_t wait_ms);
void        check_wait_over(check_wait *wait, bool is_granted);

/* From now on the process relies on the lock until its boot clock shows `until`. */
check_hold *check_granted(unsigned name, sim_process *process, uint64_t fence, int64_t until);
/* It ends max_ms after now at the latest; 0: it has no longest time. */
void check_longest(check_hold *hold, int64_t max_ms);
/* The library was asked again. */
void check_until(check_hold *hold, int64_t until);
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
