/*
 * guard.h -- when to end a command whose lock is running out.  Pure: no clock, no signals.
 *
 *      time left:   |------ lease ------------------------|---- grace ----|- margin -|
 *                   working, renewed again and again      TERM            KILL       gone
 *
 * Once TERM is sent nothing takes it back: a renewal that succeeds late does not un-stop a command.
 * Where the lock is gone already when we look (somebody removed it, or we were stopped ourselves)
 * there is no time for TERM: every moment may be the next holder's.
 */
#ifndef BOWLINE_CLI_RUN_GUARD_H
#define BOWLINE_CLI_RUN_GUARD_H

#include <stdint.h>

#include "cli/settings/options.h"

typedef enum guard_order {
    GUARD_NOTHING = 1,
    GUARD_WARN, /* say that the lock is gone */
    GUARD_TERM, /* TERM the group            */
    GUARD_KILL, /* KILL the group            */
} guard_order;

typedef enum guard_state {
    GUARD_WATCHING = 1,
    GUARD_STOPPING, /* TERM is sent, KILL is due at kill_at_ms */
    GUARD_DONE,     /* killed, or warned                       */
} guard_state;

typedef struct guard {
    guard_state state;
    lost_policy policy;
    int64_t     grace_ms;  /* TERM when no more than this is left */
    int64_t     margin_ms; /* KILL when no more than this is left */
    int64_t     kill_at_ms;
} guard;

/* `left_ms` is what is left at the start: the grace is at most half of it, so that a renewal at a
 * third of the lease comes well before. */
void guard_init(guard *ret_guard, lost_policy policy, int64_t kill_after_ms, int64_t left_ms);

/* What is to be done now, and in *ret_wait_ms how long nothing will be (BOWLINE_FOREVER).  After an
 * order there may be another: call again. */
guard_order guard_look(guard *g, int64_t left_ms, int64_t now_ms, int64_t *ret_wait_ms);

#endif
