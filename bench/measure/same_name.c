/*
 * same_name.c -- same-name-N: N threads of one client acquire the same lock in turn.
 *
 * Counts the commands to the server per hand-over, in a turn that is not timed. The note has the
 * hand-overs per second, and those of the same threads with one queue entry each (turns=1).
 */
#include <pthread.h>
#include <stdio.h>

#include <bowline/bowline.h>

#include "bench/base/machine.h"
#include "bench/base/stats.h"
#include "bench/measure/measure.h"
#include "bench/sides/ours.h"
#include "bench/world/watch.h"

enum {
    THREADS_MAX = 64,
    TURNS       = 500, /* per thread and round */
    ROUNDS_MAX  = 9,
};

/* Shared by all threads; each has its own failure. */
typedef struct crowd {
    bowline_client *client;
    unsigned        turns;
} crowd;

typedef struct member {
    const crowd  *of;
    pthread_t     thread;
    bool          has_failed;
    bench_failure failure;
} member;

static void *take_turns(void *arg)
{
    member       *m = arg;
    bowline_hold *hold;
    bowline_error error;

    for (unsigned i = 0; i < m->of->turns && !m->has_failed; i++) {
        if (bowline_acquire(&hold, m->of->client, BENCH_NAME,
                            BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error) < 0) {
            m->has_failed = true;
            (void)bench_ours_failed("bowline_acquire", &error, &m->failure);
        } else if (bowline_release(hold, &error) < 0) {
            m->has_failed = true;
            (void)bench_ours_failed("bowline_release", &error, &m->failure);
        }
    }
    return NULL;
}

/* One run of all threads and its time. */
static int gather(const crowd *c, unsigned threads, double *ret_us, bench_failure *reterr)
{
    member   members[THREADS_MAX] = { { .of = NULL } };
    unsigned started              = 0;
    int      status               = 0;
    int64_t  begun                = bench_now_ns();

    for (; started < threads; started++) {
        members[started].of = c;
        if (pthread_create(&members[started].thread, NULL, take_turns, &members[started]) != 0) {
            status = bench_fail_errno(reterr, bench_text_of("cannot start a thread"));
            break;
        }
    }
    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(members[i].thread, NULL);
        if (members[i].has_failed && status == 0)
            status = bench_fail(reterr, members[i].failure);
    }
    *ret_us = (double)(bench_now_ns() - begun) / 1000;
    return status;
}

/* Hand-overs per second over several rounds. */
static int take_rate(const char *url, const crowd *like, unsigned threads, double *ret_rate,
                     bench_failure *reterr)
{
    bench_ours ours = { .client = NULL };
    double     us   = 0;

    if (bench_ours_open(&ours, url, reterr) < 0)
        return -1;
    crowd c      = { .client = ours.client, .turns = like->turns };
    int   status = gather(&c, threads, &us, reterr);
    bench_ours_close(&ours);
    *ret_rate = (double)threads * like->turns * 1e6 / us;
    return status;
}

static int count(bench_watch *watch, int port, const crowd *c, unsigned threads, double *ret_each,
                 bench_failure *reterr)
{
    double us, commands;

    if (bench_watch_begin(watch, port, reterr) < 0 || gather(c, threads, &us, reterr) < 0 ||
        bench_watch_end(watch, &commands, reterr) < 0)
        return -1;
    *ret_each = commands / ((double)threads * c->turns);
    return 0;
}

int bench_measure_same_name(bench *b, const bench_measure *measure, bench_result *ret_result,
                            bench_failure *reterr)
{
    bench_result result = { .was_measured = true };
    bench_ours   ours   = { .client = NULL };
    bench_watch  watch  = { .info = NULL };
    double       each[ROUNDS_MAX], together = 0, alone = 0;
    bench_text   url;
    int          status = -1;

    result.rounds = b->settings.rounds < ROUNDS_MAX ? b->settings.rounds : ROUNDS_MAX;
    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    bench_text queue      = bench_text_of("%s?" BENCH_QUEUE_QUERY, url.text);
    bench_text one_by_one = bench_text_of("%s?" BENCH_QUEUE_QUERY "&turns=1", url.text);
    if (bench_ours_open(&ours, queue.text, reterr) < 0)
        return -1;
    if (bench_watch_open(&watch, b->server.port, reterr) < 0)
        goto out;
    bench_progress("%s", measure->name);
    crowd c = { .client = ours.client,
                .turns  = b->settings.is_brief ? TURNS / BENCH_BRIEF : TURNS };
    for (unsigned r = 0; r < result.rounds; r++) {
        if (count(&watch, b->server.port, &c, measure->threads, &each[r], reterr) < 0)
            goto out;
        result.ratios[r] = each[r];
    }
    if (take_rate(queue.text, &c, measure->threads, &together, reterr) < 0 ||
        take_rate(one_by_one.text, &c, measure->threads, &alone, reterr) < 0)
        goto out;
    result.ours.middle   = bench_median(each, result.rounds);
    result.theirs.middle = 1;
    (void)snprintf(result.note, sizeof result.note,
                   "%.0f hand-overs per second, and %.0f with turns=1", together, alone);
    *ret_result = result;
    status      = 0;
out:
    bench_watch_close(&watch);
    bench_ours_close(&ours);
    return status;
}
