/*
 * test_file_watch.c -- who is pushed, and by what, when something happens to a lock file.
 *
 * The locks here belong to an engine that only counts what reaches them.
 */
#include "api/engines.h"
#include "runtime/lock.h"
#include "api/engines.h"
#include "engine/file/watch.h"
#include "file_fixture.h"

#include <sys/resource.h>

enum { LOCKS_MAX = 3 };

static bwl_shard       *client;
static bwl_file_watcher watcher;
static bwl_lock        *locks[LOCKS_MAX];
static bwl_operation    operations[LOCKS_MAX];
static bwl_file_waiter  waiters[LOCKS_MAX];
static bwl_fault        fault;

/* What a lock does when it is pushed, besides counting. */
static void (*when_pushed)(bwl_lock *);

/* ---- an engine that counts ------------------------------------------------------------------- */

typedef struct counter {
    unsigned pushes;
} counter;

static void counter_init(void *state, unsigned nodes)
{
    *(counter *)state = (counter){ 0 };
}

static void counter_command(void *state, const bwl_claim *claim, const bwl_command *cmd,
                            bwl_effects *fx)
{
    bwl_tell(fx, cmd->verb == BWL_ACQUIRE ? BWL_QUEUED : BWL_RELEASED);
}

static void counter_event(void *state, const bwl_claim *claim, const bwl_event *ev, bwl_effects *fx)
{
    counter *c = state;

    if (ev->kind != BWL_PUSH)
        return;
    c->pushes++;
    for (unsigned i = 0; i < LOCKS_MAX; i++)
        if (when_pushed != NULL && locks[i] != NULL && (void *)locks[i]->base.hold.memory == state)
            when_pushed(locks[i]);
}

static const bwl_protocol counting = { .name       = "counting",
                                       .state_size = sizeof(counter),
                                       .settles    = true,
                                       .init       = counter_init,
                                       .command    = counter_command,
                                       .event      = counter_event };

static int prepare(bwl_lock *lock, bwl_fault *f)
{
    return BWL_OK;
}

static void forget(bwl_lock *lock)
{
}

static void woken(bwl_shard *c)
{
    bwl_file_watcher_rest(&watcher);
}

static const bwl_engine engine = { .scheme   = "counting",
                                   .protocol = &counting,
                                   .prepare  = prepare,
                                   .forget   = forget,
                                   .woken    = woken };

static int set_up(void **state)
{
    static const bwl_terms terms = { .lease_ms = 30000, .max_hold_ms = BWL_NEVER };
    bwl_settings           asked = { 0 };

    (void)make_directory(state);
    when_pushed = NULL;
    assert_int_equal(bwl_shard_open(&client, bwl_engines, &asked, false, "thread:", &fault),
                     BWL_OK);
    client->host.engine = &engine;
    bwl_shard_lock(client);
    bwl_file_watcher_init(&watcher, client);
    for (unsigned i = 0; i < LOCKS_MAX; i++) {
        assert_int_equal(bwl_lock_new(&locks[i], client, "n", &terms, &fault), BWL_OK);
        bwl_lock_acquire(locks[i], &operations[i], BWL_NEVER);
        waiters[i] = (bwl_file_waiter){ .lock = locks[i], .ticket = 1000 + i };
    }
    return 0;
}

static int tear_down(void **state)
{
    for (unsigned i = 0; i < LOCKS_MAX; i++) {
        bwl_file_watch_remove(&watcher, &waiters[i]);
        bwl_lock_cancel(&operations[i]);
        bwl_lock_drop_handle(locks[i]);
        locks[i] = NULL;
    }
    bwl_file_watcher_close(&watcher);
    client->host.engine = &bwl_thread_engine;
    bwl_shard_unlock(client);
    bwl_shard_close(client);
    return remove_directory(state);
}

/* How often the lock was pushed since it was last asked, after all that has happened was read. */
static unsigned pushes(unsigned i)
{
    counter *c = (counter *)locks[i]->base.hold.memory;

    for (unsigned n = 0; n < 3; n++)
        assert_int_equal(bwl_loop_run(&client->loop, bwl_shard_now(client), &fault), BWL_OK);
    unsigned count = c->pushes;
    c->pushes      = 0;
    return count;
}

static bool watch(unsigned i, const char *leaf)
{
    int  fd   = open_in(leaf);
    bool told = bwl_file_watch_add(&watcher, &waiters[i], fd);

    (void)close(fd);
    if (told)
        (void)pushes(i); /* of our own closing */
    return told;
}

static void open_and_close(const char *leaf)
{
    (void)close(open_in(leaf));
}

/* ---- what pushes ----------------------------------------------------------------------------- */

static void test_file_watch_closing_pushes(void **state)
{
    assert_true(watch(0, "f"));
    assert_int_equal(pushes(0), 0);
    open_and_close("f");
    assert_int_equal(pushes(0), 1);
    (void)close(open(in("f"), O_RDONLY | O_CLOEXEC)); /* as flock(1) does */
    assert_int_equal(pushes(0), 1);
    assert_int_equal(pushes(0), 0);
}

