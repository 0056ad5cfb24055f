/*
 * depth.c -- depth and renewals: the throughput of one thread on one connection when it does not
 * wait for each reply.
 *
 * Both sides send all commands, read all replies, and repeat.
 */
#include <assert.h>
#include <bowline/async.h>
#include <stdlib.h>

#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/ours.h"
#include "bench/sides/pipeline.h"

enum { BATCHES = 30, TURN = 5 };

typedef struct deep {
    bench_ours         ours;
    unsigned           depth;
    bowline_operation *ops[BENCH_DEPTH_MAX];
    bowline_hold      *holds[BENCH_DEPTH_MAX];
    bench_minimum      minimum;
    bench_pipeline     pipeline;
    bench_step         our_step;
    bench_step         their_step;
} deep;

static int acquire_all(deep *d, bench_failure *reterr)
{
    bowline_error error;

    for (unsigned i = 0; i < d->depth; i++)
        if (bowline_acquire_start(&d->ops[i], d->ours.client, bench_pipeline_name(i).text, NULL,
                                  &error) < 0)
            return bench_ours_failed("bowline_acquire_start", &error, reterr);
    for (unsigned i = 0; i < d->depth; i++)
        if (bowline_acquire_finish(&d->holds[i], d->ops[i], &error) < 0)
            return bench_ours_failed("bowline_acquire_finish", &error, reterr);
    return 0;
}

static int finish_all(deep *d, bench_failure *reterr)
{
    bowline_error error;

    for (unsigned i = 0; i < d->depth; i++)
        if (bowline_finish(d->ops[i], &error) < 0)
            return bench_ours_failed("bowline_finish", &error, reterr);
    return 0;
}

static int release_all(deep *d, bench_failure *reterr)
{
    bowline_error error;

    for (unsigned i = 0; i < d->depth; i++)
        if (bowline_release_start(&d->ops[i], d->holds[i], &error) < 0)
            return bench_ours_failed("bowline_release_start", &error, reterr);
    return finish_all(d, reterr);
}

static int take_pairs(void *arg, bench_failure *reterr)
{
    return acquire_all(arg, reterr) < 0 ? -1 : release_all(arg, reterr);
}

static int renew_all(void *arg, bench_failure *reterr)
{
    deep         *d = arg;
    bowline_error error;

    for (unsigned i = 0; i < d->depth; i++)
        if (bowline_extend_start(&d->ops[i], d->holds[i], 0, &error) < 0)
            return bench_ours_failed("bowline_extend_start", &error, reterr);
    return finish_all(d, reterr);
}

/* Batches are timed; the result is a rate. */
static int compare(bench *b, const bench_measure *measure, deep *d, bench_result *ret_result,
                   bench_failure *reterr)
{
    const bench_duel duel = { .name    = measure->name,
                              .ours    = { .step = d->our_step, .arg = d },
                              .theirs  = { .step = d->their_step, .arg = &d->pipeline },
                              .rounds  = b->settings.rounds,
                              .samples = b->settings.is_brief ? TURN : BATCHES,
                              .turn    = TURN,
                              .batch   = 1 };

    if (bench_fight(ret_result, &duel, reterr) < 0)
        return -1;
    for (unsigned r = 0; r < ret_result->rounds; r++)
        ret_result->ratios[r] = 1 / ret_result->ratios[r];
    ret_result->ours   = (bench_figures){ .middle = d->depth * 1e9 / ret_result->ours.middle };
    ret_result->theirs = (bench_figures){ .middle = d->depth * 1e9 / ret_result->theirs.middle };
    return 0;
}

typedef int (*comparing)(bench *b, const bench_measure *measure, deep *d, bench_result *ret_result,
                         bench_failure *reterr);

static int compare_renewals(bench *b, const bench_measure *measure, deep *d,
                            bench_result *ret_result, bench_failure *reterr)
{
    /* Other keys: SET would overwrite our locks. */
    for (unsigned i = 0; i < d->depth; i++)
        d->pipeline.keys[i][0] = 'B';
    if (acquire_all(d, reterr) < 0 || bench_pipeline_set(&d->pipeline, reterr) < 0 ||
        compare(b, measure, d, ret_result, reterr) < 0)
        return -1;
    return release_all(d, reterr);
}

static int measure_deep(bench *b, const bench_measure *measure, deep *d, comparing how,
                        bench_result *ret_result, bench_failure *reterr)
{
    bench_text url;
    int        status = -1;

    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    url = bench_text_of("%.200s?%s", url.text, BENCH_QUEUE_QUERY);
    if (bench_ours_open(&d->ours, url.text, reterr) == 0 &&
        bench_minimum_open(&d->minimum, b->server.port, BENCH_NAME, reterr) == 0) {
        bench_pipeline_plan(&d->pipeline, &d->minimum, d->depth);
        status = how(b, measure, d, ret_result, reterr);
    }
    bench_minimum_close(&d->minimum);
    bench_ours_close(&d->ours);
    return status;
}

static int measure_steps(bench *b, const bench_measure *measure, const bench_step steps[2],
                         comparing how, bench_result *ret_result, bench_failure *reterr)
{
    if (measure->regime == BENCH_CROSS && b->machine.cpus_count < 2)
        return bench_skip(ret_result, "this machine has one CPU");
    deep *d = calloc(1, sizeof *d);
    if (d == NULL)
        return bench_fail_errno(reterr, bench_text_of("no memory for %s", measure->name));
    assert(measure->count >= 1 && measure->count <= BENCH_DEPTH_MAX);
    d->depth      = measure->count;
    d->our_step   = steps[0];
    d->their_step = steps[1];
    int status    = measure_deep(b, measure, d, how, ret_result, reterr);
    free(d);
    return status;
}

int bench_measure_depth(bench *b, const bench_measure *measure, bench_result *ret_result,
                        bench_failure *reterr)
{
    const bench_step steps[2] = { take_pairs, bench_pipeline_pairs };

    return measure_steps(b, measure, steps, compare, ret_result, reterr);
}

int bench_measure_renewals(bench *b, const bench_measure *measure, bench_result *ret_result,
                           bench_failure *reterr)
{
    const bench_step steps[2] = { renew_all, bench_pipeline_renew };

    return measure_steps(b, measure, steps, compare_renewals, ret_result, reterr);
}
