/*
 * test_timers.c -- which timer is next.
 *
 * The heap is compared with a plain array that is searched from end to end: after each of ten
 * thousand random operations, the same on every run, both must agree on the next timer and on the
 * timers that are set.
 */
#include "runtime/loop.h"
#include "tests/lib/chance.h"
#include "tests/lib/suite.h"

enum { OPERATIONS = 10000, THINGS = 100 };

static bwl_timers timers;

static int no_timers(void **state)
{
    timers = (bwl_timers){ 0 };
    return 0;
}

static int free_timers(void **state)
{
    bwl_timers_free(&timers);
    return 0;
}

FIXTURE(no_timers, free_timers)

TEST(timers_freed_are_empty_and_can_be_freed_again)
{
    assert_true(bwl_timers_reserve(&timers, 3));
    bwl_timers_free(&timers);
    assert_int_equal(timers.capacity, 0);
    assert_true(bwl_timers_next(&timers) == BWL_NEVER);
}

static bwl_timer things[THINGS];
static bwl_ms    due_at[THINGS]; /* the plain array: the time of each timer */

static bwl_ms soonest(void)
{
    bwl_ms at = BWL_NEVER;

    for (unsigned i = 0; i < THINGS; i++)
        at = bwl_ms_min(at, due_at[i]);
    return at;
}

static void set_one(void)
{
    unsigned i  = chance(THINGS);
    bwl_ms   at = chance(4) == 0 ? BWL_NEVER : (bwl_ms)(1 + chance(1000));

    bwl_timers_set(&timers, &things[i], at);
    due_at[i] = at;
}

static void take_one(void)
{
    bwl_ms     now   = (bwl_ms)chance(400);
    bwl_timer *taken = bwl_timers_take_due(&timers, now);

    if (taken == NULL) {
        assert_true(soonest() > now);
        return;
    }
    size_t i = (size_t)(taken - things);
    assert_true(due_at[i] <= now);
    assert_true(due_at[i] == soonest());
    due_at[i] = BWL_NEVER;
}

/* Both agree, and no parent is later than its children. */
static void compare(void)
{
    size_t in = 0;

    assert_true(bwl_timers_next(&timers) == soonest());
    for (unsigned i = 0; i < THINGS; i++) {
        in += due_at[i] != BWL_NEVER;
        assert_true(things[i].at == due_at[i]);
        assert_int_equal(things[i].index != 0, due_at[i] != BWL_NEVER);
        if (things[i].index != 0)
            assert_ptr_equal(timers.heap[things[i].index], &things[i]);
    }
    assert_int_equal(timers.count, in);
    for (size_t place = 2; place <= timers.count; place++)
        assert_true(timers.heap[place / 2]->at <= timers.heap[place]->at);
}

TEST(timers_agree_with_an_array_after_random_operations)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < THINGS; i++) {
        things[i] = (bwl_timer){ .at = BWL_NEVER };
        due_at[i] = (bwl_ms)(1 + chance(1000));
        assert_true(bwl_timers_reserve(&timers, i + 1)); /* keeps those that are set */
        bwl_timers_set(&timers, &things[i], due_at[i]);
    }
    for (unsigned i = 0; i < OPERATIONS; i++) {
        size_t before = timers.count;
        if (chance(3) == 0)
            take_one();
        else
            set_one();
        taken += timers.count < before;
        compare();
    }
    assert_true(taken > OPERATIONS / 10); /* else the test shows nothing */
    while (bwl_timers_take_due(&timers, 1000) != NULL)
        ;
    assert_int_equal(timers.count, 0);
}