static void have_open(void *arg)
{
    (void)open_in(arg);
}

static void test_file_watch_the_end_of_a_process_pushes(void **state)
{
    assert_true(watch(0, "f"));
    pid_t child = start_child(have_open, "f");
    assert_int_equal(pushes(0), 0);
    end_child(child);
    assert_int_equal(pushes(0), 1);
}

static void test_file_watch_a_change_of_attributes_pushes(void **state)
{
    assert_true(watch(0, "f"));
    int fd = open_in("f");
    assert_int_equal(futimens(fd, NULL), 0);
    assert_int_equal(pushes(0), 1);
    (void)close(fd);
    assert_int_equal(pushes(0), 1);
}

static void test_file_watch_removing_and_moving_push(void **state)
{
    assert_true(watch(0, "f"));
    assert_int_equal(rename(in("f"), in("g")), 0);
    assert_true(pushes(0) >= 1);
    int fd = open_in("g");
    assert_int_equal(unlink(in("g")), 0);
    assert_true(pushes(0) >= 1); /* though it is still open */
    (void)close(fd);
}

static void test_file_watch_what_happens_in_a_directory_is_not_about_it(void **state)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(bwl_file_watch_add(&watcher, &waiters[0], fd));
    open_and_close("f");
    assert_int_equal(pushes(0), 0);
    open_and_close("f");
    (void)close(fd);
    assert_int_equal(pushes(0), 1);
}

static void test_file_watch_is_of_the_open_file_and_not_of_its_path(void **state)
{
    int fd = open_in("f");

    assert_int_equal(rename(in("f"), in("g")), 0);
    open_and_close("f");
    assert_true(bwl_file_watch_add(&watcher, &waiters[0], fd));
    open_and_close("f");
    assert_int_equal(pushes(0), 0);
    open_and_close("g");
    assert_int_equal(pushes(0), 1);
    (void)close(fd);
}

static void test_file_watch_much_at_once_is_one_push(void **state)
{
    assert_true(watch(0, "f"));
    int fd = open_in("f");
    assert_int_equal(futimens(fd, NULL), 0);
    (void)close(fd);
    open_and_close("f");
    assert_int_equal(pushes(0), 1);
}

/* ---- who is pushed --------------------------------------------------------------------------- */

static void test_file_watch_only_the_first_ticket_is_pushed(void **state)
{
    assert_true(watch(1, "f"));
    assert_true(watch(0, "f"));
    assert_true(watch(2, "f"));
    (void)pushes(0);
    (void)pushes(1);
    open_and_close("f");
    assert_int_equal(pushes(0), 1);
    assert_int_equal(pushes(1), 0);
    assert_int_equal(pushes(2), 0);
    bwl_file_watch_remove(&watcher, &waiters[0]);
    open_and_close("f");
    assert_int_equal(pushes(0), 0);
    assert_int_equal(pushes(1), 1);
    bwl_file_watch_remove(&watcher, &waiters[1]);
    bwl_file_watch_remove(&watcher, &waiters[1]); /* once more: nothing */
    open_and_close("f");
    assert_int_equal(pushes(1), 0);
    assert_int_equal(pushes(2), 1);
}

static void test_file_watch_files_are_apart(void **state)
{
    assert_true(watch(0, "f"));
    assert_true(watch(1, "g"));
    open_and_close("g");
    assert_int_equal(pushes(0), 0);
    assert_int_equal(pushes(1), 1);
    assert_int_equal(watcher.count, 2);
    bwl_file_watch_remove(&watcher, &waiters[1]);
    assert_int_equal(watcher.count, 1);
    open_and_close("g");
    assert_int_equal(pushes(1), 0);
}

static void test_file_watch_to_add_it_twice_is_to_add_it_once(void **state)
{
    assert_true(watch(0, "f"));
    assert_true(watch(0, "f"));
    open_and_close("f");
    assert_int_equal(pushes(0), 1);
    bwl_file_watch_remove(&watcher, &waiters[0]);
    assert_int_equal(watcher.count, 0);
}

static void stop_watching(bwl_lock *lock)
{
    for (unsigned i = 0; i < LOCKS_MAX; i++)
        if (locks[i] == lock)
            bwl_file_watch_remove(&watcher, &waiters[i]);
}

/* Events are still to be read when their watch is gone. */
static void test_file_watch_who_is_pushed_may_stop_watching(void **state)
{
    assert_true(watch(0, "f"));
    assert_true(watch(1, "g"));
    when_pushed = stop_watching;
    open_and_close("f");
    open_and_close("g");
    open_and_close("f");
    open_and_close("g");
    assert_int_equal(pushes(0), 1);
    assert_int_equal(pushes(1), 1);
    assert_int_equal(watcher.count, 0);
}

static unsigned queue_max(void)
{
    unsigned max  = 16384;
    FILE    *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");

    if (file != NULL && fscanf(file, "%u", &max) != 1)
        max = 16384;
    if (file != NULL)
        (void)fclose(file);
    return max;
}

