/*
 * test_engines_fork.c -- the parent's handles in a child, on every engine: every call returns
 * FORKED, nothing is sent, and the parent keeps its holds.  Also when other threads are inside the
 * client at the fork, in the critical section, and when exec follows.
 */
#include "tests/lib/engines.h"
#include "tests/lib/inside.h"
#include "tests/lib/fork_safe.h"

#include <bowline/update.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 40, BUSY = 3 };

typedef struct family {
    const engine      *engine;
    bowline_client    *client;
    bowline_hold      *hold;
    bowline_operation *waiting;
    bowline_operation *looking;
    const char        *url;
    uint64_t           fence;
    bool               closes; /* the child ends with a close */
} family;

static void family_begin(family *f, const engine *e)
{
    bowline_error error = { 0 };

    *f      = (family){ .engine = e, .client = engine_client(e, NULL), .url = engine_url(e, NULL) };
    f->hold = must_acquire(f->client, engine_lock());
    f->fence   = bowline_hold_fence(f->hold);
    int status = bowline_acquire_start(&f->waiting, f->client, engine_lock(),
                                       BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error);
    assert_status(BOWLINE_OK, status, &error);
    status = bowline_who_start(&f->looking, f->client, engine_lock(), &error);
    assert_status(BOWLINE_OK, status, &error);
    assert_true(bowline_hold_lost_fd(f->hold, &error) >= 0);
    assert_true(bowline_wakeup_fd(f->client, &error) >= 0);
}

/* The hold exists, works, and can be released. */
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

/* ---- forbidden in a child -------------------------------------------------------------------- */

#define IS_FORKED(call)      child_expects(&bad, (call) == BOWLINE_FORKED, #call)
#define CHILD_EXPECTS(true_) child_expects(&bad, (true_), #true_)

static int never(bowline_change *change, void *context)
{
    return BOWLINE_UPDATE_LEAVE;
}

/* No call may wait for the client's mutex: a thread that the child does not have may own it. */
static int use_hold(void *arg)
{
    family            *f      = arg;
    bowline_hold      *hold   = NULL;
    bowline_operation *op     = NULL;
    bowline_holder     holder = { .size = sizeof holder };
    bowline_event      event  = { .size = sizeof event };
    bowline_error      error  = { 0 };
    int                fds[BOWLINE_HOLD_INHERIT_FDS_MAX];
    int                bad = 0;

    IS_FORKED(acquire_within(&hold, f->client, "x", 0, &error));
    CHILD_EXPECTS(error.status == BOWLINE_FORKED && error.text[0] != '\0');
    IS_FORKED(bowline_acquire_start(&op, f->client, "x", NULL, NULL));
    IS_FORKED(bowline_who(f->client, "x", &holder, &error));
    IS_FORKED(bowline_who_start(&op, f->client, "x", &error));
    IS_FORKED(bowline_ping(f->client, 0, &error));
    IS_FORKED(bowline_break(f->client, "n", 7, &error));
    IS_FORKED(bowline_broken_by(f->client, "n", 7, (char[BOWLINE_BREAKER_MAX]){ 0 }, &error));
    IS_FORKED(bowline_flush_releases(f->client, 0, &error));
    IS_FORKED(bowline_update(f->client, "k", never, NULL, NULL, &error));
    IS_FORKED(bowline_yield(f->hold, BOWLINE_DEFAULT, NULL));
    IS_FORKED(bowline_yield_start(&op, f->hold, BOWLINE_DEFAULT, NULL));
    IS_FORKED(bowline_extend(f->hold, 0, &error));
    CHILD_EXPECTS(bowline_hold_ref(f->hold) == NULL);
    IS_FORKED(bowline_extend_start(&op, f->hold, 0, NULL));
    CHILD_EXPECTS(bowline_hold_left_ms(f->hold) == 0);
    CHILD_EXPECTS(bowline_hold_fence(f->hold) == f->fence);
    CHILD_EXPECTS(strcmp(bowline_hold_name(f->hold), engine_lock()) == 0);
    CHILD_EXPECTS(bowline_hold_inherit_fds(f->hold, fds) == 0);
    IS_FORKED(bowline_hold_lost_fd(f->hold, &error));
    IS_FORKED(bowline_hold_check(f->hold, &error));
    bowline_hold_set_data(f->hold, f);
    CHILD_EXPECTS(bowline_hold_data(f->hold) == f);
    IS_FORKED(bowline_fd(f->client));
    IS_FORKED(bowline_wakeup_fd(f->client, &error));
    IS_FORKED(bowline_next_event(f->client, &event, &error));
    CHILD_EXPECTS(bowline_timeout_ms(f->client) == BOWLINE_FOREVER);
    IS_FORKED(bowline_dispatch(f->client, 1000, NULL));
    IS_FORKED(bowline_release_start(&op, f->hold, NULL));
    IS_FORKED(bowline_release_nowait(f->hold, &error));
    IS_FORKED(bowline_release(f->hold, &error));
    CHILD_EXPECTS(hold == NULL && op == NULL && event.kind == 0 && holder.held == 0);
    if (f->closes)
        bowline_close(f->client);
    return bad;
}

