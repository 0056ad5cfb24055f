/*
 * test_queue_leave_transcript.c -- leaving a lock with a queue, and the line before it, from
 * wherever one is: timed stories.
 *
 * transcript.h and queue_story.h say how they are read.
 */
#include "transcript.h"

static const story stories[] = {
    /* Those who were first are dead, more of them than one script passes over. */
    { "release_pokes_while_there_are_more", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    3] server says held 7\n"
      "[    3] HELD until 29698, fence 7\n"
      "[  100] caller releases\n"
      "[  100] asks RELEASE as A\n"
      "[  101] server says more\n"
      "[  101] asks DISPATCH_NEXT as A\n"
      "[  102] server says more\n"
      "[  102] asks DISPATCH_NEXT as A\n"
      "[  103] server says yes\n"
      "[  103] RELEASED\n"
      "[  103] over\n" },
    /* Released before it was confirmed: what the confirmation says is of no interest. */
    { "release_of_a_claim", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[  300] server gives 8 at 299\n"
      "[  300] asks EXTEND as A for 30000\n"
      "[  300] HELD until 2272, fence 8\n"
      "[  301] caller releases\n"
      "[  301] asks RELEASE as A\n"
      "[  302] server says yes\n"
      "[  303] server says yes\n"
      "[  303] RELEASED\n"
      "[  303] over\n" },
    { "release_without_an_answer", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    3] server says held 7\n"
      "[    3] HELD until 29698, fence 7\n"
      "[  100] caller releases\n"
      "[  100] asks RELEASE as A\n"
      "[ 2000] link cuts\n"
      "[ 2000] link ends\n"
      "[ 2005] asks RELEASE as A\n"
      "[ 2006] server says no\n"
      "[ 2006] UNKNOWN\n"
      "[ 2006] over\n" },
    { "yield", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    3] server says held 7\n"
      "[    3] HELD until 29698, fence 7\n"
      "[  100] caller yields, for 60000\n"
      "[  100] asks REQUEUE as B, claim 2000\n"
      "[  102] server says queued 0, 2000 left, at 101\n"
      "[  300] server gives 9 at 299\n"
      "[  300] asks EXTEND as B for 30000\n"
      "[  300] HELD until 2273, fence 9\n"
      "[  302] server says yes\n"
      "[  400] caller releases\n"
      "[  400] asks RELEASE as B\n"
      "[  401] server says yes\n"
      "[  401] RELEASED\n"
      "[  401] over\n" },
    /* What A held may be in its name still: that goes first, however often it takes. */
    { "yield_without_an_answer", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    3] server says held 7\n"
      "[    3] HELD until 29698, fence 7\n"
      "[  100] caller yields, for 60000\n"
      "[  100] asks REQUEUE as B, claim 2000\n"
      "[ 2000] link cuts\n"
      "[ 2005] asks RELEASE as A\n"
      "[ 3000] link cuts\n"
      "[ 3010] asks RELEASE as A\n"
      "[ 3011] server says yes\n"
      "[ 3011] asks HEARTBEAT as B\n"
      "[ 3012] server says gone\n"
      "[ 3013] asks JOIN as C, claim 2000\n"
      "[ 3014] server says held 8\n"
      "[ 3014] HELD until 32711, fence 8\n"
      "[ 3015] caller releases\n"
      "[ 3015] asks RELEASE as C\n"
      "[ 3016] server says yes\n"
      "[ 3016] RELEASED\n"
      "[ 3016] over\n" },
    { "yield_cancelled", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    3] server says held 7\n"
      "[    3] HELD until 29698, fence 7\n"
      "[  100] caller yields, for 60000\n"
      "[  100] asks REQUEUE as B, claim 2000\n"
      "[  101] caller cancels\n"
      "[  101] asks RELEASE as A\n"
      "[  101] CANCELLED\n"
      "[  102] server says queued 0, 2000 left, at 101\n"
      "[  103] server says no\n"
      "[  103] asks CANCEL as B\n"
      "[  104] server says yes\n"
      "[  104] over\n" },
    /* The answer to JOIN comes first, then that to CANCEL: whatever it was, it is not ours. */
    { "cancel_while_asked", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    1] caller cancels\n"
      "[    1] asks CANCEL as A\n"
      "[    1] CANCELLED\n"
      "[    2] server says held 7\n"
      "[    3] server says yes\n"
      "[    3] over\n" },
    { "cancel_while_settling", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[   20] link cuts\n"
      "[   22] caller cancels\n" /* between two questions */
      "[   22] asks CANCEL as A\n"
      "[   22] CANCELLED\n"
      "[   23] server says no\n"
      "[   23] over\n" },
    { "cancel_while_settling_2", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[   20] link cuts\n"
      "[   25] asks HEARTBEAT as A\n"
      "[   26] caller cancels\n"
      "[   26] asks CANCEL as A\n"
      "[   26] CANCELLED\n"
      "[   27] server says mine 8\n"
      "[   28] server says more\n"
      "[   28] asks DISPATCH_NEXT as A\n"
      "[   29] server says yes\n"
      "[   29] over\n" },
    /* The push was under way already: CANCEL passes on what it gave. */
    { "cancel_while_queued", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[  300] caller cancels\n"
      "[  300] asks CANCEL as A\n"
      "[  300] CANCELLED\n"
      "[  301] server gives 8 at 299\n"
      "[  302] server says yes\n"
      "[  302] over\n" },
    { "cancel_while_claimed", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1003] server says mine 8\n"
      "[ 1003] asks EXTEND as A for 30000\n"
      "[ 1004] caller cancels\n"
      "[ 1004] asks CANCEL as A\n"
      "[ 1004] CANCELLED\n"
      "[ 1005] server says yes\n"
      "[ 1006] server says yes\n"
      "[ 1006] over\n" },
    /* Nothing of us is there: the last attempt has ended, the next has not begun. */
    { "cancel_between_attempts", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1003] server says gone\n"
      "[ 1003] caller cancels\n"
      "[ 1003] CANCELLED\n"
      "[ 1003] over\n" },
    /* Its connection breaks: asked again, until nobody can be reached for as long as we insist. */
    { "cancel_without_an_answer", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[  300] caller cancels\n"
      "[  300] asks CANCEL as A\n"
      "[  300] CANCELLED\n"
      "[  400] link cuts\n"
      "[  400] link ends\n"
      "[  405] asks CANCEL as A\n"
      "[  406] server says no\n"
      "[  406] over\n" },
    { "timeout_while_queued", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 1500\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 4, 9000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1500] asks CANCEL as A\n"
      "[ 1500] TIMED_OUT\n"
      "[ 1501] server says queued 4, 8000 left, at 1500\n"
      "[ 1502] server says yes\n"
      "[ 1502] over\n" },
    { "timeout_while_claimed", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 1500\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1003] server says mine 8\n"
      "[ 1003] asks EXTEND as A for 30000\n"
      "[ 1500] asks CANCEL as A\n"
      "[ 1500] TIMED_OUT\n"
      "[ 1501] server says yes\n"
      "[ 1502] server says yes\n"
      "[ 1502] over\n" },
    /* The time ends while the answer is out: it is waited for, and what comes of it counts. */
    { "timeout_while_asked", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 1500\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[ 1800] server says queued 4, 9000 left, at 1800\n"
      "[ 1800] asks CANCEL as A\n"
      "[ 1800] TIMED_OUT\n"
      "[ 1801] server says yes\n"
      "[ 1801] over\n" },
    { "timeout_while_asked_2", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 1500\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[ 1800] server says held 7\n"
      "[ 1800] HELD until 29698, fence 7\n" },
    /* Nobody knows what became of JOIN. */
    { "timeout_while_settling", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 1500\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[ 2000] link cuts\n"
      "[ 2005] asks HEARTBEAT as A\n"
      "[ 4000] link cuts\n"
      "[ 4010] asks HEARTBEAT as A\n"
      "[ 5000] link cuts\n"
      "[ 5000] asks CANCEL as A\n"
      "[ 5000] UNKNOWN\n"
      "[ 5001] server says yes\n"
      "[ 5001] over\n" },
    /* A place that goes just before the end: looked at once more, without one. */
    { "timeout_between_attempts", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 1500\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1499] server says gone\n"
      "[ 1500] asks TAKE as B for 30000\n"
      "[ 1501] server says busy\n"
      "[ 1501] TIMED_OUT\n"
      "[ 1501] over\n" },
    { "once_is_settled", &bwl_queue, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks TAKE as A for 30000\n"
      "[   20] link cuts\n"
      "[   25] asks HEARTBEAT as A\n"
      "[   27] server says gone\n" /* so nobody has said that it is busy: looked again */
      "[   28] asks TAKE as B for 30000\n"
      "[   30] server says held 7\n"
      "[   30] HELD until 29726, fence 7\n" },
    { "once_is_settled_2", &bwl_queue, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks TAKE as A for 30000\n"
      "[   20] link cuts\n"
      "[   25] asks HEARTBEAT as A\n"
      "[   27] server says mine 7\n"
      "[   27] asks EXTEND as A for 30000\n"
      "[   40] link cuts\n"
      "[   50] asks HEARTBEAT as A\n"
      "[   51] server says mine 8\n"
      "[   51] asks EXTEND as A for 30000\n"
      "[   53] server says yes\n"
      "[   53] HELD until 29749, fence 8\n" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
