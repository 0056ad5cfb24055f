/*
 * test_hold_transcript.c -- acquiring a lock that is one key on one server.
 *
 * transcript.h describes the stories. A lease of 30000 ms is valid for 29698 ms here.
 */
#include "transcript.h"
#include "protocol/token_lock.h"

static const story stories[] = {
    { "acquire_and_release", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +3 yes; HELD until 29698; +47 reads; 29648 left; +50 "
      "releases; DELETE_IF_MINE as A -> +2 yes; RELEASED; over" },
    /* Pauses double; half of each is random. */
    { "busy_then_free", &bwl_token, &usual_terms,
      "acquires, for 1000; SET_IF_ABSENT as A -> +2 no; +5 SET_IF_ABSENT as B; +2 random 10 -> no; "
      "+20 SET_IF_ABSENT as C; +2 random 20 -> no; +40 SET_IF_ABSENT as D -> +2 yes; HELD until "
      "29769" },
    { "once_is_busy", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +2 no; BUSY; over; +9997 reads; 0 left" },
    { "timeout_after_a_last_try", &bwl_token, &usual_terms,
      "acquires, for 100; SET_IF_ABSENT as A -> +1 no; +5 SET_IF_ABSENT as B -> +1 no; +10 "
      "SET_IF_ABSENT as C -> +1 no; +20 SET_IF_ABSENT as D -> +1 no; +40 SET_IF_ABSENT as E -> +1 "
      "no; +20 SET_IF_ABSENT as F -> +1 no; TIMED_OUT; over" },
    { "last_try_finds_the_lock_free", &bwl_token, &usual_terms,
      "acquires, for 10; SET_IF_ABSENT as A -> +6 no; +4 SET_IF_ABSENT as B -> +2 yes; HELD until "
      "29708" },
    /* The lease counts from the first request, which may be the one that was carried out. */
    { "cut_then_resolved_to_HELD", &bwl_token, &usual_terms,
      "acquires, for 10000; SET_IF_ABSENT as A -> +2000 cut; +5 SET_IF_ABSENT_OR_MINE as A -> "
      "unsent; +10 SET_IF_ABSENT_OR_MINE as A -> +1 retry; +20 SET_IF_ABSENT_OR_MINE as A -> +4 "
      "yes; HELD until 29698; +10000 EXTEND_IF_MINE as A" },
    { "cut_then_resolved_to_BUSY", &bwl_token, &usual_terms,
      "acquires, for 10000; SET_IF_ABSENT as A -> +2000 cut; +5 SET_IF_ABSENT_OR_MINE as A -> +2 "
      "no; +10 SET_IF_ABSENT as B -> +1 no; +20 SET_IF_ABSENT as C -> +1 yes; HELD until 31736" },
    /* The result is UNKNOWN, and a release deletes the key if it is ours. */
    { "no_reply_until_the_end", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +2000 cut; +5 SET_IF_ABSENT_OR_MINE as A -> +1995 "
      "cut; +10 SET_IF_ABSENT_OR_MINE as A -> +980 cut; +10 DELETE_IF_MINE as A; UNKNOWN -> +2000 "
      "cut; +5 DELETE_IF_MINE as A -> +2995 cut; over" },
    /* A refusal does not say whether the request before it was carried out. */
    { "resolving_is_refused", &bwl_token, &usual_terms,
      "acquires, for 10000; SET_IF_ABSENT as A -> +2000 cut; +5 SET_IF_ABSENT_OR_MINE as A -> +1 "
      "refused; DELETE_IF_MINE as A; UNKNOWN -> +1 no; over" },
    { "resolving_takes_longer_than_the_lease", &bwl_token, &usual_terms,
      "acquires, for 60000; SET_IF_ABSENT as A -> +29990 cut; +5 SET_IF_ABSENT_OR_MINE as A -> "
      "+1005 cut; DELETE_IF_MINE as A -> +1 yes; +10 SET_IF_ABSENT as B -> +11 yes; HELD until "
      "60709" },
    { "late_grant_is_released", &bwl_token, &usual_terms,
      "acquires, for 60000; SET_IF_ABSENT as A -> +29698 yes; DELETE_IF_MINE as A -> +1 yes; +5 "
      "SET_IF_ABSENT as B -> +2 yes; HELD until 59402" },
    { "late_grant_is_renewed_soon", &bwl_token, &usual_terms,
      "acquires, once; SET_IF_ABSENT as A -> +20000 yes; HELD until 29698; +4849 EXTEND_IF_MINE as "
      "A -> +1 yes; +10000 EXTEND_IF_MINE as A" },
    /* The release follows the acquire on the connection and deletes its grant. */
    { "cancel_while_acquiring", &bwl_token, &usual_terms,
      "acquires, for ever; SET_IF_ABSENT as A; +1 cancels; DELETE_IF_MINE as A; CANCELLED -> +1 "
      "yes -> +1 yes; over" },
    { "cancel_while_pausing", &bwl_token, &usual_terms,
      "acquires, for ever; SET_IF_ABSENT as A -> +1 no; +1 cancels; CANCELLED; over" },
    /* The release is repeated although no caller waits for it. */
    { "cancel_while_resolving", &bwl_token, &usual_terms,
      "acquires, for ever; SET_IF_ABSENT as A -> +2000 cut; +1 cancels; DELETE_IF_MINE as A; "
      "CANCELLED -> unsent; +5 DELETE_IF_MINE as A -> +1 retry; +10 DELETE_IF_MINE as A -> +1 no; "
      "over" },
    { "cancel_while_discarding", &bwl_token, &usual_terms,
      "acquires, for ever; SET_IF_ABSENT as A -> +30000 yes; DELETE_IF_MINE as A; +1 cancels; "
      "DELETE_IF_MINE as A; CANCELLED -> +1 yes -> +1 no; over" },
    { "loading_until_the_deadline", &bwl_token, &usual_terms,
      "acquires, for 50; SET_IF_ABSENT as A -> +1 retry; +5 SET_IF_ABSENT as B -> +1 retry; +10 "
      "SET_IF_ABSENT as C -> +1 retry; +20 SET_IF_ABSENT as D -> +1 retry; +11 SET_IF_ABSENT as E "
      "-> +1 retry; NOT_NOW; over" },
    { "unreachable", &bwl_token, &usual_terms,
      "acquires, for 10; SET_IF_ABSENT as A -> unsent; +5 SET_IF_ABSENT as B -> unsent; +5 "
      "SET_IF_ABSENT as C -> unsent; UNREACHABLE; over" },
    { "refused", &bwl_token, &usual_terms,
      "acquires, for ever; SET_IF_ABSENT as A -> +1 refused; STORE_REFUSED; over" },
};

ROWS(stories, play_row)