static int use_everything(void *arg)
{
    family        *f      = arg;
    bowline_hold  *hold   = NULL;
    bowline_holder holder = { .size = sizeof holder };
    int            bad    = 0;

    CHILD_EXPECTS(bowline_operation_done(f->waiting) == 1);
    IS_FORKED(bowline_operation_wait(f->waiting, 1000, NULL));
    bowline_operation_set_data(f->waiting, f);
    CHILD_EXPECTS(bowline_operation_data(f->waiting) == f);
    bowline_cancel(f->waiting);
    IS_FORKED(bowline_acquire_finish(&hold, f->waiting, NULL));
    IS_FORKED(bowline_finish(f->waiting, NULL));
    IS_FORKED(bowline_who_finish(&holder, f->looking, NULL));
    CHILD_EXPECTS(hold == NULL && holder.held == 0);
    return bad + use_hold(f);
}

static int close_it(void *arg)
{
    bowline_close(((family *)arg)->client);
    return 0;
}

static int end_at_once(void *arg)
{
    return 0;
}

static void stays_the_parents(const engine *e, int (*child)(void *arg), int children)
{
    family f;

    family_begin(&f, e);
    for (int i = 0; i < children; i++)
        assert_int_equal(in_child(child, &f), 0);
    family_end(&f);
}

ENGINE_TEST(every_call_in_the_child_returns_forked)
{
    stays_the_parents(THE_ENGINE, use_everything, 1);
}

ENGINE_TEST(close_in_the_child_releases_nothing)
{
    stays_the_parents(THE_ENGINE, close_it, 1);
}

ENGINE_TEST(end_of_the_child_releases_nothing)
{
    stays_the_parents(THE_ENGINE, end_at_once, 1);
}

/* ---- allowed in a child ---------------------------------------------------------------------- */

/* With its own client.  A lock of thread: does not exclude another process. */
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
    stays_the_parents(THE_ENGINE, open_its_own, 1);
}

ENGINE_TEST(fork_while_another_thread_waits)
{
    family f;
    waiter w;

    family_begin(&f, THE_ENGINE);
    waiter_start(&w, f.client, engine_lock(), 300);
    (void)threads_wait(f.client, 1); /* unless its wait is over */
    for (int i = 0; i < 10; i++)
        assert_int_equal(in_child(i % 2 == 0 ? use_everything : close_it, &f), 0);
    assert_status(BOWLINE_TIMEOUT, waiter_join(&w), &w.error);
    family_end(&f);
}

ENGINE_TEST(running_child_does_not_affect_the_parent)
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

/* The random bits of children must not be those of the parent. */
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

ENGINE_TEST(children_draw_their_own_random_bits)
{
    stays_the_parents(THE_ENGINE, draw, 5);
}

/* ---- threads that are always inside a client ------------------------------------------------- */

typedef struct busy {
    pthread_t       thread;
    bowline_client *client;
    char            name[16];
    atomic_bool    *stops;
    atomic_uint     turns;
    unsigned        strange;
} busy;

static void *take_and_give(void *arg)
{
    busy *b = arg;

    while (!atomic_load(b->stops)) {
        bowline_hold *hold = NULL;
        b->strange += acquire_within(&hold, b->client, b->name, 5000, NULL) != BOWLINE_OK;
        if (hold == NULL)
            continue;
        b->strange += bowline_extend(hold, 0, NULL) != BOWLINE_OK;
        b->strange += bowline_hold_left_ms(hold) <= 0;
        b->strange += bowline_release(hold, NULL) != BOWLINE_OK;
        (void)atomic_fetch_add(&b->turns, 1);
    }
    return NULL;
}

