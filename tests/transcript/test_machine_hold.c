/*
 * test_machine_hold.c -- the lock machine from the grant on: renewal, extension, loss, release,
 * yield; the time limit of an acquire; protocols that cannot tell their own value from
 * another's.
 *
 * transcript.h says how a story is read. The protocol is that of scripted.h.
 */
#include "transcript.h"

#define TERMS(...)                                               \
    {                                                            \
        .max_hold_ms = BWL_NEVER, .answer_ms = 5000, __VA_ARGS__ \
    }

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

#define HELD_AT_0 "acquires, once; ACQUIRE as A for 30000 -> HELD; HELD until 29999, fence 7"

static const story stories[] = {
    { "renews_at_a_third_of_the_lease", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> HELD; HELD until 29999, fence 7; "
      "+10000 EXTEND as A for 30000 -> HELD; looks; 29999 left; +10000 EXTEND as A for 30000 -> "
      "HELD until 39998; looks; 19999 left" },
    { "renews_at_half_of_what_is_left_after_a_late_answer", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A for 30000 -> +10000 HELD until 12000; HELD until 12000, "
      "fence 7; +1000 EXTEND as A for 30000 -> +1 HELD until 12002; +500 EXTEND as A for 30000" },
    { "without_renewal_ends_with_the_lease", &verifying, &without_renewal,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> HELD; HELD until 29999, fence 7; "
      "+29998 pushes no; looks; 1 left; looks truly; truly 0 left; +1 pushes no; RELEASE as A; "
      "LOST; looks; 0 left" },
    { "without_a_lease_has_no_end", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A for 30000 -> +1 HELD until released; HELD until released, "
      "fence 7; +99998 looks; no end; looks truly; truly no end" },
    { "failed_renewal_is_tried_again_after_10_ms_at_least", &verifying, &lease_100,
      "acquires, once; ACQUIRE as A for 100 -> HELD until 100; HELD until 100, fence 7; +33 "
      "EXTEND as A for 100 -> NOT_NOW; +10 EXTEND as A for 100" },
    { "failed_renewal_is_tried_again_after_a_twelfth_of_the_lease", &verifying, &lease_132,
      "acquires, once; ACQUIRE as A for 132 -> HELD until 132; HELD until 132, fence 7; +44 "
      "EXTEND as A for 132 -> UNREACHABLE; +11 EXTEND as A for 132 -> UNKNOWN; +11 EXTEND as A "
      "for 132" },
    { "failed_renewal_is_tried_again_after_a_second_at_most", &verifying, &lease_12011,
      "acquires, once; ACQUIRE as A for 12011 -> HELD until 12011; HELD until 12011, fence 7; "
      "+4003 EXTEND as A for 12011 -> STORE_REFUSED; +1000 EXTEND as A for 12011" },
    { "failed_renewal_is_not_tried_after_the_end", &verifying, &usual_terms,
      HELD_AT_0 "; +10000 EXTEND as A for 30000 -> +19000 UNKNOWN; +999 RELEASE as A; LOST" },
    { "failed_extension_is_not_tried_again_without_renewal", &verifying, &without_renewal,
      HELD_AT_0
      "; +100 extends to 30000; EXTEND as A for 30000 -> +100 UNKNOWN; UNKNOWN; +29799 RELEASE "
      "as A; LOST" },
    { "extension_is_told_and_sets_the_lease", &verifying, &usual_terms,
      HELD_AT_0
      "; +100 extends to 90000; EXTEND as A for 90000 -> +1 HELD until 90000; HELD until 90000, "
      "fence 7; +30000 EXTEND as A for 90000 -> +9899 HELD until 99999; looks; 59999 left" },
    { "extension_while_a_renewal_is_out_is_asked_after_it", &verifying, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A for 30000; +50 extends to 90000 -> +50 HELD until 40000; EXTEND as "
      "A for 90000; looks; 29900 left -> +100 HELD until 99999; HELD until 99999, fence 7; "
      "+30000 EXTEND as A for 90000 -> +9800 HELD until 99999; looks; 49999 left" },
    { "extension_behind_a_failed_renewal_fails_with_it", &verifying, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A for 30000; +50 extends to 90000 -> +50 UNREACHABLE; UNREACHABLE; "
      "+1000 EXTEND as A for 90000 -> +900 HELD until 99999; +30000 EXTEND as A for 90000" },
    { "renewal_answered_after_the_end_is_lost", &verifying, &usual_terms,
      HELD_AT_0 "; +10000 EXTEND as A for 30000 -> +19999 HELD until 99999; RELEASE as A; LOST" },
    { "extend_at_the_end_is_lost", &verifying, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A for 30000; +19998 extends to 30000; +1 extends to 30000; RELEASE as "
      "A; LOST" },
    { "release_at_the_end_is_lost", &verifying, &without_renewal,
      HELD_AT_0 "; +29999 releases; RELEASE as A; LOST -> +1 RELEASED; over" },
    { "max_hold_ends_it_before_the_lease", &verifying, &ending_after_5_s,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> +3000 HELD; HELD until 8000, "
      "fence 7; +5000 RELEASE as A; LOST" },
    { "max_hold_ends_what_has_no_lease", &verifying, &ending_after_5_s,
      "acquires, once; ACQUIRE as A for 30000 -> HELD until released; HELD until 5000, fence 7; "
      "+5000 RELEASE as A; LOST" },
    { "max_hold_ends_it_whatever_the_renewal_says", &verifying, &ending_after_45_s,
      HELD_AT_0
      "; +10000 EXTEND as A for 30000 -> +10000 HELD; looks; 25000 left; +10000 extends to "
      "60000; EXTEND as A for 60000 -> +1 HELD until 89999; HELD until 45000, fence 7; +14999 "
      "RELEASE as A; LOST" },
    { "grant_unasked_prolongs_it", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A for 30000 -> HELD until 2000; HELD until 2000, fence 7 -> "
      "+10 HELD until 29000; looks; 28990 left -> +10 HELD until 500; looks; 28980 left; +10000 "
      "EXTEND as A for 30000" },
    { "grant_unasked_without_renewal_prolongs_it", &verifying, &without_renewal,
      "acquires, once; ACQUIRE as A for 30000 -> HELD until 2000; HELD until 2000, fence 7 -> "
      "+10 HELD until 29000; +28990 RELEASE as A; LOST" },
    { "grant_unasked_does_not_outlast_max_hold", &verifying, &ending_after_5_s,
      "acquires, once; ACQUIRE as A for 30000 -> HELD until 2000; HELD until 2000, fence 7 -> "
      "+10 HELD until 29000; looks; 4990 left" },
    { "grant_unasked_after_the_end_is_lost", &verifying, &without_renewal,
      "acquires, once; ACQUIRE as A for 30000 -> HELD until 2000; HELD until 2000, fence 7 -> "
      "+2000 HELD until 29000; RELEASE as A; LOST" },
    { "disowned_is_lost_and_released_at_its_end", &verifying, &usual_terms,
      HELD_AT_0
      "; +7 store disowns; LOST; looks; 0 left; +29991 clock rings; +1 RELEASE as A -> LOST; "
      "over" },
    { "disowned_is_released_when_given_back", &verifying, &usual_terms,
      HELD_AT_0
      "; +7 store disowns; LOST; +1 gives back; RELEASE as A -> +1 NOT_NOW; +5 RELEASE as A -> "
      "RELEASED; over" },
    { "disowned_ignores_replies", &verifying, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A for 30000; +1 store disowns; LOST -> +1 HELD; +1 link ends; +19996 "
      "RELEASE as A" },
    { "disowned_at_its_end_is_released_at_once", &verifying, &without_renewal,
      HELD_AT_0 "; +29999 store disowns; RELEASE as A; LOST" },
    { "release_interrupts_a_renewal", &verifying, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A for 30000; +1 releases; RELEASE as A -> +1 RELEASED; RELEASED; over" },
    { "release_is_repeated_for_the_time_of_one_answer", &verifying, &usual_terms,
      HELD_AT_0
      "; +1 releases; RELEASE as A -> +1 NOT_NOW; +5 RELEASE as A -> +4993 UNREACHABLE; +1 "
      "RELEASE as A -> UNREACHABLE; UNREACHABLE; over" },
    { "release_once_without_an_answer_stays_unknown", &verifying, &usual_terms,
      HELD_AT_0
      "; +1 releases; RELEASE as A -> +1 UNKNOWN; +5 RELEASE as A -> +4994 NOT_NOW; UNKNOWN; "
      "over" },
    { "release_repeated_after_no_answer_is_never_lost", &verifying, &usual_terms,
      HELD_AT_0
      "; +1 releases; RELEASE as A -> +1 UNKNOWN; +5 RELEASE as A -> LOST; UNKNOWN; over" },
    { "release_repeated_after_no_answer_may_succeed", &verifying, &usual_terms,
      HELD_AT_0
      "; +1 releases; RELEASE as A -> +1 UNKNOWN; +5 RELEASE as A -> RELEASED; RELEASED; over" },
    { "release_repeated_after_not_now_may_be_lost", &verifying, &usual_terms,
      HELD_AT_0 "; +1 releases; RELEASE as A -> +1 NOT_NOW; +5 RELEASE as A -> LOST; LOST; over" },
    { "told_by_the_wait_and_one_answer", &verifying, &usual_terms,
      "acquires, for 500; ACQUIRE as A for 30000, may wait; asks when; told by 5550; unsent by "
      "never -> +1 BUSY; asks when; told by 5550; unsent by never; +5 ACQUIRE as B for 30000, "
      "may wait -> UNREACHABLE; asks when; told by 5550; unsent by never; +10 ACQUIRE as C for "
      "30000, may wait; +4 asks when; told by 5550; unsent by 500 -> HELD; HELD until 30019, "
      "fence 7; asks when; told by never; unsent by never; +1 releases; RELEASE as C; asks "
      "when; told by never; unsent by never -> RELEASED; RELEASED; over; asks when; told by "
      "never; unsent by never" },
    { "told_by_leaves_time_for_replicas", &verifying, &with_replica,
      "acquires, for 500; ACQUIRE as A for 30000, may wait; asks when; told by 5800; unsent by "
      "never" },
    { "told_by_never_without_a_limit", &verifying, &usual_terms,
      "acquires, for ever; ACQUIRE as A for 30000, may wait -> UNREACHABLE; +5 ACQUIRE as B for "
      "30000, may wait; asks when; told by never; unsent by never" },
    { "unsent_by_the_time_of_one_answer_while_settling", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A for 30000 -> UNKNOWN; +5 ACQUIRE as A for 30000 again; asks "
      "when; told by 5050; unsent by 5000" },
    { "out_of_time_with_a_question_out_is_unknown", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait; +13050 is out of time; RELEASE as "
      "A; UNKNOWN -> +1 UNKNOWN; +5 RELEASE as A -> RELEASED; over" },
    { "out_of_time_while_settling_is_unknown", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> UNKNOWN; +5 ACQUIRE as A for "
      "30000 again; +13045 is out of time; RELEASE as A; UNKNOWN" },
    { "out_of_time_while_discarding_tells_why", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> HELD until 0; RELEASE as A; "
      "+13050 is out of time; RELEASE as A; NOT_NOW" },
    { "out_of_time_in_the_queue_has_timed_out", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> QUEUED; +7999 is out of time; "
      "RELEASE as A; TIMED_OUT" },
    { "out_of_time_after_busy_has_timed_out", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> BUSY; +1 is out of time; "
      "TIMED_OUT; over" },
    { "out_of_time_without_a_wait_tells_why", &verifying, &usual_terms,
      "acquires, once; ACQUIRE as A for 30000 -> RETRY_WITH_NEW_TOKEN; is out of time; NOT_NOW; "
      "over" },
    { "out_of_time_in_a_pause_tells_why_it_pauses", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> NOT_NOW; +1 is out of time; "
      "NOT_NOW; over" },
    { "out_of_time_while_yielding_is_unknown", &verifying, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> HELD; HELD until 29999, fence 7; "
      "+1 yields, for 500; RELEASE as A; +5550 is out of time; UNKNOWN -> +1 RELEASED; over" },
    { "yields_by_a_new_token", &yielding, &usual_terms,
      "acquires, for 7; ACQUIRE as A for 30000, may wait -> BUSY; +5 ACQUIRE as B for 30000, "
      "may wait -> BUSY; +2 ACQUIRE as C for 30000 -> +1 HELD; HELD until 30007, fence 7; +2 "
      "yields, for 490; ACQUIRE as D for 30000, yields C, may wait; looks; 0 left -> +1 BUSY; "
      "+5 ACQUIRE as E for 30000, may wait -> BUSY; +10 ACQUIRE as F for 30000, may wait" },
    { "yield_has_waited_after_an_acquire_that_had_not", &yielding, &usual_terms,
      "acquires, once; ACQUIRE as A for 30000 -> +8 HELD; HELD until 30007, fence 7; +2 yields, "
      "for 490; ACQUIRE as B for 30000, yields A, may wait -> +489 BUSY; +1 ACQUIRE as C for "
      "30000 -> +1 BUSY; TIMED_OUT; over" },
    { "yield_forgets_the_trouble_before_it", &yielding, &usual_terms,
      HELD_AT_0
      "; +5 extends to 30000; EXTEND as A for 30000 -> +1 UNREACHABLE; UNREACHABLE; +4 yields, "
      "for 490; ACQUIRE as B for 30000, yields A, may wait; asks when; told by 5550; unsent by "
      "never" },
    { "yielded_and_regained_is_held_anew", &yielding, &ending_after_5_s,
      "acquires, once; ACQUIRE as A for 30000 -> HELD; HELD until 5000, fence 7; +10 yields, "
      "for 490; ACQUIRE as B for 30000, yields A, may wait -> +1 QUEUED -> +389 HELD; HELD "
      "until 5400, fence 7; +1 releases; RELEASE as B" },
    { "yielded_and_not_regained_has_timed_out", &yielding, &usual_terms,
      HELD_AT_0
      "; +10 yields, for 490; ACQUIRE as B for 30000, yields A, may wait -> +1 QUEUED; +489 "
      "RELEASE as B; TIMED_OUT" },
    { "yielded_what_was_not_ours_is_lost", &yielding, &usual_terms,
      HELD_AT_0
      "; +10 yields, for 490; ACQUIRE as B for 30000, yields A, may wait -> +1 LOST; LOST; over" },
    { "yielded_without_an_answer_is_settled", &yielding, &usual_terms,
      HELD_AT_0
      "; +6000 yields, for 500; ACQUIRE as B for 30000, yields A, may wait -> +20 UNKNOWN; +5 "
      "ACQUIRE as B for 30000 again -> RETRY_WITH_NEW_TOKEN; +1 ACQUIRE as C for 30000, may wait" },
    { "yielded_is_settled_for_the_time_of_one_answer", &yielding, &usual_terms,
      HELD_AT_0
      "; +6000 yields, for 500; ACQUIRE as B for 30000, yields A, may wait -> +4999 UNKNOWN; +1 "
      "RELEASE as B; UNKNOWN" },
    { "yielded_and_cancelled_releases", &yielding, &usual_terms,
      HELD_AT_0
      "; +10 yields, for 490; ACQUIRE as B for 30000, yields A, may wait; +1 cancels; RELEASE "
      "as B; CANCELLED" },
    { "yield_interrupts_an_extension", &yielding, &usual_terms,
      HELD_AT_0
      "; +10000 EXTEND as A for 30000; +5 extends to 30000; yields, for 9000; ACQUIRE as B for "
      "30000, yields A, may wait -> +1 HELD; HELD until 40005, fence 7; +10000 EXTEND as B for "
      "30000 -> +994 HELD; +10000 EXTEND as B for 30000" },
    { "failed_renewal_is_trouble_until_one_succeeds", &verifying, &usual_terms,
      HELD_AT_0 "; +10000 EXTEND as A for 30000 -> +1 STORE_REFUSED; +1 looks; 19997 left; trouble "
                "STORE_REFUSED; +999 EXTEND as A for 30000 -> +1 HELD; +1 looks; 29998 left -> +1 "
                "UNREACHABLE; +1 looks; 29996 left; trouble UNREACHABLE" },
    { "yield_at_the_end_is_lost", &yielding, &without_renewal,
      HELD_AT_0 "; +29999 yields, for 500; RELEASE as A; LOST" },
    { "yields_by_a_release_and_an_acquire", &verifying, &usual_terms,
      HELD_AT_0
      "; +1 yields, for 8000; RELEASE as A -> +4 RELEASED; ACQUIRE as B for 30000, may wait -> "
      "+4 HELD; HELD until 30008, fence 7" },
    { "yields_at_once_where_the_release_asks_nothing", &verifying, &usual_terms,
      HELD_AT_0 "; +10 answers RELEASED; yields, for 490; ACQUIRE as B for 30000, may wait" },
    { "yielded_has_as_many_tries_as_an_acquire", &verifying, &two_tries,
      HELD_AT_0
      "; +10 yields, for 5000; RELEASE as A -> +1 RELEASED; ACQUIRE as B for 30000, may wait -> "
      "+1 BUSY; +5 ACQUIRE as C for 30000, may wait -> +983 BUSY; TIMED_OUT; over" },
    { "yielded_by_a_release_is_settled_for_one_answer", &verifying, &usual_terms,
      HELD_AT_0
      "; +10 yields, for 490; RELEASE as A -> +2990 RELEASED; ACQUIRE as B for 30000 -> +4999 "
      "UNKNOWN; +1 RELEASE as B; UNKNOWN" },
    { "yielded_late_tries_once", &verifying, &usual_terms,
      HELD_AT_0
      "; +10 yields, for 490; RELEASE as A -> +490 RELEASED; ACQUIRE as B for 30000 -> +1 BUSY; "
      "TIMED_OUT; over" },
    { "yielding_cancelled_asks_nothing_more", &verifying, &usual_terms,
      HELD_AT_0 "; +10 yields, for 490; RELEASE as A; +1 cancels; CANCELLED -> +1 RELEASED; over" },
    { "unsettled_acquire_without_an_answer_is_unknown", &unsettled, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> +10 UNKNOWN; UNKNOWN; over" },
    { "unsettled_late_grant_is_left_alone", &unsettled, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> +10 HELD until 10; +5 ACQUIRE as "
      "B for 30000, may wait -> BUSY" },
    { "unsettled_late_grant_of_the_only_try_is_not_now", &unsettled, &usual_terms,
      "acquires, once; ACQUIRE as A for 30000 -> +10 HELD until 10; NOT_NOW; over" },
    { "unsettled_cancel_waits_for_the_answer_and_releases", &unsettled, &usual_terms,
      "acquires, for ever; ACQUIRE as A for 30000, may wait -> BUSY; +5 ACQUIRE as B for 30000, "
      "may wait -> BUSY; +10 ACQUIRE as C for 30000, may wait; cancels; CANCELLED -> +3985 "
      "HELD; RELEASE as C -> +4990 UNREACHABLE; +5 RELEASE as C -> +5 UNREACHABLE; over" },
    { "unsettled_cancel_asks_nothing_when_it_is_not_surely_ours", &unsettled, &usual_terms,
      "acquires, for ever; ACQUIRE as A for 30000, may wait; +15 cancels; CANCELLED -> +5 HELD "
      "until 20; over" },
    { "unsettled_out_of_time_releases_what_is_surely_ours", &unsettled, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait; +13050 is out of time; UNKNOWN -> "
      "+1 HELD; RELEASE as A" },
    { "unsettled_cancel_between_attempts_is_over", &unsettled, &usual_terms,
      "acquires, for 8000; ACQUIRE as A for 30000, may wait -> BUSY; +1 cancels; CANCELLED; over" },
    { "unsettled_is_not_renewed_and_not_released_at_its_end", &unsettled, &usual_terms,
      HELD_AT_0 "; +29999 LOST; over" },
    { "unsettled_is_released_at_the_end_of_max_hold", &unsettled, &ending_after_5_s,
      "acquires, once; ACQUIRE as A for 30000 -> HELD; HELD until 5000, fence 7; +5000 RELEASE "
      "as A; LOST" },
    { "unsettled_disowned_is_lost_and_not_released", &unsettled, &usual_terms,
      HELD_AT_0 "; +1 store disowns; LOST; over" },
    { "unsettled_release_without_an_answer_is_not_repeated", &unsettled, &usual_terms,
      HELD_AT_0 "; +1 releases; RELEASE as A -> +1 UNKNOWN; UNKNOWN; over" },
    { "unsettled_release_not_sent_is_repeated", &unsettled, &usual_terms,
      HELD_AT_0
      "; +1 releases; RELEASE as A -> +1 NOT_NOW; +5 RELEASE as A -> UNREACHABLE; +10 RELEASE "
      "as A" },
    { "unsettled_release_is_not_repeated_after_its_end", &unsettled, &usual_terms,
      "acquires, once; ACQUIRE as A for 30000 -> HELD until 10; HELD until 10, fence 7; +1 "
      "releases; RELEASE as A -> +6 NOT_NOW; +5 NOT_NOW; over" },
    { "rules_set_the_pause", &unsettled, &pause_100,
      "acquires, for 130; ACQUIRE as A for 30000, may wait -> BUSY; +100 ACQUIRE as B for "
      "30000, may wait -> BUSY; +30 ACQUIRE as C for 30000 -> BUSY; TIMED_OUT; over" },
    { "rules_count_the_tries", &unsettled, &two_tries,
      "acquires, for ever; ACQUIRE as A for 30000, may wait -> BUSY; +5 ACQUIRE as B for 30000, "
      "may wait -> BUSY; TIMED_OUT; over" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
