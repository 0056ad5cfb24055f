/*
 * test_engines_cancelled.c -- threads that are cancelled (pthread_cancel) inside the library, on
 * every engine.
 *
 * No call of the library is a cancellation point: a thread that is cancelled inside a call first
 * returns from it, with the result.  So no mutex stays locked, no missing thread is recorded as
 * running the loop, and no hold is lost.
 */
#include "tests/lib/engines.h"
#include "tests/lib/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The address sanitizer calls it, if there is one: it takes the frames of a cancelled thread for
 * live ones, and complains when it frees its own signal stack. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "use_sigaltstack=0";
}

enum { WAIT_MS = 60000 };

/* ---- cancelled before every call ------------------------------------------------------------- */

typedef struct condemned {
    const char *url;
    const char *at; /* the current or latest call */
    int         status;
} condemned;

/* The cancellation is pending all the time: the first cancellation point would end the thread. */
static void use_every_call(condemned *c, bowline_client *client, const char *name)
{
    bowline_hold      *hold   = NULL;
    bowline_operation *op     = NULL;
    bowline_holder     holder = { .size = sizeof holder };
    int                fds[BOWLINE_HOLD_INHERIT_FDS_MAX];

    c->at     = "acquire";
    c->status = acquire_within(&hold, client, name, WAIT_MS, NULL);
    if (c->status != BOWLINE_OK)
        return;
    c->at = "acquire of a name that is held";
    (void)acquire_within(&hold, client, name, 20, NULL);
    c->at = "the questions";
    (void)bowline_hold_left_ms(hold);
    (void)bowline_hold_fence(hold);
    (void)bowline_hold_inherit_fds(hold, fds);
    (void)bowline_fd(client);
    (void)bowline_timeout_ms(client);
    c->at = "dispatch";
    (void)bowline_dispatch(client, 20, NULL);
    c->at = "who";
    (void)bowline_who(client, name, &holder, NULL);
    c->at = "extend";
    (void)bowline_extend(hold, 0, NULL);
    c->at = "extend_start";
    if (bowline_extend_start(&op, hold, 0, NULL) == BOWLINE_OK) {
        c->at = "operation_wait";
        (void)bowline_operation_wait(op, 10, NULL);
        (void)bowline_operation_done(op);
        c->at = "finish";
        (void)bowline_finish(op, NULL);
    }
    c->at = "acquire_start";
    if (bowline_acquire_start(&op, client, name, BOWLINE_ACQUIRE(.wait_ms = WAIT_MS), NULL) == 0) {
        c->at = "cancel";
        bowline_cancel(op);
        c->at                 = "acquire_finish";
        bowline_hold *another = NULL;
        c->status             = bowline_acquire_finish(&another, op, NULL);
        if (c->status != BOWLINE_CANCELLED)
            return;
    }
    c->at = "release_start";
    if (bowline_release_start(&op, hold, NULL) == BOWLINE_OK) {
        c->at     = "finish of a release";
        c->status = bowline_finish(op, NULL);
    }
}

static void *be_condemned(void *arg)
{
    condemned      *c      = arg;
    bowline_client *client = NULL;

    (void)pthread_cancel(pthread_self());
    c->at     = "open";
    c->status = bowline_open(&client, BOWLINE_OPTIONS(.url = c->url), NULL);
    if (c->status == BOWLINE_OK)
        use_every_call(c, client, engine_lock());
    if (c->status == BOWLINE_OK) {
        c->at              = "acquire and release";
        bowline_hold *hold = NULL;
        c->status          = acquire_within(&hold, client, "another", WAIT_MS, NULL);
        if (c->status == BOWLINE_OK)
            c->status = bowline_release(hold, NULL);
    }
    c->at = "close";
    bowline_close(client);
    c->at = "the end";
    pthread_testcancel();
    return NULL;
}

ENGINE_TEST(no_call_is_a_cancellation_point)
{
    condemned c = { .url = engine_url(THE_ENGINE, "lease=20s") };
    pthread_t thread;
    void     *ended = NULL;

    assert_int_equal(pthread_create(&thread, NULL, be_condemned, &c), 0);
    assert_int_equal(pthread_join(thread, &ended), 0);
    assert_string_equal(c.at, "the end");
    assert_status(BOWLINE_OK, c.status, NULL);
    assert_ptr_equal(ended, PTHREAD_CANCELED); /* and cancelling still works afterwards */
}

/* ---- cancelled while it waits ---------------------------------------------------------------- */