ENGINE_TEST(fork_while_other_threads_are_in_calls)
{
    family      f;
    atomic_bool stops = false;
    busy        all[BUSY];

    family_begin(&f, THE_ENGINE);
    for (int i = 0; i < BUSY; i++) {
        all[i] = (busy){ .client = f.client, .stops = &stops };
        (void)snprintf(all[i].name, sizeof all[i].name, "busy %d",
                       i / 2); /* two of them have the same name */
        assert_int_equal(pthread_create(&all[i].thread, NULL, take_and_give, &all[i]), 0);
    }
    for (int i = 0; i < FORKS; i++) {
        f.closes = i > 0;
        assert_int_equal(in_child(use_everything, &f), 0);
    }
    while (atomic_load(&all[0].turns) == 0)
        sleep_ms(1); /* the client continues */
    atomic_store(&stops, true);
    for (int i = 0; i < BUSY; i++) {
        assert_int_equal(pthread_join(all[i].thread, NULL), 0);
        assert_int_equal(all[i].strange, 0);
    }
    family_end(&f);
}

/* ---- in the critical section ----------------------------------------------------------------- */

ENGINE_TEST(fork_in_the_critical_section)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=900ms");
    bowline_client *other  = engine_client(THE_ENGINE, NULL);

    for (int i = 0; i < 10; i++) {
        family f = { .client = client, .closes = i > 0 };
        acquire_in_the_end(&f.hold, client, engine_lock());
        f.fence = bowline_hold_fence(f.hold);
        assert_int_equal(in_child(use_hold, &f), 0);
        int tried = try_once(other, engine_lock());
        /* Also a hold with a renewal in flight. */
        int extended = bowline_extend(f.hold, 0, NULL);
        if (bowline_hold_left_ms(f.hold) > 0) { /* else this took longer than its lease */
            assert_status(BOWLINE_BUSY, tried, NULL);
            if (extended != BOWLINE_UNKNOWN && extended != BOWLINE_UNREACHABLE)
                assert_status(BOWLINE_OK, extended, NULL);
        }
        give_back_or_lose(f.hold);
        acquire_in_the_end(&f.hold, other, engine_lock());
        must_release(f.hold);
    }
}

/* ---- exec ------------------------------------------------------------------------------------ */

/* The descriptors of this process in /proc, one name per line, in the order of numbers. */
static void list_descriptors(char *text, size_t capacity, int skipped)
{
    char   path[64];
    char   name[256];
    size_t used = 0;

    text[0] = '\0';
    for (int fd = 0; fd < 256; fd++) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t size = fd != skipped ? readlink(path, name, sizeof name - 1) : -1;
        if (size <= 0)
            continue;
        name[size] = '\0';
        used += (size_t)snprintf(text + used, capacity - used, "%s\n", name);
    }
}

/* The program after exec lists its descriptors: apart from the shell's own redirections, it has
 * only those that this process had before it used the library. */
static int become_another(void *arg)
{
    (void)dup2(*(int *)arg, STDOUT_FILENO);
    (void)execl("/bin/sh", "sh", "-c",
                "for fd in /proc/$$/fd/*; do readlink \"$fd\"; done 2>/dev/null; exit 0",
                (char *)NULL);
    return 1;
}

ENGINE_TEST(exec_inherits_nothing)
{
    static char     before[20000];
    static char     after[20000];
    atomic_bool     stops = false;
    bowline_client *client;
    busy            b;

    list_descriptors(before, sizeof before, -1);
    client             = engine_client(THE_ENGINE, NULL);
    bowline_hold *hold = must_acquire(client, engine_lock());
    assert_true(bowline_fd(client) >= 0);
    b = (busy){ .client = client, .name = "busy", .stops = &stops };
    assert_int_equal(pthread_create(&b.thread, NULL, take_and_give, &b), 0);
    for (int i = 0; i < 10; i++) {
        size_t  used = 0;
        ssize_t got;
        int     said[2];
        assert_int_equal(pipe2(said, O_CLOEXEC), 0);
        assert_int_equal(in_child(become_another, &said[1]), 0);
        (void)close(said[1]);
        while ((got = read(said[0], after + used, sizeof after - used - 1)) > 0)
            used += (size_t)got;
        after[used] = '\0';
        (void)close(said[0]);
        assert_true(used > 0);
        for (char *rest = after, *name; (name = strsep(&rest, "\n")) != NULL && *name != '\0';) {
            bool is_its_own = strncmp(name, "pipe:", 5) == 0 || strncmp(name, "/proc/", 6) == 0 ||
                              strcmp(name, "/dev/null") == 0;
            if (!is_its_own && strstr(before, name) == NULL)
                fail_msg("the new program has %s", name);
        }
    }
    atomic_store(&stops, true);
    assert_int_equal(pthread_join(b.thread, NULL), 0);
    assert_int_equal(b.strange, 0);
    must_release(hold);
}

__attribute__((constructor)) static void make_this_program_fork_safe(void)
{
    make_fork_safe();
}
