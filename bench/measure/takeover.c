/*
 * takeover.c -- takeover: the holder is killed; from the end of its lease to the return of acquire
 * in a waiter.
 *
 * The server does not know that the holder is dead: the key expires, and the waiter must try at the
 * right moment.  The end of the lease is read from the server after the kill, in milliseconds.
 * Other keys with an expiry must not matter: the active expiry of the server is slower with many
 * keys.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/duel/driver.h"
#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/hiredis_minimum.h"
#include "engine/redis/wire/key.h"

#define LEASE         "300ms"

#define TAKEOVER_NAME "bench-takeover"

enum {
    SAMPLES       = 5, /* in a round */
    BRIEF_SAMPLES = 2,
    BRIEF_KEYS    = 1000,
    PIPELINED     = 500,
    HELD_MS       = 40, /* up to twice as long: it ends at any moment of the renewal */
    SETTLED_MS    = 5,  /* until the last command of the dead holder has arrived */
    WANTED_NS     = 5000000,
    HEARTBEAT_NS  = 1000000000,
    ATTEMPTS_MAX  = 5,
    HOLDER        = 0,
    WAITER        = 1,
};

typedef struct scene {
    bench        *b;
    char          program[PATH_MAX];
    bench_driver  holder;
    bench_driver  waiter;
    bench_minimum minimum;
    bench_text    pttl; /* the command that reads the rest of the lease */
    uint64_t      random;
    bench_text    why;
} scene;

static int start(scene *s, bench_driver *driver, unsigned number)
{
    const char *const words[] = { s->program, NULL };
    bench_driver_plan plan    = { .words  = words,
                                  .word   = BENCH_QUEUE_QUERY "&lease=" LEASE,
                                  .name   = TAKEOVER_NAME,
                                  .port   = s->b->server.port,
                                  .number = number };

    if (bench_driver_start(driver, &s->b->janitor, &plan, &s->why) < 0)
        return -1;
    return bench_driver_hear(driver, "ready", NULL, &s->why);
}

static int failed(const scene *s, bench_failure *reterr)
{
    return bench_fail(reterr, (bench_failure){
                                  .what = bench_text_of("a driver of ours failed in a measure"),
                                  .why  = s->why,
                                  .type = bench_text_of("type: bowline-bench --list, and leave it "
                                                        "out by --only"),
                              });
}

static void hold_for_a_while(scene *s)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    bench_sleep_ms(HELD_MS + (int64_t)((s->random >> 33) % HELD_MS));
}

/* One sample: the time from the end of the lease to the acquire.  Below 0: the acquire came before
 * the end was known, because the machine was busy. */
static int take_over(scene *s, int64_t *ret_ns, bench_failure *reterr)
{
    int64_t left_ms;
    char   *held;

    if (start(s, &s->holder, HOLDER) < 0 ||
        bench_driver_ask(&s->holder, "acquire", "held ", NULL, &s->why) < 0 ||
        bench_driver_tell(&s->waiter, "acquire", &s->why) < 0)
        return failed(s, reterr);
    hold_for_a_while(s);
    (void)kill(s->holder.pid, SIGKILL);
    bench_driver_end(&s->holder);
    bench_sleep_ms(SETTLED_MS);
    if (bench_minimum_number(&s->minimum, s->pttl.text, &left_ms, reterr) < 0)
        return -1;
    int64_t known_ns = bench_now_ns();
    if (bench_driver_hear(&s->waiter, "held ", &held, &s->why) < 0)
        return failed(s, reterr);
    int64_t held_ns = strtoll(held, NULL, 10);
    int64_t late_ns = held_ns - known_ns - left_ms * 1000000;
    *ret_ns         = held_ns < known_ns ? -1 : late_ns > 1 ? late_ns : 1;
    if (bench_driver_ask(&s->waiter, "release", "released ", NULL, &s->why) < 0)
        return failed(s, reterr);
    return 0;
}

