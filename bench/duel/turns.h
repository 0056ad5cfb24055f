/*
 * turns.h -- the time spans of holds, as the drivers recorded them: proves mutual exclusion.
 */
#ifndef BOWLINE_BENCH_DUEL_TURNS_H
#define BOWLINE_BENCH_DUEL_TURNS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/base/say.h"

typedef struct bench_turn {
    int64_t  in_ns;
    int64_t  out_ns;
    unsigned who;
} bench_turn;

typedef struct bench_turns {
    bench_turn *turns;
    size_t      count;
    size_t      room;
} bench_turns;

/* Adds the turns of a file; its waiters count from `first`. Free with bench_turns_free. */
int  bench_turns_read(bench_turns *turns, const char *path, unsigned first, bench_text *ret_why);
void bench_turns_free(bench_turns *turns);

typedef struct bench_turns_sum {
    size_t   overlaps;          /* turns that began before another had ended   */
    size_t   hand_overs;        /* turns of another waiter than the one before */
    size_t   hand_overs_before; /* likewise, that began before end_ns          */
    size_t   turns_before;
    unsigned fewest; /* turns of one of `waiters` before end_ns */
    unsigned most;
    double   fairness; /* of `waiters`, before end_ns: the fewest turns / the most    */
} bench_turns_sum;

/* Sorts and evaluates them.  At most BENCH_WAITERS_MAX waiters. */
enum { BENCH_WAITERS_MAX = 4096 };
bench_turns_sum bench_turns_sum_up(bench_turns *turns, unsigned waiters, int64_t end_ns);

#endif
