/*
 * job.h -- the state of one `bowline run` or `bowline elect`, and its steps: run.c calls lock.c,
 * supervise.c and elect.c.
 */
#pragma once

#include <bowline/election.h>

#include "cli/run/child.h"
#include "cli/run/guard.h"
#include "cli/run/loop.h"
#include "cli/run/metrics.h"
#include "cli/run/others.h"
#include "cli/settings/config.h"
#include "cli/settings/options.h"
#include "cli/text/json.h"
#include "cli/text/say.h"

/* How INT reached the command, or bowline while it waited. */
typedef enum interrupt {
    INTERRUPT_NONE = 1,
    INTERRUPT_SENT,       /* a process sent it to bowline */
    INTERRUPT_KEY,        /* Ctrl-C, sent to the process group of bowline */
    INTERRUPT_HIDDEN_KEY, /* Ctrl-C, sent only to the command, which had the terminal */
} interrupt;

/* The stop of a command that loses its lock; see supervise.c. */
typedef struct ending {
    bool               has_begun;   /* the first TERM or KILL was sent */
    bool               not_stopped; /* a process could not be stopped in time */
    bool               gave_up;     /* and still exists when bowline exits */
    int64_t            killed_at;
    int64_t            lease_ms;  /* what an extension sets */
    pid_t              pid;       /* not_stopped: one of the processes */
    words              why;       /* not_stopped: which process, and why */
    bowline_operation *extension; /* NULL: none is in flight */
    family_known       known;
} ending;

typedef struct loss_report {
    bool        is_lost;
    bool        is_taken; /* the store reports another holder */
    words       why;
    const char *name; /* of the lock */
} loss_report;

/* Of `bowline elect`: see elect.c. */
typedef struct election {
    bool               is_on;
    bool               is_over;      /* a signal that ends bowline has come */
    bowline_operation *announcement; /* in flight; NULL */
} election;

typedef struct job {
    run_options     options;
    settings        settings;
    signals         signals;
    terminal        terminal;
    loop            loop;
    child           child;
    guard           guard;
    bowline_client *client;
    bowline_client *query_client; /* holder queries while waiting; NULL: use client */
    bowline_hold   *hold;         /* of NAME */
    others          others;       /* held together with it */
    bowline_holder  other;        /* of the last query */
    uint64_t        lock;         /* hash of the lock: nested.h */
    int64_t         began_at;
    int64_t         held_at;
    int64_t         expected_until; /* end of the hold at the last check */
    ending          ending;
    metrics         metrics;
    int             ended_by; /* the signal that ended the wait, or 0 */
    interrupt       interrupt;
    bool            stop_is_for_group; /* Ctrl-Z, sent to the process group of bowline */
    bool            server_is_silent;  /* the wait has ended without it */
    loss_report     loss;
    election        election;
} job;

/* Of all holds, the one that ends first. */
static inline bowline_hold *job_hold(const job *j)
{
    return others_first_to_end(&j->others, &j->options, j->hold);
}

/* Time until the hold ends or --max-hold is reached.  Only bowline enforces --max-hold: the library
 * renews until the command has ended. */
static inline int64_t job_left_ms(const job *j)
{
    int64_t left_ms     = bowline_hold_left_ms(job_hold(j));
    int64_t max_hold_ms = j->settings.max_hold_ms;
    int64_t held_ms     = loop_now() - j->held_at;

    if (max_hold_ms == 0 || left_ms == 0)
        return left_ms;
    if (held_ms >= max_hold_ms)
        return 0;
    return left_ms < max_hold_ms - held_ms ? left_ms : max_hold_ms - held_ms;
}

/* Begins an event about this job: see json.h. */
static inline void job_event(const job *j, const char *event)
{
    json_event(j->options.status_fd, event, j->options.name);
}

/* Opens the client with the settings of the job, and prints its warning.  options.command is NULL
 * for `bowline hold`. */
int lock_open(job *j, failure *reterr);

/* Everything before the lock is acquired: finds the settings of the options, takes the signals,
 * opens the client and the loop.  Refuses to wait for a lock that is held around this process
 * (nested.h); without a wait, the acquire fails as for any lock that is held.  Sets `lock`. */
int lock_prepare(job *j, failure *reterr);

/* Stores in ended_by a signal that makes bowline exit. */
void lock_check_signals(job *j);

/* Returns 0 if the lock is held, or if a signal ended the wait (ended_by); in that case `hold` is
 * set only if the lock was acquired nevertheless.  Wipes the URL, which may contain a password. */
int lock_take(job *j, failure *reterr);

/* Releases the lock.  A signal ends the wait for the reply; the lock then ends with its lease. */
int lock_release(job *j, bowline_error *reterr);

/* Whether the error of a loss names a client that broke the lock: "it was broken by USER@HOST". */
bool loss_breaker(const bowline_error *loss, words *ret_why);

/* Reports these words on --status-fd. */
void report_breaker(const job *j, words why);

/* Whether the locks of the job have a leader.  Call after lock_prepare. */
int elect_check(const job *j, failure *reterr);

/* The command runs: announces that this process leads.  Later: reads the result, and says why
 * observers do not see it. */
void elect_announce(job *j);
void elect_look(job *j);

/* Before the release: forgets an announcement in flight. */
void elect_end(job *j);

/* After the release: whether the leadership was lost, and is wanted again.  Says so, and makes the
 * job as it was before the lock. */
bool elect_again(job *j);

/* Watches the lock and the command until the command has ended. */
void supervise(job *j);

/* "gone" or "taken", by bowline_error.loss; NULL: unknown. */
const char *loss_name(int loss);

/* What the store has instead of the lock of the job: bowline_error.loss. */
int loss_of(const job *j);

/* Why the lock is lost; left_ms: what job_left_ms has returned. */
words loss_why(const job *j, int64_t left_ms);

/* `bowline run`: runs a command while holding a lock.  `bowline elect`: likewise, until it ends by
 * itself.  argv[0] is "run" or "elect".  Returns the exit code. */
int run_main(int argc, char **argv);
int elect_main(int argc, char **argv);
