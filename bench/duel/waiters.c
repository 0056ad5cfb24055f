/*
 * waiters.c -- waiters: many clients acquire the same lock, hold it for no time, and acquire it
 * again.
 *
 * Measures hand-overs per second compared with two waiters, commands per hand-over, and fairness.
 * Every waiter has its own client; half of them are in each of two drivers.
 */
#include <limits.h>
#include <stdio.h>

#include "bench/duel/duel.h"
#include "bench/harness/rounds.h"
#include "engine/redis/wire/scripts.h"

enum {
    CONTEND_MS      = 1000,
    CONTEND_LONG_MS = 2000,
    LONG_FROM       = 500,
    FEW             = 2,
    FAIR_TIMES      = 4,
    ROUNDS_MAX      = 3, /* each is long */
};

/* The other side is ours too, with two waiters. */
typedef struct contest {
    bench_arena arena;
    bench_watch watch;
    char        program[PATH_MAX];
    unsigned    many;
    int         ms;
} contest;

static int failed(const contest *c, bench_failure *reterr)
{
    return bench_fail(reterr, (bench_failure){
                                  .what = bench_text_of("a driver of ours failed in a measure"),
                                  .why  = c->arena.why,
                                  .type = bench_text_of("type: bowline-bench --list, and leave it "
                                                        "out by --only"),
                              });
}

static int gather(contest *c, bench_who who, const char *name, unsigned waiters)
{
    const char *const words[] = { c->program, NULL };
    bench_turns_sum   ignored;

    if (bench_duel_start(&c->arena, who,
                         (bench_driver_plan){ .words = words,
                                              .word  = BENCH_QUEUE_QUERY,
                                              .name  = name,
                                              .port  = c->arena.b->server.port }) < 0)
        return -1;
    if (bench_duel_gather(&c->arena, &c->arena.couples[who], waiters / 2) < 0)
        return -1;
    /* A warm-up: the first acquire connects. */
    return bench_duel_contend(&c->arena, who, waiters, (int[]){ 1, 0 }, &ignored);
}

static int contend(contest *c, bench_who who, bench_turns_sum *ret_sum, bench_failure *reterr)
{
    unsigned waiters = who == BENCH_OURS ? c->many : FEW;

    if (bench_duel_contend(&c->arena, who, waiters, (int[]){ c->ms, 0 }, ret_sum) < 0)
        return failed(c, reterr);
    return 0;
}

/* ---- how many -------------------------------------------------------------------------------- */

static int take_rate(contest *c, bench_who who, double *ret_rate, double *ret_cpu_us,
                     bench_failure *reterr)
{
    double          before, after;
    bench_turns_sum sum;

    if (bench_watch_cpu(&c->watch, &before, reterr) < 0 || contend(c, who, &sum, reterr) < 0 ||
        bench_watch_cpu(&c->watch, &after, reterr) < 0)
        return -1;
    size_t before_end = sum.hand_overs_before > 0 ? sum.hand_overs_before : 1;
    *ret_rate         = (double)before_end * 1000 / c->ms;
    *ret_cpu_us       = (after - before) / (double)(sum.hand_overs > 0 ? sum.hand_overs : 1);
    return 0;
}

static int count_hand_overs(contest *c, bench_result *result, bench_failure *reterr)
{
    double rates[BENCH_WHO_COUNT][ROUNDS_MAX] = { 0 }, cpu[BENCH_WHO_COUNT][ROUNDS_MAX] = { 0 };

    if (gather(c, BENCH_THEIRS, "bench-few", FEW) < 0)
        return failed(c, reterr);
    for (unsigned r = 0; r < result->rounds; r++) {
        for (unsigned i = 0; i < BENCH_WHO_COUNT; i++) {
            bench_who who = (bench_who)((i + r) % 2);
            if (take_rate(c, who, &rates[who][r], &cpu[who][r], reterr) < 0)
                return -1;
        }
        result->ratios[r] = rates[BENCH_OURS][r] / rates[BENCH_THEIRS][r];
    }
    result->ours.middle   = bench_median(rates[BENCH_OURS], result->rounds);
    result->theirs.middle = bench_median(rates[BENCH_THEIRS], result->rounds);
    (void)snprintf(result->note, sizeof result->note,
                   "CPU of the server for each: %.0f us, and %.0f us with %d waiters",
                   bench_median(cpu[BENCH_OURS], result->rounds),
                   bench_median(cpu[BENCH_THEIRS], result->rounds), FEW);
    return 0;
}

/* ---- who ------------------------------------------------------------------------------------- */

