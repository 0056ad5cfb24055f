/*
 * test_machine_hold.c -- the lock machine from the grant on: renewal, extension, loss, release,
 * yield; the time limit of an acquire; protocols that cannot tell their own value from another's.
 *
 * Stories on the protocol of scripted.h; transcript.h says how they are read.
 */
#include "transcript.h"

#define TERMS(...)                                               \
    {                                                            \
        .max_hold_ms = BWL_NEVER, .answer_ms = 5000, __VA_ARGS__ \
    }

static const bwl_compat_rules tries_2          = { .tries_max = 2 };
static const bwl_compat_rules every_100_ms     = { .pause_ms = 100 };
static const bwl_terms        two_tries        = TERMS(.lease_ms = 30000, .rules = &tries_2);
static const bwl_terms        pause_100        = TERMS(.lease_ms = 30000, .rules = &every_100_ms);
static const bwl_terms        with_replica     = TERMS(.lease_ms = 30000, .replicas = 1);
static const bwl_terms        lease_100        = TERMS(.lease_ms = 100, .renews = true);
static const bwl_terms        lease_132        = TERMS(.lease_ms = 132, .renews = true);
static const bwl_terms        lease_12011      = TERMS(.lease_ms = 12011, .renews = true);
static const bwl_terms        ending_after_5_s = {
           .lease_ms = 30000, .max_hold_ms = 5000, .answer_ms = 5000, .renews = true
};

#define HELD_AT_0                           \
    "[    0] caller acquires, once\n"       \
    "[    0] asks ACQUIRE as A for 30000\n" \
    "[    0] protocol tells HELD\n"         \
    "[    0] HELD until 29999, fence 7\n"

