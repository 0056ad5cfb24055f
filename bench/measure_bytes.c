/*
 * measure_bytes.c -- bytes: what a held lock takes of the server's memory, and what it leaves
 * there.
 *
 * Both sides start from an empty database, and have the same connections open.  What the server
 * needs for its clients is taken away from what it uses, where it says so (from Redis 7 on): it
 * changes with the size of the last command, and has nothing to do with locks.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/hiredis_floor.h"
#include "bench/ours.h"
#include "bench/rounds.h"

enum { LOCKS = 10000, PIPELINED = 500, SETTLE_STEPS = 60, SETTLE_STEP_MS = 50, SETTLED = 3 };

static bench_text name_of(unsigned lock)
{
    return bench_text_of("bench-%05u", lock);
}

static int read_memory(bench_floor *floor, int64_t *ret_bytes, bench_trouble *reterr)
{
    int64_t       used, clients;
    bench_trouble none;

    if (bench_floor_info(floor, "used_memory", &used, reterr) < 0)
        return -1;
    if (bench_floor_info(floor, "mem_clients_normal", &clients, &none) < 0)
        clients = 0;
    *ret_bytes = used - clients;
    return 0;
}

/* Until nothing changes any more: tables are resized in the background. */
static int read_settled_memory(bench_floor *floor, int64_t *ret_bytes, bench_trouble *reterr)
{
    int64_t  last = -1, now = 0;
    unsigned same = 0;

    for (unsigned i = 0; i < SETTLE_STEPS && same < SETTLED; i++) {
        if (read_memory(floor, &now, reterr) < 0)
            return -1;
        same = now == last ? same + 1 : 0;
        last = now;
        bench_sleep_ms(SETTLE_STEP_MS);
    }
    *ret_bytes = now;
    return 0;
}

static int empty(bench_floor *floor, int64_t *ret_bytes, bench_trouble *reterr)
{
    int64_t ignored;

    if (bench_floor_number(floor, "FLUSHALL", &ignored, reterr) < 0)
        return -1;
    return read_settled_memory(floor, ret_bytes, reterr);
}

/* ---- sides ----------------------------------------------------------------------------------- */

static int hold_all(bench_ours *ours, bowline_hold *holds[LOCKS], bench_trouble *reterr)
{
    bowline_error error;

    for (unsigned i = 0; i < LOCKS; i++)
        if (bowline_acquire(&holds[i], ours->client, name_of(i).text,
                            BOWLINE_ACQUIRE(.lease_ms = 600000), &error) < 0)
            return bench_ours_failed("bowline_acquire", &error, reterr);
    return 0;
}

static int release_all(bowline_hold *holds[LOCKS], bench_trouble *reterr)
{
    bowline_error error;
    int           status = 0;

    for (unsigned i = 0; i < LOCKS; i++) {
        if (bowline_release(holds[i], &error) < 0 && status == 0)
            status = bench_ours_failed("bowline_release", &error, reterr);
        holds[i] = NULL;
    }
    return status;
}

static int measure_ours(double *ret_bytes, int64_t *ret_left, bench_ours *ours, bench_floor *floor,
                        bench_trouble *reterr)
{
    int64_t        before, after;
    bowline_hold **holds  = calloc(LOCKS, sizeof(bowline_hold *));
    int            status = -1;

    if (holds == NULL)
        return bench_fail_errno(reterr, bench_text_of("no memory for %d locks", LOCKS));
    if (empty(floor, &before, reterr) == 0 && hold_all(ours, holds, reterr) == 0 &&
        read_settled_memory(floor, &after, reterr) == 0 && release_all(holds, reterr) == 0 &&
        bench_floor_number(floor, "DBSIZE", ret_left, reterr) == 0) {
        *ret_bytes = (double)(after - before) / LOCKS;
        status     = 0;
    }
    free(holds); /* after a failure the client still has them, and frees them with itself */
    return status;
}

static int measure_theirs(double *ret_bytes, bench_floor *floor, bench_trouble *reterr)
{
    int64_t before, after;

    if (empty(floor, &before, reterr) < 0)
        return -1;
    for (unsigned i = 0; i < LOCKS; i++) {
        if (bench_floor_set_later(floor, name_of(i).text, reterr) < 0)
            return -1;
        if ((i + 1) % PIPELINED == 0 && bench_floor_await(floor, PIPELINED, reterr) < 0)
            return -1;
    }
    if (read_settled_memory(floor, &after, reterr) < 0)
        return -1;
    *ret_bytes = (double)(after - before) / LOCKS;
    return empty(floor, &after, reterr);
}

static int fight(bench_result *ret_result, bench_ours *ours, bench_floor *floor, unsigned rounds,
                 bench_trouble *reterr)
{
    bench_result result = { .was_measured = true, .rounds = rounds };
    double       mine[BENCH_ROUNDS_MAX], theirs[BENCH_ROUNDS_MAX];
    int64_t      left, left_most = 0;

    for (unsigned r = 0; r < rounds; r++) {
        bench_progress("bytes: round %u of %u", r + 1, rounds);
        if (measure_ours(&mine[r], &left, ours, floor, reterr) < 0 ||
            measure_theirs(&theirs[r], floor, reterr) < 0)
            return -1;
        if (left > left_most)
            left_most = left;
        result.ratios[r] = mine[r] / theirs[r];
    }
    result.ours.middle   = bench_median(mine, rounds);
    result.theirs.middle = bench_median(theirs, rounds);
    result.is_spoilt     = left_most > 0;
    (void)snprintf(result.note, sizeof result.note, "%lld keys left after release",
                   (long long)left_most);
    *ret_result = result;
    return 0;
}

int bench_measure_bytes(bench *b, const bench_measure *measure, bench_result *ret_result,
                        bench_trouble *reterr)
{
    bench_ours  ours  = { 0 };
    bench_floor floor = { 0 };
    bench_text  url;
    int         status = -1;

    static_assert(LOCKS % PIPELINED == 0, "the last ones are awaited too");
    if (bench_need_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    /* One pair ahead: the connection is made, and the script is known. */
    if (bench_ours_open(&ours, url.text, reterr) == 0 &&
        bench_floor_open(&floor, b->server.port, BENCH_NAME, reterr) == 0 &&
        bench_ours_pair(&ours, reterr) == 0)
        status = fight(ret_result, &ours, &floor, b->settings.rounds, reterr);
    bench_floor_close(&floor);
    bench_ours_close(&ours);
    return status;
}
