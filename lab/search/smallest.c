/*
 * smallest.c -- the smallest budget that breaks each invariant.  See explore.h.
 *
 * Budgets are tried by their total number of faults, so the first that breaks an invariant is a
 * smallest one.  Each search checks only the invariants that are not broken yet, and a search that
 * breaks one is followed by another for the rest.
 */
#include "lab/search/explore.h"
#include "lab/base/memory.h"
#include <stdlib.h>
#include <string.h>

typedef struct quest {
    bwl_scenario      scenario; /* with the current budget */
    const bwl_search *search;
    bwl_smallest     *smallest;
    uint8_t           most[BWL_BUDGETS_COUNT];
    unsigned          open; /* invariants not broken yet */
    bool              is_cut;
    uint64_t          states;
} quest;

static void note_broken(quest *q, bwl_finding *found, unsigned invariant, unsigned faults)
{
    bwl_smallest *s = &q->smallest[invariant];

    s->is_found = true;
    s->is_cut   = q->is_cut;
    s->faults   = faults;
    s->states   = q->states;
    memcpy(s->budget, q->scenario.budget, sizeof s->budget);
    s->path_count = found->path_count;
    s->path       = bwl_room_for(found->path_count + 1u, sizeof s->path[0]);
    memcpy(s->path, found->path, found->path_count * sizeof s->path[0]);
}

static void try_budget(quest *q, unsigned faults)
{
    bool is_broken = true;

    while (q->open != 0 && is_broken) {
        bwl_finding found;

        q->scenario.invariants = q->open;
        found                  = bwl_explore(&q->scenario, q->search);
        is_broken              = found.verdict == BWL_BROKEN;
        q->states += found.states;
        for (unsigned invariant = 0; is_broken && invariant < BWL_INVARIANTS_COUNT; invariant++)
            if ((found.broken >> invariant & 1) != 0)
                note_broken(q, &found, invariant, faults);
        q->open &= ~found.broken;
        q->is_cut = q->is_cut || found.verdict == BWL_BUDGET_REACHED;
        bwl_finding_free(&found);
    }
}

/* Distributes `left` faults over the budgets from `first` on, in every way. */
static void hand_out(quest *q, unsigned first, unsigned left, unsigned faults)
{
    unsigned most;

    if (left == 0) {
        try_budget(q, faults);
        return;
    }
    if (first == BWL_BUDGETS_COUNT)
        return;
    most = q->most[first] < left ? q->most[first] : left;
    for (unsigned share = 0; share <= most; share++) {
        q->scenario.budget[first] = (uint8_t)share;
        hand_out(q, first + 1, left - share, faults);
    }
    q->scenario.budget[first] = 0;
}

void bwl_smallest_budgets(const bwl_scenario *s, const bwl_search *search, unsigned faults_max,
                          bwl_smallest ret_smallest[BWL_INVARIANTS_COUNT])
{
    quest q = { .scenario = *s, .search = search, .smallest = ret_smallest, .open = s->invariants };

    assert(faults_max < BWL_ANY);
    for (unsigned invariant = 0; invariant < BWL_INVARIANTS_COUNT; invariant++)
        ret_smallest[invariant] = (bwl_smallest){ 0 };
    for (unsigned i = 0; i < BWL_BUDGETS_COUNT; i++)
        q.most[i] = s->budget[i] < faults_max ? s->budget[i] : (uint8_t)faults_max;
    memset(q.scenario.budget, 0, sizeof q.scenario.budget);
    for (unsigned faults = 0; faults <= faults_max && q.open != 0; faults++)
        hand_out(&q, BWL_BUDGET_NONE + 1, faults, faults);
    for (unsigned invariant = 0; invariant < BWL_INVARIANTS_COUNT; invariant++)
        if (!ret_smallest[invariant].is_found) {
            ret_smallest[invariant].is_cut = q.is_cut;
            ret_smallest[invariant].states = q.states;
        }
}

void bwl_smallest_free(bwl_smallest smallest[BWL_INVARIANTS_COUNT])
{
    for (unsigned invariant = 0; invariant < BWL_INVARIANTS_COUNT; invariant++) {
        free(smallest[invariant].path);
        smallest[invariant] = (bwl_smallest){ 0 };
    }
}
