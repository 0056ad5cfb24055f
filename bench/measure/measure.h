/*
 * measure.h -- the functions that take the measures of the table.
 */
#ifndef BOWLINE_BENCH_MEASURE_MEASURE_H
#define BOWLINE_BENCH_MEASURE_MEASURE_H

#include "bench/harness/bench.h"

bench_measuring bench_measure_bytes, bench_measure_queue_bytes;       /* bytes.c     */
bench_measuring bench_measure_counter;                                /* counter.c   */
bench_measuring bench_measure_depth;                                  /* depth.c     */
bench_measuring bench_measure_hand_over, bench_measure_arrival;       /* hand_over.c */
bench_measuring bench_measure_file_pair, bench_measure_thread_pair;   /* local.c     */
bench_measuring bench_measure_pair_pings, bench_measure_pair_minimum; /* pair.c      */
bench_measuring bench_measure_nowait, bench_measure_beside;           /* pair.c      */
bench_measuring bench_measure_let_in, bench_measure_readers,
    bench_measure_exclusive;                                     /* readers.c   */
bench_measuring bench_measure_permits;                           /* readers.c   */
bench_measuring bench_measure_redlock;                           /* redlock.c   */
bench_measuring bench_measure_renewals, bench_measure_due;       /* renewals.c  */
bench_measuring bench_measure_run_file, bench_measure_run_redis; /* run.c       */
bench_measuring bench_measure_same_name;                         /* same_name.c */
bench_measuring bench_measure_shared, bench_measure_several;     /* pair.c */
bench_measuring bench_measure_sticky;                            /* pair.c */
bench_measuring bench_measure_spin;                              /* spin.c      */
bench_measuring bench_measure_takeover;                          /* takeover.c  */
bench_measuring bench_measure_threads;                           /* threads.c   */

#endif
