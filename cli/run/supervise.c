/*
 * supervise.c -- watches the lock and the command until the command has ended.
 *
 * Three things can happen in any order: the lock runs out (guard.h), a signal arrives, the command
 * stops or ends.  The lock is always checked first.
 */
#include "cli/run/job.h"

#include <errno.h>
#include <string.h>

/* A process that bowline may not signal does not end by itself, so it is reported at once.  A
 * killed process may need time to end: much memory to free, a busy machine.  While processes are
 * left, the lock is renewed as before.  With --no-renew the lease is extended from KILL on, because
 * it would end before bowline sees the end of the last process. */

enum { KILLED_MS = 5000 }; /* time for killed processes to end */

static void ending_term(job *j)
{
    /* Before the group: when its parents end, an orphan may no longer be found. */
    family_signal_outside(&j->ending.known, &j->child, SIGTERM);
    (void)child_signal(&j->child, SIGTERM); /* (void): KILL follows and is checked */
    (void)child_signal(&j->child, SIGCONT); /* a stopped process handles TERM after CONT */
    family_signal_outside(&j->ending.known, &j->child, SIGCONT);
    j->ending.has_begun = true;
}

static void ending_kill(job *j)
{
    family all;

    if (j->child.had_children) /* remember processes before they become orphans */
        family_signal(&all, &j->ending.known, &j->child, 0);
    (void)child_signal(&j->child, SIGKILL); /* (void): ending_continues checks each process */
    j->ending.has_begun = true;
    j->ending.killed_at = loop_now();
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
    int64_t left_ms = bowline_hold_left_ms(job_hold(j));

    if (j->ending.not_stopped)
        return;
    j->ending.not_stopped = true;
    j->ending.pid         = rest->pid;
    j->ending.why         = rest_words(rest);
    job_event(j, "lost");
    json_text("action", "not-stopped");
    json_text("why", j->ending.why.text);
    json_number("pid", rest->pid);
    if (left_ms != INT64_MAX)
        json_number("left_ms", left_ms);
    json_send();
    say_line("%s could not be stopped: %s%s", j->options.command[0], j->ending.why.text,
             left_ms > 0 ? "; bowline keeps the lock while it can" : "");
}

/* With --no-renew nothing else extends the lease. */
static void extend_lease(job *j)
{
    int64_t left_ms = bowline_hold_left_ms(job_hold(j));

    if (j->ending.extension != NULL && bowline_operation_done(j->ending.extension)) {
        (void)bowline_finish(j->ending.extension, NULL); /* (void): left_ms shows the result */
        j->ending.extension = NULL;
    }
    if (!j->options.no_renew || j->ending.extension != NULL || left_ms == 0 ||
        left_ms > j->ending.lease_ms / 2)
        return;
    if (bowline_extend_start(&j->ending.extension, job_hold(j), 0, NULL) < 0)
        j->ending.extension = NULL; /* the protocol cannot extend: the lease ends */
}

/* Checks the killed processes until they have ended. */
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
    j->ending.gave_up = bowline_hold_left_ms(job_hold(j)) == 0 || j->ended_by != 0;
    return !j->ending.gave_up;
}

/* Checks which processes are left, and kills them when it is time.  Returns false if none is left,
 * or if the rest cannot be stopped and the lock cannot be kept any longer (j->ending.gave_up). */
static bool ending_continues(job *j)
{
    family rest;

    if (j->ending.killed_at != 0)
        return killing_continues(j);
    if (j->child.is_running)
        return true;
    family_signal(&rest, &j->ending.known, &j->child, 0);
    return rest.alive > 0;
}

/* Call before the lock is released. */
static void ending_close(job *j)
{
    family_forget(&j->ending.known);
    if (j->ending.extension == NULL)
        return;
    bowline_cancel(j->ending.extension);
    (void)bowline_finish(j->ending.extension, NULL); /* (void): the lock is released next */
    j->ending.extension = NULL;
}

/* Interval of the scans for processes of the command: normally, and after some could not be
 * stopped. */
enum { LOOK_MS = 20, LOOK_AGAIN_MS = 250 };

enum { BREAKER_MS = 500 }; /* time for the store to name the user of `bowline break` */

/* The hold was valid a moment ago, and no deadline that bowline knows has ended it. */
static bool is_taken(const job *j, int64_t left_ms)
{
    return left_ms == 0 && j->expected_until > loop_now() + j->guard.margin_ms;
}

