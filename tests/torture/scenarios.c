/*
 * scenarios.c -- what is done while one call after the other fails.
 *
 * A scenario goes on as far as the failures let it, and closes what it has opened.  What it checks
 * itself is only what a caller is told: a status that is documented for the call, with words.  What
 * must be true afterwards is checked by torture.c.
 */
#include "tests/lib/counter.h"
#include "tests/torture/stage.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEASE_MS = 20000, SHORT_LEASE_MS = 600, KEEP_TRIES = 20 };

static bowline_client *open_one(stage *s, uint32_t flags, uint32_t lease_ms)
{
    bowline_client *client   = NULL;
    bowline_error   error    = { 0 };
    uint32_t        reply_ms = s->undisturbed ? lease_ms : 0; /* 0: as the lease has it */

    if (lease_ms == LEASE_MS)
        reply_ms = s->reply_ms;
    bowline_options options = { .size     = sizeof options,
                                .url      = s->url,
                                .flags    = flags,
                                .lease_ms = lease_ms,
                                .reply_ms = reply_ms };
    int             status  = bowline_open(&client, &options, &error);

    return goes(s, "open", status, MAY_OPEN, &error) ? client : NULL;
}

static bowline_hold *take(stage *s, bowline_client *client, int64_t wait_ms)
{
    bowline_hold *hold   = NULL;
    bowline_error error  = { 0 };
    int           status = acquire_within(&hold, client, s->name, wait_ms, &error);

    return goes(s, "acquire", status, MAY_ACQUIRE, &error) ? hold : NULL;
}

static void give_back(stage *s, bowline_hold *hold)
{
    bowline_error error = { 0 };

    if (hold != NULL)
        (void)goes(s, "release", bowline_release(hold, &error), MAY_RELEASE, &error);
}

/* ---- every verb, one after the other --------------------------------------------------------- */

static void play_verbs(stage *s)
{
    bowline_holder  holder = { .size = sizeof holder };
    bowline_error   error  = { 0 };
    int             fds[BOWLINE_HOLD_INHERIT_FDS_MAX];
    bowline_client *client = open_one(s, 0, LEASE_MS);

    if (client == NULL)
        return;
    for (int turn = 0; turn < 2; turn++) { /* the second finds everything open */
        bowline_hold *hold = take(s, client, BOWLINE_NO_WAIT);
        if (hold == NULL)
            continue;
        work_inside(s, hold);
        error = (bowline_error){ 0 };
        (void)goes(s, "extend", bowline_extend(hold, 0, &error), MAY_EXTEND, &error);
        error = (bowline_error){ 0 };
        if (goes(s, "who", bowline_who(client, s->name, &holder, &error), MAY_ASK, &error) &&
            s->undisturbed && !holder.held)
            complain(s, "who sees nobody");
        (void)bowline_hold_inherit_fds(hold, fds);
        give_back(s, hold);
    }
    bowline_close(client);
}

/* A client that closes gives back what it holds, and takes back what it seeks. */
static void play_close(stage *s)
{
    bowline_operation *op     = NULL;
    bowline_error      error  = { 0 };
    bowline_client    *client = open_one(s, BOWLINE_NO_THREAD, LEASE_MS);

    if (client == NULL)
        return;
    (void)take(s, client, BOWLINE_NO_WAIT);
    (void)goes(
        s, "acquire_start",
        bowline_acquire_start(&op, client, s->name, BOWLINE_ACQUIRE(.wait_ms = s->wait_ms), &error),
        MAY_ACQUIRE, &error);
    (void)bowline_dispatch(client, 0, NULL);
    bowline_close(client);
}

/* ---- several who want it --------------------------------------------------------------------- */

typedef struct rival {
    stage          *stage;
    bowline_client *client;
} rival;

static void *contend(void *arg)
{
    rival *r = arg;

    for (int turn = 0; turn < 2; turn++) {
        bowline_hold *hold = take(r->stage, r->client, r->stage->wait_ms);
        if (hold == NULL)
            continue;
        work_inside(r->stage, hold);
        give_back(r->stage, hold);
    }
    return NULL;
}

/* Two threads of this client and one of another, each of which takes the lock twice. */
static void play_crowd(stage *s)
{
    bowline_client *one      = open_one(s, 0, LEASE_MS);
    bowline_client *two      = open_one(s, BOWLINE_NO_THREAD, LEASE_MS);
    rival           rivals[] = { { s, one }, { s, one }, { s, two } };
    pthread_t       threads[3];

    s->may_be_busy = true;
    if (one != NULL && two != NULL) {
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, contend, &rivals[i]), 0);
        for (int i = 0; i < 3; i++)
            (void)pthread_join(threads[i], NULL);
    }
    bowline_close(one);
    bowline_close(two);
}

