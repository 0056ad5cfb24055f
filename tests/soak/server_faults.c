/*
 * server_faults.c -- one fault of the servers at a time: see soak.h and topology.h.
 *
 * HEALTHY --fault--> FAULTY --repaired--> REPAIRED --each lock was held again--> HEALTHY
 *
 * A fault of the plan that comes before HEALTHY, or again before all other kinds, is skipped.
 * Faults of members are injected in the phase FAULTY too, but not in REPAIRED. So after each fault
 * each lock is held again before the next fault, or the run reports that it is not.
 */
#include "tests/soak/topology.h"

#include <stdio.h>

enum { PATIENCE_US = 60000000 };

static bool is_of_servers(const soak_lock *lock)
{
    return lock->name[0] != '\0' && strcmp(lock->protocol, "file") != 0;
}

/* Whether it was acquired since, or renewed by its holder. */
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

int64_t soak_share(const soak_fault *fault, int64_t whole_ms)
{
    return whole_ms * fault->share / 1000;
}

const char *soak_host_of(const char *url)
{
    return url + sizeof "redis://" - 1;
}

static void begin(soak_server_fault *t, soak_phase phase)
{
    t->phase   = phase;
    t->from_us = soak_now_us();
}

/* Whether this kind was injected more often than another one. */
static bool ran_more_often(const soak_run *run, soak_kind of)
{
    for (unsigned kind = SOAK_NOTHING; kind < SOAK_KINDS_END; kind++)
        if (soak_fault_of_servers((soak_kind)kind) && run->topology->weights[kind] > 0 &&
            run->counts[kind] < run->counts[of])
            return true;
    return false;
}

void soak_server_fault_begin(soak_run *run, soak_fault fault)
{
    soak_server_fault *t = &run->server_fault;

    if (t->phase != SOAK_HEALTHY || ran_more_often(run, fault.kind)) {
        t->skipped++;
        return;
    }
    t->fault    = fault;
    t->nodes    = 0;
    t->stage    = 0;
    t->until_ms = 0;
    t->action   = soak_begin_action(run, fault.kind, SOAK_ALL_MEMBERS);
    begin(t, SOAK_FAULTY);
    run->topology->inject(run, t);
}

void soak_server_fault_found(soak_run *run, soak_kind kind, int64_t since_us)
{
    soak_server_fault *t      = &run->server_fault;
    size_t             action = soak_begin_action(run, kind, SOAK_ALL_MEMBERS);

    run->actions[action - 1].from_us = since_us;

    *t = (soak_server_fault){
        .fault = { .kind = kind }, .action = action, .skipped = t->skipped, .stuck = t->stuck
    };
    begin(t, SOAK_FAULTY);
}

void soak_server_fault_replaces(soak_run *run, uint32_t old_servers, uint32_t new_servers)
{
    soak_action *action = &run->actions[run->server_fault.action - 1];

    action->old_servers = old_servers;
    action->new_servers = new_servers;
}

static void report_locks(const soak_run *run)
{
    for (unsigned i = 0; i < SOAK_LOCKS; i++)
        if (is_of_servers(&run->journal->locks[i]))
            (void)fprintf(stderr, "soak: %s was last acquired %ld ms ago\n",
                          run->journal->locks[i].name,
                          (soak_now_us() - atomic_load(&run->journal->entered_us[i])) / 1000);
}

/* Reports a repair that does not end. */
static void report_stuck(soak_run *run)
{
    soak_server_fault *t = &run->server_fault;

    (void)fprintf(stderr, "soak: %s after: %s (stage %u)\n",
                  t->phase == SOAK_FAULTY ? "the servers are not repaired"
                                          : "not each lock is held again",
                  soak_fault_description(t->fault.kind), t->stage);
    report_locks(run);
    t->stuck++;
    begin(t, t->phase); /* reported again after the same time */
}

/* Ends the action of this fault, and those of the faults that another one has replaced. */
static void end_actions(soak_run *run)
{
    for (size_t i = 0; i < run->actions_count; i++)
        if (run->actions[i].member == SOAK_ALL_MEMBERS && run->actions[i].to_us == INT64_MAX)
            soak_end_action(run, i + 1);
}

void soak_server_fault_step(soak_run *run)
{
    soak_server_fault *t = &run->server_fault;

    if (t->phase == SOAK_FAULTY && run->topology->repair(run, t)) {
        end_actions(run);
        begin(t, SOAK_REPAIRED);
    } else if (t->phase == SOAK_REPAIRED && soak_held_since(run, t->from_us)) {
        begin(t, SOAK_HEALTHY);
    }
    if (t->phase != SOAK_HEALTHY && soak_now_us() > t->from_us + PATIENCE_US)
        report_stuck(run);
}
