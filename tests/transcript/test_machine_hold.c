/*
 * test_machine_hold.c -- the lock machine from the grant on: renewal, extension, loss, release,
 * yield; the time limit of an acquire; protocols that cannot verify the owner of a value.
 *
 * transcript.h describes the stories. The protocol is that of scripted.h.
 */
#include "transcript.h"

static const bwl_compat_rules     tries_2_rules      = { .tries_max = 2 };
static const bwl_compat_rules     every_100_ms_rules = { .pause_ms = 100 };
static const bwl_protocol_options tries_2            = { .rules = &tries_2_rules };
static const bwl_protocol_options every_100_ms       = { .rules = &every_100_ms_rules };
static const bwl_protocol_options one_replica        = { .replicas = 1 };
static const bwl_terms            two_tries    = TERMS(.lease_ms = 30000, .options = &tries_2);
static const bwl_terms            pause_100    = TERMS(.lease_ms = 30000, .options = &every_100_ms);
static const bwl_terms            with_replica = TERMS(.lease_ms = 30000, .options = &one_replica);
static const bwl_terms            lease_100    = TERMS(.lease_ms = 100, .renews = true);
static const bwl_terms            lease_132    = TERMS(.lease_ms = 132, .renews = true);
static const bwl_terms            lease_12011  = TERMS(.lease_ms = 12011, .renews = true);
static const bwl_terms            ending_after_5_s = {
               .lease_ms = 30000, .max_hold_ms = 5000, .answer_ms = 5000, .renews = true
};

#define SHARED_AT_0 HELD_AT_0 "; downgrades; DOWNGRADE as A -> HELD; HELD until 29999, fence 7"
#define HELD_AT_0   "acquires, once; ACQUIRE as A -> HELD; HELD until 29999, fence 7"

