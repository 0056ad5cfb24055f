/*
 * explore.c -- breadth first; and the smallest budget that breaks each invariant.  See explore.h.
 */
#include "lab/search/explore.h"
#include "lab/world/world.h"
#include "lab/base/lang.h"
#include "lab/base/memory.h"
#include "lab/search/store.h"
#include <stdlib.h>
#include <string.h>

enum { GENERATIONS_MAX = 2048, LOOK_EVERY = 1024 };

/* ---- the memory that an interrupted search would need ---------------------------------------- */

/* With budgets, the number of worlds at depth n grows, peaks and falls to zero: the ratio of two
 * generations falls nearly linearly. The estimate extends the trend of the last generations. */

enum { OVER = 8, GENERATIONS_AHEAD = 10000 };

static const double steady_max = 0.98;

size_t bwl_estimate_memory(const uint64_t *generations, unsigned last, uint64_t states,
                           size_t memory)
{
    double factor;
    double before;
    double fall;
    double size;
    double all = 0;

    if (last < OVER + 3)
        return 0;
    for (unsigned i = last - OVER - 2; i < last; i++)
        if (generations[i] == 0)
            return 0;
    size   = (double)generations[last - 1];
    factor = size / (double)generations[last - 2];
    before = (double)generations[last - OVER - 1] / (double)generations[last - OVER - 2];
    fall   = (before - factor) / OVER;
    if (fall <= 0) { /* the fall is nearly linear */
        if (factor > steady_max)
            return 0;
        fall = 0;
    }
    for (unsigned i = 0; i < last; i++)
        all += (double)generations[i];
    for (unsigned i = 0; i < GENERATIONS_AHEAD && size >= 1; i++) {
        factor = factor > fall ? factor - fall : 0;
        size *= factor;
        all += size;
    }
    return (size_t)((double)memory * all / (double)states);
}

/* ---- the search ------------------------------------------------------------------------------ */

/* A transition that is performed and not looked up yet. */
typedef struct step {
    bwl_world      to;
    bwl_transition transition;
    unsigned       broken;
    uint64_t       fingerprint;
} step;

typedef struct explorer {
    const bwl_scenario *scenario;
    const bwl_search   *search;
    double              started_s;
    double              shown_s; /* time of the last progress report */
    bwl_memory          memory;
    bwl_seen            seen;
    bwl_frontier        frontier;
    bwl_live            live;
    bool                is_live; /* keeps steps for invariants that are checked backwards */
    uint32_t            number;  /* the current world */
    bwl_world           from;
    step                steps[2];
    bwl_finding         found;
    uint64_t            generations[GENERATIONS_MAX]; /* worlds per depth */
} explorer;

unsigned bwl_invariants_broken_in(const bwl_world *w, const bwl_transitions *transitions)
{
    unsigned broken = bwl_world_broken_invariants(w);

    if (transitions->count == 0 && !bwl_world_ended_clean(w))
        broken |= BWL_INVARIANT_CLEAN_END;
    return broken & w->scenario->invariants;
}

/* The path to a world, plus `last` if it is not NULL. */
static void found_broken(explorer *x, uint32_t number, const bwl_transition *last, unsigned broken)
{
    unsigned count = 0;

    for (uint32_t at = number; at != 0; at = bwl_seen_at(&x->seen, at)->parent)
        count++;
    x->found.verdict    = BWL_BROKEN;
    x->found.broken     = broken;
    x->found.path       = bwl_room_for(count + 2u, sizeof x->found.path[0]);
    x->found.path_count = count;
    if (last != NULL)
        x->found.path[x->found.path_count++] = *last;
    for (uint32_t at = number; at != 0; at = bwl_seen_at(&x->seen, at)->parent)
        x->found.path[--count] = bwl_seen_at(&x->seen, at)->transition;
}

static void cut_short(explorer *x, bwl_cut why)
{
    x->found.verdict   = BWL_BUDGET_REACHED;
    x->found.cut_short = why;
}

