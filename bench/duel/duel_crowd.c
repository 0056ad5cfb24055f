/*
 * duel_crowd.c -- many waiters on one name: hand-overs, their cost for the server, fairness; and
 * the cost of waiting.
 *
 * Half of the waiters are in each driver of a couple. Every waiter acquires at least once, however
 * late: figures per second count the given time, figures per hand-over count all.
 */
#include <stdlib.h>

#include "bench/duel/duel.h"
#include "bench/duel/turns.h"

enum {
    CONTEND_MS      = 500,
    CONTEND_LONG_MS = 1000, /* for so many waiters that half a second is too short */
    LONG_FROM       = 500,
    COUNTED_MS      = 200,
    WARM_UP_MS      = 1000,
    IDLE_SETTLE_MS  = 1000,
    IDLE_MS         = 2000,
    CHECK_WAITERS   = 8,
    CHECK_MS        = 100,
    CHECK_HOLD_US   = 1000,
};

int bench_duel_gather(bench_arena *arena, bench_couple *c, unsigned waiters)
{
    bench_text line = bench_text_of("crowd %u", waiters);

    for (unsigned i = 0; i < 2; i++)
        if (bench_driver_ask(&c->drivers[i], line.text, "crowd ", NULL, &arena->why) < 0)
            return -1;
    return 0;
}

int bench_duel_contend(bench_arena *arena, bench_who who, unsigned waiters, const int plan[2],
                       bench_turns_sum *ret_sum)
{
    bench_couple *c      = &arena->couples[who];
    bench_turns   turns  = { .count = 0 };
    int64_t       end_ns = bench_now_ns() + (int64_t)plan[0] * 1000000;
    int           status = -1;

    for (unsigned i = 0; i < 2; i++) {
        bench_text line = bench_text_of("contend %d %d %s", plan[0], plan[1], c->turns[i].text);
        if (bench_driver_tell(&c->drivers[i], line.text, &arena->why) < 0)
            return -1;
    }
    for (unsigned i = 0; i < 2; i++)
        if (bench_driver_hear(&c->drivers[i], "done ", NULL, &arena->why) < 0 ||
            bench_turns_read(&turns, c->turns[i].text, i * waiters / 2, &arena->why) < 0)
            goto out;
    *ret_sum = bench_turns_sum_up(&turns, waiters, end_ns);
    if (ret_sum->overlaps > 0)
        arena->why = bench_text_of("held by two at once, %zu times in %zu turns: not a lock",
                                   ret_sum->overlaps, turns.count);
    status = ret_sum->overlaps > 0 ? -1 : 0;
out:
    bench_turns_free(&turns);
    return status;
}

int bench_duel_check(bench_arena *arena, bench_who who)
{
    bench_turns_sum sum;

    if (bench_duel_gather(arena, &arena->couples[who], CHECK_WAITERS / 2) < 0)
        return -1;
    const int plan[2] = { bench_duel_ms(arena, CHECK_MS), CHECK_HOLD_US };
    return bench_duel_contend(arena, who, CHECK_WAITERS, plan, &sum);
}

/* ---- many ------------------------------------------------------------------------------------ */

static double per(double sum, size_t count)
{
    return sum / (double)(count > 0 ? count : 1);
}

/* One round of one side. */
static int take_round(bench_arena *arena, bench_who who, bench_peer_figures *ret_figures,
                      bench_failure *reterr)
{
    unsigned        waiters = bench_duel_waiters(arena);
    int             ms = bench_duel_ms(arena, waiters >= LONG_FROM ? CONTEND_LONG_MS : CONTEND_MS);
    double          before, after;
    bench_turns_sum sum;

    if (bench_watch_cpu(arena->watch, &before, reterr) < 0)
        return BENCH_BENCH_FAILED;
    if (bench_duel_contend(arena, who, waiters, (int[]){ ms, 0 }, &sum) < 0)
        return BENCH_COUPLE_FAILED;
    if (bench_watch_cpu(arena->watch, &after, reterr) < 0)
        return BENCH_BENCH_FAILED;
    /* Zero may only mean that none happened to arrive. */
    ret_figures->rate = (double)(sum.hand_overs_before > 0 ? sum.hand_overs_before : 1) * 1000 / ms;
    ret_figures->turns     = (double)sum.turns_before * 1000 / ms;
    ret_figures->server_us = per(after - before, sum.hand_overs);
    ret_figures->fairness  = sum.fairness;
    return 0;
}

/* A contest that counts commands and times nothing. */
static int count_commands(bench_arena *arena, bench_who who, double *ret_commands,
                          bench_failure *reterr)
{
    double          commands;
    bench_turns_sum sum;

    if (bench_watch_begin(arena->watch, arena->b->server.port, reterr) < 0)
        return BENCH_BENCH_FAILED;
    const int plan[2] = { bench_duel_ms(arena, COUNTED_MS), 0 };
    int       status  = bench_duel_contend(arena, who, bench_duel_waiters(arena), plan, &sum);
    if (bench_watch_end(arena->watch, &commands, reterr) < 0)
        return BENCH_BENCH_FAILED;
    if (status == 0)
        *ret_commands = per(commands, sum.hand_overs);
    return status;
}

/* The medians of the rounds, field by field. */
static void sum_up(bench_peer_figures *ret_figures, const bench_peer_figures *rounds,
                   unsigned count)
{
    double values[BENCH_PEER_ROUNDS_MAX] = { 0 };

#define MEDIAN(field)                       \
    for (unsigned r_ = 0; r_ < count; r_++) \
        values[r_] = rounds[r_].field;      \
    ret_figures->field = bench_median(values, count)
    MEDIAN(rate);
    MEDIAN(turns);
    MEDIAN(server_us);
    MEDIAN(client_us);
    MEDIAN(fairness);
#undef MEDIAN
}

