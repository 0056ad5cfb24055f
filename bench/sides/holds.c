/*
 * holds.c -- many locks that one client of the library holds at once.
 */
#include "bench/sides/holds.h"

#include <assert.h>
#include <bowline/async.h>
#include <stdlib.h>

#include "bench/sides/ours.h"

enum { LEASE_MS = 3600000 };

bench_text bench_holds_name(unsigned i)
{
    return bench_text_of("bench-%07u", i);
}

int bench_holds_make(bench_holds *ret_holds, unsigned count, bench_failure *reterr)
{
    assert(count % BENCH_HOLDS_STEP == 0);
    *ret_holds = (bench_holds){ .count = count, .holds = calloc(count, sizeof(bowline_hold *)) };
    if (ret_holds->holds == NULL)
        return bench_fail_errno(reterr, bench_text_of("no memory for %u locks", count));
    return 0;
}

void bench_holds_free(bench_holds *holds)
{
    free(holds->holds);
    *holds = (bench_holds){ .count = 0 };
}

int bench_holds_acquire(bench_holds *holds, bowline_client *client, bench_failure *reterr)
{
    bowline_operation *ops[BENCH_HOLDS_STEP];
    bowline_error      error;

    for (unsigned first = 0; first < holds->count; first += BENCH_HOLDS_STEP) {
        for (unsigned i = 0; i < BENCH_HOLDS_STEP; i++)
            if (bowline_acquire_start(&ops[i], client, bench_holds_name(first + i).text,
                                      BOWLINE_ACQUIRE(.lease_ms = LEASE_MS), &error) < 0)
                return bench_ours_failed("bowline_acquire_start", &error, reterr);
        for (unsigned i = 0; i < BENCH_HOLDS_STEP; i++)
            if (bowline_acquire_finish(&holds->holds[first + i], ops[i], &error) < 0)
                return bench_ours_failed("bowline_acquire_finish", &error, reterr);
    }
    return 0;
}

int bench_holds_release(bench_holds *holds, bench_failure *reterr)
{
    bowline_operation *ops[BENCH_HOLDS_STEP];
    bowline_error      error;

    for (unsigned first = 0; first < holds->count; first += BENCH_HOLDS_STEP) {
        for (unsigned i = 0; i < BENCH_HOLDS_STEP; i++)
            if (bowline_release_start(&ops[i], holds->holds[first + i], &error) < 0)
                return bench_ours_failed("bowline_release_start", &error, reterr);
        for (unsigned i = 0; i < BENCH_HOLDS_STEP; i++)
            if (bowline_finish(ops[i], &error) < 0)
                return bench_ours_failed("bowline_finish", &error, reterr);
    }
    return 0;
}
