/*
 * redlock.c -- redlock-slow, redlock-dead: a lock on a majority of five servers, compared with a
 * lock on the third-fastest of them.
 *
 * Delay proxies set the distance of each server. The majority is complete when the third-fastest
 * has answered: the other two, of which one is very slow or dead, must cost nothing. That one is
 * first in the URL, where it would cost most if servers were asked one after the other.
 */
#include <stdio.h>
#include <unistd.h>

#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/ours.h"

enum {
    SERVERS = 5,
    THIRD   = 3, /* index in the URL: after the slow one and two faster ones */
    SAMPLES = 60,
    TURN    = 6,
};

/* Halves of the delay, each way, in the order of the URL. */
static const unsigned delays[SERVERS] = { 60, 2, 4, 6, 8 };

typedef struct field {
    bench_server servers[SERVERS];
    bench_proxy  proxies[SERVERS];
} field;

static void clear(field *f, bench *b)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        bench_proxy_stop(&f->proxies[i]);
        bench_server_stop(&f->servers[i], &b->janitor);
    }
}

/* For redlock-dead the first proxy leads to no server. */
static int set_up(field *f, bench *b, bool is_dead, bench_failure *reterr)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        bench_proxy_plan plan = { .delay_us = delays[i] * b->settings.delay_us / 2 };
        if (bench_server_start(&f->servers[i], &b->janitor, reterr) < 0)
            return -1;
        plan.server_port = f->servers[i].port;
        if (i == 0 && is_dead)
            bench_server_stop(&f->servers[i], &b->janitor);
        if (bench_proxy_start(&f->proxies[i], &plan, reterr) < 0)
            return -1;
    }
    return 0;
}

static bench_text url_of(const field *f)
{
    const bench_proxy *p = f->proxies;

    return bench_text_of("redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d,"
                         "127.0.0.1:%d?restart-wait=off",
                         p[0].port, p[1].port, p[2].port, p[3].port, p[4].port);
}

int bench_measure_redlock(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_failure *reterr)
{
    field      f      = { .servers[0].pid = 0 };
    bench_ours ours   = { .client = NULL };
    bench_ours third  = { .client = NULL };
    bench_text url    = { .text = "" };
    int        status = -1;

    /* For its version, and to pin all processes. */
    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    bench_progress("starting five servers");
    if (set_up(&f, b, measure->count != 0, reterr) < 0)
        goto out;
    url              = url_of(&f);
    bench_text alone = bench_text_of("redis://127.0.0.1:%d", f.proxies[THIRD].port);
    if (bench_ours_open(&ours, url.text, reterr) < 0 ||
        bench_ours_open(&third, alone.text, reterr) < 0)
        goto out;
    bench_duel duel = {
        .name    = measure->name,
        .ours    = { .step = bench_ours_pair, .arg = &ours },
        .theirs  = { .step = bench_ours_pair, .arg = &third },
        .rounds  = b->settings.rounds,
        .samples = b->settings.is_brief ? TURN : SAMPLES,
        .turn    = TURN,
        .batch   = 1,
    };
    status = bench_fight(ret_result, &duel, reterr);
out:
    bench_ours_close(&third);
    bench_ours_close(&ours);
    clear(&f, b);
    return status;
}
