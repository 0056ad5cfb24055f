/*
 * election.h -- a lock whose holder leads: the holder announces a text, and others observe who
 * leads and with which fence.  For engines that offer it.
 */
#pragma once

#include "engine/engine.h"

enum { BWL_LEADER_TEXT_MAX = 512 }; /* bytes of what a leader announces, without the NUL */

/* Who leads.  Unknown: 0 or "". */
typedef struct bwl_leader {
    bool     is_known; /* false: nothing but `fence` is valid */
    bool     leads;    /* false: nobody, and all but `fence` is unknown  */
    uint64_t fence;    /* without a leader: the greatest that was seen    */
    bwl_ms   left_ms;  /* of its lease, when the store was asked          */
    int64_t  pid;
    char     user[BWL_HOLDER_TEXT_MAX];
    char     host[BWL_HOLDER_TEXT_MAX];
    char     program[BWL_HOLDER_TEXT_MAX];
    char     text[BWL_LEADER_TEXT_MAX + 1];
} bwl_leader;

typedef struct bwl_election {
    /* Announces a text, of at most BWL_LEADER_TEXT_MAX bytes, of a held lock, instead of an earlier
     * one; NULL: withdraws it.  Each renewal of the hold repeats it, and the command that ends the
     * hold withdraws it.  True: it is complete; false: query_done() will be called, or was called
     * already. */
    bool (*announce)(bwl_engine_lock *lock, const char *text);

    /* The result of it: OK, UNKNOWN, UNREACHABLE, REFUSED, NOMEM. */
    int (*announced)(const bwl_engine_lock *lock, bwl_fault *fault);

    /* The hold ends without a command of its machine: withdraws it, and waits for no reply.  Also
     * of a lock that announces nothing. */
    void (*withdraw)(bwl_engine_lock *lock);

    /* On a lock that was prepared and never acquired: observes who leads, until that differs from
     * *seen, or `until` has come.  True and false as above. */
    bool (*observe)(bwl_engine_lock *lock, const bwl_leader *seen, bwl_ms until);

    /* The result of it: OK; TIMEOUT: as seen; UNKNOWN, UNREACHABLE, REFUSED, NOMEM. */
    int (*observed)(const bwl_engine_lock *lock, bwl_leader *ret_leader, bwl_fault *fault);
} bwl_election;

/* Why the holder of a lock cannot announce anything, in words that live for ever; NULL: it can.
 * `protocol`: that of a lock on Redis. */
const char *bwl_why_no_election(const bwl_engine *engine, const bwl_protocol *protocol);
