/*
 * trouble.c -- one fault of the servers at a time: see soak.h and topology.h.
 *
 *      WELL --struck--> STRUCK --mended--> MENDED --every lock was held again--> WELL
 *
 * A fault that the plan has for them before all is well, or again before all others, is withheld.
 * Members suffer theirs under one, and not while it is waited for locks to be held.  So after each
 * fault somebody holds each lock again before the next one, or it is said that nobody does.
 */
#include "tests/soak/topology.h"

#include <stdio.h>

enum { PATIENCE_US = 60000000 };

static bool is_of_servers(const soak_lock *lock)
{
    return lock->name[0] != '\0' && strcmp(lock->protocol, "file") != 0;
}

/* Was it taken since, or renewed by whoever is inside? */
static bool is_held_since(const soak_journal *journal, unsigned lock, int64_t since_us)
{
    unsigned inside = atomic_load(&journal->inside[lock]);

    if (atomic_load(&journal->entered_us[lock]) > since_us)
        return true;
    return inside != 0 && journal->visits[inside - 1].until_us >
                              since_us + (int64_t)journal->locks[lock].lease_ms * 1000;
}

bool soak_held_since(const soak_run *run, int64_t since_us)
{
    for (unsigned i = 0; i < SOAK_LOCKS; i++)
        if (is_of_servers(&run->journal->locks[i]) && !is_held_since(run->journal, i, since_us))
            return false;
    return true;
}

int64_t soak_lease_max_us(const soak_run *run)
{
    int64_t max_ms = 0;

    for (unsigned i = 0; i < SOAK_LOCKS; i++)
        if (run->journal->locks[i].lease_ms > max_ms)
            max_ms = run->journal->locks[i].lease_ms;
    return max_ms * 1000;
}

int64_t soak_share(const soak_fault *fault, int64_t whole_ms)
{
    return whole_ms * fault->share / 1000;
}

const char *soak_host_of(const char *url)
{
    return url + sizeof "redis://" - 1;
}

static void begin(soak_trouble *t, soak_phase phase)
{
    t->phase   = phase;
    t->from_us = soak_now_us();
}

/* Each kind has its turn before one of them comes again. */
static bool was_its_turn(const soak_run *run, soak_kind of)
{
    for (unsigned kind = SOAK_NOTHING; kind < SOAK_KINDS_END; kind++)
        if (soak_fault_of_servers((soak_kind)kind) && run->topology->weights[kind] > 0 &&
            run->counts[kind] < run->counts[of])
            return true;
    return false;
}

void soak_trouble_strike(soak_run *run, soak_fault fault)
{
    soak_trouble *t = &run->trouble;

    if (t->phase != SOAK_WELL || was_its_turn(run, fault.kind)) {
        t->withheld++;
        return;
    }
    t->fault    = fault;
    t->nodes    = 0;
    t->stage    = 0;
    t->until_ms = 0;
    t->deed     = soak_begin_deed(run, fault.kind, SOAK_EVERYBODY);
    begin(t, SOAK_STRUCK);
    run->topology->strike(run, t);
}

void soak_trouble_came(soak_run *run, soak_kind kind, int64_t ago_us)
{
    soak_trouble *t = &run->trouble;

    *t = (soak_trouble){ .fault    = { .kind = kind },
                         .deed     = soak_begin_deed(run, kind, SOAK_EVERYBODY),
                         .withheld = t->withheld,
                         .for_ever = t->for_ever };
    run->deeds[t->deed - 1].from_us -= ago_us;
    begin(t, SOAK_STRUCK);
}

static void tell_for_ever(const soak_run *run)
{
    for (unsigned i = 0; i < SOAK_LOCKS; i++)
        if (is_of_servers(&run->journal->locks[i]))
            (void)fprintf(stderr, "soak: %s was last taken %ld ms ago\n",
                          run->journal->locks[i].name,
                          (soak_now_us() - atomic_load(&run->journal->entered_us[i])) / 1000);
}

/* Whatever it waits for does not come. */
static void despair(soak_run *run)
{
    soak_trouble *t = &run->trouble;

    (void)fprintf(stderr, "soak: %s after: %s (stage %u)\n",
                  t->phase == SOAK_STRUCK ? "servers do not come to be well"
                                          : "not every lock is held again",
                  soak_fault_words(t->fault.kind), t->stage);
    tell_for_ever(run);
    t->for_ever++;
    begin(t, t->phase); /* it is told once a while, and waited for all the same */
}

void soak_trouble_step(soak_run *run)
{
    soak_trouble *t = &run->trouble;

    if (t->phase == SOAK_STRUCK && run->topology->mend(run, t)) {
        soak_end_deed(run, t->deed);
        begin(t, SOAK_MENDED);
    } else if (t->phase == SOAK_MENDED && soak_held_since(run, t->from_us)) {
        begin(t, SOAK_WELL);
    }
    if (t->phase != SOAK_WELL && soak_now_us() > t->from_us + PATIENCE_US)
        despair(run);
}
