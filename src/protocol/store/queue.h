/*
 * queue.h -- the words of the native lock on a Redis server, and exactly what they mean.
 *
 * `L` is the lock's key and holds the value of who has it; `Q` its queue, whose members are who
 * waits, by ticket; `B` when each of those was heard last; `F` the count that fences and tickets
 * are drawn from.  `value` is what the claim's token makes.  A member says whose value it is, by
 * what nonce a push names it, through which inbox it is reached, and what a push gives it: `claim`,
 * a short lease, for nobody knows yet whether there is anybody to use it.
 *
 * The former value is that of the token by which who yields has had the lock; `value` is by which
 * he asks for it again.
 *
 * Every word is one script, carried out by the server as one step.
 *
 *  fence    F + 1; if that is below 1e15, F was lost: the server's TIME in microseconds
 *  serve    who waits longest and was heard of late enough is given L for its claim, with a new
 *           fence, and is told through its inbox; who cannot be told any more is passed over.
 *           Nobody waits: L is deleted.  At most 64 are passed over; then L is deleted: MORE
 *
 *  QUEUE_TAKE     neither L nor Q            -> L = value, for lease; number: fence   YES HELD
 *                 otherwise                  -> if there is no L, serve; if then
 *                                               there is neither L nor Q, as above     YES HELD
 *                                               else                                   NO BUSY
 *  QUEUE_JOIN     as TAKE; but otherwise     -> stand in Q, by the ask's ticket or a
 *                                               new one; if there is no L, serve       NO QUEUED
 *                                               and if it served us; number: fence  YES PROVISIONAL
 *                 L is there, no ticket, and
 *                 Q is at its bound          -> nothing                                NO FULL
 *  QUEUE_HEARTBEAT
 *                 L is value                 -> number: a new fence                   YES MINE
 *                 we are not in Q            -> nothing                                NO GONE
 *                 otherwise                  -> we were heard of now, and stand there
 *                                               by the inbox that we have now; if
 *                                               there is no L, serve                   NO QUEUED
 *                                               and if it served us; number: fence  YES PROVISIONAL
 *  QUEUE_EXTEND   L is value                 -> it vanishes lease from now, or when it
 *                                               would have anyway if that is later     YES
 *                 otherwise                  -> nothing                                NO
 *  QUEUE_RELEASE  L is value                 -> serve                        YES, or YES MORE
 *                 otherwise                  -> nothing                                NO
 *  QUEUE_CANCEL   L is value                 -> serve                        YES, or YES MORE
 *                 we are in Q                -> not any more                           YES
 *                 otherwise                  -> nothing                                NO
 *  QUEUE_DISPATCH_NEXT
 *                 if there is no L, serve                                  YES, or YES MORE
 *  QUEUE_REQUEUE  L is not the former value  -> nothing                             NO GONE
 *                 no Q                       -> L = value, for lease; number: fence   YES HELD
 *                 otherwise                  -> stand in Q, by a new ticket; serve    NO QUEUED
 *                                               and if it served us; number: fence  YES PROVISIONAL
 *
 * An L that is no value of ours is a stranger's: it is never written, deleted or extended, and Q
 * waits until it has gone.
 *
 * A push has no question that its time could be counted from, and may be under way for any time.
 * So it says when the server gave the lock, by the server's clock (`server_us`), as QUEUED does of
 * its own moment: the difference of the two, counted from when we asked for QUEUED, is a moment
 * before the lease began.
 */
#ifndef BWL_PROTOCOL_STORE_QUEUE_H
#define BWL_PROTOCOL_STORE_QUEUE_H

#include "core/core.h"

typedef enum bwl_queue_status_kind {
    BWL_QUEUE_STATUS_HELD = 1,
    BWL_QUEUE_STATUS_BUSY,
    BWL_QUEUE_STATUS_QUEUED,
    BWL_QUEUE_STATUS_PROVISIONAL,
    BWL_QUEUE_STATUS_MINE,
    BWL_QUEUE_STATUS_GONE,
    BWL_QUEUE_STATUS_FULL, /* as many wait as may: rank says how many */
    BWL_QUEUE_STATUS_MORE, /* some who waited were passed over, and there are more: DISPATCH_NEXT */
} bwl_queue_status_kind;

/* What an answer or a push of these words says beside YES, NO and the fence.  0 where it says
 * nothing of it. */
typedef struct bwl_queue_status {
    bwl_queue_status_kind kind;
    bool     is_ours; /* QUEUED, BUSY: L holds a value of this protocol                   */
    bool     ends;    /* QUEUED, BUSY, MINE: L vanishes by itself, in left_ms             */
    bwl_ms   left_ms;
    uint64_t ticket;    /* QUEUED, MINE: by which we stand in line                          */
    uint64_t rank;      /* QUEUED, FULL: who stands before us, the holder not counted       */
    int64_t  server_us; /* QUEUED, and a push: the server's TIME then, in microseconds      */
} bwl_queue_status;

#endif