const char *loss_name(int loss)
{
    if (loss == BOWLINE_LOSS_UNKNOWN)
        return NULL;
    return loss == BOWLINE_LOSS_TAKEN ? "taken" : "gone";
}

static const char *loss_words(int loss)
{
    if (loss == BOWLINE_LOSS_UNKNOWN)
        return "the store reports another holder or none";
    return loss == BOWLINE_LOSS_TAKEN ? "another client has the lock now"
                                      : "the store does not have the lock any more";
}

int loss_of(const job *j)
{
    bowline_error error = { 0 };

    (void)bowline_hold_check(job_hold(j), &error); /* (void): without an error it is unknown */
    return error.loss;
}

words loss_why(const job *j, int64_t left_ms)
{
    int64_t now         = loop_now();
    int64_t max_hold_ms = j->settings.max_hold_ms;

    if (j->options.no_renew && left_ms > 0)
        return words_of("its lease has ended, and --no-renew was given");
    if (max_hold_ms > 0 && now - j->held_at + left_ms >= max_hold_ms - j->guard.margin_ms)
        return words_of("--max-hold has ended: %s", words_of_duration(max_hold_ms).text);
    if (is_taken(j, left_ms))
        return words_of("%s", loss_words(loss_of(j)));
    return words_of("its lease has ended and was not renewed%s",
                    j->settings.url_ends_hold ? ", or the max-hold of the URL has ended" : "");
}

static void report_loss(job *j, int64_t left_ms, const char *action)
{
    if (!j->loss.is_lost) {
        j->loss.why      = loss_why(j, left_ms);
        j->loss.is_taken = is_taken(j, left_ms);
        j->loss.name     = names_of_hold(&j->options, job_hold(j));
    }
    job_event(j, "lost");
    json_text("action", action);
    json_text("why", j->loss.why.text);
    json_text("loss", loss_name(loss_of(j)));
    json_number("left_ms", left_ms);
    json_send();
    if (j->guard.policy == LOST_WARN)
        say_line("%s is lost and %s runs on: %s", j->loss.name, j->options.command[0],
                 j->loss.why.text);
    else if (j->options.verbose)
        say_line("%s: %s sent to %s", j->loss.name, action, j->options.command[0]);
    j->loss.is_lost = true;
}

/* Stops the command if it is time: sends the signal first, then reports it.  Returns how long there
 * is nothing to do. */
static int64_t watch_lock(job *j)
{
    for (;;) {
        int64_t     wait_ms, now = loop_now(), left_ms = job_left_ms(j);
        guard_order order = guard_look(&j->guard, left_ms, now, &wait_ms);

        switch (order) {
        case GUARD_NOTHING:
            j->expected_until = left_ms == INT64_MAX ? INT64_MAX : now + left_ms;
            return wait_ms;
        case GUARD_WARN: report_loss(j, left_ms, "warn"); break;
        case GUARD_TERM:
            ending_term(j);
            report_loss(j, left_ms, "term");
            break;
        case GUARD_KILL:
            ending_kill(j);
            report_loss(j, left_ms, "kill");
            break;
        }
    }
}

