/*
 * test_redlock_transcript.c -- a lock on a majority of three servers.
 *
 * transcript.h describes the stories. A lease of 30000 ms is valid for 29698 ms from before the
 * request, and is renewed every 10000 ms.
 */
#include "transcript.h"

/* Only server 3 grants, and again at the second request to all: nothing is deleted yet. */
#define ASKED_AGAIN                                                                               \
    "; all SET_IF_ABSENT as A -> +1 1 down -> 2 retry -> +1 3 yes; +4 all SET_IF_ABSENT_OR_MINE " \
    "as A -> +1 1 retry -> 2 retry -> +1 3 yes"

static const story stories[] = {
    /* The second of three decides. The slow server does not delay the result. */
    { "one_slow_server", &bwl_redlock, &usual_terms,
      "acquires, once; all SET_IF_ABSENT as A -> +2 1 yes -> +1 2 yes; HELD until 29698 -> +897 3 "
      "yes; +9103 all EXTEND_IF_MINE as A -> +2 2 yes -> +1 1 yes -> +894 3 yes; +1100 releases; "
      "all DELETE_IF_MINE as A -> +2 1 yes -> +1 2 yes; RELEASED; over" },
    { "busy_then_free", &bwl_redlock, &usual_terms,
      "acquires, for 60000; all SET_IF_ABSENT as A -> +1 1 no -> +1 2 no; all DELETE_IF_MINE as A "
      "-> +1 3 yes -> +1 1 no -> 2 no -> 3 yes; +3 all SET_IF_ABSENT as B -> +1 1 yes -> 3 yes; "
      "HELD until 29705" },
    /* One vote each, and the third server does not reply. */
    { "split_vote", &bwl_redlock, &usual_terms,
      "acquires, for 60000; all SET_IF_ABSENT as A -> +1 1 yes -> +1 2 no; +10 all DELETE_IF_MINE "
      "as A -> +1 1 yes -> 2 no; +4 all SET_IF_ABSENT as B -> +1 1 yes -> +1 2 yes; HELD until "
      "29715 -> +4981 3 down" },
    /* The majority is of the configured servers. */
    { "two_dead_servers", &bwl_redlock, &usual_terms,
      "acquires, once; all SET_IF_ABSENT as A -> +1 1 yes -> +1 2 down -> +1 3 down; +5 all "
      "SET_IF_ABSENT_OR_MINE as A -> +1 1 yes -> 2 down -> 3 down; +10 all SET_IF_ABSENT_OR_MINE "
      "as A -> +1 2 yes -> +1 1 yes; HELD until 29698" },
    /* A server that was restarted without data gets the key again. */
    { "heals", &bwl_redlock, &usual_terms,
      "acquires, once; all SET_IF_ABSENT as A -> +1 1 yes -> +1 2 yes; HELD until 29698 -> 3 yes; "
      "+10000 all EXTEND_IF_MINE as A -> +1 1 no -> 2 yes -> +1 3 yes; 1 SET_IF_ABSENT as A -> +1 "
      "1 yes; +9999 all EXTEND_IF_MINE as A -> +1 1 yes -> 2 no -> 3 yes; 2 SET_IF_ABSENT as A -> "
      "+1 2 yes" },
    { "lost", &bwl_redlock, &usual_terms,
      "acquires, once; all SET_IF_ABSENT as A -> +1 1 yes -> +1 2 yes; HELD until 29698 -> 3 no; "
      "+10000 all EXTEND_IF_MINE as A -> +1 1 yes -> 2 no -> +1 3 no; all DELETE_IF_MINE as A; "
      "LOST; over" },
    /* The lock ends with the lease of the last majority. */
    { "no_majority_replies", &bwl_redlock,
      &(bwl_terms){ .lease_ms = 3000, .max_hold_ms = BWL_NEVER, .answer_ms = 500, .renews = true },
      "acquires, once; all SET_IF_ABSENT as A -> +1 1 yes -> 2 yes; HELD until 2968 -> 3 yes; "
      "+1000 all EXTEND_IF_MINE as A -> +1 1 yes; +1966 all DELETE_IF_MINE as A; LOST -> +2 1 yes "
      "-> +1 2 down -> +1 3 down" },
    { "failed_acquire_is_deleted_until_confirmed", &bwl_redlock,
      &(bwl_terms){ .lease_ms = 30000, .max_hold_ms = BWL_NEVER, .answer_ms = 10, .renews = true },
      "acquires, once" ASKED_AGAIN
      "; +2 all DELETE_IF_MINE as A; UNKNOWN -> +1 1 retry -> 2 retry; +5 all DELETE_IF_MINE as A "
      "-> +1 3 yes -> +1 1 no -> 2 no; over" },
    { "late_acquire_is_deleted", &bwl_redlock, &(bwl_terms)TERMS(.lease_ms = 15),
      "acquires, for 60000; all SET_IF_ABSENT as A -> +1 1 down -> 2 retry; +5 all "
      "SET_IF_ABSENT_OR_MINE as A -> +1 1 retry -> 2 retry; +10 all DELETE_IF_MINE as A -> +1 1 no "
      "-> 2 no; +20 all SET_IF_ABSENT as B" },
    /* A was deleted. That does not count as a release of B. */
    { "missing_lock_after_a_discarded_attempt_is_LOST", &bwl_redlock, &without_renewal,
      "acquires, for 60000; all SET_IF_ABSENT as A -> +30000 1 yes -> 2 yes; all DELETE_IF_MINE as "
      "A -> +1 1 yes -> 2 yes; +5 all SET_IF_ABSENT as B -> +1 1 yes -> 2 yes; HELD until 59704; "
      "+10 releases; all DELETE_IF_MINE as B -> +1 1 no -> +1 2 no; LOST; over" },
};

ROWS(stories, play_row)
