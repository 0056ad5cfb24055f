/*
 * run.c -- `bowline run` and `bowline elect`: acquires the lock, runs the command, watches both,
 * releases the lock, reports the result.
 *
 *      prepare --> lock_take --> start --> supervise --> lock_release --> result
 *                      ^                                       |
 *                      `------------ elect: the lock was lost -'
 *
 * One event loop renews the lock and watches the command.  If the lock cannot be renewed, the
 * command is stopped before another client can acquire the lock (guard.h).  The lock is released
 * explicitly, so no background process that the command leaves behind keeps it.
 */
#include "cli/run/job.h"
#include "cli/run/nested.h"
#include "cli/text/url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- before the lock ------------------------------------------------------------------------- */

/* The status descriptor belongs to bowline: the command does not inherit it, so its reader sees the
 * end of file. */
static int check_status_fd(const run_options *o, failure *reterr)
{
    if (o->status_fd < 0)
        return 0;
    int flags = fcntl(o->status_fd, F_GETFD);
    if (flags < 0)
        return failed(reterr, words_of("--status-fd: descriptor %d is not open", o->status_fd),
                      words_of("the caller of bowline did not open it"),
                      words_of("type: bowline run --status-fd %d NAME COMMAND %d>FILE",
                               o->status_fd, o->status_fd));
    if (o->status_fd > STDERR_FILENO)
        (void)fcntl(o->status_fd, F_SETFD, flags | FD_CLOEXEC); /* (void): it is open */
    return 0;
}

static int prepare(job *j, failure *reterr)
{
    if (check_status_fd(&j->options, reterr) < 0 || child_find(j->options.command, reterr) < 0)
        return -1;
    if (lock_prepare(j, reterr) < 0)
        return -1;
    return j->election.is_on ? elect_check(j, reterr) : 0;
}

