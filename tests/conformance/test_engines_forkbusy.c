/*
 * test_engines_forkbusy.c -- fork in the middle of everything, on every engine: while other
 * threads are inside the client, its mutex held by one that the child does not have; inside the
 * critical section; and followed by exec.
 */
#include "tests/lib/engines.h"
#include "tests/lib/fork_safe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 40, BUSY = 3 };

/* ---- threads that are always inside ---------------------------------------------------------- */

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

typedef struct family {
    bowline_client *client;
    bowline_hold   *hold;
    int             closes;
} family;

/* Nothing of it may wait for the mutex: nobody in the child will ever unlock it. */
static int use_and_close(void *arg)
{
    family            *f      = arg;
    bowline_hold      *none   = NULL;
    bowline_operation *op     = NULL;
    bowline_holder     holder = { .size = sizeof holder };
    int                fds[BOWLINE_HOLD_INHERIT_FDS_MAX];
    int                bad = 0;

    child_expects(&bad, acquire_within(&none, f->client, "x", 0, NULL) == BOWLINE_FORKED,
                  "acquire");
    child_expects(&bad, bowline_acquire_start(&op, f->client, "x", NULL, NULL) == BOWLINE_FORKED,
                  "acquire_start");
    child_expects(&bad, bowline_extend(f->hold, 0, NULL) == BOWLINE_FORKED, "extend");
    child_expects(&bad, bowline_extend_start(&op, f->hold, 0, NULL) == BOWLINE_FORKED,
                  "extend_start");
    child_expects(&bad, bowline_who(f->client, "x", &holder, NULL) == BOWLINE_FORKED, "who");
    child_expects(&bad, bowline_hold_left_ms(f->hold) == 0, "left");
    child_expects(&bad, bowline_hold_inherit_fds(f->hold, fds) == 0, "fds");
    child_expects(&bad, bowline_fd(f->client) == BOWLINE_FORKED, "fd");
    child_expects(&bad, bowline_timeout_ms(f->client) == BOWLINE_FOREVER, "timeout");
    child_expects(&bad, bowline_dispatch(f->client, 10, NULL) == BOWLINE_FORKED, "dispatch");
    child_expects(&bad, bowline_release_start(&op, f->hold, NULL) == BOWLINE_FORKED,
                  "release_start");
    child_expects(&bad, bowline_release(f->hold, NULL) == BOWLINE_FORKED, "release");
    if (f->closes)
        bowline_close(f->client);
    return bad;
}

ENGINE_TEST(fork_while_other_threads_are_inside)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    family          f      = { .client = client, .hold = must_acquire(client, engine_lock()) };
    atomic_bool     stops  = false;
    busy            all[BUSY];

    for (int i = 0; i < BUSY; i++) {
        all[i] = (busy){ .client = client, .stops = &stops };
        (void)snprintf(all[i].name, sizeof all[i].name, "busy %d", i / 2); /* two of them meet */
        assert_int_equal(pthread_create(&all[i].thread, NULL, take_and_give, &all[i]), 0);
    }
    for (f.closes = 0; f.closes < FORKS; f.closes++)
        assert_int_equal(in_child(use_and_close, &f), 0); /* the first one does not close */
    while (atomic_load(&all[0].turns) == 0)
        sleep_ms(1); /* it goes on */
    atomic_store(&stops, true);
    for (int i = 0; i < BUSY; i++) {
        assert_int_equal(pthread_join(all[i].thread, NULL), 0);
        assert_int_equal(all[i].strange, 0);
    }
    /* The parent is as it was. */
    assert_true(bowline_hold_left_ms(f.hold) > 0);
    assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
    assert_status(BOWLINE_OK, bowline_extend(f.hold, 0, NULL), NULL);
    must_release(f.hold);
    assert_status(BOWLINE_OK, try_once(other, engine_lock()), NULL);
}

/* ---- in the critical section ----------------------------------------------------------------- */

/* The child ends by itself, in the ways that a program has. */
static int return_from_main(void *arg)
{
    (void)use_and_close(arg);
    return 7;
}

ENGINE_TEST(fork_in_the_critical_section)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=900ms");
    bowline_client *other  = engine_client(THE_ENGINE, NULL);

    for (int i = 0; i < 10; i++) {
        family f = { .client = client, .closes = i };
        acquire_in_the_end(&f.hold, client, engine_lock());
        assert_int_equal(in_child(return_from_main, &f), 7);
        int tried = try_once(other, engine_lock());
        /* Also a hold whose renewal was under way. */
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

/* What /proc says of the descriptors of this process, one name a line; in the order of numbers. */
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

/* The program that the child becomes says what it has: the shell's own redirections apart, nothing
 * that this process had not before it used the library. */
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
    int             fds[2];
    atomic_bool     stops = false;
    bowline_client *client;
    busy            b;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
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
    engine_close(client);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

__attribute__((constructor)) static void make_this_program_fork_safe(void)
{
    make_fork_safe();
}
