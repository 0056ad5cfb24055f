/*
 * test_stopped_shares.c -- a process that shares a lock, or waits for a share, is stopped until its
 * time at the server is over, and continues beside a writer: it has lost its share, and relies on
 * no grant that has ended.  (etcd #16221: RWMutex.Lock returned success to a waiter whose session
 * had ended meanwhile.)
 */
#include "tests/lib/queue_state.h"
#include "tests/lib/shared_server.h"
#include "tests/lib/suite.h"
#include "tests/lib/testing.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

FIXTURE(NULL, nothing_is_left)

/* ---- the process that is stopped ------------------------------------------------------------- */

typedef struct report {
    int      status; /* of its acquire, its release */
    int      check;  /* of its hold */
    int64_t  left_ms;
    uint64_t fence;
} report;

typedef struct sharer {
    pid_t pid;
    int   steps[2], reports[2]; /* pipes: it takes a step, and reports its result */
} sharer;

static void tell(const sharer *s, bowline_hold *hold, int status)
{
    report r = { .status = status };

    if (hold != NULL)
        r = (report){ .status  = status,
                      .check   = bowline_hold_check(hold, NULL),
                      .left_ms = bowline_hold_left_ms(hold),
                      .fence   = bowline_hold_fence(hold) };
    if (write(s->reports[1], &r, sizeof r) != sizeof r)
        _exit(2);
}

static void await_step(const sharer *s)
{
    char step;

    if (read(s->steps[0], &step, 1) != 1)
        _exit(2);
}

static void share_in_steps(const sharer *s)
{
    bowline_acquire_options options = { .size    = sizeof options,
                                        .wait_ms = BOWLINE_FOREVER,
                                        .mode    = BOWLINE_SHARED };
    bowline_client         *client;
    bowline_hold           *hold = NULL;
    char                    url[100];

    (void)snprintf(url, sizeof url, "%s?lease=1s", redis->tcp_url);
    await_step(s);
    if (bowline_open(&client, BOWLINE_OPTIONS(.url = url), NULL) < 0)
        _exit(2);
    int status = bowline_acquire(&hold, client, "x", &options, NULL);
    tell(s, hold, status);
    await_step(s);
    tell(s, hold, BOWLINE_OK);
    await_step(s);
    tell(s, NULL, bowline_release(hold, NULL));
    bowline_close(client);
    _exit(0);
}

/* Before this process has threads: a child of fork with threads has none under ThreadSanitizer. */
static sharer sharer_start(void)
{
    sharer s;

    assert_int_equal(pipe(s.steps), 0);
    assert_int_equal(pipe(s.reports), 0);
    (void)fflush(NULL);
    s.pid = fork();
    assert_true(s.pid >= 0);
    if (s.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        share_in_steps(&s);
    }
    return s;
}

static void sharer_step(const sharer *s)
{
    assert_int_equal(write(s->steps[1], "s", 1), 1);
}

static bool sharer_has_reported(const sharer *s)
{
    struct pollfd can_read = { .fd = s->reports[0], .events = POLLIN };

    return poll(&can_read, 1, 0) == 1;
}

/* Waits for its next report. */
static report sharer_report(const sharer *s)
{
    report r;

    assert_int_equal(read(s->reports[0], &r, sizeof r), sizeof r);
    return r;
}

/* Returns when each of its threads has stopped. */
static void sharer_stop(const sharer *s)
{
    int status;

    assert_int_equal(kill(s->pid, SIGSTOP), 0);
    assert_int_equal(waitpid(s->pid, &status, WUNTRACED), s->pid);
    assert_true(WIFSTOPPED(status));
}

static void sharer_continue(const sharer *s)
{
    assert_int_equal(kill(s->pid, SIGCONT), 0);
}

static void sharer_must_end(const sharer *s)
{
    int status;

    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int end = 0; end < 2; end++) {
        (void)close(s->steps[end]);
        (void)close(s->reports[end]);
    }
}

/* ---- a resource that compares fences --------------------------------------------------------- */

static bool accepts(uint64_t *highest, uint64_t fence)
{
    if (fence < *highest)
        return false;
    *highest = fence;
    return true;
}

/* ---- the tests ------------------------------------------------------------------------------- */

TEST(share_that_was_stopped_past_its_lease_is_lost_and_its_late_write_refused)
{
    sharer   s = sharer_start();
    waiter   writer;
    uint64_t highest = 0;

    sharer_step(&s);
    report shared = sharer_report(&s);
    assert_status(BOWLINE_OK, shared.status, NULL);
    assert_true(shared.left_ms > 0 && accepts(&highest, shared.fence));
    bowline_client *client = must_open(redis->tcp_url);
    queue_await_join(redis, &writer, client, "x", 1);
    sharer_stop(&s);
    assert_true(waiter_ends(&writer));
    assert_status(BOWLINE_OK, waiter_join(&writer), &writer.error);
    assert_true(accepts(&highest, bowline_hold_fence(writer.hold)));
    sharer_step(&s);
    sharer_continue(&s);
    report late = sharer_report(&s);
    assert_status(BOWLINE_LOST, late.check, NULL);
    assert_true(late.left_ms == 0 && late.fence == shared.fence);
    assert_false(accepts(&highest, late.fence));
    sharer_step(&s);
    assert_status(BOWLINE_LOST, sharer_report(&s).status, NULL);
    assert_true(accepts(&highest, bowline_hold_fence(writer.hold)));
    must_release(writer.hold);
    sharer_must_end(&s);
    bowline_close(client);
}

/* It is granted the share while it is stopped, and the next waiter is served when that grant has
 * ended.  It finds the push when it continues. */
TEST(waiter_for_a_share_that_was_stopped_relies_on_no_grant_that_has_ended)
{
    sharer          s      = sharer_start();
    bowline_client *client = must_open(redis->tcp_url);
    bowline_client *other  = must_open(redis->tcp_url);
    bowline_hold   *first  = must_acquire(client, "x");
    waiter          writer;

    sharer_step(&s);
    assert_true(queue_await_size(redis, "x", 1));
    queue_await_join(redis, &writer, other, "x", 2);
    (void)server_ask(redis, "CONFIG RESETSTAT");
    sharer_stop(&s);
    must_release(first);
    assert_int_equal(queue_push_count(redis), 1);
    assert_memory_equal(server_ask(redis, "GET bowline:{x}"), "b1:~", 4);
    assert_true(waiter_ends(&writer));
    assert_status(BOWLINE_OK, waiter_join(&writer), &writer.error);
    assert_false(sharer_has_reported(&s));
    sharer_continue(&s);
    assert_true(queue_await_size(redis, "x", 1)); /* again, by its ticket */
    assert_false(sharer_has_reported(&s));
    uint64_t fence = bowline_hold_fence(writer.hold);
    must_release(writer.hold);
    report shared = sharer_report(&s);
    assert_status(BOWLINE_OK, shared.status, NULL);
    assert_true(shared.left_ms > 0 && shared.fence > fence);
    sharer_step(&s);
    (void)sharer_report(&s);
    sharer_step(&s);
    assert_status(BOWLINE_OK, sharer_report(&s).status, NULL);
    sharer_must_end(&s);
    bowline_close(client);
    bowline_close(other);
}

AROUND(start_server, stop_server)
