/*
 * hand_over.c -- hand-over: from the call of release to the return of acquire in a waiting client.
 *
 * Compared with one PING after the same pause; or with the minimum that hands a lock over by the
 * same scripts, which separates the cost of the server from ours. There are two clients, each
 * driven by its own thread; they change roles after each sample. The pause before the release is
 * long enough for the other to enqueue, and varies.
 *
 * Arrival: from the call of an acquire to its return, of a lock that another client keeps after its
 * release; compared with a hand-over.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/hiredis_minimum.h"
#include "bench/sides/hiredis_queue.h"
#include "bench/sides/ours.h"

enum { SAMPLES = 100, BRIEF_SAMPLES = 10, TURN = 10, PAUSE_US = 1000, ROUND_TRIPS = 4 };

typedef struct pair_of_clients {
    bench_ours    sides[2];
    bench_ours    keeper; /* of another name; no client: none is needed */
    bowline_hold *hold;   /* of sides[holder] */
    unsigned      holder;
    int64_t       pause_us;
    uint64_t      random;
    bench_minimum minimum;
    bench_queue   queue; /* used instead of `minimum` if the other side hands over too */
} pair_of_clients;

/* The waiting thread and its result. */
typedef struct waiter {
    bench_ours   *ours;
    bowline_hold *hold;
    int64_t       held_ns;
    int           status;
    bench_failure failure;
} waiter;

static void *wait_for_it(void *arg)
{
    waiter       *w = arg;
    bowline_error error;

    w->status  = bowline_acquire(&w->hold, w->ours->client, w->ours->name,
                                 BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error);
    w->held_ns = bench_now_ns();
    if (w->status < 0)
        (void)bench_ours_failed("bowline_acquire", &error, &w->failure);
    return NULL;
}

static void pause_a_while(pair_of_clients *p)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    bench_sleep_us(p->pause_us + (int64_t)((p->random >> 33) % PAUSE_US));
}

static int hand_over(void *arg, int64_t *ret_ns, bench_failure *reterr)
{
    pair_of_clients *p = arg;
    waiter           w = { .ours = &p->sides[1 - p->holder] };
    bowline_error    error;
    pthread_t        thread;

    errno = pthread_create(&thread, NULL, wait_for_it, &w);
    if (errno != 0)
        return bench_fail_errno(reterr, bench_text_of("cannot start a thread"));
    pause_a_while(p);
    int64_t began  = bench_now_ns();
    int     status = bowline_release(p->hold, &error);
    (void)pthread_join(thread, NULL);
    p->hold   = w.hold;
    p->holder = 1 - p->holder;
    *ret_ns   = w.held_ns - began;
    if (status < 0)
        return bench_ours_failed("bowline_release", &error, reterr);
    if (w.status < 0)
        *reterr = w.failure;
    return w.status < 0 ? -1 : 0;
}

static int arrive(void *arg, int64_t *ret_ns, bench_failure *reterr)
{
    pair_of_clients *p = arg;
    bowline_error    error;
    bowline_hold    *hold;

    if (bench_ours_pair(&p->keeper, reterr) < 0)
        return -1;
    pause_a_while(p);
    int64_t began  = bench_now_ns();
    int     status = bowline_acquire(&hold, p->sides[0].client, p->keeper.name,
                                     BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error);
    *ret_ns        = bench_now_ns() - began;
    if (status < 0)
        return bench_ours_failed("bowline_acquire", &error, reterr);
    if (bowline_release(hold, &error) < 0)
        return bench_ours_failed("bowline_release", &error, reterr);
    return 0;
}

static int ping(void *arg, int64_t *ret_ns, bench_failure *reterr)
{
    pair_of_clients *p = arg;
    int64_t          ignored;

    pause_a_while(p);
    int64_t began  = bench_now_ns();
    int     status = bench_minimum_number(&p->minimum, "PING", &ignored, reterr);
    *ret_ns        = bench_now_ns() - began;
    return status;
}

/* The waiting thread of the other side. */
typedef struct least {
    bench_queue  *queue;
    int64_t       held_ns;
    int           status;
    bench_failure failure;
} least;

static void *wait_in_queue(void *arg)
{
    least *l = arg;

    l->status  = bench_queue_wait(l->queue, &l->failure);
    l->held_ns = bench_now_ns();
    return NULL;
}

