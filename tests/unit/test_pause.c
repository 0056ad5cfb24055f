/*
 * test_pause.c -- pauses that double up to a bound; half of each is random.
 */
#include "lock/backoff.h"
#include "tests/lib/suite.h"

enum { LONGEST_MS = 500 };

static const bwl_random least = { .bytes = { 0, 0 } };

static bwl_ms longest(unsigned pauses)
{
    bwl_ms longest_ms = 0;

    for (unsigned chance = 0; chance < 65536; chance++) {
        bwl_random fresh = { .bytes = { (uint8_t)(chance >> 8), (uint8_t)chance } };
        bwl_ms     ms    = bwl_backoff_ms(pauses, LONGEST_MS, &fresh);
        longest_ms       = ms > longest_ms ? ms : longest_ms;
    }
    return longest_ms;
}

TEST(pause_doubles_up_to_a_bound)
{
    static const bwl_ms whole_ms[] = { 10, 20, 40, 80, 160, 320, 500, 500, 500 };

    for (unsigned i = 0; i < COUNT_OF(whole_ms); i++) {
        assert_int_equal(bwl_backoff_ms(i, LONGEST_MS, &least), whole_ms[i] / 2);
        assert_int_equal(longest(i), whole_ms[i]);
    }
    assert_int_equal(longest(UINT32_MAX), LONGEST_MS);
}

/* Every length of the random half occurs. */
TEST(half_of_a_pause_is_random)
{
    bool seen[BWL_BACKOFF_MIN_MS + 1] = { false };

    for (unsigned chance = 0; chance < 256; chance++)
        seen[bwl_backoff_ms(0, LONGEST_MS, &(bwl_random){ .bytes = { 0, (uint8_t)chance } })] =
            true;
    for (unsigned ms = 0; ms <= BWL_BACKOFF_MIN_MS; ms++)
        assert_int_equal(seen[ms], ms >= BWL_BACKOFF_MIN_MS / 2);
}
