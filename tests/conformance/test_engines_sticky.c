/*
 * test_engines_sticky.c -- ?sticky=: a released lock stays with its client until another one wants
 * it.  Nothing here waits for the end of the time: it is longer than every wait.
 */
#include "tests/lib/engines.h"

#include <string.h>

enum { FENCES = 1024, WAIT_MS = 30000 }; /* between two fences of a server */

#define STICKY "sticky=60s"

/* Returns the fence. */
static uint64_t use_once(bowline_client *client, int64_t wait_ms)
{
    bowline_hold *hold = NULL;
    bowline_error error;

    assert_status(BOWLINE_OK, acquire_within(&hold, client, engine_lock(), wait_ms, &error),
                  &error);
    uint64_t fence = bowline_hold_fence(hold);
    must_release(hold);
    return fence;
}

/* The store has granted the lock again. */
static bool is_new_grant(uint64_t before, uint64_t fence)
{
    return fence > before && fence / FENCES > before / FENCES;
}

SERVER_TEST(released_lock_is_acquired_again_without_the_store)
{
    bowline_client *client = engine_client(THE_ENGINE, STICKY);
    uint64_t        fence  = use_once(client, BOWLINE_NO_WAIT);

    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(use_once(client, i % 2 == 0 ? WAIT_MS : BOWLINE_NO_WAIT), fence + i);
    bowline_client *plain = engine_client(THE_ENGINE, NULL);
    uint64_t        next  = use_once(plain, WAIT_MS);
    assert_true(is_new_grant(fence, next));
    assert_true(is_new_grant(next, use_once(plain, WAIT_MS)));
}

SERVER_TEST(kept_lock_is_given_back_when_another_client_waits)
{
    bowline_client *clients[2] = { engine_client(THE_ENGINE, STICKY),
                                   engine_client(THE_ENGINE, STICKY) };
    uint64_t        before     = 0;

    for (unsigned i = 0; i < 6; i++) {
        uint64_t fence = use_once(clients[i / 2 % 2], WAIT_MS);
        /* The second client gets it by the queue, and keeps it only at its next grant. */
        assert_true(fence > before);
        before = fence;
    }
}

SERVER_TEST(lock_in_use_is_given_back_after_the_use)
{
    bowline_client *client = engine_client(THE_ENGINE, STICKY);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    waiter          w;

    (void)use_once(client, BOWLINE_NO_WAIT);
    bowline_hold *hold = must_acquire(client, engine_lock());
    waiter_start(&w, other, engine_lock(), WAIT_MS);
    engine_await_queue(THE_ENGINE, &w, 1);
    must_release(hold);
    assert_status(BOWLINE_OK, waiter_join(&w), &w.error);
}

SERVER_TEST(kept_lock_ends_with_its_client)
{
    bowline_client *client = engine_client(THE_ENGINE, STICKY);
    bowline_client *other  = engine_client(THE_ENGINE, NULL);

    (void)use_once(client, BOWLINE_NO_WAIT);
    assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
    engine_close(client);
    (void)use_once(other, WAIT_MS);
}

SERVER_TEST(kept_lock_gives_way_to_other_requests_of_its_client)
{
    bowline_client               *client    = engine_client(THE_ENGINE, STICKY);
    const bowline_acquire_options several[] = {
        { .size = sizeof several[0], .lease_ms = 20000 },
        { .size = sizeof several[0], .mode = BOWLINE_SHARED },
        { .size = sizeof several[0], .max_hold_ms = 20000 },
    };

    for (unsigned i = 0; i < 3; i++) {
        bowline_hold *hold = NULL;
        bowline_error error;
        (void)use_once(client, BOWLINE_NO_WAIT);
        assert_status(BOWLINE_OK,
                      bowline_acquire(&hold, client, engine_lock(), &several[i], &error), &error);
        must_release(hold);
    }
}

SERVER_TEST(hold_with_an_end_of_its_own_is_not_kept)
{
    bowline_client *client = engine_client(THE_ENGINE, STICKY "&max-hold=20s");
    uint64_t        fence  = use_once(client, BOWLINE_NO_WAIT);

    assert_true(is_new_grant(fence, use_once(client, WAIT_MS)));
}

ENGINE_TEST(sticky_is_refused_without_a_queue_on_a_server)
{
    bowline_options options = { .size = sizeof options, .url = engine_url(THE_ENGINE, STICKY) };
    bowline_client *client  = NULL;
    bowline_error   error;

    if (THE_ENGINE->has_fence && THE_ENGINE->has_lease)
        return; /* see the other tests */
    assert_status(BOWLINE_USAGE, bowline_open(&client, &options, &error), &error);
    assert_non_null(strstr(error.text, "sticky"));
}
