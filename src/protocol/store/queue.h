/*
 * queue.h -- the commands of the native lock on a Redis server, and their exact meaning.
 *
 * `L` is the key of the lock, with the value of its holder.  `Q` is its queue: the waiters,
 * ordered by ticket.  `B` has the time of each waiter's last heartbeat.  `F` is the counter of
 * fences and tickets.  `value` is made from the token of the lock request.  An entry of Q has the
 * waiter's value, the nonce and the push channel of its pushes, and the TTL of a provisional
 * grant: a short lease, because the server does not know whether the waiter is still there.
 *
 * The previous value is that of the token by which a yielding client has held the lock; `value` is
 * that of its new token.
 *
 * Each command is one script, which the server carries out as one step.
 *
 *  fence    F + 1; if that is below 1e15, F was lost: the server's TIME in microseconds
 *  serve    the first waiter with a recent heartbeat gets L for the TTL of its provisional grant,
 *           with a new fence, and a push through its push channel.  A waiter whose channel has no
 *           subscriber is removed.  Without a waiter, L is deleted.  At most 64 waiters are
 *           removed; then L is deleted: MORE
 *
 *  QUEUE_TAKE     neither L nor Q            -> L = value, for lease; number: fence   YES HELD
 *                 otherwise                  -> if there is no L, serve; if then
 *                                               there is neither L nor Q, as above     YES HELD
 *                                               else                                   NO BUSY
 *  QUEUE_JOIN     as TAKE; but otherwise     -> enter Q, with the ticket of the send or
 *                                               a new one; if there is no L, serve       NO QUEUED
 *                                               and if L is value; number: fence    YES PROVISIONAL
 *                 L is there, no ticket, and
 *                 Q is full                  -> nothing                                NO FULL
 *  QUEUE_HEARTBEAT
 *                 L is value                 -> number: a new fence                   YES MINE
 *                 no entry of value in Q     -> nothing                                NO GONE
 *                 otherwise                  -> the heartbeat and the present push
 *                                               channel are stored; if there is no
 *                                               L, serve                               NO QUEUED
 *                                               and if L is value; number: fence    YES PROVISIONAL
 *  QUEUE_EXTEND   L is value                 -> it expires lease from now, or at its
 *                                               present expiry if that is later        YES
 *                 otherwise                  -> nothing                                NO
 *  QUEUE_RELEASE  L is value                 -> serve                        YES, or YES MORE
 *                 otherwise                  -> nothing                                NO
 *  QUEUE_REST     L is a rest of value       -> nothing                                YES
 *                 L is value, some is left   -> L is a rest of value, which expires when the
 *                                               rest is over                           YES
 *                 otherwise                  -> as RELEASE
 *  QUEUE_CANCEL   L is value                 -> serve                        YES, or YES MORE
 *                 an entry of value in Q     -> remove it                              YES
 *                 otherwise                  -> nothing                                NO
 *  QUEUE_DISPATCH_NEXT
 *                 if there is no L, serve                                  YES, or YES MORE
 *  QUEUE_REQUEUE  L is not the previous value -> nothing                            NO GONE
 *                 no Q                       -> L = value, for lease; number: fence   YES HELD
 *                 otherwise                  -> enter Q, with a new ticket; serve    NO QUEUED
 *                                               and if L is value; number: fence    YES PROVISIONAL
 *
 * With rest_ms, TAKE, JOIN and the EXTEND that confirms a provisional grant keep L for the lease or
 * for rest_ms, whichever is longer.  No EXTEND shortens that.  So L outlives a holder that dies.
 * REST replaces L by a marker that no command but REST takes for its own, and shortens the expiry
 * only to the argument of REST: an extension may have moved it beyond the end of the rest.  The
 * waiters in Q stay, and are served once the marker has expired.
 *
 * A lock that several clients share: the request has a weight w and a limit N (0: none).  L is a
 * gate then, with the fence that was drawn when it opened, and `H` has w members for each share,
 * with the time at which each ends.  A member whose time has come does not count.  L and H expire
 * with the last member.  Without a gate, H means nothing.  The entry of such a waiter in Q says w
 * and N; any other waiter wants L for itself.
 *
 *  fits     of an exclusive waiter: nothing counts in H; of one that shares: N is 0, or what
 *           counts in H and w are at most N together
 *  serve    goes on as long as the first live waiter fits: a waiter that shares gets w members
 *           in H for the TTL of its provisional grant, L becomes a gate if it is none, and the
 *           push has the fence of the gate.  It stops at an exclusive waiter that gets L, and
 *           at a live waiter that does not fit, which keeps its place.  If nothing counts in H
 *           and nobody was served, L and H are deleted
 *
 *  SHARE_TAKE     no L or a gate, no Q,
 *                 it fits                    -> w members in H, for lease; L becomes a gate
 *                                               if it is none; number: its fence      YES HELD
 *                 otherwise                  -> if there is no L, serve; if then the
 *                                               first case applies, as above          YES HELD
 *                                               else                                   NO BUSY
 *  SHARE_JOIN     as TAKE; but otherwise     -> enter Q, with the ticket of the send or
 *                                               a new one; if there is no L or a gate,
 *                                               serve                                NO QUEUED
 *                                               and if H has value; number: fence
 *                                                                              YES PROVISIONAL
 *                 L is there, no ticket, and
 *                 Q is full                  -> nothing                                NO FULL
 *  SHARE_HEARTBEAT
 *                 L is value                 -> number: a new fence                   YES MINE
 *                 a gate, H has value        -> number: the fence of the gate         YES MINE
 *                 otherwise                  -> as HEARTBEAT; it serves under a gate too
 *  SHARE_EXTEND   a gate, H has value        -> its members end lease from now, or as
 *                                               before if that is later                YES
 *                 L is value                 -> L becomes a gate with the fence of the
 *                                               send, H has only our members, as above;
 *                                               serve                                  YES
 *                 otherwise                  -> nothing                                NO
 *  SHARE_LEAVE    L is value                 -> as RELEASE                 YES, or YES MORE
 *                 otherwise                  -> our members of H and our entry of Q are
 *                                               removed; under a gate, serve
 *                                                          YES, or YES MORE; NO: none
 *  SHARE_DOWNGRADE
 *                 L is value                 -> L becomes a gate with a new fence, H has
 *                                               only our member, for lease, or to the
 *                                               present expiry of L if that is later;
 *                                               serve; number: the fence              YES HELD
 *                 a gate, H has value        -> as SHARE_EXTEND; number: the fence
 *                                               of the gate                           YES HELD
 *                 otherwise                  -> nothing                                NO
 *  SHARE_UPGRADE  a gate, H has value,
 *                 or the new value           -> that is a member of the new value, as by
 *                                               SHARE_EXTEND; if H has others,           NO BUSY
 *                                               else L = the new value until then,
 *                                               H is deleted; number: a new fence     YES HELD
 *                 L is one of these          -> L = the new value, for lease, or as
 *                                               before if that is later; number: a
 *                                               new fence                             YES HELD
 *                 otherwise                  -> nothing                                NO
 *
 * Both are of a hold with a weight of 1 and no limit.  The new value is that of the other token of
 * the lock machine.  NO without BUSY is certain: neither value has the lock, nor will a command
 * that comes late give it to one of them.
 *
 * L is the value of a waiter that shares if a command granted it that cannot share: TAKE, JOIN and
 * HEARTBEAT know no H, and neither do earlier versions.  RELEASE, REST, CANCEL, DISPATCH_NEXT and
 * REQUEUE serve as above.  CANCEL and DISPATCH_NEXT serve under a gate too.
 *
 * An L that is not a value of this protocol is a foreign lock: it is never written, deleted or
 * extended, and the waiters in Q wait until it is gone.
 *
 * A push is not a reply, so its lease cannot be counted from the time of a command, and it may be
 * delayed by any time.  So it has the time of the grant by the server's clock (`server_us`).  A
 * QUEUED reply has the server's time too.  The difference of the two, added to the time when the
 * command of QUEUED was sent, is a time before the lease began.
 */
