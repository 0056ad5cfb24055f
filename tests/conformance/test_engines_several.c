/*
 * test_engines_several.c -- several names at once, on every engine: all or none, in one order.
 */
#include "tests/lib/engines.h"

#include <bowline/async.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 3, ROUND_MS = 10 };

/* Three names, the last first; the second in their order is in the middle. */
typedef struct several {
    char          texts[NAMES][64];
    const char   *names[NAMES];
    bowline_hold *holds[NAMES];
} several;

static void some_names(several *s)
{
    const char *lock = engine_lock();

    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(s->texts[i], sizeof s->texts[i], "%s %u", lock, NAMES - i);
        s->names[i] = s->texts[i];
        s->holds[i] = NULL;
    }
}

static void all_are(several *s, bowline_client *other, int status)
{
    for (unsigned i = 0; i < NAMES; i++)
        assert_status(status, try_once(other, s->names[i]), NULL);
}

static bowline_operation *start_all(bowline_client *client, several *s)
{
    bowline_operation             *op;
    bowline_error                  error   = { 0 };
    const bowline_acquire_options *options = BOWLINE_ACQUIRE(.wait_ms = 60000);
    int status = bowline_acquire_all_start(&op, client, s->names, NAMES, options, &error);

    assert_status(BOWLINE_OK, status, &error);
    return op;
}

/* Until it waits for the second name: it has the first one, and not the third. */
static void until_it_waits(bowline_client *client, bowline_client *other, const several *s)
{
    while (try_once(other, s->names[2]) != BOWLINE_BUSY || try_once(other, s->names[0]) < 0)
        assert_status(BOWLINE_OK, bowline_dispatch(client, ROUND_MS, NULL), NULL);
}

static void must_end_with(int status, bowline_operation *op, several *s)
{
    bowline_error error = { 0 };

    assert_status(status, bowline_acquire_all_finish(s->holds, op, &error), &error);
}

ENGINE_TEST(several_names_are_acquired_and_released_together)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_error   error  = { 0 };
    several         s;

    some_names(&s);
    int status = bowline_acquire_all(s.holds, client, s.names, NAMES, NULL, &error);
    assert_status(BOWLINE_OK, status, &error);
    for (unsigned i = 0; i < NAMES; i++) {
        assert_string_equal(bowline_hold_name(s.holds[i]), s.names[i]);
        assert_int_equal(bowline_hold_fence(s.holds[i]) != 0, THE_ENGINE->has_fence);
    }
    all_are(&s, other, BOWLINE_BUSY);
    assert_status(BOWLINE_OK, bowline_release_all(s.holds, NAMES, &error), &error);
    assert_null(s.holds[0]);
    all_are(&s, other, BOWLINE_OK);
}

ENGINE_TEST(one_busy_name_leaves_the_others_free)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_error   error  = { 0 };
    several         s;

    some_names(&s);
    bowline_hold *busy = must_acquire(other, s.names[1]);
    int           status =
        bowline_acquire_all(s.holds, client, s.names, NAMES, BOWLINE_ACQUIRE(.wait_ms = 0), &error);
    assert_status(BOWLINE_BUSY, status, &error);
    assert_non_null(strstr(error.text, s.names[1]));
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
    assert_status(BOWLINE_OK, try_once(other, s.names[0]), NULL);
    assert_status(BOWLINE_OK, try_once(other, s.names[2]), NULL);
    status = bowline_acquire_all(s.holds, client, s.names, NAMES, BOWLINE_ACQUIRE(.wait_ms = 20),
                                 &error);
    assert_status(BOWLINE_TIMEOUT, status, &error);
    assert_non_null(strstr(error.text, s.names[1]));
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
    must_release(busy);
    all_are(&s, client, BOWLINE_OK);
}

ENGINE_TEST(wait_holds_only_the_names_before_the_busy_one)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    several         s;

    some_names(&s);
    bowline_hold      *busy = must_acquire(other, s.names[1]);
    bowline_operation *op   = start_all(client, &s);
    until_it_waits(client, other, &s);
    assert_false(bowline_operation_done(op));
    must_release(busy);
    must_end_with(BOWLINE_OK, op, &s);
    all_are(&s, other, BOWLINE_BUSY);
    assert_status(BOWLINE_OK, bowline_release_all(s.holds, NAMES, NULL), NULL);
}

