/*
 * measure_threads.c -- threads-N: pairs per second of N threads, each on a name of its own.
 *
 * Ours share one client, which has a few connections; theirs have a hiredis connection each.  The
 * two take turns: each has the machine to itself for a while, in each round, and is counted only
 * between two moments at which all its threads run.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bench/hiredis_floor.h"
#include "bench/ours.h"
#include "bench/rounds.h"

enum {
    THREADS_MAX = 64,
    TURNS       = 4, /* of each side in a round */
    WARM_UP_MS  = 10,
    COUNTED_MS  = 50,
};

/* What all workers look at. */
typedef struct crowd {
    bench_step  step;
    atomic_bool is_over;
} crowd;

/* On a cache line of its own, or counting would slow down the neighbours. */
typedef struct worker {
    _Alignas(64) atomic_uint_fast64_t pairs;
    pthread_t     thread;
    crowd        *crowd;
    void         *arg; /* of the step */
    int           status;
    bench_trouble trouble;
} worker;

static void *work(void *arg)
{
    worker *w = arg;

    while (w->status == 0 && !atomic_load_explicit(&w->crowd->is_over, memory_order_relaxed)) {
        w->status = w->crowd->step(w->arg, &w->trouble);
        atomic_fetch_add_explicit(&w->pairs, 1, memory_order_relaxed);
    }
    return NULL;
}

static uint64_t count(worker *workers, unsigned threads)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < threads; i++)
        sum += atomic_load_explicit(&workers[i].pairs, memory_order_relaxed);
    return sum;
}

/* Ends the crowd, of which `started` threads run; the first trouble of any of them. */
static int disperse(worker *workers, unsigned started, bench_trouble *reterr)
{
    int status = 0;

    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        if (workers[i].status < 0 && status == 0) {
            status  = -1;
            *reterr = workers[i].trouble;
        }
    }
    return status;
}

/* One turn of one side.  args[i] is what thread i works on. */
static int count_pairs(double *ret_rate, unsigned threads, bench_step step,
                       void *const args[THREADS_MAX], bench_trouble *reterr)
{
    worker   workers[THREADS_MAX] = { { .pairs = 0 } };
    crowd    c                    = { .step = step };
    unsigned started              = 0;
    int      status               = 0;

    assert(threads >= 1 && threads <= THREADS_MAX);
    while (started < threads && status == 0) {
        worker *w = &workers[started];
        w->crowd  = &c;
        w->arg    = args[started];
        errno     = pthread_create(&w->thread, NULL, work, w);
        if (errno != 0)
            status = bench_fail_errno(reterr, bench_text_of("cannot start %u threads", threads));
        else
            started++;
    }
    if (status == 0) {
        bench_sleep_ms(WARM_UP_MS);
        int64_t  began  = bench_now_ns();
        uint64_t before = count(workers, threads);
        bench_sleep_ms(COUNTED_MS);
        uint64_t pairs = count(workers, threads) - before;
        *ret_rate      = (double)pairs * 1e9 / (double)(bench_now_ns() - began);
    }
    atomic_store(&c.is_over, true);
    return disperse(workers, started, reterr) < 0 ? -1 : status;
}

/* ---- the measure ----------------------------------------------------------------------------- */

typedef struct sides {
    unsigned        threads;
    bowline_client *client;
    char            names[THREADS_MAX][20];
    bench_ours      ours[THREADS_MAX];
    bench_floor     floors[THREADS_MAX];
    void           *our_args[THREADS_MAX];
    void           *their_args[THREADS_MAX];
} sides;

static int open_sides(sides *s, const char *url, int port, bench_trouble *reterr)
{
    bench_ours first = { 0 };

    if (bench_ours_open(&first, url, reterr) < 0)
        return -1;
    s->client = first.client;
    for (unsigned i = 0; i < s->threads; i++) {
        (void)snprintf(s->names[i], sizeof s->names[i], "bench-%u", i);
        s->ours[i]       = (bench_ours){ .client = s->client, .name = s->names[i] };
        s->our_args[i]   = &s->ours[i];
        s->their_args[i] = &s->floors[i];
        if (bench_floor_open(&s->floors[i], port, s->names[i], reterr) < 0)
            return -1;
    }
    return 0;
}

static int fight(bench_result *ret_result, sides *s, const bench_measure *measure, unsigned rounds,
                 bench_trouble *reterr)
{
    bench_result result = { .was_measured = true, .rounds = rounds };
    double       ours[BENCH_ROUNDS_MAX], theirs[BENCH_ROUNDS_MAX];

    for (unsigned r = 0; r < rounds; r++) {
        bench_progress("%s: round %u of %u", measure->name, r + 1, rounds);
        ours[r]   = 0;
        theirs[r] = 0;
        for (unsigned turn = 0; turn < 2 * TURNS; turn++) {
            bool   is_ours = (turn + r) % 2 == 0;
            double rate    = 0;
            if (count_pairs(&rate, s->threads, is_ours ? bench_ours_pair : bench_floor_pair,
                            is_ours ? s->our_args : s->their_args, reterr) < 0)
                return -1;
            *(is_ours ? &ours[r] : &theirs[r]) += rate / TURNS;
        }
        result.ratios[r] = ours[r] / theirs[r];
    }
    result.ours.middle   = bench_median(ours, rounds);
    result.theirs.middle = bench_median(theirs, rounds);
    *ret_result          = result;
    return 0;
}

int bench_measure_threads(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_trouble *reterr)
{
    sides      s = { .threads = measure->threads };
    bench_text url;
    int        status = -1;

    assert(s.threads >= 1 && s.threads <= THREADS_MAX);
    if (measure->regime == BENCH_CROSS && b->machine.cpus_count < 2)
        return bench_leave_out(ret_result, "this machine has one CPU");
    if (bench_need_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    if (open_sides(&s, url.text, b->server.port, reterr) == 0)
        status = fight(ret_result, &s, measure, b->settings.rounds, reterr);
    for (unsigned i = 0; i < s.threads; i++)
        bench_floor_close(&s.floors[i]);
    bowline_close(s.client);
    return status;
}