static int take_sample(scene *s, bench_samples *samples, bench_failure *reterr)
{
    int64_t ns = -1;

    for (unsigned i = 0; i < ATTEMPTS_MAX && ns < 0; i++)
        if (take_over(s, &ns, reterr) < 0)
            return -1;
    s->why = bench_text_of("this machine is too busy to see when a lease ends");
    if (ns < 0 || !bench_samples_reserve(samples, 1))
        return failed(s, reterr);
    bench_samples_add(samples, ns);
    return 0;
}

static int take_rounds(scene *s, const bench_measure *measure, bench_samples *samples,
                       bench_result *result, bench_failure *reterr)
{
    unsigned in_a_round = s->b->settings.is_brief ? BRIEF_SAMPLES : SAMPLES;

    for (unsigned r = 0; r < result->rounds; r++) {
        bench_progress("%s: round %u of %u", measure->name, r + 1, result->rounds);
        size_t first = samples->count;
        for (unsigned i = 0; i < in_a_round; i++)
            if (take_sample(s, samples, reterr) < 0)
                return -1;
        result->ratios[r] = (double)bench_percentile(samples, first, 500) / WANTED_NS;
    }
    int64_t worst = bench_percentile(samples, 0, 1000);
    result->ours  = bench_figures_of(samples);
    result->theirs =
        (bench_figures){ .middle = WANTED_NS, .p99 = HEARTBEAT_NS, .p999 = HEARTBEAT_NS };
    result->is_invalid = worst > HEARTBEAT_NS;
    (void)snprintf(result->note, sizeof result->note, "at worst %.1f ms, of %zu",
                   (double)worst / 1e6, samples->count);
    return 0;
}

/* The unrelated keys. */
static int fill(scene *s, unsigned count, bench_failure *reterr)
{
    if (s->b->settings.is_brief && count > BRIEF_KEYS)
        count = BRIEF_KEYS;
    for (unsigned i = 0; i < count; i++) {
        if (bench_minimum_set_later(&s->minimum, bench_text_of("other-%u", i).text, reterr) < 0)
            return -1;
        if ((i + 1) % PIPELINED == 0 && bench_minimum_await(&s->minimum, PIPELINED, reterr) < 0)
            return -1;
    }
    return bench_minimum_await(&s->minimum, count % PIPELINED, reterr);
}

static int measure_scene(scene *s, const bench_measure *measure, bench_result *ret_result,
                         bench_failure *reterr)
{
    bench_result  result  = { .was_measured = true, .rounds = s->b->settings.rounds };
    bench_samples samples = { 0 };
    int64_t       ignored;
    int           status = -1;

    if (bench_minimum_number(&s->minimum, "FLUSHALL", &ignored, reterr) < 0 ||
        fill(s, measure->count, reterr) < 0)
        return -1;
    if (start(s, &s->waiter, WAITER) < 0)
        return failed(s, reterr);
    if (take_rounds(s, measure, &samples, &result, reterr) == 0) {
        *ret_result = result;
        status      = bench_minimum_number(&s->minimum, "FLUSHALL", &ignored, reterr);
    }
    bench_samples_free(&samples);
    return status;
}

int bench_measure_takeover(bench *b, const bench_measure *measure, bench_result *ret_result,
                           bench_failure *reterr)
{
    scene      s = { .b = b };
    bench_text url;
    char       key[BWL_KEY_MAX];
    int        status = -1;

    if (bench_use_server(b, measure->regime, &url, reterr) < 0 ||
        bench_driver_find_ours(s.program, reterr) < 0 ||
        bench_minimum_open(&s.minimum, b->server.port, TAKEOVER_NAME, reterr) < 0)
        return -1;
    size_t size = bwl_key_write(key, NULL, TAKEOVER_NAME, strlen(TAKEOVER_NAME));
    s.pttl      = bench_text_of("PTTL %.*s", (int)size, key);
    status      = measure_scene(&s, measure, ret_result, reterr);
    bench_driver_end(&s.holder);
    bench_driver_end(&s.waiter);
    bench_minimum_close(&s.minimum);
    return status;
}