static int hand_over_by_hiredis(void *arg, int64_t *ret_ns, bench_failure *reterr)
{
    pair_of_clients *p = arg;
    least            l = { .queue = &p->queue };
    pthread_t        thread;

    if (bench_queue_take(&p->queue, reterr) < 0)
        return -1;
    errno = pthread_create(&thread, NULL, wait_in_queue, &l);
    if (errno != 0)
        return bench_fail_errno(reterr, bench_text_of("cannot start a thread"));
    pause_a_while(p);
    int64_t began  = bench_now_ns();
    int     status = bench_queue_release(&p->queue, reterr);
    (void)pthread_join(thread, NULL);
    *ret_ns = l.held_ns - began;
    if (status == 0 && l.status < 0)
        *reterr = l.failure;
    return status < 0 ? status : l.status;
}

static int compare(bench *b, const bench_measure *measure, pair_of_clients *p,
                   bench_result *ret_result, bench_failure *reterr)
{
    bool             is_arrival = p->keeper.client != NULL;
    bench_timed_step other      = measure->count == 0 ? ping : hand_over_by_hiredis;
    const bench_duel duel       = {
              .name    = measure->name,
              .ours    = { .timed = is_arrival ? arrive : hand_over, .arg = p },
              .theirs  = { .timed = is_arrival ? hand_over : other, .arg = p },
              .rounds  = b->settings.rounds,
              .samples = b->settings.is_brief ? BRIEF_SAMPLES : SAMPLES,
              .turn    = TURN,
              .batch   = 1,
    };
    bowline_error error;

    if (bowline_acquire(&p->hold, p->sides[0].client, BENCH_NAME, NULL, &error) < 0)
        return bench_ours_failed("bowline_acquire", &error, reterr);
    if (bench_fight(ret_result, &duel, reterr) < 0)
        return -1;
    if (bowline_release(p->hold, &error) < 0)
        return bench_ours_failed("bowline_release", &error, reterr);
    (void)snprintf(ret_result->note, sizeof ret_result->note, "%.2f times at p99",
                   ret_result->ours.p99 / ret_result->theirs.p99);
    return 0;
}

static int open_keeper(bench_ours *ret_keeper, const char *url, bench_failure *reterr)
{
    int status = bench_ours_open(ret_keeper, bench_text_of("%s&sticky=10s", url).text, reterr);

    ret_keeper->name = BENCH_NAME "-kept";
    return status;
}

static int measure_with(bench *b, const bench_measure *measure, bool has_keeper,
                        bench_result *ret_result, bench_failure *reterr)
{
    pair_of_clients p = { .pause_us = PAUSE_US };
    bench_text      url;
    int             status = -1;

    if (measure->regime == BENCH_CROSS && b->machine.cpus_count < 2)
        return bench_skip(ret_result, "this machine has one CPU");
    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    url      = bench_text_of("%.200s?%s", url.text, BENCH_QUEUE_QUERY);
    int port = b->server.port;
    if (measure->regime == BENCH_PROXY) {
        port       = b->proxy.port;
        p.pause_us = PAUSE_US + (int64_t)ROUND_TRIPS * 2 * b->settings.delay_us;
    }
    if (bench_ours_open(&p.sides[0], url.text, reterr) == 0 &&
        bench_ours_open(&p.sides[1], url.text, reterr) == 0 &&
        bench_minimum_open(&p.minimum, port, BENCH_NAME, reterr) == 0 &&
        bench_queue_open(&p.queue, port, reterr) == 0 &&
        (!has_keeper || open_keeper(&p.keeper, url.text, reterr) == 0))
        status = compare(b, measure, &p, ret_result, reterr);
    if (has_keeper)
        bench_ours_close(&p.keeper);
    bench_queue_close(&p.queue);
    bench_minimum_close(&p.minimum);
    for (unsigned i = 0; i < 2; i++)
        bench_ours_close(&p.sides[i]);
    return status;
}

int bench_measure_hand_over(bench *b, const bench_measure *measure, bench_result *ret_result,
                            bench_failure *reterr)
{
    return measure_with(b, measure, false, ret_result, reterr);
}

int bench_measure_arrival(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_failure *reterr)
{
    return measure_with(b, measure, true, ret_result, reterr);
}
