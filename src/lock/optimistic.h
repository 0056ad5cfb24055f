/*
 * optimistic.h -- an update that locks nothing: read, compute, write if nobody came between; else
 * again.  The machine says what to do next; whoever runs it does that and tells how it came out.
 *
 *      READING --seen--> COMPUTING --write--> WRITING --yes--> over: WRITTEN
 *        ^  |                |                 |    `--no answer--> over: UNKNOWN
 *        |  |                `--leave, stop--> |
 *        |  `--no string--> LEAVING <----------+
 *        |                     `--whatever it says--> over: LEFT, STOPPED, FOREIGN_VALUE
 *        `---- PAUSING <-- no: somebody came between; or the server cannot serve now
 *
 * A try is one READ.  A conflict is followed by another try: the first at once, those behind it
 * after a pause that doubles, half of it left to chance, as those who meet on a key would meet
 * again.  A connection that broke where nothing can have been written is a try as well, and
 * forgiven so many times and no more.
 *
 * A WRITING that is not answered is the end, whatever is left of tries and time: it may have been
 * carried out, and what the caller computes may not bear to be written twice (a counter).
 */
#ifndef BWL_LOCK_OPTIMISTIC_H
#define BWL_LOCK_OPTIMISTIC_H

#include "core/core.h"

enum {
    BWL_OPTIMISTIC_PAUSE_MAX_MS = 100,
    BWL_OPTIMISTIC_BREAKS_MAX   = 1, /* connections that may break under one update              */
};

typedef enum bwl_optimistic_end {
    BWL_UPDATE_WRITTEN = 1,
    BWL_UPDATE_LEFT,    /* the caller's function wanted nothing written                      */
    BWL_UPDATE_STOPPED, /* the caller's function wanted to stop                              */
    BWL_UPDATE_FOREIGN_VALUE, /* the key holds what cannot be read */
    BWL_UPDATE_CONFLICTS,   /* the tries are used up                                             */
    BWL_UPDATE_TIME_UP,     /* the time is                                                       */
    BWL_UPDATE_NOT_NOW,     /* tries or time, while the server could not serve                   */
    BWL_UPDATE_REFUSED,     /* the server will not                                               */
    BWL_UPDATE_UNREACHABLE, /* nothing was written */
    BWL_UPDATE_UNKNOWN,
} bwl_optimistic_end;

typedef enum bwl_optimistic_want {
    BWL_WANT_READ = 1,
    BWL_WANT_COMPUTE, /* then bwl_optimistic_computed                                           */
    BWL_WANT_WRITE,
    BWL_WANT_LEAVE,
    BWL_WANT_PAUSE, /* until `at`, then an ALARM                                                */
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
    bwl_optimistic_want wants; /* what was wanted last: the state                               */
    bwl_optimistic_end  end;   /* LEAVE: what comes after it                                    */
    uint32_t            tries_max; /* 0: no bound                                               */
    uint32_t            tries;
    uint32_t            conflicts;
    uint32_t            pauses;
    uint32_t            breaks;
    bwl_ms              until; /* a try begins before this, or at it; NEVER                     */
} bwl_optimistic;

/* Begins: READ. */
bwl_optimistic_next bwl_optimistic_begin(bwl_optimistic *o, uint32_t tries_max, bwl_ms until);

/* READ, WRITE or LEAVE came out (REPLY, DOWN), or the pause is over (ALARM). */
bwl_optimistic_next bwl_optimistic_event(bwl_optimistic *o, const bwl_event *ev);

bwl_optimistic_next bwl_optimistic_computed(bwl_optimistic *o, bwl_optimistic_choice choice);

#endif
