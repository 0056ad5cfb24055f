/*
 * test_engines_time.c -- time and a hold, on every engine: renewal by the renewal thread and by a
 * caller that runs the loop, the end of a lease, the end set by max_hold.
 *
 * Leases are short, and the sleeps are several times longer, so that a busy machine does not change
 * the result.  If the machine stops for a lease, the round is repeated.
 */
#include "tests/lib/engines.h"
#include "tests/lib/inside.h"

#include <poll.h>

/* More than two leases; without a lease, long enough for a renewal thread that should not exist.  A
 * renewal is due after a third of a lease, so the machine may stop for 600 ms and no lock is
 * lost. */
static int64_t over_two_leases(const engine *e)
{
    return e->has_lease ? 2000 : 30;
}

/* Lost holds are reported as such, and other clients can acquire the lock. */
static void expect_lost(const engine *e, bowline_hold *hold)
{
    bowline_client *other = engine_client(e, NULL);
    bowline_error   error = { 0 };

    assert_true(bowline_hold_left_ms(hold) == 0);
    bowline_hold *next = must_acquire_within(other, engine_lock(), 10000);
    assert_status(BOWLINE_LOST, bowline_extend(hold, 0, &error), &error);
    assert_non_null(strstr(error.text, engine_lock()));
    assert_status(BOWLINE_LOST, bowline_release(hold, &error), &error);
    assert_status(BOWLINE_BUSY, try_once(other, engine_lock()), NULL);
    must_release(next);
    engine_close(other);
}

/* The lock is still held: no other client can acquire it while the lease lasts. */
static bool is_held(const engine *e, bowline_hold *hold)
{
    bowline_client *other = engine_client(e, NULL);
    bool            kept  = bowline_hold_left_ms(hold) > 0;
    int             tried = try_once(other, engine_lock());

    engine_close(other);
    kept = kept && bowline_hold_left_ms(hold) > 0;
    if (kept || !e->has_lease)
        assert_status(BOWLINE_BUSY, tried, NULL);
    assert_true(kept || e->has_lease);
    return kept;
}

/* The end of a round in which the hold must be kept.  Returns false if the machine stopped for a
 * lease: the round is repeated. */
static bool was_kept(const engine *e, bowline_hold *hold, int round)
{
    bool kept   = is_held(e, hold);
    int  status = bowline_release(hold, NULL);

    assert_true(status == BOWLINE_OK || e->has_lease);
    return keeps_in_round(kept, status, round);
}

/* ---- renewal --------------------------------------------------------------------------------- */

ENGINE_TEST(renewal_thread_renews_while_the_program_sleeps)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=900ms");
    bowline_hold   *hold   = NULL;
    int             round  = 0;

    do {
        acquire_in_the_end(&hold, client, engine_lock());
        sleep_ms(over_two_leases(THE_ENGINE));
    } while (!was_kept(THE_ENGINE, hold, ++round));
}

/* With a shorter reply time than the client's other locks.  A grant after that time is refused. */
static bowline_hold *acquire_for_a_short_lease(const engine *e, bowline_client *client,
                                               bool in_steps)
{
    bowline_hold      *hold   = NULL;
    bowline_error      error  = { 0 };
    bowline_operation *op     = NULL;
    int                status = BOWLINE_REFUSED;

    for (int rounds = 0; status == BOWLINE_REFUSED && rounds < 50; rounds++) {
        assert_true(inside_comes_to(client, NULL, (inside){ .idle_renewals = e->has_lease }));
        if (in_steps) {
            status = bowline_acquire_start(&op, client, engine_lock(),
                                           BOWLINE_ACQUIRE(.lease_ms = 900), &error);
            assert_status(BOWLINE_OK, status, &error);
            status = bowline_acquire_finish(&hold, op, &error);
        } else {
            status = bowline_acquire(&hold, client, engine_lock(), BOWLINE_ACQUIRE(.lease_ms = 900),
                                     &error);
        }
    }
    assert_status(BOWLINE_OK, status, &error);
    return hold;
}

