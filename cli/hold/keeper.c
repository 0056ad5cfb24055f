/*
 * keeper.c -- epoll(7) in the loop of a job: the socket, its connections, the watched process.
 */
#include "cli/hold/keeper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/hold/socket.h"
#include "cli/hold/watched.h"
#include "cli/run/job.h"
#include "cli/run/nested.h"

enum { QUIT_MS = 20, FDS_MAX = 65536 };

typedef struct keeper {
    job         job;
    hold_socket socket;
    watched     watched; /* pid 0: none */
    int         epoll_fd;
    int         ready_fd;
    int         asked_fd; /* the connection that asked for the release; below 0: none */
    bool        is_over;  /* the lock is lost, or --max-hold has released it */
    words       why;      /* is_over */
} keeper;

/* ---- before the lock ------------------------------------------------------------------------- */

/* Closes what this process has inherited: a reader of the end of a pipe would wait for it. */
static void close_others(int kept_fd)
{
    struct rlimit limit = { .rlim_cur = FDS_MAX };
    unsigned      first = STDERR_FILENO + 1;
    unsigned      kept  = (unsigned)kept_fd;

    assert(kept >= first);
    if ((kept == first || syscall(SYS_close_range, first, kept - 1, 0) == 0) &&
        syscall(SYS_close_range, kept + 1, ~0U, 0) == 0)
        return;
    /* (void): then FDS_MAX. */
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = (int)first; fd < FDS_MAX && (rlim_t)fd < limit.rlim_cur; fd++)
        if (fd != kept_fd)
            (void)close(fd);
}

static bool watch_fd(const keeper *k, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

    return epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* The socket is made before the lock is acquired: an error must not cost a turn in the queue. */
static int prepare(keeper *k, failure *reterr)
{
    job *j = &k->job;

    if (j->options.hold.pid != 0 && watched_open(&k->watched, j->options.hold.pid, reterr) < 0)
        return -1;
    if (lock_prepare(j, reterr) < 0)
        return -1;
    if (j->options.hold.pid == 0 && j->settings.max_hold_ms == 0)
        return failed(reterr, words_of("nothing would end this hold"),
                      words_of("without --for or --max-hold, a script that is killed leaves it"),
                      words_of("type: bowline hold --for $$ %s", j->options.name));
    k->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (hold_listen(&k->socket, reterr) < 0)
        return -1;
    if (!watch_fd(k, k->socket.fd) || (k->watched.fd >= 0 && !watch_fd(k, k->watched.fd)))
        return failed(reterr, words_of("%s was not acquired", j->options.name),
                      words_of("epoll: %s", strerror(errno)), words_of("type: ulimit -n"));
    return 0;
}

/* ---- what is printed ------------------------------------------------------------------------- */

/* A word of a POSIX shell. */
static void print_quoted(const char *text)
{
    (void)putchar('\'');
    for (; *text != '\0'; text++)
        (void)fputs(*text == '\'' ? "'\\''" : (char[]){ *text, '\0' }, stdout);
    (void)putchar('\'');
}

static void print_variable(const char *name, const char *value)
{
    (void)printf("export %s=", name);
    print_quoted(value);
    (void)fputs("; ", stdout);
}

static void print_shell(const keeper *k, const char *fence, const char *held)
{
    if (fence != NULL)
        print_variable("BOWLINE_FENCE", fence);
    else
        (void)fputs("unset BOWLINE_FENCE; ", stdout);
    if (held != NULL)
        print_variable(NESTED_VARIABLE, held);
    print_variable("BOWLINE_NAME", k->job.options.name);
    print_variable(HOLD_VARIABLE, k->socket.path);
    (void)putchar('\n');
}

static int print_hold(const keeper *k)
{
    uint64_t number = bowline_hold_fence(k->job.hold);
    words    fence  = words_of("%" PRIu64, number);
    char     held[NESTED_VALUE_MAX];
    bool     is_known = nested_value(held, k->job.lock);

    if (!k->job.options.wants_json) {
        print_shell(k, number != 0 ? fence.text : NULL, is_known ? held : NULL);
        return say_done();
    }
    json_open(NULL, '{');
    json_text("event", "held");
    json_text("name", k->job.options.name);
    json_text("hold", k->socket.path);
    json_text("fence", number != 0 ? fence.text : NULL);
    json_number("pid", getpid());
    json_text("held", is_known ? held : NULL);
    json_close('}');
    return say_done();
}

/* ---- keeping the lock ------------------------------------------------------------------------ */

/* Gives up the terminal, session, directory and streams of the caller.  NULL, or what failed. */
static const char *detach(keeper *k)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null_fd < 0)
        return "/dev/null";
    if (setsid() < 0 || chdir("/") < 0)
        return "/";
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (dup2(null_fd, fd) < 0)
            return "/dev/null";
    /* (void): if the parent has died before, its death has sent TERM. */
    (void)close(null_fd);
    (void)prctl(PR_SET_PDEATHSIG, 0);
    (void)!write(k->ready_fd, "", 1);
    (void)close(k->ready_fd);
    return NULL;
}

