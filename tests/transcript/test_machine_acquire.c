/*
 * test_machine_acquire.c -- the lock machine up to the grant: attempts, pauses, resolving, the end
 * of the wait, cancel.
 *
 * transcript.h describes the stories. The protocol is that of scripted.h.
 */
#include "transcript.h"

static const bwl_terms short_lease = TERMS(.lease_ms = 1000, .renews = true);

static const story stories[] = {
    { "every_attempt_has_a_new_token_and_pauses_double_up_to_half_a_second", &verifying,
      &usual_terms,
      "acquires, for ever; ACQUIRE as A, may wait -> BUSY; +5 ACQUIRE as B, may wait -> NOT_NOW; "
      "+10 ACQUIRE as C, may wait -> UNREACHABLE; +20 ACQUIRE as D, may wait -> BUSY; +40 ACQUIRE "
      "as E, may wait -> BUSY; +80 ACQUIRE as F, may wait -> BUSY; +160 ACQUIRE as G, may wait -> "
      "BUSY; +250 ACQUIRE as H, may wait -> BUSY; +250 ACQUIRE as I, may wait -> BUSY; +250 "
      "ACQUIRE as J, may wait" },
    { "pause_is_random_by_up_to_half", &verifying, &usual_terms,
      "acquires, for ever; ACQUIRE as A, may wait; random 5 -> BUSY; +10 random 6; ACQUIRE as B, "
      "may wait -> BUSY; +16 random 21; ACQUIRE as C, may wait -> BUSY; +20 ACQUIRE as D, may "
      "wait" },
    { "pauses_are_short_again_after_a_success", &verifying, &usual_terms,
      "acquires, for ever; ACQUIRE as A, may wait -> BUSY; +5 ACQUIRE as B, may wait -> BUSY; +10 "
      "ACQUIRE as C, may wait -> BUSY; +20 ACQUIRE as D, may wait -> HELD; HELD until 30034, fence "
      "7; +5 releases; RELEASE as D -> UNKNOWN; +5 RELEASE as D" },
    { "token_is_empty_where_the_protocol_uses_none", &bare, &usual_terms,
      "acquires, for ever; ACQUIRE as A, may wait -> BUSY; +5 ACQUIRE as A, may wait" },
    { "earlier_of_two_alarms_is_set", &verifying, &usual_terms,
      "wakes at 300, 40; acquires, for 8000; ACQUIRE as A, may wait; the alarm at 300 may be 40 "
      "late; +1 wakes at 7950, 50 -> QUEUED; the alarm at 7950 may be 50 late; +1 wakes at 7951, "
      "50; pushes no; +1 wakes at 8001, 50; pushes no; +1 wakes at 400; pushes no; +1 outcome "
      "QUEUED; +394 clock rings; +2 wakes at 500 -> QUEUED; +1 outcome HELD; +98 HELD until 30401, "
      "fence 7" },
    { "no_after_the_wait_is_followed_by_a_last_try", &verifying, &usual_terms,
      "acquires, for 7; ACQUIRE as A, may wait -> +50 BUSY; ACQUIRE as B -> +1 BUSY; TIMED_OUT; "
      "over" },
    { "unreachable_at_the_end_of_the_wait_is_not_tried_again", &verifying, &usual_terms,
      "acquires, for 500; ACQUIRE as A, may wait -> +500 UNREACHABLE; UNREACHABLE; over" },
    { "resolving_ends_with_the_lease", &verifying, &usual_terms,
      "acquires, for ever; ACQUIRE as A, may wait -> +29999 UNKNOWN; +5 RELEASE as A -> +1 LOST" },
    { "last_attempt_discarded_without_a_reply_is_UNKNOWN", &verifying, &short_lease,
      "acquires, once; ACQUIRE as A -> +1000 UNKNOWN; RELEASE as A -> +1 UNKNOWN; RELEASE as A; "
      "UNKNOWN" },
    { "grant_of_one_millisecond_is_held", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> +50 HELD until 51; HELD until 51, fence 7; "
      "EXTEND as A" },
    { "discarding_continues_until_the_wait_ends", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> HELD until 0; RELEASE as A -> +7999 UNKNOWN; "
      "+1 RELEASE as A -> UNKNOWN; RELEASE as A; NOT_NOW" },
    { "discard_that_the_store_refuses_is_the_end", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> +20 HELD until 0 because STORE_REFUSED; "
      "RELEASE as A -> +1 RELEASED; STORE_REFUSED; over" },
    { "cancel_releases_for_one_reply_time", &verifying, &usual_terms,
      "acquires, for ever; ACQUIRE as A, may wait -> BUSY; +5 ACQUIRE as B, may wait -> BUSY; +10 "
      "ACQUIRE as C, may wait -> BUSY; +20 ACQUIRE as D, may wait; cancels; RELEASE as D; "
      "CANCELLED -> UNKNOWN; +5 RELEASE as D -> +4995 UNKNOWN; over" },
    { "cancelled_release_with_an_immediate_reply_is_over", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A; +1 returns RELEASED; cancels; CANCELLED; over" },
    { "extension_with_an_immediate_LOST", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A -> HELD; HELD until 29999, fence 7; +1 returns LOST; extends "
      "to 30000; LOST; over" },
    { "retry_with_a_new_token_after_the_wait_does_not_pause", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> +1 QUEUED -> +7999 RETRY_WITH_NEW_TOKEN; "
      "ACQUIRE as B -> +4999 UNKNOWN; +1 RELEASE as B; UNKNOWN -> RELEASED; over" },
    { "retry_with_a_new_token_after_the_wait_keeps_the_reply_time", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> +7900 UNKNOWN; +5 ACQUIRE as A again -> +3095 "
      "RETRY_WITH_NEW_TOKEN; ACQUIRE as B -> +1999 UNKNOWN; +1 RELEASE as B; UNKNOWN -> RELEASED; "
      "over" },
    { "retry_with_a_new_token_without_a_wait_ends_with_the_reply_time", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A -> +4999 RETRY_WITH_NEW_TOKEN; +1 ACQUIRE as B -> "
      "RETRY_WITH_NEW_TOKEN; NOT_NOW; over" },
    { "push_ends_the_pause_of_a_protocol_with_pushes", &on_push, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> BUSY; +1 pushes no; ACQUIRE as B, may wait -> "
      "+1 BUSY; +1 link ends; +9 ACQUIRE as C, may wait" },
    { "push_does_not_end_the_pause_of_a_protocol_without_pushes", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> BUSY; +1 pushes no; +4 ACQUIRE as B, may "
      "wait" },
    { "push_in_other_states_does_nothing", &on_push, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait; pushes no -> +1 UNKNOWN; +1 pushes no; +4 "
      "ACQUIRE as A again -> +1 HELD until 7; RELEASE as A; +1 pushes no -> +1 RELEASED; +10 "
      "ACQUIRE as B, may wait -> +1 HELD; HELD until 30019, fence 7; +1 pushes no; +8979 releases; "
      "RELEASE as B; +1 pushes no -> +1 RELEASED; RELEASED; over; +1 pushes no" },
};

ROWS(stories, play_row)
