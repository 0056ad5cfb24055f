/*
 * test_queue_transcript.c -- acquiring a lock with a queue on a Redis server.
 *
 * transcript.h says how a story is read. A lease of 30000 ms is worth 29698 ms to us, a
 * provisional grant of 2000 ms is worth 1978.
 */
#include "transcript.h"
#include "protocol/queue_lock.h"

static const story stories[] = {
    /* The confirmation extends the provisional grant to the whole lease. */
    { "given_without_renewals", &bwl_queue, &without_renewal,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 9000 left, at 1; +298 gives 8 "
      "at 299; EXTEND as A for 30000; HELD until 2272, fence 8 -> +2 yes; +29695 looks; 1 left; "
      "+1 RELEASE as A; LOST -> +1 no; over" },
    { "free", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +3 held 7; HELD until 29698, fence 7; "
      "+10000 EXTEND as A for 30000 -> +1 yes; +6 looks; 29691 left; +90 releases; RELEASE as A "
      "-> +2 yes; RELEASED; over" },
    { "once_is_busy", &bwl_queue, &usual_terms,
      "acquires, once; TAKE as A for 30000 -> +2 busy; BUSY; over" },
    /* Held from the push on; confirmed while the caller already works. */
    { "queued_then_given", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 2, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +1 queued 1, 9000 left, at 1002; chance 700; +1000 HEARTBEAT as A -> +1 queued 0, "
      "700 left, at 2003; +296 gives 8 at 2299; EXTEND as A for 30000; HELD until 4273, fence 8; "
      "+1 looks; 1972 left -> +1 yes; looks; 29696 left; +10000 EXTEND as A for 30000" },
    /* The push took three seconds, and the provisional grant is over. */
    { "grant_that_came_too_late", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 30000 left, at 1; +1000 "
      "HEARTBEAT as A; +2998 gives 8 at 600; EXTEND as A for 30000 -> +1 gone -> +1 no; +1 JOIN as "
      "B by 5, claim 4000 -> +1 queued 0, 1900 left, at 4004; +96 gives 9 at 4099; EXTEND as B for "
      "30000; HELD until 8054, fence 9" },
    /* The provisional grant is nearly over: held when it is confirmed. */
    { "grant_that_came_late", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 30000 left, at 1; +1000 "
      "HEARTBEAT as A; +898 gives 8 at 300; EXTEND as A for 30000 -> +3 gone -> +1 yes; HELD until "
      "31598, fence 8" },
    /* The request was not carried out. The provisional grant may still stand. */
    { "confirmation_that_was_not_sent_is_settled", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 30000 left, at 1; +1000 "
      "HEARTBEAT as A -> +1 mine 8; EXTEND as A for 30000 -> +2 unsent; +5 HEARTBEAT as A -> +1 "
      "mine 8; EXTEND as A for 30000 -> +1 yes; HELD until 30709, fence 8" },
    /* Back or forward: the provisional grant counts from the request. */
    { "server_clock_is_set", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 30000 left, at 100000; +298 "
      "gives 8 at 299; EXTEND as A for 30000; HELD until 1978, fence 8" },
    { "server_clock_is_set_2", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 30000 left, at 1; +298 gives "
      "8 at 100000; EXTEND as A for 30000; HELD until 1978, fence 8" },
    /* The push was lost. The confirmation says how much of the lease is left. */
    { "beat_finds_mine", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 30000 left, at 1; +1000 "
      "HEARTBEAT as A -> +1 mine 8; EXTEND as A for 30000 -> +2 yes; HELD until 30701, fence 8" },
    /* The heartbeat comes when the lease of a dead holder is over. */
    { "beat_is_served", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 400 left, at 1; +402 HEARTBEAT "
      "as A -> +1 claimed 8; EXTEND as A for 30000; HELD until 2382, fence 8" },
    /* A foreign lock, or one without an expiry, is checked every 50 ms. */
    { "stranger_holds_it", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 9000 left, a stranger's, at 1; "
      "+50 HEARTBEAT as A -> +1 queued 0, endless, at 52; +50 HEARTBEAT as A -> +1 claimed 8; "
      "EXTEND as A for 30000; HELD until 2081, fence 8" },
    { "cut_while_asked", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +20 cut; +5 HEARTBEAT as A -> +1 queued 3, "
      "9000 left, at 26; +74 gives 8 at 99; EXTEND as A for 30000; HELD until 2074, fence 8" },
    { "cut_while_asked_2", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +20 cut; +5 HEARTBEAT as A -> +1 gone; +1 "
      "JOIN as B, claim 2000 -> +2 held 8; HELD until 29725, fence 8" },
    { "cut_while_asked_3", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +20 cut; +5 HEARTBEAT as A -> +1 mine 8; "
      "EXTEND as A for 30000 -> +3 yes; HELD until 29724, fence 8" },
    /* The place is asked for, and not made again. */
    { "cut_while_asked_for_longer_than_the_lease", &bwl_queue, &usual_terms,
      "acquires, for ever; JOIN as A, claim 2000 -> +40000 cut; +5 HEARTBEAT as A -> +39995 cut; "
      "+10 HEARTBEAT as A -> +1 queued 0, 9000 left, at 80011; +1000 HEARTBEAT as A" },
    { "cut_while_queued", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 9000 left, at 1; +498 link ends; "
      "HEARTBEAT as A -> +200 unsent; +500 HEARTBEAT as A -> +3 queued 0, 7000 left, at 1202; +97 "
      "gives 8 at 1299; EXTEND as A for 30000; HELD until 3273, fence 8" },
    { "cut_while_a_beat_is_out", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +98 cut; HEARTBEAT as A; link ends -> +3 mine 9; EXTEND as A for 30000 -> +2 yes; "
      "HELD until 30801, fence 9" },
    /* The server forgot the place; the waiter keeps its ticket. */
    { "gone_keeps_the_ticket", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 1, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +7998 cut; HEARTBEAT as A -> +1 gone; +1 JOIN as B by 5, claim 2000 -> +1 queued 0, "
      "700 left, at 9003; +702 HEARTBEAT as B" },
    { "confirmation_is_cut", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 9000 left, at 1; +298 gives 8 "
      "at 299; EXTEND as A for 30000; HELD until 2272, fence 8 -> +100 cut; EXTEND as A for "
      "30000; link ends -> +1 unsent; +50 EXTEND as A for 30000 -> +2 yes; looks; 29696 left" },
    { "claim_is_never_confirmed", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 9000 left, at 1; +298 gives 8 "
      "at 299; EXTEND as A for 30000; HELD until 2272, fence 8; +986 EXTEND as A for 30000; "
      "+986 RELEASE as A; LOST -> +1 yes -> +1 yes -> +1 no; over" },
    { "confirmation_finds_it_lost", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 9000 left, at 1; +298 gives 8 "
      "at 299; EXTEND as A for 30000; HELD until 2272, fence 8 -> +3 no; LOST; over" },
    { "confirmation_finds_it_lost_behind_a_renewal", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 9000 left, at 1; +298 gives 8 "
      "at 299; EXTEND as A for 30000; HELD until 2272, fence 8; +986 EXTEND as A for 30000 -> "
      "+4 no; LOST; over -> +1 no" },
    /* The caller has no result yet: nothing is lost. */
    { "cut_while_claimed", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +2 queued 0, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +1 mine 8; EXTEND as A for 30000 -> +97 cut; +5 HEARTBEAT as A -> +2 mine 9; EXTEND "
      "as A for 30000 -> +2 yes; HELD until 30805, fence 9" },
    { "server_is_loading", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +1 later; +5 JOIN as B, claim 2000 -> +1 "
      "queued 0, 9000 left, at 1; +1000 HEARTBEAT as B -> +1 later; +500 HEARTBEAT as B -> +1 "
      "refused; +500 HEARTBEAT as B -> +1 claimed 8; EXTEND as B for 30000; HELD until 3987, fence "
      "8" },
    { "refused", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, claim 2000 -> +1 refused; STORE_REFUSED; over" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
