/*
 * measure_threads.c -- threads-N: pairs per second of N threads, each on a name of its own.
 *
 * Ours share one client, which has a few connections; theirs have a hiredis connection each.
 */
#include <assert.h>
#include <stdio.h>

#include "bench/crowd.h"
#include "bench/hiredis_floor.h"
#include "bench/ours.h"

/* ---- the measure ----------------------------------------------------------------------------- */

typedef struct sides {
    unsigned        threads;
    bowline_client *client;
    char            names[BENCH_CROWD_MAX][20];
    bench_ours      ours[BENCH_CROWD_MAX];
    bench_floor     floors[BENCH_CROWD_MAX];
    bench_team      our_side;
    bench_team      their_side;
} sides;

static int open_sides(sides *s, const char *url, int port, bench_trouble *reterr)
{
    bench_ours first = { 0 };

    if (bench_ours_open(&first, url, reterr) < 0)
        return -1;
    s->client = first.client;
    for (unsigned i = 0; i < s->threads; i++) {
        (void)snprintf(s->names[i], sizeof s->names[i], "bench-%u", i);
        s->ours[i]            = (bench_ours){ .client = s->client, .name = s->names[i] };
        s->our_side.args[i]   = &s->ours[i];
        s->their_side.args[i] = &s->floors[i];
        if (bench_floor_open(&s->floors[i], port, s->names[i], reterr) < 0)
            return -1;
    }
    return 0;
}

int bench_measure_threads(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_trouble *reterr)
{
    sides      s = { .threads    = measure->threads,
                     .our_side   = { .step = bench_ours_pair },
                     .their_side = { .step = bench_floor_pair } };
    bench_text url;
    int        status = -1;

    assert(s.threads >= 1 && s.threads <= BENCH_CROWD_MAX);
    if (measure->regime == BENCH_CROSS && b->machine.cpus_count < 2)
        return bench_leave_out(ret_result, "this machine has one CPU");
    if (bench_need_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    if (open_sides(&s, url.text, b->server.port, reterr) == 0)
        status = bench_crowd_duel(ret_result, measure, b->settings.rounds, &s.our_side,
                                  &s.their_side, reterr);
    for (unsigned i = 0; i < s.threads; i++)
        bench_floor_close(&s.floors[i]);
    bowline_close(s.client);
    return status;
}