typedef int (*rounding)(bench_arena *arena, bench_who who, bench_peer_figures *ret_figures,
                        bench_failure *reterr);

static int take_rounds(bench_arena *arena, rounding take, bench_peer_result *result,
                       bench_failure *reterr)
{
    bench_peer_figures figures[BENCH_WHO_COUNT][BENCH_PEER_ROUNDS_MAX] = { 0 };

    for (unsigned r = 0; r < arena->rounds; r++) {
        for (unsigned i = 0; i < BENCH_WHO_COUNT; i++) {
            bench_who who    = (bench_who)((i + r) % 2);
            int       status = take(arena, who, &figures[who][r], reterr);
            if (status < 0)
                return status;
        }
        double theirs     = figures[BENCH_THEIRS][r].rate;
        result->ratios[r] = theirs > 0 ? figures[BENCH_OURS][r].rate / theirs : 1;
    }
    sum_up(&result->ours, figures[BENCH_OURS], arena->rounds);
    sum_up(&result->theirs, figures[BENCH_THEIRS], arena->rounds);
    return 0;
}

int bench_duel_crowd(bench_arena *arena, bench_peer_result *ret_result, bench_failure *reterr)
{
    bench_peer_result   result                 = { .was_measured = true, .rounds = arena->rounds };
    bench_peer_figures *sides[BENCH_WHO_COUNT] = { &result.ours, &result.theirs };
    int                 status                 = 0;

    for (unsigned w = 0; w < BENCH_WHO_COUNT; w++)
        if (bench_duel_gather(arena, &arena->couples[w], bench_duel_waiters(arena) / 2) < 0)
            return BENCH_COUPLE_FAILED;
    /* A warm-up, for programs with a just-in-time compiler. */
    for (unsigned w = 0; w < BENCH_WHO_COUNT; w++) {
        const int       plan[2] = { bench_duel_ms(arena, WARM_UP_MS), 0 };
        bench_turns_sum sum;
        if (bench_duel_contend(arena, (bench_who)w, bench_duel_waiters(arena), plan, &sum) < 0)
            return BENCH_COUPLE_FAILED;
    }
    status = take_rounds(arena, take_round, &result, reterr);
    for (unsigned w = 0; w < BENCH_WHO_COUNT && status == 0; w++)
        status = count_commands(arena, (bench_who)w, &sides[w]->commands, reterr);
    if (status == 0)
        *ret_result = result;
    return status;
}

/* ---- idle ------------------------------------------------------------------------------------ */

/* One driver holds the lock, the crowd of the other waits: its commands and CPU time. */
static int idle(bench_arena *arena, bench_couple *c, bench_peer_figures *ret_figures,
                bench_failure *reterr)
{
    const int ms = bench_duel_ms(arena, IDLE_MS);
    double    commands, server_before, server_after;

    bench_sleep_ms(bench_duel_ms(arena, IDLE_SETTLE_MS));
    if (bench_watch_begin(arena->watch, arena->b->server.port, reterr) < 0 ||
        bench_watch_cpu(arena->watch, &server_before, reterr) < 0)
        return BENCH_BENCH_FAILED;
    double client_before = bench_driver_cpu_us(&c->drivers[1]);
    bench_sleep_ms(ms);
    double client_after = bench_driver_cpu_us(&c->drivers[1]);
    if (bench_watch_cpu(arena->watch, &server_after, reterr) < 0 ||
        bench_watch_end(arena->watch, &commands, reterr) < 0)
        return BENCH_BENCH_FAILED;
    const double seconds = ms / 1000.0;
    /* The two INFO are ours. Zero may only mean that none happened to arrive. */
    double sent            = commands > 3 ? commands - 2 : 1;
    ret_figures->rate      = sent / seconds / bench_duel_waiters(arena);
    ret_figures->server_us = (server_after - server_before) / seconds;
    ret_figures->client_us = (client_after - client_before) / seconds;
    return 0;
}

static int take_idle_round(bench_arena *arena, bench_who who, bench_peer_figures *ret_figures,
                           bench_failure *reterr)
{
    bench_couple *c    = &arena->couples[who];
    bench_text    line = bench_text_of("contend 0 0 %s", c->turns[1].text);

    if (bench_driver_ask(&c->drivers[0], "acquire", "held ", NULL, &arena->why) < 0 ||
        bench_driver_tell(&c->drivers[1], line.text, &arena->why) < 0)
        return BENCH_COUPLE_FAILED;
    int status = idle(arena, c, ret_figures, reterr);
    if (bench_driver_ask(&c->drivers[0], "release", "released ", NULL, &arena->why) < 0 ||
        bench_driver_hear(&c->drivers[1], "done ", NULL, &arena->why) < 0)
        return BENCH_COUPLE_FAILED;
    return status;
}

int bench_duel_idle(bench_arena *arena, bench_peer_result *ret_result, bench_failure *reterr)
{
    bench_peer_result result = { .was_measured = true, .rounds = arena->rounds };

    for (unsigned w = 0; w < BENCH_WHO_COUNT; w++)
        if (bench_driver_ask(&arena->couples[w].drivers[1],
                             bench_text_of("crowd %u", bench_duel_waiters(arena)).text, "crowd ",
                             NULL, &arena->why) < 0)
            return BENCH_COUPLE_FAILED;
    int status = take_rounds(arena, take_idle_round, &result, reterr);
    if (status == 0)
        *ret_result = result;
    return status;
}
