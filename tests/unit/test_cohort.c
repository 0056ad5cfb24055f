/*
 * test_cohort.c -- those of one client that want the same name, step by step: sitting, turns, the
 * bounds, leaving, losing.
 */
#include "cohort_fixture.h"

/* ---- one place between them ------------------------------------------------------------------ */

static void test_cohort_the_first_makes_the_store_acquire_and_others_sit_behind_him(void **state)
{
    (void)state;
    be_held_by_first_of(3);
    assert_int_equal(cohort.turn_of, 1);
    assert_int_equal(cohort.first, 2);
    assert_int_equal(cohort.last, 3);
}

static void test_cohort_one_alone_hears_what_the_store_says_of_his_release(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_RELEASED, BWL_LOST, BWL_UNKNOWN, BWL_NOT_NOW };

    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        (void)new_cohort(state);
        be_held_by_first_of(1);
        uint32_t tag = leaves(1);
        does(BWL_DEED_RELEASE, 0);
        idle();
        assert_false(bwl_cohort_is_over(&cohort));
        store_tells(kinds[i]);
        tells(1, tag, kinds[i]);
        idle();
        assert_true(bwl_cohort_is_over(&cohort));
    }
}

static void test_cohort_who_leaves_the_line_is_gone_and_the_order_stays(void **state)
{
    (void)state;
    be_held_by_first_of(4);
    uint32_t tag = leaves(3);
    tells(3, tag, BWL_RELEASED);
    idle();
    passes(1, 2, FENCE + 1);
    passes(2, 4, FENCE + 2);
    assert_int_equal(cohort.first, 0);
    assert_int_equal(cohort.last, 0);
}

static void test_cohort_the_first_leaves_and_the_entry_stays_for_the_others(void **state)
{
    (void)state;
    comes(1);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
    comes(2);
    uint32_t tag = leaves(1);
    tells(1, tag, BWL_RELEASED);
    idle();
    store_gives(now + LEASE_MS, FENCE);
    tells_held(2, NO_TAG, now + LEASE_MS, FENCE);
}

static void test_cohort_the_last_to_leave_cancels(void **state)
{
    (void)state;
    comes(1);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
    comes(2);
    (void)leaves(1);
    tells(1, tags, BWL_RELEASED);
    (void)leaves(2);
    tells(2, tags, BWL_RELEASED);
    does(BWL_DEED_CANCEL, 0);
    idle();
    assert_true(bwl_cohort_is_over(&cohort));
    store_gives(now + LEASE_MS, FENCE); /* comes late, and is for nobody */
    idle();
}

