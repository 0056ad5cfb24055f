/*
 * idle.c -- idle: the commands and the CPU time of many waiters while the holder does not release.
 *
 * Every waiter has its own client; all are in one program, whose CPU time is theirs.
 */
#include <limits.h>
#include <stdio.h>

#include "bench/duel/duel.h"
#include "bench/harness/rounds.h"

enum { SETTLE_MS = 3000, IDLE_MS = 10000, HEARTBEAT_MS = 1000 };

typedef struct idle {
    bench_arena arena;
    bench_watch watch;
    char        program[PATH_MAX];
    unsigned    waiters;
    int         ms;
    double      commands; /* while they waited */
    double      cpu_us;
} idle;

static int failed(const idle *d, bench_failure *reterr)
{
    return bench_fail(reterr, (bench_failure){
                                  .what = bench_text_of("a driver of ours failed in a measure"),
                                  .why  = d->arena.why,
                                  .type = bench_text_of("type: bowline-bench --list, and leave it "
                                                        "out by --only"),
                              });
}

/* One client holds the lock, the others have started to wait. */
static int begin(idle *d)
{
    const char *const words[] = { d->program, NULL };
    bench_arena      *arena   = &d->arena;
    bench_couple     *c       = &arena->couples[BENCH_OURS];

    if (bench_duel_start(arena, BENCH_OURS,
                         (bench_driver_plan){ .words = words,
                                              .word  = BENCH_QUEUE_QUERY,
                                              .name  = "bench-idle",
                                              .port  = arena->b->server.port }) < 0)
        return -1;
    if (bench_driver_ask(&c->drivers[1], bench_text_of("crowd %u", d->waiters).text, "crowd ", NULL,
                         &arena->why) < 0 ||
        bench_driver_ask(&c->drivers[0], "acquire", "held ", NULL, &arena->why) < 0)
        return -1;
    return bench_driver_tell(&c->drivers[1], bench_text_of("contend 0 0 %s", c->turns[1].text).text,
                             &arena->why);
}

static int end(idle *d)
{
    bench_couple *c = &d->arena.couples[BENCH_OURS];

    if (bench_driver_ask(&c->drivers[0], "release", "released ", NULL, &d->arena.why) < 0)
        return -1;
    return bench_driver_hear(&c->drivers[1], "done ", NULL, &d->arena.why);
}

/* Counting costs the waiters nothing. */
static int look(idle *d, bench_failure *reterr)
{
    const bench_driver *crowd = &d->arena.couples[BENCH_OURS].drivers[1];

    if (bench_watch_begin(&d->watch, d->arena.b->server.port, reterr) < 0)
        return -1;
    double before = bench_driver_cpu_us(crowd);
    bench_sleep_ms(d->ms);
    d->cpu_us = bench_driver_cpu_us(crowd) - before;
    return bench_watch_end(&d->watch, &d->commands, reterr);
}

static int wait_idly(bench *b, const bench_measure *measure, idle *d, bench_failure *reterr)
{
    bool       is_brief = b->settings.is_brief;
    bench_text url;
    int        status = -1;

    d->arena.b = b;
    d->ms      = is_brief ? IDLE_MS / BENCH_BRIEF : IDLE_MS;
    d->waiters = is_brief ? BENCH_BRIEF : measure->count;
    if (bench_use_server(b, measure->regime, &url, reterr) < 0 ||
        bench_driver_find_ours(d->program, reterr) < 0 ||
        bench_watch_open(&d->watch, b->server.port, reterr) < 0)
        return -1;
    bench_progress("%s", measure->name);
    if (begin(d) < 0) {
        (void)failed(d, reterr);
        goto out;
    }
    bench_sleep_ms(is_brief ? SETTLE_MS / BENCH_BRIEF : SETTLE_MS);
    if (look(d, reterr) < 0)
        goto out;
    status = end(d) < 0 ? failed(d, reterr) : 0;
out:
    bench_duel_end(&d->arena);
    bench_watch_close(&d->watch);
    return status;
}

/* One round: it is long and hardly varies. */
static bench_result result_of(double ours, double theirs)
{
    return (bench_result){ .was_measured = true,
                           .rounds       = 1,
                           .ratios       = { ours / theirs },
                           .ours         = { .middle = ours },
                           .theirs       = { .middle = theirs } };
}

int bench_measure_idle_commands(bench *b, const bench_measure *measure, bench_result *ret_result,
                                bench_failure *reterr)
{
    idle d = { .commands = 0 };

    if (wait_idly(b, measure, &d, reterr) < 0)
        return -1;
    *ret_result = result_of(d.commands * 1000 / d.ms, d.waiters * 1000.0 / HEARTBEAT_MS);
    return 0;
}

int bench_measure_idle_cpu(bench *b, const bench_measure *measure, bench_result *ret_result,
                           bench_failure *reterr)
{
    idle d = { .commands = 0 };

    if (wait_idly(b, measure, &d, reterr) < 0)
        return -1;
    *ret_result = result_of(d.cpu_us / (d.ms * 1000.0) * 100, 1);
    return 0;
}