/* ---- started now, finished later ------------------------------------------------------------- */

/* As an event loop does it.  False: it does not end. */
static bool turn_until_done(stage *s, bowline_client *client, bowline_operation *op)
{
    int64_t end = clock_ms() + 10000;

    while (!bowline_operation_done(op) && clock_ms() < end) {
        bowline_error error   = { 0 };
        int           fd      = bowline_fd(client);
        int64_t       wait_ms = bowline_timeout_ms(client);
        struct pollfd ready   = { .fd = fd, .events = POLLIN };
        if (wait_ms == BOWLINE_FOREVER || wait_ms > 200)
            wait_ms = 200;
        (void)poll(&ready, 1, (int)wait_ms);
        (void)goes(s, "dispatch", bowline_dispatch(client, 0, &error), MAY_ALWAYS, &error);
    }
    return bowline_operation_done(op);
}

static int finish_acquire(stage *s, bowline_hold **ret_hold, bowline_operation *op, uint32_t may)
{
    bowline_error error  = { 0 };
    int           status = bowline_acquire_finish(ret_hold, op, &error);

    (void)goes(s, "acquire_finish", status, may, &error);
    return status;
}

static void play_async(stage *s)
{
    bowline_operation *op     = NULL;
    bowline_hold      *hold   = NULL;
    bowline_error      error  = { 0 };
    bowline_client    *client = open_one(s, BOWLINE_NO_THREAD, LEASE_MS);

    if (client == NULL)
        return;
    int fd = bowline_fd(client);
    if (fd < 0 && (fd != BOWLINE_SYSTEM && fd != BOWLINE_NOMEM))
        complain(s, "bowline_fd: %d", fd);
    if (goes(s, "acquire_start",
             bowline_acquire_start(&op, client, s->name, BOWLINE_ACQUIRE(.wait_ms = s->wait_ms),
                                   &error),
             MAY_ACQUIRE, &error)) {
        if (!turn_until_done(s, client, op))
            complain(s, "the acquire does not end");
        (void)finish_acquire(s, &hold, op, MAY_ACQUIRE);
    }
    if (hold != NULL) {
        error = (bowline_error){ 0 };
        work_inside(s, hold);
        if (goes(s, "extend_start", bowline_extend_start(&op, hold, 0, &error),
                 MAY_EXTEND | MAY_ALWAYS, &error)) {
            (void)turn_until_done(s, client, op);
            error = (bowline_error){ 0 };
            (void)goes(s, "finish", bowline_finish(op, &error), MAY_EXTEND, &error);
        }
        error = (bowline_error){ 0 };
        if (goes(s, "release_start", bowline_release_start(&op, hold, &error), MAY_ALWAYS,
                 &error)) {
            if (!turn_until_done(s, client, op))
                complain(s, "the release does not end");
            error = (bowline_error){ 0 };
            (void)goes(s, "finish", bowline_finish(op, &error), MAY_RELEASE, &error);
        }
    }
    bowline_close(client);
}

/* What has happened, told as events; false: not all of `ops` have ended. */
static bool take_events(stage *s, bowline_client *client, bowline_operation *const ops[], int count)
{
    int     fd    = bowline_wakeup_fd(client, NULL);
    int     ended = 0;
    int64_t end   = clock_ms() + 10000;

    while (ended < count && clock_ms() < end) {
        bowline_error error   = { 0 };
        bowline_event event   = { .size = sizeof event };
        struct pollfd ready   = { .fd = fd >= 0 ? fd : bowline_fd(client), .events = POLLIN };
        int64_t       wait_ms = fd >= 0 ? 200 : bowline_timeout_ms(client);
        (void)poll(&ready, 1, wait_ms < 0 || wait_ms > 200 ? 200 : (int)wait_ms);
        (void)goes(s, "dispatch", bowline_dispatch(client, 0, &error), MAY_ALWAYS, &error);
        while (bowline_next_event(client, &event, NULL) == 1)
            for (int i = 0; i < count; i++)
                ended += event.kind == BOWLINE_EVENT_ENDED && event.operation == ops[i];
    }
    for (int i = 0; i < count; i++)
        if (!bowline_operation_done(ops[i]))
            complain(s, "an operation does not end");
    if (ended != count)
        complain(s, "%d operations have ended, and %d events say so", count, ended);
    return ended == count;
}

