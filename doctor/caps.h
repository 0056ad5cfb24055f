/*
 * caps.h -- what the locks at a URL guarantee: order, fence, wake-up, report of a loss, effect of a
 * crash.
 *
 * The URL is enough to know, because bowline never uses another protocol than the one it names, and
 * refuses a server that cannot support it. doctor.h checks the server.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CAPS_TEXT_MAX = 320 };

/* One row of the table.  Every text is a constant. */
typedef struct caps_row {
    const char *engine;   /* "thread", "file", "redis", "cluster", "redlock" */
    const char *protocol; /* NULL: the engine has only one                   */
    const char *variant;  /* NULL, "remote", "server", "fenced": see caps.c  */
    bool        renews;
    const char *wake;  /* "handed": by the release; "kernel"; "push": by the server; "poll" */
    const char *loss;  /* "none": cannot happen; "told": at the next renewal or connection;
                       * "clock": only the clock of the holder ends it */
    const char *crash; /* "freed": at once; "lease": when it ends; "never"; "process": when the
                        * process ends; "file": as a lock file says */
    const char *excludes_words;
    const char *order_words; /* NULL: no order */
    const char *fence_words; /* NULL: no fence */
    const char *wake_words;
    const char *loss_words;
    const char *crash_words;
} caps_row;

typedef struct caps {
    caps_row    row;
    char        place[CAPS_TEXT_MAX]; /* the URL, without user, password and options       */
    char        profile[48];          /* "": none                                          */
    char        risk[CAPS_TEXT_MAX];  /* an accepted fault of the protocol; "": none known */
    bool        is_default;           /* the URL does not name the protocol                */
    const char *why_no_period;        /* a constant; NULL: a lock can stay taken when released */
    const char *why_not_shared;       /* a constant; NULL: several holders: shared, permits    */
    const char *why_no_change;        /* a constant; NULL: a hold can be downgraded, upgraded  */
    const char *several;              /* free names at once: "script", "slot": a script if they are
                                       * in one slot, "each": a command for each               */
    const char *why_no_ticket;        /* a constant; NULL: a hold can be passed on             */
    const char *why_no_election;      /* a constant; NULL: a holder can announce that it leads */
    bool        renews;               /* that of the row, unless the URL has renew=off     */
    int64_t     lease_ms;             /* 0: no lease                                       */
    int64_t     sticky_ms;            /* a released lock stays with its client; 0: not     */
    int64_t     wait_ms;              /* default wait; 0: one attempt; INT64_MAX: for ever */
    unsigned    tries_max;            /* 0: no limit but the wait                          */
    unsigned    replicas;             /* replicas that must have the lock before it counts */
} caps;

/* lease_ms as in bowline_options.  Below 0: the URL cannot be opened; ret_why has the reason,
 * without a secret. */
int caps_find(caps *ret_caps, const char *url, uint32_t lease_ms, char ret_why[CAPS_TEXT_MAX]);
