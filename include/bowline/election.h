/*
 * election.h -- leader election: a lock whose holder tells who it is, and programs that observe
 * that.
 *
 *      the leader:    bowline_acquire(&hold, client, "scheduler", BOWLINE_ACQUIRE(.wait_ms =
 *                                     BOWLINE_FOREVER), &error);
 *                     bowline_announce(hold, "http://10.0.0.7:8080", &error);
 *
 *      the others:    bowline_leader leader = BOWLINE_LEADER_INIT;
 *                     while (bowline_observe(&leader, client, "scheduler", BOWLINE_FOREVER,
 *                                            &error) == BOWLINE_OK)
 *                         ... leader.leads, leader.text, leader.fence ...
 *
 * Read this first.
 *
 *   - What an observer sees was true when the store was asked.  A moment later another client may
 *     lead, and an old leader may still run.  So each request to a leader, and each write of one,
 *     carries the fence, and the other side rejects a fence below the greatest that it has seen.
 *     The text is a hint where to go.
 *   - The leader is the holder of a lock, with all that is true of a lock: it leads as long as
 *     bowline_hold_left_ms is not 0.
 *   - With protocol queue, the default: on one server, with Sentinel, in a cluster, with sync=.
 *     UNSUPPORTED, with the reason: other engines, protocols and profiles.
 */
#ifndef BOWLINE_ELECTION_H
#define BOWLINE_ELECTION_H

#include <bowline/async.h>
#include <bowline/bowline.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BOWLINE_ANNOUNCEMENT_MAX = 512 }; /* bytes of a text, without the NUL */

/* Announces that the owner of this exclusive hold leads, and a text: 0 .. BOWLINE_ANNOUNCEMENT_MAX
 * bytes without control characters (no new line), UTF-8 by convention.  Observers get both by a
 * push.  A second call replaces the text.  NULL: withdraws it; then observers see no leader.
 * The library repeats it with each renewal of the hold and after each reconnect, until the hold
 * ends; the release, or a yield, withdraws it first.
 * UNKNOWN, UNREACHABLE, REFUSED: it may not be visible; the hold is as before, and the next renewal
 * repeats it (a withdrawal is not repeated: it is over with the hold at the latest).  LOST: the
 * lock is no longer ours.  UNSUPPORTED: see above.  USAGE: also a shared hold, and while another
 * operation on the hold is under way.  NOMEM, SYSTEM, FORKED.  Blocks for one reply (timeout= of
 * the URL).  Threads of this client that wait for the name go on waiting, behind the clients that
 * wait in the store.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_announce(bowline_hold *hold, const char *text,
                                                    bowline_error *reterr);

/* Who leads.  An unknown field is 0 or "". */
typedef struct bowline_leader {
    size_t   size;    /* set by BOWLINE_LEADER_INIT                                         */
    int32_t  seen;    /* 0: nothing was read yet; 1: the rest is what was read              */
    int32_t  leads;   /* 1: there is a leader; 0: nobody has announced that it leads        */
    uint64_t fence;   /* of the leader; without one, the greatest that was seen             */
    int64_t  left_ms; /* it leads until then, from the moment it was read, unless it renews */
    int64_t  pid;     /* of the program that leads; with bowline elect, of bowline          */
    char     user[BOWLINE_HOLDER_TEXT_MAX];
    char     host[BOWLINE_HOLDER_TEXT_MAX];
    char     program[BOWLINE_HOLDER_TEXT_MAX];
    char     text[BOWLINE_ANNOUNCEMENT_MAX + 1]; /* `?` stands for a control character */
} bowline_leader;

/* clang-format off */
#define BOWLINE_LEADER_INIT { sizeof(bowline_leader), 0, 0, 0, 0, 0, "", "", "", "" }
/* clang-format on */

/* Reads who leads, and waits until that differs from `leader`, which is what the caller has seen
 * last: whether anybody leads, the fence, or the text.  With seen = 0 it does not wait.  Then
 * writes it to `leader`.  A leader whose fence is below leader->fence is not shown, also with
 * seen = 0: the server has older data.  So the fence never becomes smaller.
 * wait_ms: 0 .. BOWLINE_WAIT_MAX_MS, BOWLINE_FOREVER or BOWLINE_DEFAULT.  0: reads once.
 * TIMEOUT: as seen before; only left_ms is written anew.  UNREACHABLE, UNKNOWN: the store could not
 * be read for a second, so it is not known who leads; `leader` is as before, with what is left of
 * the lease if the store was read in this call, and true until that is over.  Call again.
 * REFUSED: the server answers with an error.  UNSUPPORTED: see above.
 * USAGE, NOMEM, SYSTEM, FORKED.
 * A change arrives by a push.  A push that is lost costs 10 seconds at most, or less if the lease
 * of the leader ends before that; a leader that dies is noticed when its lease ends.
 * Blocks for wait_ms and then for one reply (timeout= of the URL).  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_observe(bowline_leader *leader, bowline_client *client,
                                                   const char *name, int64_t wait_ms,
                                                   bowline_error *reterr);

/* ---- start and finish: see async.h ----------------------------------------------------------- */

/* As bowline_announce, returning at once: USAGE, UNSUPPORTED, NOMEM, FORKED.  Free with
 * bowline_finish.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_announce_start(bowline_operation **ret_op,
                                                          bowline_hold *hold, const char *text,
                                                          bowline_error *reterr);

/* As bowline_observe, returning at once: USAGE, UNSUPPORTED, NOMEM, SYSTEM, FORKED.  `seen` is
 * copied.  Free with bowline_observe_finish.  Any thread. */
BOWLINE_API BOWLINE_MUST_CHECK int bowline_observe_start(bowline_operation **ret_op,
                                                         bowline_client *client, const char *name,
                                                         const bowline_leader *seen,
                                                         int64_t wait_ms, bowline_error *reterr);

/* Waits for the end if necessary, writes the leader on OK, and frees the operation.  Statuses of
 * bowline_observe, and CANCELLED.  After USAGE the operation is as before.  One thread. */
BOWLINE_API BOWLINE_MUST_CHECK int
bowline_observe_finish(bowline_leader *leader, bowline_operation *op, bowline_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