/* A descriptor, or a status that is documented. */
static void check_fd(stage *s, const char *call, int fd, const bowline_error *error)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };

    if (fd < 0)
        (void)goes(s, call, fd, MAY_ALWAYS, error);
    else if (poll(&ready, 1, 0) < 0 || (ready.revents & POLLNVAL) != 0)
        complain(s, "%s is no descriptor", call);
}

/* The lock was acquired: an end that is told by events as well. */
static void release_by_events(stage *s, bowline_client *client, bowline_hold *hold)
{
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };
    int                fd    = bowline_hold_lost_fd(hold, &error);

    check_fd(s, "hold_lost_fd", fd, &error);
    work_inside(s, hold);
    error = (bowline_error){ 0 };
    if (goes(s, "release_start", bowline_release_start(&op, hold, &error), MAY_ALWAYS, &error)) {
        (void)take_events(s, client, &op, 1);
        error = (bowline_error){ 0 };
        (void)goes(s, "finish", bowline_finish(op, &error), MAY_RELEASE, &error);
    }
}

/* As a loop does it that takes a pipe and asks for events: who and acquire side by side. */
static void play_events(stage *s)
{
    bowline_operation *ops[2] = { NULL, NULL };
    bowline_holder     holder = { .size = sizeof holder };
    bowline_hold      *hold   = NULL;
    bowline_error      error  = { 0 };
    bowline_client    *client = open_one(s, BOWLINE_NO_THREAD, LEASE_MS);

    if (client == NULL)
        return;
    int fd = bowline_wakeup_fd(client, &error);
    check_fd(s, "wakeup_fd", fd, &error);
    error    = (bowline_error){ 0 };
    bool ask = goes(s, "who_start", bowline_who_start(&ops[0], client, s->name, &error), MAY_ALWAYS,
                    &error);
    error    = (bowline_error){ 0 };
    bool seek = goes(s, "acquire_start",
                     bowline_acquire_start(&ops[1], client, s->name,
                                           BOWLINE_ACQUIRE(.wait_ms = s->wait_ms), &error),
                     MAY_ACQUIRE, &error);
    (void)take_events(s, client, ask ? ops : ops + 1, ask + seek);
    error = (bowline_error){ 0 };
    if (ask)
        (void)goes(s, "who_finish", bowline_who_finish(&holder, ops[0], &error), MAY_ASK, &error);
    if (seek)
        (void)finish_acquire(s, &hold, ops[1], MAY_ACQUIRE);
    if (hold != NULL)
        release_by_events(s, client, hold);
    bowline_close(client);
}