#pragma once

#include "protocol/store/redis.h"

typedef enum bwl_queue_status_kind {
    BWL_QUEUE_STATUS_HELD = 1,
    BWL_QUEUE_STATUS_BUSY,
    BWL_QUEUE_STATUS_QUEUED,
    BWL_QUEUE_STATUS_PROVISIONAL,
    BWL_QUEUE_STATUS_MINE,
    BWL_QUEUE_STATUS_GONE,
    BWL_QUEUE_STATUS_FULL, /* the queue is full */
    BWL_QUEUE_STATUS_MORE, /* waiters were removed, and there may be more: send DISPATCH_NEXT */
} bwl_queue_status_kind;

/* The details of a reply or a push of these commands.  A field that it does not have is 0. */
typedef struct bwl_queue_status {
    bwl_queue_status_kind kind;
    bool                  is_ours; /* QUEUED, BUSY: L has a value of this protocol */
    bool                  rests;   /* QUEUED, BUSY: and that is the rest of a holder */
    bool                  ends;    /* QUEUED, BUSY, MINE: L has an expiry, in left_ms */
    bwl_ms                left_ms;
    uint64_t              ticket;    /* QUEUED, PROVISIONAL: of this waiter */
    uint64_t              rank;      /* QUEUED: waiters before this one; FULL: all waiters */
    int64_t               server_us; /* QUEUED, and a push: the server's TIME, in microseconds */
} bwl_queue_status;

/* Whether it is one of these commands. */
static inline bool bwl_queue_is(bwl_redis_command command)
{
    return command >= REDIS_QUEUE_TAKE && command <= REDIS_SHARE_UPGRADE;
}

/* Whether it changes the mode of a lock that is held. */
static inline bool bwl_queue_changes(bwl_redis_command command)
{
    return command == REDIS_SHARE_DOWNGRADE || command == REDIS_SHARE_UPGRADE;
}

/* Of a command that shares, the one that does the same for an exclusive lock.  SHARE_LEAVE is
 * RELEASE and CANCEL. */
static inline bwl_redis_command bwl_queue_exclusive(bwl_redis_command command)
{
    switch (command) {
    case REDIS_SHARE_TAKE: return REDIS_QUEUE_TAKE;
    case REDIS_SHARE_JOIN: return REDIS_QUEUE_JOIN;
    case REDIS_SHARE_HEARTBEAT: return REDIS_QUEUE_HEARTBEAT;
    case REDIS_SHARE_EXTEND: return REDIS_QUEUE_EXTEND;
    case REDIS_SHARE_LEAVE: return REDIS_QUEUE_RELEASE;
    default: return command;
    }
}
