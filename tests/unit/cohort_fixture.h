/*
 * cohort_fixture.h -- one cohort with a few seats, and what it wants done, for the tests of
 * cohort.c.  `does` takes the next deed and compares it; `idle` says that there is none.
 */
#ifndef COHORT_FIXTURE_H
#define COHORT_FIXTURE_H

#include "lock/local_group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum {
    SEATS    = 5,
    LEASE_MS = 30000,
    NOW      = 1000000,
    COUNT    = 7,
    FENCE    = COUNT * 1024,
    TURNS    = 3,
    TURNS_MS = 100,
    NO_TAG   = 0,
};

static bwl_cohort cohort;
static bwl_seat   seats[SEATS];
static bwl_ms     now;
static uint32_t   tags;

static inline int new_cohort(void **state)
{
    (void)state;
    bwl_cohort_init(&cohort, TURNS, TURNS_MS);
    for (unsigned i = 0; i < SEATS; i++)
        seats[i] = (bwl_seat){ 0 };
    now  = NOW;
    tags = 0;
    return 0;
}

static inline uint32_t sits(bwl_seat_number n)
{
    bwl_cohort_sit(&cohort, seats, n, ++tags, LEASE_MS);
    return tags;
}

static inline uint32_t leaves(bwl_seat_number n)
{
    bwl_cohort_leave(&cohort, seats, n, ++tags);
    return tags;
}

static inline uint32_t extends_to(bwl_seat_number n, bwl_ms lease_ms)
{
    bwl_cohort_extend(&cohort, seats, n, ++tags, lease_ms);
    return tags;
}

static inline void store_tells(bwl_outcome_kind kind)
{
    bwl_cohort_told(&cohort, seats, &(bwl_outcome){ .kind = kind }, now);
}

static inline void store_gives(bwl_ms until, uint64_t fence)
{
    bwl_cohort_told(&cohort, seats, &(bwl_outcome){ BWL_HELD, until, fence, 0 }, now);
}

static inline bwl_deed deed(void)
{
    bwl_deed d = { 0 };

    assert_true(bwl_cohort_next(&cohort, seats, now, &d));
    return d;
}

static inline void idle(void)
{
    bwl_deed d;

    assert_false(bwl_cohort_next(&cohort, seats, now, &d));
}

static inline void does(bwl_deed_kind kind, bwl_ms lease_ms)
{
    bwl_deed d = deed();

    assert_int_equal(d.kind, kind);
    assert_int_equal(d.lease_ms, lease_ms);
}

static inline void tells(bwl_seat_number n, uint32_t tag, bwl_outcome_kind kind)
{
    bwl_deed d = deed();

    assert_int_equal(d.kind, BWL_DEED_TELL);
    assert_int_equal(d.seat, n);
    assert_int_equal(d.tag, tag);
    assert_int_equal(d.outcome.kind, kind);
}

static inline void tells_held(bwl_seat_number n, uint32_t tag, bwl_ms until, uint64_t fence)
{
    bwl_deed d = deed();

    assert_int_equal(d.kind, BWL_DEED_TELL);
    assert_int_equal(d.seat, n);
    assert_int_equal(d.tag, tag);
    assert_int_equal(d.outcome.kind, BWL_HELD);
    assert_int_equal(d.outcome.until, until);
    assert_int_equal(d.outcome.fence, fence);
}

static inline void comes(bwl_seat_number n)
{
    uint32_t tag = sits(n);

    tells(n, tag, BWL_QUEUED);
}

/* The first `count` sit; seat 1 has its turn, and the store's hold has a whole lease. */
static inline void be_held_by_first_of(unsigned count)
{
    comes(1);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
    for (bwl_seat_number n = 2; n <= count; n++)
        comes(n);
    idle();
    store_gives(now + LEASE_MS, FENCE);
    tells_held(1, NO_TAG, now + LEASE_MS, FENCE);
    idle();
}

/* Who has the turn leaves, and the next one has it. */
static inline void passes(bwl_seat_number from, bwl_seat_number to, uint64_t fence)
{
    uint32_t tag = leaves(from);

    tells(from, tag, BWL_RELEASED);
    tells_held(to, NO_TAG, NOW + LEASE_MS, fence);
    idle();
}

#endif
