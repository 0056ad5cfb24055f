/*
 * shared.c -- shared-S, -P: the pair of a client that shares a lock with nobody, compared with an
 * exclusive pair; several-S, -P: several names at once, compared with one after the other.
 */
#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/ours.h"

enum {
    FAR_SAMPLES  = 50, /* each takes four milliseconds or more */
    FAR_TURN     = 5,
    NEAR_SAMPLES = 2000,
    NEAR_TURN    = 50,
    NAMES        = 8,
};

static const char *const names[NAMES] = { "bench-1", "bench-2", "bench-3", "bench-4",
                                          "bench-5", "bench-6", "bench-7", "bench-8" };

static int shared_pair(void *arg, bench_failure *reterr)
{
    const bench_ours *ours = arg;
    bowline_hold     *hold;
    bowline_error     error;

    if (bowline_acquire(&hold, ours->client, ours->name, BOWLINE_ACQUIRE(.mode = BOWLINE_SHARED),
                        &error) < 0)
        return bench_ours_failed("bowline_acquire", &error, reterr);
    return bowline_release(hold, &error) < 0 ? bench_ours_failed("bowline_release", &error, reterr)
                                             : 0;
}

static int all_together(void *arg, bench_failure *reterr)
{
    const bench_ours *ours = arg;
    bowline_hold     *holds[NAMES];
    bowline_error     error;

    if (bowline_acquire_all(holds, ours->client, names, NAMES, NULL, &error) < 0)
        return bench_ours_failed("bowline_acquire_all", &error, reterr);
    return bowline_release_all(holds, NAMES, &error) < 0
               ? bench_ours_failed("bowline_release_all", &error, reterr)
               : 0;
}

static int one_by_one(void *arg, bench_failure *reterr)
{
    const bench_ours *ours = arg;
    bowline_hold     *holds[NAMES];
    bowline_error     error;

    for (unsigned i = 0; i < NAMES; i++)
        if (bowline_acquire(&holds[i], ours->client, names[i], NULL, &error) < 0)
            return bench_ours_failed("bowline_acquire", &error, reterr);
    for (unsigned i = 0; i < NAMES; i++)
        if (bowline_release(holds[i], &error) < 0)
            return bench_ours_failed("bowline_release", &error, reterr);
    return 0;
}

/* Both sides are the library, each with a client of its own. */
static int fight(bench *b, const bench_measure *measure, bench_duel *duel, bench_result *ret_result,
                 bench_failure *reterr)
{
    bool       is_far = measure->regime == BENCH_PROXY;
    bench_ours ours   = { 0 };
    bench_ours theirs = { 0 };
    bench_text url;
    int        status = -1;

    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    url = bench_text_of("%.200s?%s", url.text, measure->query);
    if (bench_ours_open(&ours, url.text, reterr) < 0 ||
        bench_ours_open(&theirs, url.text, reterr) < 0)
        goto out;
    duel->name       = measure->name;
    duel->rounds     = b->settings.rounds;
    duel->samples    = is_far ? FAR_SAMPLES : NEAR_SAMPLES;
    duel->turn       = is_far ? FAR_TURN : NEAR_TURN;
    duel->batch      = 1;
    duel->ours.arg   = &ours;
    duel->theirs.arg = &theirs;
    status           = bench_fight(ret_result, duel, reterr);
out:
    bench_ours_close(&theirs);
    bench_ours_close(&ours);
    return status;
}

int bench_measure_shared(bench *b, const bench_measure *measure, bench_result *ret_result,
                         bench_failure *reterr)
{
    bench_duel duel = { .ours.step = shared_pair, .theirs.step = bench_ours_pair };

    return fight(b, measure, &duel, ret_result, reterr);
}

int bench_measure_several(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_failure *reterr)
{
    bench_duel duel = { .ours.step = all_together, .theirs.step = one_by_one };

    return fight(b, measure, &duel, ret_result, reterr);
}
