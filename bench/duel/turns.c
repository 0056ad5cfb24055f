/*
 * turns.c -- see turns.h.
 */
#include "bench/duel/turns.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(bench_turns *t, bench_turn turn)
{
    if (t->count == t->room) {
        size_t      room  = t->room * 2 + 1024;
        bench_turn *turns = realloc(t->turns, room * sizeof *turns);
        if (turns == NULL)
            return -1;
        t->turns = turns;
        t->room  = room;
    }
    t->turns[t->count++] = turn;
    return 0;
}

int bench_turns_read(bench_turns *turns, const char *path, unsigned first, bench_text *ret_why)
{
    FILE      *in     = fopen(path, "re");
    int        found  = 0;
    int        status = 0;
    bench_turn turn;

    if (in == NULL) {
        *ret_why = bench_text_of("it did not write its turns: %s", strerror(errno));
        return -1;
    }
    while (status == 0 && (found = fscanf(in, "%u %" SCNd64 " %" SCNd64, &turn.who, &turn.in_ns,
                                          &turn.out_ns)) == 3) {
        turn.who += first;
        status = turn.in_ns <= turn.out_ns ? add(turns, turn) : -1;
    }
    (void)fclose(in);
    if (status == 0 && found == EOF)
        return 0;
    *ret_why = bench_text_of("what it wrote about its turns is no such thing");
    return -1;
}

void bench_turns_free(bench_turns *turns)
{
    free(turns->turns);
    *turns = (bench_turns){ .count = 0 };
}

static int compare(const void *a, const void *b)
{
    const bench_turn *x = a, *y = b;

    return (x->in_ns > y->in_ns) - (x->in_ns < y->in_ns);
}

static void judge(bench_turns_sum *sum, const unsigned *won, unsigned waiters)
{
    sum->fewest = won[0];
    sum->most   = won[0];
    for (unsigned i = 1; i < waiters; i++) {
        sum->fewest = won[i] < sum->fewest ? won[i] : sum->fewest;
        sum->most   = won[i] > sum->most ? won[i] : sum->most;
    }
    sum->fairness = sum->most > 0 ? (double)sum->fewest / sum->most : 0;
}

bench_turns_sum bench_turns_sum_up(bench_turns *turns, unsigned waiters, int64_t end_ns)
{
    unsigned        won[BENCH_WAITERS_MAX] = { 0 };
    bench_turns_sum sum                    = { .overlaps = 0 };
    int64_t         latest_ns              = INT64_MIN;

    assert(waiters >= 1 && waiters <= BENCH_WAITERS_MAX);
    if (turns->count > 0)
        qsort(turns->turns, turns->count, sizeof *turns->turns, compare);
    for (size_t i = 0; i < turns->count; i++) {
        const bench_turn *t        = &turns->turns[i];
        bool              is_other = i > 0 && t->who != turns->turns[i - 1].who;
        bool              is_early = t->in_ns < end_ns;
        sum.overlaps += t->in_ns < latest_ns;
        sum.hand_overs += is_other;
        sum.hand_overs_before += is_other && is_early;
        sum.turns_before += is_early;
        if (is_early && t->who < waiters)
            won[t->who]++;
        latest_ns = t->out_ns > latest_ns ? t->out_ns : latest_ns;
    }
    judge(&sum, won, waiters);
    return sum;
}
