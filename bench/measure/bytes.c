/*
 * bytes.c -- bytes: the memory of the server for a held lock, and what remains after it.
 *
 * Both sides start with an empty database and have the same connections open. Memory for clients is
 * subtracted if the server reports it (from Redis 7 on): it depends on the last command, not on
 * locks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/hiredis_minimum.h"
#include "bench/sides/holds.h"
#include "bench/sides/ours.h"

enum { MANY = 100000, SETTLE_STEPS = 60, SETTLE_STEP_MS = 50, SETTLED = 3 };

static int read_memory(bench_minimum *minimum, int64_t *ret_bytes, bench_failure *reterr)
{
    int64_t       used, clients;
    bench_failure none;

    if (bench_minimum_info(minimum, "used_memory", &used, reterr) < 0)
        return -1;
    if (bench_minimum_info(minimum, "mem_clients_normal", &clients, &none) < 0)
        clients = 0;
    *ret_bytes = used - clients;
    return 0;
}

/* Waits until nothing changes: the server resizes tables in the background. */
static int read_settled_memory(bench_minimum *minimum, int64_t *ret_bytes, bench_failure *reterr)
{
    int64_t  last = -1, now = 0;
    unsigned same = 0;

    for (unsigned i = 0; i < SETTLE_STEPS && same < SETTLED; i++) {
        if (read_memory(minimum, &now, reterr) < 0)
            return -1;
        same = now == last ? same + 1 : 0;
        last = now;
        bench_sleep_ms(SETTLE_STEP_MS);
    }
    *ret_bytes = now;
    return 0;
}

static int empty(bench_minimum *minimum, int64_t *ret_bytes, bench_failure *reterr)
{
    int64_t ignored;

    if (bench_minimum_number(minimum, "FLUSHALL", &ignored, reterr) < 0)
        return -1;
    return read_settled_memory(minimum, ret_bytes, reterr);
}

/* ---- sides ----------------------------------------------------------------------------------- */

/* Keys for all locks: the counter of fences, and client info. */
#define KEPT_COMMAND \
    "EVAL return#redis.call('keys','bowline:who:*')+redis.call('exists','bowline:f') 0"

static int count_left(bench_minimum *minimum, int64_t *ret_left, bench_failure *reterr)
{
    int64_t all, kept;

    if (bench_minimum_number(minimum, "DBSIZE", &all, reterr) < 0 ||
        bench_minimum_number(minimum, KEPT_COMMAND, &kept, reterr) < 0)
        return -1;
    *ret_left = all - kept;
    return 0;
}

typedef struct sides {
    bench_ours    ours;
    bench_minimum minimum;
    bench_holds   holds;
} sides;

static int measure_ours(sides *s, double *ret_bytes, int64_t *ret_left, bench_failure *reterr)
{
    int64_t before, after;

    if (empty(&s->minimum, &before, reterr) < 0 ||
        bench_holds_acquire(&s->holds, s->ours.client, reterr) < 0 ||
        read_settled_memory(&s->minimum, &after, reterr) < 0 ||
        bench_holds_release(&s->holds, reterr) < 0 || count_left(&s->minimum, ret_left, reterr) < 0)
        return -1;
    *ret_bytes = (double)(after - before) / s->holds.count;
    return 0;
}

static int measure_theirs(sides *s, double *ret_bytes, bench_failure *reterr)
{
    int64_t before, after;

    if (empty(&s->minimum, &before, reterr) < 0)
        return -1;
    for (unsigned i = 0; i < s->holds.count; i++) {
        if (bench_minimum_set_later(&s->minimum, bench_holds_name(i).text, reterr) < 0)
            return -1;
        if ((i + 1) % BENCH_HOLDS_STEP == 0 &&
            bench_minimum_await(&s->minimum, BENCH_HOLDS_STEP, reterr) < 0)
            return -1;
    }
    if (read_settled_memory(&s->minimum, &after, reterr) < 0)
        return -1;
    *ret_bytes = (double)(after - before) / s->holds.count;
    return empty(&s->minimum, &after, reterr);
}

static int fight(const bench_measure *measure, bench_result *ret_result, sides *s, unsigned rounds,
                 bench_failure *reterr)
{
    bench_result result = { .was_measured = true, .rounds = rounds };
    double       mine[BENCH_ROUNDS_MAX], theirs[BENCH_ROUNDS_MAX];
    int64_t      left, left_most = 0;

    for (unsigned r = 0; r < rounds; r++) {
        bench_progress("%s: round %u of %u", measure->name, r + 1, rounds);
        if (measure_ours(s, &mine[r], &left, reterr) < 0 ||
            measure_theirs(s, &theirs[r], reterr) < 0)
            return -1;
        if (left > left_most)
            left_most = left;
        result.ratios[r] = mine[r] / theirs[r];
    }
    result.ours.middle   = bench_median(mine, rounds);
    result.theirs.middle = bench_median(theirs, rounds);
    result.is_invalid    = left_most > 0;
    (void)snprintf(result.note, sizeof result.note, "%lld keys left after release",
                   (long long)left_most);
    *ret_result = result;
    return 0;
}

/* One pair first: it connects and loads the script. */
static int measure_at(bench *b, const bench_measure *measure, const char *url,
                      bench_result *ret_result, bench_failure *reterr)
{
    unsigned rounds = measure->count >= MANY ? 1 : b->settings.rounds; /* once, if it is long */
    sides    s      = { .holds.count = 0 };
    int      status = -1;

    if (bench_holds_make(&s.holds, b->settings.is_brief ? BENCH_HOLDS_STEP : measure->count,
                         reterr) == 0 &&
        bench_ours_open(&s.ours, url, reterr) == 0 &&
        bench_minimum_open(&s.minimum, b->server.port, BENCH_NAME, reterr) == 0 &&
        bench_ours_pair(&s.ours, reterr) == 0)
        status = fight(measure, ret_result, &s, rounds, reterr);
    bench_minimum_close(&s.minimum);
    bench_ours_close(&s.ours); /* frees the holds after a failure */
    bench_holds_free(&s.holds);
    return status;
}

int bench_measure_bytes(bench *b, const bench_measure *measure, bench_result *ret_result,
                        bench_failure *reterr)
{
    bench_text url;

    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    return measure_at(b, measure, url.text, ret_result, reterr);
}

int bench_measure_queue_bytes(bench *b, const bench_measure *measure, bench_result *ret_result,
                              bench_failure *reterr)
{
    bench_text url;

    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    url = bench_text_of("%.200s?%s", url.text, BENCH_QUEUE_QUERY);
    return measure_at(b, measure, url.text, ret_result, reterr);
}
