/*
 * test_change.c -- what follows from two looks at a lock, and when to look again.
 */
#include "tests/lib/suite.h"

#include "cli/command/change.h"

enum { LEASE_MS = 9000 };

/* A look that took 10 ms.  `id` 0: the lock is free. */
static sight look_at(int64_t at, uint64_t id, int64_t left_ms)
{
    return (sight){ .holder     = { .held = id != 0, .id = id, .left_ms = left_ms },
                    .asked_at   = at,
                    .seen_at    = at + 10,
                    .longest_ms = LEASE_MS };
}

TEST(end_of_a_hold_follows_from_its_lease)
{
    static const struct {
        uint64_t id;      /* of the first look */
        int64_t  left_ms; /* in the first look */
        int64_t  after_ms;
        uint64_t next_id;
        hold_end end;
    } all[] = {
        { 0, 0, 500, 0, HOLD_GOES_ON },
        { 0, 0, 500, 7, HOLD_GOES_ON },
        { 7, 8000, 500, 7, HOLD_GOES_ON },
        { 7, 8000, 500, 0, HOLD_RELEASED },
        { 7, 8000, 500, 8, HOLD_RELEASED },
        { 7, 2000, 500, 0, HOLD_RELEASED },
        { 7, 500, 489, 0, HOLD_RELEASED },
        { 7, 500, 490, 0, HOLD_LOST },
        { 7, 500, 490, 8, HOLD_LOST },
        { 7, 4500, 60000, 0, HOLD_LOST },
        { 7, 4501, 60000, 0, HOLD_ENDED },
        { 7, 4501, 60000, 7, HOLD_GOES_ON },
        { 7, INT64_MAX, 60000, 0, HOLD_RELEASED },
    };

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        sight before = look_at(1000, all[i].id, all[i].left_ms);
        sight now    = look_at(1000 + all[i].after_ms, all[i].next_id, 100);
        if (change_between(&before, &now) != all[i].end)
            fail_msg("row %zu", i);
    }
}

TEST(longest_lease_is_that_of_one_hold)
{
    sight first = look_at(0, 7, 8000), second = look_at(500, 7, 100), other = look_at(900, 8, 50);

    first.longest_ms = 8000;
    (void)change_between(&first, &second);
    assert_int_equal(second.longest_ms, 8000);
    (void)change_between(&second, &other);
    assert_int_equal(other.longest_ms, 50);
}

TEST(hold_is_recognised_by_what_both_looks_know)
{
    static const struct {
        bowline_holder was, is;
        hold_end       end;
    } all[] = {
        { { .id = 7 }, { .id = 7, .fence = 3 }, HOLD_GOES_ON },
        { { .id = 7, .fence = 3 }, { .id = 7, .fence = 4 }, HOLD_RELEASED },
        { { .fence = 3, .pid = 5 }, { .fence = 3 }, HOLD_GOES_ON },
        { { .fence = 3 }, { .fence = 4 }, HOLD_RELEASED },
        { { .pid = 5 }, { .pid = 5 }, HOLD_GOES_ON },
        { { .pid = 5 }, { .pid = 6 }, HOLD_RELEASED },
        { { .pid = 5, .host = "a" }, { .pid = 5, .host = "b" }, HOLD_RELEASED },
    };

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        sight before = { .holder = all[i].was }, now = { .holder = all[i].is };
        before.holder.held = now.holder.held = 1;
        before.holder.left_ms = now.holder.left_ms = INT64_MAX;
        if (change_between(&before, &now) != all[i].end)
            fail_msg("row %zu", i);
    }
}

TEST(end_of_a_lease_is_looked_at_more_often)
{
    static const struct {
        uint64_t id;
        int64_t  left_ms, pause_ms;
    } all[] = {
        { 0, 0, 500 }, { 7, INT64_MAX, 500 }, { 7, 9000, 500 }, { 7, 900, 300 }, { 7, 30, 20 },
    };

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        sight now = look_at(0, all[i].id, all[i].left_ms);
        assert_int_equal(change_pause_ms(&now, 500), all[i].pause_ms);
    }
}