ENGINE_TEST(cancel_gives_back_the_names_that_it_has)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    several         s;

    some_names(&s);
    bowline_hold      *busy = must_acquire(other, s.names[1]);
    bowline_operation *op   = start_all(client, &s);
    until_it_waits(client, other, &s);
    bowline_cancel(op);
    must_release(must_acquire_within(other, s.names[2], 60000)); /* before it is finished */
    must_end_with(BOWLINE_CANCELLED, op, &s);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
    must_release(busy);
    all_are(&s, other, BOWLINE_OK);
}

/* The other client gets the first name when its lease has ended. */
LEASE_TEST(name_that_is_lost_during_the_wait_is_acquired_again)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=300ms&renew=off");
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    several         s;

    some_names(&s);
    bowline_hold      *busy = must_acquire(other, s.names[1]);
    bowline_operation *op   = start_all(client, &s);
    until_it_waits(client, other, &s);
    bowline_hold *taken = must_acquire_within(other, s.names[2], 60000);
    must_release(busy);
    while (try_once(other, s.names[1]) < 0) /* it is given back, as the first one is lost */
        assert_status(BOWLINE_OK, bowline_dispatch(client, ROUND_MS, NULL), NULL);
    assert_false(bowline_operation_done(op));
    must_release(taken);
    must_end_with(BOWLINE_OK, op, &s);
    (void)bowline_release_all(s.holds, NAMES, NULL); /* OK, or LOST if this machine is slow */
}

ENGINE_TEST(wrong_sets_of_names_are_refused)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    several         s;
    const char     *many[BOWLINE_NAMES_MAX + 1];

    some_names(&s);
    for (unsigned i = 0; i <= BOWLINE_NAMES_MAX; i++)
        many[i] = s.names[i % NAMES];
    const struct {
        size_t                         count;
        const bowline_acquire_options *options;
        const char                    *text;
    } cases[] = {
        { 0, NULL, "0 names, not 1 .. 64" },
        { BOWLINE_NAMES_MAX + 1, NULL, "65 names, not 1 .. 64" },
        { NAMES + 1, NULL, "is there twice: give each name once" },
        { 2, BOWLINE_ACQUIRE(.once_ms = 1000), "once_ms" },
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        bowline_error error = { 0 };
        int           status =
            bowline_acquire_all(s.holds, client, many, cases[i].count, cases[i].options, &error);
        if (status == BOWLINE_UNSUPPORTED && i == COUNT_OF(cases) - 1)
            continue; /* the engine has no period at all */
        assert_status(BOWLINE_USAGE, status, &error);
        assert_non_null(strstr(error.text, cases[i].text));
    }
    all_are(&s, client, BOWLINE_OK);
}

typedef struct worker {
    pthread_t       thread;
    bowline_client *client;
    several         s;
    unsigned        first; /* of its names, in its own order */
    atomic_int     *inside;
    int             bad;
} worker;

static void *acquire_two_of_three(void *arg)
{
    worker *w = arg;

    for (unsigned i = 0; i < 30; i++) {
        unsigned      one = (w->first + i) % NAMES, two = (w->first + i + 1 + i % 2) % NAMES;
        const char   *two_of_them[] = { w->s.names[one], w->s.names[two] };
        bowline_hold *holds[2];
        if (bowline_acquire_all(holds, w->client, two_of_them, 2, BOWLINE_ACQUIRE(.wait_ms = 60000),
                                NULL) < 0) {
            w->bad++;
            continue;
        }
        w->bad += atomic_fetch_add(&w->inside[one], 1) + atomic_fetch_add(&w->inside[two], 1);
        atomic_fetch_sub(&w->inside[one], 1);
        atomic_fetch_sub(&w->inside[two], 1);
        w->bad += bowline_release_all(holds, 2, NULL) < 0;
    }
    return NULL;
}

/* Two threads of one client, and two others: each in another order. */
ENGINE_TEST(clients_with_different_orders_never_wait_for_each_other)
{
    enum { WORKERS = 4 };
    worker     workers[WORKERS];
    atomic_int inside[NAMES] = { 0 };

    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i]        = (worker){ .first = i, .inside = inside };
        workers[i].client = i == 1 ? workers[0].client : engine_client(THE_ENGINE, NULL);
        some_names(&workers[i].s);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, acquire_two_of_three, &workers[i]), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].bad, 0);
    }
}
