/*
 * counter.c -- counter-N: N threads add to one number in Redis.
 *
 * Our side uses bowline_update; the other side holds a lock of the library around GET and SET by
 * hiredis. Both count correctly; the cost under contention is compared.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <bowline/update.h>

#include "bench/harness/crowd.h"
#include "bench/measure/measure.h"
#include "bench/sides/hiredis_minimum.h"
#include "bench/sides/ours.h"

#define UPDATED "bench:updated"
#define LOCKED  "bench:locked"

typedef struct member {
    bowline_client *client;
    bench_minimum   minimum;
    char            text[24];
} member;

static int add_one(bowline_change *change, void *context)
{
    member   *m   = context;
    long long sum = change->old_value != NULL ? atoll(change->old_value) : 0;

    change->value      = m->text;
    change->value_size = (size_t)snprintf(m->text, sizeof m->text, "%lld", sum + 1);
    return BOWLINE_UPDATE_WRITE;
}

static int by_update(void *arg, bench_failure *reterr)
{
    member       *m = arg;
    bowline_error error;

    if (bowline_update(m->client, UPDATED, add_one, m, BOWLINE_UPDATE(.wait_ms = BOWLINE_FOREVER),
                       &error) < 0)
        return bench_ours_failed("bowline_update", &error, reterr);
    return 0;
}

static int under_lock(void *arg, bench_failure *reterr)
{
    member       *m = arg;
    bowline_hold *hold;
    bowline_error error;

    if (bowline_acquire(&hold, m->client, "counter", BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER),
                        &error) < 0)
        return bench_ours_failed("bowline_acquire", &error, reterr);
    int status = bench_minimum_add_one(&m->minimum, LOCKED, reterr);
    if (bowline_release(hold, &error) < 0 && status == 0)
        return bench_ours_failed("bowline_release", &error, reterr);
    return status;
}

int bench_measure_counter(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_failure *reterr)
{
    member     members[BENCH_CROWD_MAX] = { { .client = NULL } };
    bench_team updating                 = { .step = by_update };
    bench_team locking                  = { .step = under_lock };
    bench_ours ours                     = { .client = NULL };
    bench_text url;
    int        status = -1;

    assert(measure->threads >= 1 && measure->threads <= BENCH_CROWD_MAX);
    if (bench_use_server(b, measure->regime, &url, reterr) < 0 ||
        bench_ours_open(&ours, url.text, reterr) < 0)
        return -1;
    for (unsigned i = 0; i < measure->threads; i++) {
        members[i].client = ours.client;
        updating.args[i]  = &members[i];
        locking.args[i]   = &members[i];
        if (bench_minimum_open(&members[i].minimum, b->server.port, BENCH_NAME, reterr) < 0)
            goto out;
    }
    status = bench_crowd_duel(ret_result, measure, b->settings.rounds, &updating, &locking, reterr);
out:
    for (unsigned i = 0; i < measure->threads; i++)
        bench_minimum_close(&members[i].minimum);
    bench_ours_close(&ours);
    return status;
}
