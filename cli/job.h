/*
 * job.h -- one `bowline run` under way: what its parts know of each other.
 */
#ifndef BOWLINE_CLI_JOB_H
#define BOWLINE_CLI_JOB_H

#include <bowline/async.h>

#include "child.h"
#include "config.h"
#include "guard.h"
#include "loop.h"
#include "options.h"
#include "say.h"
#include "signals.h"
#include "status.h"
#include "terminal.h"

/* How INT came to the command, or to us while waiting. */
typedef enum interrupt {
    INTERRUPT_NONE = 1,
    INTERRUPT_SENT,       /* by some process, to us                                          */
    INTERRUPT_KEY,        /* Ctrl-C: our whole process group has it                          */
    INTERRUPT_HIDDEN_KEY, /* Ctrl-C, while the command had the terminal: it alone has it     */
} interrupt;

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
    int64_t         began_at;
    int64_t         held_at;
    int64_t         expected_until; /* by the last look at the lock                       */
    int64_t         killed_at;
    int             ended_by; /* the signal that ended the waiting, or 0                     */
    interrupt       interrupt;
    bool            told_to_stop; /* Ctrl-Z: our whole process group has it                   */
    bool            was_lost;
    words           lost_why;
} job;

/* Begins a line for --status-fd about this job; returns `line`. */
static inline status_line *job_status(status_line *line, const job *j, const char *event)
{
    status_begin(line, j->options.status_fd, event, j->options.name);
    return line;
}

#endif