/* So many that the kernel gives up to remember them, and then one more. */
static void lose_events(const int fds[2], unsigned max)
{
    for (unsigned i = 0; i < max + 10; i++)
        assert_int_equal(futimens(fds[i % 2], NULL), 0); /* equal ones in a row count as one */
    open_and_close("h");
    for (unsigned n = 0; n < 2 * max / 100; n++) /* a few hundred are read at a time */
        assert_int_equal(bwl_loop_run(&client->loop, bwl_shard_now(client), &fault), BWL_OK);
}

/* All are pushed, also the one whose event was not remembered: every time that it happens. */
static void test_file_watch_when_events_are_lost_everybody_is_pushed(void **state)
{
    unsigned max = queue_max();
    int      fds[2];

    if (max > 100000)
        skip();
    for (unsigned i = 0; i < LOCKS_MAX; i++)
        assert_true(watch(i, (const char *[]){ "f", "g", "h" }[i]));
    fds[0] = open_in("f");
    fds[1] = open_in("g");
    for (unsigned time = 0; time < 2; time++) {
        lose_events(fds, max);
        assert_int_equal(pushes(2), 1);
    }
    (void)close(fds[0]);
    (void)close(fds[1]);
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static void
test_file_watch_the_descriptor_comes_with_the_first_wait_and_goes_after_the_last(void **state)
{
    /* Ahead of the clock, so that time goes by only where it is told to. */
    client->host.latest = bwl_shard_now(client) + 3600000;
    assert_int_equal(watcher.source.fd, -1);
    assert_true(watch(0, "f"));
    assert_true(watcher.source.fd >= 0);
    assert_int_equal(fcntl(watcher.source.fd, F_GETFD), FD_CLOEXEC);
    bwl_file_watch_remove(&watcher, &waiters[0]);
    assert_int_equal(bwl_loop_run(&client->loop, bwl_shard_now(client), &fault), BWL_OK);
    assert_true(watcher.source.fd >= 0); /* perhaps one waits again at once */
    assert_true(watch(1, "f"));
    client->host.latest += BWL_FILE_WATCH_IDLE_MS;
    bwl_loop_wake(&client->loop);
    assert_int_equal(pushes(1), 0);
    assert_true(watcher.source.fd >= 0); /* one does */
    open_and_close("f");
    assert_int_equal(pushes(1), 1);
    bwl_file_watch_remove(&watcher, &waiters[1]);
    bwl_loop_wake(&client->loop);
    (void)pushes(1);
    assert_true(watcher.source.fd >= 0);
    client->host.latest += BWL_FILE_WATCH_IDLE_MS;
    (void)pushes(1);
    assert_int_equal(watcher.source.fd, -1);
    assert_true(watch(0, "f"));
    open_and_close("f");
    assert_int_equal(pushes(0), 1);
}

static void test_file_watch_where_there_is_no_descriptor_nobody_tells(void **state)
{
    struct rlimit before;
    int           fd     = open_in("f");
    unsigned      opened = count_descriptors();

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = { .rlim_cur = (rlim_t)fd + 1, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_false(bwl_file_watch_add(&watcher, &waiters[0], fd));
    none.rlim_cur += 2; /* enough for the reactor */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_false(bwl_file_watch_add(&watcher, &waiters[0], fd));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_null(waiters[0].watch);
    assert_int_equal(count_descriptors(), opened + 2);
    assert_true(bwl_file_watch_add(&watcher, &waiters[0], fd));
    (void)close(fd);
    assert_int_equal(pushes(0), 1);
}

static int close_in_child(void *arg)
{
    bwl_file_watcher_close(&watcher);
    return 0;
}

static void test_file_watch_a_forked_child_leaves_our_watches(void **state)
{
    assert_true(watch(0, "f"));
    assert_int_equal(in_child(close_in_child, NULL), 0);
    (void)pushes(0);
    open_and_close("f");
    assert_int_equal(pushes(0), 1);
}

#define with_client(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_client(test_file_watch_closing_pushes),
        with_client(test_file_watch_the_end_of_a_process_pushes),
        with_client(test_file_watch_a_change_of_attributes_pushes),
        with_client(test_file_watch_removing_and_moving_push),
        with_client(test_file_watch_what_happens_in_a_directory_is_not_about_it),
        with_client(test_file_watch_is_of_the_open_file_and_not_of_its_path),
        with_client(test_file_watch_much_at_once_is_one_push),
        with_client(test_file_watch_only_the_first_ticket_is_pushed),
        with_client(test_file_watch_files_are_apart),
        with_client(test_file_watch_to_add_it_twice_is_to_add_it_once),
        with_client(test_file_watch_who_is_pushed_may_stop_watching),
        with_client(test_file_watch_when_events_are_lost_everybody_is_pushed),
        with_client(
            test_file_watch_the_descriptor_comes_with_the_first_wait_and_goes_after_the_last),
        with_client(test_file_watch_where_there_is_no_descriptor_nobody_tells),
        with_client(test_file_watch_a_forked_child_leaves_our_watches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
