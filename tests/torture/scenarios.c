/*
 * scenarios.c -- the operations that run while calls fail.
 *
 * A scenario continues as far as the failures allow, and closes what it opened. It checks only what
 * a caller sees: a status that is documented for the call, with an error text. torture.c checks the
 * state afterwards.
 */
#include "tests/lib/counter.h"
#include "tests/torture/stage.h"

#include <bowline/election.h>

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
    uint32_t        reply_ms = s->no_faults ? lease_ms : 0; /* 0: follows from the lease */

    if (lease_ms == LEASE_MS)
        reply_ms = s->reply_ms;
    bowline_options options = { .size     = sizeof options,
                                .url      = s->url,
                                .flags    = flags,
                                .lease_ms = lease_ms,
                                .reply_ms = reply_ms };
    int             status  = bowline_open(&client, &options, &error);

    return check_status(s, "open", status, MAY_OPEN, &error) ? client : NULL;
}

static bowline_hold *acquire(stage *s, bowline_client *client, int64_t wait_ms)
{
    bowline_hold *hold   = NULL;
    bowline_error error  = { 0 };
    int           status = acquire_within(&hold, client, s->name, wait_ms, &error);

    return check_status(s, "acquire", status, MAY_ACQUIRE, &error) ? hold : NULL;
}

static bowline_operation *start_acquire(stage *s, bowline_client *client, int64_t wait_ms)
{
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };
    int                status =
        bowline_acquire_start(&op, client, s->name, BOWLINE_ACQUIRE(.wait_ms = wait_ms), &error);

    return check_status(s, "acquire_start", status, MAY_ACQUIRE, &error) ? op : NULL;
}

static void release(stage *s, bowline_hold *hold)
{
    bowline_error error = { 0 };

    if (hold != NULL)
        (void)check_status(s, "release", bowline_release(hold, &error), MAY_RELEASE, &error);
}

/* ---- every verb, one after the other --------------------------------------------------------- */

static void run_verbs(stage *s)
{
    bowline_holder  holder = { .size = sizeof holder };
    bowline_error   error  = { 0 };
    int             fds[BOWLINE_HOLD_INHERIT_FDS_MAX];
    bowline_client *client = open_one(s, 0, LEASE_MS);

    if (client == NULL)
        return;
    for (int round = 0; round < 2; round++) { /* the second round uses the open connection */
        bowline_hold *hold = acquire(s, client, BOWLINE_NO_WAIT);
        if (hold == NULL)
            continue;
        visit_lock(s, hold);
        (void)check_status(s, "extend", bowline_extend(hold, 0, &error), MAY_EXTEND, &error);
        if (check_status(s, "who", bowline_who(client, s->name, &holder, &error), MAY_ASK,
                         &error) &&
            s->no_faults && !holder.held)
            report_failure(s, "who reports no holder");
        (void)bowline_hold_inherit_fds(hold, fds);
        release(s, hold);
    }
    bowline_close(client);
}

/* A client that closes releases its holds and cancels its acquires. */
static void run_close(stage *s)
{
    bowline_client *client = open_one(s, BOWLINE_NO_THREAD, LEASE_MS);

    if (client == NULL)
        return;
    (void)acquire(s, client, BOWLINE_NO_WAIT);
    (void)start_acquire(s, client, s->wait_ms);
    (void)bowline_dispatch(client, 0, NULL);
    bowline_close(client);
}

/* ---- contention ------------------------------------------------------------------------------ */

typedef struct rival {
    stage          *stage;
    bowline_client *client;
} rival;

static void *contend(void *arg)
{
    rival *r = arg;

    for (int round = 0; round < 2; round++) {
        bowline_hold *hold = acquire(r->stage, r->client, r->stage->wait_ms);
        if (hold == NULL)
            continue;
        visit_lock(r->stage, hold);
        release(r->stage, hold);
    }
    return NULL;
}

/* Two threads of one client and one of another acquire the lock twice each. */
static void run_crowd(stage *s)
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

/* ---- asynchronous operations ----------------------------------------------------------------- */

/* As an event loop. False: the operation does not end. */
static bool dispatch_until_done(stage *s, bowline_client *client, bowline_operation *op)
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
        (void)check_status(s, "dispatch", bowline_dispatch(client, 0, &error), MAY_ALWAYS, &error);
    }
    return bowline_operation_done(op);
}

