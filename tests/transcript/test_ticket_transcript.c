/*
 * test_ticket_transcript.c -- locks whose store keeps the queue itself: timed stories.
 *
 * transcript.h says how they are read.  There is no lease.  The number in a yes is the fence;
 * in a no, 1 means that nobody will push, 2 that the store will give us the lock.
 */
#include "transcript.h"

static const bwl_terms ending_after_45_s = {
    .lease_ms = 30000, .max_hold_ms = 45000, .answer_ms = 5000, .renews = true
};

/* No lease, no renewal: nothing but we ends it. */
static void test_ticket_transcript_free(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, once\n"
         "[    0] asks JOIN_OR_LEAVE\n"
         "[    0] server says yes 7\n"
         "[    0] HELD until released, fence 7\n"
         "[  500] caller looks\n"
         "[  500] no end\n"
         "[  600] caller extends to 60000\n"
         "[  600] HELD until released, fence 7\n"
         "[90000] caller releases\n"
         "[90000] asks LEAVE\n"
         "[90000] server says yes\n"
         "[90000] RELEASED\n"
         "[90000] over\n");
}

static void test_ticket_transcript_once_is_busy(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, once\n"
         "[    0] asks JOIN_OR_LEAVE\n"
         "[    0] server says no\n"
         "[    0] BUSY\n"
         "[    0] over\n");
}

/* Told that it is ours: there is nothing to ask any more. */
static void test_ticket_transcript_queued_then_given(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for 60000\n"
         "[    0] asks JOIN\n"
         "[    0] server says no\n"
         "[    1] asks TRY\n"
         "[    1] server says no\n"
         "[    3] asks TRY\n"
         "[    3] server says no\n"
         "[    7] asks TRY\n"
         "[    7] server says no\n"
         "[   12] server pushes yes 8\n"
         "[   12] HELD until released, fence 8\n"
         "[99999] caller looks\n"
         "[99999] no end\n");
}

/* The push came a moment before its time: the tries after it are close together again. */
static void test_ticket_transcript_queued_then_worth_a_try(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for 60000\n"
         "[    0] asks JOIN\n"
         "[    0] server says no\n"
         "[    1] asks TRY\n"
         "[    1] server says no\n"
         "[    3] asks TRY\n"
         "[    3] server says no\n"
         "[    7] asks TRY\n"
         "[    7] server says no\n"
         "[   15] asks TRY\n"
         "[   15] server says no\n"
         "[   20] server pushes no\n"
         "[   20] asks TRY\n"
         "[   20] server says no\n"
         "[   21] asks TRY\n"
         "[   21] server says no\n"
         "[   23] asks TRY\n"
         "[   23] server says yes 9\n"
         "[   23] HELD until released, fence 9\n");
}

static void test_ticket_transcript_the_latch_is_taken(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, once\n"
         "[    0] asks JOIN_OR_LEAVE\n"
         "[    0] server says later\n"
         "[    1] asks JOIN_OR_LEAVE\n"
         "[    1] server says later\n"
         "[    3] asks JOIN_OR_LEAVE\n"
         "[    3] server says later\n"
         "[    7] asks JOIN_OR_LEAVE\n"
         "[    7] server says later\n"
         "[   15] asks JOIN_OR_LEAVE\n"
         "[   15] server says yes 7\n"
         "[   15] HELD until released, fence 7\n");
}

/* Its holder was stopped just then.  Who does not wait gives up after an eighth of a second. */
static void test_ticket_transcript_the_latch_stays_taken(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, once\n"
         "[    0] asks JOIN_OR_LEAVE\n"
         "[    0] server says later\n"
         "[    1] asks JOIN_OR_LEAVE\n"
         "[    1] server says later\n"
         "[    3] asks JOIN_OR_LEAVE\n"
         "[    3] server says later\n"
         "[    7] asks JOIN_OR_LEAVE\n"
         "[    7] server says later\n"
         "[   15] asks JOIN_OR_LEAVE\n"
         "[   15] server says later\n"
         "[   31] asks JOIN_OR_LEAVE\n"
         "[   31] server says later\n"
         "[   47] asks JOIN_OR_LEAVE\n"
         "[   47] server says later\n"
         "[   63] asks JOIN_OR_LEAVE\n"
         "[   63] server says later\n"
         "[   79] asks JOIN_OR_LEAVE\n"
         "[   79] server says later\n"
         "[   95] asks JOIN_OR_LEAVE\n"
         "[   95] server says later\n"
         "[  111] asks JOIN_OR_LEAVE\n"
         "[  111] server says later\n"
         "[  127] asks JOIN_OR_LEAVE\n"
         "[  127] server says later\n"
         "[  127] NOT_NOW\n"
         "[  127] over\n");
}

