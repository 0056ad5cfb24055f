/*
 * test_protocol_dialogues.c -- each protocol of bowline, and of Redisson and Symfony, request by
 * request.
 *
 * transcript.h describes the rows.  A lease of 30000 ms is valid for 29698 ms here.
 */
#include "transcript.h"
#include "protocol/token_lock.h"
#include "protocol/queue_lock.h"

static const bwl_protocol_options two_replicas = { .replicas = 2 };
static const bwl_protocol_options drift        = { .drift_ppm = 500 };

static const bwl_terms synced_short = {
    .lease_ms = 90, .max_hold_ms = BWL_NEVER, .answer_ms = 500, .options = &two_replicas
};
static const bwl_terms synced_soon = {
    .lease_ms = 10000, .max_hold_ms = BWL_NEVER, .answer_ms = 90, .options = &two_replicas
};
static const bwl_terms synced_long = TERMS(.lease_ms = 10000, .options = &two_replicas);
static const bwl_terms drifting    = TERMS(.lease_ms = 30000, .options = &drift);
static const bwl_terms short_lease = TERMS(.lease_ms = 300);
static const bwl_terms synced      = { .lease_ms    = 10000,
                                       .max_hold_ms = BWL_NEVER,
                                       .answer_ms   = 500,
                                       .renews      = true,
                                       .options     = &two_replicas };

/* The usual beginnings. */
#define TOKEN_ONCE "acquires, once; SET_IF_ABSENT as A -> "
#define SYNCED_EXTENDS                                                                       \
    "acquires, once; SET_IF_ABSENT as A -> yes; REPLICATED by 2 in 50 -> yes 2; HELD until " \
    "9898; extends to 20000; EXTEND_IF_MINE as A for 20000 -> yes; REPLICATED by 2 in 50 -> "
#define REDLOCK_ONCE  "acquires, once; all SET_IF_ABSENT as A -> "
#define REDLOCK_WAITS "acquires, for 9000; all SET_IF_ABSENT as A"
#define REDLOCK_EXTENDS                                                                    \
    "acquires, once; all SET_IF_ABSENT as A -> 1 yes -> 2 yes; HELD until 29698 -> 3 no; " \
    "extends to 60000; all EXTEND_IF_MINE as A for 60000 -> "
#define REDLOCK_RELEASES                                                                   \
    "acquires, once; all SET_IF_ABSENT as A -> 1 yes -> 2 yes; HELD until 29698 -> 3 no; " \
    "releases; all DELETE_IF_MINE as A -> "

