/*
 * test_queue_transcript.c -- acquiring a lock with a queue on a Redis server.
 *
 * transcript.h says how a story is read. A lease of 30000 ms is worth 29698 ms to us, a
 * provisional grant of 2000 ms is worth 1978.
 */
#include "transcript.h"
#include "protocol/queue_lock.h"

#define GRANTED_AT_299                                                                           \
    "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +298 grants 8 " \
    "at 299; EXTEND as A; HELD until 2272, fence 8"

static const story stories[] = {
    /* The confirmation extends the provisional grant to the whole lease. */
    { "granted_without_renewals", &bwl_queue, &without_renewal,
      GRANTED_AT_299 " -> +2 yes; +29695 reads; 1 left; +1 RELEASE as A; LOST -> +1 no; over" },
    { "free", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +3 held 7; HELD until 29698, fence 7; +10000 "
      "EXTEND as A -> +1 yes; +6 reads; 29691 left; +90 releases; RELEASE as A -> +2 yes; "
      "RELEASED; over" },
    /* Held from the push on; confirmed while the caller already runs. */
    { "queued_then_granted", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 2, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +1 queued 1, 9000 left, at 1002; random 700; +1000 HEARTBEAT as A -> +1 queued 0, "
      "700 left, at 2003; +296 grants 8 at 2299; EXTEND as A; HELD until 4273, fence 8; +1 reads; "
      "1972 left -> +1 yes; reads; 29696 left; +10000 EXTEND as A" },
    /* The push took three seconds, and the provisional grant is over. */
    { "grant_that_came_too_late", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 30000 left, at 1; +1000 "
      "HEARTBEAT as A; +2998 grants 8 at 600; EXTEND as A -> +1 gone -> +1 no; +1 JOIN as B by 5, "
      "grant 4000 -> +1 queued 0, 1900 left, at 4004; +96 grants 9 at 4099; EXTEND as B; HELD "
      "until 8054, fence 9" },
    /* The provisional grant is nearly over: held when it is confirmed. */
    { "grant_that_came_late", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 30000 left, at 1; +1000 "
      "HEARTBEAT as A; +898 grants 8 at 300; EXTEND as A -> +3 gone -> +1 yes; HELD until 31598, "
      "fence 8" },
    /* The request was not carried out. The provisional grant may still be valid. */
    { "confirmation_NOT_SENT_is_resolved", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 30000 left, at 1; +1000 "
      "HEARTBEAT as A -> +1 mine 8; EXTEND as A -> +2 unsent; +5 HEARTBEAT as A -> +1 mine 8; "
      "EXTEND as A -> +1 yes; HELD until 30709, fence 8" },
    /* After the clock was set back or forward, the provisional grant counts from the request. */
    { "server_clock_is_set", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 30000 left, at 100000; +298 "
      "grants 8 at 299; EXTEND as A; HELD until 1978, fence 8" },
    { "server_clock_is_set_2", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 30000 left, at 1; +298 grants 8 "
      "at 100000; EXTEND as A; HELD until 1978, fence 8" },
    /* A foreign lock, or one without an expiry, is checked every 50 ms. */
    { "foreign_lock_is_polled", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, foreign, at 1; +50 "
      "HEARTBEAT as A -> +1 queued 0, endless, at 52; +50 HEARTBEAT as A -> +1 granted 8; EXTEND "
      "as A; HELD until 2081, fence 8" },
    /* The second request reads the entry and does not make another one. */
    { "cut_while_joining_for_longer_than_the_lease", &bwl_queue, &usual_terms,
      "acquires, for ever; JOIN as A, grant 2000 -> +40000 cut; +5 HEARTBEAT as A -> +39995 cut; "
      "+10 HEARTBEAT as A -> +1 queued 0, 9000 left, at 80011; +1000 HEARTBEAT as A" },
    { "cut_while_queued", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +498 link ends; "
      "HEARTBEAT as A -> +200 unsent; +500 HEARTBEAT as A -> +3 queued 0, 7000 left, at 1202; +97 "
      "grants 8 at 1299; EXTEND as A; HELD until 3273, fence 8" },
    { "cut_during_a_heartbeat", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +98 cut; HEARTBEAT as A; link ends -> +3 mine 9; EXTEND as A -> +2 yes; HELD until "
      "30801, fence 9" },
    /* The server lost the entry; the waiter keeps its ticket. */
    { "lost_entry_keeps_its_ticket", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 1, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +7998 cut; HEARTBEAT as A -> +1 gone; +1 JOIN as B by 5, grant 2000 -> +1 queued 0, "
      "700 left, at 9003; +702 HEARTBEAT as B" },
    { "confirmation_is_cut", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +298 grants 8 "
      "at 299; EXTEND as A; HELD until 2272, fence 8 -> +100 cut; EXTEND as A; link ends -> +1 "
      "unsent; +50 EXTEND as A -> +2 yes; reads; 29696 left" },
    { "provisional_grant_is_never_confirmed", &bwl_queue, &usual_terms,
      GRANTED_AT_299
      "; +986 EXTEND as A; +986 RELEASE as A; LOST -> +1 yes -> +1 yes -> +1 no; over" },
    { "confirmation_finds_the_lock_lost", &bwl_queue, &usual_terms,
      GRANTED_AT_299 " -> +3 no; LOST; over" },
    { "confirmation_finds_the_lock_lost_after_a_renewal", &bwl_queue, &usual_terms,
      GRANTED_AT_299 "; +986 EXTEND as A -> +4 no; LOST; over -> +1 no" },
    /* The caller has no result yet, so the lock is not LOST. */
    { "cut_during_a_provisional_grant", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +2 queued 0, 9000 left, at 1; +1000 HEARTBEAT "
      "as A -> +1 mine 8; EXTEND as A -> +97 cut; +5 HEARTBEAT as A -> +2 mine 9; EXTEND as A -> "
      "+2 yes; HELD until 30805, fence 9" },
    { "server_is_loading", &bwl_queue, &usual_terms,
      "acquires, for 60000; JOIN as A, grant 2000 -> +1 retry; +5 JOIN as B, grant 2000 -> +1 "
      "queued 0, 9000 left, at 1; +1000 HEARTBEAT as B -> +1 retry; +500 HEARTBEAT as B -> +1 "
      "refused; +500 HEARTBEAT as B -> +1 granted 8; EXTEND as B; HELD until 3987, fence 8" },
};

ROWS(stories, play_row)
