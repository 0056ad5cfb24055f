/*
 * rounds.c -- see rounds.h.
 */
#include "bench/harness/rounds.h"

#include <assert.h>

bench_figures bench_figures_of(bench_samples *samples)
{
    return (bench_figures){
        .middle = (double)bench_percentile(samples, 0, 500),
        .p99    = (double)bench_percentile(samples, 0, 990),
        .p999   = (double)bench_percentile(samples, 0, 999),
    };
}

static int take_sample(const bench_side *side, const bench_duel *duel, int64_t *ret_ns,
                       bench_failure *reterr)
{
    if (side->timed != NULL) {
        assert(duel->batch == 1);
        return side->timed(side->arg, ret_ns, reterr);
    }
    int64_t began = bench_now_ns();
    for (size_t k = 0; k < duel->batch; k++)
        if (side->step(side->arg, reterr) < 0)
            return -1;
    *ret_ns = (bench_now_ns() - began) / (int64_t)duel->batch;
    return 0;
}

/* Busy-waits, like a program that works between two locks. */
static void do_something_else(unsigned us)
{
    int64_t end = us != 0 ? bench_now_ns() + (int64_t)us * 1000 : 0;

    while (us != 0 && bench_now_ns() < end)
        continue;
}

/* One turn of one side. Without space (in the warm-up) samples are dropped. */
static int take_turn(const bench_side *side, const bench_duel *duel, bench_samples *samples,
                     bench_failure *reterr)
{
    for (size_t i = 0; i < duel->turn; i++) {
        int64_t took;
        do_something_else(duel->gap_us);
        if (take_sample(side, duel, &took, reterr) < 0)
            return -1;
        if (samples != NULL)
            bench_samples_add(samples, took);
    }
    return 0;
}

static int take_turns(const bench_duel *duel, bench_samples *ours, bench_samples *theirs,
                      unsigned round, bench_failure *reterr)
{
    if (round % 2 == 0)
        return take_turn(&duel->ours, duel, ours, reterr) < 0 ||
                       take_turn(&duel->theirs, duel, theirs, reterr) < 0
                   ? -1
                   : 0;
    return take_turn(&duel->theirs, duel, theirs, reterr) < 0 ||
                   take_turn(&duel->ours, duel, ours, reterr) < 0
               ? -1
               : 0;
}

static int no_memory(bench_failure *reterr)
{
    return bench_fail(reterr, (bench_failure){
                                  .what = bench_text_of("out of memory"),
                                  .why  = bench_text_of("every sample of a measure is kept"),
                                  .type = bench_text_of("type: bowline-bench --rounds 1"),
                              });
}

int bench_fight(bench_result *ret_result, const bench_duel *duel, bench_failure *reterr)
{
    bench_result  result = { .was_measured = true, .rounds = duel->rounds };
    bench_samples ours = { 0 }, theirs = { 0 };
    int           status = -1;

    assert(duel->rounds >= 1 && duel->rounds <= BENCH_ROUNDS_MAX);
    assert(duel->turn >= 1 && duel->samples % duel->turn == 0);

    bench_progress("%s: warming up", duel->name);
    if (take_turns(duel, NULL, NULL, 0, reterr) < 0)
        goto out;
    for (unsigned r = 0; r < duel->rounds; r++) {
        size_t first = ours.count;
        bench_progress("%s: round %u of %u", duel->name, r + 1, duel->rounds);
        if (!bench_samples_reserve(&ours, duel->samples) ||
            !bench_samples_reserve(&theirs, duel->samples)) {
            (void)no_memory(reterr);
            goto out;
        }
        for (size_t i = 0; i < duel->samples; i += duel->turn)
            if (take_turns(duel, &ours, &theirs, r, reterr) < 0)
                goto out;
        result.ratios[r] = (double)bench_percentile(&ours, first, 500) /
                           (double)bench_percentile(&theirs, first, 500);
    }
    result.ours   = bench_figures_of(&ours);
    result.theirs = bench_figures_of(&theirs);
    *ret_result   = result;
    status        = 0;
out:
    bench_samples_free(&ours);
    bench_samples_free(&theirs);
    return status;
}
