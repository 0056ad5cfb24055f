/*
 * test_optimistic.c -- when an optimistic update is tried again, when it is over, and that what may
 * have been written is never written again.
 */
#include "lock/optimistic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bwl_optimistic machine;
static bwl_ms         now;

static int start(void **state)
{
    (void)state;
    now = 1000;
    return 0;
}

static bwl_optimistic_next begin(uint32_t tries_max, bwl_ms until)
{
    return bwl_optimistic_begin(&machine, tries_max, until);
}

static bwl_optimistic_next answer(bwl_answer answer_)
{
    return bwl_optimistic_event(&machine,
                                &(bwl_event){ .kind = BWL_REPLY, .answer = answer_, .now = now });
}

static bwl_optimistic_next down(void)
{
    return bwl_optimistic_event(&machine, &(bwl_event){ .kind = BWL_DOWN, .now = now });
}

static bwl_optimistic_next alarm_rings(void)
{
    return bwl_optimistic_event(&machine, &(bwl_event){ .kind = BWL_ALARM, .now = now });
}

static void wants(bwl_optimistic_next next, bwl_optimistic_want want)
{
    assert_int_equal(next.want, want);
    assert_int_equal(machine.wants, want);
}

static void ends(bwl_optimistic_next next, bwl_optimistic_end end)
{
    wants(next, BWL_WANT_END);
    assert_int_equal(next.end, end);
}

static bwl_optimistic_next choose(bwl_optimistic_choice choice)
{
    return bwl_optimistic_computed(&machine, choice);
}

/* From READ to the answer to the write. */
static bwl_optimistic_next try_and_be_told(bwl_answer told)
{
    wants(answer(BWL_YES), BWL_WANT_COMPUTE);
    wants(choose(BWL_CHOICE_WRITE), BWL_WANT_WRITE);
    return answer(told);
}

/* ---- the straight way ------------------------------------------------------------------------ */

static void test_read_compute_write(void **state)
{
    (void)state;
    wants(begin(0, BWL_NEVER), BWL_WANT_READ);
    ends(try_and_be_told(BWL_YES), BWL_UPDATE_WRITTEN);
    assert_int_equal(machine.tries, 1);
    assert_int_equal(machine.conflicts, 0);
}

/* Whatever becomes of the word that ends the watch, nothing was written. */
static void test_nothing_to_be_written_is_left_first(void **state)
{
    (void)state;
    for (int broken = 0; broken < 2; broken++) {
        wants(begin(0, BWL_NEVER), BWL_WANT_READ);
        wants(answer(BWL_YES), BWL_WANT_COMPUTE);
        wants(choose(BWL_CHOICE_LEAVE), BWL_WANT_LEAVE);
        ends(broken ? down() : answer(BWL_YES), BWL_UPDATE_LEFT);

        wants(begin(0, BWL_NEVER), BWL_WANT_READ);
        wants(answer(BWL_YES), BWL_WANT_COMPUTE);
        wants(choose(BWL_CHOICE_STOP), BWL_WANT_LEAVE);
        ends(broken ? answer(BWL_REFUSED) : answer(BWL_UNSENT), BWL_UPDATE_STOPPED);

        wants(begin(0, BWL_NEVER), BWL_WANT_READ);
        wants(answer(BWL_ALIEN), BWL_WANT_LEAVE);
        ends(broken ? down() : answer(BWL_YES), BWL_UPDATE_ALIEN);
    }
}

/* ---- conflicts ------------------------------------------------------------------------------- */

static void test_first_conflict_is_tried_again_at_once_the_others_after_pauses(void **state)
{
    static const bwl_ms least_ms[] = { 5, 10, 20, 40, 50, 50 };

    (void)state;
    wants(begin(0, BWL_NEVER), BWL_WANT_READ);
    wants(try_and_be_told(BWL_NO), BWL_WANT_READ);
    for (unsigned i = 0; i < sizeof least_ms / sizeof least_ms[0]; i++) {
        bwl_optimistic_next next = try_and_be_told(BWL_NO);
        wants(next, BWL_WANT_PAUSE);
        assert_int_equal(next.at, now + least_ms[i]);
        now = next.at;
        wants(alarm_rings(), BWL_WANT_READ);
    }
    assert_int_equal(machine.conflicts, 7);
    ends(try_and_be_told(BWL_YES), BWL_UPDATE_WRITTEN);
    assert_int_equal(machine.tries, 8);
}

