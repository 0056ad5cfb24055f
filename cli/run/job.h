/*
 * job.h -- one `bowline run` under way: what its parts know of each other.
 */
#ifndef BOWLINE_CLI_RUN_JOB_H
#define BOWLINE_CLI_RUN_JOB_H

#include <bowline/async.h>

#include "cli/run/child.h"
#include "cli/run/family.h"
#include "cli/run/guard.h"
#include "cli/run/loop.h"
#include "cli/run/signals.h"
#include "cli/run/terminal.h"
#include "cli/settings/config.h"
#include "cli/settings/options.h"
#include "cli/text/say.h"
#include "cli/text/status.h"

/* How INT came to the command, or to us while waiting. */
typedef enum interrupt {
    INTERRUPT_NONE = 1,
    INTERRUPT_SENT,       /* by some process, to us                                          */
    INTERRUPT_KEY,        /* Ctrl-C: our whole process group has it                          */
    INTERRUPT_HIDDEN_KEY, /* Ctrl-C, while the command had the terminal: it alone has it     */
} interrupt;

/* How a command was ended whose lock is being lost: ending.h. */
typedef struct ending {
    bool    has_begun;
    bool    not_stopped; /* some process could not be stopped in time                     */
    bool    gave_up;     /* and is there still, at the end of bowline                     */
    int64_t killed_at;
    int64_t lease_ms;             /* what an extension gives                              */
    pid_t   pid;                  /* not_stopped: one of the processes                    */
    words   why;                  /* not_stopped: who it is, and what hinders             */
    bowline_operation *extension; /* NULL: none is under way                              */
    family_known       known;
} ending;

typedef struct job {
    run_options     options;
    settings        settings;
    signals         signals;
    terminal        terminal;
    loop            loop;
    child           child;
    guard           guard;
    bowline_client *client;
    bowline_client *asker; /* asks who holds the lock while we wait; NULL: client does        */
    bowline_hold   *hold;
    uint64_t        lock; /* nested.h */
    int64_t         began_at;
    int64_t         held_at;
    int64_t         expected_until; /* by the last look at the lock                       */
    ending          ending;
    int             ended_by; /* the signal that ended the waiting, or 0                     */
    interrupt       interrupt;
    bool            told_to_stop; /* Ctrl-Z: our whole process group has it                   */
    bool            was_lost;
    bool            was_taken; /* lost, because the store says that it is not ours            */
    words           lost_why;
} job;

/* How long the lock is ours, at most until --max-hold is over.  That is an end which bowline sets
 * itself: the library goes on renewing until the command has ended. */
static inline int64_t job_left_ms(const job *j)
{
    int64_t left_ms     = bowline_hold_left_ms(j->hold);
    int64_t max_hold_ms = j->settings.max_hold_ms;
    int64_t held_ms     = loop_now() - j->held_at;

    if (max_hold_ms == 0 || left_ms == 0)
        return left_ms;
    if (held_ms >= max_hold_ms)
        return 0;
    return left_ms < max_hold_ms - held_ms ? left_ms : max_hold_ms - held_ms;
}

/* Begins a line for --status-fd about this job; returns `line`. */
static inline status_line *job_status(status_line *line, const job *j, const char *event)
{
    status_begin(line, j->options.status_fd, event, j->options.name);
    return line;
}

#endif
