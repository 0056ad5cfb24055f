/*
 * test_queue_transcript.c -- a lock with a queue on a Redis server: timed stories of coming to it.
 *
 * transcript.h and queue_story.h say how they are read.  A lease of 30000 ms is worth 29698 ms to
 * us, a claim of 2000 ms is worth 1978.
 */
#include "transcript.h"

static const story stories[] = {
    /* Without renewals, the confirmation makes the lease whole. */
    { "given_without_renewals", &bwl_queue, &without_renewal,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[  300] server gives 8 at 299\n"
      "[  300] asks EXTEND as A for 30000\n"
      "[  300] HELD until 2272, fence 8\n"
      "[  302] server says yes\n"
      "[29997] caller looks\n"
      "[29997] 1 left\n"
      "[29998] asks RELEASE as A\n"
      "[29998] LOST\n"
      "[29999] server says no\n"
      "[29999] over\n" },
    { "free", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    3] server says held 7\n"
      "[    3] HELD until 29698, fence 7\n"
      "[10003] asks EXTEND as A for 30000\n"
      "[10004] server says yes\n"
      "[10010] caller looks\n"
      "[10010] 29691 left\n"
      "[10100] caller releases\n"
      "[10100] asks RELEASE as A\n"
      "[10102] server says yes\n"
      "[10102] RELEASED\n"
      "[10102] over\n" },
    { "once_is_busy", &bwl_queue, &usual_terms,
      "[    0] caller acquires, once\n"
      "[    0] asks TAKE as A for 30000\n"
      "[    2] server says busy\n"
      "[    2] BUSY\n"
      "[    2] over\n" },
    /* Given by a push, held at once, confirmed behind the caller's back. */
    { "queued_then_given", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 2, 9000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1003] server says queued 1, 9000 left, at 1002\n"
      "[ 1003] chance 700\n"
      "[ 2003] asks HEARTBEAT as A\n"
      "[ 2004] server says queued 0, 700 left, at 2003\n"
      "[ 2300] server gives 8 at 2299\n"
      "[ 2300] asks EXTEND as A for 30000\n"
      "[ 2300] HELD until 4273, fence 8\n"
      "[ 2301] caller looks\n"
      "[ 2301] 1972 left\n"
      "[ 2302] server says yes\n"
      "[ 2302] caller looks\n"
      "[ 2302] 29696 left\n"
      "[12302] asks EXTEND as A for 30000\n" },
    /* The push was under way for three seconds, and the claim over: somebody else has it. */
    { "grant_that_came_too_late", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 30000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 4000] server gives 8 at 600\n" /* the answer to the beat is held back as well */
      "[ 4000] asks EXTEND as A for 30000\n"
      "[ 4001] server says gone\n"
      "[ 4002] server says no\n"
      "[ 4003] asks JOIN as B by 5, claim 4000\n"
      "[ 4004] server says queued 0, 1900 left, at 4004\n"
      "[ 4100] server gives 9 at 4099\n"
      "[ 4100] asks EXTEND as B for 30000\n"
      "[ 4100] HELD until 8054, fence 9\n" },
    /* A claim that is nearly over: held when that is confirmed, and not before. */
    { "grant_that_came_late", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 30000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1900] server gives 8 at 300\n"
      "[ 1900] asks EXTEND as A for 30000\n"
      "[ 1903] server says gone\n"
      "[ 1904] server says yes\n"
      "[ 1904] HELD until 31598, fence 8\n" },
    /* Set back, or forward: the claim counts from the question, and that it was held back is
     * seen. */
    { "server_clock_is_set", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 30000 left, at 100000\n"
      "[  300] server gives 8 at 299\n"
      "[  300] asks EXTEND as A for 30000\n"
      "[  300] HELD until 1978, fence 8\n" },
    { "server_clock_is_set_2", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 30000 left, at 1\n"
      "[  300] server gives 8 at 100000\n"
      "[  300] asks EXTEND as A for 30000\n"
      "[  300] HELD until 1978, fence 8\n" },
    /* The push was lost; the beat finds it.  What it is worth says the confirmation. */
    { "beat_finds_mine", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 30000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1003] server says mine 8\n"
      "[ 1003] asks EXTEND as A for 30000\n"
      "[ 1005] server says yes\n"
      "[ 1005] HELD until 30701, fence 8\n" },
    /* The lease of a holder that died: the beat comes when it is over, and is served. */
    { "beat_is_served", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 400 left, at 1\n"
      "[  404] asks HEARTBEAT as A\n"
      "[  405] server says claimed 8\n"
      "[  405] asks EXTEND as A for 30000\n"
      "[  405] HELD until 2382, fence 8\n" },
    /* Strangers' locks, and those that never end, are looked at closely. */
    { "stranger_holds_it", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, a stranger's, at 1\n"
      "[   52] asks HEARTBEAT as A\n"
      "[   53] server says queued 0, endless, at 52\n"
      "[  103] asks HEARTBEAT as A\n"
      "[  104] server says claimed 8\n"
      "[  104] asks EXTEND as A for 30000\n"
      "[  104] HELD until 2081, fence 8\n" },
    { "cut_while_asked", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[   20] link cuts\n"
      "[   25] asks HEARTBEAT as A\n"
      "[   26] server says queued 3, 9000 left, at 26\n"
      "[  100] server gives 8 at 99\n"
      "[  100] asks EXTEND as A for 30000\n"
      "[  100] HELD until 2074, fence 8\n" },
    { "cut_while_asked_2", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[   20] link cuts\n"
      "[   25] asks HEARTBEAT as A\n"
      "[   26] server says gone\n"
      "[   27] asks JOIN as B, claim 2000\n"
      "[   29] server says held 8\n"
      "[   29] HELD until 29725, fence 8\n" },
    { "cut_while_asked_3", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[   20] link cuts\n"
      "[   25] asks HEARTBEAT as A\n"
      "[   26] server says mine 8\n"
      "[   26] asks EXTEND as A for 30000\n"
      "[   29] server says yes\n"
      "[   29] HELD until 29724, fence 8\n" },
    /* However long the connection is away: the place is asked for, and not made anew. */
    { "cut_while_asked_for_longer_than_the_lease", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for ever\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[40000] link cuts\n"
      "[40005] asks HEARTBEAT as A\n"
      "[80000] link cuts\n"
      "[80010] asks HEARTBEAT as A\n"
      "[80011] server says queued 0, 9000 left, at 80011\n"
      "[81011] asks HEARTBEAT as A\n" },
    { "cut_while_queued", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[  500] link ends\n"
      "[  500] asks HEARTBEAT as A\n"
      "[  700] link sends nothing\n" /* nobody can connect for now */
      "[ 1200] asks HEARTBEAT as A\n"
      "[ 1203] server says queued 0, 7000 left, at 1202\n"
      "[ 1300] server gives 8 at 1299\n"
      "[ 1300] asks EXTEND as A for 30000\n"
      "[ 1300] HELD until 3273, fence 8\n" },
    { "cut_while_a_beat_is_out", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1100] link cuts\n"
      "[ 1100] asks HEARTBEAT as A\n"
      "[ 1100] link ends\n"
      "[ 1103] server says mine 9\n"
      "[ 1103] asks EXTEND as A for 30000\n"
      "[ 1105] server says yes\n"
      "[ 1105] HELD until 30801, fence 9\n" },
    /* Our place is gone: dead to others, forgotten by the server.  The ticket is still ours. */
    { "gone_keeps_the_ticket", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 1, 9000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 9000] link cuts\n"
      "[ 9000] asks HEARTBEAT as A\n"
      "[ 9001] server says gone\n"
      "[ 9002] asks JOIN as B by 5, claim 2000\n"
      "[ 9003] server says queued 0, 700 left, at 9003\n"
      "[ 9705] asks HEARTBEAT as B\n" },
    { "confirmation_is_cut", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[  300] server gives 8 at 299\n"
      "[  300] asks EXTEND as A for 30000\n"
      "[  300] HELD until 2272, fence 8\n"
      "[  400] link cuts\n"
      "[  400] asks EXTEND as A for 30000\n"
      "[  400] link ends\n"
      "[  401] link sends nothing\n"
      "[  451] asks EXTEND as A for 30000\n"
      "[  453] server says yes\n"
      "[  453] caller looks\n"
      "[  453] 29696 left\n" },
    /* Nobody answers, and the claim ends: what may be ours still is taken back. */
    { "claim_is_never_confirmed", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[  300] server gives 8 at 299\n"
      "[  300] asks EXTEND as A for 30000\n"
      "[  300] HELD until 2272, fence 8\n"
      "[ 1286] asks EXTEND as A for 30000\n"
      "[ 2272] asks RELEASE as A\n"
      "[ 2272] LOST\n"
      "[ 2273] server says yes\n"
      "[ 2274] server says yes\n"
      "[ 2275] server says no\n"
      "[ 2275] over\n" },
    { "confirmation_finds_it_lost", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[  300] server gives 8 at 299\n"
      "[  300] asks EXTEND as A for 30000\n"
      "[  300] HELD until 2272, fence 8\n"
      "[  303] server says no\n"
      "[  303] LOST\n"
      "[  303] over\n" },
    /* Not ours once is not ours for good: the renewal behind it cannot find anything else. */
    { "confirmation_finds_it_lost_behind_a_renewal", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[  300] server gives 8 at 299\n"
      "[  300] asks EXTEND as A for 30000\n"
      "[  300] HELD until 2272, fence 8\n"
      "[ 1286] asks EXTEND as A for 30000\n"
      "[ 1290] server says no\n"
      "[ 1290] LOST\n"
      "[ 1290] over\n"
      "[ 1291] server says no\n" },
    /* Nothing was told yet, so nothing is lost: it is settled. */
    { "cut_while_claimed", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    2] server says queued 0, 9000 left, at 1\n"
      "[ 1002] asks HEARTBEAT as A\n"
      "[ 1003] server says mine 8\n"
      "[ 1003] asks EXTEND as A for 30000\n"
      "[ 1100] link cuts\n"
      "[ 1105] asks HEARTBEAT as A\n"
      "[ 1107] server says mine 9\n"
      "[ 1107] asks EXTEND as A for 30000\n"
      "[ 1109] server says yes\n"
      "[ 1109] HELD until 30805, fence 9\n" },
    { "server_is_loading", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    1] server says later\n"
      "[    6] asks JOIN as B, claim 2000\n"
      "[    7] server says queued 0, 9000 left, at 1\n"
      "[ 1007] asks HEARTBEAT as B\n"
      "[ 1008] server says later\n"
      "[ 1508] asks HEARTBEAT as B\n"
      "[ 1509] server says refused\n"
      "[ 2009] asks HEARTBEAT as B\n"
      "[ 2010] server says claimed 8\n"
      "[ 2010] asks EXTEND as B for 30000\n"
      "[ 2010] HELD until 3987, fence 8\n" },
    { "refused", &bwl_queue, &usual_terms,
      "[    0] caller acquires, for 60000\n"
      "[    0] asks JOIN as A, claim 2000\n"
      "[    1] server says refused\n"
      "[    1] STORE_REFUSED\n"
      "[    1] over\n" },
};

int main(void)
{
    return PLAY_ALL(stories);
}
