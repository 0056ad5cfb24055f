/*
 * test_keep_transcript.c -- renewing, losing and releasing a lock that is one key on one server.
 *
 * transcript.h describes the stories. A lease of 30000 ms is valid for 29698 ms here.
 */
#include "transcript.h"
#include "protocol/token_lock.h"

static const story stories[] = {
    /* The lease counts from before each request. The release does not wait for the renewal. */
    { "renews_at_a_third_of_the_lease", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +10000 EXTEND_IF_MINE as A "
      "-> +2 yes; reads; 29696 left; +10000 EXTEND_IF_MINE as A -> +4 yes; +1 reads; 29693 left; "
      "+9999 EXTEND_IF_MINE as A; +1 releases; DELETE_IF_MINE as A -> +2 yes -> +1 yes; RELEASED; "
      "over" },
    { "renewal_off", &bwl_token, &without_renewal,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +29694 reads; 1 left; +1 "
      "DELETE_IF_MINE as A; LOST -> +2 yes; over" },
    { "renewal_with_a_late_reply", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +10000 EXTEND_IF_MINE as A "
      "-> +19695 yes; DELETE_IF_MINE as A; LOST -> +1 yes; over" },
    /* The lease still runs: the caller gets no result, and the renewal is repeated every second. */
    { "renewal_without_a_reply", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +10000 EXTEND_IF_MINE as A "
      "-> +5000 cut; +1000 EXTEND_IF_MINE as A -> unsent; +1000 EXTEND_IF_MINE as A -> +1 retry; "
      "+1000 EXTEND_IF_MINE as A -> +1 refused; +1000 EXTEND_IF_MINE as A -> +1 yes; reads; 29697 "
      "left; +10000 EXTEND_IF_MINE as A" },
    /* The key does not exist. */
    { "renewal_finds_the_lock_lost", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +10000 EXTEND_IF_MINE as A "
      "-> +1 no; LOST; over" },
    /* The first release may have deleted it, or the lock was lost before: UNKNOWN. */
    { "release_cut_then_no", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +97 releases; "
      "DELETE_IF_MINE as A -> +2000 cut; +5 DELETE_IF_MINE as A -> +1 no; UNKNOWN; over" },
    { "release_cut_then_yes", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +97 releases; "
      "DELETE_IF_MINE as A -> +2000 cut; +5 DELETE_IF_MINE as A -> +1 yes; RELEASED; over" },
    { "release_finds_the_lock_lost", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +97 releases; "
      "DELETE_IF_MINE as A -> +1 no; LOST; over" },
    { "release_without_any_reply", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +97 releases; "
      "DELETE_IF_MINE as A -> +2000 cut; +5 DELETE_IF_MINE as A -> +2990 cut; +5 DELETE_IF_MINE as "
      "A -> +2000 cut; UNKNOWN; over" },
    /* As in a paused process. The lock is lost, and the key is deleted nevertheless. */
    { "release_after_the_lease_ended", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +10000 EXTEND_IF_MINE as A; "
      "+19695 releases; DELETE_IF_MINE as A; LOST -> +1 yes -> +1 yes; over" },
    /* After 45 s, whatever the results of the renewals are. */
    { "max_hold_ends_the_hold", &bwl_token, &ending_after_45_s,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +10000 EXTEND_IF_MINE as A "
      "-> +2 yes; reads; 29696 left; +10000 EXTEND_IF_MINE as A -> +1 yes; reads; 24997 left; "
      "+24997 DELETE_IF_MINE as A; LOST -> +1 yes; over" },
    /* Later renewals extend to the new lease, at a third of it. */
    { "extension", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +97 extends to 60000; "
      "EXTEND_IF_MINE as A for 60000 -> +1 yes; HELD until 59498; +20000 EXTEND_IF_MINE as A for "
      "60000 -> +1 yes; +1 reads; 59396 left" },
    { "extension_during_a_renewal", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +10000 EXTEND_IF_MINE as A; "
      "+1 extends to 60000 -> +1 yes; EXTEND_IF_MINE as A for 60000 -> +1 yes; HELD until 69403" },
    { "extension_without_a_reply", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +97 extends to 60000; "
      "EXTEND_IF_MINE as A for 60000 -> +2000 cut; UNKNOWN; +1 reads; 27597 left; error UNKNOWN; "
      "+999 EXTEND_IF_MINE as A for 60000 -> +1 yes; reads; 59397 left" },
    /* The server was restarted. The key is deleted at the end of its old lease. */
    { "revoked_while_held", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +6997 store revokes; LOST; "
      "reads; 0 left; +22698 DELETE_IF_MINE as A -> +2 yes; over" },
    { "revoked_during_a_renewal", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +10000 EXTEND_IF_MINE as A; "
      "+1 store revokes; LOST -> +2 yes; reads; 0 left; +2 closes; DELETE_IF_MINE as A -> +1 yes; "
      "over" },
    { "revoked_during_an_extension", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +97 extends to 60000; "
      "EXTEND_IF_MINE as A for 60000; +1 store revokes; LOST; +1 closes; DELETE_IF_MINE as A -> +1 "
      "cut; +5 DELETE_IF_MINE as A -> +1 no; over" },
};

ROWS(stories, play_row)