static int compare_turns(contest *c, bench_result *result, bench_failure *reterr)
{
    double fewest[ROUNDS_MAX], most[ROUNDS_MAX];

    /* One turn more or less must not matter. */
    c->ms *= FAIR_TIMES;
    for (unsigned r = 0; r < result->rounds; r++) {
        bench_turns_sum sum;
        if (contend(c, BENCH_OURS, &sum, reterr) < 0)
            return -1;
        fewest[r]         = sum.fewest;
        most[r]           = sum.most;
        result->ratios[r] = sum.fairness;
    }
    result->ours.middle   = bench_median(fewest, result->rounds);
    result->theirs.middle = bench_median(most, result->rounds);
    return 0;
}

/* ---- by how many commands -------------------------------------------------------------------- */

/* Counting takes time, so nothing else is measured here. */
static int count_commands(contest *c, bench_result *result, bench_failure *reterr)
{
    double commands[ROUNDS_MAX], heartbeats = 0, confirmations = 0, leads = 0, hand_overs = 0;

    c->watch.apart[0] = bwl_scripts[BWL_SCRIPT_QUEUE_HEARTBEAT].sha1;
    c->watch.apart[1] = bwl_scripts[BWL_SCRIPT_EXTEND_IF_MINE].sha1;
    c->watch.apart[2] = "\"EXISTS\""; /* sent before a release: see engine/redis/command.c */
    for (unsigned r = 0; r < result->rounds; r++) {
        bench_turns_sum sum;
        if (bench_watch_begin(&c->watch, c->arena.b->server.port, reterr) < 0 ||
            contend(c, BENCH_OURS, &sum, reterr) < 0 ||
            bench_watch_end(&c->watch, &commands[r], reterr) < 0)
            return -1;
        double count = (double)(sum.hand_overs > 0 ? sum.hand_overs : 1);
        commands[r] /= count;
        result->ratios[r] = commands[r];
        heartbeats += (double)c->watch.apart_commands[0];
        confirmations += (double)c->watch.apart_commands[1];
        leads += (double)c->watch.apart_commands[2];
        hand_overs += count;
    }
    result->ours.middle   = bench_median(commands, result->rounds);
    result->theirs.middle = 1;
    (void)snprintf(
        result->note, sizeof result->note,
        "and for each, counted apart, %.2f heartbeats, %.2f confirmations and %.2f leads",
        heartbeats / hand_overs, confirmations / hand_overs, leads / hand_overs);
    return 0;
}

/* ---- the measures ---------------------------------------------------------------------------- */

typedef int (*contesting)(contest *c, bench_result *result, bench_failure *reterr);

static int measure_contest(bench *b, const bench_measure *measure, contesting how,
                           bench_result *ret_result, bench_failure *reterr)
{
    contest      c        = { .arena = { .b = b }, .many = measure->count };
    bench_result result   = { .was_measured = true };
    bool         is_brief = b->settings.is_brief;
    bench_text   url;
    int          status = -1;

    c.ms          = measure->count >= LONG_FROM ? CONTEND_LONG_MS : CONTEND_MS;
    c.ms          = is_brief ? c.ms / BENCH_BRIEF : c.ms;
    c.many        = is_brief && c.many > BENCH_BRIEF ? BENCH_BRIEF : c.many;
    result.rounds = b->settings.rounds < ROUNDS_MAX ? b->settings.rounds : ROUNDS_MAX;
    if (bench_use_server(b, measure->regime, &url, reterr) < 0 ||
        bench_driver_find_ours(c.program, reterr) < 0 ||
        bench_watch_open(&c.watch, b->server.port, reterr) < 0)
        return -1;
    bench_progress("%s", measure->name);
    if (gather(&c, BENCH_OURS, "bench-many", c.many) < 0)
        (void)failed(&c, reterr);
    else
        status = how(&c, &result, reterr);
    bench_duel_end(&c.arena);
    bench_watch_close(&c.watch);
    if (status == 0)
        *ret_result = result;
    return status;
}

int bench_measure_waiters(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_failure *reterr)
{
    return measure_contest(b, measure, count_hand_overs, ret_result, reterr);
}

int bench_measure_fairness(bench *b, const bench_measure *measure, bench_result *ret_result,
                           bench_failure *reterr)
{
    return measure_contest(b, measure, compare_turns, ret_result, reterr);
}

int bench_measure_commands(bench *b, const bench_measure *measure, bench_result *ret_result,
                           bench_failure *reterr)
{
    return measure_contest(b, measure, count_commands, ret_result, reterr);
}
