/*
 * pair.c -- pair-P, -S, -X: one thread acquires and releases an uncontended lock on Redis;
 * nowait-P, -X: the same without waiting for the release.
 *
 * Through the delay proxy the number of round trips decides, so it is compared with two PINGs. On
 * one CPU the length of the code path decides, on two CPUs the wake-ups; there it is compared with
 * the same commands by hiredis.
 */
#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/hiredis_minimum.h"
#include "bench/sides/ours.h"

enum {
    FAR_SAMPLES  = 100, /* each takes four milliseconds or more */
    FAR_TURN     = 10,
    NEAR_SAMPLES = 4000,
    NEAR_TURN    = 100,
    GAP_US       = 150, /* the reply that was not awaited has arrived by then */
};

static int fight(bench *b, const bench_measure *measure, bench_duel *duel, bench_result *ret_result,
                 bench_failure *reterr)
{
    bool          is_far  = measure->regime == BENCH_PROXY;
    bench_ours    ours    = { 0 };
    bench_minimum minimum = { 0 };
    bench_text    url;
    int           status = -1;

    if (measure->regime == BENCH_CROSS && b->machine.cpus_count < 2)
        return bench_skip(ret_result, "this machine has one CPU");
    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    if (measure->query != NULL)
        url = bench_text_of("%.200s?%s", url.text, measure->query);
    int port = is_far ? b->proxy.port : b->server.port;
    if (bench_ours_open(&ours, url.text, reterr) < 0 ||
        bench_minimum_open(&minimum, port, BENCH_NAME, reterr) < 0)
        goto out;
    duel->name       = measure->name;
    duel->rounds     = b->settings.rounds;
    duel->samples    = is_far ? FAR_SAMPLES : NEAR_SAMPLES;
    duel->turn       = is_far ? FAR_TURN : NEAR_TURN;
    duel->batch      = 1;
    duel->ours.arg   = &ours;
    duel->theirs.arg = &minimum;
    status           = bench_fight(ret_result, duel, reterr);
out:
    bench_minimum_close(&minimum);
    bench_ours_close(&ours);
    return status;
}

int bench_measure_pair_pings(bench *b, const bench_measure *measure, bench_result *ret_result,
                             bench_failure *reterr)
{
    bench_duel duel = { .ours.step = bench_ours_pair, .theirs.step = bench_minimum_pings };

    return fight(b, measure, &duel, ret_result, reterr);
}

int bench_measure_pair_minimum(bench *b, const bench_measure *measure, bench_result *ret_result,
                               bench_failure *reterr)
{
    bench_duel duel = { .ours.step = bench_ours_pair, .theirs.step = bench_minimum_pair };

    return fight(b, measure, &duel, ret_result, reterr);
}

/* Without a pause the next pair would wait for the release of this one. */
int bench_measure_nowait(bench *b, const bench_measure *measure, bench_result *ret_result,
                         bench_failure *reterr)
{
    bench_duel duel = { .ours.step   = bench_ours_pair_nowait,
                        .theirs.step = bench_minimum_ping,
                        .gap_us      = measure->regime == BENCH_PROXY ? 0 : GAP_US };

    return fight(b, measure, &duel, ret_result, reterr);
}
