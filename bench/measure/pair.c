/*
 * pair.c -- pair-P, -S, -X: one thread acquires and releases an uncontended lock on Redis;
 * nowait-P, -X: the same without waiting for the release; beside-100000-S: the same on a server on
 * which many other locks are held, compared with an empty server; shared-P, -S: the pair of a
 * client that shares a lock with nobody, compared with an exclusive pair; several-P, -S: several
 * names at once, compared with one after the other; sticky-P, -X: the pair of a client that keeps
 * released locks, compared with one that does not.
 *
 * Through the delay proxy the number of round trips decides, so it is compared with two PINGs. On
 * one CPU the length of the code path decides, on two CPUs the wake-ups; there it is compared with
 * the same commands by hiredis.
 */
#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/hiredis_minimum.h"
#include "bench/sides/holds.h"
#include "bench/sides/ours.h"

enum {
    FAR_SAMPLES  = 100, /* each takes four milliseconds or more */
    FAR_TURN     = 10,
    NEAR_SAMPLES = 4000,
    NEAR_TURN    = 100,
    GAP_US       = 150, /* the reply that was not awaited has arrived by then */
};

static void set_up(bench_duel *duel, const bench *b, const bench_measure *measure)
{
    bool is_far = measure->regime == BENCH_PROXY;

    duel->name    = measure->name;
    duel->rounds  = b->settings.rounds;
    duel->samples = is_far ? FAR_SAMPLES : NEAR_SAMPLES;
    duel->turn    = is_far ? FAR_TURN : NEAR_TURN;
    duel->batch   = 1;
}

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
    set_up(duel, b, measure);
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

static bench_text queue_url_of(const bench_server *server)
{
    return bench_text_of("redis://127.0.0.1:%d?%s", server->port, BENCH_QUEUE_QUERY);
}

int bench_measure_beside(bench *b, const bench_measure *measure, bench_result *ret_result,
                         bench_failure *reterr)
{
    bench_server full   = { .pid = 0 };
    bench_ours   ours   = { 0 };
    bench_ours   theirs = { 0 };
    bench_ours   others = { 0 };
    bench_holds  holds  = { .count = 0 };
    int          status = -1;
    bench_text   ignored;

    if (bench_use_server(b, measure->regime, &ignored, reterr) < 0 ||
        bench_server_start(&full, &b->janitor, reterr) < 0)
        return -1;
    bench_place(&b->machine, measure->regime, full.pid);
    if (bench_holds_make(&holds, b->settings.is_brief ? BENCH_HOLDS_STEP : measure->count, reterr) <
            0 ||
        bench_ours_open(&others, queue_url_of(&full).text, reterr) < 0 ||
        bench_ours_open(&ours, queue_url_of(&full).text, reterr) < 0 ||
        bench_ours_open(&theirs, queue_url_of(&b->server).text, reterr) < 0)
        goto out;
    bench_progress("%s: acquiring %u locks", measure->name, holds.count);
    if (bench_holds_acquire(&holds, others.client, reterr) < 0)
        goto out;
    bench_duel duel = {
        .name    = measure->name,
        .ours    = { .step = bench_ours_pair, .arg = &ours },
        .theirs  = { .step = bench_ours_pair, .arg = &theirs },
        .rounds  = b->settings.rounds,
        .samples = NEAR_SAMPLES,
        .turn    = NEAR_TURN,
        .batch   = 1,
    };
    status = bench_fight(ret_result, &duel, reterr);
out:
    bench_server_stop(&full, &b->janitor); /* first: nothing is released one by one */
    bench_ours_close(&theirs);
    bench_ours_close(&ours);
    bench_ours_close(&others);
    bench_holds_free(&holds);
    return status;
}

/* ---- the library against itself -------------------------------------------------------------- */

enum { NAMES = 8 };

static const char *const names[NAMES] = { "bench-1", "bench-2", "bench-3", "bench-4",
                                          "bench-5", "bench-6", "bench-7", "bench-8" };

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

/* Both sides are the library, each with a client and a name of its own.  `more`: options of the
 * first one. */
static int fight_self(bench *b, const bench_measure *measure, const char *more, bench_duel *duel,
                      bench_result *ret_result, bench_failure *reterr)
{
    bench_ours ours   = { 0 };
    bench_ours theirs = { 0 };
    bench_text url;
    int        status = -1;

    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    url = bench_text_of("%.200s?%s", url.text, measure->query);
    if (bench_ours_open(&ours, bench_text_of("%s%s", url.text, more).text, reterr) < 0 ||
        bench_ours_open(&theirs, url.text, reterr) < 0)
        goto out;
    ours.name = BENCH_NAME "-ours";
    set_up(duel, b, measure);
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
    bench_duel duel = { .ours.step = bench_ours_shared_pair, .theirs.step = bench_ours_pair };

    return fight_self(b, measure, "", &duel, ret_result, reterr);
}

int bench_measure_several(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_failure *reterr)
{
    bench_duel duel = { .ours.step = all_together, .theirs.step = one_by_one };

    return fight_self(b, measure, "", &duel, ret_result, reterr);
}

int bench_measure_sticky(bench *b, const bench_measure *measure, bench_result *ret_result,
                         bench_failure *reterr)
{
    bench_duel duel = { .ours.step = bench_ours_pair, .theirs.step = bench_ours_pair };

    return fight_self(b, measure, "&sticky=1s", &duel, ret_result, reterr);
}