/* Who waits is told to stop, by another thread than the one that waits. */
static void play_cancel(stage *s)
{
    bowline_operation *op     = NULL;
    bowline_error      error  = { 0 };
    bowline_hold      *second = NULL;
    bowline_client    *client = open_one(s, 0, LEASE_MS);

    if (client == NULL)
        return;
    bowline_hold *hold = take(s, client, BOWLINE_NO_WAIT);
    s->may_be_busy     = true;
    if (goes(s, "acquire_start",
             bowline_acquire_start(&op, client, s->name,
                                   BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
             MAY_ACQUIRE, &error)) {
        (void)bowline_operation_wait(op, 20, NULL);
        bowline_cancel(op);
        int status = finish_acquire(s, &second, op, MAY_ACQUIRE | MAY(BOWLINE_CANCELLED));
        if (status == BOWLINE_OK && hold != NULL && s->undisturbed)
            complain(s, "two hold %s", s->name);
    }
    give_back(s, second);
    give_back(s, hold);
    bowline_close(client);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* The child: what it inherited is dead, a client of its own is not. */
static int live_in_child(stage *s, bowline_client *client, bowline_hold *hold)
{
    bowline_error error = { 0 };
    bowline_hold *stray = NULL;

    if (acquire_within(&stray, client, s->name, 0, &error) != BOWLINE_FORKED)
        complain(s, "the child can acquire with the parent's client");
    if (bowline_release(hold, &error) != BOWLINE_FORKED)
        complain(s, "the child can release the parent's hold");
    bowline_close(client);
    bowline_client *own = open_one(s, 0, LEASE_MS);
    if (own != NULL) {
        stray = take(s, own, BOWLINE_NO_WAIT);
        if (stray != NULL && strcmp(s->engine, "thread") != 0) {
            complain(s, "the child takes what the parent holds");
        }
        bowline_close(own);
    }
    return atomic_load(&s->complaints) > 0;
}

static void play_fork(stage *s)
{
    int             ended  = 0;
    bowline_client *client = open_one(s, 0, LEASE_MS);

    if (client == NULL)
        return;
    bowline_hold *hold = take(s, client, BOWLINE_NO_WAIT);
    s->may_be_busy     = true;
    if (hold != NULL) {
        pid_t pid = fork();
        if (pid == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* alarms are not inherited: it might stay */
            _exit(live_in_child(s, client, hold));
        }
        assert_true(pid > 0);
        (void)waitpid(pid, &ended, 0);
        if (ended != 0)
            complain(s, "the child ended with %d", ended);
        if (strcmp(s->engine, "thread") != 0 && bowline_hold_left_ms(hold) > 0)
            work_inside(s, hold);
    }
    give_back(s, hold);
    bowline_close(client);
}

/* Somebody has the file with flock(2), as flock(1) does: nobody of ours gets it. */
static void play_outsider(stage *s)
{
    int fd = open(s->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    s->may_be_busy         = true;
    bowline_client *client = open_one(s, 0, LEASE_MS);
    if (client != NULL) {
        bowline_hold *hold = take(s, client, BOWLINE_NO_WAIT);
        if (hold != NULL)
            complain(s, "it is taken, and so has somebody else");
        give_back(s, hold);
    }
    bowline_close(client);
    (void)close(fd);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Longer than the lease: the keeper renews, or the holder is told that he has lost it.  True if he
 * has, where that may be and is not said. */
static bool keep_in_vain(stage *s, bowline_client *client, bool may_be_late)
{
    const uint32_t late  = MAY(BOWLINE_LOST) | MAY(BOWLINE_UNKNOWN) | MAY(BOWLINE_UNREACHABLE);
    bowline_error  error = { 0 };
    bowline_hold  *hold  = take(s, client, s->undisturbed ? s->wait_ms : BOWLINE_NO_WAIT);

    if (hold == NULL)
        return false;
    sleep_ms(SHORT_LEASE_MS + SHORT_LEASE_MS / 8);
    work_inside(s, hold);
    int status = bowline_release(hold, &error);
    if (may_be_late && status != BOWLINE_OK && (late & (1u << -status)) != 0)
        return true;
    (void)goes(s, "release", status, MAY_RELEASE, &error);
    return false;
}

/* Where nothing fails, only a machine that stands still is late, and it does not for ever. */
static void play_keep(stage *s)
{
    int             left   = s->undisturbed ? KEEP_TRIES : 1;
    bowline_client *client = open_one(s, 0, SHORT_LEASE_MS);

    if (client == NULL)
        return;
    while (keep_in_vain(s, client, left > 1))
        left--;
    bowline_close(client);
}

/* ---- without a lock -------------------------------------------------------------------------- */

static int wipe(bowline_change *change, void *context)
{
    long *ret_sum = context;

    *ret_sum = change->old_value != NULL ? strtol(change->old_value, NULL, 10) : 0;
    return BOWLINE_UPDATE_DELETE;
}

/* What was counted counts once; what is not known, once or not at all; what failed does not. */
static void play_update(stage *s)
{
    long            begun  = -1; /* an earlier round could not wipe it, perhaps                */
    long            least  = 0;
    long            most   = 0;
    long            sum    = 0;
    bowline_client *client = open_one(s, 0, LEASE_MS);

    if (client == NULL)
        return;
    for (int turn = 0; turn < 3; turn++) {
        counter       c      = { .calls = 0 };
        bowline_error error  = { 0 };
        int           status = bowline_update(client, s->name, count_one, &c, NULL, &error);
        (void)goes(s, "update", status, MAY_ASK, &error);
        if (begun < 0 && c.calls > 0)
            begun = strtol(c.before, NULL, 10); /* "-" is 0 */
        least += status == BOWLINE_OK;
        most += status == BOWLINE_OK || status == BOWLINE_UNKNOWN;
    }
    if (bowline_update(client, s->name, wipe, &sum, NULL, NULL) == BOWLINE_OK && begun >= 0 &&
        (sum - begun < least || sum - begun > most))
        complain(s, "%ld were counted, which is not from %ld to %ld", sum - begun, least, most);
    bowline_close(client);
}

const scenario scenarios[] = {
    { .name = "verbs", .play = play_verbs },
    { .name = "close", .play = play_close },
    { .name = "async", .play = play_async },
    { .name = "events", .play = play_events },
    { .name = "cancel", .play = play_cancel },
    { .name = "crowd", .play = play_crowd },
    { .name = "fork", .play = play_fork },
    { .name = "outsider", .play = play_outsider, .paths_only = true },
    { .name = "keep", .play = play_keep, .leases_only = true },
    { .name = "update", .play = play_update, .leases_only = true },
};
const size_t scenarios_count = sizeof scenarios / sizeof scenarios[0];