static void test_pauses_are_half_chance(void **state)
{
    bwl_event late = { .kind = BWL_REPLY, .answer = BWL_NO, .now = now, .fresh = { { 0, 5 } } };

    (void)state;
    wants(begin(0, BWL_NEVER), BWL_WANT_READ);
    wants(try_and_be_told(BWL_NO), BWL_WANT_READ);
    wants(answer(BWL_YES), BWL_WANT_COMPUTE);
    wants(choose(BWL_CHOICE_WRITE), BWL_WANT_WRITE);
    assert_int_equal(bwl_optimistic_event(&machine, &late).at, now + 10);
}

static void test_tries_are_counted_and_bounded(void **state)
{
    (void)state;
    for (uint32_t tries_max = 1; tries_max <= 3; tries_max++) {
        bwl_optimistic_next next = begin(tries_max, BWL_NEVER);
        for (uint32_t i = 1; i < tries_max; i++) {
            next = try_and_be_told(BWL_NO);
            if (next.want == BWL_WANT_PAUSE)
                next = alarm_rings();
            wants(next, BWL_WANT_READ);
        }
        ends(try_and_be_told(BWL_NO), BWL_UPDATE_CONFLICTS);
        assert_int_equal(machine.tries, tries_max);
        assert_int_equal(machine.conflicts, tries_max);
    }
}

/* The last pause is cut, so that the last try begins when the time is over, and none later. */
static void test_time_is_bounded(void **state)
{
    (void)state;
    wants(begin(0, now + 3), BWL_WANT_READ);
    wants(try_and_be_told(BWL_NO), BWL_WANT_READ);
    bwl_optimistic_next next = try_and_be_told(BWL_NO);
    wants(next, BWL_WANT_PAUSE);
    assert_int_equal(next.at, now + 3);
    now += 3;
    wants(alarm_rings(), BWL_WANT_READ);
    ends(try_and_be_told(BWL_NO), BWL_UPDATE_TIME_UP);
    assert_int_equal(machine.conflicts, 3);
}

/* ---- no answer ------------------------------------------------------------------------------- */

static void test_write_without_an_answer_is_the_end(void **state)
{
    (void)state;
    wants(begin(0, BWL_NEVER), BWL_WANT_READ);
    wants(answer(BWL_YES), BWL_WANT_COMPUTE);
    wants(choose(BWL_CHOICE_WRITE), BWL_WANT_WRITE);
    ends(down(), BWL_UPDATE_UNKNOWN);
}

