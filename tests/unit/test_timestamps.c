/*
 * test_timestamps.c -- arithmetic with timestamps: both sides of every boundary, and numbers that
 * only a foreign lock has.
 */
#include "protocol/format/timestamps.h"
#include "tests/lib/suite.h"

#define SECOND_NS INT64_C(1000000000)
#define MS_NS     INT64_C(1000000)

static const bwl_compat_rules seconds = { .unit_ns = SECOND_NS,
                                          .expired = BWL_TIMESTAMP_BEFORE_NOW };
static const bwl_compat_rules begun   = { .unit_ns            = SECOND_NS,
                                          .expired            = BWL_TIMESTAMP_NOT_AFTER_NOW,
                                          .timestamp_is_start = true };

TEST(timestamp_is_rounded_down_after_the_sum)
{
    bwl_compat_rules extra = seconds;

    assert_int_equal(bwl_timestamp_at(&seconds, 5 * SECOND_NS, 3000), 8);
    assert_int_equal(bwl_timestamp_at(&seconds, 6 * SECOND_NS - 1, 3000), 8);
    assert_int_equal(bwl_timestamp_at(&seconds, 5 * SECOND_NS + 500 * MS_NS, 3500), 9);
    extra.extra_ns = 1500 * MS_NS;
    assert_int_equal(bwl_timestamp_at(&extra, 5 * SECOND_NS + 500 * MS_NS, 3000), 10);
    assert_int_equal(bwl_timestamp_at(&extra, 5 * SECOND_NS + 499 * MS_NS, 3000), 9);
    assert_int_equal(bwl_timestamp_at(&begun, 6 * SECOND_NS - 1, 3000), 5);
    assert_int_equal(bwl_timestamp_at(&(bwl_compat_rules){ 0 }, 5 * SECOND_NS, 3000), 0);
    assert_int_equal(bwl_timestamp_at(&seconds, INT64_MAX, 3000), INT64_MAX / SECOND_NS);
}

TEST(timestamp_expires_by_its_rule)
{
    bwl_compat_rules not_after = seconds;

    not_after.expired = BWL_TIMESTAMP_NOT_AFTER_NOW;
    assert_false(bwl_timestamp_has_expired(&seconds, 8, 9 * SECOND_NS - 1, 0));
    assert_true(bwl_timestamp_has_expired(&seconds, 8, 9 * SECOND_NS, 0));
    assert_false(bwl_timestamp_has_expired(&not_after, 8, 8 * SECOND_NS - 1, 0));
    assert_true(bwl_timestamp_has_expired(&not_after, 8, 8 * SECOND_NS, 0));
    assert_true(bwl_timestamp_has_expired(&begun, 5, 8 * SECOND_NS, 3000));
    assert_false(bwl_timestamp_has_expired(&begun, 5, 8 * SECOND_NS - 1, 3000));
}

TEST(plausible_timestamp_is_from_2001_to_2099_in_its_unit)
{
    static const int64_t units_ns[] = { 1000 * SECOND_NS, SECOND_NS, MS_NS, 1000, 1 };

    for (unsigned i = 0; i < 5; i++) {
        bwl_compat_rules rules = { .unit_ns = units_ns[i], .expired = BWL_TIMESTAMP_BEFORE_NOW };
        int64_t          first = INT64_C(978307200) * SECOND_NS / units_ns[i];
        int64_t          end   = INT64_C(4102444800) * SECOND_NS / units_ns[i];
        assert_false(bwl_timestamp_is_plausible(&rules, first - 1));
        assert_true(bwl_timestamp_is_plausible(&rules, first));
        assert_true(bwl_timestamp_is_plausible(&rules, end - 1));
        assert_false(bwl_timestamp_is_plausible(&rules, end));
        assert_false(bwl_timestamp_is_plausible(&rules, 0));
        assert_false(bwl_timestamp_is_plausible(&rules, INT64_MAX));
    }
}

/* Rules that never compare a timestamp with the time: every value is valid. */
TEST(every_timestamp_is_plausible_where_none_is_compared)
{
    assert_true(bwl_timestamp_is_plausible(&(bwl_compat_rules){ 0 }, 0));
    assert_true(bwl_timestamp_is_plausible(&(bwl_compat_rules){ .unit_ns = SECOND_NS }, 1));
}

TEST(time_left_is_rounded_down)
{
    assert_int_equal(bwl_timestamp_left_ms(&seconds, 8, 5 * SECOND_NS, 0), 3000);
    assert_int_equal(bwl_timestamp_left_ms(&seconds, 8, 5 * SECOND_NS + 1, 0), 2999);
    assert_int_equal(bwl_timestamp_left_ms(&seconds, 8, 8 * SECOND_NS, 0), 0);
    assert_true(bwl_timestamp_left_ms(&seconds, 8, 8 * SECOND_NS + 1, 0) < 0);
    assert_int_equal(bwl_timestamp_left_ms(&begun, 5, 5 * SECOND_NS + 400 * MS_NS, 3000), 2600);
}

TEST(numbers_of_foreign_locks_do_not_overflow)
{
    assert_false(bwl_timestamp_has_expired(&seconds, INT64_MAX, 9 * SECOND_NS, 3000));
    assert_false(bwl_timestamp_has_expired(&begun, INT64_MAX, 9 * SECOND_NS, 3000));
    assert_true(bwl_timestamp_is_ahead(&seconds, INT64_MAX, 9 * SECOND_NS, 3000));
    assert_true(bwl_timestamp_is_ahead(&begun, INT64_MAX, 9 * SECOND_NS, 3000));
    assert_true(bwl_timestamp_left_ms(&seconds, INT64_MAX, 9 * SECOND_NS, 3000) > 0);
    assert_true(bwl_timestamp_has_expired(&seconds, 0, 9 * SECOND_NS, 3000));
}
