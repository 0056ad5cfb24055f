/*
 * test_guard.c -- when a command that loses its lock is stopped: for every policy and moment, on
 * virtual time.
 */
#include "tests/lib/suite.h"

#include "cli/run/guard.h"

enum { LEASE_MS = 30000, GRACE_MS = 5000 };

static guard   g;
static int64_t wait_ms;

static guard_order look(int64_t left_ms, int64_t now_ms)
{
    return guard_look(&g, left_ms, now_ms, &wait_ms);
}

TEST(guard_does_nothing_while_there_is_time)
{
    guard_init(&g, LOST_TERM, GRACE_MS, LEASE_MS);
    assert_int_equal(look(LEASE_MS, 0), GUARD_NOTHING);
    assert_int_equal(wait_ms, LEASE_MS - GRACE_MS);
    assert_int_equal(look(GRACE_MS + 1, 0), GUARD_NOTHING);
    assert_int_equal(wait_ms, 1);
}

TEST(guard_sends_TERM_at_the_grace_and_KILL_before_the_end)
{
    guard_init(&g, LOST_TERM, GRACE_MS, LEASE_MS);
    assert_int_equal(look(GRACE_MS, 1000), GUARD_TERM);
    assert_int_equal(look(GRACE_MS, 1000), GUARD_NOTHING);
    assert_int_equal(wait_ms, GRACE_MS - 100);
    assert_int_equal(look(101, 5899), GUARD_NOTHING);
    assert_int_equal(look(100, 5900), GUARD_KILL);
    assert_int_equal(look(99, 5901), GUARD_NOTHING);
    assert_int_equal(wait_ms, BOWLINE_FOREVER);
}

TEST(guard_late_renewal_does_not_undo_TERM)
{
    guard_init(&g, LOST_TERM, GRACE_MS, LEASE_MS);
    assert_int_equal(look(GRACE_MS, 1000), GUARD_TERM);
    assert_int_equal(look(LEASE_MS, 1001), GUARD_NOTHING);
    assert_int_equal(wait_ms, GRACE_MS - 1);
    assert_int_equal(look(LEASE_MS, 1000 + GRACE_MS), GUARD_KILL);
}

TEST(guard_sends_KILL_at_once_for_a_lost_lock)
{
    static const lost_policy policies[] = { LOST_TERM, LOST_KILL };

    for (unsigned i = 0; i < 2; i++) {
        guard_init(&g, policies[i], GRACE_MS, LEASE_MS);
        assert_int_equal(look(LEASE_MS, 0), GUARD_NOTHING);
        assert_int_equal(look(0, 1), GUARD_KILL);
        assert_int_equal(look(0, 2), GUARD_NOTHING);
    }
}

TEST(guard_with_kill_sends_it_at_the_last_moment)
{
    guard_init(&g, LOST_KILL, GRACE_MS, LEASE_MS);
    assert_int_equal(look(GRACE_MS, 0), GUARD_NOTHING);
    assert_int_equal(wait_ms, GRACE_MS - 100);
    assert_int_equal(look(100, 0), GUARD_KILL);
}

TEST(guard_warn_only_warns_and_only_once)
{
    guard_init(&g, LOST_WARN, GRACE_MS, LEASE_MS);
    assert_int_equal(look(GRACE_MS, 0), GUARD_NOTHING);
    assert_int_equal(look(100, 0), GUARD_WARN);
    assert_int_equal(look(0, 0), GUARD_NOTHING);
}

TEST(guard_ignores_a_lock_without_an_end)
{
    guard_init(&g, LOST_TERM, GRACE_MS, INT64_MAX);
    assert_int_equal(look(INT64_MAX, 0), GUARD_NOTHING);
    assert_int_equal(wait_ms, BOWLINE_FOREVER);
    /* Unless the lock is lost. */
    assert_int_equal(look(0, 0), GUARD_KILL);
}

TEST(guard_grace_is_at_most_half_of_the_time_left)
{
    for (int64_t left_ms = 0; left_ms <= 20000; left_ms += 7) {
        guard_init(&g, LOST_TERM, GRACE_MS, left_ms);
        assert_true(g.grace_ms <= left_ms / 2 && g.grace_ms <= GRACE_MS);
        assert_true(g.margin_ms <= left_ms / 10 && g.margin_ms <= 100);
        /* A lease that was just renewed never counts as running out. */
        if (left_ms >= 100)
            assert_int_equal(look(left_ms * 2 / 3, 0), GUARD_NOTHING);
    }
}

/* For all times and any delay of a check: KILL is sent exactly once, and before the end if the
 * check was in time. */
TEST(guard_always_ends_with_one_kill)
{
    static const int64_t steps_ms[]      = { 1, 3, 10, 33, 100, 333, 1000, 3333 };
    static const int64_t kill_after_ms[] = { 0, 1, 50, 100, 101, 1000, 100000 };

    for (unsigned s = 0; s < COUNT_OF(steps_ms); s++)
        for (unsigned k = 0; k < COUNT_OF(kill_after_ms); k++) {
            int64_t left_ms = 3000, now_ms = 0;
            int     kills = 0, terms = 0;
            guard_init(&g, LOST_TERM, kill_after_ms[k], left_ms);
            for (; left_ms > -5000; left_ms -= steps_ms[s], now_ms += steps_ms[s]) {
                int64_t     left = left_ms > 0 ? left_ms : 0;
                guard_order order;
                while ((order = look(left, now_ms)) != GUARD_NOTHING) {
                    assert_true(order == GUARD_TERM || order == GUARD_KILL);
                    terms += order == GUARD_TERM;
                    kills += order == GUARD_KILL;
                    if (order == GUARD_KILL && steps_ms[s] < 100)
                        assert_true(left > 0);
                    assert_true(terms <= 1 && (order == GUARD_KILL || kills == 0));
                }
            }
            assert_int_equal(kills, 1);
        }
}

/* Sleeping exactly as long as the guard says misses nothing. */
TEST(guard_sleep_time_is_short_enough)
{
    int64_t left_ms = LEASE_MS, now_ms = 0;

    guard_init(&g, LOST_TERM, GRACE_MS, LEASE_MS);
    assert_int_equal(look(left_ms, now_ms), GUARD_NOTHING);
    left_ms -= wait_ms;
    now_ms += wait_ms;
    assert_int_equal(look(left_ms, now_ms), GUARD_TERM);
    assert_int_equal(look(left_ms, now_ms), GUARD_NOTHING);
    left_ms -= wait_ms;
    now_ms += wait_ms;
    assert_int_equal(look(left_ms, now_ms), GUARD_KILL);
    assert_true(left_ms > 0);
}
