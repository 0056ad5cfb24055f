/*
 * lock.c -- the lock of a job: acquire and release, while signals are handled.
 *
 * Signals are handled at any moment.  If a signal ends the wait, nothing is left in the store.  If
 * a signal ends the wait for a release, the lock ends with its lease.
 */
#include "cli/run/job.h"
#include "cli/run/nested.h"
#include "cli/run/ticket.h"
#include "doctor/caps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/text/holder.h"
#include "cli/text/status_line.h"

enum {
    CANCEL_MS = 2000, /* time for a cancelled acquire to remove its request */
    ASK_MS    = 1000, /* time limit of a holder query */
    LAST_MS   = 30,   /* and of the last one, after a wait */

    /* A shorter wait lasts so long while there is no connection.  After a wait, the server has
     * LATE_MS to confirm that the request is removed. */
    CONNECT_MS = 1000,
    LATE_MS    = 40,

    SLACK_MAX_MS = 60000, /* by which --once-per is shorter than its period */

    LONG_MS = 600000, /* of a period: a longer wait is not proposed */

    /* Descriptors that a run opens after that of bowline_fd: a connection, the pipe to the command
     * (two), the timer, the terminal. */
    MORE_FDS = 5,
};

static bool is_server(const job *j)
{
    return strncmp(j->settings.url, "file:", 5) != 0;
}

enum { PROGRAM_MAX = 63 }; /* bytes: see bowline_options */

/* The command of bowline, for texts: "run", "elect" or "hold". */
static const char *verb_of(const job *j)
{
    if (j->options.command == NULL)
        return "hold";
    return j->election.is_on ? "elect" : "run";
}

/* `bowline run` takes the lock over instead of acquiring it. */
static bool imports(const job *j)
{
    return j->options.command != NULL && j->options.hold.ticket != NULL;
}

/* The program name that other clients see next to the pid.  The pid is that of bowline, so "bowline
 * run" comes first, then the command without its path. */
static words program_of(const job *j)
{
    if (j->options.command == NULL)
        return words_of("bowline hold");
    const char *command = j->options.command[0];
    const char *slash   = strrchr(command, '/');
    return words_of("bowline %s %.*s", verb_of(j), PROGRAM_MAX - (int)strlen("bowline elect "),
                    slash != NULL && slash[1] != '\0' ? slash + 1 : command);
}

/* Bowline enforces --max-hold itself (job_left_ms).  The library would end the hold while a command
 * that cannot be stopped is still running.  With --on-lost warn the command is not stopped, so the
 * library does end the hold. 0 means the max-hold of the URL. */
static int64_t max_hold_of(const job *j)
{
    int64_t max_hold_ms = j->settings.max_hold_ms;

    return max_hold_ms == 0 || j->options.on_lost == LOST_WARN ? max_hold_ms : INT64_MAX;
}

/* reply_ms: time limit for a reply of the store; 0: the default. */
static int open_client(bowline_client **ret_client, const job *j, uint32_t reply_ms,
                       bowline_error *reterr)
{
    const settings *s       = &j->settings;
    words           program = program_of(j);
    uint32_t        renew   = j->options.no_renew ? BOWLINE_NO_RENEW : 0;
    uint32_t        flags   = BOWLINE_NO_THREAD | BOWLINE_NO_SPIN | BOWLINE_NO_STICKY | renew;
    bowline_options options = {
        .size        = sizeof options,
        .url         = s->url,
        .lease_ms    = s->lease_ms,
        .reply_ms    = reply_ms,
        .max_hold_ms = max_hold_of(j),
        .flags       = flags,
        .program     = program.text,
    };

    return bowline_open(ret_client, &options, reterr);
}

/* Without --wait, a run waits as long as wait= in the URL says, or for the default of its protocol,
 * lock file or profile, or without limit.  A URL that cannot be opened is reported later. */