static const story stories[] = {
    { "renews_at_a_third_of_the_lease", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> HELD; HELD until 29999, fence 7; +10000 "
      "EXTEND as A -> HELD; reads; 29999 left; +10000 EXTEND as A -> HELD until 39998; reads; "
      "19999 left" },
    { "failed_renewal_is_tried_again_after_10_ms_at_least", &verifying, &lease_100,
      "acquires, once; ACQUIRE as A -> HELD until 100; HELD until 100, fence 7; +33 EXTEND as A -> "
      "NOT_NOW; +10 EXTEND as A" },
    { "failed_renewal_is_tried_again_after_a_twelfth_of_the_lease", &verifying, &lease_132,
      "acquires, once; ACQUIRE as A -> HELD until 132; HELD until 132, fence 7; +44 EXTEND as A -> "
      "UNREACHABLE; +11 EXTEND as A -> UNKNOWN; +11 EXTEND as A" },
    { "failed_renewal_is_tried_again_after_a_second_at_most", &verifying, &lease_12011,
      "acquires, once; ACQUIRE as A -> HELD until 12011; HELD until 12011, fence 7; +4003 EXTEND "
      "as A -> STORE_REFUSED; +1000 EXTEND as A" },
    { "failed_extension_is_not_repeated_without_renewal", &verifying, &without_renewal,
      HELD_AT_0
      "; +100 extends to 30000; EXTEND as A -> +100 UNKNOWN; UNKNOWN; +29799 RELEASE as A; LOST" },
    { "extension_is_reported_and_sets_the_lease", &verifying, &usual_terms,
      HELD_AT_0
      "; +100 extends to 90000; EXTEND as A for 90000 -> +1 HELD until 90000; HELD until 90000, "
      "fence 7; +30000 EXTEND as A for 90000 -> +9899 HELD until 99999; reads; 59999 left" },
    { "extension_during_a_renewal_is_sent_after_it", &verifying, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A; +50 extends to 90000 -> +50 HELD until 40000; EXTEND as A for 90000; "
      "reads; 29900 left -> +100 HELD until 99999; HELD until 99999, fence 7; +30000 EXTEND as A "
      "for 90000 -> +9800 HELD until 99999; reads; 49999 left" },
    { "extension_after_a_failed_renewal_fails_with_it", &verifying, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A; +50 extends to 90000 -> +50 UNREACHABLE; UNREACHABLE; +1000 EXTEND as "
      "A for 90000 -> +900 HELD until 99999; +30000 EXTEND as A for 90000" },
    { "renewal_with_a_reply_after_the_end_is_LOST", &verifying, &usual_terms,
      HELD_AT_0 "; +10000 EXTEND as A -> +19999 HELD until 99999; RELEASE as A; LOST" },
    { "release_at_the_end_is_lost", &verifying, &without_renewal,
      HELD_AT_0 "; +29999 releases; RELEASE as A; LOST -> +1 RELEASED; over" },
    { "max_hold_ends_the_hold_despite_a_renewal", &verifying, &ending_after_45_s,
      HELD_AT_0
      "; +10000 EXTEND as A -> +10000 HELD; reads; 25000 left; +10000 extends to 60000; EXTEND as "
      "A for 60000 -> +1 HELD until 89999; HELD until 45000, fence 7; +14999 RELEASE as A; LOST" },
    { "revoked_is_LOST_and_released_at_its_end", &verifying, &usual_terms,
      HELD_AT_0
      "; +7 store revokes; LOST; reads; 0 left; +29991 clock rings; +1 RELEASE as A -> LOST; "
      "over" },
    { "revoked_is_released_by_the_caller", &verifying, &usual_terms,
      HELD_AT_0
      "; +7 store revokes; LOST; +1 closes; RELEASE as A -> +1 NOT_NOW; +5 RELEASE as A -> "
      "RELEASED; over" },
    { "revoked_ignores_replies", &verifying, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A; +1 store revokes; LOST -> +1 HELD; +1 link ends; +19996 RELEASE as "
      "A" },
    { "revoked_at_its_end_is_released_at_once", &verifying, &without_renewal,
      HELD_AT_0 "; +29999 store revokes; RELEASE as A; LOST" },
    { "release_is_repeated_for_one_reply_time", &verifying, &usual_terms,
      HELD_AT_0
      "; +1 releases; RELEASE as A -> +1 NOT_NOW; +5 RELEASE as A -> +4993 UNREACHABLE; +1 RELEASE "
      "as A -> UNREACHABLE; UNREACHABLE; over" },
    { "release_without_a_reply_stays_UNKNOWN", &verifying, &usual_terms,
      HELD_AT_0
      "; +1 releases; RELEASE as A -> +1 UNKNOWN; +5 RELEASE as A -> +4994 NOT_NOW; UNKNOWN; "
      "over" },
    { "release_repeated_without_a_reply_is_never_LOST", &verifying, &usual_terms,
      HELD_AT_0
      "; +1 releases; RELEASE as A -> +1 UNKNOWN; +5 RELEASE as A -> LOST; UNKNOWN; over" },
    { "result_is_due_after_the_wait_and_one_reply_time", &verifying, &usual_terms,
      "acquires, for 500; ACQUIRE as A, may wait; deadlines; due by 5550; unsent by 1000 -> +1 "
      "BUSY; deadlines; due by 5550; unsent by never; +5 ACQUIRE as B, may wait -> UNREACHABLE; "
      "deadlines; due by 5550; unsent by never; +10 ACQUIRE as C, may wait; +4 deadlines; due by "
      "5550; unsent by 550 -> HELD; HELD until 30019, fence 7; deadlines; due by never; unsent by "
      "never; +1 releases; RELEASE as C; deadlines; due by never; unsent by never -> RELEASED; "
      "RELEASED; over; deadlines; due by never; unsent by never" },
    { "result_is_due_with_time_for_replicas", &verifying, &with_replica,
      "acquires, for 500; ACQUIRE as A, may wait; deadlines; due by 5800; unsent by 1000" },
    { "unsent_request_without_a_wait_has_the_time_of_a_reply", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A; deadlines; due by 5050; unsent by never" },
    { "unsent_request_while_resolving_ends_after_one_reply_time", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A -> UNKNOWN; +5 ACQUIRE as A again; deadlines; due by 5050; "
      "unsent by 5000" },
    { "out_of_time_with_a_request_in_flight_is_UNKNOWN", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait; +13050 is out of time; RELEASE as A; UNKNOWN -> "
      "+1 UNKNOWN; +5 RELEASE as A -> RELEASED; over" },
    { "out_of_time_while_discarding_reports_the_reason", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> HELD until 0; RELEASE as A; +13050 is out of "
      "time; RELEASE as A; NOT_NOW" },
    { "out_of_time_in_the_queue_is_TIMED_OUT", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> QUEUED; +7999 is out of time; RELEASE as A; "
      "TIMED_OUT" },
    { "out_of_time_after_BUSY_is_TIMED_OUT", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> BUSY; +1 is out of time; TIMED_OUT; over" },
    { "out_of_time_without_a_wait_reports_the_reason", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A -> RETRY_WITH_NEW_TOKEN; is out of time; NOT_NOW; over" },
    { "out_of_time_in_a_pause_reports_the_reason", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> NOT_NOW; +1 is out of time; NOT_NOW; over" },
    { "out_of_time_while_yielding_is_UNKNOWN", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> HELD; HELD until 29999, fence 7; +1 yields, "
      "for 500; RELEASE as A; +5550 is out of time; UNKNOWN -> +1 RELEASED; over" },
    { "yield_has_a_new_token", &yielding, &usual_terms,
      "acquires, for 7; ACQUIRE as A, may wait -> BUSY; +5 ACQUIRE as B, may wait -> BUSY; +2 "
      "ACQUIRE as C -> +1 HELD; HELD until 30007, fence 7; +2 yields, for 490; ACQUIRE as D, "
      "yields C, may wait; reads; 0 left -> +1 BUSY; +5 ACQUIRE as E, may wait -> BUSY; +10 "
      "ACQUIRE as F, may wait" },
    { "yield_clears_the_last_error", &yielding, &usual_terms,
      HELD_AT_0
      "; +5 extends to 30000; EXTEND as A -> +1 UNREACHABLE; UNREACHABLE; +4 yields, for 490; "
      "ACQUIRE as B, yields A, may wait; deadlines; due by 5550; unsent by 1010" },
    { "yield_of_a_lost_lock_is_LOST", &yielding, &usual_terms,
      HELD_AT_0 "; +10 yields, for 490; ACQUIRE as B, yields A, may wait -> +1 LOST; LOST; over" },
    { "yield_is_resolved_for_one_reply_time", &yielding, &usual_terms,
      HELD_AT_0
      "; +6000 yields, for 500; ACQUIRE as B, yields A, may wait -> +4999 UNKNOWN; +1 RELEASE as "
      "B; UNKNOWN" },
    { "upgrade_without_a_reply_keeps_its_token", &changing, &without_renewal,
      SHARED_AT_0
      "; +100 upgrades; UPGRADE as A to B -> +5000 UNKNOWN; UNKNOWN; +1 upgrades; "
      "UPGRADE as A to B -> +1 BUSY; BUSY; +1 upgrades; UPGRADE as B to C -> HELD; HELD until "
      "35102, fence 7; +1 releases; RELEASE as C -> RELEASED; RELEASED; over" },
    { "extension_after_an_upgrade_without_a_reply_is_no_upgrade", &changing, &without_renewal,
      SHARED_AT_0
      "; +100 upgrades; UPGRADE as A to B -> +5000 UNKNOWN; UNKNOWN; +1 extends to "
      "30000; UPGRADE as A to B -> BUSY; HELD until 35100, fence 7; +1 extends to 30000; EXTEND "
      "as B" },
    { "upgrade_after_the_end_is_LOST", &changing, &without_renewal,
      SHARED_AT_0 "; +29999 upgrades; RELEASE as A; LOST" },
    { "downgrade_interrupts_a_renewal", &changing, &usual_terms,
      HELD_AT_0 "; +10000 EXTEND as A; +1 downgrades; DOWNGRADE as A -> +1 HELD; HELD until 40001, "
                "fence 7" },
    { "yield_interrupts_an_extension", &yielding, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A; +5 extends to 30000; yields, for 9000; ACQUIRE as B, yields A, may "
      "wait -> +1 HELD; HELD until 40005, fence 7; +10000 EXTEND as B -> +994 HELD; +10000 EXTEND "
      "as B" },
    { "failed_renewal_is_the_last_error_until_one_succeeds", &verifying, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A -> +1 STORE_REFUSED; +1 reads; 19997 left; error STORE_REFUSED; +999 "
      "EXTEND as A -> +1 HELD; +1 reads; 29998 left -> +1 UNREACHABLE; +1 reads; 29996 left; error "
      "UNREACHABLE" },
    { "yield_at_the_end_is_lost", &yielding, &without_renewal,
      HELD_AT_0 "; +29999 yields, for 500; RELEASE as A; LOST" },
    { "yield_is_a_release_and_an_acquire", &verifying, &usual_terms,
      HELD_AT_0
      "; +1 yields, for 8000; RELEASE as A -> +4 RELEASED; ACQUIRE as B, may wait -> +4 HELD; HELD "
      "until 30008, fence 7" },
    { "yield_acquires_at_once_when_the_release_needs_no_request", &verifying, &usual_terms,
      HELD_AT_0 "; +10 returns RELEASED; yields, for 490; ACQUIRE as B, may wait" },
    { "yield_has_as_many_tries_as_an_acquire", &verifying, &two_tries,
      HELD_AT_0
      "; +10 yields, for 5000; RELEASE as A -> +1 RELEASED; ACQUIRE as B, may wait -> +1 BUSY; +5 "
      "ACQUIRE as C, may wait -> +983 BUSY; TIMED_OUT; over" },
    { "yield_by_a_release_is_resolved_for_one_reply_time", &verifying, &usual_terms,
      HELD_AT_0
      "; +10 yields, for 490; RELEASE as A -> +2990 RELEASED; ACQUIRE as B -> +4999 UNKNOWN; +1 "
      "RELEASE as B; UNKNOWN" },
    { "yield_without_time_left_tries_once", &verifying, &usual_terms,
      HELD_AT_0
      "; +10 yields, for 490; RELEASE as A -> +490 RELEASED; ACQUIRE as B -> +1 BUSY; TIMED_OUT; "
      "over" },
    { "yield_that_is_cancelled_sends_nothing_more", &verifying, &usual_terms,
      HELD_AT_0 "; +10 yields, for 490; RELEASE as A; +1 cancels; CANCELLED -> +1 RELEASED; over" },
    { "unverified_late_grant_is_not_released", &unverified, &usual_terms,
      "acquires, for 8000; ACQUIRE as A, may wait -> +10 HELD until 10; +5 ACQUIRE as B, may wait "
      "-> BUSY" },
    { "unverified_late_grant_of_a_single_try_is_NOT_NOW", &unverified, &usual_terms,
      "acquires, once; ACQUIRE as A -> +10 HELD until 10; NOT_NOW; over" },
    { "unverified_cancel_waits_for_the_reply_and_releases", &unverified, &usual_terms,
      "acquires, for ever; ACQUIRE as A, may wait -> BUSY; +5 ACQUIRE as B, may wait -> BUSY; +10 "
      "ACQUIRE as C, may wait; cancels; CANCELLED -> +3985 HELD; RELEASE as C -> +4990 "
      "UNREACHABLE; +5 RELEASE as C -> +5 UNREACHABLE; over" },
    { "unverified_cancel_sends_nothing_when_the_owner_is_uncertain", &unverified, &usual_terms,
      "acquires, for ever; ACQUIRE as A, may wait; +15 cancels; CANCELLED -> +5 HELD until 20; "
      "over" },
    { "unverified_hold_is_not_renewed_and_not_released_at_its_end", &unverified, &usual_terms,
      HELD_AT_0 "; +29999 LOST; over" },
    { "unverified_hold_is_released_at_the_end_of_max_hold", &unverified, &ending_after_5_s,
      "acquires, once; ACQUIRE as A -> HELD; HELD until 5000, fence 7; +5000 RELEASE as A; LOST" },
    { "unverified_hold_that_is_revoked_is_LOST_and_not_released", &unverified, &usual_terms,
      HELD_AT_0 "; +1 store revokes; LOST; over" },
    { "unverified_release_is_not_repeated_after_its_end", &unverified, &usual_terms,
      "acquires, once; ACQUIRE as A -> HELD until 10; HELD until 10, fence 7; +1 releases; RELEASE "
      "as A -> +6 NOT_NOW; +5 NOT_NOW; over" },
    { "rules_set_the_pause", &unverified, &pause_100,
      "acquires, for 130; ACQUIRE as A, may wait -> BUSY; +100 ACQUIRE as B, may wait -> BUSY; +30 "
      "ACQUIRE as C -> BUSY; TIMED_OUT; over" },
    { "rules_count_the_tries", &unverified, &two_tries,
      "acquires, for ever; ACQUIRE as A, may wait -> BUSY; +5 ACQUIRE as B, may wait -> BUSY; "
      "TIMED_OUT; over" },
};

ROWS(stories, play_row)