static void test_ticket_transcript_waiting_for_the_latch_times_out(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for 20\n"
         "[    0] asks JOIN\n"
         "[    0] server says later\n"
         "[    1] asks JOIN\n"
         "[    1] server says later\n"
         "[    3] asks JOIN\n"
         "[    3] server says later\n"
         "[    7] asks JOIN\n"
         "[    7] server says later\n"
         "[   15] asks JOIN\n"
         "[   15] server says later\n"
         "[   20] asks LEAVE\n"
         "[   20] TIMED_OUT\n"
         "[   20] server says yes\n"
         "[   20] over\n");
}

/* Our place in the queue went with it: we stand at the end of the new one. */
static void test_ticket_transcript_the_file_is_replaced(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for 60000\n"
         "[    0] asks JOIN\n"
         "[    0] server says no\n"
         "[    1] asks TRY\n"
         "[    1] server says no\n"
         "[    3] asks TRY\n"
         "[    3] server says no\n"
         "[    7] asks TRY\n"
         "[    7] server says later\n"
         "[    7] asks JOIN\n"
         "[    7] server says later\n"
         "[    8] asks JOIN\n"
         "[    8] server says no\n"
         "[    9] asks TRY\n"
         "[    9] server says yes 3\n"
         "[    9] HELD until released, fence 3\n");
}

/* Where the store gives it to the next in line, the waiter asks nothing, however long it takes. */
static void test_ticket_transcript_queued_where_the_store_grants(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for 60000\n"
         "[    0] asks JOIN\n"
         "[    0] server says no 2\n"
         "[59999] server pushes yes 8\n"
         "[59999] HELD until released, fence 8\n");
}

static void test_ticket_transcript_times_out_where_the_store_grants(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for 60000\n"
         "[    0] asks JOIN\n"
         "[    0] server says no 2\n"
         "[60000] asks LEAVE\n"
         "[60000] TIMED_OUT\n"
         "[60000] server says yes\n"
         "[60000] over\n");
}

/* The pause between two looks grows to 128 ms and stays there. */
static void test_ticket_transcript_where_nobody_pushes_it_polls(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for 1000\n"
         "[    0] asks JOIN\n"
         "[    0] server says no 1\n"
         "[    1] asks TRY\n"
         "[    1] server says no 1\n"
         "[    3] asks TRY\n"
         "[    3] server says no 1\n"
         "[    7] asks TRY\n"
         "[    7] server says no 1\n"
         "[   15] asks TRY\n"
         "[   15] server says no 1\n"
         "[   31] asks TRY\n"
         "[   31] server says no 1\n"
         "[   63] asks TRY\n"
         "[   63] server says no 1\n"
         "[  127] asks TRY\n"
         "[  127] server says no 1\n"
         "[  255] asks TRY\n"
         "[  255] server says no 1\n"
         "[  383] asks TRY\n"
         "[  383] server says no 1\n"
         "[  511] asks TRY\n"
         "[  511] server says no 1\n"
         "[  639] asks TRY\n"
         "[  639] server says no 1\n"
         "[  767] asks TRY\n"
         "[  767] server says no 1\n"
         "[  895] asks TRY\n"
         "[  895] server says no 1\n"
         "[ 1000] asks LEAVE\n"
         "[ 1000] TIMED_OUT\n"
         "[ 1000] server says yes\n"
         "[ 1000] over\n");
}

/* The answer to the last look crosses the leaving, and so does a push: both come to nothing. */
static void test_ticket_transcript_gives_up_in_the_queue(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for 10\n"
         "[    0] asks JOIN\n"
         "[    0] server says no\n"
         "[    1] asks TRY\n"
         "[    1] server says no\n"
         "[    3] asks TRY\n"
         "[    3] server says no\n"
         "[    7] asks TRY\n"
         "[   10] asks LEAVE\n"
         "[   10] TIMED_OUT\n"
         "[   11] server says yes 8\n"
         "[   12] server pushes yes 8\n"
         "[   13] server says yes\n"
         "[   13] over\n");
}

