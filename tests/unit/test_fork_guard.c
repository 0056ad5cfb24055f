/*
 * test_fork_guard.c -- whether this process is the one that made the guard.
 *
 * The test forks and checks on both sides; then it forks again in the child, where a new guard is
 * valid for the child and not for the grandchild.
 */
#include "base/fork_guard.h"
#include "tests/lib/suite.h"

#include <sys/wait.h>
#include <unistd.h>

/* The exit status of a child. */
static int status_of(pid_t child)
{
    int status;

    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

TEST(fork_guard_knows_a_child_from_its_parent)
{
    bwl_fork_guard guard;

    assert_true(bwl_fork_guard_init(&guard));
    assert_false(bwl_forked(&guard));
    pid_t child = fork();
    if (child == 0)
        _exit(bwl_forked(&guard) ? 7 : 1);
    assert_int_equal(status_of(child), 7);
    assert_false(bwl_forked(&guard));
    bwl_fork_guard_free(&guard);
}

/* In the child; the number says where it failed, 7 that it did not. */
static int make_one_in_the_child(const bwl_fork_guard *parents)
{
    bwl_fork_guard own;

    if (!bwl_fork_guard_init(&own) || bwl_forked(&own))
        return 1;
    if (!bwl_forked(parents))
        return 2;
    pid_t grandchild = fork();
    if (grandchild == 0)
        _exit(bwl_forked(&own) && bwl_forked(parents) ? 7 : 3);
    if (status_of(grandchild) != 7)
        return 4;
    bwl_fork_guard_free(&own);
    return 7;
}

TEST(fork_guard_of_a_child_is_valid_in_the_child_only)
{
    bwl_fork_guard guard;

    assert_true(bwl_fork_guard_init(&guard));
    pid_t child = fork();
    if (child == 0)
        _exit(make_one_in_the_child(&guard));
    assert_int_equal(status_of(child), 7);
    bwl_fork_guard_free(&guard);
}

TEST(fork_guard_freed_can_be_freed_again)
{
    bwl_fork_guard guard = { .page = NULL };

    bwl_fork_guard_free(&guard);
    assert_true(bwl_fork_guard_init(&guard));
    bwl_fork_guard_free(&guard);
    assert_null(guard.page);
    bwl_fork_guard_free(&guard);
}

static void *have_it(void *arg)
{
    pthread_mutex_t *mutex = arg;

    (void)pthread_mutex_lock(mutex);
    return mutex;
}

/* The mutex of a thread that does not exist is never unlocked. */
TEST(fork_guard_knows_a_mutex_whose_owner_is_not_in_the_child)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t       thread;

    assert_true(bwl_was_at_rest(&mutex));
    assert_int_equal(pthread_mutex_trylock(&mutex), 0); /* and is unchanged */
    assert_int_equal(pthread_mutex_unlock(&mutex), 0);
    pid_t child = fork();
    if (child == 0) {
        bool was_free = bwl_was_at_rest(&mutex);
        (void)pthread_create(&thread, NULL, have_it, &mutex);
        (void)pthread_join(thread, NULL);
        _exit(was_free && !bwl_was_at_rest(&mutex) ? 7 : 1);
    }
    assert_int_equal(status_of(child), 7);
}
