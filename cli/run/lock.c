/*
 * lock.c -- see lock.h.
 *
 * Signals are heard at every moment.  Who is told to go while he waits leaves nothing behind in the
 * store; who is told to go while he gives the lock back leaves that to the end of the lease.
 */
#include "cli/run/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/run/waiting.h"

enum {
    CANCEL_MS = 2000, /* how long a cancelled acquire may take to take back what it asked for */
    ASK_MS    = 1000, /* how long we listen for who holds the lock                            */

    /* Descriptors of a run that come after that of bowline_fd: a connection, the pipe to the
     * command (two), the timer, the terminal. */
    MORE_FDS = 5,
};

static bool is_server(const job *j)
{
    return strncmp(j->settings.url, "file:", 5) != 0;
}

enum { PROGRAM_MAX = 63 }; /* bytes, as bowline_options says */

/* What others see as the program of the holder, beside the pid: that is bowline's, so its name
 * stands first, and then the command without its path. */
static words program_of(const char *command)
{
    const char *slash = strrchr(command, '/');

    return words_of("bowline run %.*s", PROGRAM_MAX - (int)strlen("bowline run "),
                    slash != NULL && slash[1] != '\0' ? slash + 1 : command);
}

/* --max-hold is watched here (job_left_ms) and not by the library, which would give the lock away
 * while a command that cannot be stopped runs on.  With --on-lost warn the command is not stopped,
 * and the library does end the hold.  --max-hold goes before the max-hold of the URL; 0: that
 * one. */
static int64_t max_hold_of(const job *j)
{
    int64_t max_hold_ms = j->settings.max_hold_ms;

    return max_hold_ms == 0 || j->options.on_lost == LOST_WARN ? max_hold_ms : INT64_MAX;
}

/* reply_ms: how long the store may be silent; 0: the usual. */
static int open_client(bowline_client **ret_client, const job *j, uint32_t reply_ms,
                       bowline_error *reterr)
{
    const settings *s       = &j->settings;
    words           program = program_of(j->options.command[0]);
    bowline_options options = {
        .size        = sizeof options,
        .url         = s->url,
        .lease_ms    = s->lease_ms,
        .reply_ms    = reply_ms,
        .max_hold_ms = max_hold_of(j),
        .renew       = j->options.no_renew ? BOWLINE_OFF : 0,
        .keeper      = BOWLINE_OFF,
        .spin        = BOWLINE_OFF,
        .program     = program.text,
    };

    return bowline_open(ret_client, &options, reterr);
}

int lock_open(job *j, bowline_error *reterr)
{
    return open_client(&j->client, j, 0, reterr);
}

void lock_hear_goodbye(job *j)
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

/* Whom to ask who holds the lock.  Asking blocks, and a signal must not have to wait for a silent
 * server: so a server is asked by a client of its own, which is opened when it is needed. */
static bowline_client *asker(job *j)
{
    if (j->asker == NULL && is_server(j) && open_client(&j->asker, j, ASK_MS, NULL) < 0)
        j->asker = NULL; /* a lease so short that the client itself is as quick */
    return j->asker != NULL ? j->asker : j->client;
}

static words words_of_wait(const job *j)
{
    if (j->settings.wait_ms == BOWLINE_NO_WAIT)
        return words_of("%s was not acquired", j->options.name);
    return words_of("%s was not acquired within %s", j->options.name,
                    words_of_duration(loop_now() - j->began_at).text);
}

static int complain_of_acquire(job *j, int status, const bowline_error *error, failure *reterr)
{
    failure is = {
        .code = EXIT_FAILED,
        .what = words_of("%s was not acquired", j->options.name),
    };

    failure_explain(&is, error->text,
                    words_of("check the URL, from %s", j->settings.url_from.text));
    if (status == BOWLINE_BUSY && j->settings.wait_ms != BOWLINE_NO_WAIT) {
        is.code = EXIT_NOT_ACQUIRED; /* who would have waited may not */
        is.hint = words_of("to allow any number of waiters, add ?queue-max=0 to the URL");
    } else if (status == BOWLINE_BUSY || status == BOWLINE_TIMEOUT) {
        is.code = EXIT_NOT_ACQUIRED;
        is.what = words_of_wait(j);
        is.hint = words_of("to wait longer, type: bowline run -w 5m ...; to exit 0, add --skip");
        if (!j->options.skips && !j->options.quiet)
            is.why = waiting_who(asker(j), j->options.name);
    } else if (status == BOWLINE_USAGE) {
        is.hint = words_of("type: bowline run --help");
    }
    return failed_with(reterr, is);
}

