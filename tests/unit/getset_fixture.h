/*
 * getset_fixture.h -- setnx-getset into each of its phases, whatever the rules.
 */
#ifndef BWL_TEST_GETSET_FIXTURE_H
#define BWL_TEST_GETSET_FIXTURE_H

#include "machine_fixture.h"

enum { START = 1700000000 };
#define START_MS (INT64_C(1000) * START)

static bwl_rules rules;

static inline void go_by(const bwl_rules *r)
{
    rules = *r;
    begin_with(&bwl_setnx_getset, &rules);
}

static inline int begin(void **state)
{
    (void)state;
    go_by(&bwl_rules_seconds);
    return 0;
}

/* ---- getting there, whatever the rules ------------------------------------------------------- */

static inline int64_t stamp_now(void)
{
    return rules.unit_ns == SECOND_NS ? START + 10 : START_MS + 10001;
}

static inline void be_setting(void)
{
    begin_with(&bwl_setnx_getset, &rules);
    acquire();
    expect_ask(REDIS_SETNX, stamp_now());
}

static inline void be_reading(void)
{
    be_setting();
    says(BWL_NO);
    expect_ask(REDIS_READ, stamp_now());
}

/* An expired stamp was shown; the key has no expiry. */
static inline void expect_swap(int64_t stamp)
{
    expect_ask(REDIS_FIND_NO_EXPIRY, 0);
    says(BWL_YES);
    expect_ask(REDIS_SWAP, stamp);
}

static inline void be_checking(void)
{
    be_reading();
    shows(5, false);
    expect_ask(REDIS_FIND_NO_EXPIRY, 0);
}

static inline void be_swapping(void)
{
    be_reading();
    shows(5, false);
    expect_swap(stamp_now());
}

static inline void be_holding(void)
{
    be_setting();
    says(BWL_YES);
}

static inline void be_deleting(void)
{
    be_holding();
    release();
    expect_ask(REDIS_DELETE, 0);
}

static inline void be_looking(void)
{
    be_holding();
    release();
    expect_ask(REDIS_READ, stamp_now());
}

static inline void be_deleting_ahead(void)
{
    be_looking();
    shows(stamp_now(), true);
    expect_ask(REDIS_DELETE, 0);
}

#endif