static void use_default_wait(settings *s, bool is_verbose)
{
    bool is_in_url = s->wait_ms == BOWLINE_DEFAULT;
    bool may_have_default =
        s->wait_is_default && (url_says(s->url, "protocol") || url_says(s->url, "profile") ||
                               url_says(s->url, "protocol-file"));
    char why[CAPS_TEXT_MAX];
    caps found;

    if ((!is_in_url && !may_have_default) || caps_find(&found, s->url, s->lease_ms, why) < 0 ||
        (!is_in_url && found.wait_ms == 0))
        return;
    s->wait_ms = found.wait_ms == INT64_MAX ? BOWLINE_FOREVER : found.wait_ms;
    if (!is_verbose || is_in_url)
        return;
    if (found.tries_max != 0)
        say_line("makes %u attempts, as retry= says; -w sets a time limit instead",
                 found.tries_max);
    else
        say_line("waits at most %s, the default of %s %s; -w changes it",
                 words_of_duration(found.wait_ms).text,
                 found.profile[0] != '\0' ? "profile" : "protocol",
                 found.profile[0] != '\0' ? found.profile : found.row.protocol);
}

int lock_open(job *j, failure *reterr)
{
    const settings *s = &j->settings;
    bowline_error   error;

    if (j->election.is_on) /* a candidate waits for as long as it takes */
        j->settings.wait_ms = BOWLINE_FOREVER;
    else
        use_default_wait(&j->settings, j->options.verbose);
    if (strncmp(s->url, "thread:", 7) == 0)
        return failed(reterr, words_of("thread: cannot lock for a command"),
                      words_of("it locks between the threads of one process"),
                      words_of("type: bowline %s --url file: ...", verb_of(j)));
    if (open_client(&j->client, j, 0, &error) < 0)
        return settings_fail(s, words_of("the locks cannot be opened"), error.text, reterr);
    if (bowline_client_warning(j->client) != NULL)
        say_line("warning: %s", bowline_client_warning(j->client));
    return 0;
}

/* The process that holds this name around this command, or 0. */
static pid_t nested_around(const job *j, uint64_t *ret_lock, const char *name)
{
    *ret_lock = nested_lock(j->settings.url, name);
    return nested_holder(*ret_lock);
}

static int check_nesting(job *j, failure *reterr)
{
    const char *name   = j->options.name;
    pid_t       holder = nested_around(j, &j->lock, name);

    for (size_t i = 0; i < j->options.others.count; i++) {
        pid_t its_holder = nested_around(j, &j->others.locks[i], j->options.others.names[i]);
        if (holder != 0 || its_holder == 0)
            continue;
        holder = its_holder;
        name   = j->options.others.names[i];
    }
    if (holder == 0 || j->settings.wait_ms == BOWLINE_NO_WAIT || imports(j))
        return 0;
    bool  is_shared = j->options.share.mode != BOWLINE_EXCLUSIVE; /* a writer may be in between */
    words why = words_of("bowline, pid %d, holds it around this command, so the wait %s never end",
                         (int)holder, is_shared ? "may" : "would");
    return failed(
        reterr, words_of("%s was not acquired", name), why,
        words_of("remove this inner bowline %s, or use another name; not to wait, type: bowline %s "
                 "-n ...",
                 verb_of(j), verb_of(j)));
}

int lock_prepare(job *j, failure *reterr)
{
    if (settings_find(&j->settings, &j->options, reterr) < 0 ||
        signals_take(&j->signals, reterr) < 0 || lock_open(j, reterr) < 0)
        return -1;
    loop_open(&j->loop, j->client, j->signals.fd);
    return check_nesting(j, reterr);
}

void lock_check_signals(job *j)
{
    bool by_terminal;
    int  number;

    while ((number = signals_next(&j->signals, &by_terminal)) != 0) {
        if (number == SIGCHLD || number == SIGCONT || number == SIGTSTP)
            continue;
        j->ended_by = number;
        if (number == SIGINT)
            j->interrupt = by_terminal ? INTERRUPT_KEY : INTERRUPT_SENT;
    }
}

/* The client for holder queries: a second one with a short time limit, opened on first use.
 * Replies come in order, and that to the acquire may be late. */
