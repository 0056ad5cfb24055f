/*
 * test_redlock_transcript.c -- a hold on most of three servers: timed stories.
 *
 * transcript.h says how they are read.  A lease of 30000 ms is worth 29698 ms from before the
 * question, and is renewed every 10000 ms.
 */
#include "transcript.h"

/* Server 3 has the key, and it is asked for again, in vain: nothing is deleted yet. */
#define ASKED_AGAIN                                           \
    "[    0] asks all SET_IF_ABSENT as A for 30000\n"         \
    "[    1] server 1 goes away\n"                            \
    "[    1] server 2 says later\n"                           \
    "[    2] server 3 says yes\n"                             \
    "[    6] asks all SET_IF_ABSENT_OR_MINE as A for 30000\n" \
    "[    7] server 1 says later\n"                           \
    "[    7] server 2 says later\n"                           \
    "[    8] server 3 says yes\n"

static const story stories[] = {
    /* Two of three are enough, at the second's speed; the slow one is not waited for, ever. */
    { "one_slow_server", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks all SET_IF_ABSENT as A for 30000\n"
      "[    2] server 1 says yes\n"
      "[    3] server 2 says yes\n"
      "[    3] HELD until 29698\n"
      "[  900] server 3 says yes\n"
      "[10003] asks all EXTEND_IF_MINE as A for 30000\n"
      "[10005] server 2 says yes\n"
      "[10006] server 1 says yes\n"
      "[10900] server 3 says yes\n"
      "[12000] caller releases\n"
      "[12000] asks all DELETE_IF_MINE as A\n"
      "[12002] server 1 says yes\n"
      "[12003] server 2 says yes\n"
      "[12003] RELEASED\n"
      "[12003] over\n" },
    /* Somebody else has it: told when the second says so, and the next attempt has a new token. */
    { "busy_then_free", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks all SET_IF_ABSENT as A for 30000\n"
      "[    1] server 1 says no\n"
      "[    2] server 2 says no\n"
      "[    2] asks all DELETE_IF_MINE as A\n"
      "[    3] server 3 says yes\n"
      "[    4] server 1 says no\n"
      "[    4] server 2 says no\n"
      "[    4] server 3 says yes\n"
      "[    7] asks all SET_IF_ABSENT as B for 30000\n"
      "[    8] server 1 says yes\n"
      "[    8] server 3 says yes\n"
      "[    8] HELD until 29705\n" },
    /* One each, and the third is silent: whoever goes back first lets the other in. */
    { "split_vote", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks all SET_IF_ABSENT as A for 30000\n"
      "[    1] server 1 says yes\n"
      "[    2] server 2 says no\n"
      "[   12] asks all DELETE_IF_MINE as A\n"
      "[   13] server 1 says yes\n"
      "[   13] server 2 says no\n"
      "[   17] asks all SET_IF_ABSENT as B for 30000\n"
      "[   18] server 1 says yes\n"
      "[   19] server 2 says yes\n"
      "[   19] HELD until 29715\n"
      "[ 5000] server 3 goes away\n" },
    /* A majority is of those that are configured. */
    { "two_dead_servers", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks all SET_IF_ABSENT as A for 30000\n"
      "[    1] server 1 says yes\n"
      "[    2] server 2 goes away\n"
      "[    3] server 3 goes away\n"
      "[    8] asks all SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[    9] server 1 says yes\n"
      "[    9] server 2 goes away\n"
      "[    9] server 3 goes away\n"
      "[   19] asks all SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[   20] server 2 says yes\n"
      "[   21] server 1 says yes\n"
      "[   21] HELD until 29698\n" },
    /* The server that came back empty has the key again when the next one goes. */
    { "heals", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks all SET_IF_ABSENT as A for 30000\n"
      "[    1] server 1 says yes\n"
      "[    2] server 2 says yes\n"
      "[    2] HELD until 29698\n"
      "[    2] server 3 says yes\n"
      "[10002] asks all EXTEND_IF_MINE as A for 30000\n"
      "[10003] server 1 says no\n"
      "[10003] server 2 says yes\n"
      "[10004] server 3 says yes\n"
      "[10004] asks 1 SET_IF_ABSENT as A for 30000\n"
      "[10005] server 1 says yes\n"
      "[20004] asks all EXTEND_IF_MINE as A for 30000\n"
      "[20005] server 1 says yes\n"
      "[20005] server 2 says no\n"
      "[20005] server 3 says yes\n"
      "[20005] asks 2 SET_IF_ABSENT as A for 30000\n"
      "[20006] server 2 says yes\n" },
    { "lost", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks all SET_IF_ABSENT as A for 30000\n"
      "[    1] server 1 says yes\n"
      "[    2] server 2 says yes\n"
      "[    2] HELD until 29698\n"
      "[    2] server 3 says no\n"
      "[10002] asks all EXTEND_IF_MINE as A for 30000\n"
      "[10003] server 1 says yes\n"
      "[10003] server 2 says no\n"
      "[10004] server 3 says no\n"
      "[10004] asks all DELETE_IF_MINE as A\n"
      "[10004] LOST\n"
      "[10004] over\n" },
    /* Nobody answers in time: it is ours no more when the lease of the last majority is over. */
    { "no_majority_answers", &bwl_redlock,
      &(bwl_terms){ .lease_ms = 3000, .max_hold_ms = BWL_NEVER, .answer_ms = 500, .renews = true },
      "[    0] caller acquires, once\n"
      "[    0] asks all SET_IF_ABSENT as A for 3000\n"
      "[    1] server 1 says yes\n"
      "[    1] server 2 says yes\n"
      "[    1] HELD until 2968\n"
      "[    1] server 3 says yes\n"
      "[ 1001] asks all EXTEND_IF_MINE as A for 3000\n"
      "[ 1002] server 1 says yes\n"
      "[ 2968] asks all DELETE_IF_MINE as A\n"
      "[ 2968] LOST\n"
      "[ 2970] server 1 says yes\n"
      "[ 2971] server 2 goes away\n"
      "[ 2972] server 3 goes away\n" },
    { "is_asked_for_until_it_is_held", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, once\n" ASKED_AGAIN
      "[   17] asks all SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[   18] server 1 says yes\n"
      "[   18] server 3 says yes\n"
      "[   18] HELD until 29698\n" },
    { "what_is_cancelled_is_deleted", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, once\n" ASKED_AGAIN "[   10] caller cancels\n"
      "[   10] asks all DELETE_IF_MINE as A\n"
      "[   10] CANCELLED\n" },
    { "what_is_cancelled_is_deleted_2", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, once\n" ASKED_AGAIN
      "[   17] asks all SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[   18] caller cancels\n"
      "[   18] asks all DELETE_IF_MINE as A\n"
      "[   18] CANCELLED\n" },
    { "what_a_store_refuses_is_deleted", &bwl_redlock, &usual_terms,
      "[    0] caller acquires, once\n" ASKED_AGAIN
      "[   17] asks all SET_IF_ABSENT_OR_MINE as A for 30000\n"
      "[   18] server 1 says refused\n"
      "[   18] server 2 says refused\n"
      "[   18] asks all DELETE_IF_MINE as A\n"
      "[   18] UNKNOWN\n" },
    { "what_is_given_up_is_deleted_until_that_is_sure", &bwl_redlock,
      &(bwl_terms){ .lease_ms = 30000, .max_hold_ms = BWL_NEVER, .answer_ms = 10, .renews = true },
      "[    0] caller acquires, once\n" ASKED_AGAIN "[   10] asks all DELETE_IF_MINE as A\n"
      "[   10] UNKNOWN\n"
      "[   11] server 1 says later\n"
      "[   11] server 2 says later\n"
      "[   16] asks all DELETE_IF_MINE as A\n"
      "[   17] server 3 says yes\n"
      "[   18] server 1 says no\n"
      "[   18] server 2 says no\n"
      "[   18] over\n" },
    /* It is of no use any more: the next attempt has a new token. */
    { "what_is_too_late_is_deleted", &bwl_redlock,
      &(bwl_terms){ .lease_ms = 15, .max_hold_ms = BWL_NEVER, .answer_ms = 5000, .renews = false },
      "[    0] caller acquires, for 60000\n"
      "[    0] asks all SET_IF_ABSENT as A for 15\n"
      "[    1] server 1 goes away\n"
      "[    1] server 2 says later\n"
      "[    6] asks all SET_IF_ABSENT_OR_MINE as A for 15\n"
      "[    7] server 1 says later\n"
      "[    7] server 2 says later\n"
      "[   17] asks all DELETE_IF_MINE as A\n"
      "[   18] server 1 says no\n"
      "[   18] server 2 says no\n"
      "[   38] asks all SET_IF_ABSENT as B for 15\n" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
