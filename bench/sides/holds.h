/*
 * holds.h -- many locks that one client of the library holds at once.
 */
#ifndef BOWLINE_BENCH_SIDES_HOLDS_H
#define BOWLINE_BENCH_SIDES_HOLDS_H

#include <bowline/bowline.h>

#include "bench/base/say.h"

/* The count is a multiple of this: so many acquires or releases are sent at a time. */
enum { BENCH_HOLDS_STEP = 500 };

typedef struct bench_holds {
    unsigned       count;
    bowline_hold **holds; /* closing the client frees each that is still held */
} bench_holds;

/* The name of lock `i`. */
bench_text bench_holds_name(unsigned i);

/* Makes room for `count` holds. End with bench_holds_free, after the client is closed. */
int  bench_holds_make(bench_holds *ret_holds, unsigned count, bench_failure *reterr);
void bench_holds_free(bench_holds *holds);

/* Acquires all, with a lease of an hour; releases all. */
int bench_holds_acquire(bench_holds *holds, bowline_client *client, bench_failure *reterr);
int bench_holds_release(bench_holds *holds, bench_failure *reterr);

#endif