static bowline_client *query_client(job *j)
{
    if (j->query_client == NULL && is_server(j) && j->settings.url[0] != '\0' &&
        open_client(&j->query_client, j, ASK_MS, NULL) < 0)
        j->query_client = NULL; /* the lease is so short that j->client is as quick */
    return j->query_client != NULL ? j->query_client : j->client;
}

/* ---- the message while bowline waits --------------------------------------------------------- */

/* Who holds the lock, and for how long.  On a terminal it is one line, updated about once a second
 * and erased at the end.  Elsewhere it is a line after one second, then one line a minute: enough
 * for a log, not too much for a mail. */
typedef struct waiting {
    int64_t            next_at;
    status_line        line;  /* on a terminal */
    words              found; /* of the last query: who holds the lock, or why that is unknown */
    bool               is_found;
    bowline_operation *query;         /* NULL: none is under way */
    size_t             asked;         /* the number of the name that it asks for */
    bool               is_of_another; /* the last query: another client holds it */
} waiting;

enum { FIRST_MS = 1000, LIVE_MS = 1000, LOG_MS = 60000 };

/* The store shows this process as the holder, before it has reported that to this process. */
static bool is_this_process(const bowline_holder *holder)
{
    struct utsname system;

    return holder->pid == getpid() && uname(&system) == 0 &&
           strncmp(holder->host, system.nodename, BOWLINE_HOLDER_TEXT_MAX - 1) == 0;
}

/* As holder_words, or why the holder is unknown.  Frees the query, which has ended. */
static words finish_query(job *j, waiting *w)
{
    bowline_error error;

    j->other         = (bowline_holder){ .size = sizeof j->other };
    w->is_found      = bowline_who_finish(&j->other, w->query, &error) == BOWLINE_OK;
    w->query         = NULL;
    w->is_of_another = false;
    if (!w->is_found)
        return words_of("%s", error.text);
    if (j->other.held == 0 && j->other.done == 0)
        return words_of("no one holds it at this moment");
    w->is_of_another = !is_this_process(&j->other);
    if (w->is_of_another)
        return holder_words(&j->other);
    if (strstr(j->settings.url, "sync=") != NULL)
        return words_of("granted to this process; waiting for the replicas that sync= asks for");
    return words_of("granted to this process; the reply is under way");
}

/* Begins a holder query, which ends while the loop turns. */
static void begin_query(job *j, waiting *w)
{
    bowline_client *client = query_client(j);
    bowline_error   error;

    if (w->query != NULL)
        return;
    if (bowline_who_start(&w->query, client, names_at(&j->options, w->asked), &error) < 0) {
        w->found    = words_of("%s", error.text);
        w->is_found = false;
        w->next_at  = loop_now() + LIVE_MS;
    } else if (client != j->client) {
        j->loop.other_fd = bowline_fd(client);
    }
}

/* True: the query has ended, and its result is in w->found. */
static bool query_ended(job *j, waiting *w)
{
    bowline_client *client = query_client(j);

    if (w->query == NULL)
        return false;
    /* (void): what a failure means for the query, its result says. */
    if (client != j->client)
        (void)bowline_dispatch(client, 0, NULL);
    if (!bowline_operation_done(w->query))
        return false;
    w->found         = finish_query(j, w);
    j->loop.other_fd = -1;
    return true;
}

/* The next query is about the next name, unless another client holds this one. */
static void ask_for_next(const job *j, waiting *w)
{
    if (!w->is_of_another)
        w->asked = (w->asked + 1) % names_count(&j->options);
}

static void end_query(job *j, waiting *w)
{
    if (w->query == NULL)
        return;
    bowline_cancel(w->query);
    /* (void): its result is not needed. */
    (void)bowline_who_finish(&(bowline_holder){ .size = sizeof(bowline_holder) }, w->query, NULL);
    w->query         = NULL;
    j->loop.other_fd = -1;
}

/* Writes what the last query has found. */
static void say_holder(waiting *w, const char *name)
{
    bool  is_live = status_line_is_possible();
    words text    = words_of("waiting for %s: %s", name, w->found.text);

    w->next_at = loop_now() + (is_live ? LIVE_MS : LOG_MS);
    if (is_live)
        status_line_show(&w->line, text.text);
    else
        say_line("%s", text.text);
}

