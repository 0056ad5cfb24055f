/*
 * measure_pair.c -- pair-P, -S, -X: one thread takes a free lock on Redis and gives it back;
 * nowait-P, -X: the same, without waiting for the answer to the second.
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
    GAP_US       = 150, /* the answer that was not waited for has come by then */
};

static int fight(bench *b, const bench_measure *measure, const char *options, bench_duel *duel,
                 bench_result *ret_result, bench_trouble *reterr)
{
    bench_ours  ours  = { 0 };
    bench_floor floor = { 0 };
    bench_text  url;
    int         status = -1;

    if (bench_need_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    bench_text whole = bench_text_of("%s%s", url.text, options);
    int        port  = measure->regime == BENCH_PROXY ? b->proxy.port : b->server.port;
    if (bench_ours_open(&ours, whole.text, reterr) < 0 ||
        bench_floor_open(&floor, port, BENCH_NAME, reterr) < 0)
        goto out;
    duel->name       = measure->name;
    duel->rounds     = b->settings.rounds;
    duel->batch      = 1;
    duel->ours.arg   = &ours;
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
    bench_duel duel = { .ours.step   = bench_ours_pair,
                        .theirs.step = bench_floor_pings,
                        .samples     = FAR_SAMPLES,
                        .turn        = FAR_TURN };

    return fight(b, measure, "", &duel, ret_result, reterr);
}

int bench_measure_pair_floor(bench *b, const bench_measure *measure, bench_result *ret_result,
                             bench_trouble *reterr)
{
    bench_duel duel = { .ours.step   = bench_ours_pair,
                        .theirs.step = bench_floor_pair,
                        .samples     = NEAR_SAMPLES,
                        .turn        = NEAR_TURN };

    return fight(b, measure, "", &duel, ret_result, reterr);
}

/* Back to back the next pair would wait for the end of this one, and pay what it has saved. */
static int fight_nowait(bench *b, const bench_measure *measure, const char *options,
                        bench_result *ret_result, bench_trouble *reterr)
{
    bool       is_far = measure->regime == BENCH_PROXY;
    bench_duel duel   = { .ours.step   = bench_ours_pair_nowait,
                          .theirs.step = bench_floor_ping,
                          .samples     = is_far ? FAR_SAMPLES : NEAR_SAMPLES,
                          .turn        = is_far ? FAR_TURN : NEAR_TURN,
                          .gap_us      = is_far ? 0 : GAP_US };

    return fight(b, measure, options, &duel, ret_result, reterr);
}

int bench_measure_nowait_token(bench *b, const bench_measure *measure, bench_result *ret_result,
                               bench_trouble *reterr)
{
    return fight_nowait(b, measure, "?protocol=token", ret_result, reterr);
}

int bench_measure_nowait_queue(bench *b, const bench_measure *measure, bench_result *ret_result,
                               bench_trouble *reterr)
{
    return fight_nowait(b, measure, "?protocol=queue", ret_result, reterr);
}
