/*
 * test_machine_acquire.c -- the lock machine up to the grant: attempts, pauses, settling, the end
 * of the wait, cancel.
 *
 * Stories on the protocol of scripted.h; transcript.h says how they are read.
 */
#include "transcript.h"

static const bwl_terms short_lease = {
    .lease_ms = 1000, .max_hold_ms = BWL_NEVER, .answer_ms = 5000, .renews = true
};

static const story stories[] = {
    { "every_attempt_has_a_new_token_and_pauses_double_up_to_half_a_second", &verifying,
      &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    5] asks ACQUIRE as B for 30000, may wait\n"
      "[    5] protocol tells NOT_NOW\n"
      "[   15] asks ACQUIRE as C for 30000, may wait\n"
      "[   15] protocol tells UNREACHABLE\n"
      "[   35] asks ACQUIRE as D for 30000, may wait\n"
      "[   35] protocol tells BUSY\n"
      "[   75] asks ACQUIRE as E for 30000, may wait\n"
      "[   75] protocol tells BUSY\n"
      "[  155] asks ACQUIRE as F for 30000, may wait\n"
      "[  155] protocol tells BUSY\n"
      "[  315] asks ACQUIRE as G for 30000, may wait\n"
      "[  315] protocol tells BUSY\n"
      "[  565] asks ACQUIRE as H for 30000, may wait\n"
      "[  565] protocol tells BUSY\n"
      "[  815] asks ACQUIRE as I for 30000, may wait\n"
      "[  815] protocol tells BUSY\n"
      "[ 1065] asks ACQUIRE as J for 30000, may wait\n" },
    { "chance_adds_up_to_half_of_a_pause", &verifying, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] chance 5\n"
      "[    0] protocol tells BUSY\n"
      "[   10] chance 6\n"
      "[   10] asks ACQUIRE as B for 30000, may wait\n"
      "[   10] protocol tells BUSY\n"
      "[   26] chance 21\n"
      "[   26] asks ACQUIRE as C for 30000, may wait\n"
      "[   26] protocol tells BUSY\n"
      "[   46] asks ACQUIRE as D for 30000, may wait\n" },
    { "pauses_are_short_again_after_a_success", &verifying, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    5] asks ACQUIRE as B for 30000, may wait\n"
      "[    5] protocol tells BUSY\n"
      "[   15] asks ACQUIRE as C for 30000, may wait\n"
      "[   15] protocol tells BUSY\n"
      "[   35] asks ACQUIRE as D for 30000, may wait\n"
      "[   35] protocol tells HELD\n"
      "[   35] HELD until 30034, fence 7\n"
      "[   40] caller releases\n"
      "[   40] asks RELEASE as D\n"
      "[   40] protocol tells UNKNOWN\n"
      "[   45] asks RELEASE as D\n" },
    { "token_is_empty_where_the_protocol_uses_none", &bare, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    5] asks ACQUIRE as A for 30000, may wait\n" },
    { "alarm_before_its_time_does_nothing", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    4] protocol answers HELD\n"
      "[    4] clock rings\n"
      "[    5] HELD until 30003, fence 7\n" },
    { "wakes_for_itself_or_for_its_protocol_whichever_is_sooner", &verifying, &usual_terms,
      "[    0] protocol wakes at 300, 40\n"
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] the alarm at 300 may be 40 late\n"
      "[    1] protocol wakes at 7950, 50\n"
      "[    1] protocol tells QUEUED\n"
      "[    1] the alarm at 7950 may be 50 late\n"
      "[    2] protocol wakes at 7951, 50\n"
      "[    2] server pushes no\n"
      "[    3] protocol wakes at 8001, 50\n"
      "[    3] server pushes no\n"
      "[    4] protocol wakes at 400\n"
      "[    4] server pushes no\n"
      "[    5] protocol will tell QUEUED\n"
      "[  399] clock rings\n"
      "[  401] protocol wakes at 500\n"
      "[  401] protocol tells QUEUED\n"
      "[  402] protocol will tell HELD\n"
      "[  500] HELD until 30401, fence 7\n" },
    { "release_forgets_the_alarm_of_the_protocol", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol wakes at 400\n"
      "[    0] protocol tells QUEUED\n"
      "[    3] caller cancels\n"
      "[    3] asks RELEASE as A\n"
      "[    3] CANCELLED\n"
      "[    3] protocol tells NOT_NOW\n"
      "[    8] asks RELEASE as A\n" },
    { "no_after_the_wait_is_followed_by_a_last_try", &verifying, &usual_terms,
      "[    0] caller acquires, for 7\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[   50] protocol tells BUSY\n"
      "[   50] asks ACQUIRE as B for 30000\n"
      "[   51] protocol tells BUSY\n"
      "[   51] TIMED_OUT\n"
      "[   51] over\n" },
    { "not_now_after_the_wait_is_followed_by_a_last_try", &verifying, &usual_terms,
      "[    0] caller acquires, for 500\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[  700] protocol tells NOT_NOW\n"
      "[  700] asks ACQUIRE as B for 30000\n"
      "[  701] protocol tells HELD\n"
      "[  701] HELD until 30700, fence 7\n" },
    { "unreachable_before_the_end_of_the_wait_is_tried_again_at_its_end", &verifying, &usual_terms,
      "[    0] caller acquires, for 500\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[  499] protocol tells UNREACHABLE\n"
      "[  500] asks ACQUIRE as B for 30000\n"
      "[  501] protocol tells HELD\n"
      "[  501] HELD until 30500, fence 7\n" },
    { "unreachable_at_the_end_of_the_wait_is_not_tried_again", &verifying, &usual_terms,
      "[    0] caller acquires, for 500\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[  500] protocol tells UNREACHABLE\n"
      "[  500] UNREACHABLE\n"
      "[  500] over\n" },
    { "waits_for_ever_in_the_queue", &verifying, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells QUEUED\n"
      "[99999] server pushes no\n"
      "[99999] protocol tells HELD\n"
      "[99999] HELD until 129998, fence 7\n" },
    { "settles_with_the_same_token_until_a_no", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[   10] protocol tells UNKNOWN\n"
      "[   15] asks ACQUIRE as A for 30000 again\n"
      "[   15] protocol tells UNKNOWN\n"
      "[   25] asks ACQUIRE as A for 30000 again\n"
      "[   25] protocol tells BUSY\n"
      "[   45] asks ACQUIRE as B for 30000, may wait\n" },
    { "without_a_wait_settles_for_the_time_of_one_answer", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[ 4999] protocol tells UNKNOWN\n"
      "[ 5000] asks RELEASE as A\n"
      "[ 5000] UNKNOWN\n" },
    { "with_a_wait_settles_until_its_end", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[ 7999] protocol tells UNKNOWN\n"
      "[ 8000] asks RELEASE as A\n"
      "[ 8000] UNKNOWN\n" },
    { "no_answer_at_the_end_of_the_wait_is_unknown", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[ 8000] protocol tells UNKNOWN\n"
      "[ 8000] asks RELEASE as A\n"
      "[ 8000] UNKNOWN\n" },
    { "settling_ends_with_the_lease", &verifying, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[29999] protocol tells UNKNOWN\n"
      "[30004] asks RELEASE as A\n"
      "[30005] protocol tells LOST\n" },
    { "listening_settles_for_longer_than_the_lease", &listening, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[30001] protocol tells UNKNOWN\n"
      "[30006] asks ACQUIRE as A for 30000 again\n" },
    { "last_attempt_discarded_without_an_answer_is_unknown", &verifying, &short_lease,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 1000\n"
      "[ 1000] protocol tells UNKNOWN\n"
      "[ 1000] asks RELEASE as A\n"
      "[ 1001] protocol tells UNKNOWN\n"
      "[ 1001] asks RELEASE as A\n"
      "[ 1001] UNKNOWN\n" },
    { "grant_that_ends_on_arrival_is_discarded", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[   50] protocol tells HELD until 50\n"
      "[   50] asks RELEASE as A\n"
      "[   51] protocol tells RELEASED\n"
      "[   56] asks ACQUIRE as B for 30000, may wait\n" },
    { "grant_of_one_millisecond_is_held", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[   50] protocol tells HELD until 51\n"
      "[   50] HELD until 51, fence 7\n"
      "[   50] asks EXTEND as A for 30000\n" },
    { "discarding_goes_on_until_the_wait_ends", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells HELD until 0\n"
      "[    0] asks RELEASE as A\n"
      "[ 7999] protocol tells UNKNOWN\n"
      "[ 8000] asks RELEASE as A\n"
      "[ 8000] protocol tells UNKNOWN\n"
      "[ 8000] asks RELEASE as A\n"
      "[ 8000] NOT_NOW\n" },
    { "discard_of_what_the_store_refuses_is_the_end", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[   20] protocol tells HELD until 0 because STORE_REFUSED\n"
      "[   20] asks RELEASE as A\n"
      "[   21] protocol tells RELEASED\n"
      "[   21] STORE_REFUSED\n"
      "[   21] over\n" },
    { "cancel_releases_for_the_time_of_one_answer", &verifying, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    5] asks ACQUIRE as B for 30000, may wait\n"
      "[    5] protocol tells BUSY\n"
      "[   15] asks ACQUIRE as C for 30000, may wait\n"
      "[   15] protocol tells BUSY\n"
      "[   35] asks ACQUIRE as D for 30000, may wait\n"
      "[   35] caller cancels\n"
      "[   35] asks RELEASE as D\n"
      "[   35] CANCELLED\n"
      "[   35] protocol tells UNKNOWN\n"
      "[   40] asks RELEASE as D\n"
      "[ 5035] protocol tells UNKNOWN\n"
      "[ 5035] over\n" },
    { "cancel_while_pausing_to_settle_releases", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells UNKNOWN\n"
      "[    1] caller cancels\n"
      "[    1] asks RELEASE as A\n"
      "[    1] CANCELLED\n"
      "[  100] protocol tells RELEASED\n"
      "[  100] over\n" },
    { "cancel_between_attempts_asks_nothing", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    1] caller cancels\n"
      "[    1] CANCELLED\n"
      "[    1] over\n" },
    { "cancelled_release_that_is_answered_at_once_is_over", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    1] protocol answers RELEASED\n"
      "[    1] caller cancels\n"
      "[    1] CANCELLED\n"
      "[    1] over\n" },
    { "commands_that_are_answered_at_once", &verifying, &usual_terms,
      "[    0] protocol answers HELD until released\n"
      "[    0] caller acquires, once\n"
      "[    0] HELD until released, fence 7\n"
      "[    1] protocol answers HELD until released\n"
      "[    1] caller extends to 30000\n"
      "[    1] HELD until released, fence 7\n"
      "[    2] protocol answers RELEASED\n"
      "[    2] caller releases\n"
      "[    2] RELEASED\n"
      "[    2] over\n" },
    { "acquire_that_is_answered_busy_at_once", &verifying, &usual_terms,
      "[    0] protocol answers BUSY\n"
      "[    0] caller acquires, once\n"
      "[    0] BUSY\n"
      "[    0] over\n" },
    { "extension_that_is_answered_lost_at_once", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[    0] protocol tells HELD\n"
      "[    0] HELD until 29999, fence 7\n"
      "[    1] protocol answers LOST\n"
      "[    1] caller extends to 30000\n"
      "[    1] LOST\n"
      "[    1] over\n" },
    { "anew_is_tried_at_once_by_a_new_token", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] chance 9999\n"
      "[    0] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[    1] asks ACQUIRE as B for 30000, may wait\n"
      "[    1] protocol tells QUEUED\n"
      "[    2] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[    3] asks ACQUIRE as C for 30000, may wait\n" },
    { "anew_and_cancelled_is_over", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[    0] caller cancels\n"
      "[    0] CANCELLED\n"
      "[    0] over\n" },
    { "anew_at_the_end_of_the_wait_tries_once_more", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells QUEUED\n"
      "[ 7999] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[ 8000] asks ACQUIRE as B for 30000\n"
      "[ 8001] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[ 8002] asks ACQUIRE as C for 30000\n"
      "[ 8002] protocol tells BUSY\n"
      "[ 8002] TIMED_OUT\n"
      "[ 8002] over\n" },
    { "anew_after_the_wait_does_not_pause", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    1] protocol tells QUEUED\n"
      "[ 8000] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[ 8000] asks ACQUIRE as B for 30000\n"
      "[12999] protocol tells UNKNOWN\n"
      "[13000] asks RELEASE as B\n"
      "[13000] UNKNOWN\n"
      "[13000] protocol tells RELEASED\n"
      "[13000] over\n" },
    { "anew_after_the_wait_keeps_the_time_for_answers", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[ 7900] protocol tells UNKNOWN\n"
      "[ 7905] asks ACQUIRE as A for 30000 again\n"
      "[11000] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[11000] asks ACQUIRE as B for 30000\n"
      "[12999] protocol tells UNKNOWN\n"
      "[13000] asks RELEASE as B\n"
      "[13000] UNKNOWN\n"
      "[13000] protocol tells RELEASED\n"
      "[13000] over\n" },
    { "anew_without_a_wait_ends_with_the_time_for_answers", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[ 4999] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[ 5000] asks ACQUIRE as B for 30000\n"
      "[ 5000] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[ 5000] NOT_NOW\n"
      "[ 5000] over\n" },
    { "anew_after_a_cut_keeps_the_time_for_answers", &verifying, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks ACQUIRE as A for 30000\n"
      "[ 3000] protocol tells UNKNOWN\n"
      "[ 3005] asks ACQUIRE as A for 30000 again\n"
      "[ 4000] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[ 4001] asks ACQUIRE as B for 30000\n"
      "[ 5000] protocol tells UNKNOWN\n"
      "[ 5000] asks RELEASE as B\n"
      "[ 5000] UNKNOWN\n" },
    { "last_attempt_after_a_wait_has_its_own_time_for_answers", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells QUEUED\n"
      "[ 7999] protocol tells RETRY_WITH_NEW_TOKEN\n"
      "[ 8000] asks ACQUIRE as B for 30000\n"
      "[12999] protocol tells UNKNOWN\n"
      "[13000] asks RELEASE as B\n"
      "[13000] UNKNOWN\n"
      "[13000] protocol tells UNKNOWN\n"
      "[13005] asks RELEASE as B\n"
      "[18000] protocol tells UNKNOWN\n"
      "[18000] over\n" },
    { "queued_without_an_answer_settles", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells QUEUED\n"
      "[  100] protocol tells UNKNOWN\n"
      "[  105] asks ACQUIRE as A for 30000 again\n"
      "[  200] protocol tells QUEUED\n"
      "[ 8000] asks RELEASE as A\n"
      "[ 8000] TIMED_OUT\n" },
    { "push_ends_the_pause_where_the_protocol_hears", &hearing, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    1] server pushes no\n"
      "[    1] asks ACQUIRE as B for 30000, may wait\n"
      "[    2] protocol tells BUSY\n"
      "[    3] link ends\n"
      "[   12] asks ACQUIRE as C for 30000, may wait\n" },
    { "push_ends_no_pause_where_the_protocol_does_not_hear", &verifying, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] protocol tells BUSY\n"
      "[    1] server pushes no\n"
      "[    5] asks ACQUIRE as B for 30000, may wait\n" },
    { "push_after_the_wait_makes_the_last_try", &hearing, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[ 7999] protocol tells BUSY\n"
      "[ 8000] server pushes no\n"
      "[ 8000] asks ACQUIRE as B for 30000\n"
      "[ 8001] protocol tells BUSY\n"
      "[ 8001] TIMED_OUT\n"
      "[ 8001] over\n" },
    { "push_in_other_states_does_nothing", &hearing, &usual_terms,
      "[    0] caller acquires, for 8000\n"
      "[    0] asks ACQUIRE as A for 30000, may wait\n"
      "[    0] server pushes no\n"
      "[    1] protocol tells UNKNOWN\n"
      "[    2] server pushes no\n"
      "[    6] asks ACQUIRE as A for 30000 again\n"
      "[    7] protocol tells HELD until 7\n"
      "[    7] asks RELEASE as A\n"
      "[    8] server pushes no\n"
      "[    9] protocol tells RELEASED\n"
      "[   19] asks ACQUIRE as B for 30000, may wait\n"
      "[   20] protocol tells HELD\n"
      "[   20] HELD until 30019, fence 7\n"
      "[   21] server pushes no\n"
      "[ 9000] caller releases\n"
      "[ 9000] asks RELEASE as B\n"
      "[ 9001] server pushes no\n"
      "[ 9002] protocol tells RELEASED\n"
      "[ 9002] RELEASED\n"
      "[ 9002] over\n"
      "[ 9003] server pushes no\n" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
