/*
 * mutation.h -- the planted faults: what a scenario may bend in the world around the machines.
 *
 * An explorer that finds nothing proves nothing until it has been seen to find something.  Each of
 * these is a mistake that somebody's lock has made; none of them touches the code that is explored.
 * (Mistakes inside a protocol are in mutant/token.h.)
 */
#ifndef BWL_LAB_MODEL_MUTATION_H
#define BWL_LAB_MODEL_MUTATION_H

typedef enum bwl_mutation {
    BWL_MUTATION_DELETE_BLIND    = 1u << 0, /* the server deletes without comparing */
    BWL_MUTATION_EXTEND_BLIND    = 1u << 1, /* the server extends whatever is there */
    BWL_MUTATION_EXTEND_CREATES  = 1u << 2, /* ... and sets the key when there is none */
    BWL_MUTATION_EXTEND_SHORTENS = 1u << 3, /* ... and also to an earlier end than it had */
    BWL_MUTATION_SET_LASTS       = 1u << 4, /* the server sets the key without an end */
    BWL_MUTATION_SET_OVERWRITES  = 1u << 5, /* ... whoever has it */
    BWL_MUTATION_ONE_TOKEN     = 1u << 6, /* every attempt of a client gets the same random bytes */
    BWL_MUTATION_RESENDS       = 1u << 7, /* a new connection repeats what had no answer */
    BWL_MUTATION_KEEPS_UNREAD  = 1u << 8, /* a connection goes on after a reply was not awaited */
    BWL_MUTATION_FENCE_FORGETS = 1u << 9, /* the server counts fences anew when it comes back */
    BWL_MUTATION_LATE_TIMER    = 1u << 10, /* the engine wakes a hold later than it asked for */
    BWL_MUTATION_OLD_TIME      = 1u << 11, /* ... with the time at which it last looked */
    BWL_MUTATION_NO_MAX_HOLD   = 1u << 12, /* ... and forgets how long it may hold at most */
    BWL_MUTATION_SAME_SERVER   = 1u << 13, /* ... and does not look whether it was started anew */
    BWL_MUTATION_MS_AS_SECONDS = 1u << 14, /* a lease in ms is written where seconds are meant */
    BWL_MUTATION_SECONDS_AS_MS = 1u << 15, /* ... or the other way round */
    BWL_MUTATION_BARGES        = 1u << 16, /* the server gives a free lock past who waits for it */
    BWL_MUTATION_FENCE_BARE    = 1u << 17, /* ... counts fences from 1 when it comes back empty */
    BWL_MUTATION_MARKS         = 1u << 18, /* ... marks the value of who has the lock */
    BWL_MUTATION_TELLS_FIRST   = 1u << 19, /* ... tells whose turn it is before that is written */
    BWL_MUTATION_ONE_INBOX     = 1u << 20, /* a client is told its turn on any of its connections */
    BWL_MUTATION_BUSY_FOR_DEAD = 1u << 21, /* ... says busy when only the dead have waited */
    BWL_MUTATION_GIVES_UP_AT_ONCE = 1u
                                    << 22, /* what is lost is taken back before the caller knows */
    BWL_MUTATIONS_END = 1u << 23,
} bwl_mutation;

enum {
    BWL_MUTATIONS_SUM =
        BWL_MUTATION_DELETE_BLIND + BWL_MUTATION_EXTEND_BLIND + BWL_MUTATION_EXTEND_CREATES +
        BWL_MUTATION_EXTEND_SHORTENS + BWL_MUTATION_SET_LASTS + BWL_MUTATION_SET_OVERWRITES +
        BWL_MUTATION_ONE_TOKEN + BWL_MUTATION_RESENDS + BWL_MUTATION_KEEPS_UNREAD +
        BWL_MUTATION_FENCE_FORGETS + BWL_MUTATION_LATE_TIMER + BWL_MUTATION_OLD_TIME +
        BWL_MUTATION_NO_MAX_HOLD + BWL_MUTATION_SAME_SERVER + BWL_MUTATION_MS_AS_SECONDS +
        BWL_MUTATION_SECONDS_AS_MS + BWL_MUTATION_BARGES + BWL_MUTATION_FENCE_BARE +
        BWL_MUTATION_MARKS + BWL_MUTATION_TELLS_FIRST + BWL_MUTATION_ONE_INBOX +
        BWL_MUTATION_BUSY_FOR_DEAD + BWL_MUTATION_GIVES_UP_AT_ONCE
};

_Static_assert(BWL_MUTATIONS_SUM == BWL_MUTATIONS_END - 1, "each mutation has a bit of its own");

#endif
