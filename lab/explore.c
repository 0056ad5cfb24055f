/*
 * explore.c -- breadth first.  See explore.h.
 */
#include "lab/explore.h"
#include "lab/canon.h"
#include "lab/grow.h"
#include "lab/live.h"
#include "lab/seen.h"
#include <stdlib.h>

#define NOBODY UINT32_MAX

/* How a world was first reached. */
typedef struct origin {
    uint32_t   parent;
    bwl_choice choice;
} origin;

typedef struct entry {
    uint32_t  number;
    bwl_world world;
} entry;

/* The worlds that are the same number of steps away. */
typedef struct generation {
    entry *entries;
    size_t count;
    size_t capacity;
} generation;

typedef struct explorer {
    const bwl_scenario *scenario;
    const bwl_search   *search;
    bwl_seen            seen;
    origin             *origins;
    size_t              origins_capacity;
    generation          present;
    generation          next;
    bwl_live            live;
    bwl_finding         found;
} explorer;

unsigned bwl_laws_broken_in(const bwl_world *w, const bwl_choices *choices)
{
    unsigned broken = bwl_world_broken_laws(w);

    if (choices->count == 0 && !bwl_world_ended_clean(w))
        broken |= BWL_LAW_CLEAN_END;
    return broken & w->scenario->laws;
}

/* ---- the way there --------------------------------------------------------------------------- */

static void remember_path(explorer *x, uint32_t number)
{
    unsigned count = 0;

    for (uint32_t at = number; x->origins[at].parent != NOBODY; at = x->origins[at].parent)
        count++;
    x->found.path       = bwl_room_for(count + 1u, sizeof x->found.path[0]);
    x->found.path_count = count;
    for (uint32_t at = number; x->origins[at].parent != NOBODY; at = x->origins[at].parent)
        x->found.path[--count] = x->origins[at].choice;
}

static void found_broken(explorer *x, uint32_t number, unsigned broken)
{
    x->found.verdict = BWL_BROKEN;
    x->found.broken  = broken;
    remember_path(x, number);
}

/* ---- one generation after the other ---------------------------------------------------------- */

/* True if this world is new. */
static bool meet(explorer *x, const bwl_world *w, origin from, uint32_t *ret_number)
{
    uint64_t fingerprint = bwl_world_fingerprint(w, x->search->plain);

    if (!bwl_seen_add(&x->seen, fingerprint, ret_number))
        return false;
    x->origins = bwl_grow(x->origins, &x->origins_capacity, *ret_number, sizeof x->origins[0]);
    x->origins[*ret_number] = from;
    return true;
}

static entry *add_entry(generation *g)
{
    g->entries = bwl_grow(g->entries, &g->capacity, g->count, sizeof g->entries[0]);
    return &g->entries[g->count++];
}

/* Tries one choice.  The new world, if it is new, goes to the next generation. */
static void try_choice(explorer *x, const entry *from, bwl_choice choice)
{
    entry   *to = add_entry(&x->next);
    bool     is_new;
    unsigned broken;

    to->world = from->world;
    bwl_world_perform(&to->world, choice);
    x->found.steps++;
    is_new = meet(x, &to->world, (origin){ from->number, choice }, &to->number);
    broken = bwl_world_broken_laws(&to->world) & x->scenario->laws;
    if (broken != 0) {
        if (!is_new) { /* the step broke it, not where it led */
            x->origins =
                bwl_grow(x->origins, &x->origins_capacity, x->seen.count, sizeof x->origins[0]);
            x->origins[x->seen.count] = (origin){ from->number, choice };
            to->number                = x->seen.count;
        }
        found_broken(x, to->number, broken);
        return;
    }
    if ((x->scenario->laws & BWL_LAW_LIVE) != 0)
        bwl_live_step(&x->live, from->number, to->number, to->world.got_lock);
    if (!is_new)
        x->next.count--;
}

static void expand(explorer *x, const entry *from)
{
    bwl_choices choices;
    unsigned    broken;

    bwl_world_choices(&from->world, &choices);
    broken = bwl_laws_broken_in(&from->world, &choices) & BWL_LAW_CLEAN_END;
    if (broken != 0)
        found_broken(x, from->number, broken);
    for (unsigned i = 0; i < choices.count && x->found.verdict == 0; i++)
        try_choice(x, from, choices.list[i]);
}

static void swap_generations(explorer *x)
{
    generation past = x->present;

    x->present    = x->next;
    x->next       = past;
    x->next.count = 0;
}

static void judge_live(explorer *x)
{
    uint32_t number;

    if ((x->scenario->laws & BWL_LAW_LIVE) != 0 &&
        bwl_live_find_dead(&x->live, x->seen.count, &number))
        found_broken(x, number, BWL_LAW_LIVE);
}

static void cut_short(explorer *x, bwl_cut why)
{
    x->found.verdict   = BWL_BUDGET_REACHED;
    x->found.cut_short = why;
}

static void search(explorer *x)
{
    entry *first = add_entry(&x->next);

    bwl_world_start(&first->world, x->scenario);
    (void)meet(x, &first->world, (origin){ .parent = NOBODY }, &first->number);
    while (x->next.count > 0 && x->found.verdict == 0) {
        swap_generations(x);
        for (size_t i = 0; i < x->present.count && x->found.verdict == 0; i++) {
            expand(x, &x->present.entries[i]);
            if (x->found.verdict == 0 && x->seen.count >= x->search->states_max)
                cut_short(x, BWL_CUT_STATES);
        }
        x->found.depth += x->next.count > 0;
    }
    if (x->found.verdict == 0)
        judge_live(x);
    if (x->found.verdict == 0)
        x->found.verdict = BWL_EVERY_STATE;
}

bwl_finding bwl_explore(const bwl_scenario *s, const bwl_search *settings)
{
    explorer x     = { .scenario = s, .search = settings };
    double   start = bwl_seconds();

    assert(bwl_canon_knows_token());
    search(&x);
    x.found.states  = x.seen.count;
    x.found.seconds = bwl_seconds() - start;
    bwl_seen_free(&x.seen);
    bwl_live_free(&x.live);
    free(x.origins);
    free(x.present.entries);
    free(x.next.entries);
    return x.found;
}

const char *bwl_cut_reason(bwl_cut cut)
{
    switch (cut) {
    case BWL_CUT_STATES: return "there are more states than it was allowed to visit";
    case BWL_CUT_MEMORY: return "there are more states than fit into the memory it was allowed";
    case BWL_CUT_RUNS: return "walks at random do not see everything";
    }
    bwl_unreachable("no such reason");
}

void bwl_finding_free(bwl_finding *finding)
{
    free(finding->path);
    *finding = (bwl_finding){ 0 };
}