/* True: the query has ended, before `until`. */
static bool await_query(job *j, waiting *w, int64_t until)
{
    begin_query(j, w);
    while (!query_ended(j, w)) {
        if (w->query == NULL || loop_now() >= until)
            return false;
        loop_turn_until(&j->loop, until);
    }
    return true;
}

/* Who holds the lock that was not acquired, of several the first one that another client holds.  A
 * server that does not answer within LAST_MS delays the end no longer: what it said before is
 * written then. */
static words last_holder(job *j, waiting *w)
{
    int64_t until = loop_now() + (j->settings.wait_ms == BOWLINE_NO_WAIT ? ASK_MS : LAST_MS);
    size_t  count = names_count(&j->options);

    for (size_t i = 0; i < count && await_query(j, w, until) && !w->is_of_another; i++)
        ask_for_next(j, w);
    j->server_is_silent = w->query != NULL && !w->is_found;
    end_query(j, w);
    if (count > 1 && w->is_of_another)
        return words_of("%s: %s", names_at(&j->options, w->asked), w->found.text);
    return w->found;
}

/* ---- acquire --------------------------------------------------------------------------------- */

/* A wait without a limit is one for the lock.  A server that cannot be reached at the start is an
 * error: a wrong URL would never be noticed. */
static bool fails_without_server(const job *j)
{
    return j->settings.wait_ms == BOWLINE_FOREVER && !j->settings.waits_for_server;
}

/* A period that lasts for long is ended by hand, and not waited for. */
static words hint_of_busy(const job *j)
{
    bool waits = j->settings.wait_ms != BOWLINE_NO_WAIT;

    if (j->other.done != 0 && j->other.left_ms > LONG_MS)
        return words_of("to acquire it before that, type: bowline break %s; to exit 0, add --skip",
                        j->options.name);
    return words_of("to wait%s, type: bowline %s -w 5m ...; to exit 0, add --skip",
                    waits ? " longer" : "", verb_of(j));
}

static int acquire_failed(job *j, waiting *w, int status, const bowline_error *error,
                          failure *reterr)
{
    failure is = {
        .code = EXIT_FAILED,
        .what = words_of("%s not acquired", names_were(&j->options).text),
    };
    failure_explain(&is, error->text,
                    words_of("check the URL, from %s", j->settings.url_from.text));
    if (status == BOWLINE_DONE) {
        is.code = EXIT_DONE;
        if (j->options.verbose || j->options.status_fd >= 0)
            is.why = last_holder(j, w);
    } else if (status == BOWLINE_BUSY && j->settings.wait_ms != BOWLINE_NO_WAIT) {
        is.code = EXIT_NOT_ACQUIRED; /* the queue is full */
        is.hint = words_of("to allow any number of waiters, add ?queue-max=0 to the URL");
    } else if (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT) {
        is.code = EXIT_NOT_ACQUIRED;
        if (j->settings.wait_ms != BOWLINE_NO_WAIT)
            is.what = words_of("%s not acquired within %s", names_were(&j->options).text,
                               words_of_duration(loop_now() - j->began_at).text);
        if ((!j->options.skips || j->options.verbose) && !j->options.quiet)
            is.why = last_holder(j, w);
        is.hint = hint_of_busy(j);
    } else if (status == BOWLINE_UNREACHABLE && fails_without_server(j)) {
        is.hint = words_of("%s; to wait for the server, add --wait-for-server", is.hint.text);
    } else if (status == BOWLINE_USAGE) {
        is.hint = words_of("type: bowline %s --help", verb_of(j));
    }
    return failed_with(reterr, is);
}

/* A wait has ended, and the server has not said how; perhaps it is dead, or was never reached.  The
 * request is withdrawn, or released after it. */
