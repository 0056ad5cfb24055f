/*
 * invariant.h -- the invariants: what must hold in every schedule.
 */
#pragma once

/* X(NAME, label, sentence when it breaks) */
#define BWL_INVARIANTS(X)                                                                        \
    X(ONE_HOLDER, "one holder",                                                                  \
      "two clients believe, each by its own clock, that they hold the lock")                     \
    X(ONE_WORKER, "one worker", "two clients work under the lock, and neither of them was slow") \
    X(NO_OVERLAP, "no overlap", "two clients work under the lock")                               \
    X(OWN_KEY, "own key only", "a command changed a key that holds another client's token")      \
    X(CREATES, "no creation", "a command other than an acquire created the key")                 \
    X(HAS_END, "ends by itself", "a key outlives its lease")                                     \
    X(HONEST, "honest lease", "a client counts on more time than the server gives it")           \
    X(TOLD, "told once", "a caller got an impossible result, or one after the end, or none")     \
    X(HEEDS_NO, "heeds no",                                                                      \
      "a client still believes that it holds the lock after the server said no or was replaced") \
    X(TELLS_LOSS, "tells the loss",                                                              \
      "a hold ran past its time, or learned of a server restart, and did not report LOST")       \
    X(WAKES, "wakes", "a hold has no timer for the end of its time")                             \
    X(MAX_HOLD, "max hold", "a client counts on more time than its maximum hold")                \
    X(KEEPS, "keeps", "a holder that renews and was not slow lost the lock by a single fault")   \
    X(NOT_NEARER, "never nearer", "an extension shortened a hold")                               \
    X(TAKEN_BACK, "taken back", "a key is left that no client wants and no command removes")     \
    X(IN_TIME, "in time", "a caller still waits after its deadline although nothing was slow")   \
    X(PAUSES, "pauses", "a client sends command after command without a pause")                  \
    X(NOT_STUCK, "not stuck", "a client waits with no request in flight and no timer")           \
    X(CLEAN_END, "clean end", "no step is possible any more, and a call or a key is left")       \
    X(LIVE, "never too late", "from here on no client can ever get the lock")                    \
    X(ENDS, "every call ends", "from here on a pending call can never end")                      \
    X(LOST_WAKE_UP, "no lost wake-up",                                                           \
      "the lock is free, and a waiter sleeps longer than a pause")                               \
    X(FIRST_COME, "first come", "a client got the lock before one that asked earlier")           \
    X(FENCE, "fence", "the resource accepted an older holder's write, or rejected the newest's") \
    X(FOREIGN, "foreign value", "a command changed a foreign value")

typedef enum bwl_invariant_number {
#define X(name, label, sentence) BWL_INVARIANT_NUMBER_##name,
    BWL_INVARIANTS(X)
#undef X
        BWL_INVARIANTS_COUNT
} bwl_invariant_number;

/* Flags: a scenario names a set of them. */
typedef enum bwl_invariant {
#define X(name, label, sentence) BWL_INVARIANT_##name = 1u << BWL_INVARIANT_NUMBER_##name,
    BWL_INVARIANTS(X)
#undef X
} bwl_invariant;

_Static_assert(BWL_INVARIANTS_COUNT == 25,
               "the flags are 1u << the number, so they cannot overlap");

enum {
    /* A lease without a queue and a fence does not guarantee these. */
    BWL_INVARIANTS_MORE = BWL_INVARIANT_NO_OVERLAP | BWL_INVARIANT_FIRST_COME | BWL_INVARIANT_FENCE,
    /* These hold while the timing bounds hold. */
    BWL_INVARIANTS_USUAL = ((1u << BWL_INVARIANTS_COUNT) - 1) & ~(unsigned)BWL_INVARIANTS_MORE,
    /* Checked backwards when all worlds are known. */
    BWL_INVARIANTS_BACKWARDS = BWL_INVARIANT_LIVE | BWL_INVARIANT_ENDS,
};

/* Of the lowest flag in `invariants`. */
const char *bwl_invariant_label(unsigned invariants);
const char *bwl_invariant_sentence(unsigned invariants);