static bool ends_bowline(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static void pass_signals_on(job *j)
{
    bool by_terminal;
    int  number;

    while ((number = signals_next(&j->signals, &by_terminal)) != 0) {
        if (number == SIGCHLD)
            continue;
        if (number == SIGINT)
            j->interrupt = by_terminal ? INTERRUPT_KEY : INTERRUPT_SENT;
        if (number == SIGTSTP || number == SIGCONT)
            j->stop_is_for_group = number == SIGTSTP && by_terminal;
        if (ends_bowline(number))
            j->election.is_over = true;
        if (j->ending.not_stopped && ends_bowline(number))
            j->ended_by = number;
        int error = child_signal(&j->child, number);
        if (error != 0)
            say_line("signal %d cannot be sent to %s: %s", number, j->options.command[0],
                     strerror(error));
    }
}

static void check_start(job *j)
{
    if (!child_has_begun(&j->child))
        return;
    j->loop.other_fd = -1;
    if (j->child.exec_error != 0)
        return;
    job_event(j, "started");
    json_number("pid", j->child.pid);
    json_send();
    if (j->options.verbose)
        say_line("%s started, pid %d", j->options.command[0], (int)j->child.pid);
    if (j->election.is_on)
        elect_announce(j);
}

/* The command has stopped.  On a terminal bowline stops too, so that the shell gets control.  After
 * CONT the lock is checked first, because bowline could not renew it while stopped. */
static void follow_stop(job *j)
{
    int       by   = j->child.stopped_by;
    bool      asks = by == SIGTTIN || by == SIGTTOU;
    terminal *t    = &j->terminal;

    if (t->fd < 0)
        return;
    if (asks && terminal_is_ours(t)) {
        t->wanted = true;
        terminal_lend(t, j->child.pid);
        (void)child_signal(&j->child, SIGCONT);
        return;
    }
    terminal_take_back(t);
    bool all_know    = by == SIGTSTP && j->stop_is_for_group;
    bool has_stopped = signals_stop(&j->signals, asks ? by : SIGTSTP, !all_know);
    (void)watch_lock(j); /* (void): called again before the next sleep */
    if (t->wanted && terminal_is_ours(t))
        terminal_lend(t, j->child.pid);
    /* An orphaned process group cannot be continued.  Send HUP, as the kernel does to such a
     * group. */
    if (!has_stopped && asks)
        (void)child_signal(&j->child, SIGHUP);
    if (has_stopped || by != SIGSTOP)
        (void)child_signal(&j->child, SIGCONT);
}

static void check_child(job *j)
{
    if (!child_poll(&j->child))
        return;
    if (j->child.is_running) {
        if (j->child.stopped_by != 0)
            follow_stop(j);
        return;
    }
    check_start(j);
    if (j->terminal.lent != 0 && j->child.killed_by == SIGINT && j->interrupt != INTERRUPT_SENT)
        j->interrupt = INTERRUPT_HIDDEN_KEY;
    terminal_take_back(&j->terminal);
    if (j->child.exec_error != 0)
        return;
    job_event(j, "exited");
    json_number("pid", j->child.pid);
    if (j->child.killed_by != 0)
        json_number("signal", j->child.killed_by);
    else
        json_number("code", j->child.code);
    json_send();
}

/* Until the command has ended; after a loss, until all its processes have ended. */
static bool is_active(job *j)
{
    return j->ending.has_begun ? ending_continues(j) : j->child.is_running;
}

static int64_t look_ms(const job *j)
{
    if (j->ending.killed_at == 0 && (j->child.is_running || !j->ending.has_begun))
        return BOWLINE_FOREVER;
    return j->ending.not_stopped ? LOOK_AGAIN_MS : LOOK_MS;
}

/* `bowline break` leaves a note in the store, which the library puts into the text of the loss. */
bool loss_breaker(const bowline_error *loss, words *ret_why)
{
    const char *by = strstr(loss->text, "broken by ");

    if (by != NULL)
        *ret_why = words_of("it was %s", by);
    return by != NULL;
}

void report_breaker(const job *j, words why)
{
    job_event(j, "lost");
    json_text("action", "broken");
    json_text("why", why.text);
    json_send();
}

/* The note of a loss that a renewal has found is read after it: the reply takes a moment. */
static void find_breaker(job *j)
{
    int64_t       until = loop_now() + BREAKER_MS;
    bowline_error error;
    bool          is_known = false;

    if (!j->loss.is_taken)
        return;
    while (bowline_hold_check(job_hold(j), &error) == BOWLINE_LOST &&
           !(is_known = loss_breaker(&error, &j->loss.why)) && loop_now() < until) {
        loop_turn_until(&j->loop, until);
        pass_signals_on(j);
    }
    if (is_known)
        report_breaker(j, j->loss.why);
}

void supervise(job *j)
{
    /* Without a lease the store has nothing to report.  Do not dispatch the client, so that it
     * opens no descriptors. */
    if (bowline_hold_left_ms(job_hold(j)) == INT64_MAX)
        j->loop.client = NULL;
    check_start(j);
    while (is_active(j)) {
        int64_t wait_ms = watch_lock(j);
        loop_turn(&j->loop, loop_earlier(wait_ms, look_ms(j)));
        pass_signals_on(j);
        check_start(j);
        check_child(j);
        elect_look(j);
    }
    terminal_take_back(&j->terminal);
    j->loop.client = j->client;
    find_breaker(j);
    ending_close(j);
}
