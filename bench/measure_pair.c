/*
 * measure_pair.c -- pair-P, -S, -X: one thread takes a free lock on Redis and gives it back.
 *
 * Through the delay proxy the number of round trips decides, so it is set against two of them with
 * nothing inside.  On one CPU the length of the way through all programs decides, on two the cost
 * of being woken, so there it is set against the same commands on the shortest way there is.
 */
#include "bench/hiredis_floor.h"
#include "bench/ours.h"
#include "bench/rounds.h"

enum {
    FAR_SAMPLES  = 100, /* each takes four milliseconds or more */
    FAR_TURN     = 10,
    NEAR_SAMPLES = 4000,
    NEAR_TURN    = 100,
};

static int fight(bench *b, const bench_measure *measure, bench_duel *duel, bench_result *ret_result,
                 bench_trouble *reterr)
{
    bench_ours  ours  = { 0 };
    bench_floor floor = { 0 };
    bench_text  url;
    int         status = -1;

    if (bench_need_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    int port = measure->regime == BENCH_PROXY ? b->proxy.port : b->server.port;
    if (bench_ours_open(&ours, url.text, reterr) < 0 ||
        bench_floor_open(&floor, port, BENCH_NAME, reterr) < 0)
        goto out;
    duel->name       = measure->name;
    duel->rounds     = b->settings.rounds;
    duel->batch      = 1;
    duel->ours       = (bench_side){ .step = bench_ours_pair, .arg = &ours };
    duel->theirs.arg = &floor;
    status           = bench_fight(ret_result, duel, reterr);
out:
    bench_floor_close(&floor);
    bench_ours_close(&ours);
    return status;
}

int bench_measure_pair_pings(bench *b, const bench_measure *measure, bench_result *ret_result,
                             bench_trouble *reterr)
{
    bench_duel duel = { .theirs.step = bench_floor_pings,
                        .samples     = FAR_SAMPLES,
                        .turn        = FAR_TURN };

    return fight(b, measure, &duel, ret_result, reterr);
}

int bench_measure_pair_floor(bench *b, const bench_measure *measure, bench_result *ret_result,
                             bench_trouble *reterr)
{
    bench_duel duel = { .theirs.step = bench_floor_pair,
                        .samples     = NEAR_SAMPLES,
                        .turn        = NEAR_TURN };

    return fight(b, measure, &duel, ret_result, reterr);
}
