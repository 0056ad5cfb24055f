/*
 * pipeline.h -- pipelining by hiredis: writes many commands, then reads all replies.
 *
 * Like hiredis_minimum.h it is the minimum: it retries and tracks nothing, and a broken connection
 * ends it.
 */
#ifndef BOWLINE_BENCH_SIDES_PIPELINE_H
#define BOWLINE_BENCH_SIDES_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

#include "bench/sides/hiredis_minimum.h"

enum { BENCH_DEPTH_MAX = 1000 };

typedef struct bench_pipeline {
    bench_minimum *minimum; /* its connection and loaded script */
    unsigned       depth;
    uint64_t       attempts;
    size_t         key_sizes[BENCH_DEPTH_MAX];
    char           keys[BENCH_DEPTH_MAX][BENCH_KEY_MAX];
} bench_pipeline;

/* The name of lock `i`, for both sides. */
bench_text bench_pipeline_name(unsigned i);

void bench_pipeline_plan(bench_pipeline *ret_pipeline, bench_minimum *minimum, unsigned depth);

/* `depth` times SET NX PX and their replies, then compare-and-delete likewise. arg: the
 * pipeline. */
int bench_pipeline_pairs(void *arg, bench_failure *reterr);

/* SET of every key, to have something to renew; then `depth` times PEXPIRE, unchecked. */
int bench_pipeline_set(bench_pipeline *pipeline, bench_failure *reterr);
int bench_pipeline_renew(void *arg, bench_failure *reterr);

#endif