static int acquire_late(job *j, waiting *w, bowline_operation *late, failure *reterr)
{
    bowline_error error;
    failure       is = {
              .code = EXIT_NOT_ACQUIRED,
              .what = words_of("%s not acquired within %s", names_were(&j->options).text,
                               words_of_duration(loop_now() - j->began_at).text),
              .why  = w->found,
    };

    int status = bowline_operation_check(late, &error);
    if (status == BOWLINE_UNREACHABLE) {
        bowline_cancel(late);
        return acquire_failed(j, w, status, &error, reterr);
    }
    /* Without a query, as with -q, the server may only be slow. */
    if (w->found.text[0] != '\0' && !w->is_found)
        is.code = EXIT_FAILED;
    if (w->found.text[0] == '\0')
        is.why = words_of("the server did not answer");
    is.hint = words_of("if the server holds the lock for this process now, it ends with its lease");
    bowline_cancel(late);
    j->server_is_silent = !w->is_found;
    return failed_with(reterr, is);
}

/* A signal ended the wait: remove the request from the store.  After a second signal, or without a
 * reply, the rest ends with the lease. */
static void cancel(job *j, bowline_operation *op)
{
    int64_t until = loop_now() + CANCEL_MS;
    int     first = j->ended_by;

    bowline_cancel(op);
    j->ended_by = 0;
    while (!bowline_operation_done(op) && j->ended_by == 0 && loop_now() < until) {
        loop_turn_until(&j->loop, until);
        lock_check_signals(j);
    }
    j->ended_by = first;
}

/* Opens MORE_FDS descriptors and closes them.  Returns false, with errno, if that fails. */
static bool can_open_more(int fd)
{
    int fds[MORE_FDS];
    int count = 0;

    while (count < MORE_FDS && (fds[count] = fcntl(fd, F_DUPFD_CLOEXEC, 0)) >= 0)
        count++;
    int error = errno;
    for (int i = 0; i < count; i++)
        (void)close(fds[i]);
    errno = error;
    return count == MORE_FDS;
}

/* Without enough descriptors, replies arrive late or never and the command cannot be started.  So
 * bowline does not try to acquire the lock. */
static int check_descriptors(const job *j, failure *reterr)
{
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
    words         why;

    errno  = 0;
    int fd = bowline_fd(j->client);
    if (fd >= 0 && can_open_more(fd))
        return 0;
    why = words_of("%s", errno != 0 ? strerror(errno) : bowline_status_name(fd));
    /* (void): then the message names no limit. */
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur != RLIM_INFINITY)
        why = words_of("%s: the limit of open files is %llu", why.text,
                       (unsigned long long)limit.rlim_cur);
    return failed(reterr, words_of("%s not acquired", names_were(&j->options).text), why,
                  words_of("type first: ulimit -n 64"));
}

/* A schedule drifts: the run of today may begin a second sooner than that of yesterday. */
static int64_t once_ms(const period *p)
{
    int64_t slack_ms = p->once_ms / 10 < SLACK_MAX_MS ? p->once_ms / 10 : SLACK_MAX_MS;

    return p->once_ms - slack_ms;
}

static int begin(bowline_operation **ret_op, const job *j, bowline_error *reterr)
{
    const char                    *names[1 + OTHERS_MAX];
    const share                   *kind = &j->options.share;
    const bowline_acquire_options *options =
        BOWLINE_ACQUIRE(.wait_ms = j->settings.wait_ms, .max_hold_ms = max_hold_of(j),
                        .lease_ms = j->settings.lease_ms, .once_ms = once_ms(&j->options.period),
                        .at_least_ms = j->options.period.at_least_ms, .mode = kind->mode,
                        .permits = kind->permits, .limit = kind->limit);

    if (j->options.others.count == 0)
        return bowline_acquire_start(ret_op, j->client, j->options.name, options, reterr);
    for (size_t i = 0; i < names_count(&j->options); i++)
        names[i] = names_at(&j->options, i);
    return bowline_acquire_all_start(ret_op, j->client, names, names_count(&j->options), options,
                                     reterr);
}

static int finish(job *j, bowline_operation *op, bowline_error *reterr)
{
    bowline_hold *holds[1 + OTHERS_MAX];

    if (j->options.others.count == 0)
        return bowline_acquire_finish(&j->hold, op, reterr);
    int status = bowline_acquire_all_finish(holds, op, reterr);
    if (status < 0)
        return status;
    j->hold = holds[0];
    memcpy(j->others.holds, &holds[1], j->options.others.count * sizeof holds[0]);
    return status;
}

