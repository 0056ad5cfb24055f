/*
 * test_ticket_transcript.c -- locks whose store keeps the queue itself.
 *
 * transcript.h says how a story is read.
 */
#include "transcript.h"

static const story stories[] = {
    /* No lease and no renewal. */
    { "free", &bwl_ticket, &usual_terms,
      "acquires, once; JOIN_OR_LEAVE -> yes 7; HELD until released, fence 7; +500 looks; no "
      "end; +100 extends to 60000; HELD until released, fence 7; +89400 releases; LEAVE -> yes; "
      "RELEASED; over" },
    { "once_is_busy", &bwl_ticket, &usual_terms,
      "acquires, once; JOIN_OR_LEAVE -> no; BUSY; over" },
    { "queued_then_given", &bwl_ticket, &usual_terms,
      "acquires, for 60000; JOIN -> no; +1 TRY -> no; +2 TRY -> no; +4 TRY -> no; +5 pushes yes "
      "8; HELD until released, fence 8; +99987 looks; no end" },
    /* The push comes a moment early: the next tries are close together. */
    { "queued_then_worth_a_try", &bwl_ticket, &usual_terms,
      "acquires, for 60000; JOIN -> no; +1 TRY -> no; +2 TRY -> no; +4 TRY -> no; +8 TRY -> no; "
      "+5 pushes no; TRY -> no; +1 TRY -> no; +2 TRY -> yes 9; HELD until released, fence 9" },
    { "the_latch_is_taken", &bwl_ticket, &usual_terms,
      "acquires, once; JOIN_OR_LEAVE -> later; +1 JOIN_OR_LEAVE -> later; +2 JOIN_OR_LEAVE -> "
      "later; +4 JOIN_OR_LEAVE -> later; +8 JOIN_OR_LEAVE -> yes 7; HELD until released, fence 7" },
    /* The owner of the latch was stopped. An acquire without a wait gives up after 125 ms. */
    { "the_latch_stays_taken", &bwl_ticket, &usual_terms,
      "acquires, once; JOIN_OR_LEAVE -> later; +1 JOIN_OR_LEAVE -> later; +2 JOIN_OR_LEAVE -> "
      "later; +4 JOIN_OR_LEAVE -> later; +8 JOIN_OR_LEAVE -> later; +16 JOIN_OR_LEAVE -> later; "
      "+16 JOIN_OR_LEAVE -> later; +16 JOIN_OR_LEAVE -> later; +16 JOIN_OR_LEAVE -> later; +16 "
      "JOIN_OR_LEAVE -> later; +16 JOIN_OR_LEAVE -> later; +16 JOIN_OR_LEAVE -> later; NOT_NOW; "
      "over" },
    { "waiting_for_the_latch_times_out", &bwl_ticket, &usual_terms,
      "acquires, for 20; JOIN -> later; +1 JOIN -> later; +2 JOIN -> later; +4 JOIN -> later; "
      "+8 JOIN -> later; +5 LEAVE; TIMED_OUT -> yes; over" },
    /* The place in the queue is gone with the file. */
    { "the_file_is_replaced", &bwl_ticket, &usual_terms,
      "acquires, for 60000; JOIN -> no; +1 TRY -> no; +2 TRY -> no; +4 TRY -> later; JOIN -> "
      "later; +1 JOIN -> no; +1 TRY -> yes 3; HELD until released, fence 3" },
    { "queued_where_the_store_grants", &bwl_ticket, &usual_terms,
      "acquires, for 60000; JOIN -> no 2; +59999 pushes yes 8; HELD until released, fence 8" },
    { "times_out_where_the_store_grants", &bwl_ticket, &usual_terms,
      "acquires, for 60000; JOIN -> no 2; +60000 LEAVE; TIMED_OUT -> yes; over" },
    /* The pause grows to 128 ms. */
    { "where_nobody_pushes_it_polls", &bwl_ticket, &usual_terms,
      "acquires, for 1000; JOIN -> no 1; +1 TRY -> no 1; +2 TRY -> no 1; +4 TRY -> no 1; +8 TRY "
      "-> no 1; +16 TRY -> no 1; +32 TRY -> no 1; +64 TRY -> no 1; +128 TRY -> no 1; +128 TRY "
      "-> no 1; +128 TRY -> no 1; +128 TRY -> no 1; +128 TRY -> no 1; +128 TRY -> no 1; +105 "
      "LEAVE; TIMED_OUT -> yes; over" },
    /* The reply to the last try and a push come after LEAVE: neither counts. */
    { "gives_up_in_the_queue", &bwl_ticket, &usual_terms,
      "acquires, for 10; JOIN -> no; +1 TRY -> no; +2 TRY -> no; +4 TRY; +3 LEAVE; TIMED_OUT -> "
      "+1 yes 8; +1 pushes yes 8 -> +1 yes; over" },
    { "cancel_in_the_queue", &bwl_ticket, &usual_terms,
      "acquires, for ever; JOIN -> no; +1 TRY -> no; +1 cancels; LEAVE; CANCELLED -> yes; over" },
    { "cancel_while_joining", &bwl_ticket, &usual_terms,
      "acquires, for ever; JOIN; +1 cancels; LEAVE; CANCELLED -> +1 yes 8 -> yes; over" },
    { "cancel_while_the_latch_is_taken", &bwl_ticket, &usual_terms,
      "acquires, for ever; JOIN -> later; cancels; LEAVE; CANCELLED -> yes; over; +50 looks; 0 "
      "left" },
    { "refused", &bwl_ticket, &usual_terms,
      "acquires, for ever; JOIN -> refused; STORE_REFUSED; over" },
    /* The place may still be there and must not block the next waiter. */
    { "refused_in_the_queue", &bwl_ticket, &usual_terms,
      "acquires, for ever; JOIN -> no; +1 TRY -> refused; LEAVE; STORE_REFUSED -> yes; over" },
    { "max_hold_ends_it", &bwl_ticket, &ending_after_45_s,
      "acquires, once; JOIN_OR_LEAVE -> yes 7; HELD until 45000, fence 7; +45000 LEAVE; LOST -> "
      "yes; over" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
