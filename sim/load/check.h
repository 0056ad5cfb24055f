/*
 * check.h -- what must be true in every world, and the first thing that was not.
 *
 * A program under test reports what it may rely on: that it holds a lock, for how long by its own
 * clock, and that it no longer does.  After every event the checker compares these claims.  It
 * knows nothing of servers and protocols.
 */
#pragma once

#include "sim/kernel/process.h"
#include "sim/load/calm.h"

/* A share of a lock that the servers keep. */
typedef struct check_kept {
    unsigned process; /* its number; 0: not known */
    unsigned weight;  /* in permits; 0: not known */
    int64_t  left_ns; /* by the clock of the world */
} check_kept;

/* What the world promises.  A server that loses what it acknowledged breaks mutual exclusion, as
 * docs/explanation/guarantees.md says. */
typedef struct check_rules {
    bool excludes;   /* two holders never */
    bool has_fences; /* and they grow, if it excludes; see check.c */
    bool are_kept;   /* the fences: they grow also after a loss of data */

    /* First come, first served: no later waiter of another process is served before one that began
     * to wait order_ns earlier; SIM_NEVER: no order is promised.  `turns`: so many times, because
     * the threads of a process hand the lock on. */
    int64_t  order_ns;
    unsigned turns;

    /* A lock goes to the next waiter within this time if nothing disturbs its clients, and no hold
     * has just expired; SIM_NEVER: that is not promised. */
    int64_t woken_ns;

    /* From the call to the arrival of its request, at most: two calls may change places in it. */
    int64_t request_ns;

    /* For so long the servers keep the lock, in nanoseconds of the world, or SIM_NEVER: no
     * process relies on it for longer.  NULL: that is not known. */
    int64_t (*left_ns)(unsigned name);

    /* The same for each of those that share the lock; NULL: servers are down.  The result is valid
     * until the next call. */
    const check_kept *(*shares)(unsigned name, unsigned *ret_count);

    /* The effects of a fault are over so long after it; SIM_NEVER: the network itself is slow. */
    int64_t grace_ns;
} check_rules;

typedef struct check_hold check_hold; /* a claim to hold a lock */
typedef struct check_wait check_wait; /* an acquire that has not ended */

/* How an acquire wants to share the lock: so many permits, and so many may be in use with them.
 * weight 0: with nobody; limit 0: any number. */
typedef struct check_share {
    unsigned weight;
    unsigned limit;
} check_share;

/* The time that is left of a hold, by the boot clock of its process.  Time passes while the library
 * is asked: the process relies on `until`, and the library may have meant `latest`. */
typedef struct check_left {
    int64_t until;
    int64_t latest;
    int64_t lease_ns; /* of the client */
} check_left;

/* The start of the world counts as a fault: servers are young. */
void check_begin(check_rules rules);
void check_end(void);

/* Two processes never hold the same lock. */
bool check_excludes(void);

/* The server dies.  When it is started again, what it had granted is renewed no more. */
void check_restart(void);

/* ---- claims ---------------------------------------------------------------------------------- */

/* An acquire or a yield begins, for wait_ms (below 0: without a limit). */
check_wait *check_waits(unsigned name, sim_process *process, check_share share, int64_t wait_ms);
check_wait *check_yields(unsigned name, sim_process *process, check_share share, int64_t wait_ms);
/* An import begins, of a hold with this fence: it is the same period of holding. */
check_wait *check_imports(unsigned name, sim_process *process, uint64_t fence);
/* A hold has another mode now, with its claim dropped before: it has passed nobody. */
check_wait *check_changes(unsigned name, sim_process *process, check_share share);
/* It may lose its place from now on. */
void check_withdrawn(check_wait *wait);
/* It is one of several that are acquired together: its process may have the lock, and wait for
 * another one. */
void check_of_several(check_wait *wait);
/* It has ended without a grant. */
void check_wait_over(check_wait *wait);
/* It has ended: from now on the process relies on the lock. */
check_hold *check_granted(check_wait *wait, uint64_t fence, check_left left);

/* It counts as shared by any number (weight 1) or exclusive (0) from now on.  fence 0: unknown. */
void check_counts_as(check_hold *hold, unsigned weight, uint64_t fence);
/* It ends max_ms after now at the latest; 0: it has no longest time. */
void check_longest(check_hold *hold, int64_t max_ms);
/* The library was asked again. */
void check_until(check_hold *hold, check_left left);
/* It does not rely on it any more: a release began, or it has learned of a loss. */
void check_over(check_hold *hold);
/* A hold was exported: the servers keep its lock until a time from `least` to `most`, by the clock
 * of the world, if it is not imported. */
void check_passed_on(unsigned name, int64_t least, int64_t most);
/* The permits on which processes have relied since then; an exclusive hold counts as one. */
unsigned check_permits_since(unsigned name, int64_t since);
/* The servers may keep the lock until then, and no process relies on it. */
void check_rests(unsigned name, int64_t until);
/* Some process relies on the lock now, or may import it; the process relies on some lock. */
bool check_is_relied_on(unsigned name);
bool check_relies(const sim_process *process);
/* A client closes; whether one has closed since that time. */
void check_closes(void);
bool check_has_closed(int64_t since);
/* No process relies on a share for longer than the servers keep it. */
void check_shares(unsigned name);
/* So for all holds of a process that was killed. */
void check_killed(const sim_process *process);

/* ---- the result ------------------------------------------------------------------------------ */

/* Records a failure; only the first counts. */
void check_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Compares all claims; false: there was a failure, here or before. */
bool check_step(void);

/* NULL: none. */
const char *check_failure(void);

/* Grants so far. */
uint64_t check_grants(void);