static int take(job *j, failure *reterr)
{
    const settings    *s     = &j->settings;
    waiting            w     = { 0 };
    int64_t            until = INT64_MAX;
    bowline_operation *op;
    bowline_error      error;

    if (is_server(j) && check_descriptors(j, reterr) < 0)
        return -1;
    job_event(j, "waiting");
    json_send();
    j->began_at = loop_now();
    int status  = begin(&op, j, &error);
    if (status < 0)
        return acquire_failed(j, &w, status, &error, reterr);
    w.next_at = j->options.quiet ? INT64_MAX : loop_now() + FIRST_MS;
    if (is_server(j) && s->wait_ms > 0)
        until = j->began_at + LATE_MS + (s->wait_ms > CONNECT_MS ? s->wait_ms : CONNECT_MS);
    while (!bowline_operation_done(op) && j->ended_by == 0 && loop_now() < until &&
           !(fails_without_server(j) && bowline_operation_check(op, NULL) < 0)) {
        int64_t next_at = w.query == NULL ? w.next_at : INT64_MAX;
        loop_turn_until(&j->loop, next_at < until ? next_at : until);
        lock_check_signals(j);
        if (loop_now() >= w.next_at && !bowline_operation_done(op) && j->ended_by == 0)
            begin_query(j, &w);
        if (query_ended(j, &w)) {
            if (w.is_of_another || j->options.others.count == 0)
                say_holder(&w, names_at(&j->options, w.asked));
            ask_for_next(j, &w);
        }
    }
    end_query(j, &w);
    status_line_erase(&w.line);
    if (j->ended_by != 0) {
        cancel(j, op);
        if (!bowline_operation_done(op))
            return 0;
    } else if (!bowline_operation_done(op)) {
        return acquire_late(j, &w, op, reterr);
    }
    status = finish(j, op, &error);
    if (status < 0)
        return j->ended_by != 0 ? 0 : acquire_failed(j, &w, status, &error, reterr);
    j->held_at = loop_now();
    return 0;
}

int lock_take(job *j, failure *reterr)
{
    int status = imports(j) ? ticket_import(j, j->options.hold.ticket, reterr) : take(j, reterr);

    if (!j->server_is_silent) /* it would wait; run.c ends the process */
        bowline_close(j->query_client);
    j->query_client = NULL;
    /* The command must not find a password in the memory of bowline. */
    explicit_bzero(j->settings.url, sizeof j->settings.url);
    return status;
}

static bool all_are_done(bowline_operation *const ops[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!bowline_operation_done(ops[i]))
            return false;
    return true;
}

int lock_release(job *j, bowline_error *reterr)
{
    bowline_operation *ops[1 + OTHERS_MAX];
    size_t             started = 0;
    int                result  = bowline_release_start(&ops[0], j->hold, reterr);

    if (result == BOWLINE_OK)
        started++;
    j->hold = NULL;
    for (size_t i = 0; i < j->options.others.count; i++) {
        bool is_first = result == BOWLINE_OK;
        int  status =
            bowline_release_start(&ops[started], j->others.holds[i], is_first ? reterr : NULL);
        started += status == BOWLINE_OK;
        result = is_first ? status : result;
    }
    j->ended_by = 0;
    while (!all_are_done(ops, started) && j->ended_by == 0) {
        loop_turn(&j->loop, BOWLINE_FOREVER);
        lock_check_signals(j);
    }
    for (size_t i = 0; i < started; i++) {
        bool is_first = result == BOWLINE_OK;
        if (bowline_operation_done(ops[i])) {
            int status = bowline_finish(ops[i], is_first ? reterr : NULL);
            result     = is_first ? status : result;
        } else if (is_first) {
            *reterr = (bowline_error){ .status = BOWLINE_UNKNOWN,
                                       .text   = "a signal interrupted the release" };
            result  = BOWLINE_UNKNOWN;
        }
    }
    return result;
}