static void expect_renewal_beside_a_longer_lease(const engine *e, bool in_steps)
{
    bowline_client *client = engine_client(e, "lease=1h");
    bowline_hold   *before = must_acquire(client, "long");
    bowline_hold   *hold   = NULL;
    int             round  = 0;

    do {
        hold = acquire_for_a_short_lease(e, client, in_steps);
        sleep_ms(over_two_leases(e));
    } while (!was_kept(e, hold, ++round));
    must_release(before);
}

/* The renewal thread sleeps while it has nothing to do.  A shorter lease must wake it. */
ENGINE_TEST(renewal_thread_wakes_for_a_shorter_lease)
{
    expect_renewal_beside_a_longer_lease(THE_ENGINE, false);
}

ENGINE_TEST(renewal_thread_wakes_for_a_hold_acquired_in_steps)
{
    expect_renewal_beside_a_longer_lease(THE_ENGINE, true);
}

/* The renewal thread stops the loop while a caller dispatches, and must continue afterwards. */
ENGINE_TEST(renewal_thread_continues_after_a_dispatch)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=900ms");
    bowline_hold   *hold   = NULL;
    int             round  = 0;

    do {
        acquire_in_the_end(&hold, client, engine_lock());
        for (int i = 0; i < 4; i++)
            assert_status(BOWLINE_OK, bowline_dispatch(client, 60, NULL), NULL);
        sleep_ms(over_two_leases(THE_ENGINE));
    } while (!was_kept(THE_ENGINE, hold, ++round));
}

/* A caller inside a call renews all locks. */
ENGINE_TEST(waiting_thread_renews_other_holds)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, "lease=900ms");
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *busy   = must_acquire(other, "busy");
    bowline_hold   *hold   = NULL;
    bowline_hold   *none   = NULL;
    int             round  = 0;

    do {
        bowline_error error = { 0 };
        acquire_in_the_end(&hold, client, engine_lock());
        int status = acquire_within(&none, client, "busy", over_two_leases(THE_ENGINE), &error);
        if (!came_too_late(status, &error))
            assert_status(BOWLINE_TIMEOUT, status, &error);
    } while (!was_kept(THE_ENGINE, hold, ++round));
    must_release(busy);
}

ENGINE_TEST(dispatch_renews_without_a_renewal_thread)
{
    bowline_client *client = engine_client_without_renewal_thread(THE_ENGINE, "lease=900ms");
    bowline_hold   *hold   = NULL;
    int             round  = 0;

    do {
        acquire_in_the_end(&hold, client, engine_lock());
        for (int64_t end = clock_ms() + over_two_leases(THE_ENGINE); clock_ms() < end;)
            assert_status(BOWLINE_OK, bowline_dispatch(client, 50, NULL), NULL);
    } while (!was_kept(THE_ENGINE, hold, ++round));
}

/* Renewed by the renewal thread for several leases: it must not report the end of any of them. */
LEASE_TEST(descriptor_of_a_renewed_hold_stays_silent)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=600ms");
    bowline_hold   *hold   = NULL;
    bool            kept;
    int             round = 0;

    do {
        acquire_in_the_end(&hold, client, engine_lock());
        int  fd           = bowline_hold_lost_fd(hold, NULL);
        bool was_readable = poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 1500) == 1;
        kept              = bowline_hold_left_ms(hold) > 0;
        assert_true(kept || THE_ENGINE->has_lease);
        assert_true(!kept || !was_readable);
        kept = kept && bowline_hold_check(hold, NULL) == BOWLINE_OK;
    } while (!keeps_in_round(kept, bowline_release(hold, NULL), ++round));
}

/* ---- the end of a lease ---------------------------------------------------------------------- */

LEASE_TEST(hold_is_not_renewed_without_a_renewal_thread)
{
    unsigned        threads = count_threads();
    bowline_client *client  = engine_client_without_renewal_thread(THE_ENGINE, "lease=200ms");
    bowline_hold   *hold    = must_acquire(client, engine_lock());

    assert_int_equal(count_threads(), threads);
    must_end(hold);
    expect_lost(THE_ENGINE, hold);
}

