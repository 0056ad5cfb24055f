/*
 * judged.h -- a holder and a rival of one lock, checked by a witness (witness.h).
 *
 * The lock_holder is a thread that acts as the program that holds the lock: it is inside while
 * bowline_hold_left_ms is above 0, and then leaves.  The rival is a client with its own connection,
 * which acquires the lock whenever it can, is inside for a moment, and releases it.
 */
#ifndef TEST_JUDGED_H
#define TEST_JUDGED_H

#include "tests/lib/testing.h"
#include "tests/lib/witness.h"

typedef struct lock_holder lock_holder;
typedef struct rival       rival;

/* Enters at once.  Stop it before the release of the hold. */
lock_holder *holder_start(witness *judge, bowline_hold *hold);

/* Waits, twenty seconds at most, until it has detected the loss of the lock. */
bool holder_await_loss(lock_holder *b);

/* Leaves, if it is still inside.  Returns the last time at which it held the lock, on the clock of
 * witness_now_us; 0: never.  Frees it. */
int64_t holder_stop(lock_holder *b);

/* `url` lives until the rival is stopped. */
rival *rival_start(witness *judge, const char *url, const char *name);
void   rival_stop(rival *r); /* frees it */

/* A rival that waits in the queue instead of trying repeatedly. */
rival *rival_start_queued(witness *judge, const char *url, const char *name);

unsigned rival_hold_count(rival *r); /* how often it has been inside */

/* Waits, twenty seconds at most, until it has been inside once more. */
bool rival_await_hold(rival *r);

/* Returns true if a hold that must be kept in this round was kept and then released with OK.
 * False: the machine was too slow (the renewal thread, the server or the caller may stop for a
 * lease): repeat the round, twenty times at most. */
#define keeps_in_round(kept, status, round) \
    keeps_in_round_at((kept), (status), (round), __FILE__, __LINE__)
bool keeps_in_round_at(bool kept, int status, int round, const char *file, int line);

/* As witness_free, unless a failed test has left threads that still use the witness. */
void judge_dismiss(witness *judge);

/* No two holders were sure of the lock at the same time, and none was inside with another one that
 * it could know of. */
#define assert_one_at_a_time(judge) assert_one_at_a_time_at((judge), __FILE__, __LINE__)
void assert_one_at_a_time_at(witness *judge, const char *file, int line);

/* The holder that was wrong since `fault_us` was sure for a lease at most. */
#define assert_bounded(sure_us, fault_us, lease_ms) \
    assert_true((sure_us) <= (fault_us) + (int64_t)(lease_ms)*1000)

#endif
