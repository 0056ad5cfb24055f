/*
 * duel_times.c -- pairs and hand-overs of a couple, timed by the drivers.
 *
 * A hand-over begins when one driver calls release, and ends when acquire of the other has
 * returned; both read the same clock. The hold time before it is random, 20 to 220 ms, so that it
 * ends at any moment of the pause of a polling waiter.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/duel/duel.h"
#include "bench/harness/rounds.h"

enum {
    PAIRS           = 200, /* per side and turn; a round has TURNS turns */
    TURNS           = 5,
    WARM_UP_TURNS   = 10, /* for programs with a just-in-time compiler */
    WARM_UP_MS      = 1500,
    WARM_UP_HELD_MS = 5,
    HELD_LEAST_MS   = 20,
    HELD_MORE_MS    = 200,
};

static int add(bench_arena *arena, bench_samples *samples, int64_t ns)
{
    if (!bench_samples_reserve(samples, 1)) {
        arena->why = bench_text_of("out of memory");
        return -1;
    }
    bench_samples_add(samples, ns);
    return 0;
}

static int take_pairs(bench_arena *arena, bench_couple *c, bench_samples *samples)
{
    char *line;

    if (bench_driver_ask(&c->drivers[0], bench_text_of("pair %d", PAIRS).text, "pair ", &line,
                         &arena->why) < 0)
        return -1;
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
        if (samples != NULL && add(arena, samples, strtoll(word, NULL, 10)) < 0)
            return -1;
    return 0;
}

static int pairs(bench_arena *arena, bench_who who, bench_samples *samples)
{
    return take_pairs(arena, &arena->couples[who], samples);
}

/* ---- hand-over ------------------------------------------------------------------------------- */

static void hold_for_a_while(bench_arena *arena)
{
    arena->random = arena->random * 6364136223846793005u + 1442695040888963407u;
    int ms        = HELD_LEAST_MS + (int)((arena->random >> 33) % HELD_MORE_MS);
    bench_sleep_ms(bench_duel_ms(arena, ms));
}

/* The lock goes from the first driver to the second; then they change roles. In the warm-up it is
 * held only until the other waits. */
static int hand_over(bench_arena *arena, bench_couple *c, bool is_warm, int64_t *ret_ns)
{
    bench_driver *holder = &c->drivers[0], *waiter = &c->drivers[1];
    char         *released, *held;

    if (bench_driver_tell(waiter, "acquire", &arena->why) < 0)
        return -1;
    if (is_warm)
        hold_for_a_while(arena);
    else
        bench_sleep_ms(WARM_UP_HELD_MS);
    if (bench_driver_ask(holder, "release", "released ", &released, &arena->why) < 0 ||
        bench_driver_hear(waiter, "held ", &held, &arena->why) < 0)
        return -1;
    *ret_ns             = strtoll(held, NULL, 10) - strtoll(released, NULL, 10);
    bench_driver before = *holder;
    *holder             = *waiter;
    *waiter             = before;
    if (*ret_ns >= 0)
        return 0;
    arena->why = bench_text_of("held by two at once: not a lock");
    return -1;
}

/* A round trip after the same pause. */
static int ping(bench_arena *arena, bench_couple *c, int64_t *ret_ns)
{
    char *took;

    hold_for_a_while(arena);
    if (bench_driver_ask(&c->drivers[0], "ping", "ping ", &took, &arena->why) < 0)
        return -1;
    *ret_ns = strtoll(took, NULL, 10);
    return 0;
}

static int hand_overs(bench_arena *arena, bench_who who, bench_samples *samples)
{
    bench_couple *c       = &arena->couples[who];
    bool          is_warm = samples != NULL;
    int64_t       end_ns  = bench_now_ns() + (int64_t)bench_duel_ms(arena, WARM_UP_MS) * 1000000;
    int64_t       ns;

    if (!c->is_ping && bench_driver_ask(&c->drivers[0], "acquire", "held ", NULL, &arena->why) < 0)
        return -1;
    for (unsigned i = 0; is_warm ? i < arena->samples : bench_now_ns() < end_ns; i++)
        if ((c->is_ping ? ping(arena, c, &ns) : hand_over(arena, c, is_warm, &ns)) < 0 ||
            (is_warm && add(arena, samples, ns) < 0))
            return -1;
    if (c->is_ping)
        return 0;
    return bench_driver_ask(&c->drivers[0], "release", "released ", NULL, &arena->why);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

typedef int (*taking)(bench_arena *arena, bench_who who, bench_samples *samples);

static int take_turns(bench_arena *arena, taking take, unsigned turns, unsigned first,
                      bench_samples samples[BENCH_WHO_COUNT])
{
    for (unsigned i = 0; i < 2 * turns; i++) {
        bench_who who = (bench_who)((i + first) % 2);
        if (take(arena, who, samples != NULL ? &samples[who] : NULL) < 0)
            return -1;
    }
    return 0;
}

int bench_duel_times(bench_arena *arena, bench_peer_result *ret_result, bench_failure *reterr)
{
    bench_peer_result result                   = { .was_measured = true, .rounds = arena->rounds };
    bench_samples     samples[BENCH_WHO_COUNT] = { { 0 } };
    bool              is_pair                  = arena->measure->contest == BENCH_PAIR;
    taking            take                     = is_pair ? pairs : hand_overs;
    int               status                   = BENCH_COUPLE_FAILED;
    unsigned          warm_up = is_pair && !arena->b->settings.is_brief ? WARM_UP_TURNS : 1;

    (void)reterr;
    if (take_turns(arena, take, warm_up, 0, NULL) < 0)
        goto out;
    for (unsigned r = 0; r < arena->rounds; r++) {
        size_t ours = samples[BENCH_OURS].count, theirs = samples[BENCH_THEIRS].count;
        if (take_turns(arena, take, is_pair ? TURNS : 1, r, samples) < 0)
            goto out;
        result.ratios[r] = (double)bench_percentile(&samples[BENCH_OURS], ours, 500) /
                           (double)bench_percentile(&samples[BENCH_THEIRS], theirs, 500);
    }
    result.ours.times   = bench_figures_of(&samples[BENCH_OURS]);
    result.theirs.times = bench_figures_of(&samples[BENCH_THEIRS]);
    result.ratio_p99    = result.ours.times.p99 / result.theirs.times.p99;
    *ret_result         = result;
    status              = 0;
out:
    for (unsigned w = 0; w < BENCH_WHO_COUNT; w++)
        bench_samples_free(&samples[w]);
    return status;
}