static int finish_acquire(stage *s, bowline_hold **ret_hold, bowline_operation *op, uint32_t may)
{
    bowline_error error  = { 0 };
    int           status = bowline_acquire_finish(ret_hold, op, &error);

    (void)check_status(s, "acquire_finish", status, may, &error);
    return status;
}

static void run_async(stage *s)
{
    bowline_hold   *hold   = NULL;
    bowline_error   error  = { 0 };
    bowline_client *client = open_one(s, BOWLINE_NO_THREAD, LEASE_MS);

    if (client == NULL)
        return;
    int fd = bowline_fd(client);
    if (fd < 0 && (fd != BOWLINE_SYSTEM && fd != BOWLINE_NOMEM))
        report_failure(s, "bowline_fd: %d", fd);
    bowline_operation *op = start_acquire(s, client, s->wait_ms);
    if (op != NULL) {
        if (!dispatch_until_done(s, client, op))
            report_failure(s, "the acquire does not end");
        (void)finish_acquire(s, &hold, op, MAY_ACQUIRE);
    }
    if (hold != NULL) {
        visit_lock(s, hold);
        if (check_status(s, "extend_start", bowline_extend_start(&op, hold, 0, &error),
                         MAY_EXTEND | MAY_ALWAYS, &error)) {
            (void)dispatch_until_done(s, client, op);
            (void)check_status(s, "finish", bowline_finish(op, &error), MAY_EXTEND, &error);
        }
        if (check_status(s, "release_start", bowline_release_start(&op, hold, &error), MAY_ALWAYS,
                         &error)) {
            if (!dispatch_until_done(s, client, op))
                report_failure(s, "the release does not end");
            (void)check_status(s, "finish", bowline_finish(op, &error), MAY_RELEASE, &error);
        }
    }
    bowline_close(client);
}

/* Waits for the ENDED events; false: not all of `ops` have ended. */
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
        (void)check_status(s, "dispatch", bowline_dispatch(client, 0, &error), MAY_ALWAYS, &error);
        while (bowline_next_event(client, &event, NULL) == 1)
            for (int i = 0; i < count; i++)
                ended += event.kind == BOWLINE_EVENT_ENDED && event.operation == ops[i];
    }
    for (int i = 0; i < count; i++)
        if (!bowline_operation_done(ops[i]))
            report_failure(s, "an operation does not end");
    if (ended != count)
        report_failure(s, "%d operations have ended with %d events", count, ended);
    return ended == count;
}

/* A descriptor, or a documented status. */
static void check_fd(stage *s, const char *call, int fd, bowline_error *error)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };

    if (check_status(s, call, fd < 0 ? fd : BOWLINE_OK, MAY_ALWAYS, error) &&
        (poll(&ready, 1, 0) < 0 || (ready.revents & POLLNVAL) != 0))
        report_failure(s, "%s is no descriptor", call);
}

/* The lock was acquired: its release is reported by an event too. */
static void release_by_events(stage *s, bowline_client *client, bowline_hold *hold)
{
    bowline_operation *op    = NULL;
    bowline_error      error = { 0 };
    int                fd    = bowline_hold_lost_fd(hold, &error);

    check_fd(s, "hold_lost_fd", fd, &error);
    visit_lock(s, hold);
    if (check_status(s, "release_start", bowline_release_start(&op, hold, &error), MAY_ALWAYS,
                     &error)) {
        (void)take_events(s, client, &op, 1);
        (void)check_status(s, "finish", bowline_finish(op, &error), MAY_RELEASE, &error);
    }
}

/* As an event loop does, with the wakeup fd and events: a holder query and an acquire at once. */
static void run_events(stage *s)
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
    bool has_query = check_status(
        s, "who_start", bowline_who_start(&ops[0], client, s->name, &error), MAY_ALWAYS, &error);
    ops[1] = start_acquire(s, client, s->wait_ms);
    (void)take_events(s, client, has_query ? ops : ops + 1, has_query + (ops[1] != NULL));
    if (has_query)
        (void)check_status(s, "who_finish", bowline_who_finish(&holder, ops[0], &error), MAY_ASK,
                           &error);
    if (ops[1] != NULL)
        (void)finish_acquire(s, &hold, ops[1], MAY_ACQUIRE);
    if (hold != NULL)
        release_by_events(s, client, hold);
    bowline_close(client);
}