static void expect_end_with_the_lease(const engine *e, bowline_client *client)
{
    bowline_hold *hold = must_acquire(client, engine_lock());

    must_end(hold);
    expect_lost(e, hold);
}

LEASE_TEST(hold_without_renewal_ends_with_the_lease)
{
    bowline_client *client  = NULL;
    bowline_options options = { .size     = sizeof options,
                                .url      = engine_url(THE_ENGINE, NULL),
                                .lease_ms = 200,
                                .flags    = BOWLINE_NO_RENEW };
    int             status  = bowline_open(&client, &options, NULL);

    assert_status(BOWLINE_OK, status, NULL);
    expect_end_with_the_lease(THE_ENGINE, client);
    bowline_close(client);
    expect_end_with_the_lease(THE_ENGINE, engine_client(THE_ENGINE, "lease=200ms&renew=off"));
}

ENGINE_TEST(extend_keeps_a_hold_without_renewal)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=900ms&renew=off");
    bowline_hold   *hold   = NULL;
    int             round  = 0;

    do {
        acquire_in_the_end(&hold, client, engine_lock());
        for (int i = 0; i < 12; i++) {
            sleep_ms(over_two_leases(THE_ENGINE) / 12);
            int status = bowline_extend(hold, 0, NULL);
            assert_true(status == BOWLINE_OK || THE_ENGINE->has_lease);
        }
    } while (!was_kept(THE_ENGINE, hold, ++round));
}

/* ---- max_hold -------------------------------------------------------------------------------- */

LEASE_TEST(max_hold_ends_a_renewed_hold)
{
    bowline_client *client = engine_client(THE_ENGINE, "lease=900ms&max-hold=700ms");
    bowline_hold   *hold   = NULL;
    int64_t         began, left_ms;
    bool            is_held;
    int             rounds = 0;

    do {
        assert_true(++rounds < 50);
        began = clock_ms();
        hold  = must_acquire(client, engine_lock());
        assert_true(bowline_hold_left_ms(hold) <= 700);
        while ((left_ms = bowline_hold_left_ms(hold)) > 300)
            sleep_ms(1);
        is_held = left_ms > 0; /* past its first renewal */
        assert_true(is_held || clock_ms() - began >= 600);
        must_end(hold);
        expect_lost(THE_ENGINE, hold);
    } while (!is_held);
}

ENGINE_TEST(max_hold_of_the_call_ends_the_hold)
{
    bowline_client *client = engine_client(THE_ENGINE, "max-hold=1h");
    bowline_hold   *hold   = NULL;
    int             status = BOWLINE_LOST;

    for (int rounds = 1; status != BOWLINE_OK; rounds++) {
        int64_t began = clock_ms();
        status = bowline_acquire(&hold, client, engine_lock(), BOWLINE_ACQUIRE(.max_hold_ms = 200),
                                 NULL);
        assert_status(BOWLINE_OK, status, NULL);
        assert_true(bowline_hold_left_ms(hold) <= 200);
        status = bowline_extend(hold, 60000, NULL);
        if (clock_ms() - began < 200) /* else it may have ended before */
            assert_status(BOWLINE_OK, status, NULL);
        assert_true(bowline_hold_left_ms(hold) <= 200); /* no extension exceeds it */
        must_end(hold);
        expect_lost(THE_ENGINE, hold);
        assert_true(rounds < 50);
    }
}

/* A hold that max_hold ends passes to the next waiter, though its holder still sleeps. */
ENGINE_TEST(max_hold_passes_the_lock_to_the_next_waiter)
{
    bowline_client *client = engine_client(THE_ENGINE, "max-hold=300ms");
    bowline_client *other  = engine_client(THE_ENGINE, NULL);
    bowline_hold   *hold   = must_acquire(client, engine_lock());
    bowline_hold   *next   = must_acquire_within(other, engine_lock(), 10000);

    assert_true(bowline_hold_left_ms(hold) == 0);
    must_release(next);
    assert_status(BOWLINE_LOST, bowline_release(hold, NULL), NULL);
}