static const story stories[] = {
    { "renews_at_a_third_of_the_lease", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells HELD\n"
      "[    0] HELD until 29999, fence 7\n"
      "[10000] asks EXTEND as A for 30000\n"
      "[10000] protocol tells HELD\n"
      "[10000] caller looks\n"
      "[10000] 29999 left\n"
      "[20000] asks EXTEND as A for 30000\n"
      "[20000] protocol tells HELD until 39998\n"
      "[20000] caller looks\n"
      "[20000] 19999 left\n" },
    { "renews_at_half_of_what_is_left_after_a_late_answer", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[10000] protocol tells HELD until 12000\n"
      "[10000] HELD until 12000, fence 7\n"
      "[11000] asks EXTEND as A for 30000\n"
      "[11001] protocol tells HELD until 12002\n"
      "[11501] asks EXTEND as A for 30000\n" },
    { "without_renewal_ends_with_the_lease", &verifying, &without_renewal,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells HELD\n"
      "[    0] HELD until 29999, fence 7\n"
      "[29998] server pushes no\n"
      "[29998] caller looks\n"
      "[29998] 1 left\n"
      "[29998] caller looks truly\n"
      "[29998] truly 0 left\n"
      "[29999] server pushes no\n"
      "[29999] asks RELEASE as A\n"
      "[29999] LOST\n"
      "[29999] caller looks\n"
      "[29999] 0 left\n" },
    { "without_a_lease_has_no_end", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    1] protocol tells HELD until released\n"
      "[    1] HELD until released, fence 7\n"
      "[99999] caller looks\n"
      "[99999] no end\n"
      "[99999] caller looks truly\n"
      "[99999] truly no end\n" },
    { "failed_renewal_is_tried_again_after_10_ms_at_least", &verifying, &lease_100,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 100\n"
      "[    0] protocol tells HELD until 100\n"
      "[    0] HELD until 100, fence 7\n"
      "[   33] asks EXTEND as A for 100\n"
      "[   33] protocol tells NOT_NOW\n"
      "[   43] asks EXTEND as A for 100\n" },
    { "failed_renewal_is_tried_again_after_a_twelfth_of_the_lease", &verifying, &lease_132,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 132\n"
      "[    0] protocol tells HELD until 132\n"
      "[    0] HELD until 132, fence 7\n"
      "[   44] asks EXTEND as A for 132\n"
      "[   44] protocol tells UNREACHABLE\n"
      "[   55] asks EXTEND as A for 132\n"
      "[   55] protocol tells UNKNOWN\n"
      "[   66] asks EXTEND as A for 132\n" },
    { "failed_renewal_is_tried_again_after_a_second_at_most", &verifying, &lease_12011,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 12011\n"
      "[    0] protocol tells HELD until 12011\n"
      "[    0] HELD until 12011, fence 7\n"
      "[ 4003] asks EXTEND as A for 12011\n"
      "[ 4003] protocol tells STORE_REFUSED\n"
      "[ 5003] asks EXTEND as A for 12011\n" },
    { "failed_renewal_is_not_tried_after_the_end", &verifying, &usual_terms,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[29000] protocol tells UNKNOWN\n"
                "[29999] asks RELEASE as A\n"
                "[29999] LOST\n" },
    { "failed_extension_is_not_tried_again_without_renewal", &verifying, &without_renewal,
      HELD_AT_0 "[  100] caller extends to 30000\n"
                "[  100] asks EXTEND as A for 30000\n"
                "[  200] protocol tells UNKNOWN\n"
                "[  200] UNKNOWN\n"
                "[29999] asks RELEASE as A\n"
                "[29999] LOST\n" },
    { "extension_is_told_and_sets_the_lease", &verifying, &usual_terms,
      HELD_AT_0 "[  100] caller extends to 90000\n"
                "[  100] asks EXTEND as A for 90000\n"
                "[  101] protocol tells HELD until 90000\n"
                "[  101] HELD until 90000, fence 7\n"
                "[30101] asks EXTEND as A for 90000\n"
                "[40000] protocol tells HELD until 99999\n"
                "[40000] caller looks\n"
                "[40000] 59999 left\n" },
    { "extension_while_a_renewal_is_out_is_asked_after_it", &verifying, &usual_terms,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[10050] caller extends to 90000\n"
                "[10100] protocol tells HELD until 40000\n"
                "[10100] asks EXTEND as A for 90000\n"
                "[10100] caller looks\n"
                "[10100] 29900 left\n"
                "[10200] protocol tells HELD until 99999\n"
                "[10200] HELD until 99999, fence 7\n"
                "[40200] asks EXTEND as A for 90000\n"
                "[50000] protocol tells HELD until 99999\n"
                "[50000] caller looks\n"
                "[50000] 49999 left\n" },
    { "extension_behind_a_failed_renewal_fails_with_it", &verifying, &usual_terms,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[10050] caller extends to 90000\n"
                "[10100] protocol tells UNREACHABLE\n"
                "[10100] UNREACHABLE\n"
                "[11100] asks EXTEND as A for 90000\n"
                "[12000] protocol tells HELD until 99999\n"
                "[42000] asks EXTEND as A for 90000\n" },
    { "renewal_answered_after_the_end_is_lost", &verifying, &usual_terms,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[29999] protocol tells HELD until 99999\n"
                "[29999] asks RELEASE as A\n"
                "[29999] LOST\n" },
    { "extend_at_the_end_is_lost", &verifying, &usual_terms,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[29998] caller extends to 30000\n"
                "[29999] caller extends to 30000\n"
                "[29999] asks RELEASE as A\n"
                "[29999] LOST\n" },
    { "release_at_the_end_is_lost", &verifying, &without_renewal,
      HELD_AT_0 "[29999] caller releases\n"
                "[29999] asks RELEASE as A\n"
                "[29999] LOST\n"
                "[30000] protocol tells RELEASED\n"
                "[30000] over\n" },
    { "max_hold_ends_it_before_the_lease", &verifying, &ending_after_5_s,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[ 3000] protocol tells HELD\n"
      "[ 3000] HELD until 8000, fence 7\n"
      "[ 8000] asks RELEASE as A\n"
      "[ 8000] LOST\n" },
    { "max_hold_ends_what_has_no_lease", &verifying, &ending_after_5_s,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells HELD until released\n"
      "[    0] HELD until 5000, fence 7\n"
      "[ 5000] asks RELEASE as A\n"
      "[ 5000] LOST\n" },
    { "max_hold_ends_it_whatever_the_renewal_says", &verifying, &ending_after_45_s,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[20000] protocol tells HELD\n"
                "[20000] caller looks\n"
                "[20000] 25000 left\n"
                "[30000] caller extends to 60000\n"
                "[30000] asks EXTEND as A for 60000\n"
                "[30001] protocol tells HELD until 89999\n"
                "[30001] HELD until 45000, fence 7\n"
                "[45000] asks RELEASE as A\n"
                "[45000] LOST\n" },
    { "grant_unasked_prolongs_it", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells HELD until 2000\n"
      "[    0] HELD until 2000, fence 7\n"
      "[   10] protocol tells HELD until 29000\n"
      "[   10] caller looks\n"
      "[   10] 28990 left\n"
      "[   20] protocol tells HELD until 500\n"
      "[   20] caller looks\n"
      "[   20] 28980 left\n"
      "[10020] asks EXTEND as A for 30000\n" },
    { "grant_unasked_without_renewal_prolongs_it", &verifying, &without_renewal,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells HELD until 2000\n"
      "[    0] HELD until 2000, fence 7\n"
      "[   10] protocol tells HELD until 29000\n"
      "[29000] asks RELEASE as A\n"
      "[29000] LOST\n" },
    { "grant_unasked_does_not_outlast_max_hold", &verifying, &ending_after_5_s,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells HELD until 2000\n"
      "[    0] HELD until 2000, fence 7\n"
      "[   10] protocol tells HELD until 29000\n"
      "[   10] caller looks\n"
      "[   10] 4990 left\n" },
    { "grant_unasked_after_the_end_is_lost", &verifying, &without_renewal,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells HELD until 2000\n"
      "[    0] HELD until 2000, fence 7\n"
      "[ 2000] protocol tells HELD until 29000\n"
      "[ 2000] asks RELEASE as A\n"
      "[ 2000] LOST\n" },
    { "disowned_is_lost_and_released_at_its_end", &verifying, &usual_terms,
      HELD_AT_0 "[    7] store disowns\n"
                "[    7] LOST\n"
                "[    7] caller looks\n"
                "[    7] 0 left\n"
                "[29998] clock rings\n"
                "[29999] asks RELEASE as A\n"
                "[29999] protocol tells LOST\n"
                "[29999] over\n" },
    { "disowned_is_released_when_given_back", &verifying, &usual_terms,
      HELD_AT_0 "[    7] store disowns\n"
                "[    7] LOST\n"
                "[    8] caller gives back\n"
                "[    8] asks RELEASE as A\n"
                "[    9] protocol tells NOT_NOW\n"
                "[   14] asks RELEASE as A\n"
                "[   14] protocol tells RELEASED\n"
                "[   14] over\n" },
    { "disowned_ignores_replies", &verifying, &usual_terms,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[10001] store disowns\n"
                "[10001] LOST\n"
                "[10002] protocol tells HELD\n"
                "[10003] link ends\n"
                "[29999] asks RELEASE as A\n" },
    { "disowned_at_its_end_is_released_at_once", &verifying, &without_renewal,
      HELD_AT_0 "[29999] store disowns\n"
                "[29999] asks RELEASE as A\n"
                "[29999] LOST\n" },
    { "release_interrupts_a_renewal", &verifying, &usual_terms,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[10001] caller releases\n"
                "[10001] asks RELEASE as A\n"
                "[10002] protocol tells RELEASED\n"
                "[10002] RELEASED\n"
                "[10002] over\n" },
    { "release_is_repeated_for_the_time_of_one_answer", &verifying, &usual_terms,
      HELD_AT_0 "[    1] caller releases\n"
                "[    1] asks RELEASE as A\n"
                "[    2] protocol tells NOT_NOW\n"
                "[    7] asks RELEASE as A\n"
                "[ 5000] protocol tells UNREACHABLE\n"
                "[ 5001] asks RELEASE as A\n"
                "[ 5001] protocol tells UNREACHABLE\n"
                "[ 5001] UNREACHABLE\n"
                "[ 5001] over\n" },
    { "release_once_without_an_answer_stays_unknown", &verifying, &usual_terms,
      HELD_AT_0 "[    1] caller releases\n"
                "[    1] asks RELEASE as A\n"
                "[    2] protocol tells UNKNOWN\n"
                "[    7] asks RELEASE as A\n"
                "[ 5001] protocol tells NOT_NOW\n"
                "[ 5001] UNKNOWN\n"
                "[ 5001] over\n" },
    { "release_repeated_after_no_answer_is_never_lost", &verifying, &usual_terms,
      HELD_AT_0 "[    1] caller releases\n"
                "[    1] asks RELEASE as A\n"
                "[    2] protocol tells UNKNOWN\n"
                "[    7] asks RELEASE as A\n"
                "[    7] protocol tells LOST\n"
                "[    7] UNKNOWN\n"
                "[    7] over\n" },
    { "release_repeated_after_no_answer_may_succeed", &verifying, &usual_terms,
      HELD_AT_0 "[    1] caller releases\n"
                "[    1] asks RELEASE as A\n"
                "[    2] protocol tells UNKNOWN\n"
                "[    7] asks RELEASE as A\n"
                "[    7] protocol tells RELEASED\n"
                "[    7] RELEASED\n"
                "[    7] over\n" },
    { "release_repeated_after_not_now_may_be_lost", &verifying, &usual_terms,
      HELD_AT_0 "[    1] caller releases\n"
                "[    1] asks RELEASE as A\n"
                "[    2] protocol tells NOT_NOW\n"
                "[    7] asks RELEASE as A\n"
                "[    7] protocol tells LOST\n"
                "[    7] LOST\n"
                "[    7] over\n" },
    { "told_by_the_wait_and_one_answer", &verifying, &usual_terms,
      "[    0] caller acquires, for 500\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] caller asks when\n"
      "[    0] told by 5550\n"
      "[    0] unsent by never\n"
      "[    1] protocol tells BUSY\n"
      "[    1] caller asks when\n"
      "[    1] told by 5550\n"
      "[    1] unsent by never\n"
      "[    6] asks ACQUIRE as B for 30000, may wait\n"
      "[    6] protocol tells UNREACHABLE\n"
      "[    6] caller asks when\n"
      "[    6] told by 5550\n"
      "[    6] unsent by never\n"
      "[   16] asks ACQUIRE as C for 30000, may wait\n"
      "[   20] caller asks when\n"
      "[   20] told by 5550\n"
      "[   20] unsent by 500\n"
      "[   20] protocol tells HELD\n"
      "[   20] HELD until 30019, fence 7\n"
      "[   20] caller asks when\n"
      "[   20] told by never\n"
      "[   20] unsent by never\n"
      "[   21] caller releases\n"
      "[   21] asks RELEASE as C\n"
      "[   21] caller asks when\n"
      "[   21] told by never\n"
      "[   21] unsent by never\n"
      "[   21] protocol tells RELEASED\n"
      "[   21] RELEASED\n"
      "[   21] over\n"
      "[   21] caller asks when\n"
      "[   21] told by never\n"
      "[   21] unsent by never\n" },
    { "told_by_leaves_time_for_replicas", &verifying, &with_replica,
      "[    0] caller acquires, for 500\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] caller asks when\n"
      "[    0] told by 5800\n"
      "[    0] unsent by never\n" },
    { "told_by_never_without_a_limit", &verifying, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells UNREACHABLE\n"
      "[    5] asks ACQUIRE as B for 30000, may wait\n"
      "[    5] caller asks when\n"
      "[    5] told by never\n"
      "[    5] unsent by never\n" },
    { "unsent_by_the_time_of_one_answer_while_settling", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells UNKNOWN\n"
      "[    5] asks ACQUIRE as A for 30000 again\n"
      "[    5] caller asks when\n"
      "[    5] told by 5050\n"
      "[    5] unsent by 5000\n" },
    { "out_of_time_with_a_question_out_is_unknown", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[13050] caller is out of time\n"
      "[13050] asks RELEASE as A\n"
      "[13050] UNKNOWN\n"
      "[13051] protocol tells UNKNOWN\n"
      "[13056] asks RELEASE as A\n"
      "[13056] protocol tells RELEASED\n"
      "[13056] over\n" },
    { "out_of_time_while_settling_is_unknown", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells UNKNOWN\n"
      "[    5] asks ACQUIRE as A for 30000 again\n"
      "[13050] caller is out of time\n"
      "[13050] asks RELEASE as A\n"
      "[13050] UNKNOWN\n" },
    { "out_of_time_while_discarding_tells_why", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells HELD until 0\n"
      "[    0] asks RELEASE as A\n"
      "[13050] caller is out of time\n"
      "[13050] asks RELEASE as A\n"
      "[13050] NOT_NOW\n" },
    { "out_of_time_in_the_queue_has_timed_out", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells QUEUED\n"
      "[ 7999] caller is out of time\n"
      "[ 7999] asks RELEASE as A\n"
      "[ 7999] TIMED_OUT\n" },
    { "out_of_time_after_busy_has_timed_out", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    1] caller is out of time\n"
      "[    1] TIMED_OUT\n"
      "[    1] over\n" },
    { "out_of_time_without_a_wait_tells_why", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[    0] caller is out of time\n"
      "[    0] NOT_NOW\n"
      "[    0] over\n" },
    { "out_of_time_in_a_pause_tells_why_it_pauses", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells NOT_NOW\n"
      "[    1] caller is out of time\n"
      "[    1] NOT_NOW\n"
      "[    1] over\n" },
    { "out_of_time_while_yielding_is_unknown", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells HELD\n"
      "[    0] HELD until 29999, fence 7\n"
      "[    1] caller yields, for 500\n"
      "[    1] asks RELEASE as A\n"
      "[ 5551] caller is out of time\n"
      "[ 5551] UNKNOWN\n"
      "[ 5552] protocol tells RELEASED\n"
      "[ 5552] over\n" },
    { "yields_by_a_new_token", &yielding, &usual_terms,
      "[    0] caller acquires, for 7\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    5] asks ACQUIRE as B for 30000, may wait\n"
      "[    5] protocol tells BUSY\n"
      "[    7] asks ACQUIRE as C for 30000\n"
      "[    8] protocol tells HELD\n"
      "[    8] HELD until 30007, fence 7\n"
      "[   10] caller yields, for 490\n"
      "[   10] asks ACQUIRE as D for 30000, yields C, may wait\n"
      "[   10] caller looks\n"
      "[   10] 0 left\n"
      "[   11] protocol tells BUSY\n"
      "[   16] asks ACQUIRE as E for 30000, may wait\n"
      "[   16] protocol tells BUSY\n"
      "[   26] asks ACQUIRE as F for 30000, may wait\n" },
    { "yield_has_waited_after_an_acquire_that_had_not", &yielding, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    8] protocol tells HELD\n"
      "[    8] HELD until 30007, fence 7\n"
      "[   10] caller yields, for 490\n"
      "[   10] asks ACQUIRE as B for 30000, yields A, may wait\n"
      "[  499] protocol tells BUSY\n"
      "[  500] asks ACQUIRE as C for 30000\n"
      "[  501] protocol tells BUSY\n"
      "[  501] TIMED_OUT\n"
      "[  501] over\n" },
    { "yield_forgets_the_trouble_before_it", &yielding, &usual_terms,
      HELD_AT_0 "[    5] caller extends to 30000\n"
                "[    5] asks EXTEND as A for 30000\n"
                "[    6] protocol tells UNREACHABLE\n"
                "[    6] UNREACHABLE\n"
                "[   10] caller yields, for 490\n"
                "[   10] asks ACQUIRE as B for 30000, yields A, may wait\n"
                "[   10] caller asks when\n"
                "[   10] told by 5550\n"
                "[   10] unsent by never\n" },
    { "yielded_and_regained_is_held_anew", &yielding, &ending_after_5_s,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells HELD\n"
      "[    0] HELD until 5000, fence 7\n"
      "[   10] caller yields, for 490\n"
      "[   10] asks ACQUIRE as B for 30000, yields A, may wait\n"
      "[   11] protocol tells QUEUED\n"
      "[  400] protocol tells HELD\n"
      "[  400] HELD until 5400, fence 7\n"
      "[  401] caller releases\n"
      "[  401] asks RELEASE as B\n" },
    { "yielded_and_not_regained_has_timed_out", &yielding, &usual_terms,
      HELD_AT_0 "[   10] caller yields, for 490\n"
                "[   10] asks ACQUIRE as B for 30000, yields A, may wait\n"
                "[   11] protocol tells QUEUED\n"
                "[  500] asks RELEASE as B\n"
                "[  500] TIMED_OUT\n" },
    { "yielded_what_was_not_ours_is_lost", &yielding, &usual_terms,
      HELD_AT_0 "[   10] caller yields, for 490\n"
                "[   10] asks ACQUIRE as B for 30000, yields A, may wait\n"
                "[   11] protocol tells LOST\n"
                "[   11] LOST\n"
                "[   11] over\n" },
    { "yielded_without_an_answer_is_settled", &yielding, &usual_terms,
      HELD_AT_0 "[ 6000] caller yields, for 500\n"
                "[ 6000] asks ACQUIRE as B for 30000, yields A, may wait\n"
                "[ 6020] protocol tells UNKNOWN\n"
                "[ 6025] asks ACQUIRE as B for 30000 again\n"
                "[ 6025] protocol tells RETRY_WITH_NEW_TOKEN\n"
                "[ 6026] asks ACQUIRE as C for 30000, may wait\n" },
    { "yielded_is_settled_for_the_time_of_one_answer", &yielding, &usual_terms,
      HELD_AT_0 "[ 6000] caller yields, for 500\n"
                "[ 6000] asks ACQUIRE as B for 30000, yields A, may wait\n"
                "[10999] protocol tells UNKNOWN\n"
                "[11000] asks RELEASE as B\n"
                "[11000] UNKNOWN\n" },
    { "yielded_and_cancelled_releases", &yielding, &usual_terms,
      HELD_AT_0 "[   10] caller yields, for 490\n"
                "[   10] asks ACQUIRE as B for 30000, yields A, may wait\n"
                "[   11] caller cancels\n"
                "[   11] asks RELEASE as B\n"
                "[   11] CANCELLED\n" },
    { "yield_interrupts_an_extension", &yielding, &usual_terms,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[10005] caller extends to 30000\n"
                "[10005] caller yields, for 9000\n"
                "[10005] asks ACQUIRE as B for 30000, yields A, may wait\n"
                "[10006] protocol tells HELD\n"
                "[10006] HELD until 40005, fence 7\n"
                "[20006] asks EXTEND as B for 30000\n"
                "[21000] protocol tells HELD\n"
                "[31000] asks EXTEND as B for 30000\n" },
    { "failed_renewal_is_trouble_until_one_succeeds", &verifying, &usual_terms,
      HELD_AT_0 "[10000] asks EXTEND as A for 30000\n"
                "[10001] protocol tells STORE_REFUSED\n"
                "[10002] caller looks\n"
                "[10002] 19997 left\n"
                "[10002] trouble STORE_REFUSED\n"
                "[11001] asks EXTEND as A for 30000\n"
                "[11002] protocol tells HELD\n"
                "[11003] caller looks\n"
                "[11003] 29998 left\n"
                "[11004] protocol tells UNREACHABLE\n"
                "[11005] caller looks\n"
                "[11005] 29996 left\n"
                "[11005] trouble UNREACHABLE\n" },
    { "yield_at_the_end_is_lost", &yielding, &without_renewal,
      HELD_AT_0 "[29999] caller yields, for 500\n"
                "[29999] asks RELEASE as A\n"
                "[29999] LOST\n" },
    { "yields_by_a_release_and_an_acquire", &verifying, &usual_terms,
      HELD_AT_0 "[    1] caller yields, for 8000\n"
                "[    1] asks RELEASE as A\n"
                "[    5] protocol tells RELEASED\n"
                "[    5] asks ACQUIRE as B for 30000, may wait\n"
                "[    9] protocol tells HELD\n"
                "[    9] HELD until 30008, fence 7\n" },
    { "yields_at_once_where_the_release_asks_nothing", &verifying, &usual_terms,
      HELD_AT_0 "[   10] protocol answers RELEASED\n"
                "[   10] caller yields, for 490\n"
                "[   10] asks ACQUIRE as B for 30000, may wait\n" },
    { "yielded_has_as_many_tries_as_an_acquire", &verifying, &two_tries,
      HELD_AT_0 "[   10] caller yields, for 5000\n"
                "[   10] asks RELEASE as A\n"
                "[   11] protocol tells RELEASED\n"
                "[   11] asks ACQUIRE as B for 30000, may wait\n"
                "[   12] protocol tells BUSY\n"
                "[   17] asks ACQUIRE as C for 30000, may wait\n"
                "[ 1000] protocol tells BUSY\n"
                "[ 1000] TIMED_OUT\n"
                "[ 1000] over\n" },
    { "yielded_by_a_release_is_settled_for_one_answer", &verifying, &usual_terms,
      HELD_AT_0 "[   10] caller yields, for 490\n"
                "[   10] asks RELEASE as A\n"
                "[ 3000] protocol tells RELEASED\n"
                "[ 3000] asks ACQUIRE as B for 30000\n"
                "[ 7999] protocol tells UNKNOWN\n"
                "[ 8000] asks RELEASE as B\n"
                "[ 8000] UNKNOWN\n" },
    { "yielded_late_tries_once", &verifying, &usual_terms,
      HELD_AT_0 "[   10] caller yields, for 490\n"
                "[   10] asks RELEASE as A\n"
                "[  500] protocol tells RELEASED\n"
                "[  500] asks ACQUIRE as B for 30000\n"
                "[  501] protocol tells BUSY\n"
                "[  501] TIMED_OUT\n"
                "[  501] over\n" },
    { "yielding_cancelled_asks_nothing_more", &verifying, &usual_terms,
      HELD_AT_0 "[   10] caller yields, for 490\n"
                "[   10] asks RELEASE as A\n"
                "[   11] caller cancels\n"
                "[   11] CANCELLED\n"
                "[   12] protocol tells RELEASED\n"
                "[   12] over\n" },
    { "unsettled_acquire_without_an_answer_is_unknown", &unsettled, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[   10] protocol tells UNKNOWN\n"
      "[   10] UNKNOWN\n"
      "[   10] over\n" },
    { "unsettled_late_grant_is_left_alone", &unsettled, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[   10] protocol tells HELD until 10\n"
      "[   15] asks ACQUIRE as B for 30000, may wait\n"
      "[   15] protocol tells BUSY\n" },
    { "unsettled_late_grant_of_the_only_try_is_not_now", &unsettled, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[   10] protocol tells HELD until 10\n"
      "[   10] NOT_NOW\n"
      "[   10] over\n" },
    { "unsettled_cancel_waits_for_the_answer_and_releases", &unsettled, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    5] asks ACQUIRE as B for 30000, may wait\n"
      "[    5] protocol tells BUSY\n"
      "[   15] asks ACQUIRE as C for 30000, may wait\n"
      "[   15] caller cancels\n"
      "[   15] CANCELLED\n"
      "[ 4000] protocol tells HELD\n"
      "[ 4000] asks RELEASE as C\n"
      "[ 8990] protocol tells UNREACHABLE\n"
      "[ 8995] asks RELEASE as C\n"
      "[ 9000] protocol tells UNREACHABLE\n"
      "[ 9000] over\n" },
    { "unsettled_cancel_asks_nothing_when_it_is_not_surely_ours", &unsettled, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[   15] caller cancels\n"
      "[   15] CANCELLED\n"
      "[   20] protocol tells HELD until 20\n"
      "[   20] over\n" },
    { "unsettled_out_of_time_releases_what_is_surely_ours", &unsettled, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[13050] caller is out of time\n"
      "[13050] UNKNOWN\n"
      "[13051] protocol tells HELD\n"
      "[13051] asks RELEASE as A\n" },
    { "unsettled_cancel_between_attempts_is_over", &unsettled, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    1] caller cancels\n"
      "[    1] CANCELLED\n"
      "[    1] over\n" },
    { "unsettled_is_not_renewed_and_not_released_at_its_end", &unsettled, &usual_terms,
      HELD_AT_0 "[29999] LOST\n"
                "[29999] over\n" },
    { "unsettled_is_released_at_the_end_of_max_hold", &unsettled, &ending_after_5_s,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells HELD\n"
      "[    0] HELD until 5000, fence 7\n"
      "[ 5000] asks RELEASE as A\n"
      "[ 5000] LOST\n" },
    { "unsettled_disowned_is_lost_and_not_released", &unsettled, &usual_terms,
      HELD_AT_0 "[    1] store disowns\n"
                "[    1] LOST\n"
                "[    1] over\n" },
    { "unsettled_release_without_an_answer_is_not_repeated", &unsettled, &usual_terms,
      HELD_AT_0 "[    1] caller releases\n"
                "[    1] asks RELEASE as A\n"
                "[    2] protocol tells UNKNOWN\n"
                "[    2] UNKNOWN\n"
                "[    2] over\n" },
    { "unsettled_release_not_sent_is_repeated", &unsettled, &usual_terms,
      HELD_AT_0 "[    1] caller releases\n"
                "[    1] asks RELEASE as A\n"
                "[    2] protocol tells NOT_NOW\n"
                "[    7] asks RELEASE as A\n"
                "[    7] protocol tells UNREACHABLE\n"
                "[   17] asks RELEASE as A\n" },
    { "unsettled_release_is_not_repeated_after_its_end", &unsettled, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells HELD until 10\n"
      "[    0] HELD until 10, fence 7\n"
      "[    1] caller releases\n"
      "[    1] asks RELEASE as A\n"
      "[    7] protocol tells NOT_NOW\n"
      "[   12] NOT_NOW\n"
      "[   12] over\n" },
    { "rules_set_the_pause", &unsettled, &pause_100,
      "[    0] caller acquires, for 130\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[  100] asks ACQUIRE as B for 30000, may wait\n"
      "[  100] protocol tells BUSY\n"
      "[  130] asks ACQUIRE as C for 30000\n"
      "[  130] protocol tells BUSY\n"
      "[  130] TIMED_OUT\n"
      "[  130] over\n" },
    { "rules_count_the_tries", &unsettled, &two_tries,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    5] asks ACQUIRE as B for 30000, may wait\n"
      "[    5] protocol tells BUSY\n"
      "[    5] TIMED_OUT\n"
      "[    5] over\n" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