/* Another thread than the waiting one cancels the acquire. */
static void run_cancel(stage *s)
{
    bowline_hold   *second = NULL;
    bowline_client *client = open_one(s, 0, LEASE_MS);

    if (client == NULL)
        return;
    bowline_hold *hold    = acquire(s, client, BOWLINE_NO_WAIT);
    s->may_be_busy        = true;
    bowline_operation *op = start_acquire(s, client, BOWLINE_FOREVER);
    if (op != NULL) {
        (void)bowline_operation_wait(op, 20, NULL);
        bowline_cancel(op);
        int status = finish_acquire(s, &second, op, MAY_ACQUIRE | MAY(BOWLINE_CANCELLED));
        if (status == BOWLINE_OK && hold != NULL && s->no_faults)
            report_failure(s, "%s has two holders", s->name);
    }
    release(s, second);
    release(s, hold);
    bowline_close(client);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* In the child the inherited client is unusable, a new one is not. */
static int check_child(stage *s, bowline_client *client, bowline_hold *hold)
{
    bowline_error error      = { 0 };
    bowline_hold *other_hold = NULL;

    if (acquire_within(&other_hold, client, s->name, 0, &error) != BOWLINE_FORKED)
        report_failure(s, "the child can acquire with the parent's client");
    if (bowline_release(hold, &error) != BOWLINE_FORKED)
        report_failure(s, "the child can release the parent's hold");
    bowline_close(client);
    bowline_client *own = open_one(s, 0, LEASE_MS);
    if (own != NULL) {
        other_hold = acquire(s, own, BOWLINE_NO_WAIT);
        if (other_hold != NULL && strcmp(s->engine, "thread") != 0) {
            report_failure(s, "the child acquires the lock of the parent");
        }
        bowline_close(own);
    }
    return atomic_load(&s->failures_count) > 0;
}

static void run_fork(stage *s)
{
    int             ended  = 0;
    bowline_client *client = open_one(s, 0, LEASE_MS);

    if (client == NULL)
        return;
    bowline_hold *hold = acquire(s, client, BOWLINE_NO_WAIT);
    s->may_be_busy     = true;
    if (hold != NULL) {
        pid_t pid = fork();
        if (pid == 0) {
            (void)prctl(PR_SET_PDEATHSIG,
                        SIGKILL); /* the child does not inherit the alarm, and might stay */
            _exit(check_child(s, client, hold));
        }
        assert_true(pid > 0);
        (void)waitpid(pid, &ended, 0);
        if (ended != 0)
            report_failure(s, "the child ended with %d", ended);
        if (strcmp(s->engine, "thread") != 0 && bowline_hold_left_ms(hold) > 0)
            visit_lock(s, hold);
    }
    release(s, hold);
    bowline_close(client);
}

/* Another process has the file with flock(2), as flock(1) does: an acquire must not succeed. */
static void run_outsider(stage *s)
{
    int fd = open(s->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    s->may_be_busy         = true;
    bowline_client *client = open_one(s, 0, LEASE_MS);
    if (client != NULL) {
        bowline_hold *hold = acquire(s, client, BOWLINE_NO_WAIT);
        if (hold != NULL)
            report_failure(s, "acquired although another process has the flock");
        release(s, hold);
    }
    bowline_close(client);
    (void)close(fd);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Holds for longer than the lease: the renewal thread renews, or the holder learns of the loss.
 * True: it was lost, which may happen here. */
static bool is_lost_while_kept(stage *s, bowline_client *client, bool may_be_late)
{
    const uint32_t late  = MAY(BOWLINE_LOST) | MAY(BOWLINE_UNKNOWN) | MAY(BOWLINE_UNREACHABLE);
    bowline_error  error = { 0 };
    bowline_hold  *hold  = acquire(s, client, s->no_faults ? s->wait_ms : BOWLINE_NO_WAIT);

    if (hold == NULL)
        return false;
    sleep_ms(SHORT_LEASE_MS + SHORT_LEASE_MS / 8);
    visit_lock(s, hold);
    int status = bowline_release(hold, &error);
    if (may_be_late && status != BOWLINE_OK && (late & (1u << -status)) != 0)
        return true;
    (void)check_status(s, "release", status, MAY_RELEASE, &error);
    return false;
}

/* Without faults only a slow machine loses the lock: tries again. */
static void run_keep(stage *s)
{
    int             left   = s->no_faults ? KEEP_TRIES : 1;
    bowline_client *client = open_one(s, 0, SHORT_LEASE_MS);

    if (client == NULL)
        return;
    while (is_lost_while_kept(s, client, left > 1))
        left--;
    bowline_close(client);
}

/* ---- without a lock -------------------------------------------------------------------------- */

static int read_and_delete(bowline_change *change, void *context)
{
    long *ret_sum = context;

    *ret_sum = change->old_value != NULL ? strtol(change->old_value, NULL, 10) : 0;
    return BOWLINE_UPDATE_DELETE;
}

/* An OK update counts once, an UNKNOWN one at most once, a failed one not at all. */
static void run_update(stage *s)
{
    long            sum_before = -1; /* an earlier round may have failed to delete it */
    long            least      = 0;
    long            most       = 0;
    long            sum        = 0;
    bowline_client *client     = open_one(s, 0, LEASE_MS);

    if (client == NULL)
        return;
    for (int round = 0; round < 3; round++) {
        counter       c      = { .calls = 0 };
        bowline_error error  = { 0 };
        int           status = bowline_update(client, s->name, count_one, &c, NULL, &error);
        (void)check_status(s, "update", status, MAY_ASK, &error);
        if (sum_before < 0 && c.calls > 0)
            sum_before = strtol(c.before, NULL, 10); /* "-" is 0 */
        least += status == BOWLINE_OK;
        most += status == BOWLINE_OK || status == BOWLINE_UNKNOWN;
    }
    if (bowline_update(client, s->name, read_and_delete, &sum, NULL, NULL) == BOWLINE_OK &&
        sum_before >= 0 && (sum - sum_before < least || sum - sum_before > most))
        report_failure(s, "the sum is %ld, not from %ld to %ld", sum - sum_before, least, most);
    bowline_close(client);
}

/* Another client observes the holder, before and after its release. */
static void run_elect(stage *s)
{
    enum { MAY_OBSERVE = MAY_ASK | MAY(BOWLINE_TIMEOUT) };
    bowline_leader     leader   = BOWLINE_LEADER_INIT;
    bowline_error      error    = { 0 };
    bowline_client    *client   = open_one(s, 0, LEASE_MS);
    bowline_client    *observer = open_one(s, 0, LEASE_MS);
    bowline_hold      *hold     = client != NULL ? acquire(s, client, BOWLINE_NO_WAIT) : NULL;
    bowline_operation *op       = NULL;

    s->may_be_busy = !s->no_faults; /* TIMEOUT of an observer: there was no change */
    if (hold != NULL)
        (void)check_status(s, "announce", bowline_announce(hold, "here", &error),
                           MAY_EXTEND | MAY_ALWAYS, &error);
    if (observer != NULL &&
        check_status(s, "observe", bowline_observe(&leader, observer, s->name, 0, &error),
                     MAY_OBSERVE, &error) &&
        s->no_faults && leader.leads == 0)
        report_failure(s, "observe shows no leader");
    if (observer != NULL)
        (void)check_status(
            s, "observe_start",
            bowline_observe_start(&op, observer, s->name, &leader, s->wait_ms, &error), MAY_OBSERVE,
            &error);
    release(s, hold);
    if (op != NULL)
        (void)check_status(s, "observe_finish", bowline_observe_finish(&leader, op, &error),
                           MAY_OBSERVE, &error);
    bowline_close(observer);
    bowline_close(client);
}

const scenario scenarios[] = {
    { .name = "verbs", .run_scenario = run_verbs },
    { .name = "close", .run_scenario = run_close },
    { .name = "async", .run_scenario = run_async },
    { .name = "events", .run_scenario = run_events },
    { .name = "cancel", .run_scenario = run_cancel },
    { .name = "crowd", .run_scenario = run_crowd },
    { .name = "fork", .run_scenario = run_fork },
    { .name = "outsider", .run_scenario = run_outsider, .paths_only = true },
    { .name = "keep", .run_scenario = run_keep, .leases_only = true },
    { .name = "update", .run_scenario = run_update, .leases_only = true },
    { .name = "elect", .run_scenario = run_elect, .leases_only = true },
};
const size_t scenarios_count = sizeof scenarios / sizeof scenarios[0];
