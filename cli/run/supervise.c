/*
 * supervise.c -- see supervise.h.
 *
 * Three things happen in any order: the lock runs out (guard.h says when it matters), signals come,
 * the command stops or ends.  The lock always comes first.
 */
#include "cli/run/supervise.h"

#include <errno.h>
#include <string.h>

#include "cli/run/ending.h"

/* How often it is looked whether the processes of the command are gone: at first, and when it is
 * known that they cannot be stopped. */
enum { LOOK_MS = 20, LOOK_AGAIN_MS = 250 };

enum { BREAKER_MS = 500 }; /* how long the store may take to say who broke the lock */

/* It was there a moment ago, and nothing has ended it that bowline knows of. */
static bool is_taken_away(const job *j, int64_t left_ms)
{
    return left_ms == 0 && j->expected_until > loop_now() + j->guard.margin_ms;
}

static words why_lost(const job *j, int64_t left_ms)
{
    int64_t now         = loop_now();
    int64_t max_hold_ms = j->settings.max_hold_ms;

    if (j->options.no_renew && left_ms > 0)
        return words_of("its lease has ended, and --no-renew was given");
    if (max_hold_ms > 0 && now - j->held_at + left_ms >= max_hold_ms - j->guard.margin_ms)
        return words_of("--max-hold has ended: %s", words_of_duration(max_hold_ms).text);
    if (is_taken_away(j, left_ms))
        return words_of("the store reports another holder or none");
    return words_of("its lease has ended and was not renewed%s",
                    j->settings.url_ends_hold ? ", or the max-hold of the URL has ended" : "");
}

static void note_loss(job *j, int64_t left_ms, const char *action)
{
    status_line line;

    if (!j->was_lost) {
        j->lost_why  = why_lost(j, left_ms);
        j->was_taken = is_taken_away(j, left_ms);
    }
    job_status(&line, j, "lost");
    status_add_text(&line, "action", action);
    status_add_text(&line, "why", j->lost_why.text);
    status_add_number(&line, "left_ms", left_ms);
    status_send(&line);
    if (j->guard.policy == LOST_WARN)
        say_line(words_of("%s is lost and %s runs on: %s", j->options.name, j->options.command[0],
                          j->lost_why.text)
                     .text);
    else if (j->options.verbose)
        say_line(
            words_of("%s: %s sent to %s", j->options.name, action, j->options.command[0]).text);
    j->was_lost = true;
}

/* Ends the command if it is time.  First the signal, then the words.  Returns how long nothing is
 * to be done. */
static int64_t watch_lock(job *j)
{
    for (;;) {
        int64_t     wait_ms, now = loop_now(), left_ms = job_left_ms(j);
        guard_order order = guard_look(&j->guard, left_ms, now, &wait_ms);

        switch (order) {
        case GUARD_NOTHING:
            j->expected_until = left_ms == INT64_MAX ? INT64_MAX : now + left_ms;
            return wait_ms;
        case GUARD_WARN: note_loss(j, left_ms, "warn"); break;
        case GUARD_TERM:
            ending_term(j);
            note_loss(j, left_ms, "term");
            break;
        case GUARD_KILL:
            ending_kill(j);
            note_loss(j, left_ms, "kill");
            break;
        }
    }
}

