/*
 * test_who.c -- who holds a name: asked, and started and finished.
 *
 * The engine is one whose `who` says what the test wants, and whose `look` ends at once, or when
 * the test lets it.  What the store does not know must not be made up.
 */
#include "api/handles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bowline_client *client;
static bwl_engine      engine;
static bwl_holder      says;
static int             status_of_who;
static char            asked_for[BWL_NAME_MAX + 1];
static bowline_error   error;
static bwl_lock       *looked_at; /* by a look that has not ended                              */

static int fake_who(bwl_lock *lock, bwl_holder *ret_holder, bwl_fault *fault)
{
    memcpy(asked_for, lock->base.name, sizeof asked_for);
    if (status_of_who < 0) {
        if (fault != NULL)
            *fault = (bwl_fault){ .status = status_of_who, .text = "no" };
        return status_of_who;
    }
    *ret_holder = says;
    return BWL_OK;
}

static bool look_for_long(bwl_lock *lock)
{
    looked_at = lock;
    bwl_lock_pin(lock);
    return false;
}

/* What an engine does when the answer has come. */
static void see(void)
{
    bwl_shard_lock(client->first);
    bwl_lock_query_done(looked_at);
    bwl_lock_unpin(looked_at);
    bwl_shard_unlock(client->first);
}

static int open_client(void **state)
{
    (void)state;
    assert_int_equal(bowline_open(&client, BOWLINE_OPTIONS(.url = "thread:"), &error), BOWLINE_OK);
    engine                     = *client->first->host.engine;
    engine.who                 = fake_who;
    client->first->host.engine = &engine;
    says                       = (bwl_holder){ .held = true };
    status_of_who              = BWL_OK;
    error                      = (bowline_error){ 0 };
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    bowline_close(client);
    return 0;
}

/* ---- asked for ------------------------------------------------------------------------------- */

static void test_who_gives_every_field(void **state)
{
    bowline_holder h = { .size = sizeof h };

    (void)state;
    says = (bwl_holder){
        .held     = true,
        .foreign  = true,
        .left_ms  = 5,
        .since_ms = 6,
        .pid      = 7,
        .fence    = 8,
        .user     = "u",
        .host     = "h",
        .program  = "p",
        .note     = "n",
    };
    assert_int_equal(bowline_who(client, "name", &h, &error), BOWLINE_OK);
    assert_string_equal(asked_for, "name");
    assert_int_equal(h.size, sizeof h);
    assert_true(h.held == 1 && h.foreign == 1 && h.left_ms == 5 && h.since_ms == 6);
    assert_true(h.pid == 7 && h.fence == 8);
    assert_string_equal(h.user, "u");
    assert_string_equal(h.host, "h");
    assert_string_equal(h.program, "p");
    assert_string_equal(h.note, "n");
    assert_int_equal(client->first->locks_count, 0);
    says = (bwl_holder){ .held = true };
    assert_int_equal(bowline_who(client, "name", &h, &error), BWL_OK);
    assert_true(h.held == 1 && h.foreign == 0 && h.pid == 0 && h.user[0] == '\0');
    says = (bwl_holder){ .foreign = true };
    assert_int_equal(bowline_who(client, "name", &h, &error), BWL_OK);
    assert_true(h.held == 0 && h.foreign == 1);
}

static void test_who_that_fails_writes_nothing(void **state)
{
    bowline_holder h      = { .size = sizeof h, .pid = 4711 };
    bowline_holder before = h;

    (void)state;
    status_of_who = BWL_STATUS_REFUSED;
    assert_int_equal(bowline_who(client, "n", &h, &error), BOWLINE_REFUSED);
    assert_string_equal(error.text, "no");
    assert_int_equal(bowline_who(client, "n", &h, NULL), BOWLINE_REFUSED);
    assert_int_equal(bowline_who(client, "", &h, &error), BOWLINE_USAGE);
    assert_memory_equal(&h, &before, sizeof h);
}