static void test_ticket_transcript_cancel_in_the_queue(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for ever\n"
         "[    0] asks JOIN\n"
         "[    0] server says no\n"
         "[    1] asks TRY\n"
         "[    1] server says no\n"
         "[    2] caller cancels\n"
         "[    2] asks LEAVE\n"
         "[    2] CANCELLED\n"
         "[    2] server says yes\n"
         "[    2] over\n");
}

static void test_ticket_transcript_cancel_while_joining(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for ever\n"
         "[    0] asks JOIN\n"
         "[    1] caller cancels\n"
         "[    1] asks LEAVE\n"
         "[    1] CANCELLED\n"
         "[    2] server says yes 8\n"
         "[    2] server says yes\n"
         "[    2] over\n");
}

/* And nobody joins any more when the pause is over. */
static void test_ticket_transcript_cancel_while_the_latch_is_taken(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for ever\n"
         "[    0] asks JOIN\n"
         "[    0] server says later\n"
         "[    0] caller cancels\n"
         "[    0] asks LEAVE\n"
         "[    0] CANCELLED\n"
         "[    0] server says yes\n"
         "[    0] over\n"
         "[   50] caller looks\n"
         "[   50] 0 left\n");
}

static void test_ticket_transcript_refused(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for ever\n"
         "[    0] asks JOIN\n"
         "[    0] server says refused\n"
         "[    0] STORE_REFUSED\n"
         "[    0] over\n");
}

/* Our place may be there still: who stands behind it must not wait for us. */
static void test_ticket_transcript_refused_in_the_queue(void **state)
{
    (void)state;
    play(&bwl_ticket, usual_terms,
         "[    0] caller acquires, for ever\n"
         "[    0] asks JOIN\n"
         "[    0] server says no\n"
         "[    1] asks TRY\n"
         "[    1] server says refused\n"
         "[    1] asks LEAVE\n"
         "[    1] STORE_REFUSED\n"
         "[    1] server says yes\n"
         "[    1] over\n");
}

static void test_ticket_transcript_max_hold_ends_it(void **state)
{
    (void)state;
    play(&bwl_ticket, ending_after_45_s,
         "[    0] caller acquires, once\n"
         "[    0] asks JOIN_OR_LEAVE\n"
         "[    0] server says yes 7\n"
         "[    0] HELD until 45000, fence 7\n"
         "[45000] asks LEAVE\n"
         "[45000] LOST\n"
         "[45000] server says yes\n"
         "[45000] over\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticket_transcript_free),
        cmocka_unit_test(test_ticket_transcript_once_is_busy),
        cmocka_unit_test(test_ticket_transcript_queued_then_given),
        cmocka_unit_test(test_ticket_transcript_queued_then_worth_a_try),
        cmocka_unit_test(test_ticket_transcript_the_latch_is_taken),
        cmocka_unit_test(test_ticket_transcript_the_latch_stays_taken),
        cmocka_unit_test(test_ticket_transcript_waiting_for_the_latch_times_out),
        cmocka_unit_test(test_ticket_transcript_the_file_is_replaced),
        cmocka_unit_test(test_ticket_transcript_queued_where_the_store_grants),
        cmocka_unit_test(test_ticket_transcript_times_out_where_the_store_grants),
        cmocka_unit_test(test_ticket_transcript_where_nobody_pushes_it_polls),
        cmocka_unit_test(test_ticket_transcript_gives_up_in_the_queue),
        cmocka_unit_test(test_ticket_transcript_cancel_in_the_queue),
        cmocka_unit_test(test_ticket_transcript_cancel_while_joining),
        cmocka_unit_test(test_ticket_transcript_cancel_while_the_latch_is_taken),
        cmocka_unit_test(test_ticket_transcript_refused),
        cmocka_unit_test(test_ticket_transcript_refused_in_the_queue),
        cmocka_unit_test(test_ticket_transcript_max_hold_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
