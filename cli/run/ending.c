/*
 * ending.c -- see ending.h.
 *
 * A process that bowline may not signal does not end by itself, so it is reported at once. A killed
 * process may need time to end: much memory to free, a busy machine. While processes are left, the
 * lock is renewed as before. With --no-renew the lease is extended from KILL on, because it would
 * end before bowline sees the end of the last process.
 */
#include "cli/run/ending.h"

#include <errno.h>
#include <string.h>

enum { KILLED_MS = 5000 }; /* time for killed processes to end */

void ending_term(job *j)
{
    /* Before the group: when its parents end, an orphan may no longer be found. */
    family_signal_outside(&j->ending.known, &j->child, SIGTERM);
    (void)child_signal(&j->child, SIGTERM); /* (void): KILL follows and is checked */
    /* A stopped process handles TERM only after CONT. */
    (void)child_signal(&j->child, SIGCONT);
    family_signal_outside(&j->ending.known, &j->child, SIGCONT);
    j->ending.has_begun = true;
}

void ending_kill(job *j)
{
    family all;

    if (j->child.had_children) /* remember processes before they become orphans */
        family_signal(&all, &j->ending.known, &j->child, 0);
    (void)child_signal(&j->child, SIGKILL); /* (void): ending_continues checks each process */
    j->ending.has_begun = true;
    j->ending.killed_at = loop_now();
}

bool ending_has_begun(const job *j)
{
    return j->ending.has_begun;
}

static words rest_words(const family *rest)
{
    words who = words_of("pid %d", (int)rest->pid);

    if (rest->pid == 0)
        return words_of(
            "one of its processes is hidden, or starts others faster than bowline finds them");
    if (rest->program[0] != '\0')
        who = words_of("%s (%s)", who.text, rest->program);
    who = words_of("%s: %s", who.text,
                   rest->refused > 0 ? strerror(EPERM) : "killed, but still there");
    if (rest->alive > 1)
        who = words_of("%s, and %d more", who.text, rest->alive - 1);
    return who;
}

/* Reports once, as soon as it is known. */
static void report_not_stopped(job *j, const family *rest)
{
    int64_t     left_ms = bowline_hold_left_ms(j->hold);
    status_line line;

    if (j->ending.not_stopped)
        return;
    j->ending.not_stopped = true;
    j->ending.pid         = rest->pid;
    j->ending.why         = rest_words(rest);
    job_status(&line, j, "lost");
    status_add_text(&line, "action", "not-stopped");
    status_add_text(&line, "why", j->ending.why.text);
    status_add_number(&line, "pid", rest->pid);
    if (left_ms != INT64_MAX)
        status_add_number(&line, "left_ms", left_ms);
    status_send(&line);
    say_line(words_of("%s could not be stopped: %s%s", j->options.command[0], j->ending.why.text,
                      left_ms > 0 ? "; bowline keeps the lock while it can" : "")
                 .text);
}

/* With --no-renew nothing else extends the lease. */
static void extend_lease(job *j)
{
    int64_t left_ms = bowline_hold_left_ms(j->hold);

    if (j->ending.extension != NULL && bowline_operation_done(j->ending.extension)) {
        (void)bowline_finish(j->ending.extension, NULL); /* (void): left_ms shows the result */
        j->ending.extension = NULL;
    }
    if (!j->options.no_renew || j->ending.extension != NULL || left_ms == 0 ||
        left_ms > j->ending.lease_ms / 2)
        return;
    if (bowline_extend_start(&j->ending.extension, j->hold, 0, NULL) < 0)
        j->ending.extension = NULL; /* the protocol cannot extend: the lease ends */
}

/* Looks for the killed processes until they have ended. */
static bool killing_continues(job *j)
{
    family rest;

    extend_lease(j);
    family_signal(&rest, &j->ending.known, &j->child, SIGKILL);
    if (rest.alive == 0 && !j->child.is_running)
        return false;
    if (rest.alive > rest.refused || rest.alive == 0) {
        if (loop_now() < j->ending.killed_at + KILLED_MS)
            return true;
        if (rest.alive == 0) /* a zombie that its parent has not reaped */
            rest = (family){ .alive = 1, .pid = j->child.pid };
    }
    report_not_stopped(j, &rest);
    j->ending.gave_up = bowline_hold_left_ms(j->hold) == 0 || j->ended_by != 0;
    return !j->ending.gave_up;
}

bool ending_continues(job *j)
{
    family rest;

    if (j->ending.killed_at != 0)
        return killing_continues(j);
    if (j->child.is_running)
        return true;
    family_signal(&rest, &j->ending.known, &j->child, 0);
    return rest.alive > 0;
}

void ending_close(job *j)
{
    family_forget(&j->ending.known);
    if (j->ending.extension == NULL)
        return;
    bowline_cancel(j->ending.extension);
    (void)bowline_finish(j->ending.extension, NULL); /* (void): the lock is released next */
    j->ending.extension = NULL;
}