static void test_who_checks_its_arguments(void **state)
{
    bowline_holder h = { .size = sizeof h };

    (void)state;
    assert_int_equal(bowline_who(NULL, "n", &h, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_who(client, NULL, &h, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_who(client, "n", NULL, &error), BOWLINE_USAGE);
    h.size = 0;
    assert_int_equal(bowline_who(client, "n", &h, &error), BOWLINE_USAGE);
    assert_non_null(strstr(error.text, "sizeof(bowline_holder)"));
    h.size = sizeof h + 1;
    assert_int_equal(bowline_who(client, "n", &h, NULL), BOWLINE_USAGE);
}

static void test_who_in_a_child_of_fork_is_forked(void **state)
{
    bowline_holder h = { .size = sizeof h };
    int            status;

    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(bowline_who(client, "n", &h, &error) == BOWLINE_FORKED ? 7 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* ---- started and finished -------------------------------------------------------------------- */

static bowline_operation *start(const char *name)
{
    bowline_operation *op = NULL;

    assert_int_equal(bowline_who_start(&op, client, name, &error), BOWLINE_OK);
    assert_non_null(op);
    return op;
}

static void test_who_that_is_seen_at_once_has_ended_when_its_start_returns(void **state)
{
    bowline_holder     h  = { .size = sizeof h };
    bowline_operation *op = start("name");

    (void)state;
    says = (bwl_holder){ .held = true, .pid = 7 };
    assert_int_equal(bowline_operation_done(op), 1);
    bowline_cancel(op); /* too late */
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_OK);
    assert_string_equal(asked_for, "name");
    assert_true(h.held == 1 && h.pid == 7);
    assert_int_equal(client->first->locks_count, 0);
    assert_null(client->operations);
}

static void test_who_that_takes_long_ends_when_it_is_seen(void **state)
{
    bowline_holder     h  = { .size = sizeof h };
    bowline_operation *op = NULL;

    (void)state;
    engine.look = look_for_long;
    op          = start("n");
    assert_int_equal(bowline_operation_done(op), 0);
    assert_int_equal(bowline_operation_wait(op, 0, &error), BOWLINE_TIMEOUT);
    see();
    assert_int_equal(bowline_operation_done(op), 1);
    assert_int_equal(bowline_operation_wait(op, BOWLINE_FOREVER, &error), BOWLINE_OK);
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_OK);
    assert_int_equal(h.held, 1);
    assert_int_equal(client->first->locks_count, 0);
}

static void test_who_that_is_cancelled_ends_and_leaves_nothing(void **state)
{
    bowline_holder     h      = { .size = sizeof h, .pid = 4711 };
    bowline_holder     before = h;
    bowline_operation *op     = NULL;

    (void)state;
    engine.look = look_for_long;
    op          = start("n");
    bowline_cancel(op);
    assert_int_equal(bowline_operation_done(op), 1);
    bowline_cancel(op);
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_CANCELLED);
    assert_string_equal(error.text, "n: cancelled");
    assert_memory_equal(&h, &before, sizeof h);
    assert_int_equal(client->first->locks_count, 1); /* until the engine lets go of it */
    see();
    assert_int_equal(client->first->locks_count, 0);
}

static void test_who_that_is_never_finished_is_freed_by_close(void **state)
{
    (void)state;
    engine.look = look_for_long;
    (void)start("n");
    looked_at->pins--; /* an engine that closes has no open questions */
}

static void test_who_that_fails_says_so_in_its_finish(void **state)
{
    bowline_holder     h  = { .size = sizeof h };
    bowline_operation *op = start("n");

    (void)state;
    status_of_who = BWL_STATUS_UNREACHABLE;
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_UNREACHABLE);
    assert_string_equal(error.text, "no");
    op = NULL;
    assert_int_equal(bowline_who_start(&op, client, "", &error), BOWLINE_USAGE);
    assert_null(op);
    assert_null(client->operations);
}

static void test_who_is_finished_by_no_other_finish_nor_finishes_others(void **state)
{
    bowline_holder     h    = { .size = sizeof h };
    bowline_operation *op   = start("n");
    bowline_hold      *hold = NULL;

    (void)state;
    assert_int_equal(bowline_finish(op, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_acquire_finish(&hold, op, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_who_finish(NULL, op, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_who_finish(&h, NULL, &error), BOWLINE_USAGE);
    h.size = 1;
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_USAGE);
    h.size = sizeof h;
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_OK);
    assert_int_equal(bowline_acquire_start(&op, client, "m", NULL, &error), BOWLINE_OK);
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_USAGE);
    assert_int_equal(bowline_acquire_finish(&hold, op, &error), BOWLINE_OK);
    assert_int_equal(bowline_who_start(NULL, client, "n", &error), BOWLINE_USAGE);
    assert_int_equal(bowline_who_start(&op, NULL, "n", &error), BOWLINE_USAGE);
    assert_int_equal(bowline_who_start(&op, client, NULL, &error), BOWLINE_USAGE);
}

static void test_who_started_by_the_parent_is_forked_in_the_child(void **state)
{
    bowline_holder     h     = { .size = sizeof h };
    bowline_operation *op    = start("n");
    bowline_operation *other = NULL;
    int                status;

    (void)state;
    pid_t child = fork();
    if (child == 0) {
        int wrong = 0;
        wrong += bowline_who_start(&other, client, "n", &error) != BOWLINE_FORKED || other != NULL;
        wrong += bowline_who_finish(&h, op, &error) != BOWLINE_FORKED;
        _exit(wrong == 0 ? 7 : wrong);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(bowline_who_finish(&h, op, &error), BOWLINE_OK);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_who_gives_every_field),
        CASE(test_who_that_fails_writes_nothing),
        CASE(test_who_checks_its_arguments),
        CASE(test_who_in_a_child_of_fork_is_forked),
        CASE(test_who_that_is_seen_at_once_has_ended_when_its_start_returns),
        CASE(test_who_that_takes_long_ends_when_it_is_seen),
        CASE(test_who_that_is_cancelled_ends_and_leaves_nothing),
        CASE(test_who_that_is_never_finished_is_freed_by_close),
        CASE(test_who_that_fails_says_so_in_its_finish),
        CASE(test_who_is_finished_by_no_other_finish_nor_finishes_others),
        CASE(test_who_started_by_the_parent_is_forked_in_the_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
