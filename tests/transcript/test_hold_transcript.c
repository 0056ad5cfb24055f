/*
 * test_hold_transcript.c -- coming to a lock that is one key on one Redis: timed stories.
 *
 * transcript.h says how they are read.  A lease of 30000 ms is worth 29698 ms to us.
 */
#include "transcript.h"

static const story stories[] = {
    { "acquire_and_release", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[   50] caller looks\n"
      "[   50] 29648 left\n"
      "[  100] caller releases\n"
      "[  100] asks DELETE_IF_MINE as A\n"
      "[  102] server says yes\n"
      "[  102] RELEASED\n"
      "[  102] over\n" },
    /* Every attempt has a new token; pauses double and are half left to chance. */
    { "busy_then_free", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 1000\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    2] server says no\n"
      "[    7] asks SET_IF_ABSENT as B for 30000\n"
      "[    9] chance 10\n"
      "[    9] server says no\n"
      "[   29] asks SET_IF_ABSENT as C for 30000\n"
      "[   31] chance 20\n"
      "[   31] server says no\n"
      "[   71] asks SET_IF_ABSENT as D for 30000\n"
      "[   73] server says yes\n"
      "[   73] HELD until 29769\n" },
    { "once_is_busy", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    2] server says no\n"
      "[    2] BUSY\n"
      "[    2] over\n"
      "[ 9999] caller looks\n"
      "[ 9999] 0 left\n" },
    { "timeout_after_a_last_look", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 100\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    1] server says no\n"
      "[    6] asks SET_IF_ABSENT as B for 30000\n"
      "[    7] server says no\n"
      "[   17] asks SET_IF_ABSENT as C for 30000\n"
      "[   18] server says no\n"
      "[   38] asks SET_IF_ABSENT as D for 30000\n"
      "[   39] server says no\n"
      "[   79] asks SET_IF_ABSENT as E for 30000\n"
      "[   80] server says no\n"
      "[  100] asks SET_IF_ABSENT as F for 30000\n"
      "[  101] server says no\n"
      "[  101] TIMED_OUT\n"
      "[  101] over\n" },
    { "the_last_look_finds_it_free", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 10\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    6] server says no\n"
      "[   10] asks SET_IF_ABSENT as B for 30000\n"
      "[   12] server says yes\n"
      "[   12] HELD until 29708\n" },
    /* The lease counts from the first question, which may be the one that got through. */
    { "cut_and_settled_to_held", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 10000\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[ 2000] link cuts\n"
      "[ 2005] asks SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[ 2005] link sends nothing\n"
      "[ 2015] asks SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[ 2016] server says later\n"
      "[ 2036] asks SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[ 2040] server says yes\n"
      "[ 2040] HELD until 29698\n"
      "[12040] asks EXTEND_IF_MINE as A for 30000\n" },
    /* A no settles it: not ours.  The next attempt is a new one in every respect. */
    { "cut_and_settled_to_busy", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 10000\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[ 2000] link cuts\n"
      "[ 2005] asks SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[ 2007] server says no\n"
      "[ 2017] asks SET_IF_ABSENT as B for 30000\n"
      "[ 2018] server says no\n"
      "[ 2038] asks SET_IF_ABSENT as C for 30000\n"
      "[ 2039] server says yes\n"
      "[ 2039] HELD until 31736\n" },
    /* Nobody can know; the caller is told so, and what may be ours is taken back. */
    { "unanswered_until_the_end", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[ 2000] link cuts\n"
      "[ 2005] asks SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[ 4000] link cuts\n"
      "[ 4010] asks SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[ 4990] link cuts\n"
      "[ 5000] asks DELETE_IF_MINE as A\n"
      "[ 5000] UNKNOWN\n"
      "[ 7000] link cuts\n"
      "[ 7005] asks DELETE_IF_MINE as A\n"
      "[10000] link cuts\n"
      "[10000] over\n" },
    /* A refusal says nothing of the question before it. */
    { "settling_is_refused", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 10000\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[ 2000] link cuts\n"
      "[ 2005] asks SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[ 2006] server says refused\n"
      "[ 2006] asks DELETE_IF_MINE as A\n"
      "[ 2006] UNKNOWN\n"
      "[ 2007] server says no\n"
      "[ 2007] over\n" },
    /* What would be won now is worth nothing any more: given back, and a new attempt. */
    { "settling_outlives_the_lease", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[29990] link cuts\n"
      "[29995] asks SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[31000] link cuts\n"
      "[31000] asks DELETE_IF_MINE as A\n"
      "[31001] server says yes\n"
      "[31011] asks SET_IF_ABSENT as B for 30000\n"
      "[31022] server says yes\n"
      "[31022] HELD until 60709\n" },
    /* A yes that comes after its own end. */
    { "won_too_late", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[29698] server says yes\n"
      "[29698] asks DELETE_IF_MINE as A\n"
      "[29699] server says yes\n"
      "[29704] asks SET_IF_ABSENT as B for 30000\n"
      "[29706] server says yes\n"
      "[29706] HELD until 59402\n" },
    { "won_late_is_renewed_soon", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[20000] server says yes\n"
      "[20000] HELD until 29698\n"
      "[24849] asks EXTEND_IF_MINE as A for 30000\n"
      "[24850] server says yes\n"
      "[34850] asks EXTEND_IF_MINE as A for 30000\n" },
    /* The yes that crosses the cancel is of use to nobody: the release behind it takes that
     * back. */
    { "cancel_while_asking", &bwl_token, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    1] caller cancels\n"
      "[    1] asks DELETE_IF_MINE as A\n"
      "[    1] CANCELLED\n"
      "[    2] server says yes\n"
      "[    3] server says yes\n"
      "[    3] over\n" },
    { "cancel_while_pausing", &bwl_token, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    1] server says no\n"
      "[    2] caller cancels\n"
      "[    2] CANCELLED\n"
      "[    2] over\n" },
    /* Nobody waits for the release, and it is insisted on all the same. */
    { "cancel_while_settling", &bwl_token, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[ 2000] link cuts\n"
      "[ 2001] caller cancels\n"
      "[ 2001] asks DELETE_IF_MINE as A\n"
      "[ 2001] CANCELLED\n"
      "[ 2001] link sends nothing\n"
      "[ 2006] asks DELETE_IF_MINE as A\n"
      "[ 2007] server says later\n"
      "[ 2017] asks DELETE_IF_MINE as A\n"
      "[ 2018] server says no\n"
      "[ 2018] over\n" },
    { "cancel_while_discarding", &bwl_token, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[30000] server says yes\n"
      "[30000] asks DELETE_IF_MINE as A\n"
      "[30001] caller cancels\n"
      "[30001] asks DELETE_IF_MINE as A\n"
      "[30001] CANCELLED\n"
      "[30002] server says yes\n"
      "[30003] server says no\n"
      "[30003] over\n" },
    { "loading_until_the_deadline", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 50\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    1] server says later\n"
      "[    6] asks SET_IF_ABSENT as B for 30000\n"
      "[    7] server says later\n"
      "[   17] asks SET_IF_ABSENT as C for 30000\n"
      "[   18] server says later\n"
      "[   38] asks SET_IF_ABSENT as D for 30000\n"
      "[   39] server says later\n"
      "[   50] asks SET_IF_ABSENT as E for 30000\n"
      "[   51] server says later\n"
      "[   51] NOT_NOW\n"
      "[   51] over\n" },
    { "unreachable", &bwl_token, &usual_terms,
      "[    0] caller acquires, for 10\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    0] link sends nothing\n"
      "[    5] asks SET_IF_ABSENT as B for 30000\n"
      "[    5] link sends nothing\n"
      "[   10] asks SET_IF_ABSENT as C for 30000\n"
      "[   10] link sends nothing\n"
      "[   10] UNREACHABLE\n"
      "[   10] over\n" },
    /* There is no point in waiting for a permission. */
    { "refused", &bwl_token, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    1] server says refused\n"
      "[    1] STORE_REFUSED\n"
      "[    1] over\n" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