/* Told to go while waiting: nothing may be left behind in the store.  A second signal, or a store
 * that does not answer, leaves the rest to the end of the lease. */
static void cancel(job *j, bowline_operation *op)
{
    int64_t until = loop_now() + CANCEL_MS;
    int     first = j->ended_by;

    bowline_cancel(op);
    j->ended_by = 0;
    while (!bowline_operation_done(op) && j->ended_by == 0 && loop_now() < until) {
        loop_turn(&j->loop, until - loop_now());
        lock_hear_goodbye(j);
    }
    j->ended_by = first;
}

/* Opens MORE_FDS descriptors and closes them again.  False, with errno, where they are not to be
 * had. */
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

/* Without the descriptors that a run needs, the server is heard late or never, and the command
 * cannot be started.  So the lock is not asked for. */
static int check_descriptors(const job *j, failure *reterr)
{
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
    words         why;

    errno  = 0;
    int fd = bowline_fd(j->client);
    if (fd >= 0 && can_open_more(fd))
        return 0;
    why = words_of("%s", errno != 0 ? strerror(errno) : bowline_status_name(fd));
    /* (void): then no limit is named. */
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur != RLIM_INFINITY)
        why = words_of("%s: the limit of open files is %llu", why.text,
                       (unsigned long long)limit.rlim_cur);
    return failed_with(reterr, (failure){
                                   .code = EXIT_FAILED,
                                   .what = words_of("%s was not acquired", j->options.name),
                                   .why  = why,
                                   .hint = words_of("type first: ulimit -n 64"),
                               });
}

static int take(job *j, failure *reterr)
{
    const settings    *s = &j->settings;
    bowline_operation *op;
    bowline_error      error;
    status_line        line;
    waiting            w;

    if (is_server(j) && check_descriptors(j, reterr) < 0)
        return -1;
    status_send(job_status(&line, j, "waiting"));
    j->began_at = loop_now();
    int status =
        bowline_acquire_start(&op, j->client, j->options.name,
                              BOWLINE_ACQUIRE(.wait_ms = s->wait_ms, .max_hold_ms = max_hold_of(j),
                                              .lease_ms = s->lease_ms),
                              &error);
    if (status < 0)
        return complain_of_acquire(j, status, &error, reterr);
    waiting_begin(&w, j->options.name, j->options.quiet);
    while (!bowline_operation_done(op) && j->ended_by == 0) {
        loop_turn(&j->loop, waiting_wait_ms(&w));
        lock_hear_goodbye(j);
        if (!bowline_operation_done(op) && j->ended_by == 0 && waiting_is_due(&w))
            waiting_say(&w, asker(j));
    }
    waiting_end(&w);
    if (j->ended_by != 0) {
        cancel(j, op);
        if (!bowline_operation_done(op))
            return 0;
    }
    status = bowline_acquire_finish(&j->hold, op, &error);
    if (status < 0)
        return j->ended_by != 0 ? 0 : complain_of_acquire(j, status, &error, reterr);
    j->held_at = loop_now();
    return 0;
}

int lock_take(job *j, failure *reterr)
{
    int status = take(j, reterr);

    bowline_close(j->asker);
    j->asker = NULL;
    /* The command is not to find a password in our memory. */
    explicit_bzero(j->settings.url, sizeof j->settings.url);
    return status;
}

int lock_give_back(job *j, bowline_error *reterr)
{
    bowline_operation *op;
    int                status = bowline_release_start(&op, j->hold, reterr);

    j->hold = NULL;
    if (status < 0)
        return status;
    j->ended_by = 0;
    while (!bowline_operation_done(op) && j->ended_by == 0) {
        loop_turn(&j->loop, BOWLINE_FOREVER);
        lock_hear_goodbye(j);
    }
    if (bowline_operation_done(op))
        return bowline_finish(op, reterr);
    *reterr =
        (bowline_error){ .status = BOWLINE_UNKNOWN, .text = "a signal interrupted the release" };
    return BOWLINE_UNKNOWN;
}
