/*
 * test_queue_leave_transcript.c -- releasing a lock with a queue, and leaving the queue.
 *
 * transcript.h describes the stories.
 */
#include "transcript.h"
#include "protocol/queue_lock.h"

static const bwl_terms at_least_90_s = TERMS(.lease_ms = 30000, .renews = true, .rest_ms = 90000);
static const bwl_terms once_in_90_s =
    TERMS(.lease_ms = 30000, .renews = true, .rest_ms = 90000, .once = true);

static const story stories[] = {
    /* The first waiters are dead, and there are more of them than one script skips. */
    { "release_dispatches_next_while_there_are_more", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +3 held 7; HELD until 29698, fence 7; +97 "
      "releases; RELEASE as A -> +1 more; DISPATCH_NEXT as A -> +1 more; DISPATCH_NEXT as A -> +1 "
      "yes; RELEASED; over" },
    /* The release comes before the confirmation. */
    { "release_of_a_provisional_grant", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +298 grants 8 "
      "at 299; EXTEND as A; HELD until 2272, fence 8; +1 releases; RELEASE as A -> +1 yes -> +1 "
      "yes; RELEASED; over" },
    { "release_without_a_reply", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +3 held 7; HELD until 29698, fence 7; +97 "
      "releases; RELEASE as A -> +1900 cut; link ends; +5 RELEASE as A -> +1 no; UNKNOWN; over" },
    { "yield", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +3 held 7; HELD until 29698, fence 7; +97 "
      "yields, for 60000; REQUEUE as B, grant 2000 -> +2 queued 0, 2000 left, at 101; +198 grants "
      "9 at 299; EXTEND as B; HELD until 2273, fence 9 -> +2 yes; +98 releases; RELEASE as B -> +1 "
      "yes; RELEASED; over" },
    /* The previous token may still own the lock: it is released first. */
    { "yield_without_a_reply", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +3 held 7; HELD until 29698, fence 7; +97 "
      "yields, for 60000; REQUEUE as B, grant 2000 -> +1900 cut; +5 RELEASE as A -> +995 cut; +10 "
      "RELEASE as A -> +1 yes; HEARTBEAT as B -> +1 gone; +1 JOIN as C, grant 2000 -> +1 held 8; "
      "HELD until 32711, fence 8; +1 releases; RELEASE as C -> +1 yes; RELEASED; over" },
    { "yield_cancelled", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +3 held 7; HELD until 29698, fence 7; +97 "
      "yields, for 60000; REQUEUE as B, grant 2000; +1 cancels; RELEASE as A; CANCELLED -> +1 "
      "queued 0, 2000 left, at 101 -> +1 no; CANCEL as B -> +1 yes; over" },
    { "cancel_while_resolving", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +20 cut; +5 HEARTBEAT as A; +1 cancels; "
      "CANCEL as A; CANCELLED -> +1 mine 8 -> +1 more; DISPATCH_NEXT as A -> +1 yes; over" },
    /* The push was already sent: CANCEL passes the lock to the next waiter. */
    { "cancel_while_queued", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +298 cancels; "
      "CANCEL as A; CANCELLED; +1 grants 8 at 299 -> +1 yes; over" },
    /* CANCEL is repeated for one reply time. */
    { "cancel_without_a_reply", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +298 cancels; "
      "CANCEL as A; CANCELLED -> +100 cut; link ends; +5 CANCEL as A -> +1 no; over" },
    { "timeout_while_queued", &bwl_queue, &usual_terms,
      "acquires, for 1500; JOIN as A, grant 2000 -> +2 queued 4, 9000 left, at 1; +1000 HEARTBEAT "
      "as A; +498 CANCEL as A; TIMED_OUT -> +1 queued 4, 8000 left, at 1500 -> +1 yes; over" },
    { "timeout_during_a_provisional_grant", &bwl_queue, &usual_terms,
      "acquires, for 1500; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +1 mine 8; EXTEND as A; +497 CANCEL as A; TIMED_OUT -> +1 yes -> +1 yes; over" },
    { "single_try_is_resolved", &bwl_queue, &usual_terms,
      "acquires, once; TAKE as A -> +20 cut; +5 HEARTBEAT as A -> +2 mine 7; EXTEND as A -> +13 "
      "cut; +10 HEARTBEAT as A -> +1 mine 8; EXTEND as A -> +2 yes; HELD until 29749, fence 8" },
    /* ---- a period ---------------------------------------------------------------------------- */
    /* Counted from the reply, with a drift allowance: 90000 - 97 + 2. */
    { "release_with_a_rest", &bwl_queue, &once_in_90_s,
      "acquires, once; TAKE as A -> +3 held 7; HELD until 29698, fence 7; +97 releases; REST as A, "
      "89905 -> +1 yes; RELEASED; over" },
    { "release_with_a_rest_without_a_reply", &bwl_queue, &once_in_90_s,
      "acquires, once; TAKE as A -> +3 held 7; HELD until 29698, fence 7; +97 releases; REST as A, "
      "89905 -> +1900 cut; +5 REST as A, 88020 -> +1 yes; RELEASED; over" },
    { "release_after_the_rest_is_dropped", &bwl_queue, &once_in_90_s,
      "acquires, once; TAKE as A -> +3 held 7; HELD until 29698, fence 7; +97 drops the rest; "
      "releases; RELEASE as A -> +1 yes; RELEASED; over" },
    { "rest_is_done_for_once", &bwl_queue, &once_in_90_s,
      "acquires, once; TAKE as A -> +3 busy resting; DONE; over" },
    { "rest_is_busy_for_at_least", &bwl_queue, &at_least_90_s,
      "acquires, once; TAKE as A -> +3 busy resting; BUSY; over" },
    { "rest_ends_the_wait_for_once", &bwl_queue, &once_in_90_s,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +1 queued 0, 8000 left, at 1002, resting; CANCEL as A; DONE -> +1 yes; over" },
    /* A crash would end the provisional grant before the period. */
    { "period_is_not_held_before_its_confirmation", &bwl_queue, &at_least_90_s,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +298 grants 8 "
      "at 299; EXTEND as A -> +2 yes; HELD until 29998, fence 8; +98 releases; REST as A, 89904 -> "
      "+1 yes; RELEASED; over" },
    { "cancelled_acquire_leaves_no_rest", &bwl_queue, &once_in_90_s,
      "acquires, once; TAKE as A; +1 cancels; CANCEL as A; CANCELLED -> +1 held 7 -> +1 yes; "
      "over" },
    /* The caller may still give the period back. */
    { "lost_period_is_not_released_before_the_caller_lets_it_go", &bwl_queue, &once_in_90_s,
      "acquires, once; TAKE as A -> +3 held 7; HELD until 29698, fence 7; +10000 EXTEND as A; "
      "+19695 LOST; +100 closes; REST as A, 60504 -> +1 yes -> +1 yes; over" },
};

ROWS(stories, play_row)