static bool has_ended(const explorer *x)
{
    return x->found.verdict != 0;
}

/* Records a reached world and queues it if it is new. */
static uint32_t reach(explorer *x, uint32_t parent, const step *s)
{
    bwl_seen_world world = {
        .fingerprint = s->fingerprint,
        .parent      = parent,
        .transition  = s->transition,
    };
    uint32_t  number = 0;
    bwl_visit visit  = bwl_seen_add(&x->seen, &world, &number);

    if (visit == BWL_VISIT_NO_ROOM ||
        (visit == BWL_VISIT_NEW && !bwl_frontier_put(&x->frontier, &s->to)))
        cut_short(x, BWL_CUT_MEMORY);
    return number;
}

static void carry_out(explorer *x, bwl_transition transition, step *s)
{
    bwl_world_copy(&s->to, &x->from, &x->frontier.layout);
    bwl_world_perform(&s->to, transition);
    s->transition = transition;
    s->broken     = bwl_world_broken_invariants(&s->to) & x->scenario->invariants;
    if (s->broken != 0)
        return;
    s->fingerprint = bwl_world_fingerprint(&s->to, x->search->plain);
    bwl_seen_prepare(&x->seen, s->fingerprint);
}

static void look_up(explorer *x, const step *s)
{
    uint32_t number;

    x->found.steps++;
    x->found.locks += s->to.got_lock;
    if (s->broken != 0) {
        found_broken(x, x->number, &s->transition, s->broken);
        return;
    }
    number = reach(x, x->number, s);
    if (x->is_live && !has_ended(x) &&
        !bwl_live_step(&x->live, number, s->to.got_lock ? BWL_GOOD_LOCK : 0))
        cut_short(x, BWL_CUT_MEMORY);
}

/* Looks each one up after the next one is performed: by then the prefetched memory has arrived. */
static void try_transitions(explorer *x, const bwl_transitions *transitions)
{
    const step *last = NULL;

    for (unsigned i = 0; i < transitions->count && !has_ended(x); i++) {
        carry_out(x, transitions->list[i], &x->steps[i % 2]);
        if (last != NULL)
            look_up(x, last);
        last = &x->steps[i % 2];
    }
    if (last != NULL && !has_ended(x))
        look_up(x, last);
}

/* Expands the world in x->from. */
static void expand(explorer *x)
{
    bwl_transitions transitions;
    unsigned        broken;
    bool            is_quiet = true;

    for (unsigned i = 0; i < x->scenario->clients; i++)
        is_quiet = is_quiet && !x->from.clients[i].is_running;
    bwl_world_transitions(&x->from, &transitions);
    broken = bwl_invariants_broken_in(&x->from, &transitions) & BWL_INVARIANT_CLEAN_END;
    if (broken != 0)
        found_broken(x, x->number, NULL, broken);
    try_transitions(x, &transitions);
    if (x->is_live && !has_ended(x) && !bwl_live_end(&x->live, is_quiet ? BWL_GOOD_QUIET : 0))
        cut_short(x, BWL_CUT_MEMORY);
}

static void judge(explorer *x, unsigned invariant, uint32_t good)
{
    uint32_t number = 0;

    if (has_ended(x) || (x->scenario->invariants & invariant) == 0)
        return;
    switch (bwl_live_find_dead(&x->live, good, &number)) {
    case BWL_FATE_GOOD: break;
    case BWL_FATE_DEAD: found_broken(x, number, NULL, invariant); break;
    case BWL_FATE_NO_MEMORY: cut_short(x, BWL_CUT_MEMORY); break;
    }
}

void bwl_search_tell(const bwl_search *search, double started_s, double *shown_s,
                     bwl_progress progress)
{
    double now = bwl_seconds();

    if (search->on_progress == NULL || now - *shown_s < search->progress_every_s)
        return;
    *shown_s         = now;
    progress.seconds = now - started_s;
    search->on_progress(&progress, search->progress_arg);
}

