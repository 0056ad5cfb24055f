/*
 * crowd.c -- see crowd.h.
 */
#include "bench/harness/crowd.h"
#include "bench/base/stats.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    TURNS      = 4, /* per side and round */
    WARM_UP_MS = 10,
    COUNTED_MS = 50,
};

/* Shared by all workers. */
typedef struct crowd {
    bench_step  step;
    atomic_bool is_over;
} crowd;

/* On its own cache line, so that counting does not slow down others. */
typedef struct worker {
    _Alignas(64) atomic_uint_fast64_t pairs;
    pthread_t     thread;
    crowd        *crowd;
    void         *arg; /* of the step */
    int           status;
    bench_failure failure;
} worker;

static void *work(void *arg)
{
    worker *w = arg;

    while (w->status == 0 && !atomic_load_explicit(&w->crowd->is_over, memory_order_relaxed)) {
        w->status = w->crowd->step(w->arg, &w->failure);
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

/* Ends the `started` threads; returns the first failure. */
static int disperse(worker *workers, unsigned started, bench_failure *reterr)
{
    int status = 0;

    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        if (workers[i].status < 0 && status == 0) {
            status  = -1;
            *reterr = workers[i].failure;
        }
    }
    return status;
}

/* One turn of one side. */
static int count_turn(double *ret_rate, unsigned threads, const bench_team *side,
                      bench_failure *reterr)
{
    worker   workers[BENCH_CROWD_MAX] = { { .pairs = 0 } };
    crowd    c                        = { .step = side->step };
    unsigned started                  = 0;
    int      status                   = 0;

    assert(threads >= 1 && threads <= BENCH_CROWD_MAX);
    while (started < threads && status == 0) {
        worker *w = &workers[started];
        w->crowd  = &c;
        w->arg    = side->args[started];
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

int bench_crowd_duel(bench_result *ret_result, const bench_measure *measure, unsigned rounds,
                     const bench_team *ours, const bench_team *theirs, bench_failure *reterr)
{
    bench_result result = { .was_measured = true, .rounds = rounds };
    double       our_rates[BENCH_ROUNDS_MAX], their_rates[BENCH_ROUNDS_MAX];

    for (unsigned r = 0; r < rounds; r++) {
        bench_progress("%s: round %u of %u", measure->name, r + 1, rounds);
        our_rates[r]   = 0;
        their_rates[r] = 0;
        for (unsigned turn = 0; turn < 2 * TURNS; turn++) {
            bool   is_ours = (turn + r) % 2 == 0;
            double rate    = 0;
            if (count_turn(&rate, measure->threads, is_ours ? ours : theirs, reterr) < 0)
                return -1;
            *(is_ours ? &our_rates[r] : &their_rates[r]) += rate / TURNS;
        }
        result.ratios[r] = our_rates[r] / their_rates[r];
    }
    result.ours.middle   = bench_median(our_rates, rounds);
    result.theirs.middle = bench_median(their_rates, rounds);
    *ret_result          = result;
    return 0;
}