typedef struct sufferer {
    bowline_client *client;
    int             status; /* 1: the call has not returned */
} sufferer;

static void *wait_in_vain(void *arg)
{
    sufferer     *s    = arg;
    bowline_hold *hold = NULL;

    s->status = acquire_within(&hold, s->client, engine_lock(), 200, NULL);
    pthread_testcancel();
    return NULL;
}

ENGINE_TEST(cancelled_thread_returns_from_its_call)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    void           *ended  = NULL;

    for (int drives = 0; drives < 2; drives++) {
        sufferer  s = { .client = client, .status = 1 };
        waiter    w;
        pthread_t thread;
        if (drives == 0) { /* then another thread does */
            waiter_start(&w, client, engine_lock(), 100);
            (void)threads_wait(client, 1);
        }
        assert_int_equal(pthread_create(&thread, NULL, wait_in_vain, &s), 0);
        (void)threads_wait(client, drives == 0 ? 2 : 1); /* unless its wait is over */
        assert_int_equal(pthread_cancel(thread), 0);
        assert_int_equal(pthread_join(thread, &ended), 0);
        assert_ptr_equal(ended, PTHREAD_CANCELED);
        assert_status(BOWLINE_TIMEOUT, s.status, NULL);
        if (drives == 0)
            assert_status(BOWLINE_TIMEOUT, waiter_join(&w), &w.error);
    }
    must_release(hold);
}

/* ---- cancelled at any moment ----------------------------------------------------------------- */

enum { ROUNDS = 25, VICTIMS = 3 };

typedef struct victim {
    pthread_t       thread;
    bowline_client *client;
    const char     *name;
    bool may_starve;    /* on an engine without an order, a wait may end before its deadline */
    bowline_hold *hold; /* its last status */
    unsigned      turns;
    int           strange; /* a status that is not allowed; OK: there was none */
    bowline_error why;
} victim;

static void *take_and_give(void *arg)
{
    victim *v = arg;

    while (v->strange == BOWLINE_OK) {
        v->strange       = acquire_within(&v->hold, v->client, v->name, 5000, &v->why);
        bool has_starved = v->strange == BOWLINE_TIMEOUT && v->may_starve;
        if (has_starved)
            v->strange = BOWLINE_OK;
        pthread_testcancel();
        if (has_starved)
            continue;
        if (v->strange != BOWLINE_OK)
            break;
        v->strange = bowline_extend(v->hold, 0, &v->why);
        pthread_testcancel();
        bowline_hold *hold = v->hold;
        v->hold            = NULL;
        int status         = bowline_release(hold, v->strange == BOWLINE_OK ? &v->why : NULL);
        v->strange         = v->strange == BOWLINE_OK ? status : v->strange;
        v->turns++;
        pthread_testcancel();
    }
    return NULL;
}

ENGINE_TEST(threads_cancelled_at_any_moment_leave_no_lock)
{
    bowline_client *client  = engine_client(THE_ENGINE, NULL);
    unsigned        turns   = 0;
    unsigned        bequest = 0;

    srandom(7);
    for (int round = 0; round < ROUNDS; round++) {
        victim victims[VICTIMS];
        for (int i = 0; i < VICTIMS; i++) {
            /* Two threads want the same lock, the third one has its own. */
            victims[i] = (victim){ .client     = client,
                                   .name       = i < 2 ? engine_lock() : "of its own",
                                   .may_starve = !THE_ENGINE->in_order };
            assert_int_equal(pthread_create(&victims[i].thread, NULL, take_and_give, &victims[i]),
                             0);
        }
        (void)usleep((useconds_t)random() % 3000);
        for (int i = VICTIMS - 1; i >= 0; i--) {
            assert_int_equal(pthread_cancel(victims[i].thread), 0);
            assert_int_equal(pthread_join(victims[i].thread, NULL), 0);
            bequest += victims[i].hold != NULL;
            if (victims[i].hold != NULL)
                must_release(victims[i].hold); /* else the others would wait for it */
            turns += victims[i].turns;
            assert_status(BOWLINE_OK, victims[i].strange, &victims[i].why);
        }
        assert_status(BOWLINE_OK, try_once(client, engine_lock()), NULL);
        assert_status(BOWLINE_OK, try_once(client, "of its own"), NULL);
    }
    print_message("# %u turns, %u holds left by cancelled threads\n", turns, bequest);
    assert_true(turns > 0);
}

__attribute__((constructor)) static void limit_the_time(void)
{
    (void)alarm(120); /* a client whose mutex stays locked would block for ever */
}
