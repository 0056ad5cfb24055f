/*
 * gaps.c -- for how long nobody had a lock, and under which fault: see soak.h.
 *
 * A time without a holder lies between two visits of a lock.  It is put down to the fault of the
 * servers that began before it was over and after which not every lock had been held again when it
 * began; else to the worst that was done meanwhile to somebody who shares this lock; else to
 * nothing: nobody wanted it.  So is each visit, by when it began.
 *
 * Whoever was killed inside has it no more: what follows is what is left of his lease.
 */
#include "tests/soak/soak.h"

#include <stdio.h>
#include <stdlib.h>

enum { FAULT_MAX_US = 60000000 };

typedef struct row {
    unsigned visits;
    int64_t  longest_us;
    unsigned lock;
} row;

/* For how long others may miss the lock, from the least on. */
static unsigned weight_of(soak_kind kind)
{
    static const soak_kind order[] = { SOAK_HOLD_SHORT, SOAK_STOP_SHORT, SOAK_CUT, SOAK_LATE,
                                       SOAK_HOLD_LONG,  SOAK_STOP_LONG,  SOAK_KILL };

    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++)
        if (order[i] == kind)
            return i + 1;
    return 0;
}

static bool is_about(const soak_run *run, const soak_deed *d, unsigned lock)
{
    if (d->member == SOAK_EVERYBODY)
        return strcmp(run->journal->locks[lock].protocol, "file") != 0;
    return run->journal->cast[d->member].lock == lock;
}

/* Which fault was there at some time between the two? */
static soak_kind fault_between(const soak_run *run, unsigned lock, int64_t from_us, int64_t to_us)
{
    soak_kind kind = SOAK_NOTHING;

    for (size_t i = run->deeds_count; i > 0; i--) {
        const soak_deed *d      = &run->deeds[i - 1];
        int64_t          end_us = d->held_us != 0 ? d->held_us : d->to_us;
        if (d->from_us < from_us - FAULT_MAX_US)
            break;
        if (d->from_us > to_us || end_us < from_us || !is_about(run, d, lock))
            continue;
        if (d->member == SOAK_EVERYBODY)
            return d->kind;
        if (weight_of(d->kind) > weight_of(kind))
            kind = d->kind;
    }
    return kind;
}

static int64_t killed_us(const soak_run *run, const soak_visit *v)
{
    for (size_t i = 0; i < run->deeds_count; i++)
        if (run->deeds[i].kind == SOAK_KILL && run->deeds[i].pid == v->pid)
            return run->deeds[i].from_us;
    return INT64_MAX;
}

/* When he was not inside any more.  A command that is stopped has left nothing behind. */
static int64_t end_of(const soak_run *run, const soak_visit *v)
{
    if (v->left_us != 0)
        return v->left_us;
    int64_t killed = killed_us(run, v);
    return killed != INT64_MAX ? killed : v->until_us != 0 ? v->until_us : v->entered_us;
}

static void measure(const soak_run *run, unsigned lock, row rows[SOAK_KINDS_END])
{
    unsigned count  = atomic_load(&run->journal->visits_count);
    int64_t  end_us = 0;

    for (unsigned i = 0; i < count; i++) {
        const soak_visit *v = &run->journal->visits[i];
        if (v->lock != lock)
            continue;
        rows[fault_between(run, lock, v->entered_us, v->entered_us)].visits++;
        int64_t gap_us = end_us != 0 ? v->entered_us - end_us : 0;
        if (gap_us > 0) {
            row *r = &rows[fault_between(run, lock, end_us, v->entered_us)];
            if (gap_us > r->longest_us)
                *r = (row){ .visits = r->visits, .longest_us = gap_us, .lock = lock };
        }
        int64_t this_us = end_of(run, v);
        if (this_us > end_us)
            end_us = this_us;
    }
}

void soak_tell_gaps(const soak_run *run)
{
    row rows[SOAK_KINDS_END] = { 0 };

    for (unsigned lock = 0; lock < SOAK_LOCKS; lock++)
        if (run->journal->locks[lock].name[0] != '\0')
            measure(run, lock, rows);
    (void)printf("%-46s %8s %8s %28s\n", "fault", "times", "visits", "longest without a holder");
    for (unsigned kind = SOAK_NOTHING; kind < SOAK_KINDS_END; kind++)
        if (kind == SOAK_NOTHING || run->counts[kind] > 0)
            (void)printf("%-46s %8u %8u %18ld ms (%s)\n", soak_fault_words((soak_kind)kind),
                         run->counts[kind], rows[kind].visits, rows[kind].longest_us / 1000,
                         run->journal->locks[rows[kind].lock].name);
}
