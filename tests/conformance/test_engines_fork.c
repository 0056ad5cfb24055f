/*
 * test_engines_fork.c -- the parent's handles in a child, on every engine: every call answers
 * FORKED, nothing is sent, and the parent's holds stay the parent's.
 */
#include "tests/lib/engines.h"
#include "tests/lib/fork_safe.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct family {
    const engine      *engine;
    bowline_client    *client;
    bowline_hold      *hold;
    bowline_operation *waiting;
    bowline_operation *looking;
    const char        *url;
} family;

static void family_begin(family *f, const engine *e)
{
    bowline_error error = { 0 };

    *f      = (family){ .engine = e, .client = engine_client(e, NULL), .url = engine_url(e, NULL) };
    f->hold = must_acquire(f->client, engine_lock());
    int status = bowline_acquire_start(&f->waiting, f->client, engine_lock(),
                                       BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error);
    assert_status(BOWLINE_OK, status, &error);
    status = bowline_who_start(&f->looking, f->client, engine_lock(), &error);
    assert_status(BOWLINE_OK, status, &error);
    assert_true(bowline_hold_lost_fd(f->hold, &error) >= 0);
    assert_true(bowline_wakeup_fd(f->client, &error) >= 0);
}

/* The hold is there, works, and can be given back. */
static void family_end(family *f)
{
    bowline_client *other  = engine_client(f->engine, NULL);
    bowline_hold   *hold   = NULL;
    bowline_holder  holder = { .size = sizeof holder };

    assert_true(bowline_hold_left_ms(f->hold) > 0);
    assert_status(BOWLINE_OK, bowline_who_finish(&holder, f->looking, NULL), NULL);
    assert_int_equal(holder.held, 1);
    assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
    assert_status(BOWLINE_OK, bowline_extend(f->hold, 0, NULL), NULL);
    must_release(f->hold);
    assert_status(BOWLINE_OK, bowline_acquire_finish(&hold, f->waiting, NULL), NULL);
    must_release(hold);
}

/* ---- what a child may not -------------------------------------------------------------------- */

/* The calls of a loop. */
static void use_events(family *f, int *bad)
{
    bowline_operation *op     = NULL;
    bowline_event      event  = { .size = sizeof event };
    bowline_holder     holder = { .size = sizeof holder };
    bowline_error      error  = { 0 };

    child_expects(bad, bowline_who_start(&op, f->client, "x", &error) == BOWLINE_FORKED,
                  "who_start");
    child_expects(bad, op == NULL && error.status == BOWLINE_FORKED, "its text");
    child_expects(bad, bowline_who_finish(&holder, f->looking, NULL) == BOWLINE_FORKED,
                  "who_finish");
    child_expects(bad, bowline_next_event(f->client, &event, &error) == BOWLINE_FORKED,
                  "next_event");
    child_expects(bad, bowline_wakeup_fd(f->client, &error) == BOWLINE_FORKED, "wakeup_fd");
    child_expects(bad, bowline_hold_lost_fd(f->hold, &error) == BOWLINE_FORKED, "hold_lost_fd");
    child_expects(bad, bowline_hold_check(f->hold, &error) == BOWLINE_FORKED, "hold_check");
    child_expects(bad, event.kind == 0 && holder.held == 0, "nothing was written");
    bowline_hold_set_data(f->hold, f);
    child_expects(bad, bowline_hold_data(f->hold) == f, "hold_user");
    bowline_operation_set_data(f->waiting, f);
    child_expects(bad, bowline_operation_data(f->waiting) == f, "operation_user");
}

static int use_everything(void *arg)
{
    family            *f      = arg;
    bowline_hold      *hold   = NULL;
    bowline_operation *op     = NULL;
    bowline_holder     holder = { .size = sizeof holder };
    bowline_error      error  = { 0 };
    int                fds[BOWLINE_HOLD_INHERIT_FDS_MAX];
    int                bad = 0;

    child_expects(&bad, acquire_within(&hold, f->client, "x", 0, &error) == BOWLINE_FORKED,
                  "acquire");
    child_expects(&bad, error.status == BOWLINE_FORKED && error.text[0] != '\0', "its text");
    child_expects(&bad, bowline_who(f->client, "x", &holder, &error) == BOWLINE_FORKED, "who");
    child_expects(&bad, bowline_extend(f->hold, 0, &error) == BOWLINE_FORKED, "extend");
    child_expects(&bad, bowline_hold_left_ms(f->hold) == 0, "left");
    child_expects(&bad, strcmp(bowline_hold_name(f->hold), engine_lock()) == 0, "name");
    child_expects(&bad, bowline_hold_inherit_fds(f->hold, fds) == 0, "fds");
    child_expects(&bad, bowline_acquire_start(&op, f->client, "x", NULL, NULL) == BOWLINE_FORKED,
                  "acquire_start");
    child_expects(&bad, bowline_extend_start(&op, f->hold, 0, NULL) == BOWLINE_FORKED,
                  "extend_start");
    child_expects(&bad, bowline_release_start(&op, f->hold, NULL) == BOWLINE_FORKED,
                  "release_start");
    child_expects(&bad, bowline_operation_done(f->waiting) == 1, "done");
    child_expects(&bad, bowline_operation_wait(f->waiting, 1000, NULL) == BOWLINE_FORKED, "wait");
    bowline_cancel(f->waiting);
    child_expects(&bad, bowline_acquire_finish(&hold, f->waiting, NULL) == BOWLINE_FORKED,
                  "acquire_finish");
    child_expects(&bad, bowline_finish(f->waiting, NULL) == BOWLINE_FORKED, "finish");
    child_expects(&bad, bowline_fd(f->client) == BOWLINE_FORKED, "fd");
    child_expects(&bad, bowline_timeout_ms(f->client) == BOWLINE_FOREVER, "timeout");
    child_expects(&bad, bowline_dispatch(f->client, 1000, NULL) == BOWLINE_FORKED, "dispatch");
    use_events(f, &bad);
    child_expects(&bad, bowline_release(f->hold, &error) == BOWLINE_FORKED, "release");
    child_expects(&bad, hold == NULL && op == NULL, "nothing was written");
    return bad;
}

