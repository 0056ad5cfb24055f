/*
 * duel.h -- the library and a peer, two driver programs each, on one server.
 */
#ifndef BOWLINE_BENCH_DUEL_DUEL_H
#define BOWLINE_BENCH_DUEL_DUEL_H

#include "bench/base/stats.h"
#include "bench/duel/driver.h"
#include "bench/duel/peers.h"
#include "bench/duel/turns.h"
#include "bench/world/watch.h"

typedef enum bench_who { BENCH_OURS = 0, BENCH_THEIRS, BENCH_WHO_COUNT } bench_who;

/* Two drivers on one name. */
typedef struct bench_couple {
    bench_driver drivers[2];
    bench_text   turns[2]; /* files in which they record each hold */
    bool         is_ping;  /* not a lock: times a round trip */
} bench_couple;

typedef struct bench_arena {
    bench                    *b;
    const bench_peer_measure *measure;
    unsigned                  rounds;
    unsigned                  samples; /* hand-overs per round */
    uint64_t                  random;
    bench_watch              *watch;
    bench_couple              couples[BENCH_WHO_COUNT];
    bench_text                why; /* the last failure of a driver */
} bench_arena;

/* A duration or a number of waiters, reduced with --brief. */
int      bench_duel_ms(const bench_arena *arena, int ms);
unsigned bench_duel_waiters(const bench_arena *arena);

/* Starts the two drivers of a couple and waits until they are ready; -1: see arena.why. End both
 * couples with bench_duel_end. */
int  bench_duel_start(bench_arena *arena, bench_who who, bench_driver_plan plan);
void bench_duel_end(bench_arena *arena);

/* Sets the waiters of each driver; runs one contest of { ms, hold time in us }. */
int bench_duel_gather(bench_arena *arena, bench_couple *couple, unsigned waiters);
int bench_duel_contend(bench_arena *arena, bench_who who, unsigned waiters, const int plan[2],
                       bench_turns_sum *ret_sum);

/* 0; -1: a driver failed, see arena.why; -2: the benchmark failed. */
enum { BENCH_COUPLE_FAILED = -1, BENCH_BENCH_FAILED = -2 };

/* Pairs and hand-overs, in rounds. */
int bench_duel_times(bench_arena *arena, bench_peer_result *ret_result, bench_failure *reterr);

/* Many waiters, and idle ones, in rounds. */
int bench_duel_crowd(bench_arena *arena, bench_peer_result *ret_result, bench_failure *reterr);
int bench_duel_idle(bench_arena *arena, bench_peer_result *ret_result, bench_failure *reterr);

/* Checks mutual exclusion in a contest: 0, or -1 with why. */
int bench_duel_check(bench_arena *arena, bench_who who);

/* Measures whose two sides are driver programs: waiters.c and idle.c. */
bench_measuring bench_measure_waiters, bench_measure_fairness, bench_measure_commands;
bench_measuring bench_measure_idle_commands, bench_measure_idle_cpu;

#endif
