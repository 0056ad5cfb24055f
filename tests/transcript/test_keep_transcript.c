/*
 * test_keep_transcript.c -- renewing, losing and releasing a lock that is one key on one
 * server.
 *
 * transcript.h says how a story is read. A lease of 30000 ms is worth 29698 ms to us.
 */
#include "transcript.h"
#include "protocol/token_lock.h"

static const story stories[] = {
    /* The lease counts from before each request. The release does not wait for the renewal. */
    { "renews_at_a_third_of_the_lease", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +10000 "
      "EXTEND_IF_MINE as A for 30000 -> +2 yes; looks; 29696 left; +10000 EXTEND_IF_MINE as A "
      "for 30000 -> +4 yes; +1 looks; 29693 left; +9999 EXTEND_IF_MINE as A for 30000; +1 "
      "releases; DELETE_IF_MINE as A -> +2 yes -> +1 yes; RELEASED; over" },
    { "renewal_off", &bwl_token, &without_renewal,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +29694 looks; "
      "1 left; +1 DELETE_IF_MINE as A; LOST -> +2 yes; over" },
    { "renewal_answered_too_late", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +10000 "
      "EXTEND_IF_MINE as A for 30000 -> +19695 yes; DELETE_IF_MINE as A; LOST -> +1 yes; over" },
    /* The lease still runs: the caller learns nothing, and the renewal is repeated every second. */
    { "renewal_without_an_answer", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +10000 "
      "EXTEND_IF_MINE as A for 30000 -> +5000 cut; +1000 EXTEND_IF_MINE as A for 30000 -> "
      "unsent; +1000 EXTEND_IF_MINE as A for 30000 -> +1 later; +1000 EXTEND_IF_MINE as A for "
      "30000 -> +1 refused; +1000 EXTEND_IF_MINE as A for 30000 -> +1 yes; looks; 29697 left; "
      "+10000 EXTEND_IF_MINE as A for 30000" },
    /* There is nothing to delete. */
    { "renewal_finds_it_lost", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +10000 "
      "EXTEND_IF_MINE as A for 30000 -> +1 no; LOST; over" },
    /* The first release may have done it, or the lock was lost before: UNKNOWN. */
    { "release_cut_then_no", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +97 releases; "
      "DELETE_IF_MINE as A -> +2000 cut; +5 DELETE_IF_MINE as A -> +1 no; UNKNOWN; over" },
    { "release_cut_then_yes", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +97 releases; "
      "DELETE_IF_MINE as A -> +2000 cut; +5 DELETE_IF_MINE as A -> +1 yes; RELEASED; over" },
    { "release_finds_it_lost", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +97 releases; "
      "DELETE_IF_MINE as A -> +1 no; LOST; over" },
    { "release_is_never_answered", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +97 releases; "
      "DELETE_IF_MINE as A -> +2000 cut; +5 DELETE_IF_MINE as A -> +2990 cut; +5 DELETE_IF_MINE "
      "as A -> +2000 cut; UNKNOWN; over" },
    /* As of a paused process. The lock is lost, and the key is deleted even so. */
    { "release_after_the_end", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +10000 "
      "EXTEND_IF_MINE as A for 30000; +19695 releases; DELETE_IF_MINE as A; LOST -> +1 yes -> "
      "+1 yes; over" },
    /* After 45 s, whatever the renewals say. */
    { "max_hold_ends_it", &bwl_token, &ending_after_45_s,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +10000 "
      "EXTEND_IF_MINE as A for 30000 -> +2 yes; looks; 29696 left; +10000 EXTEND_IF_MINE as A "
      "for 30000 -> +1 yes; looks; 24997 left; +24997 DELETE_IF_MINE as A; LOST -> +1 yes; over" },
    /* Later renewals are for the new lease, at a third of it. */
    { "caller_extends", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +97 extends to "
      "60000; EXTEND_IF_MINE as A for 60000 -> +1 yes; HELD until 59498; +20000 EXTEND_IF_MINE "
      "as A for 60000 -> +1 yes; +1 looks; 59396 left" },
    { "caller_extends_while_a_renewal_is_out", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +10000 "
      "EXTEND_IF_MINE as A for 30000; +1 extends to 60000 -> +1 yes; EXTEND_IF_MINE as A for "
      "60000 -> +1 yes; HELD until 69403" },
    { "caller_extends_without_an_answer", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +97 extends to "
      "60000; EXTEND_IF_MINE as A for 60000 -> +2000 cut; UNKNOWN; +1 looks; 27597 left; "
      "trouble UNKNOWN; +999 EXTEND_IF_MINE as A for 60000 -> +1 yes; looks; 59397 left" },
    /* The server was restarted. The key is deleted when its old lease is over. */
    { "disowned_while_held", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +6997 store "
      "disowns; LOST; looks; 0 left; +22698 DELETE_IF_MINE as A -> +2 yes; over" },
    { "disowned_while_a_renewal_is_out", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +10000 "
      "EXTEND_IF_MINE as A for 30000; +1 store disowns; LOST -> +2 yes; looks; 0 left; +2 gives "
      "back; DELETE_IF_MINE as A -> +1 yes; over" },
    { "disowned_while_the_caller_extends", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A for 30000 -> +3 yes; HELD until 29698; +97 extends to "
      "60000; EXTEND_IF_MINE as A for 60000; +1 store disowns; LOST; +1 gives back; "
      "DELETE_IF_MINE as A -> +1 cut; +5 DELETE_IF_MINE as A -> +1 no; over" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
