/*
 * mutation.h -- mutations: faults that a scenario plants in the server, the engine or the network.
 *
 * They show that the explorer finds faults.  Each is a mistake that a real lock has made; none
 * changes the explored code. (Mutants of protocols are in lab/mutant.)
 */
#pragma once

#include <limits.h>

typedef enum bwl_mutation {
    BWL_MUTATION_DELETE_BLIND    = 1u << 0, /* the server deletes without comparing */
    BWL_MUTATION_EXTEND_BLIND    = 1u << 1, /* the server extends whatever is there */
    BWL_MUTATION_EXTEND_CREATES  = 1u << 2, /* ... and sets the key when there is none */
    BWL_MUTATION_EXTEND_SHORTENS = 1u << 3, /* ... and also sets an earlier end */
    BWL_MUTATION_SET_LASTS       = 1u << 4, /* the server sets the key without a TTL */
    BWL_MUTATION_SET_OVERWRITES  = 1u << 5, /* ... and overwrites any value */
    BWL_MUTATION_ONE_TOKEN    = 1u << 6, /* every attempt of a client has the same random bytes */
    BWL_MUTATION_RESENDS      = 1u << 7, /* a new connection repeats commands without an answer */
    BWL_MUTATION_KEEPS_UNREAD = 1u
                                << 8, /* a connection stays open after the engine stopped waiting */
    BWL_MUTATION_FENCE_FORGETS = 1u << 9,  /* the server restarts its fences at 1 */
    BWL_MUTATION_LATE_TIMER    = 1u << 10, /* the engine wakes a hold too late */
    BWL_MUTATION_OLD_TIME      = 1u << 11, /* ... with an old time */
    BWL_MUTATION_NO_MAX_HOLD   = 1u << 12, /* ... and ignores the maximum hold */
    BWL_MUTATION_SAME_SERVER   = 1u << 13, /* ... and does not detect a restart */
    BWL_MUTATION_MS_AS_SECONDS = 1u << 14, /* a lease in ms is written as seconds */
    BWL_MUTATION_SECONDS_AS_MS = 1u << 15, /* ... or seconds as ms */
    BWL_MUTATION_BARGES        = 1u << 16, /* the server gives a free lock past its waiters */
    BWL_MUTATION_FENCE_BARE    = 1u << 17, /* ... restarts its fences at 1 when it restarts empty */
    BWL_MUTATION_MARKS         = 1u << 18, /* ... marks the value of the owner */
    BWL_MUTATION_TELLS_FIRST   = 1u << 19, /* ... pushes a grant before it writes it */
    BWL_MUTATION_ONE_CHANNEL   = 1u << 20, /* a client accepts grants on any of its connections */
    BWL_MUTATION_BUSY_FOR_DEAD = 1u << 21, /* ... replies BUSY when only dead waiters are queued */
    BWL_MUTATION_GIVES_UP_AT_ONCE = 1u << 22, /* a lost lock is released before the caller knows */
    BWL_MUTATION_RELEASES_REST    = 1u << 23, /* the server releases in place of a rest */
    BWL_MUTATION_READERS_FIRST    = 1u << 24, /* ... lets who shares past its waiters */
    BWL_MUTATION_HEARTBEAT_KEEPS  = 1u << 25, /* a heartbeat keeps members that have ended */
    BWL_MUTATION_HEARTBEAT_ONLY   = 1u << 26, /* ... and does not serve a lock that is shared */
    BWL_MUTATION_FENCE_EACH       = 1u << 27, /* who shares gets a fence of its own */
    BWL_MUTATION_LETS_IN_ONE      = 1u << 28, /* only one of those who may share is served */
    BWL_MUTATION_DEAD_WAIT        = 1u << 29, /* a dead waiter that does not fit keeps its place */
    BWL_MUTATION_GATE_OF_LAST     = 1u << 30, /* a shared lock ends with who came last */
} bwl_mutation;

enum {
    BWL_MUTATIONS_SUM =
        BWL_MUTATION_DELETE_BLIND + BWL_MUTATION_EXTEND_BLIND + BWL_MUTATION_EXTEND_CREATES +
        BWL_MUTATION_EXTEND_SHORTENS + BWL_MUTATION_SET_LASTS + BWL_MUTATION_SET_OVERWRITES +
        BWL_MUTATION_ONE_TOKEN + BWL_MUTATION_RESENDS + BWL_MUTATION_KEEPS_UNREAD +
        BWL_MUTATION_FENCE_FORGETS + BWL_MUTATION_LATE_TIMER + BWL_MUTATION_OLD_TIME +
        BWL_MUTATION_NO_MAX_HOLD + BWL_MUTATION_SAME_SERVER + BWL_MUTATION_MS_AS_SECONDS +
        BWL_MUTATION_SECONDS_AS_MS + BWL_MUTATION_BARGES + BWL_MUTATION_FENCE_BARE +
        BWL_MUTATION_MARKS + BWL_MUTATION_TELLS_FIRST + BWL_MUTATION_ONE_CHANNEL +
        BWL_MUTATION_BUSY_FOR_DEAD + BWL_MUTATION_GIVES_UP_AT_ONCE + BWL_MUTATION_RELEASES_REST +
        BWL_MUTATION_READERS_FIRST + BWL_MUTATION_HEARTBEAT_KEEPS + BWL_MUTATION_HEARTBEAT_ONLY +
        BWL_MUTATION_FENCE_EACH + BWL_MUTATION_LETS_IN_ONE + BWL_MUTATION_DEAD_WAIT +
        BWL_MUTATION_GATE_OF_LAST
};

_Static_assert(BWL_MUTATIONS_SUM == INT_MAX, "each mutation has a bit of its own");