static void report_acquired(const job *j)
{
    int64_t  left_ms = job_left_ms(j);
    uint64_t fence   = bowline_hold_fence(j->hold);

    if (j->options.status_fd < 0 && !j->options.verbose)
        return;
    words waited = words_of_duration(j->held_at - j->began_at);
    job_event(j, "acquired");
    if (fence != 0)
        json_text("fence", words_of("%llu", (unsigned long long)fence).text);
    if (fence != 0 && j->options.others.count > 0)
        json_text("fences", others_fences(&j->others, &j->options, j->hold).text);
    json_number("waited_ms", j->held_at - j->began_at);
    if (left_ms != INT64_MAX)
        json_number("left_ms", left_ms);
    json_send();
    if (j->options.verbose)
        say_line("%s acquired after %s%s", names_words(&j->options).text, waited.text,
                 fence != 0 ? words_of(", fence %llu", (unsigned long long)fence).text : "");
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool export_number(const char *variable, bool is_there, uint64_t number)
{
    if (!is_there)
        return unsetenv(variable) == 0;
    return setenv(variable, words_of("%llu", (unsigned long long)number).text, 1) == 0;
}

static bool export_mode(const share *s)
{
    bool has_permits = s->mode == BOWLINE_PERMITS;

    return (s->mode == BOWLINE_EXCLUSIVE
                ? unsetenv("BOWLINE_MODE") == 0
                : setenv("BOWLINE_MODE", has_permits ? "permits" : "shared", 1) == 0) &&
           export_number("BOWLINE_PERMITS", has_permits, s->permits);
}

/* Of NAME and the names of --and, in the order of the command line. */
static bool export_fences(const job *j)
{
    words all = others_fences(&j->others, &j->options, j->hold);

    return j->options.others.count == 0 || all.text[0] == '\0'
               ? unsetenv("BOWLINE_FENCES") == 0
               : setenv("BOWLINE_FENCES", all.text, 1) == 0;
}

/* The command does not get the password of BOWLINE_URL.  It gets the rest of the URL, so that a
 * bowline inside the command fails at the server and does not silently lock elsewhere. */
static int export_environment(const job *j, failure *reterr)
{
    const char *url     = getenv("BOWLINE_URL");
    int64_t     left_ms = job_left_ms(j);
    uint64_t    fence   = bowline_hold_fence(j->hold);
    char        bare[URL_MAX + 1];
    bool        is_done = true;

    if (url != NULL && strlen(url) <= URL_MAX && url_has_password(url)) {
        url_without_password(bare, url);
        is_done = setenv("BOWLINE_URL", bare, 1) == 0;
    }
    is_done = is_done && setenv("BOWLINE_NAME", j->options.name, 1) == 0;
    is_done = is_done && nested_export(j->lock);
    for (size_t i = 0; i < j->options.others.count; i++)
        is_done = is_done && nested_export(j->others.locks[i]);
    is_done = is_done && export_number("BOWLINE_FENCE", fence != 0, fence);
    is_done = is_done && export_fences(j);
    is_done = is_done && export_mode(&j->options.share);
    is_done =
        is_done && export_number("BOWLINE_DEADLINE_MS", left_ms != INT64_MAX, (uint64_t)left_ms);
    if (is_done)
        return 0;
    return failed(reterr, words_of("%s was not started", j->options.command[0]),
                  words_of("the environment cannot be set: %s", strerror(errno)),
                  words_of("type: ulimit -a"));
}

/* The descriptors that are the locks. */
static int inherited(const job *j, int *ret_fds)
{
    int count = bowline_hold_inherit_fds(j->hold, ret_fds);

    for (size_t i = 0; i < j->options.others.count; i++)
        count += bowline_hold_inherit_fds(j->others.holds[i], &ret_fds[count]);
    return count;
}

static int start(job *j, failure *reterr)
{
    int        fds[(1 + OTHERS_MAX) * BOWLINE_HOLD_INHERIT_FDS_MAX];
    int64_t    left_ms = job_left_ms(j);
    child_plan plan    = {
           .command   = j->options.command,
           .signals   = &j->signals,
           .fds       = fds,
           .fds_count = j->options.closes ? 0 : inherited(j, fds),
           .may_wait  = left_ms == INT64_MAX,
    };

    guard_init(&j->guard, j->options.on_lost, j->settings.kill_after_ms, left_ms);
    j->ending.lease_ms = bowline_hold_left_ms(job_hold(j));
    if (export_environment(j, reterr) < 0 || signals_take_stops(&j->signals, reterr) < 0)
        return -1;
    terminal_open(&j->terminal);
    if (child_start(&j->child, &plan, &j->terminal, reterr) < 0)
        return -1;
    (void)bowline_hold_set_command(j->hold, j->child.pid, NULL); /* (void): a hint for people */
    for (size_t i = 0; i < j->options.others.count; i++)
        (void)bowline_hold_set_command(j->others.holds[i], j->child.pid,
                                       NULL); /* (void): likewise */
    j->loop.other_fd = j->child.exec_fd;
    return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static void report_released(const job *j, const bowline_error *released, int code)
{
    int status = released->status;

    job_event(j, "released");
    json_text("status", bowline_status_name(status));
    json_text("loss", status == BOWLINE_LOST ? loss_name(released->loss) : NULL);
    json_number("exit", code);
    json_send();
    if (j->options.verbose && status == BOWLINE_OK)
        say_line("%s released after %s", names_words(&j->options).text,
                 words_of_duration(loop_now() - j->held_at).text);
}

static void report_numbers(job *j, int code)
{
    metrics_end end = {
        .held_ms  = j->held_at != 0 ? loop_now() - j->held_at : 0,
        .code     = code,
        .was_lost = j->loss.is_lost,
    };

    metrics_ended(&j->metrics, j->client, &end);
}

/* The exit code of the command, as a shell reports it. */
static int exit_code(const job *j)
{
    return j->child.killed_by != 0 ? EXIT_SIGNAL + j->child.killed_by : j->child.code;
}

/* The lock was lost: the work of the command may have overlapped with that of another holder. */
static int report_lost(const job *j, const bowline_error *error)
{
    failure     is          = { .code = EXIT_LOST };
    words       all         = names_words(&j->options);
    const char *name        = j->loss.is_lost ? j->loss.name : all.text;
    bool        was_stopped = j->loss.is_lost && j->guard.policy != LOST_WARN;

    is.what = words_of("%s was lost before %s ended (it exits with %d)", name,
                       j->options.command[0], exit_code(j));
    if (was_stopped)
        is.what = words_of("%s was lost, %s was stopped", name, j->options.command[0]);
    is.why = j->loss.is_lost ? j->loss.why : words_of("%s", error->text);
    if (!j->loss.is_lost && loss_breaker(error, &is.why))
        report_breaker(j, is.why);
    is.hint =
        words_of("its work is incomplete or may overlap with that of another holder: check it");
    if (j->ending.not_stopped) {
        is.what = words_of("%s was lost, %s could not be stopped", name, j->options.command[0]);
        is.why  = words_of("%s; %s", j->loss.why.text, j->ending.why.text);
        is.hint = words_of("bowline kept the lock until the command ended: check its work");
    }
    if (j->ending.gave_up && j->ending.pid != 0)
        is.hint = words_of("it may run beside the next holder; type: sudo kill -KILL %d",
                           (int)j->ending.pid);
    else if (j->ending.gave_up)
        is.hint = words_of("it may run beside the next holder; type: sudo ps -ef --forest");
    say_failure(&is);
    return is.code;
}

/* Reports that another host has done it within the period. */
static int report_done(const job *j, const failure *is)
{
    const bowline_holder *by = &j->other;

    job_event(j, "done");
    if (by->done != 0) {
        json_text("user", by->user);
        json_text("host", by->host);
        json_number("since_ms", by->since_ms);
        json_number("left_ms", by->left_ms);
    }
    json_number("exit", 0);
    json_send();
    if (j->options.verbose)
        say_line("%s: %s", j->options.name, is->why.text);
    return 0;
}

/* Reports that the lock was not acquired, or that bowline failed, on standard error and
 * --status-fd. */
static int report_failed(const job *j, const failure *is)
{
    bool is_busy = is->code == EXIT_NOT_ACQUIRED;
    int  code    = is_busy ? j->options.busy_code : is->code;

    if (is->code == EXIT_DONE)
        return report_done(j, is);

    job_event(j, is_busy ? "not-acquired" : "failed");
    json_text("what", is->what.text);
    json_text("why", is->why.text);
    json_number("exit", code);
    json_send();
    if (!is_busy || !(j->options.skips || j->options.quiet))
        say_failure(is);
    else if (j->options.verbose)
        say_line("%s: %s", names_words(&j->options).text, is->why.text);
    return code;
}

static int result(job *j, const bowline_error *released)
{
    int code = exit_code(j);

    if (j->child.exec_error != 0) {
        failure is = child_failure(j->options.command, j->child.exec_error);
        return report_failed(j, &is);
    }
    if (j->loss.is_lost || released->status == BOWLINE_LOST)
        return report_lost(j, released);
    if (released->status != BOWLINE_OK)
        say_line("%s was not released (it ends with its lease): %s", names_words(&j->options).text,
                 released->text);
    return code;
}

/* The period is not used: another host may run the command.  (void): the hold exists. */
static void drop_rest(const job *j)
{
    (void)bowline_hold_drop_rest(j->hold, NULL);
}

/* A signal made bowline exit before the command was started. */
static int report_interrupted(job *j)
{
    int           code = EXIT_SIGNAL + j->ended_by;
    bowline_error error;

    if (j->hold != NULL) {
        int number = j->ended_by;
        drop_rest(j);
        (void)lock_release(j, &error); /* (void): no work was done under this lock */
        j->ended_by = number;
    }
    job_event(j, "not-acquired");
    json_number("signal", j->ended_by);
    json_number("exit", code);
    json_send();
    return code;
}

/* A process of the command could not be stopped.  The lock is not released: it stays with the
 * processes that inherited it (file:), or until the lease ends. */
_Noreturn static void leave(job *j)
{
    const bowline_error error = { .status = BOWLINE_LOST };
    int                 code  = report_lost(j, &error);

    job_event(j, "failed");
    json_text("what", "the command could not be stopped");
    json_text("why", j->ending.why.text);
    json_number("exit", code);
    json_send();
    report_numbers(j, code);
    /* exit(3) would close the client, which would release the lock. */
    _exit(code);
}

/* Everything after the lock is acquired; *ret_again: acquire it again. */
static int run_locked(job *j, bool *ret_again)
{
    bowline_error released = { .status = BOWLINE_OK };
    failure       is;

    report_acquired(j);
    metrics_acquired(&j->metrics, j->client);
    if (start(j, &is) < 0) {
        drop_rest(j);
        (void)lock_release(j, &released); /* (void): no work was done under this lock */
        return report_failed(j, &is);
    }
    supervise(j);
    if (j->ending.gave_up)
        leave(j);
    if (j->child.exec_error != 0 || (j->options.period.retries_failed && exit_code(j) != 0))
        drop_rest(j);
    elect_end(j);
    released.status = lock_release(j, &released);
    *ret_again      = elect_again(j);
    if (*ret_again)
        return 0;
    int code = result(j, &released);
    report_released(j, &released, code);
    return code;
}

/* *ret_again: once more. */
static int run_once(job *j, bool *ret_again)
{
    failure is;

    *ret_again = false;
    if (lock_take(j, &is) < 0)
        return report_failed(j, &is);
    lock_check_signals(j);
    return j->ended_by != 0 ? report_interrupted(j) : run_locked(j, ret_again);
}

static int run(const option_table *table, job *j, int argc, char **argv)
{
    failure is;
    bool    again = true;
    int     code  = run_options_read(&j->options, table, argc, argv, &is);

    if (code < 0) {
        say_failure(&is);
        return is.code;
    }
    if (code == 0) {
        options_write(table, false);
        return say_done();
    }
    metrics_begin(&j->metrics, &j->options.metrics);
    if (prepare(j, &is) < 0)
        code = report_failed(j, &is);
    else
        while (again)
            code = run_once(j, &again);
    report_numbers(j, code);
    settings_wipe(&j->settings);
    if (j->server_is_silent)
        _exit(code); /* bowline_close would wait for it; the kernel has what was sent */
    bowline_close(j->client);
    /* A shell ends its loop only if bowline dies of the INT that the user typed. */
    if (code == EXIT_SIGNAL + SIGINT && j->interrupt >= INTERRUPT_KEY)
        signals_die_of_interrupt(j->interrupt == INTERRUPT_HIDDEN_KEY);
    return code;
}

int run_main(int argc, char **argv)
{
    job j = { .interrupt = INTERRUPT_NONE };

    return run(&run_table, &j, argc, argv);
}

int elect_main(int argc, char **argv)
{
    job j = { .interrupt = INTERRUPT_NONE, .election = { .is_on = true } };

    return run(&elect_table, &j, argc, argv);
}
