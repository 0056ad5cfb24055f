/*
 * test_ticket_transcript.c -- locks whose store keeps the queue itself: timed stories.
 *
 * transcript.h says how they are read.  There is no lease.  The number in a yes is the fence;
 * in a no, 1 means that nobody will push, 2 that the store will give us the lock.
 */
#include "transcript.h"

static const story stories[] = {
    /* No lease, no renewal: nothing but we ends it. */
    { "free", &bwl_ticket, &usual_terms,
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
      "[90000] over\n" },
    { "once_is_busy", &bwl_ticket, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks JOIN_OR_LEAVE\n"
      "[    0] server says no\n"
      "[    0] BUSY\n"
      "[    0] over\n" },
    /* Told that it is ours: there is nothing to ask any more. */
    { "queued_then_given", &bwl_ticket, &usual_terms,
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
      "[99999] no end\n" },
    /* The push came a moment before its time: the tries after it are close together again. */
    { "queued_then_worth_a_try", &bwl_ticket, &usual_terms,
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
      "[   23] HELD until released, fence 9\n" },
    { "the_latch_is_taken", &bwl_ticket, &usual_terms,
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
      "[   15] HELD until released, fence 7\n" },
    /* Its holder was stopped just then.  Who does not wait gives up after an eighth of a second. */
    { "the_latch_stays_taken", &bwl_ticket, &usual_terms,
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
      "[  127] over\n" },
    { "waiting_for_the_latch_times_out", &bwl_ticket, &usual_terms,
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
      "[   20] over\n" },
    /* Our place in the queue went with it: we stand at the end of the new one. */
    { "the_file_is_replaced", &bwl_ticket, &usual_terms,
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
      "[    9] HELD until released, fence 3\n" },
    /* Where the store gives it to the next in line, the waiter asks nothing, however long it
     * takes. */
    { "queued_where_the_store_grants", &bwl_ticket, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN\n"
      "[    0] server says no 2\n"
      "[59999] server pushes yes 8\n"
      "[59999] HELD until released, fence 8\n" },
    { "times_out_where_the_store_grants", &bwl_ticket, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN\n"
      "[    0] server says no 2\n"
      "[60000] asks LEAVE\n"
      "[60000] TIMED_OUT\n"
      "[60000] server says yes\n"
      "[60000] over\n" },
    /* The pause between two looks grows to 128 ms and stays there. */
    { "where_nobody_pushes_it_polls", &bwl_ticket, &usual_terms,
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
      "[ 1000] over\n" },
    /* The answer to the last look crosses the leaving, and so does a push: both come to nothing. */
    { "gives_up_in_the_queue", &bwl_ticket, &usual_terms,
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
      "[   13] over\n" },
    { "cancel_in_the_queue", &bwl_ticket, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks JOIN\n"
      "[    0] server says no\n"
      "[    1] asks TRY\n"
      "[    1] server says no\n"
      "[    2] caller cancels\n"
      "[    2] asks LEAVE\n"
      "[    2] CANCELLED\n"
      "[    2] server says yes\n"
      "[    2] over\n" },
    { "cancel_while_joining", &bwl_ticket, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks JOIN\n"
      "[    1] caller cancels\n"
      "[    1] asks LEAVE\n"
      "[    1] CANCELLED\n"
      "[    2] server says yes 8\n"
      "[    2] server says yes\n"
      "[    2] over\n" },
    /* And nobody joins any more when the pause is over. */
    { "cancel_while_the_latch_is_taken", &bwl_ticket, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks JOIN\n"
      "[    0] server says later\n"
      "[    0] caller cancels\n"
      "[    0] asks LEAVE\n"
      "[    0] CANCELLED\n"
      "[    0] server says yes\n"
      "[    0] over\n"
      "[   50] caller looks\n"
      "[   50] 0 left\n" },
    { "refused", &bwl_ticket, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks JOIN\n"
      "[    0] server says refused\n"
      "[    0] STORE_REFUSED\n"
      "[    0] over\n" },
    /* Our place may be there still: who stands behind it must not wait for us. */
    { "refused_in_the_queue", &bwl_ticket, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks JOIN\n"
      "[    0] server says no\n"
      "[    1] asks TRY\n"
      "[    1] server says refused\n"
      "[    1] asks LEAVE\n"
      "[    1] STORE_REFUSED\n"
      "[    1] server says yes\n"
      "[    1] over\n" },
    { "max_hold_ends_it", &bwl_ticket, &ending_after_45_s,
      "[    0] caller acquires, once\n"
      "[    0] asks JOIN_OR_LEAVE\n"
      "[    0] server says yes 7\n"
      "[    0] HELD until 45000, fence 7\n"
      "[45000] asks LEAVE\n"
      "[45000] LOST\n"
      "[45000] server says yes\n"
      "[45000] over\n" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
