/*
 * test_verbs.c -- acquire, extend, release through the public door: what they return, what they
 * check, who frees what.
 *
 * On thread:, where everything can be had without a server; what is particular to leases is in
 * test_verbs_lease.c.
 */
#include "api/handles.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static bowline_client *one;
static bowline_client *two;
static bowline_error   error;

static int open_both(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&one, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    assert_int_equal(bowline_open(&two, BOWLINE_OPTIONS(.url = "thread:?wait=20ms"), &error),
                     BOWLINE_OK);
    error = (bowline_error){ 0 };
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    bowline_close(one);
    bowline_close(two);
    return 0;
}

static void assert_usage(int status, const char *word)
{
    assert_int_equal(status, BOWLINE_USAGE);
    assert_int_equal(error.status, BOWLINE_USAGE);
    assert_non_null(strstr(error.text, word));
    error = (bowline_error){ 0 };
}

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int take(bowline_hold **ret_hold, bowline_client *client, const char *name, int64_t wait_ms)
{
    *ret_hold = NULL;
    return bowline_acquire(ret_hold, client, name, BOWLINE_ACQUIRE(.wait_ms = wait_ms), &error);
}

/* ---- the simple use -------------------------------------------------------------------------- */

static void test_verbs_acquire_extend_release(void **state)
{
    bowline_hold *hold;

    (void)state;
    assert_int_equal(bowline_acquire(&hold, one, "n", NULL, &error), BOWLINE_OK);
    assert_int_equal(bowline_extend(hold, 0, &error), BOWLINE_OK);
    assert_int_equal(bowline_extend(hold, 5000, NULL), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    assert_int_equal(one->first->locks_count, 0);
    assert_null(one->first->renewal); /* there is nothing to keep: no lease, no thread */
    assert_int_equal(bowline_release(NULL, &error), BOWLINE_OK);
    assert_string_equal(error.text, "");
}

static void test_verbs_wait_is_the_caller_s_or_else_the_url_s(void **state)
{
    bowline_hold *hold, *none;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    assert_int_equal(take(&none, one, "n", 0), BOWLINE_BUSY);
    assert_non_null(strstr(error.text, "n is held by someone else"));
    int64_t begin = now_ms();
    assert_int_equal(take(&none, two, "n", 0), BOWLINE_TIMEOUT);
    assert_true(now_ms() - begin >= 19);
    begin = now_ms();
    assert_int_equal(take(&none, two, "n", 60), BOWLINE_TIMEOUT);
    assert_true(now_ms() - begin >= 59);
    assert_int_equal(take(&none, two, "n", BOWLINE_NO_WAIT), BOWLINE_BUSY);
    assert_int_equal(bowline_acquire(&none, two, "n", NULL, NULL), BOWLINE_TIMEOUT);
    assert_null(none);
    assert_int_equal(two->first->locks_count, 0);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

static void *release_soon(void *hold)
{
    (void)nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
    return (void *)(intptr_t)bowline_release(hold, NULL);
}

static void test_verbs_wait_for_ever_ends_with_the_lock(void **state)
{
    bowline_hold *hold, *next;
    pthread_t     thread;
    void         *released;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    uint64_t fence = bowline_hold_fence(hold);
    assert_int_equal(pthread_create(&thread, NULL, release_soon, hold), 0);
    assert_int_equal(take(&next, two, "n", BOWLINE_FOREVER), BOWLINE_OK);
    assert_int_equal(pthread_join(thread, &released), 0);
    assert_int_equal((intptr_t)released, BOWLINE_OK);
    assert_true(bowline_hold_fence(next) > fence);
    assert_int_equal(bowline_release(next, &error), BOWLINE_OK);
}

static void test_verbs_without_descriptors_there_is_no_waiting_but_taking(void **state)
{
    bowline_hold *hold, *none = NULL;
    struct rlimit before, low;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low          = before;
    low.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int taken  = take(&hold, one, "n", 0);
    int waited = bowline_acquire(&none, one, "n", BOWLINE_ACQUIRE(.wait_ms = 1000), &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(taken, BOWLINE_OK);
    assert_int_equal(waited, BOWLINE_REFUSED);
    assert_non_null(strstr(error.text, "n: cannot wait for events"));
    assert_null(none);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

/* ---- what is checked ------------------------------------------------------------------------- */

static void test_verbs_acquire_checks_its_arguments(void **state)
{
    bowline_hold *hold = NULL;

    (void)state;
    assert_usage(bowline_acquire(NULL, one, "n", NULL, &error), "place for the hold");
    assert_usage(bowline_acquire(&hold, NULL, "n", NULL, &error), "client");
    assert_usage(bowline_acquire(&hold, one, NULL, NULL, &error), "name");
    assert_usage(bowline_acquire(&hold, one, "", NULL, &error), "at least one");
    assert_usage(bowline_acquire(&hold, one, "a\tb", NULL, &error), "control");
    assert_usage(bowline_extend(NULL, 0, &error), "hold");
    assert_null(hold);
    assert_int_equal(one->first->locks_count, 0);
}

static void test_verbs_acquire_checks_its_options(void **state)
{
    static const struct {
        bowline_acquire_options options;
        const char             *word;
    } list[] = {
        { { .size = sizeof list[0].options, .wait_ms = -3 }, "wait_ms" },
        { { .size = sizeof list[0].options, .wait_ms = INT64_C(2147483648) }, "wait_ms" },
        { { .size = sizeof list[0].options, .lease_ms = 99 }, "lease_ms" },
        { { .size = sizeof list[0].options, .lease_ms = 86400001 }, "lease_ms" },
        { { .size = sizeof list[0].options, .max_hold_ms = -1 }, "max_hold_ms" },
        { { .size = sizeof list[0].options, .reserved = 1 }, "reserved" },
        { { .size = 0 }, "BOWLINE_ACQUIRE" },
    };
    bowline_hold *hold = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        assert_usage(bowline_acquire(&hold, one, "n", &list[i].options, &error), list[i].word);
    assert_null(hold);
    assert_int_equal(bowline_acquire(&hold, one, "n",
                                     BOWLINE_ACQUIRE(.wait_ms = 2147483647, .lease_ms = 86400000,
                                                     .max_hold_ms = INT64_MAX),
                                     &error),
                     BOWLINE_OK);
    assert_usage(bowline_extend(hold, 99, &error), "lease_ms");
    assert_usage(bowline_extend(hold, 86400001, &error), "lease_ms");
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

static void test_verbs_started_calls_check_their_arguments(void **state)
{
    bowline_operation *op = NULL;
    bowline_hold      *hold;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    assert_usage(bowline_acquire_start(NULL, one, "n", NULL, &error), "operation");
    assert_usage(bowline_acquire_start(&op, NULL, "n", NULL, &error), "client");
    assert_usage(bowline_acquire_start(&op, one, NULL, NULL, &error), "name");
    assert_usage(bowline_acquire_start(&op, one, "", NULL, &error), "at least one");
    assert_usage(bowline_extend_start(NULL, hold, 0, &error), "operation");
    assert_usage(bowline_extend_start(&op, NULL, 0, &error), "hold");
    assert_usage(bowline_extend_start(&op, hold, 99, &error), "lease_ms");
    assert_usage(bowline_release_start(NULL, hold, &error), "operation");
    assert_usage(bowline_release_start(&op, NULL, &error), "hold");
    assert_null(op);
    assert_null(one->operations);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

/* ---- started and finished -------------------------------------------------------------------- */

static bowline_operation *start(bowline_client *client, const char *name)
{
    bowline_operation *op;

    assert_int_equal(bowline_acquire_start(&op, client, name,
                                           BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error),
                     BOWLINE_OK);
    return op;
}

static void test_verbs_started_acquire_is_waited_for_and_finished(void **state)
{
    bowline_hold      *hold, *ours;
    bowline_operation *op;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    op = start(two, "n");
    assert_int_equal(bowline_operation_done(op), 0);
    assert_int_equal(bowline_operation_wait(op, 0, &error), BOWLINE_TIMEOUT);
    assert_non_null(strstr(error.text, "not ended yet"));
    assert_int_equal(bowline_operation_wait(op, 10, NULL), BOWLINE_TIMEOUT);
    assert_usage(bowline_operation_wait(op, -2, &error), "below 0");
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    assert_int_equal(bowline_operation_wait(op, 0, &error), BOWLINE_OK); /* dispatches what came */
    assert_int_equal(bowline_operation_done(op), 1);
    assert_int_equal(bowline_operation_wait(op, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire_finish(&ours, op, &error), BOWLINE_OK);
    assert_null(two->operations);
    assert_int_equal(bowline_release(ours, &error), BOWLINE_OK);
}

static void test_verbs_finish_waits_if_it_must(void **state)
{
    bowline_hold *hold, *ours;
    pthread_t     thread;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    bowline_operation *op = start(two, "n");
    assert_int_equal(pthread_create(&thread, NULL, release_soon, hold), 0);
    assert_int_equal(bowline_acquire_finish(&ours, op, &error), BOWLINE_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(bowline_release(ours, &error), BOWLINE_OK);
}

static void test_verbs_started_extend_and_release_are_finished(void **state)
{
    bowline_hold      *hold;
    bowline_operation *op;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    assert_int_equal(bowline_extend_start(&op, hold, 0, &error), BOWLINE_OK);
    assert_int_equal(bowline_operation_done(op), 1);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_int_equal(bowline_release_start(&op, hold, &error), BOWLINE_OK);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_int_equal(one->first->locks_count, 0);
    assert_null(one->operations);
}

static void test_verbs_operation_is_finished_by_its_own_finish(void **state)
{
    bowline_hold      *hold, *none = NULL;
    bowline_operation *op;

    (void)state;
    op = start(one, "n");
    assert_usage(bowline_finish(op, &error), "bowline_acquire_finish");
    assert_usage(bowline_acquire_finish(NULL, op, &error), "place for the hold");
    assert_int_equal(bowline_acquire_finish(&hold, op, &error), BOWLINE_OK);
    assert_int_equal(bowline_release_start(&op, hold, &error), BOWLINE_OK);
    assert_usage(bowline_acquire_finish(&none, op, &error), "takes an acquire");
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_null(none);
}

static void test_verbs_operations_are_finished_in_any_order(void **state)
{
    bowline_operation *ops[3];
    bowline_hold      *holds[3];

    (void)state;
    ops[0] = start(one, "a");
    ops[1] = start(one, "b");
    ops[2] = start(one, "c");
    assert_int_equal(bowline_acquire_finish(&holds[1], ops[1], &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire_finish(&holds[2], ops[2], &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire_finish(&holds[0], ops[0], &error), BOWLINE_OK);
    assert_null(one->operations);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(bowline_release(holds[i], &error), BOWLINE_OK);
}

/* ---- cancelled ------------------------------------------------------------------------------- */

static void test_verbs_cancel_ends_what_has_not_ended(void **state)
{
    bowline_hold *hold, *none = NULL;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    bowline_operation *op = start(two, "n");
    bowline_cancel(op);
    assert_int_equal(bowline_operation_done(op), 1);
    assert_int_equal(bowline_acquire_finish(&none, op, &error), BOWLINE_CANCELLED);
    assert_string_equal(error.text, "n: cancelled");
    assert_null(none);
    assert_int_equal(two->first->locks_count, 0);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    op = start(two, "n");
    bowline_cancel(op); /* too late: it was won */
    assert_int_equal(bowline_acquire_finish(&hold, op, &error), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

static void *cancel_soon(void *op)
{
    (void)nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
    bowline_cancel(op);
    return NULL;
}

static void test_verbs_cancel_may_come_from_another_thread(void **state)
{
    bowline_hold *hold, *none = NULL;
    pthread_t     thread;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    bowline_operation *op = start(two, "n");
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, op), 0);
    assert_int_equal(bowline_operation_wait(op, 10000, &error), BOWLINE_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(bowline_acquire_finish(&none, op, &error), BOWLINE_CANCELLED);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void test_verbs_close_frees_what_was_never_finished(void **state)
{
    bowline_hold *hold;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    (void)start(two, "n");
    (void)start(two, "m");
    (void)start(two, "o");
    bowline_close(two);
    two = NULL;
    assert_int_equal(bowline_open(&two, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    assert_int_equal(take(&hold, one, "m", 0), BOWLINE_OK);
}

/* In the child; how many things were not as they should be. */
static int use_everything(bowline_hold *hold, bowline_operation *acquires, bowline_operation *op)
{
    bowline_hold      *none = NULL;
    bowline_operation *no   = NULL;
    int                bad  = 0;

    bad += bowline_acquire(&none, one, "x", NULL, &error) != BOWLINE_FORKED;
    bad += bowline_acquire_start(&no, one, "x", NULL, &error) != BOWLINE_FORKED;
    bad += bowline_extend(hold, 0, &error) != BOWLINE_FORKED;
    bad += bowline_extend_start(&no, hold, 0, &error) != BOWLINE_FORKED;
    bad += bowline_release_start(&no, hold, &error) != BOWLINE_FORKED;
    bad += bowline_release(hold, &error) != BOWLINE_FORKED;
    bad += bowline_operation_done(acquires) != 1;
    bad += bowline_operation_wait(acquires, BOWLINE_FOREVER, &error) != BOWLINE_FORKED;
    bowline_cancel(acquires);
    bad += bowline_acquire_finish(&none, acquires, &error) != BOWLINE_FORKED;
    bad += bowline_finish(op, &error) != BOWLINE_FORKED;
    bad += none != NULL || no != NULL || error.status != BOWLINE_FORKED;
    bowline_close(one);
    return bad;
}

static void test_verbs_child_of_fork_is_refused_everything(void **state)
{
    bowline_hold      *hold, *other;
    bowline_operation *op;
    int                status;

    (void)state;
    assert_int_equal(take(&hold, one, "n", 0), BOWLINE_OK);
    assert_int_equal(take(&other, one, "o", 0), BOWLINE_OK);
    bowline_operation *acquires = start(one, "n");
    assert_int_equal(bowline_release_start(&op, other, &error), BOWLINE_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(use_everything(hold, acquires, op) == 0 ? 7 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(bowline_finish(op, &error), BOWLINE_OK);
    assert_int_equal(bowline_operation_done(acquires), 0);
    assert_int_equal(bowline_release(hold, &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire_finish(&hold, acquires, &error), BOWLINE_OK);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_verbs_acquire_extend_release),
        CASE(test_verbs_wait_is_the_caller_s_or_else_the_url_s),
        CASE(test_verbs_wait_for_ever_ends_with_the_lock),
        CASE(test_verbs_without_descriptors_there_is_no_waiting_but_taking),
        CASE(test_verbs_acquire_checks_its_arguments),
        CASE(test_verbs_acquire_checks_its_options),
        CASE(test_verbs_started_calls_check_their_arguments),
        CASE(test_verbs_started_acquire_is_waited_for_and_finished),
        CASE(test_verbs_finish_waits_if_it_must),
        CASE(test_verbs_started_extend_and_release_are_finished),
        CASE(test_verbs_operation_is_finished_by_its_own_finish),
        CASE(test_verbs_operations_are_finished_in_any_order),
        CASE(test_verbs_cancel_ends_what_has_not_ended),
        CASE(test_verbs_cancel_may_come_from_another_thread),
        CASE(test_verbs_close_frees_what_was_never_finished),
        CASE(test_verbs_child_of_fork_is_refused_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
