/*
 * test_stats.c -- what is counted for a lock, and in what order.
 */
#include "tests/lib/suite.h"

#include "runtime/stats.h"

/* One lock at a time: the acquire began at 0 and ended at 10, and the hold ended at 35. */
TEST(hold_is_counted_once_by_its_end)
{
    static const struct {
        bwl_outcome_kind acquire, end;
        uint64_t         acquired, not_acquired, released, lost, not_released;
    } rows[] = {
        { BWL_HELD, BWL_RELEASED, 1, 0, 1, 0, 0 },   { BWL_HELD, BWL_LOST, 1, 0, 0, 1, 0 },
        { BWL_HELD, BWL_UNKNOWN, 1, 0, 0, 0, 1 },    { BWL_HELD, BWL_UNREACHABLE, 1, 0, 0, 0, 1 },
        { BWL_TIMED_OUT, BWL_LOST, 0, 1, 0, 0, 0 },  { BWL_BUSY, BWL_LOST, 0, 1, 0, 0, 0 },
        { BWL_FULL, BWL_RELEASED, 0, 1, 0, 0, 0 },   { BWL_CANCELLED, BWL_LOST, 0, 0, 0, 0, 0 },
        { BWL_UNREACHABLE, BWL_LOST, 0, 0, 0, 0, 0 }
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bwl_stats      s    = { 0 };
        bwl_lock_stats lock = { .since = 0 };
        bwl_stats_acquire_ended(&s, &lock, rows[i].acquire, 10);
        bwl_stats_hold_ended(&s, &lock, rows[i].end, 35);
        bwl_stats_hold_ended(&s, &lock, BWL_LOST, 90); /* the release of a lost hold */
        assert_int_equal(s.acquired, rows[i].acquired);
        assert_int_equal(s.not_acquired, rows[i].not_acquired);
        assert_int_equal(s.released, rows[i].released);
        assert_int_equal(s.lost, rows[i].lost);
        assert_int_equal(s.not_released, rows[i].not_released);
        assert_int_equal(s.waited_ms, rows[i].acquired * 10);
        assert_int_equal(s.waited_max_ms, rows[i].acquired * 10);
        assert_int_equal(s.held_ms, rows[i].acquired * 25);
    }
}

TEST(renewal_is_late_when_less_than_a_third_of_the_lease_was_left)
{
    bwl_stats s   = { 0 };
    bwl_stats sum = { .renewals = 1, .waited_max_ms = 5 };

    bwl_stats_renewed(&s, true, 600, 900);
    bwl_stats_renewed(&s, true, 300, 900);
    assert_int_equal(s.renewals_late, 0);
    bwl_stats_renewed(&s, true, 299, 900);
    bwl_stats_renewed(&s, false, 1, 900);
    bwl_stats_add(&sum, &s);
    assert_int_equal(sum.renewals, 4);
    assert_int_equal(sum.renewals_late, 1);
    assert_int_equal(sum.renewals_failed, 1);
    assert_int_equal(sum.waited_max_ms, 5);
}
