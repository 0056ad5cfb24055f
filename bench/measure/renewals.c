/*
 * renewals.c -- renewals and due renewals: how fast holds are renewed when the client is
 * dispatched.
 *
 * The time begins when all holds are due and ends when the last one has a full lease. The other
 * side sends as many PEXPIRE at once and compares nothing; it has paused for as long, so that
 * caches are cold for both.
 */
#include <assert.h>
#include <bowline/async.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/ours.h"
#include "bench/sides/pipeline.h"

enum {
    LEASE_MS = 1800,
    FRESH_MS = LEASE_MS * 3 / 4, /* more is left only after a renewal */
    DUE_MS   = LEASE_MS * 3 / 5, /* less is left: it is due */
    REST_MS  = (LEASE_MS - DUE_MS) / 2,
    BURSTS   = 10,
    WAIT_MS  = 100,
};

typedef struct due {
    bench_ours     ours;
    unsigned       count;
    bowline_hold  *holds[BENCH_DEPTH_MAX];
    bench_minimum  minimum;
    bench_pipeline pipeline;
} due;

static int acquire_all(due *d, bench_failure *reterr)
{
    bowline_error error;

    for (unsigned i = 0; i < d->count; i++)
        if (bowline_acquire(&d->holds[i], d->ours.client, bench_pipeline_name(i).text, NULL,
                            &error) < 0)
            return bench_ours_failed("bowline_acquire", &error, reterr);
    return 0;
}

static int release_all(due *d, bench_failure *reterr)
{
    bowline_error error;

    for (unsigned i = 0; i < d->count; i++)
        if (bowline_release(d->holds[i], &error) < 0)
            return bench_ours_failed("bowline_release", &error, reterr);
    return 0;
}

/* Dispatches until each hold has more time left. */
static int renew_all(due *d, int64_t left_ms, bench_failure *reterr)
{
    bowline_error error;

    for (unsigned i = 0; i < d->count;) {
        int64_t left = bowline_hold_left_ms(d->holds[i]);
        if (left == 0)
            return bench_fail(reterr,
                              (bench_failure){
                                  .what = bench_text_of("a hold was lost"),
                                  .why = bench_text_of("it was not renewed within %d ms", LEASE_MS),
                                  .type = bench_text_of("type: bowline-bench --only "
                                                        "renewals, on a quiet machine"),
                              });
        if (left > left_ms)
            i++;
        else if (bowline_dispatch(d->ours.client, WAIT_MS, &error) < 0)
            return bench_ours_failed("bowline_dispatch", &error, reterr);
    }
    return 0;
}

static void rest(int64_t ms)
{
    struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    while (ms > 0 && nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
}

static void rest_until_due(const due *d)
{
    for (unsigned i = 0; i < d->count; i++)
        rest(bowline_hold_left_ms(d->holds[i]) - DUE_MS);
}

static int renew_what_is_due(void *arg, int64_t *ret_ns, bench_failure *reterr)
{
    due *d = arg;

    rest_until_due(d);
    int64_t began = bench_now_ns();
    if (renew_all(d, FRESH_MS, reterr) < 0)
        return -1;
    *ret_ns = bench_now_ns() - began;
    return 0;
}

static int renew_theirs(void *arg, int64_t *ret_ns, bench_failure *reterr)
{
    rest(REST_MS);
    int64_t began = bench_now_ns();
    if (bench_pipeline_renew(arg, reterr) < 0)
        return -1;
    *ret_ns = bench_now_ns() - began;
    return 0;
}

/* Time of a script call as the server reports it, from 7.0 on. */
static void note_calls(due *d, bench_result *ret_result)
{
    static const char line[] = "latency_percentiles_usec_evalsha:p50=";
    redisReply       *reply  = redisCommand(d->minimum.context, "INFO latencystats");
    const char       *at     = NULL;
    const char       *p99    = NULL;

    if (reply != NULL && reply->type == REDIS_REPLY_STRING)
        at = strstr(reply->str, line);
    if (at != NULL)
        p99 = strstr(at, "p99=");
    if (p99 != NULL)
        (void)snprintf(ret_result->note, sizeof ret_result->note,
                       "a call of the script took %.0f us, and %.0f at p99",
                       strtod(at + sizeof line - 1, NULL), strtod(p99 + 4, NULL));
    freeReplyObject(reply);
}

static int compare(bench *b, const bench_measure *measure, due *d, bench_result *ret_result,
                   bench_failure *reterr)
{
    const bench_duel duel = { .name    = measure->name,
                              .ours    = { .timed = renew_what_is_due, .arg = d },
                              .theirs  = { .timed = renew_theirs, .arg = &d->pipeline },
                              .rounds  = b->settings.rounds,
                              .samples = b->settings.is_brief ? 2 : BURSTS,
                              .turn    = 1,
                              .batch   = 1 };

    if (acquire_all(d, reterr) < 0 || bench_pipeline_set(&d->pipeline, reterr) < 0)
        return -1;
    freeReplyObject(redisCommand(d->minimum.context, "CONFIG RESETSTAT"));
    if (bench_fight(ret_result, &duel, reterr) < 0)
        return -1;
    note_calls(d, ret_result);
    if (release_all(d, reterr) < 0)
        return -1;
    for (unsigned r = 0; r < ret_result->rounds; r++)
        ret_result->ratios[r] = 1 / ret_result->ratios[r];
    ret_result->ours   = (bench_figures){ .middle = d->count * 1e9 / ret_result->ours.middle };
    ret_result->theirs = (bench_figures){ .middle = d->count * 1e9 / ret_result->theirs.middle };
    return 0;
}

static int open_ours(due *d, bench_text url, bench_failure *reterr)
{
    bowline_error error;

    url = bench_text_of("%.200s?%s", url.text, BENCH_QUEUE_QUERY);
    if (bowline_open(
            &d->ours.client,
            BOWLINE_OPTIONS(.url = url.text, .lease_ms = LEASE_MS, .flags = BOWLINE_NO_THREAD),
            &error) < 0)
        return bench_ours_failed("bowline_open", &error, reterr);
    return 0;
}

int bench_measure_due(bench *b, const bench_measure *measure, bench_result *ret_result,
                      bench_failure *reterr)
{
    bench_text url;
    int        status = -1;

    if (measure->regime == BENCH_CROSS && b->machine.cpus_count < 2)
        return bench_skip(ret_result, "this machine has one CPU");
    due *d = calloc(1, sizeof *d);
    if (d == NULL)
        return bench_fail_errno(reterr, bench_text_of("no memory for %s", measure->name));
    assert(measure->count >= 1 && measure->count <= BENCH_DEPTH_MAX);
    d->count = measure->count;
    if (bench_use_server(b, measure->regime, &url, reterr) == 0 && open_ours(d, url, reterr) == 0 &&
        bench_minimum_open(&d->minimum, b->server.port, BENCH_NAME, reterr) == 0) {
        bench_pipeline_plan(&d->pipeline, &d->minimum, d->count);
        /* Other keys: SET would overwrite our locks. */
        for (unsigned i = 0; i < d->count; i++)
            d->pipeline.keys[i][0] = 'B';
        status = compare(b, measure, d, ret_result, reterr);
    }
    bench_minimum_close(&d->minimum);
    bench_ours_close(&d->ours);
    free(d);
    return status;
}