static bool is_goodbye(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static void hear_signals(job *j)
{
    bool by_terminal;
    int  number;

    while ((number = signals_next(&j->signals, &by_terminal)) != 0) {
        if (number == SIGCHLD)
            continue;
        if (number == SIGINT)
            j->interrupt = by_terminal ? INTERRUPT_KEY : INTERRUPT_SENT;
        if (number == SIGTSTP || number == SIGCONT)
            j->told_to_stop = number == SIGTSTP && by_terminal;
        if (j->ending.not_stopped && is_goodbye(number))
            j->ended_by = number;
        int error = child_signal(&j->child, number);
        if (error != 0)
            say_line(words_of("signal %d cannot be sent to %s: %s", number, j->options.command[0],
                              strerror(error))
                         .text);
    }
}

static void hear_start(job *j)
{
    status_line line;

    if (!child_has_begun(&j->child))
        return;
    j->loop.other_fd = -1;
    if (j->child.exec_error != 0)
        return;
    job_status(&line, j, "started");
    status_add_number(&line, "pid", j->child.pid);
    status_send(&line);
    if (j->options.verbose)
        say_line(words_of("%s started, pid %d", j->options.command[0], (int)j->child.pid).text);
}

/* The command has stopped.  On a terminal we stop too, so that the shell takes over; back again,
 * the lock comes first: we could not renew it meanwhile. */
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
    bool all_know    = by == SIGTSTP && j->told_to_stop;
    bool has_stopped = signals_stop(&j->signals, asks ? by : SIGTSTP, !all_know);
    (void)watch_lock(j); /* (void): it is asked again before we sleep */
    if (t->wanted && terminal_is_ours(t))
        terminal_lend(t, j->child.pid);
    /* Where nobody could continue us: what the kernel does to a group that nobody can continue. */
    if (!has_stopped && asks)
        (void)child_signal(&j->child, SIGHUP);
    if (has_stopped || by != SIGSTOP)
        (void)child_signal(&j->child, SIGCONT);
}

static void hear_child(job *j)
{
    status_line line;

    if (!child_look(&j->child))
        return;
    if (j->child.is_running) {
        if (j->child.stopped_by != 0)
            follow_stop(j);
        return;
    }
    hear_start(j);
    if (j->terminal.lent != 0 && j->child.killed_by == SIGINT && j->interrupt != INTERRUPT_SENT)
        j->interrupt = INTERRUPT_HIDDEN_KEY;
    terminal_take_back(&j->terminal);
    if (j->child.exec_error != 0)
        return;
    job_status(&line, j, "exited");
    status_add_number(&line, "pid", j->child.pid);
    if (j->child.killed_by != 0)
        status_add_number(&line, "signal", j->child.killed_by);
    else
        status_add_number(&line, "code", j->child.code);
    status_send(&line);
}

/* Until the command has ended; if its lock is being lost, all of its processes. */
static bool goes_on(job *j)
{
    return ending_has_begun(j) ? ending_goes_on(j) : j->child.is_running;
}

static int64_t look_ms(const job *j)
{
    if (j->ending.killed_at == 0 && (j->child.is_running || !ending_has_begun(j)))
        return BOWLINE_FOREVER;
    return j->ending.not_stopped ? LOOK_AGAIN_MS : LOOK_MS;
}

/* `bowline break` leaves a note.  The store is asked for it when the lock is lost, and says so a
 * moment later. */
static void learn_who_broke(job *j)
{
    static const char prefix[] = "broken by ";
    int64_t           until    = loop_now() + BREAKER_MS;
    bowline_error     error;
    status_line       line;
    const char       *by = NULL;

    if (!j->was_taken)
        return;
    while (bowline_hold_trouble(j->hold, &error) == BOWLINE_LOST &&
           (by = strstr(error.text, prefix)) == NULL && loop_now() < until) {
        loop_turn(&j->loop, until - loop_now());
        hear_signals(j);
    }
    if (by == NULL)
        return;
    j->lost_why = words_of("it was %s", by);
    job_status(&line, j, "lost");
    status_add_text(&line, "action", "broken");
    status_add_text(&line, "why", j->lost_why.text);
    status_send(&line);
}

void supervise(job *j)
{
    /* What nothing but we can end, the store says nothing about: it need not be listened to, and
     * the client opens no descriptors for that. */
    if (bowline_hold_left_ms(j->hold) == INT64_MAX)
        j->loop.client = NULL;
    hear_start(j);
    while (goes_on(j)) {
        int64_t wait_ms = watch_lock(j);
        loop_turn(&j->loop, loop_sooner(wait_ms, look_ms(j)));
        hear_signals(j);
        hear_start(j);
        hear_child(j);
    }
    terminal_take_back(&j->terminal);
    j->loop.client = j->client;
    learn_who_broke(j);
    ending_close(j);
}
