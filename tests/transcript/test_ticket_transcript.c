/*
 * test_ticket_transcript.c -- locks whose store keeps the queue itself.
 *
 * transcript.h describes the stories.
 */
#include "transcript.h"

static const story stories[] = {
    /* No lease and no renewal. */
    { "free", &bwl_ticket, &usual_terms,
      "acquires, once; JOIN_OR_LEAVE -> yes 7; HELD until released, fence 7; +500 reads; no end; "
      "+100 extends to 60000; HELD until released, fence 7; +89400 releases; LEAVE -> yes; "
      "RELEASED; over" },
    /* The push comes a moment early: the next tries are close together. */
    { "queued_then_tried_again", &bwl_ticket, &usual_terms,
      "acquires, for 60000; JOIN -> no; +1 TRY -> no; +2 TRY -> no; +4 TRY -> no; +8 TRY -> no; +5 "
      "pushes no; TRY -> no; +1 TRY -> no; +2 TRY -> yes 9; HELD until released, fence 9" },
    { "busy_latch_is_tried_again", &bwl_ticket, &usual_terms,
      "acquires, once; JOIN_OR_LEAVE -> retry; +1 JOIN_OR_LEAVE -> retry; +2 JOIN_OR_LEAVE -> "
      "retry; +4 JOIN_OR_LEAVE -> retry; +8 JOIN_OR_LEAVE -> yes 7; HELD until released, fence 7" },
    /* The owner of the latch was stopped. An acquire without a wait ends after 125 ms. */
    { "latch_that_stays_busy_ends_an_acquire_without_a_wait", &bwl_ticket, &usual_terms,
      "acquires, once; JOIN_OR_LEAVE -> retry; +1 JOIN_OR_LEAVE -> retry; +2 JOIN_OR_LEAVE -> "
      "retry; +4 JOIN_OR_LEAVE -> retry; +8 JOIN_OR_LEAVE -> retry; +16 JOIN_OR_LEAVE -> retry; "
      "+16 JOIN_OR_LEAVE -> retry; +16 JOIN_OR_LEAVE -> retry; +16 JOIN_OR_LEAVE -> retry; +16 "
      "JOIN_OR_LEAVE -> retry; +16 JOIN_OR_LEAVE -> retry; +16 JOIN_OR_LEAVE -> retry; NOT_NOW; "
      "over" },
    { "wait_for_the_latch_times_out", &bwl_ticket, &usual_terms,
      "acquires, for 20; JOIN -> retry; +1 JOIN -> retry; +2 JOIN -> retry; +4 JOIN -> retry; +8 "
      "JOIN -> retry; +5 LEAVE; TIMED_OUT -> yes; over" },
    /* The queue entry is gone with the file. */
    { "replaced_file_ends_the_queue_entry", &bwl_ticket, &usual_terms,
      "acquires, for 60000; JOIN -> no; +1 TRY -> no; +2 TRY -> no; +4 TRY -> retry; JOIN -> "
      "retry; +1 JOIN -> no; +1 TRY -> yes 3; HELD until released, fence 3" },
    { "queued_then_granted_by_the_store", &bwl_ticket, &usual_terms,
      "acquires, for 60000; JOIN -> no 2; +59999 pushes yes 8; HELD until released, fence 8" },
    /* The pause grows to 128 ms. */
    { "waiter_without_pushes_polls", &bwl_ticket, &usual_terms,
      "acquires, for 1000; JOIN -> no 1; +1 TRY -> no 1; +2 TRY -> no 1; +4 TRY -> no 1; +8 TRY -> "
      "no 1; +16 TRY -> no 1; +32 TRY -> no 1; +64 TRY -> no 1; +128 TRY -> no 1; +128 TRY -> no "
      "1; +128 TRY -> no 1; +128 TRY -> no 1; +128 TRY -> no 1; +128 TRY -> no 1; +105 LEAVE; "
      "TIMED_OUT -> yes; over" },
    /* The reply to the last try and a push arrive after LEAVE: neither counts. */
    { "timeout_in_the_queue", &bwl_ticket, &usual_terms,
      "acquires, for 10; JOIN -> no; +1 TRY -> no; +2 TRY -> no; +4 TRY; +3 LEAVE; TIMED_OUT -> +1 "
      "yes 8; +1 pushes yes 8 -> +1 yes; over" },
    { "cancel_while_joining", &bwl_ticket, &usual_terms,
      "acquires, for ever; JOIN; +1 cancels; LEAVE; CANCELLED -> +1 yes 8 -> yes; over" },
    { "max_hold_ends_the_hold", &bwl_ticket, &ending_after_45_s,
      "acquires, once; JOIN_OR_LEAVE -> yes 7; HELD until 45000, fence 7; +45000 LEAVE; LOST -> "
      "yes; over" },
};

ROWS(stories, play_row)
