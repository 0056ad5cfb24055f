/*
 * random_walk.c -- random walks, for scenarios with too many worlds.  See explore.h.
 *
 * Walk n has the seed of the search plus n.  A search that starts with the seed of a walk repeats
 * it.
 */
#include "lab/base/dice.h"
#include "lab/search/explore.h"
#include "lab/base/memory.h"
#include <string.h>

enum { STEPS_MAX = 600 };

/* One step in `rarity` is a fault: otherwise the budgets would be spent before a client gets the
 * lock. */
static bwl_transition draw_transition(const bwl_world *w, const bwl_transitions *transitions,
                                      unsigned rarity, uint64_t *seed)
{
    bwl_transitions some;
    bool            want_fault = bwl_dice_draw(seed) % rarity == 0;

    some.count = 0;
    for (unsigned i = 0; i < transitions->count; i++)
        if (bwl_transition_is_fault(w, transitions->list[i]) == want_fault)
            some.list[some.count++] = transitions->list[i];
    if (some.count == 0)
        return transitions->list[bwl_dice_draw(seed) % transitions->count];
    return some.list[bwl_dice_draw(seed) % some.count];
}

/* A walk into found->path, of at most STEPS_MAX steps.  True if it broke an invariant. */
static bool walk(const bwl_scenario *s, uint64_t *seed, bwl_finding *found)
{
    bwl_world       w;
    bwl_transitions transitions;
    unsigned        rarity = 2u << bwl_dice_draw(seed) % 4;

    bwl_world_start(&w, s);
    bwl_world_transitions(&w, &transitions);
    found->path_count = 0;
    while (transitions.count > 0 && found->path_count < STEPS_MAX && found->broken == 0) {
        bwl_transition transition = draw_transition(&w, &transitions, rarity, seed);
        bwl_world_perform(&w, transition);
        found->path[found->path_count++] = transition;
        found->steps++;
        bwl_world_transitions(&w, &transitions);
        found->broken = bwl_invariants_broken_in(&w, &transitions);
    }
    if (found->path_count > found->depth)
        found->depth = found->path_count;
    return found->broken != 0;
}

static bool may_choose(const bwl_transitions *transitions, bwl_transition transition)
{
    for (unsigned i = 0; i < transitions->count; i++) {
        bwl_transition other = transitions->list[i];
        if (other.kind == transition.kind && other.client == transition.client &&
            other.which == transition.which && other.chance == transition.chance)
            return true;
    }
    return false;
}

unsigned bwl_path_breaks(const bwl_scenario *s, const bwl_transition *path, unsigned count)
{
    bwl_world       w;
    bwl_transitions transitions;
    unsigned        broken = 0;

    bwl_world_start(&w, s);
    bwl_world_transitions(&w, &transitions);
    for (unsigned i = 0; i < count; i++) {
        if (broken != 0 || !may_choose(&transitions, path[i]))
            return 0;
        bwl_world_perform(&w, path[i]);
        bwl_world_transitions(&w, &transitions);
        broken = bwl_invariants_broken_in(&w, &transitions);
    }
    return broken;
}

/* Leaves out runs of 1 to 4 steps while the rest still breaks the same invariant. */
static void shorten(const bwl_scenario *s, bwl_finding *found)
{
    enum { RUN_MAX = 4 };
    bwl_transition shorter[STEPS_MAX];
    bool           has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (unsigned size = RUN_MAX; size > 0; size--)
            for (unsigned at = 0; at + size <= found->path_count; at++) {
                unsigned count = found->path_count - size;
                memcpy(shorter, found->path, at * sizeof shorter[0]);
                memcpy(shorter + at, found->path + at + size, (count - at) * sizeof shorter[0]);
                if ((bwl_path_breaks(s, shorter, count) & found->broken) == 0)
                    continue;
                memcpy(found->path, shorter, count * sizeof shorter[0]);
                found->path_count = count;
                has_changed       = true;
            }
    }
    found->broken = bwl_path_breaks(s, found->path, found->path_count);
}

bwl_finding bwl_random_walk(const bwl_scenario *s, const bwl_search *search)
{
    enum { LOOK_EVERY = 256 };
    bwl_finding found     = { .verdict = BWL_BUDGET_REACHED, .cut_short = BWL_CUT_RUNS };
    double      start     = bwl_seconds();
    double      shown     = start;
    bool        is_broken = false;

    found.path = bwl_room_for(STEPS_MAX, sizeof found.path[0]);
    for (uint32_t run = 0; run < search->runs && !is_broken; run++) {
        uint64_t seed = search->seed + run;

        found.seed = seed;
        is_broken  = walk(s, &seed, &found);
        found.states++;
        if (run % LOOK_EVERY == 0)
            bwl_search_tell(search, start, &shown,
                            (bwl_progress){ .states = found.states,
                                            .steps  = found.steps,
                                            .depth  = found.depth });
    }
    if (is_broken) {
        found.verdict   = BWL_BROKEN;
        found.cut_short = 0;
        shorten(s, &found);
    }
    found.seconds = bwl_seconds() - start;
    return found;
}
