/*
 * test_keep_transcript.c -- keeping a lock that is one key on one Redis, losing it, giving it back:
 * timed stories.
 *
 * transcript.h says how they are read.  A lease of 30000 ms is worth 29698 ms to us.
 */
#include "transcript.h"

static const story stories[] = {
    /* The lease counts from before each question.  The release does not wait for the renewal. */
    { "renews_at_a_third_of_the_lease", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[10003] asks EXTEND_IF_MINE as A for 30000\n"
      "[10005] server says yes\n"
      "[10005] caller looks\n"
      "[10005] 29696 left\n"
      "[20005] asks EXTEND_IF_MINE as A for 30000\n"
      "[20009] server says yes\n"
      "[20010] caller looks\n"
      "[20010] 29693 left\n"
      "[30009] asks EXTEND_IF_MINE as A for 30000\n"
      "[30010] caller releases\n"
      "[30010] asks DELETE_IF_MINE as A\n"
      "[30012] server says yes\n"
      "[30013] server says yes\n"
      "[30013] RELEASED\n"
      "[30013] over\n" },
    /* Without renewal it ends with its lease, and what may be left of it is taken back. */
    { "renewal_off", &bwl_token, &without_renewal,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[29697] caller looks\n"
      "[29697] 1 left\n"
      "[29698] asks DELETE_IF_MINE as A\n"
      "[29698] LOST\n"
      "[29700] server says yes\n"
      "[29700] over\n" },
    /* However good the answer: it came after the end of what we knew to be ours. */
    { "renewal_answered_too_late", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[10003] asks EXTEND_IF_MINE as A for 30000\n"
      "[29698] server says yes\n"
      "[29698] asks DELETE_IF_MINE as A\n"
      "[29698] LOST\n"
      "[29699] server says yes\n"
      "[29699] over\n" },
    /* The lease still runs: nothing is told, and it is tried again every second. */
    { "renewal_without_an_answer", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[10003] asks EXTEND_IF_MINE as A for 30000\n"
      "[15003] link cuts\n"
      "[16003] asks EXTEND_IF_MINE as A for 30000\n"
      "[16003] link sends nothing\n"
      "[17003] asks EXTEND_IF_MINE as A for 30000\n"
      "[17004] server says later\n"
      "[18004] asks EXTEND_IF_MINE as A for 30000\n"
      "[18005] server says refused\n"
      "[19005] asks EXTEND_IF_MINE as A for 30000\n"
      "[19006] server says yes\n"
      "[19006] caller looks\n"
      "[19006] 29697 left\n"
      "[29006] asks EXTEND_IF_MINE as A for 30000\n" },
    /* The store says that it is not ours: there is nothing to take back. */
    { "renewal_finds_it_lost", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[10003] asks EXTEND_IF_MINE as A for 30000\n"
      "[10004] server says no\n"
      "[10004] LOST\n"
      "[10004] over\n" },
    /* The first release may have done it, or the lock was lost before: nobody can know. */
    { "release_cut_then_no", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[  100] caller releases\n"
      "[  100] asks DELETE_IF_MINE as A\n"
      "[ 2100] link cuts\n"
      "[ 2105] asks DELETE_IF_MINE as A\n"
      "[ 2106] server says no\n"
      "[ 2106] UNKNOWN\n"
      "[ 2106] over\n" },
    { "release_cut_then_yes", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[  100] caller releases\n"
      "[  100] asks DELETE_IF_MINE as A\n"
      "[ 2100] link cuts\n"
      "[ 2105] asks DELETE_IF_MINE as A\n"
      "[ 2106] server says yes\n"
      "[ 2106] RELEASED\n"
      "[ 2106] over\n" },
    { "release_finds_it_lost", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[  100] caller releases\n"
      "[  100] asks DELETE_IF_MINE as A\n"
      "[  101] server says no\n"
      "[  101] LOST\n"
      "[  101] over\n" },
    { "release_is_never_answered", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[  100] caller releases\n"
      "[  100] asks DELETE_IF_MINE as A\n"
      "[ 2100] link cuts\n"
      "[ 2105] asks DELETE_IF_MINE as A\n"
      "[ 5095] link cuts\n"
      "[ 5100] asks DELETE_IF_MINE as A\n"
      "[ 7100] link cuts\n"
      "[ 7100] UNKNOWN\n"
      "[ 7100] over\n" },
    /* A paused process: its release comes at the very end.  It has lost, and takes back even so. */
    { "release_after_the_end", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[10003] asks EXTEND_IF_MINE as A for 30000\n"
      "[29698] caller releases\n"
      "[29698] asks DELETE_IF_MINE as A\n"
      "[29698] LOST\n"
      "[29699] server says yes\n"
      "[29700] server says yes\n"
      "[29700] over\n" },
    /* 45 s from the answer on, whatever the renewals say. */
    { "max_hold_ends_it", &bwl_token, &ending_after_45_s,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[10003] asks EXTEND_IF_MINE as A for 30000\n"
      "[10005] server says yes\n"
      "[10005] caller looks\n"
      "[10005] 29696 left\n"
      "[20005] asks EXTEND_IF_MINE as A for 30000\n"
      "[20006] server says yes\n"
      "[20006] caller looks\n"
      "[20006] 24997 left\n"
      "[45003] asks DELETE_IF_MINE as A\n"
      "[45003] LOST\n"
      "[45004] server says yes\n"
      "[45004] over\n" },
    /* The renewals after it are for the new lease, and at a third of that. */
    { "caller_extends", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[  100] caller extends to 60000\n"
      "[  100] asks EXTEND_IF_MINE as A for 60000\n"
      "[  101] server says yes\n"
      "[  101] HELD until 59498\n"
      "[20101] asks EXTEND_IF_MINE as A for 60000\n"
      "[20102] server says yes\n"
      "[20103] caller looks\n"
      "[20103] 59396 left\n" },
    { "caller_extends_while_a_renewal_is_out", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[10003] asks EXTEND_IF_MINE as A for 30000\n"
      "[10004] caller extends to 60000\n"
      "[10005] server says yes\n"
      "[10005] asks EXTEND_IF_MINE as A for 60000\n"
      "[10006] server says yes\n"
      "[10006] HELD until 69403\n" },
    /* He keeps what he had, and the renewal goes on trying. */
    { "caller_extends_without_an_answer", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[  100] caller extends to 60000\n"
      "[  100] asks EXTEND_IF_MINE as A for 60000\n"
      "[ 2100] link cuts\n"
      "[ 2100] UNKNOWN\n"
      "[ 2101] caller looks\n"
      "[ 2101] 27597 left\n"
      "[ 2101] trouble UNKNOWN\n"
      "[ 3100] asks EXTEND_IF_MINE as A for 60000\n"
      "[ 3101] server says yes\n"
      "[ 3101] caller looks\n"
      "[ 3101] 59397 left\n" },
    /* The server came back as another process: what it may still have of ours is taken back, when
 * nobody trusts any more in what he was told before. */
    { "disowned_while_held", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[ 7000] store disowns\n"
      "[ 7000] LOST\n"
      "[ 7000] caller looks\n"
      "[ 7000] 0 left\n"
      "[29698] asks DELETE_IF_MINE as A\n"
      "[29700] server says yes\n"
      "[29700] over\n" },
    /* A renewal that is out brings the lock back no more, whatever its answer. */
    { "disowned_while_a_renewal_is_out", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[10003] asks EXTEND_IF_MINE as A for 30000\n"
      "[10004] store disowns\n"
      "[10004] LOST\n"
      "[10006] server says yes\n"
      "[10006] caller looks\n"
      "[10006] 0 left\n"
      "[10008] caller gives back\n"
      "[10008] asks DELETE_IF_MINE as A\n"
      "[10009] server says yes\n"
      "[10009] over\n" },
    /* Whoever waits for an extension learns of the loss. */
    { "disowned_while_the_caller_extends", &bwl_token, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks SET_IF_ABSENT as A for 30000\n"
      "[    3] server says yes\n"
      "[    3] HELD until 29698\n"
      "[  100] caller extends to 60000\n"
      "[  100] asks EXTEND_IF_MINE as A for 60000\n"
      "[  101] store disowns\n"
      "[  101] LOST\n"
      "[  102] caller gives back\n"
      "[  102] asks DELETE_IF_MINE as A\n"
      "[  103] link cuts\n"
      "[  108] asks DELETE_IF_MINE as A\n"
      "[  109] server says no\n"
      "[  109] over\n" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