ENGINE_TEST(every_call_in_the_child_is_forked)
{
    family f;

    family_begin(&f, THE_ENGINE);
    assert_int_equal(in_child(use_everything, &f), 0);
    family_end(&f);
}

static int close_it(void *arg)
{
    bowline_close(((family *)arg)->client);
    return 0;
}

ENGINE_TEST(close_in_the_child_releases_nothing)
{
    family f;

    family_begin(&f, THE_ENGINE);
    assert_int_equal(in_child(close_it, &f), 0);
    family_end(&f);
}

static int end_at_once(void *arg)
{
    (void)arg;
    return 0;
}

ENGINE_TEST(end_of_the_child_releases_nothing)
{
    family f;

    family_begin(&f, THE_ENGINE);
    assert_int_equal(in_child(end_at_once, &f), 0);
    family_end(&f);
}

/* ---- what a child may ------------------------------------------------------------------------ */

/* With a client of its own.  Another process is another world for thread:, and for nobody else. */
static int open_its_own(void *arg)
{
    family         *f      = arg;
    bowline_client *client = NULL;
    bowline_hold   *hold   = NULL;
    int             bad    = 0;

    int status =
        bowline_open(&client, BOWLINE_OPTIONS(.url = f->url, .flags = BOWLINE_NO_THREAD), NULL);
    child_expects(&bad, status == BOWLINE_OK, "open");
    status = try_once(client, engine_lock());
    child_expects(&bad, status == (f->engine->across_fork ? BOWLINE_BUSY : BOWLINE_OK), "try once");
    status = acquire_within(&hold, client, "the child's own", BOWLINE_NO_WAIT, NULL);
    child_expects(&bad, status == BOWLINE_OK, "acquire");
    bowline_close(f->client);
    child_expects(&bad, bowline_hold_left_ms(hold) > 0, "left");
    child_expects(&bad, bowline_release(hold, NULL) == BOWLINE_OK, "release");
    bowline_close(client);
    return bad;
}

ENGINE_TEST(child_opens_a_client_of_its_own)
{
    family f;

    family_begin(&f, THE_ENGINE);
    assert_int_equal(in_child(open_its_own, &f), 0);
    family_end(&f);
}

/* Another thread may be anywhere inside the library when a program forks. */
ENGINE_TEST(fork_while_another_thread_waits)
{
    family f;
    waiter w;

    family_begin(&f, THE_ENGINE);
    waiter_start(&w, f.client, engine_lock(), 300);
    for (int i = 0; i < 10; i++) {
        sleep_ms(5);
        assert_int_equal(in_child(i % 2 == 0 ? use_everything : close_it, &f), 0);
    }
    assert_status(BOWLINE_TIMEOUT, waiter_join(&w), &w.error);
    family_end(&f);
}

/* A child that lives on has copies of everything, and disturbs nothing. */
ENGINE_TEST(child_that_lives_on_disturbs_nothing)
{
    family f;

    family_begin(&f, THE_ENGINE);
    pid_t pid = fork();
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(pid > 0);
    family_end(&f);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* What children draw at random must not be what the parent draws. */
static int draw(void *arg)
{
    family         *f      = arg;
    bowline_client *client = NULL;
    int             bad    = 0;

    int status =
        bowline_open(&client, BOWLINE_OPTIONS(.url = f->url, .flags = BOWLINE_NO_THREAD), NULL);
    child_expects(&bad, status == BOWLINE_OK, "open");
    for (int i = 0; i < 5; i++)
        child_expects(&bad, try_once(client, "drawn") == BOWLINE_OK, "acquire and release");
    bowline_close(client);
    return bad;
}

ENGINE_TEST(children_one_after_the_other)
{
    family f;

    family_begin(&f, THE_ENGINE);
    for (int i = 0; i < 5; i++)
        assert_int_equal(in_child(draw, &f), 0);
    family_end(&f);
}

__attribute__((constructor)) static void make_this_program_fork_safe(void)
{
    make_fork_safe();
}
