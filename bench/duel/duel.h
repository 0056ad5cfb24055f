/*
 * duel.h -- ours and a peer, two programs of each, on one server: what the measures of peers share.
 */
#ifndef BOWLINE_BENCH_DUEL_DUEL_H
#define BOWLINE_BENCH_DUEL_DUEL_H

#include "bench/base/stats.h"
#include "bench/duel/driver.h"
#include "bench/duel/peers.h"
#include "bench/duel/turns.h"
#include "bench/world/watch.h"

typedef enum bench_who { BENCH_OURS = 0, BENCH_THEIRS, BENCH_WHO_COUNT } bench_who;

/* Two programs on one name. */
typedef struct bench_couple {
    bench_driver drivers[2];
    bench_text   turns[2]; /* files in which they write down who was inside */
    bool         is_ping;  /* it has no lock: a round trip is timed         */
} bench_couple;

typedef struct bench_arena {
    bench                    *b;
    const bench_peer_measure *measure;
    unsigned                  rounds;
    unsigned                  samples; /* of hand-over, in a round */
    uint64_t                  random;
    bench_watch              *watch;
    bench_couple              couples[BENCH_WHO_COUNT];
    bench_text                why; /* the last thing that did not go as it should */
} bench_arena;

/* How long something takes, and how many wait: as it is said, or for an instant with --brief. */
int      bench_duel_ms(const bench_arena *arena, int ms);
unsigned bench_duel_waiters(const bench_arena *arena);

/* Starts the two programs of a couple, and hears that they are ready; -1: the arena says why.  End
 * with bench_duel_end, which ends both couples. */
int  bench_duel_start(bench_arena *arena, bench_who who, bench_driver_plan plan);
void bench_duel_end(bench_arena *arena);

/* So many waiters in each program; and one contest, { ms, how long to hold in us }, to its end. */
int bench_duel_gather(bench_arena *arena, bench_couple *couple, unsigned waiters);
int bench_duel_contend(bench_arena *arena, bench_who who, unsigned waiters, const int plan[2],
                       bench_turns_sum *ret_sum);

/* 0; -1: the couple failed, and the arena says why; or -2: the benchmark did. */
enum { BENCH_COUPLE_FAILED = -1, BENCH_BENCH_FAILED = -2 };

/* Pair and hand-over, in rounds. */
int bench_duel_times(bench_arena *arena, bench_peer_result *ret_result, bench_failure *reterr);

/* Many waiters, and idle ones, in rounds. */
int bench_duel_crowd(bench_arena *arena, bench_peer_result *ret_result, bench_failure *reterr);
int bench_duel_idle(bench_arena *arena, bench_peer_result *ret_result, bench_failure *reterr);

/* Is it a lock at all?  Some contend, holding it for a while: 0, or -1 with why. */
int bench_duel_check(bench_arena *arena, bench_who who);

/* Measures whose sides are programs too: waiters.c and idle.c. */
bench_measuring bench_measure_waiters, bench_measure_fairness, bench_measure_commands;
bench_measuring bench_measure_idle_commands, bench_measure_idle_cpu;

#endif