static void test_cohort_what_ends_the_attempt_ends_all_who_wait(void **state)
{
    static const bwl_outcome_kind kinds[] = { BWL_STORE_REFUSED, BWL_FULL, BWL_UNREACHABLE };

    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        (void)new_cohort(state);
        comes(1);
        does(BWL_DEED_ACQUIRE, LEASE_MS);
        comes(2);
        store_tells(kinds[i]);
        tells(1, NO_TAG, kinds[i]);
        tells(2, NO_TAG, kinds[i]);
        idle();
        assert_true(bwl_cohort_is_over(&cohort));
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void test_cohort_the_former_is_told_before_the_next(void **state)
{
    (void)state;
    be_held_by_first_of(2);
    uint32_t tag = leaves(1);
    tells(1, tag, BWL_RELEASED);
    assert_int_equal(cohort.turn_of, 0);
    tells_held(2, NO_TAG, now + LEASE_MS, FENCE + 1);
}

static void test_cohort_a_question_that_is_open_is_answered_by_the_turn(void **state)
{
    (void)state;
    be_held_by_first_of(1);
    uint32_t tag = sits(2);
    tells(2, tag, BWL_QUEUED);
    bwl_seat_number n = 3;
    tag               = sits(n);
    (void)leaves(1);
    tells(n, tag, BWL_QUEUED);
    tells(1, tags, BWL_RELEASED);
    tells_held(2, NO_TAG, now + LEASE_MS, FENCE + 1);
}

static void test_cohort_after_so_many_turns_it_is_yielded(void **state)
{
    (void)state;
    be_held_by_first_of(4);
    passes(1, 2, FENCE + 1);
    passes(2, 3, FENCE + 2);
    (void)leaves(3);
    tells(3, tags, BWL_RELEASED);
    does(BWL_DEED_YIELD, 0);
    idle();
    comes(1);
    store_gives(now + LEASE_MS, FENCE + 5 * 1024);
    tells_held(4, NO_TAG, now + LEASE_MS, FENCE + 5 * 1024);
    passes(4, 1, FENCE + 5 * 1024 + 1);
}

static void test_cohort_after_so_much_time_it_is_yielded_between_turns(void **state)
{
    (void)state;
    be_held_by_first_of(3);
    now += TURNS_MS - 1;
    passes(1, 2, FENCE + 1);
    now += 1;
    idle(); /* no turn is ended by it */
    (void)leaves(2);
    tells(2, tags, BWL_RELEASED);
    does(BWL_DEED_YIELD, 0);
}

static void test_cohort_what_is_lost_while_it_is_yielded_is_sought_again(void **state)
{
    (void)state;
    be_held_by_first_of(2);
    now += TURNS_MS;
    (void)leaves(1);
    tells(1, tags, BWL_RELEASED);
    does(BWL_DEED_YIELD, 0);
    store_tells(BWL_LOST);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void test_cohort_less_than_half_of_the_lease_is_extended_before_the_turn(void **state)
{
    (void)state;
    cohort.turns_ms = BWL_NEVER;
    be_held_by_first_of(2);
    now += LEASE_MS / 2 + 1;
    (void)leaves(1);
    tells(1, tags, BWL_RELEASED);
    does(BWL_DEED_EXTEND, LEASE_MS);
    idle();
    assert_int_equal(cohort.turn_of, 0);
    store_gives(now + LEASE_MS, FENCE);
    tells_held(2, NO_TAG, now + LEASE_MS, FENCE + 1);
}

static void test_cohort_half_of_the_lease_is_enough(void **state)
{
    (void)state;
    cohort.turns_ms = BWL_NEVER;
    be_held_by_first_of(2);
    now += LEASE_MS / 2;
    passes(1, 2, FENCE + 1);
}

static void test_cohort_another_lease_is_asked_for_before_the_turn(void **state)
{
    (void)state;
    be_held_by_first_of(1);
    bwl_cohort_sit(&cohort, seats, 2, ++tags, 2 * LEASE_MS);
    tells(2, tags, BWL_QUEUED);
    (void)leaves(1);
    tells(1, tags, BWL_RELEASED);
    does(BWL_DEED_EXTEND, 2 * LEASE_MS);
    store_gives(now + 10, FENCE); /* little as it is: just extended, and not over */
    tells_held(2, NO_TAG, now + 10, FENCE + 1);
}

static void test_cohort_an_extension_in_vain_gives_it_back_and_seeks_anew(void **state)
{
    (void)state;
    cohort.turns_ms = BWL_NEVER;
    be_held_by_first_of(2);
    now += LEASE_MS - 10;
    (void)leaves(1);
    tells(1, tags, BWL_RELEASED);
    does(BWL_DEED_EXTEND, LEASE_MS);
    store_tells(BWL_UNKNOWN);
    does(BWL_DEED_RELEASE, 0);
    idle();
    store_tells(BWL_UNKNOWN);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
}

static void test_cohort_a_time_that_is_over_is_no_turn(void **state)
{
    (void)state;
    be_held_by_first_of(2);
    now += LEASE_MS; /* the store's hold has not said so yet */
    (void)leaves(1);
    tells(1, tags, BWL_RELEASED);
    does(BWL_DEED_EXTEND, LEASE_MS);
    store_tells(BWL_LOST);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
}

static void
test_cohort_who_has_his_turn_hears_that_it_is_longer_and_that_it_goes_wrong(void **state)
{
    (void)state;
    be_held_by_first_of(2);
    bwl_cohort_seen(&cohort, now + 2 * LEASE_MS, BWL_PENDING);
    tells_held(1, NO_TAG, now + 2 * LEASE_MS, FENCE);
    bwl_cohort_seen(&cohort, now + LEASE_MS, BWL_UNREACHABLE); /* never shorter */
    tells(1, NO_TAG, BWL_UNREACHABLE);
    idle();
    assert_int_equal(cohort.until, now + 2 * LEASE_MS);
    bwl_cohort_seen(&cohort, now + 3 * LEASE_MS, BWL_PENDING);
    tells_held(1, NO_TAG, now + 3 * LEASE_MS, FENCE);
    bwl_cohort_seen(&cohort, now + 3 * LEASE_MS, BWL_UNREACHABLE);
    tells(1, NO_TAG, BWL_UNREACHABLE); /* once more */
}

/* ---- extending ------------------------------------------------------------------------------- */

static void test_cohort_an_extension_is_the_stores(void **state)
{
    (void)state;
    be_held_by_first_of(2);
    uint32_t tag = extends_to(1, 5000);
    does(BWL_DEED_EXTEND, 5000);
    bwl_cohort_seen(&cohort, now + 2 * LEASE_MS, BWL_PENDING);
    idle(); /* his answer will say it */
    store_gives(now + 2 * LEASE_MS, FENCE);
    tells_held(1, tag, now + 2 * LEASE_MS, FENCE);
    idle();
    tag = extends_to(1, 5000);
    does(BWL_DEED_EXTEND, 5000);
    store_tells(BWL_NOT_NOW);
    tells(1, tag, BWL_NOT_NOW);
    idle();
}

/* A second turn has a fence of its own, and hears what the first one has heard. */
static void test_cohort_each_turn_has_its_fence_and_its_news(void **state)
{
    (void)state;
    be_held_by_first_of(2);
    bwl_cohort_seen(&cohort, now + LEASE_MS, BWL_UNREACHABLE);
    tells(1, NO_TAG, BWL_UNREACHABLE);
    uint32_t tag = leaves(1);
    tells(1, tag, BWL_RELEASED);
    tells_held(2, NO_TAG, now + LEASE_MS, FENCE + 1);
    tells(2, NO_TAG, BWL_UNREACHABLE);
    idle();
    tag = extends_to(2, LEASE_MS);
    does(BWL_DEED_EXTEND, LEASE_MS);
    store_gives(now + 2 * LEASE_MS, FENCE);
    tells_held(2, tag, now + 2 * LEASE_MS, FENCE + 1);
    bwl_cohort_seen(&cohort, now + 3 * LEASE_MS, BWL_PENDING);
    tells_held(2, NO_TAG, now + 3 * LEASE_MS, FENCE + 1);
}

/* What is lost is not extended when the next one has it. */
static void test_cohort_an_extension_ends_with_the_hold(void **state)
{
    uint32_t tag;

    (void)state;
    be_held_by_first_of(2);
    tag = extends_to(1, LEASE_MS);
    store_tells(BWL_LOST);
    tells(1, tag, BWL_LOST);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
    idle();
    store_gives(now + LEASE_MS, FENCE + 1024);
    tells_held(2, NO_TAG, now + LEASE_MS, FENCE + 1024);
    idle();
}

/* The time of its turns begins with the first of them, however late that comes. */
static void test_cohort_has_one_turn_however_late_it_begins(void **state)
{
    (void)state;
    comes(1);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
    store_gives(now + LEASE_MS, FENCE);
    now += TURNS_MS + 1;
    tells_held(1, NO_TAG, NOW + LEASE_MS, FENCE);
    idle();
}

static void test_cohort_who_extends_may_leave_before_the_answer(void **state)
{
    (void)state;
    be_held_by_first_of(2);
    (void)extends_to(1, LEASE_MS);
    does(BWL_DEED_EXTEND, LEASE_MS);
    (void)leaves(1);
    tells(1, tags, BWL_RELEASED);
    idle();
    store_tells(BWL_UNREACHABLE);
    tells_held(2, NO_TAG, now + LEASE_MS, FENCE + 1);
    idle();
    (void)extends_to(2, LEASE_MS);
    does(BWL_DEED_EXTEND, LEASE_MS);
    uint32_t tag = leaves(2);
    does(BWL_DEED_RELEASE, 0); /* nobody sits: it is not waited for */
    store_tells(BWL_RELEASED);
    tells(2, tag, BWL_RELEASED);
}

/* ---- losing ---------------------------------------------------------------------------------- */

static void test_cohort_a_loss_is_told_to_whose_turn_it_is_and_it_is_sought_anew(void **state)
{
    (void)state;
    be_held_by_first_of(2);
    store_tells(BWL_LOST);
    tells(1, NO_TAG, BWL_LOST);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
    idle();
    uint32_t tag = leaves(1); /* he has been told */
    tells(1, tag, BWL_LOST);
    tag = extends_to(1, LEASE_MS);
    tells(1, tag, BWL_LOST);
}

static void test_cohort_a_loss_answers_an_extension_once(void **state)
{
    (void)state;
    be_held_by_first_of(1);
    uint32_t tag = extends_to(1, LEASE_MS);
    does(BWL_DEED_EXTEND, LEASE_MS);
    store_tells(BWL_LOST);
    tells(1, tag, BWL_LOST);
    idle();
    assert_true(bwl_cohort_is_over(&cohort));
}

static void test_cohort_who_comes_while_it_is_released_waits_for_that(void **state)
{
    (void)state;
    be_held_by_first_of(1);
    uint32_t tag = leaves(1);
    does(BWL_DEED_RELEASE, 0);
    comes(2);
    idle();
    store_tells(BWL_RELEASED);
    tells(1, tag, BWL_RELEASED);
    does(BWL_DEED_ACQUIRE, LEASE_MS);
}

static void test_cohort_a_deed_is_an_event_for_the_seat(void **state)
{
    bwl_deed  held = { .kind    = BWL_DEED_TELL,
                       .seat    = 1,
                       .tag     = 9,
                       .outcome = { .kind = BWL_HELD, .until = 77, .fence = 5 } };
    bwl_deed  lost = { .kind = BWL_DEED_TELL, .seat = 1, .outcome = { .kind = BWL_LOST } };
    bwl_event ev   = bwl_deed_event(&held);

    (void)state;
    assert_int_equal(ev.kind, BWL_REPLY);
    assert_int_equal(ev.tag, 9);
    assert_int_equal(ev.answer, BWL_YES);
    assert_int_equal(ev.number, 5);
    assert_int_equal(ev.until, 77);
    ev = bwl_deed_event(&lost);
    assert_int_equal(ev.kind, BWL_PUSH);
    assert_int_equal(ev.answer, BWL_NO);
    assert_int_equal(ev.number, BWL_LOST);
}

#define TEST(name) cmocka_unit_test_setup(test_cohort_##name, new_cohort)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_makes_the_store_acquire_and_others_sit_behind_him),
        TEST(one_alone_hears_what_the_store_says_of_his_release),
        TEST(who_leaves_the_line_is_gone_and_the_order_stays),
        TEST(the_first_leaves_and_the_entry_stays_for_the_others),
        TEST(the_last_to_leave_cancels),
        TEST(what_ends_the_attempt_ends_all_who_wait),
        TEST(the_former_is_told_before_the_next),
        TEST(a_question_that_is_open_is_answered_by_the_turn),
        TEST(after_so_many_turns_it_is_yielded),
        TEST(after_so_much_time_it_is_yielded_between_turns),
        TEST(what_is_lost_while_it_is_yielded_is_sought_again),
        TEST(less_than_half_of_the_lease_is_extended_before_the_turn),
        TEST(half_of_the_lease_is_enough),
        TEST(another_lease_is_asked_for_before_the_turn),
        TEST(an_extension_in_vain_gives_it_back_and_seeks_anew),
        TEST(a_time_that_is_over_is_no_turn),
        TEST(who_has_his_turn_hears_that_it_is_longer_and_that_it_goes_wrong),
        TEST(an_extension_is_the_stores),
        TEST(each_turn_has_its_fence_and_its_news),
        TEST(an_extension_ends_with_the_hold),
        TEST(has_one_turn_however_late_it_begins),
        TEST(who_extends_may_leave_before_the_answer),
        TEST(a_loss_is_told_to_whose_turn_it_is_and_it_is_sought_anew),
        TEST(a_loss_answers_an_extension_once),
        TEST(who_comes_while_it_is_released_waits_for_that),
        TEST(a_deed_is_an_event_for_the_seat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