static void tell_progress(explorer *x)
{
    bwl_search_tell(x->search, x->started_s, &x->shown_s,
                    (bwl_progress){
                        .states     = x->seen.count,
                        .steps      = x->found.steps,
                        .frontier   = x->frontier.count,
                        .depth      = x->found.depth,
                        .memory     = x->memory.used,
                        .memory_max = x->memory.max,
                    });
}

static void note_generation(explorer *x, uint64_t count)
{
    if (x->found.depth < GENERATIONS_MAX)
        x->generations[x->found.depth] = count;
}

static void search(explorer *x)
{
    step    *first           = &x->steps[0];
    uint32_t next_generation = 1;

    bwl_world_start(&first->to, x->scenario);
    first->fingerprint = bwl_world_fingerprint(&first->to, x->search->plain);
    (void)reach(x, BWL_NOBODY, first);
    note_generation(x, 1);
    for (x->number = 0; x->frontier.count > 0 && !has_ended(x); x->number++) {
        if (x->number == next_generation) {
            next_generation = x->seen.count;
            x->found.depth++;
            note_generation(x, x->seen.count - x->number);
        }
        bwl_frontier_take(&x->frontier, &x->from);
        expand(x);
        if (!has_ended(x) && x->seen.count >= x->search->states_max)
            cut_short(x, BWL_CUT_STATES);
        if (x->number % LOOK_EVERY == 0)
            tell_progress(x);
    }
    judge(x, BWL_INVARIANT_LIVE, BWL_GOOD_LOCK);
    judge(x, BWL_INVARIANT_ENDS, BWL_GOOD_QUIET);
    if (!has_ended(x))
        x->found.verdict = BWL_EVERY_STATE;
}

bwl_finding bwl_explore(const bwl_scenario *s, const bwl_search *settings)
{
    explorer   *x = bwl_room_for(1, sizeof *x);
    bwl_finding found;

    x->scenario   = s;
    x->search     = settings;
    x->started_s  = bwl_seconds();
    x->shown_s    = x->started_s;
    x->memory.max = settings->memory_max;
    x->is_live    = (s->invariants & BWL_INVARIANTS_BACKWARDS) != 0;
    bwl_seen_start(&x->seen, &x->memory);
    bwl_frontier_start(&x->frontier, &x->memory, s);
    bwl_live_start(&x->live, &x->memory);
    search(x);
    x->found.states   = x->seen.count;
    x->found.frontier = x->frontier.count;
    x->found.memory   = x->memory.most;
    x->found.seconds  = bwl_seconds() - x->started_s;
    if (x->found.verdict == BWL_BUDGET_REACHED && x->found.depth < GENERATIONS_MAX)
        x->found.memory_estimate =
            bwl_estimate_memory(x->generations, x->found.depth, x->seen.count, x->memory.most);
    bwl_frontier_free(&x->frontier);
    bwl_seen_free(&x->seen);
    bwl_live_free(&x->live);
    found = x->found;
    free(x);
    return found;
}

const char *bwl_cut_reason(bwl_cut cut)
{
    switch (cut) {
    case BWL_CUT_STATES: return bwl_tr("there are more states than it was allowed to visit");
    case BWL_CUT_MEMORY:
        return bwl_tr("there are more states than fit into the memory it was allowed");
    case BWL_CUT_RUNS: return bwl_tr("walks at random do not see everything");
    }
    bwl_unreachable("no such reason");
}

void bwl_finding_free(bwl_finding *finding)
{
    free(finding->path);
    *finding = (bwl_finding){ 0 };
}

/* ---- the smallest budget that breaks each invariant ------------------------------------------ */

/* Budgets are tried by their total number of faults, so the first that breaks an invariant is a
 * smallest one.  Each search checks only the invariants that are not broken yet, and a search that
 * breaks one is followed by another for the rest. */

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
static void assign(quest *q, unsigned first, unsigned left, unsigned faults)
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
        assign(q, first + 1, left - share, faults);
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
        assign(&q, BWL_BUDGET_NONE + 1, faults, faults);
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