static void release(keeper *k, bowline_error *reterr)
{
    *reterr = (bowline_error){ .status = BOWLINE_OK };
    if (k->job.hold != NULL)
        reterr->status = lock_release(&k->job, reterr);
}

/* Notices that the lock is lost, and ends it at --max-hold.  Returns how long neither can be. */
static int64_t check_lock(keeper *k)
{
    job          *j = &k->job;
    bowline_error error;

    if (k->is_over)
        return BOWLINE_FOREVER;
    int64_t left_ms = job_left_ms(j);
    if (left_ms > 0) {
        j->expected_until = left_ms == INT64_MAX ? INT64_MAX : loop_now() + left_ms;
        return left_ms == INT64_MAX ? BOWLINE_FOREVER : left_ms;
    }
    k->is_over = true;
    k->why     = loss_why(j, left_ms);
    if (bowline_hold_left_ms(j->hold) > 0)
        release(k, &error); /* of --max-hold; if it fails, the lock ends with its lease */
    return 0;
}

/* After a loss, the library learns from the store who broke the lock. */
static words why_over(const keeper *k)
{
    bowline_error error;
    words         why = k->why;

    if (k->job.hold != NULL && bowline_hold_check(k->job.hold, &error) == BOWLINE_LOST)
        (void)loss_breaker(&error, &why); /* (void): then it is why the hold is over */
    return why;
}

static void answer(const keeper *k, int fd, const char *word, words why)
{
    char packet[HOLD_PACKET_MAX];

    (void)snprintf(packet, sizeof packet, "%s\n%s\n%s\n", word, k->job.options.name, why.text);
    hold_send(fd, packet);
    (void)close(fd);
}

