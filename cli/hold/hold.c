/*
 * hold.c -- `bowline hold`: starts a keeper and waits until it holds the lock.
 *
 * A shell evaluates what is printed.  If the lock is not held, the text must not let the shell go
 * on: an empty text would be a success of eval.
 */
#include "cli/hold/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/hold/export.h"
#include "cli/hold/keeper.h"
#include "cli/hold/watched.h"
#include "cli/run/loop.h"
#include "cli/settings/commands.h"

static const option_row rows[] = { HOLD_OPTION_MAP(OPTION_ROW) };

static const char hold_details[] =
    "\n"
    "A background process of bowline keeps the lock and renews its lease, until the\n"
    "first of: bowline release; the end of process PID; --max-hold; TERM to it.\n"
    "One of --for and --max-hold is needed: a killed script cannot release.\n"
    "\n"
    "It prints shell text that exports\n"
    "  BOWLINE_HOLD   a socket, for bowline release\n"
    "  BOWLINE_FENCE  fencing token: grows with every holder; unset if the lock has none\n"
    "  BOWLINE_NAME   name of the lock\n"
    "If the lock is not acquired, eval of the text fails with the same exit status;\n"
    "with --skip the text is \"exit 0\", which ends the shell.\n"
    "\n"
    "Nothing stops the shell when the lock is lost: use bowline run for that.\n"
    "bowline release --check tells it whether it still holds the lock.\n";

const option_table hold_table = {
    OPTION_TABLE("hold", rows, HOLD_OPERANDS, false),
    .before =
        "eval \"$(bowline hold -w 5m --for $$ deploy)\" || exit   for the rest of this shell\n"
        "bowline release                                       before its end\n"
        "\n",
    .after   = "\n"
               "Exit: 0 held; 124 not acquired; 125 bowline failed.  bowline help hold\n",
    .details = hold_details,
};

/* The keeper as its parent sees it. */
typedef struct start {
    pid_t   pid;
    int     ready_fd;
    signals signals;
    watched watched; /* pid 0: none */
} start;

static void pass_signals_on(start *s)
{
    bool by_terminal;
    int  number;

    while ((number = signals_next(&s->signals, &by_terminal)) != 0)
        if (number != SIGCHLD && !by_terminal) /* a key has sent it to the keeper too */
            (void)kill(s->pid, number);        /* (void): it has not been waited for */
}

/* Waits until the keeper is ready or has ended.  Returns the exit code; *ret_is_held. */
static int follow(start *s, bool *ret_is_held)
{
    struct pollfd fds[] = {
        { .fd = s->ready_fd, .events = POLLIN },
        { .fd = s->signals.fd, .events = POLLIN },
        { .fd = s->watched.fd, .events = POLLIN },
    };
    int  status, patience = s->watched.pid != 0 && s->watched.fd < 0 ? WATCHED_POLL_MS : -1;
    char byte;

    while (fds[0].revents == 0) {
        if (poll(fds, sizeof fds / sizeof fds[0], patience) < 0)
            continue; /* no signal can interrupt it but STOP and CONT */
        pass_signals_on(s);
        if (s->watched.pid != 0 && watched_has_ended(&s->watched)) {
            (void)kill(s->pid, SIGTERM); /* as above */
            fds[2].fd      = -1;
            s->watched.pid = 0;
        }
    }
    *ret_is_held = read(s->ready_fd, &byte, 1) == 1;
    if (*ret_is_held)
        return 0;
    while (waitpid(s->pid, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_FAILED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SIGNAL + WTERMSIG(status);
}

static int start_failed(failure *reterr, const char *what)
{
    return failed(reterr, words_of("the lock was not acquired"),
                  words_of("%s: %s", what, strerror(errno)), words_of("type: ulimit -a"));
}

/* Returns the exit code, or below 0 with *reterr. */
static int hold(const run_options *o, bool *ret_is_held, failure *reterr)
{
    start s      = { .watched = { .fd = -1 } };
    pid_t parent = getpid();
    int   fds[2];

    if (o->hold.pid != 0 && watched_open(&s.watched, o->hold.pid, reterr) < 0)
        return -1;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return start_failed(reterr, "pipe");
    s.pid = fork();
    if (s.pid < 0)
        return start_failed(reterr, "fork");
    if (s.pid == 0) {
        int code = keeper_main(o, parent, fds[1]);
        _exit(code);
    }
    (void)close(fds[1]);
    s.ready_fd = fds[0];
    if (signals_take(&s.signals, reterr) < 0)
        return -1; /* the keeper gets TERM when this process exits */
    return follow(&s, ret_is_held);
}

static int read_options(run_options *o, int argc, char **argv, failure *reterr)
{
    int at = options_parse(o, &hold_table, argc, argv, reterr);

    if (at > 0 && o->share.mode != BOWLINE_EXCLUSIVE && o->hold.ticket != NULL)
        return options_fail(&hold_table, reterr, words_of("--ticket excludes -s and --permits"),
                            words_of("only an exclusive lock can be passed on"));
    if (at > 0 && argc - at != 1)
        return options_fail(
            &hold_table, reterr,
            words_of(argc > at ? "more than one lock is named" : "the name of the lock is missing"),
            words_of("usage: %s", hold_table.usage));
    if (at > 0)
        o->name = argv[at];
    if (at > 0 && options_check_name(o->name, "hold", reterr) < 0)
        return -1;
    if (at > 0 && options_take_wait(o, &hold_table, reterr) < 0)
        return -1;
    return at;
}

int hold_main(int argc, char **argv)
{
    run_options o;
    bool        is_held = false;
    failure     is;
    int         code = read_options(&o, argc, argv, &is);

    if (code == 0) {
        options_write(&hold_table, false);
        return say_done();
    }
    if (code > 0 && o.hold.ticket != NULL)
        return export_main(&o);
    if (code > 0)
        code = hold(&o, &is_held, &is);
    if (code < 0) {
        say_failure(&is);
        code = is.code;
    }
    if (is_held || o.wants_json)
        return code;
    (void)printf("unset BOWLINE_HOLD BOWLINE_FENCE BOWLINE_NAME; ");
    if (code == 0 && o.skips)
        (void)printf("exit 0\n");
    else
        (void)printf("(exit %d)\n", code);
    int done = say_done();
    return code != 0 ? code : done;
}
