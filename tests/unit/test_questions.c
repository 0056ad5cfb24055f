/*
 * test_questions.c -- the mutex of the client around the fence, and a loop of the caller beside
 * threads that are inside the client.
 *
 * What the calls return is in conformance.  Here two threads meet at a known point, so the cases
 * look at the client's own flags: is its event loop run, does a thread sleep.
 */
#include "api/handles.h"
#include "tests/lib/suite.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bowline_client *holder;
static bowline_client *client;
static bowline_hold   *hold;
static bowline_error   error;

static int hold_a_name(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&holder, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire(&hold, holder, "n", NULL, &error), BOWLINE_OK);
    error = (bowline_error){ 0 };
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    bowline_close(holder);
    bowline_close(client);
    return 0;
}

/* ---- of a hold ------------------------------------------------------------------------------- */

static int two_fds(bwl_lock *lock, int ret_fds[2])
{
    (void)lock;
    ret_fds[0] = 7;
    ret_fds[1] = 8;
    return 2;
}

FIXTURE(hold_a_name, close_both)

TEST(questions_descriptors_are_the_engine_s)
{
    bwl_engine engine                            = *holder->first->host.engine;
    int        fds[BOWLINE_HOLD_INHERIT_FDS_MAX] = { 0, 0 };

    engine.fds                 = two_fds;
    holder->first->host.engine = &engine;
    assert_int_equal(bowline_hold_inherit_fds(hold, fds), 2);
    assert_int_equal(fds[1], 8);
    bowline_close(holder);
    assert_int_equal(bowline_open(&holder, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
}

enum { FENCE_ROUNDS = 50, FENCE_YIELDS = 1000, HALF_WRITTEN = 4711 };

static atomic_bool fence_is_asked;
static atomic_bool fence_is_known;

static void *ask_fence(void *ret_fence)
{
    atomic_store(&fence_is_asked, true);
    *(uint64_t *)ret_fence = bowline_hold_fence(hold);
    atomic_store(&fence_is_known, true);
    return NULL;
}

/* A yield writes the fence under the mutex of the client.  The yields of this thread give the other
 * one the time to read the wrong number, if it does not wait for the mutex. */
static void ask_fence_while_it_is_written(uint64_t fence)
{
    bwl_shard *inner = holder->first;
    uint64_t   seen  = 0;
    pthread_t  asks;

    atomic_store(&fence_is_asked, false);
    atomic_store(&fence_is_known, false);
    bwl_shard_lock(inner);
    bwl_lock_of(hold)->base.hold.fence = HALF_WRITTEN;
    assert_int_equal(pthread_create(&asks, NULL, ask_fence, &seen), 0);
    while (!atomic_load(&fence_is_asked))
        (void)sched_yield();
    for (unsigned i = 0; i < FENCE_YIELDS && !atomic_load(&fence_is_known); i++)
        (void)sched_yield();
    bwl_lock_of(hold)->base.hold.fence = fence;
    bwl_shard_unlock(inner);
    assert_int_equal(pthread_join(asks, NULL), 0);
    assert_true(seen == fence);
}

TEST(questions_fence_is_read_under_the_mutex)
{
    uint64_t fence = bowline_hold_fence(hold);

    for (unsigned i = 0; i < FENCE_ROUNDS; i++)
        ask_fence_while_it_is_written(fence);
}

/* Another thread of the parent had the mutex at the fork: nobody gives it back in the child. */
TEST(questions_fence_is_known_after_fork)
{
    uint64_t fence = bowline_hold_fence(hold);
    int      status;

    bwl_shard_lock(holder->first);
    pid_t child = fork();
    if (child == 0)
        _exit(bowline_hold_fence(hold) == fence ? 7 : 1);
    bwl_shard_unlock(holder->first);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* ---- a loop of somebody else ----------------------------------------------------------------- */

TEST(questions_timeout_is_the_time_to_the_next_alarm)
{
    bwl_shard *inner = client->first;

    assert_int_equal(bowline_timeout_ms(client), BOWLINE_FOREVER);
    bwl_shard_lock(inner);
    bwl_timers_set(&inner->loop.timers, &inner->loop.engine_timer, bwl_shard_now(inner) + 5000);
    bwl_shard_unlock(inner);
    assert_in_range(bowline_timeout_ms(client), 1000, 5000);
    bwl_shard_lock(inner);
    bwl_timers_set(&inner->loop.timers, &inner->loop.engine_timer, 1);
    bwl_shard_unlock(inner);
    assert_int_equal(bowline_timeout_ms(client), 0);
    assert_int_equal(bowline_dispatch(client, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_int_equal(bowline_timeout_ms(client), BOWLINE_FOREVER);
}

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

TEST(questions_dispatch_has_nothing_to_do_while_another_drives)
{
    bwl_shard_lock(client->first);
    client->first->loop.is_running = true;
    bwl_shard_unlock(client->first);
    assert_int_equal(bowline_dispatch(client, BOWLINE_FOREVER, &error), BOWLINE_OK);
    bwl_shard_lock(client->first);
    client->first->loop.is_running = false;
    bwl_shard_unlock(client->first);
}

static void *dispatch_once(void *arg)
{
    (void)bowline_dispatch(client, 20000, NULL);
    return arg;
}

static void *acquire_and_release(void *arg)
{
    bowline_hold *ours = NULL;

    *(int *)arg = bowline_acquire(&ours, client, "n", BOWLINE_ACQUIRE(.wait_ms = 30000), NULL);
    return (void *)(uintptr_t)bowline_release(ours, NULL);
}

static void wait_until(bool (*is_so)(bwl_shard *))
{
    int64_t end = now_ms() + 10000;

    for (bool so = false; !so;) {
        assert_true(now_ms() < end);
        bwl_shard_lock(client->first);
        so = is_so(client->first);
        bwl_shard_unlock(client->first);
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

static bool is_driven(bwl_shard *inner)
{
    return inner->loop.is_running;
}

static bool has_sleeper(bwl_shard *inner)
{
    return inner->loop.waiting_threads != NULL;
}

/* A second dispatch has nothing to do and ends first.  The thread that waits in the first one is
 * still the one to wake, and not the loop of the caller, which does not poll meanwhile. */
TEST(questions_thread_that_dispatches_is_told_after_another_has_dispatched)
{
    pthread_t dispatches;
    bool      is_known;

    assert_true(bowline_fd(client) >= 0);
    assert_int_equal(pthread_create(&dispatches, NULL, dispatch_once, NULL), 0);
    wait_until(is_driven);
    assert_int_equal(bowline_dispatch(client, 0, &error), BOWLINE_OK);
    bwl_shard_lock(client->first);
    is_known = client->first->loop.dispatchers == 1;
    bwl_loop_notify_caller(&client->first->loop);
    bwl_shard_unlock(client->first);
    assert_int_equal(pthread_join(dispatches, NULL), 0);
    assert_true(is_known);
    assert_int_equal(client->first->loop.dispatchers, 0);
}

/* One thread dispatches and goes away; the other one, asleep inside an acquire, must take over. */
TEST(questions_who_stops_dispatching_hands_over)
{
    pthread_t dispatches, acquires;
    int       status = 1;

    assert_int_equal(pthread_create(&dispatches, NULL, dispatch_once, NULL), 0);
    wait_until(is_driven);
    assert_int_equal(pthread_create(&acquires, NULL, acquire_and_release, &status), 0);
    wait_until(has_sleeper);
    bwl_loop_wake(&client->first->loop);
    assert_int_equal(pthread_join(dispatches, NULL), 0);
    int64_t begin = now_ms();
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    assert_int_equal(pthread_join(acquires, NULL), 0);
    assert_int_equal(status, BOWLINE_OK);
    assert_true(now_ms() - begin < 2000); /* by the grant, and not by the end of its patience */
}