/* What a connection asks.  One that closes before, or asks for something else, gets no answer. */
static void serve(keeper *k, int fd)
{
    char question[HOLD_PACKET_MAX];

    if (!hold_receive(fd, question))
        question[0] = '\0';
    if (strcmp(question, "release") == 0 && k->asked_fd < 0) {
        k->asked_fd = fd;
        (void)epoll_ctl(k->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* (void): it is closed in the end */
    } else if (strcmp(question, "check") == 0) {
        answer(k, fd, k->is_over ? "lost" : "held", why_over(k));
    } else {
        (void)close(fd);
    }
}

/* True: the process of --for has ended. */
static bool serve_all(keeper *k)
{
    struct epoll_event event;

    while (epoll_wait(k->epoll_fd, &event, 1, 0) == 1) {
        if (event.data.fd == k->watched.fd)
            return true;
        if (event.data.fd != k->socket.fd) {
            serve(k, event.data.fd);
            continue;
        }
        int fd = hold_accept(&k->socket);
        if (fd >= 0 && !watch_fd(k, fd))
            (void)close(fd);
    }
    return false;
}

static bool is_watched_over(const keeper *k)
{
    return k->watched.pid != 0 && k->watched.fd < 0 && watched_has_ended(&k->watched);
}

/* Until something ends the hold. */
static void keep(keeper *k)
{
    job *j = &k->job;

    /* As in supervise: without a lease the store has nothing to report. */
    if (bowline_hold_left_ms(j->hold) == INT64_MAX)
        j->loop.client = NULL;
    j->loop.other_fd = k->epoll_fd;
    for (;;) {
        int64_t wait_ms = check_lock(k);
        if (k->watched.pid == 0 && k->is_over && loop_now() - j->held_at >= j->settings.max_hold_ms)
            break;
        if (k->watched.pid != 0 && k->watched.fd < 0)
            wait_ms = loop_earlier(wait_ms, WATCHED_POLL_MS);
        if (k->watched.pid == 0 && k->is_over)
            wait_ms = j->settings.max_hold_ms - (loop_now() - j->held_at);
        loop_turn(&j->loop, wait_ms);
        lock_check_signals(j);
        if (serve_all(k) || is_watched_over(k) || j->ended_by != 0 || k->asked_fd >= 0)
            break;
    }
    j->loop.client   = j->client;
    j->loop.other_fd = -1;
}

static void end(keeper *k)
{
    words         why = k->is_over ? why_over(k) : words_of("%s", "");
    bowline_error error;

    (void)check_lock(k); /* the last moment at which a loss counts */
    if (k->is_over)
        why = why_over(k);
    release(k, &error);
    hold_unlisten(&k->socket);
    if (k->asked_fd < 0)
        return;
    if (!k->is_over && error.status != BOWLINE_OK) {
        why = words_of("%s", error.text);
        (void)loss_breaker(&error, &why);
    }
    if (k->is_over || error.status == BOWLINE_LOST)
        answer(k, k->asked_fd, "lost", why);
    else
        answer(k, k->asked_fd, error.status == BOWLINE_OK ? "released" : "failed", why);
}

/* ---- the life of a keeper -------------------------------------------------------------------- */

/* The lock is held: everything from here to the end. */
static int hold_on(keeper *k)
{
    job          *j = &k->job;
    bowline_error error;

    if (j->ended_by == 0 && j->options.verbose)
        say_line("%s acquired after %s, kept by pid %d", j->options.name,
                 words_of_duration(j->held_at - j->began_at).text, (int)getpid());
    /* (void): a hint for people. */
    (void)bowline_hold_set_command(j->hold, j->options.hold.pid, NULL);
    int         code   = j->ended_by != 0 ? EXIT_SIGNAL + j->ended_by : print_hold(k);
    const char *failed = code == 0 ? detach(k) : NULL;
    if (failed != NULL) {
        say_line("%s was not kept: %s: %s", j->options.name, failed, strerror(errno));
        code = EXIT_FAILED;
    }
    if (code != 0) {
        release(k, &error); /* no work was done under this lock */
        hold_unlisten(&k->socket);
        return code;
    }
    keep(k);
    end(k);
    return 0;
}

static int not_held(const keeper *k, const failure *is)
{
    const run_options *o       = &k->job.options;
    bool               is_busy = is->code == EXIT_NOT_ACQUIRED;

    if (k->socket.fd >= 0)
        hold_unlisten(&k->socket);
    if (!is_busy || !(o->skips || o->quiet))
        say_failure(is);
    return is_busy ? o->busy_code : is->code;
}

int keeper_main(const run_options *options, pid_t parent, int ready_fd)
{
    struct sigaction usual = { .sa_handler = SIG_DFL };
    failure          is;
    int              code;
    keeper           k = {
                  .job      = { .options = *options, .interrupt = INTERRUPT_NONE },
                  .socket   = { .fd = -1 },
                  .watched  = { .fd = -1 },
                  .ready_fd = ready_fd,
                  .asked_fd = -1,
    };

    close_others(ready_fd);
    /* If `bowline hold` dies before the lock is kept, no one would know of it.  TERM must work even
     * if the caller ignores it. */
    (void)sigaction(SIGTERM, &usual, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        return EXIT_SIGNAL + SIGTERM;
    if (prepare(&k, &is) < 0 || lock_take(&k.job, &is) < 0) {
        code = not_held(&k, &is);
    } else {
        lock_check_signals(&k.job);
        code = k.job.hold != NULL ? hold_on(&k) : EXIT_SIGNAL + k.job.ended_by;
        if (k.job.hold == NULL && code > EXIT_SIGNAL)
            hold_unlisten(&k.socket);
    }
    settings_wipe(&k.job.settings);
    if (!k.job.server_is_silent) /* else it would wait, as in run.c */
        bowline_close(k.job.client);
    return code;
}
