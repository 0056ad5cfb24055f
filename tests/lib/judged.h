/*
 * judged.h -- two sides of one lock, before the judge (witness.h): a holder who is watched, and a
 * rival who wants it all the time.
 *
 * The believer is a thread that stands in for the program that holds the lock: it is inside for as
 * long as bowline_hold_left_ms says that the lock is its own, and leaves when that says 0.  The
 * rival is a client of its own, on its own way to the server, that takes the lock whenever it can
 * be had, is inside for a moment, and gives it back.
 */
#ifndef TEST_JUDGED_H
#define TEST_JUDGED_H

#include "tests/lib/testing.h"
#include "tests/lib/witness.h"

typedef struct believer believer;
typedef struct rival    rival;

/* Enters at once.  Stop it before the hold is released. */
believer *believer_start(witness *judge, bowline_hold *hold);

/* Waits, twenty seconds at most, until it has learnt that the lock is lost. */
bool believer_learns(believer *b);

/* Leaves, if it is inside still.  Returns the last moment at which it was sure, on the clock of
 * witness_now_us; 0: never.  Frees it. */
int64_t believer_stop(believer *b);

/* `url` lives until the rival is stopped. */
rival *rival_start(witness *judge, const char *url, const char *name);
void   rival_stop(rival *r); /* frees it */

/* One that stands in line instead of trying again and again. */
rival *rival_start_in_line(witness *judge, const char *url, const char *name);

unsigned rival_turns(rival *r); /* how often it has been inside so far */

/* Waits, twenty seconds at most, until it has been inside once more than now. */
bool rival_gets_a_turn(rival *r);

/* Was a hold that should be kept through this round kept, and then given back with `status`?  If
 * not, the machine was too slow for it: the keeper, the server or whoever asks may stand still for
 * a lease, and nobody else notices.  The round, whose number this is, is to be repeated, twenty
 * times at most. */
#define keeps_in_round(kept, status, round) \
    keeps_in_round_at((kept), (status), (round), __FILE__, __LINE__)
bool keeps_in_round_at(bool kept, int status, int round, const char *file, int line);

/* As witness_free; but a test that failed has left threads behind, who go on speaking to the judge:
 * then he stays. */
void judge_dismiss(witness *judge);

/* No two were sure at the same moment, and nobody found another inside who could know better. */
#define assert_one_at_a_time(judge) assert_one_at_a_time_at((judge), __FILE__, __LINE__)
void assert_one_at_a_time_at(witness *judge, const char *file, int line);

/* Whoever believed what was not so any more since `fault_us` did not for longer than a lease. */
#define assert_bounded(sure_us, fault_us, lease_ms) \
    assert_true((sure_us) <= (fault_us) + (int64_t)(lease_ms)*1000)

#endif
