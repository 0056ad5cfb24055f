/*
 * test_engines_nowait.c -- background releases, on every engine: the next client gets the lock,
 * nothing is left, a child of fork may not release.
 */
#include "tests/lib/engines.h"

#include <stdio.h>

/* Acquires and releases one name repeatedly: a late release would make the next one BUSY. */
ENGINE_TEST(release_comes_before_the_next_acquire)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_error   error  = { 0 };

    for (unsigned i = 0; i < 300; i++) {
        bowline_hold *hold   = must_acquire(client, engine_lock());
        int           status = bowline_release_nowait(hold, &error);
        assert_status(BOWLINE_OK, status, &error);
    }
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, &error), &error);
}

ENGINE_TEST(waiter_acquires_after_a_background_release)
{
    bowline_client *one  = engine_client(THE_ENGINE, NULL);
    bowline_client *two  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold = must_acquire(one, engine_lock());
    waiter          w;

    waiter_start(&w, two, engine_lock(), 20000);
    engine_await_queue(THE_ENGINE, &w, 1);
    assert_status(BOWLINE_OK, bowline_release_nowait(hold, NULL), NULL);
    assert_true(waiter_ends(&w)); /* though no thread is inside the first client any more */
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
    assert_status(BOWLINE_OK, bowline_release_nowait(w.hold, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_flush_releases(one, BOWLINE_FOREVER, NULL), NULL);
}

/* No call follows, and there is no renewal thread. */
ENGINE_TEST(close_completes_background_releases)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());

    assert_status(BOWLINE_OK, bowline_release_nowait(hold, NULL), NULL);
    engine_close(client);
    assert_status(BOWLINE_OK, try_once(other, engine_lock()), NULL);
}

ENGINE_TEST(many_background_releases_need_no_other_call)
{
    enum { MANY = 1500 };
    bowline_client      *client = engine_client_without_renewal_thread(THE_ENGINE, NULL);
    static bowline_hold *holds[MANY];
    const char          *names = engine_lock();
    char                 name[64];
    bool                 is_file = THE_ENGINE->has_descriptors;
    unsigned             count   = is_file ? 100 : MANY; /* each has open descriptors */

    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%s %u", names, i);
        holds[i] = must_acquire(client, name);
    }
    for (unsigned i = 0; i < count; i++)
        assert_status(BOWLINE_OK, bowline_release_nowait(holds[i], NULL), NULL);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
}

typedef struct inherited {
    bowline_client *client;
    bowline_hold   *hold;
} inherited;

static int use_in_child(void *arg)
{
    inherited    *i     = arg;
    bowline_error error = { 0 };
    int           bad   = 0;

    child_expects(&bad,
                  bowline_flush_releases(i->client, BOWLINE_FOREVER, &error) == BOWLINE_FORKED,
                  "released");
    child_expects(&bad, error.status == BOWLINE_FORKED, "its text");
    child_expects(&bad, bowline_release_nowait(i->hold, &error) == BOWLINE_FORKED,
                  "release_nowait");
    bowline_close(i->client);
    return bad;
}

/* One release is in flight at the fork; the child neither waits for it nor completes it. */
ENGINE_TEST(child_of_fork_cannot_release)
{
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    bowline_hold   *first  = must_acquire(client, engine_lock());
    inherited       i      = { .client = client };
    char            name[64];

    (void)snprintf(name, sizeof name, "%s too", engine_lock());
    i.hold = must_acquire(client, name);
    assert_status(BOWLINE_OK, bowline_release_nowait(first, NULL), NULL);
    assert_int_equal(in_child(use_in_child, &i), 0);
    assert_true(bowline_hold_left_ms(i.hold) > 0);
    assert_status(BOWLINE_OK, bowline_release_nowait(i.hold, NULL), NULL);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
}

typedef struct taker {
    pthread_t       thread;
    bowline_client *client;
    char            name[64];
    int             bad;
} taker;

static void *take_turns(void *arg)
{
    taker *t = arg;

    for (unsigned i = 0; i < 200; i++) {
        bowline_hold *hold = NULL;
        if (bowline_acquire(&hold, t->client, t->name, BOWLINE_ACQUIRE(.wait_ms = 20000), NULL) < 0)
            t->bad++;
        if (bowline_release_nowait(hold, NULL) < 0)
            t->bad++;
        if (i % 16 == 0 && bowline_flush_releases(t->client, 1, NULL) == BOWLINE_LOST)
            t->bad++;
    }
    return NULL;
}

/* Threads of one client, each with its own name, and all with the same. */
ENGINE_TEST(threads_release_in_the_background)
{
    enum { THREADS = 6 };
    bowline_client *client = engine_client(THE_ENGINE, NULL);
    taker           takers[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        takers[i] = (taker){ .client = client };
        (void)snprintf(takers[i].name, sizeof takers[i].name, "%s %u", engine_lock(),
                       i < THREADS / 2 ? i : THREADS);
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_turns, &takers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(takers[i].thread, NULL);
        assert_int_equal(takers[i].bad, 0);
    }
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
}

/* Known without a request: its time is over. */
LEASE_TEST(release_of_an_ended_hold_returns_lost_at_once)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=100ms&renew=off");
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    bowline_error   error  = { 0 };

    must_end(hold);
    assert_status(BOWLINE_LOST, bowline_release_nowait(hold, &error), &error);
    assert_status(BOWLINE_OK, bowline_flush_releases(client, BOWLINE_FOREVER, NULL), NULL);
}
