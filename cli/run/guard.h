/*
 * guard.h -- when to stop a command whose lock is running out.  Pure: no clock, no signals.
 *
 *      time left:   |------ lease ------------------------|---- grace ----|- margin -|
 *                   command runs, lease is renewed        TERM            KILL       lost
 *
 * After TERM, a late renewal does not save the command: KILL follows.  If the lock is already lost
 * at the first check (another client removed it, or bowline was stopped), there is no time for
 * TERM, because the next holder may already work.
 */
#pragma once

#include <stdint.h>

#include "cli/settings/options.h"

typedef enum guard_order {
    GUARD_NOTHING = 1,
    GUARD_WARN, /* report that the lock is lost */
    GUARD_TERM, /* send TERM */
    GUARD_KILL, /* send KILL */
} guard_order;

typedef enum guard_state {
    GUARD_WATCHING = 1,
    GUARD_STOPPING, /* TERM was sent, KILL is due at kill_at_ms */
    GUARD_DONE,     /* killed or warned */
} guard_state;

typedef struct guard {
    guard_state state;
    lost_policy policy;
    int64_t     grace_ms;  /* send TERM when this much time is left */
    int64_t     margin_ms; /* send KILL when this much time is left */
    int64_t     kill_at_ms;
} guard;

/* `left_ms` is the time left at the start.  The grace is at most half of it, so that a renewal
 * after a third of the lease comes well before it. */
void guard_init(guard *ret_guard, lost_policy policy, int64_t kill_after_ms, int64_t left_ms);

/* Returns the next order, and in *ret_wait_ms how long there will be none (or BOWLINE_FOREVER).
 * Call again after an order: another may be due. */
guard_order guard_look(guard *g, int64_t left_ms, int64_t now_ms, int64_t *ret_wait_ms);
