/*
 * optimistic.h -- an update without a lock: read, compute, and write if the key has not changed;
 * otherwise try again.  The machine says what to do next; its owner does that and reports the
 * result.
 *
 *      READING --value--> COMPUTING --write--> WRITING --yes--> over: WRITTEN
 *        ^  |                |                 |    `--no reply--> over: UNKNOWN
 *        |  |                `--leave, stop--> |
 *        |  `--no string--> LEAVING <----------+
 *        |                     `--any result--> over: LEFT, STOPPED, FOREIGN_VALUE
 *        `---- PAUSING <-- no: the key was changed; or the server cannot serve now
 *
 * Each READ is a try.  The first conflict is followed by a try at once.  Before each later try
 * there is a pause that doubles; half of it is random: otherwise clients with a conflict would have
 * the next conflict with each other.  A connection that ended when nothing can have been written
 * costs a try; after BWL_OPTIMISTIC_BREAKS_MAX of them the update ends.
 *
 * A WRITING without a reply always ends the update: the write may have been carried out, and a
 * second one could be wrong (a counter).
 */
#ifndef BWL_LOCK_OPTIMISTIC_H
#define BWL_LOCK_OPTIMISTIC_H

#include "core/core.h"

enum {
    BWL_OPTIMISTIC_PAUSE_MAX_MS = 100,
    BWL_OPTIMISTIC_BREAKS_MAX   = 1, /* connections that may end during one update */
};

typedef enum bwl_optimistic_end {
    BWL_UPDATE_WRITTEN = 1,
    BWL_UPDATE_LEFT,          /* the caller's function chose not to write */
    BWL_UPDATE_STOPPED,       /* the caller's function chose to stop */
    BWL_UPDATE_FOREIGN_VALUE, /* the value of the key cannot be read */
    BWL_UPDATE_CONFLICTS,     /* no tries are left */
    BWL_UPDATE_TIME_UP,       /* no time is left */
    BWL_UPDATE_NOT_NOW,       /* no tries or time are left; the server could not serve */
    BWL_UPDATE_REFUSED,       /* the server refuses */
    BWL_UPDATE_UNREACHABLE,   /* nothing was written */
    BWL_UPDATE_UNKNOWN,
} bwl_optimistic_end;

typedef enum bwl_optimistic_want {
    BWL_WANT_READ = 1,
    BWL_WANT_COMPUTE, /* then call bwl_optimistic_computed */
    BWL_WANT_WRITE,
    BWL_WANT_LEAVE,
    BWL_WANT_PAUSE, /* until `at`, then send an ALARM */
    BWL_WANT_END,
} bwl_optimistic_want;

typedef struct bwl_optimistic_next {
    bwl_optimistic_want want;
    bwl_ms              at;  /* PAUSE */
    bwl_optimistic_end  end; /* END   */
} bwl_optimistic_next;

typedef enum bwl_optimistic_choice {
    BWL_CHOICE_WRITE = 1,
    BWL_CHOICE_LEAVE,
    BWL_CHOICE_STOP,
} bwl_optimistic_choice;

typedef struct bwl_optimistic {
    bwl_optimistic_want wants;     /* the last one that was returned: the state */
    bwl_optimistic_end  end;       /* LEAVE: the end after it */
    uint32_t            tries_max; /* 0: no limit */
    uint32_t            tries;
    uint32_t            conflicts;
    uint32_t            pauses;
    uint32_t            breaks;
    bwl_ms              until; /* no try begins after this; BWL_NEVER: no limit */
} bwl_optimistic;

/* Starts an update.  Returns READ. */
bwl_optimistic_next bwl_optimistic_begin(bwl_optimistic *o, uint32_t tries_max, bwl_ms until);

/* The result of READ, WRITE or LEAVE (REPLY, DOWN), or the end of the pause (ALARM). */
bwl_optimistic_next bwl_optimistic_event(bwl_optimistic *o, const bwl_event *ev);

/* The choice of the caller's function, after COMPUTE. */
bwl_optimistic_next bwl_optimistic_computed(bwl_optimistic *o, bwl_optimistic_choice choice);

#endif
