/*
 * threads.c -- threads-N: pairs per second of N threads, each with its own name.
 *
 * Our threads share one client, which has a few connections; the others have a hiredis connection
 * each. threads-N-nowait does not wait for our release.
 */
#include <assert.h>
#include <stdio.h>

#include "bench/harness/crowd.h"
#include "bench/measure/measure.h"
#include "bench/sides/hiredis_minimum.h"
#include "bench/sides/ours.h"

/* ---- the measure ----------------------------------------------------------------------------- */

typedef struct member {
    bench_ours ours;
    char       name[24];
    size_t     end; /* the position of the digit in the name */
    unsigned   turn;
} member;

typedef struct sides {
    unsigned        threads;
    bowline_client *client;
    member          members[BENCH_CROWD_MAX];
    bench_minimum   minimums[BENCH_CROWD_MAX];
    bench_team      our_side;
    bench_team      their_side;
} sides;

/* The next acquire on another connection could overtake a release in flight: so a thread rotates
 * its names. */
static int pair_in_turn(void *arg, bench_failure *reterr)
{
    member *m = arg;

    m->name[m->end] = (char)('0' + m->turn++ % 8);
    return bench_ours_pair_nowait(&m->ours, reterr);
}

static int pair(void *arg, bench_failure *reterr)
{
    return bench_ours_pair(&((member *)arg)->ours, reterr);
}

static int open_sides(sides *s, const char *url, int port, bench_failure *reterr)
{
    bench_ours first = { 0 };

    if (bench_ours_open(&first, url, reterr) < 0)
        return -1;
    s->client = first.client;
    for (unsigned i = 0; i < s->threads; i++) {
        member *m             = &s->members[i];
        m->end                = (size_t)snprintf(m->name, sizeof m->name - 2, "bench-%u", i);
        m->name[m->end]       = '0';
        m->name[m->end + 1]   = '\0';
        m->ours               = (bench_ours){ .client = s->client, .name = m->name };
        s->our_side.args[i]   = m;
        s->their_side.args[i] = &s->minimums[i];
        if (bench_minimum_open(&s->minimums[i], port, m->name, reterr) < 0)
            return -1;
    }
    return 0;
}

int bench_measure_threads(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_failure *reterr)
{
    sides      s = { .threads    = measure->threads,
                     .our_side   = { .step = measure->is_nowait ? pair_in_turn : pair },
                     .their_side = { .step = bench_minimum_pair } };
    bench_text url;
    int        status = -1;

    assert(s.threads >= 1 && s.threads <= BENCH_CROWD_MAX);
    if (measure->regime == BENCH_CROSS && b->machine.cpus_count < 2)
        return bench_skip(ret_result, "this machine has one CPU");
    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    if (measure->query != NULL)
        url = bench_text_of("%.200s?%s", url.text, measure->query);
    if (open_sides(&s, url.text, b->server.port, reterr) == 0)
        status = bench_crowd_duel(ret_result, measure, b->settings.rounds, &s.our_side,
                                  &s.their_side, reterr);
    for (unsigned i = 0; i < s.threads; i++)
        bench_minimum_close(&s.minimums[i]);
    bowline_close(s.client);
    return status;
}
