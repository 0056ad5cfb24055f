/*
 * test_file_watch.c -- which events wake a waiter of file:, which waiter they wake, and what
 * happens without events.  The clock is stopped, so no waiter polls.
 */
#include "file_users.h"
#include "tests/lib/suite.h"

FIXTURE(begin, end)

static bowline_client *c; /* of a user with several locks */

/* How often a waiter has read the lock file since the last call. */
static unsigned looks(unsigned i)
{
    calls[READ] = 0;
    still_waits(i);
    return calls[READ];
}

static void touch(const char *leaf)
{
    (void)close(open_in(leaf));
}

static void have_open(void *arg)
{
    (void)open_in(arg);
}

/* ---- events ---------------------------------------------------------------------------------- */

TEST_OF(events_of_the_file_wake_its_first_waiter, &name, &path)
{
    const char *leaf = ((const kind *)*state)->leaf;

    (void)takes(0);
    waits(1);
    assert_int_equal(looks(1), 0);
    touch(leaf);
    assert_int_equal(looks(1), 1);
    (void)close(open(in(leaf), O_RDONLY | O_CLOEXEC)); /* as flock(1) does */
    assert_int_equal(looks(1), 1);
    pid_t child = start_child(have_open, (void *)(uintptr_t)leaf);
    assert_int_equal(looks(1), 0);
    end_child(child);
    assert_int_equal(looks(1), 1);
    int fd = open_in(leaf);
    assert_int_equal(futimens(fd, NULL), 0); /* as a release does */
    assert_int_equal(looks(1), 1);
    assert_int_equal(rename(in(leaf), in("moved")), 0);
    assert_int_equal(looks(1), 1);
    assert_int_equal(unlink(in("moved")), 0);
    assert_int_equal(looks(1), 1);
    for (unsigned i = 0; i < 3; i++) /* many events, one check */
        assert_int_equal(futimens(fd, NULL), 0);
    (void)close(fd);
    assert_int_equal(looks(1), 1);
    assert_int_equal(looks(1), 0);
}

TEST_OF(events_in_a_directory_wake_no_waiter_of_the_directory, &path)
{
    assert_int_equal(mkdir(in("d"), 0700), 0);
    (void)snprintf(lock_name, sizeof lock_name, "%s", in("d"));
    (void)takes(0);
    waits(1);
    touch("d/f");
    assert_int_equal(looks(1), 0);
    leave(0);
    (void)gets(1);
}

static void replace_n(void)
{
    assert_int_equal(rename(in("n"), in("m")), 0);
    touch("n");
}

/* The watch is on the open file, and not on the file that its name means now. */
TEST_OF(replaced_file_is_still_watched, &name)
{
    (void)takes(0);
    disturbance = (struct disturbance){ .of = INOTIFY, .before = replace_n };
    waits(1);
    assert_null(disturbance.before);
    leave(0);
    (void)gets(1);
}

static bowline_operation *start(const char *of)
{
    bowline_operation *op;
    int                status =
        bowline_acquire_start(&op, c, of, BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error);

    assert_status(BOWLINE_OK, status, &error);
    return op;
}

static bool has_ended(bowline_operation *op)
{
    for (unsigned n = 0; n < 3; n++)
        (void)bowline_dispatch(c, 0, NULL);
    return bowline_operation_done(op) == 1;
}

static void finish(bowline_operation *op)
{
    bowline_hold *hold;

    assert_true(has_ended(op));
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, op, &error), &error);
    must_release(hold);
}

/* Two spellings of a path are two locks of the client, which wait for one file. */
TEST_OF(first_waiter_of_a_client_is_woken, &path)
{
    char other[PATH_SIZE];

    c = users[1].client;
    (void)snprintf(other, sizeof other, "%s/./x", directory);
    (void)takes(0);
    bowline_operation *first  = start(lock_name);
    bowline_operation *second = start(other);
    calls[READ]               = 0;
    touch("x");
    assert_false(has_ended(first));
    assert_int_equal(calls[READ], 1); /* only the first has checked */
    leave(0);
    assert_true(has_ended(first));
    assert_false(has_ended(second));
    finish(first);
    finish(second);
}

/* ---- no events ------------------------------------------------------------------------------- */

static unsigned events_max(void)
{
    unsigned max  = 16384;
    FILE    *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");

    if (file != NULL && fscanf(file, "%u", &max) != 1)
        max = 16384;
    if (file != NULL)
        (void)fclose(file);
    return max;
}

/* More events than the kernel keeps, and then the event of a release: it is dropped, so every
 * waiter has to check.  The same happens the next time. */
TEST_OF(lost_events_wake_every_waiter, &name)
{
    unsigned max = events_max();
    int      fds[2];

    c                          = users[1].client;
    bowline_hold      *hold    = must_acquire(users[0].client, "n");
    bowline_hold      *held[2] = { must_acquire(users[0].client, "a"),
                                   must_acquire(users[0].client, "b") };
    bowline_operation *ops[2]  = { start("a"), start("b") };
    bowline_operation *op      = start("n");
    fds[0]                     = open_in("a");
    fds[1]                     = open_in("b");
    for (unsigned time = 0; time < 2; time++) {
        for (unsigned i = 0; i < max + 10; i++)
            assert_int_equal(futimens(fds[i % 2], NULL), 0); /* equal events in a row are merged */
        if (time == 1)
            must_release(hold);
        calls[READ] = 1;
        for (unsigned i = 0; calls[READ] > 0; i++) { /* until there is no event left to read */
            calls[READ] = 0;
            (void)has_ended(op);
            assert_true(i < max);
        }
        assert_int_equal(has_ended(op), time == 1);
    }
    finish(op);
    for (unsigned i = 0; i < 2; i++) {
        assert_false(has_ended(ops[i]));
        must_release(held[i]);
        finish(ops[i]);
        (void)close(fds[i]);
    }
}

TEST_OF(without_inotify_waiters_poll, &name)
{
    (void)takes(0);
    unsigned before = count_descriptors();
    disturbance     = (struct disturbance){ .of = INOTIFY, .fails = 2, .error = EMFILE };
    waits(1);
    leave(0);
    still_waits(1);
    assert_int_equal(calls[INOTIFY], 1);
    pass(128);
    (void)gets(1);
    waits(2); /* the second failure */
    pass(128);
    still_waits(2); /* it is tried again with every check */
    leave(1);
    (void)gets(2);
    leave(2);
    assert_true(count_descriptors() <= before + 4);
}

static int close_all(void *arg)
{
    for (unsigned i = 0; i < USERS; i++)
        bowline_close(users[i].client);
    return 0;
}

TEST_OF(child_of_fork_leaves_the_watches_alone, &name)
{
    (void)takes(0);
    waits(1);
    assert_int_equal(in_child(close_all, NULL), 0);
    (void)looks(1);
    leave(0);
    (void)gets(1);
}