static const story stories[] = {
    { "token_acquire_and_release", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +97 releases; "
      "DELETE_IF_MINE as A -> yes; RELEASED; over" },
    { "token_extend", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> yes; HELD until 29698; +5 extends to 60000; "
      "EXTEND_IF_MINE as A for 60000 -> +2 yes; HELD until 59403; reads; 59396 left" },
    { "token_extend_of_a_foreign_value_is_LOST", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> yes; HELD until 29698; +5 extends to 60000; "
      "EXTEND_IF_MINE as A for 60000 -> no; LOST; over" },
    { "token_release_of_a_foreign_value_is_LOST", &bwl_token, &usual_terms,
      TOKEN_ONCE "yes; HELD until 29698; releases; DELETE_IF_MINE as A -> no; LOST; over" },
    { "token_resolved_grant_counts_from_its_first_request", &bwl_token, &usual_terms,
      TOKEN_ONCE "+100 cut; +5 SET_IF_ABSENT_OR_MINE as A -> +7 yes; HELD until 29698" },
    { "redisson_busy_then_released_by_its_holder", &bwl_redisson, &usual_terms,
      "acquires, for 9000; HASH_TAKE as A -> no; +1 pushes no; HASH_TAKE as B -> yes; HELD until "
      "29699" },
    { "redisson_fence_is_its_counter", &bwl_redisson, &usual_terms,
      "acquires, once; HASH_TAKE as A -> +3 yes 12; HELD until 29698, fence 12; +10000 HASH_EXTEND "
      "as A -> yes; reads; 29698 left; releases; HASH_RELEASE as A -> yes; RELEASED; over" },
    { "redisson_resolves_with_the_same_command", &bwl_redisson, &usual_terms,
      "acquires, once; HASH_TAKE as A -> +100 cut; +5 HASH_TAKE as A -> +7 yes; HELD until 29698" },
    { "redisson_pushes_are_ignored_while_held", &bwl_redisson, &usual_terms,
      "acquires, once; HASH_TAKE as A -> yes; HELD until 29698; pushes no; reads; 29698 left" },
    { "symfony_busy_then_a_push", &bwl_symfony, &usual_terms,
      "acquires, for 9000; ZSET_TAKE as A -> no; +1 pushes no; ZSET_TAKE as B -> yes; HELD until "
      "29699" },
    { "symfony_has_no_fence", &bwl_symfony, &usual_terms,
      "acquires, once; ZSET_TAKE as A -> +3 yes 12; HELD until 29698; +10000 ZSET_EXTEND as A -> "
      "yes; reads; 29698 left; releases; ZSET_RELEASE as A -> yes; RELEASED; over" },
    { "local_waiter_is_QUEUED_then_HELD", &bwl_local_waiter_protocol, &usual_terms,
      "acquires, for 9000; ENQUEUE -> is QUEUED; +5 pushes until 9000; HELD until 9000, fence 5; "
      "pushes until 9500; reads; 9495 left; +10 releases; LEAVE -> until 0; RELEASED; over" },
    { "local_waiter_is_HELD_at_once", &bwl_local_waiter_protocol, &usual_terms,
      "acquires, once; ENQUEUE -> until 9000; HELD until 9000, fence 5; releases; LEAVE -> is "
      "STORE_REFUSED; STORE_REFUSED; over" },
    { "local_waiter_that_is_refused_may_acquire_again", &bwl_local_waiter_protocol, &usual_terms,
      "acquires, for 9000; ENQUEUE -> is QUEUED; pushes is NOT_NOW; +5 ENQUEUE -> is BUSY; +10 "
      "ENQUEUE -> until 9000; HELD until 9000, fence 5" },
    { "local_waiter_has_an_error_and_is_LOST", &bwl_local_waiter_protocol, &usual_terms,
      "acquires, once; ENQUEUE -> until 9000; HELD until 9000, fence 5; pushes is UNREACHABLE; "
      "reads; 9000 left; error UNREACHABLE; pushes until 9999; reads; 9999 left; pushes is LOST; "
      "LOST; over" },
    { "local_waiter_extends", &bwl_local_waiter_protocol, &usual_terms,
      "acquires, once; ENQUEUE -> until 9000; HELD until 9000, fence 5; extends to 60000; EXTEND "
      "-> until 60000; HELD until 60000, fence 5; reads; 60000 left" },
    { "local_waiter_that_leaves_gets_no_other_event", &bwl_local_waiter_protocol, &usual_terms,
      "acquires, for 9000; ENQUEUE -> is QUEUED; cancels; LEAVE; CANCELLED; pushes until 9000; "
      "pushes is LOST -> until 0; over; pushes until 9000" },
    { "synced_is_HELD_when_the_replicas_have_it", &bwl_synced_token, &synced,
      "acquires, once; SET_IF_ABSENT as A -> +2 yes; REPLICATED by 2 in 50 -> +5 yes 2; HELD until "
      "9898; +3333 EXTEND_IF_MINE as A -> yes; REPLICATED by 2 in 50 -> yes 2; reads; 9898 left" },
    { "synced_BUSY_sends_no_WAIT", &bwl_synced_token, &synced,
      "acquires, once; SET_IF_ABSENT as A -> no; BUSY; over" },
    { "synced_WAIT_is_repeated_until_its_time_limit", &bwl_synced_token, &synced,
      "acquires, once; SET_IF_ABSENT as A -> yes; REPLICATED by 2 in 50 -> +100 no 1; REPLICATED "
      "by 2 in 50 -> +150 no 1; REPLICATED by 2 in 50 -> +249 no 1; REPLICATED by 2 in 50 -> +30 "
      "no 1; DELETE_IF_MINE as A -> yes; NOT_NOW; over" },
    { "synced_early_NO_is_not_repeated", &bwl_synced_token, &synced,
      TOKEN_ONCE "yes; REPLICATED by 2 in 50 -> +24 no 1; DELETE_IF_MINE as A" },
    { "synced_NO_after_half_of_the_time_is_repeated", &bwl_synced_token, &synced,
      TOKEN_ONCE "yes; REPLICATED by 2 in 50 -> +25 no 1; REPLICATED by 2 in 50" },
    { "synced_WAIT_is_not_sent_after_the_lease", &bwl_synced_token, &synced_short,
      TOKEN_ONCE "yes; REPLICATED by 2 in 50 -> +88 no 1; DELETE_IF_MINE as A" },
    { "synced_refused_WAIT_ends_the_acquire", &bwl_synced_token, &synced,
      "acquires, for 9000; SET_IF_ABSENT as A -> yes; REPLICATED by 2 in 50 -> refused; "
      "DELETE_IF_MINE as A -> yes; STORE_REFUSED; over" },
    { "synced_WAIT_without_a_reply_is_tried_again", &bwl_synced_token, &synced,
      "acquires, for 9000; SET_IF_ABSENT as A -> yes; REPLICATED by 2 in 50 -> cut; DELETE_IF_MINE "
      "as A -> yes; +5 SET_IF_ABSENT as B -> yes; REPLICATED by 2 in 50" },
    { "synced_cancel_ignores_the_replicas", &bwl_synced_token, &synced,
      "acquires, once; SET_IF_ABSENT as A -> yes; REPLICATED by 2 in 50; cancels; DELETE_IF_MINE "
      "as A; CANCELLED -> yes 2 -> yes; over" },
    { "synced_extension_with_too_few_replicas_fails", &bwl_synced_token, &synced,
      SYNCED_EXTENDS "+1 no 1; NOT_NOW; reads; 9897 left; error NOT_NOW" },
    { "synced_extension_without_a_reply", &bwl_synced_token, &synced,
      SYNCED_EXTENDS "cut; UNKNOWN; reads; 9898 left; error UNKNOWN" },
    { "synced_extension_refused", &bwl_synced_token, &synced,
      SYNCED_EXTENDS "refused; STORE_REFUSED; reads; 9898 left; error STORE_REFUSED" },
    { "synced_queue_held", &bwl_synced_queue, &synced,
      "acquires, for 9000; JOIN as A, grant 2000 -> held 7; REPLICATED by 2 in 50 -> yes 2; HELD "
      "until 9898, fence 7; reads; 9898 left" },
    { "synced_grant_counts_after_its_confirmation", &bwl_synced_queue, &synced,
      "acquires, for 9000; JOIN as A, grant 2000 -> queued 0, 9000 left, at 1; +5 grants 8 at 5; "
      "EXTEND as A -> yes; REPLICATED by 2 in 50 -> yes 2; HELD until 9903, fence 8; reads; 9898 "
      "left" },
    { "synced_queue_resolved_grant_is_confirmed", &bwl_synced_queue, &synced,
      "acquires, for 9000; JOIN as A, grant 2000 -> cut; +5 HEARTBEAT as A -> mine 9; EXTEND as A "
      "-> yes; REPLICATED by 2 in 50 -> yes 2; HELD until 9903, fence 9" },
    { "synced_yield_counts_like_an_acquire", &bwl_synced_queue, &synced,
      "acquires, once; TAKE as A -> held 7; REPLICATED by 2 in 50 -> yes 2; HELD until 9898, fence "
      "7; yields, for 500; REQUEUE as B, grant 2000 -> held 9; REPLICATED by 2 in 50 -> yes 2; "
      "HELD until 9898, fence 9" },
    { "synced_yield_queues", &bwl_synced_queue, &synced,
      "acquires, once; TAKE as A -> held 7; REPLICATED by 2 in 50 -> yes 2; HELD until 9898, fence "
      "7; yields, for 500; REQUEUE as B, grant 2000 -> queued 1, 900 left, at 1; link ends; "
      "HEARTBEAT as B" },
    { "ticket_once_is_busy", &bwl_ticket, &usual_terms,
      "acquires, once; JOIN_OR_LEAVE -> no 0; BUSY; over" },
    { "ticket_try_refused", &bwl_ticket, &usual_terms,
      "acquires, for 9; JOIN -> no 0; pushes no; TRY -> refused; LEAVE; STORE_REFUSED" },
    { "ticket_reports_QUEUED_once", &bwl_ticket, &usual_terms,
      "acquires, for 900; JOIN -> no 0; +1 TRY -> no 0; +2 TRY -> no 1; +4 TRY -> retry; JOIN -> "
      "retry; +1 JOIN -> yes 5; HELD until released, fence 5" },
    { "ticket_with_pushed_grants_does_not_poll", &bwl_ticket, &usual_terms,
      "acquires, for 900; JOIN -> no 2; +800 pushes yes 9; HELD until released, fence 9; releases; "
      "LEAVE -> yes; RELEASED; over" },
    { "ticket_reply_to_a_try_may_require_polling", &bwl_ticket, &usual_terms,
      "acquires, for 900; JOIN -> no 2; pushes no; TRY -> no 1; +1 TRY -> no 2" },
    { "ticket_try_without_pushes_stops_at_128_ms", &bwl_ticket, &usual_terms,
      "acquires, for 900; JOIN -> no 1; +1 TRY -> no 1; +2 TRY -> no 1; +4 TRY -> no 1; +8 TRY -> "
      "no 1; +16 TRY -> no 1; +32 TRY -> no 1; +64 TRY -> no 1; +128 TRY -> no 1; +128 TRY -> no "
      "1" },
    { "ticket_starts_each_acquire_anew", &bwl_ticket, &usual_terms,
      "acquires, for 900; JOIN -> no 1; +1 TRY -> no 1; pushes yes 4; HELD until released, fence "
      "4; yields, for 500; LEAVE -> yes; JOIN -> no 0; +1 TRY -> no 0; +2 TRY" },
    { "queue_short_lease_bounds_the_provisional_grant", &bwl_queue, &short_lease,
      "acquires, for 9000; JOIN as A, grant 300 -> queued 0, 300 left, at 1; +5 grants 8 at 5; "
      "EXTEND as A; HELD until 297, fence 8 -> yes" },
    { "queue_confirmation_refused", &bwl_queue, &usual_terms,
      "acquires, for 9000; JOIN as A, grant 2000 -> cut; +5 HEARTBEAT as A -> mine 8; EXTEND as A "
      "-> refused; CANCEL as A; STORE_REFUSED" },
    { "queue_confirmation_not_now", &bwl_queue, &usual_terms,
      "acquires, for 9000; JOIN as A, grant 2000 -> cut; +5 HEARTBEAT as A -> mine 8; EXTEND as A "
      "-> retry; +10 HEARTBEAT as A -> mine 8; EXTEND as A -> no" },
    { "redlock_unreachable", &bwl_redlock, &usual_terms,
      REDLOCK_ONCE "1 unsent -> 2 retry; all DELETE_IF_MINE as A; UNREACHABLE; over" },
    { "redlock_refused_by_two", &bwl_redlock, &usual_terms,
      REDLOCK_ONCE "1 refused -> 2 refused; all DELETE_IF_MINE as A; STORE_REFUSED; over" },
    { "redlock_time_for_late_replies_doubles", &bwl_redlock, &usual_terms,
      "acquires, for 9000; all SET_IF_ABSENT as A -> 1 no -> 2 no; all DELETE_IF_MINE as A -> 3 no "
      "-> 1 no -> 2 no -> 3 no; +5 all SET_IF_ABSENT as B -> +40 1 yes -> 2 no; +80 all "
      "DELETE_IF_MINE as B" },
    { "redlock_time_for_late_replies_is_10_ms_at_least", &bwl_redlock, &usual_terms,
      REDLOCK_WAITS " -> +1 1 yes -> 2 no; +10 all DELETE_IF_MINE as A" },
    { "redlock_waits_for_all_without_a_NO", &bwl_redlock, &usual_terms,
      REDLOCK_WAITS " -> 1 yes -> 2 retry -> +500 3 yes; HELD until 29698" },
    { "redlock_without_a_reply_is_UNKNOWN", &bwl_redlock, &usual_terms,
      "acquires, for 9000; all SET_IF_ABSENT as A -> 1 yes -> 2 down -> 3 down; +5 all "
      "SET_IF_ABSENT_OR_MINE as A -> 1 yes -> 2 yes; HELD until 29698" },
    { "redlock_extends_and_repairs_a_server", &bwl_redlock, &usual_terms,
      REDLOCK_EXTENDS
      "1 yes -> 3 no -> 2 yes; 3 SET_IF_ABSENT as A for 60000; HELD until 59398 -> 3 yes" },
    { "redlock_repairs_a_server_after_the_decision", &bwl_redlock, &usual_terms,
      REDLOCK_EXTENDS
      "1 yes -> 2 yes; HELD until 59398 -> 3 no; 3 SET_IF_ABSENT as A for 60000 -> 3 yes" },
    { "redlock_extension_lost_by_two", &bwl_redlock, &usual_terms,
      REDLOCK_EXTENDS "1 no -> 2 no; all DELETE_IF_MINE as A; LOST; over" },
    { "redlock_extension_without_replies", &bwl_redlock, &usual_terms,
      REDLOCK_EXTENDS "1 down -> 2 no; UNKNOWN; reads; 29698 left; error UNKNOWN" },
    { "redlock_extension_NOT_SENT", &bwl_redlock, &usual_terms,
      REDLOCK_EXTENDS "1 retry -> 2 unsent; UNREACHABLE; reads; 29698 left; error UNREACHABLE" },
    { "redlock_extension_refused", &bwl_redlock, &usual_terms,
      REDLOCK_EXTENDS
      "1 refused -> 2 refused; STORE_REFUSED; reads; 29698 left; error STORE_REFUSED" },
    { "redlock_NO_after_a_failed_extension_repairs_nothing", &bwl_redlock, &usual_terms,
      REDLOCK_EXTENDS "1 retry -> 2 retry; NOT_NOW -> 3 no; reads; 29698 left; error NOT_NOW" },
    { "redlock_released_by_two", &bwl_redlock, &usual_terms,
      REDLOCK_RELEASES "1 yes -> 2 no -> 3 yes; RELEASED; over" },
    { "redlock_release_without_a_majority_is_UNKNOWN", &bwl_redlock, &usual_terms,
      REDLOCK_RELEASES "1 yes -> 2 down -> 3 no; +5 all DELETE_IF_MINE as A -> 2 no -> 1 no" },
    { "redlock_release_counts_earlier_deletions", &bwl_redlock, &usual_terms,
      REDLOCK_RELEASES
      "1 yes -> 2 retry -> 3 retry; +5 all DELETE_IF_MINE as A -> 2 yes; RELEASED; over" },
    { "redlock_release_interrupts", &bwl_redlock, &usual_terms,
      "acquires, once; all SET_IF_ABSENT as A; cancels; all DELETE_IF_MINE as A; CANCELLED -> 1 "
      "yes -> 1 yes -> 2 yes -> 2 yes; over" },
    { "redlock_replies_of_the_previous_round_do_not_count", &bwl_redlock, &usual_terms,
      "acquires, for 9000; all SET_IF_ABSENT as A -> 1 no -> 2 no; all DELETE_IF_MINE as A; +5 all "
      "SET_IF_ABSENT as B -> 3 yes -> 1 no -> 2 no -> 3 yes -> 1 yes -> 2 yes; HELD until 29703" },
    { "redlock_named_drift", &bwl_redlock, &drifting,
      "acquires, once; all SET_IF_ABSENT as A -> 1 yes -> 2 yes; HELD until 29985" },
    { "redlock_time_for_late_replies_begins_with_the_majority", &bwl_redlock, &usual_terms,
      REDLOCK_WAITS " -> +1 1 no -> +500 2 yes -> +1 3 yes; HELD until 29698" },
    { "local_waiter_extends_after_a_failed_extension", &bwl_local_waiter_protocol, &usual_terms,
      "acquires, once; ENQUEUE -> until 9000; HELD until 9000, fence 5; extends to 60000; EXTEND "
      "-> is NOT_NOW; NOT_NOW; extends to 60000; EXTEND -> until 60000; HELD until 60000, fence "
      "5" },
    { "synced_waits_for_100_ms_at_most", &bwl_synced_token, &synced_long,
      TOKEN_ONCE "yes; REPLICATED by 2 in 100 -> yes 2; HELD until 9898" },
    { "synced_waits_for_10_ms_at_least", &bwl_synced_token, &synced_soon,
      TOKEN_ONCE "yes; REPLICATED by 2 in 10 -> yes 2; HELD until 9898" },
    { "synced_extension_has_its_own_time_for_replicas", &bwl_synced_token, &synced,
      "acquires, once; SET_IF_ABSENT as A -> yes; REPLICATED by 2 in 50 -> yes 2; HELD until 9898; "
      "+600 extends to 20000; EXTEND_IF_MINE as A for 20000 -> yes; REPLICATED by 2 in 50 -> +50 "
      "no 1; REPLICATED by 2 in 50 -> yes 2; HELD until 20398" },
    { "redlock_release_waits_for_the_reply_that_makes_it_LOST", &bwl_redlock, &usual_terms,
      REDLOCK_RELEASES "1 no -> 2 retry -> 3 no; LOST; over" },
    { "redlock_time_for_late_replies_restarts_with_each_attempt", &bwl_redlock, &usual_terms,
      "acquires, for 9000; all SET_IF_ABSENT as A -> +40 1 yes -> 2 no; +40 all DELETE_IF_MINE as "
      "A -> 3 no -> 1 yes -> 2 no -> 3 no; +5 all SET_IF_ABSENT as B -> +10 1 yes -> 2 no; +20 all "
      "DELETE_IF_MINE as B" },
    { "redlock5_time_for_late_replies_is_not_restarted", &bwl_redlock, &usual_terms,
      REDLOCK_WAITS " -> +40 1 yes -> 2 yes -> 3 no -> +20 4 no; +20 all DELETE_IF_MINE as A" },
    { "redlock5_two_are_no_majority", &bwl_redlock, &usual_terms,
      REDLOCK_ONCE "1 yes -> 2 yes -> 3 no -> 4 no -> 5 no; all DELETE_IF_MINE as A; BUSY; over" },
    { "redlock4_two_are_enough_for_a_NO", &bwl_redlock, &usual_terms,
      REDLOCK_ONCE "1 yes -> 2 no -> 3 no; all DELETE_IF_MINE as A; BUSY; over" },
    { "redlock4_three_are_a_majority", &bwl_redlock, &usual_terms,
      "acquires, once; all SET_IF_ABSENT as A -> 1 yes -> 2 yes -> 3 yes; HELD until 29698; "
      "releases; all DELETE_IF_MINE as A -> 1 no -> 2 no; LOST; over" },
    { "redlock_deletes_after_a_second_token_is_unavailable", &bwl_redlock, &usual_terms,
      "acquires, for 9000; all SET_IF_ABSENT as A -> 1 yes -> 2 down -> 3 down; +5 all "
      "SET_IF_ABSENT_OR_MINE as A -> 1 yes -> 2 no -> 3 no; all DELETE_IF_MINE as A -> 1 yes -> 2 "
      "no -> 3 no; +10 all SET_IF_ABSENT as B -> 1 retry -> 2 retry; all DELETE_IF_MINE as B" },
    { "queue_delayed_push_grants_only_with_enough_time_left", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> queued 0, 9000 left, at 1; +1000 HEARTBEAT as "
      "A; +480 grants 8 at 5; EXTEND as A; HELD until 1980, fence 8; reads; 500 left" },
    { "queue_push_delayed_for_longer_grants_when_it_is_confirmed", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> queued 0, 9000 left, at 1; +1000 HEARTBEAT as "
      "A; +481 grants 8 at 5; EXTEND as A; reads; 0 left -> +3 yes" },
    { "queue_server_clock_set_forward_never_lengthens_the_provisional_grant", &bwl_queue,
      &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> queued 0, 9000 left, at 1; +20 grants 8 at "
      "3600000; EXTEND as A; HELD until 1978, fence 8; reads; 1958 left" },
    { "queue_server_clock_set_back_never_lengthens_the_provisional_grant", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> queued 0, 9000 left, at 5000; +20 grants 8 at "
      "1; EXTEND as A; HELD until 1978, fence 8; reads; 1958 left" },
};

ROWS(stories, play_row)
