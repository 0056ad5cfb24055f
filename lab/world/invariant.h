/*
 * invariant.h -- what must never happen, whatever the schedule.
 */
#ifndef BWL_LAB_WORLD_INVARIANT_H
#define BWL_LAB_WORLD_INVARIANT_H

/* X(NAME, what `bowline-lab` calls it, what is said when it breaks) */
#define BWL_INVARIANTS(X)                                                                         \
    X(ONE_HOLDER, "one holder",                                                                   \
      "two clients believe, each on its own clock, that the lock is "                             \
      "surely theirs")                                                                            \
    X(ONE_WORKER, "one worker", "two clients work under the lock, and neither of them was slow")  \
    X(NO_OVERLAP, "no overlap", "two clients work under the lock")                                \
    X(OWN_KEY, "own key only", "a question changed a key that has the token of another client")   \
    X(CREATES, "no creation", "a question that is no acquire created the key")                    \
    X(HAS_END, "ends by itself", "there is a key that outlives its lease")                        \
    X(HONEST, "honest lease", "a client believes in more time than the server gives it")          \
    X(TOLD, "told once", "a caller was told what cannot be, or was told after the end, or never") \
    X(HEEDS_NO, "heeds no",                                                                       \
      "a client believes on although the server has told it no, or is "                           \
      "not the one that gave it the lock")                                                        \
    X(TELLS_LOSS, "tells the loss",                                                               \
      "a hold was woken after its time was over, or learnt that the "                             \
      "server was started anew, and did not say LOST")                                            \
    X(WAKES, "wakes", "the time of a hold is over, and it has not asked to be woken then")        \
    X(MAX_HOLD, "max hold", "a client believes in more time than it may hold at most")            \
    X(KEEPS, "keeps", "a holder that renews and was not slow lost the lock by a single fault")    \
    X(NOT_NEARER, "never nearer", "an extension brought the end of a hold nearer")                \
    X(TAKEN_BACK, "taken back", "a key is left behind that nobody wants and nothing removes")     \
    X(IN_TIME, "in time", "a caller still waits, though its time is over and nothing was slow")   \
    X(PAUSES, "pauses", "a client asks the server again and again without a pause")               \
    X(NOT_STUCK, "not stuck", "a client waits for nothing: no question is out, no timer is set")  \
    X(CLEAN_END, "clean end", "nothing can happen any more, and not everything is over and gone") \
    X(LIVE, "never too late", "from here on nobody will ever get the lock")                       \
    X(ENDS, "every call ends", "from here on a call that is under way never comes to an end")     \
    X(LOST_WAKE_UP, "no lost wake-up",                                                            \
      "the lock is free, and who waits for it sleeps longer than a pause")                        \
    X(FIRST_COME, "first come", "a client got the lock before one that had asked for it earlier") \
    X(FENCE, "fence", "what the lock protects took an older holder's write, or not the newest's") \
    X(FOREIGN, "foreign value", "a question changed a value that is none of ours")

typedef enum bwl_invariant_number {
#define X(name, label, sentence) BWL_INVARIANT_NUMBER_##name,
    BWL_INVARIANTS(X)
#undef X
        BWL_INVARIANTS_COUNT
} bwl_invariant_number;

/* Flags, so that a scenario can name those it is about. */
typedef enum bwl_invariant {
#define X(name, label, sentence) BWL_INVARIANT_##name = 1u << BWL_INVARIANT_NUMBER_##name,
    BWL_INVARIANTS(X)
#undef X
} bwl_invariant;

_Static_assert(BWL_INVARIANTS_COUNT == 25,
               "the flags are 1u << the number, so they cannot overlap");

enum {
    /* More than a lease without a queue and without a fence can give. */
    BWL_INVARIANTS_MORE = BWL_INVARIANT_NO_OVERLAP | BWL_INVARIANT_FIRST_COME | BWL_INVARIANT_FENCE,
    /* All that hold while the timing bounds do. */
    BWL_INVARIANTS_USUAL = ((1u << BWL_INVARIANTS_COUNT) - 1) & ~(unsigned)BWL_INVARIANTS_MORE,
    /* Judged when every world is known, backwards. */
    BWL_INVARIANTS_BACKWARDS = BWL_INVARIANT_LIVE | BWL_INVARIANT_ENDS,
};

/* Of the lowest flag in `invariants`. */
const char *bwl_invariant_label(unsigned invariants);
const char *bwl_invariant_sentence(unsigned invariants);

#endif