static void test_one_broken_connection_is_forgiven_where_nothing_can_be_written(void **state)
{
    (void)state;
    wants(begin(0, BWL_NEVER), BWL_WANT_READ);
    wants(down(), BWL_WANT_READ);
    ends(down(), BWL_UPDATE_UNREACHABLE);

    wants(begin(0, BWL_NEVER), BWL_WANT_READ);
    wants(answer(BWL_UNSENT), BWL_WANT_READ);
    ends(answer(BWL_UNSENT), BWL_UPDATE_UNREACHABLE);

    wants(begin(0, BWL_NEVER), BWL_WANT_READ);
    wants(try_and_be_told(BWL_UNSENT), BWL_WANT_READ);
    ends(try_and_be_told(BWL_UNSENT), BWL_UPDATE_UNREACHABLE);
    assert_int_equal(machine.conflicts, 0);

    wants(begin(1, BWL_NEVER), BWL_WANT_READ);
    ends(down(), BWL_UPDATE_UNREACHABLE);
    wants(begin(0, now), BWL_WANT_READ);
    ends(down(), BWL_UPDATE_UNREACHABLE);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void test_refusal_is_the_end(void **state)
{
    (void)state;
    wants(begin(0, BWL_NEVER), BWL_WANT_READ);
    ends(answer(BWL_REFUSED), BWL_UPDATE_REFUSED);
    wants(begin(0, BWL_NEVER), BWL_WANT_READ);
    ends(try_and_be_told(BWL_REFUSED), BWL_UPDATE_REFUSED);
}

static void test_server_that_cannot_serve_now_is_asked_again_after_a_pause(void **state)
{
    (void)state;
    wants(begin(3, BWL_NEVER), BWL_WANT_READ);
    wants(answer(BWL_LATER), BWL_WANT_PAUSE);
    wants(alarm_rings(), BWL_WANT_READ);
    wants(try_and_be_told(BWL_LATER), BWL_WANT_PAUSE);
    wants(alarm_rings(), BWL_WANT_READ);
    ends(answer(BWL_LATER), BWL_UPDATE_NOT_NOW);
    assert_int_equal(machine.conflicts, 0);
    wants(begin(0, now), BWL_WANT_READ);
    ends(answer(BWL_LATER), BWL_UPDATE_NOT_NOW);
}

/* Whatever happens in whatever order: there is an end within the tries, nothing is written again
 * after a write that may have been, and WRITTEN follows a yes to a write and nothing else. */
static void walk(const bwl_optimistic *from, unsigned depth, unsigned *ret_ends)
{
    static const bwl_answer to_read[]  = { BWL_YES, BWL_ALIEN, BWL_LATER, BWL_REFUSED, BWL_UNSENT };
    static const bwl_answer to_write[] = { BWL_YES, BWL_NO, BWL_LATER, BWL_REFUSED, BWL_UNSENT };

    assert_true(depth < 40);
    bool writes = from->wants == BWL_WANT_WRITE;
    if (from->wants == BWL_WANT_END) {
        ++*ret_ends;
        return;
    }
    for (unsigned i = 0; i < 6; i++) {
        bwl_optimistic_next next;
        machine = *from;
        if (from->wants == BWL_WANT_COMPUTE)
            next = choose((bwl_optimistic_choice)(i % 3 + 1));
        else if (from->wants == BWL_WANT_PAUSE)
            next = alarm_rings();
        else if (i == 5)
            next = down();
        else
            next = answer(writes ? to_write[i] : from->wants == BWL_WANT_READ ? to_read[i] : 1);
        if (next.want == BWL_WANT_END && next.end == BWL_UPDATE_WRITTEN)
            assert_true(writes && i == 0);
        if (writes && i == 5)
            ends(next, BWL_UPDATE_UNKNOWN);
        bwl_optimistic after = machine;
        assert_true(after.tries <= 3);
        walk(&after, depth + 1, ret_ends);
        if (from->wants == BWL_WANT_PAUSE || (from->wants == BWL_WANT_COMPUTE && i == 2))
            break;
    }
}

static void test_every_way_has_its_end(void **state)
{
    unsigned count = 0;

    (void)state;
    (void)begin(3, BWL_NEVER);
    bwl_optimistic first = machine;
    walk(&first, 0, &count);
    assert_true(count > 500);
}

#define EACH(test) cmocka_unit_test_setup(test, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_read_compute_write),
        EACH(test_nothing_to_be_written_is_left_first),
        EACH(test_first_conflict_is_tried_again_at_once_the_others_after_pauses),
        EACH(test_pauses_are_half_chance),
        EACH(test_tries_are_counted_and_bounded),
        EACH(test_time_is_bounded),
        EACH(test_write_without_an_answer_is_the_end),
        EACH(test_one_broken_connection_is_forgiven_where_nothing_can_be_written),
        EACH(test_refusal_is_the_end),
        EACH(test_server_that_cannot_serve_now_is_asked_again_after_a_pause),
        EACH(test_every_way_has_its_end),
    };

    return cmocka_run_group_tests_name("optimistic", tests, NULL, NULL);
}
