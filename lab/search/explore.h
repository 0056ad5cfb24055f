/*
 * explore.h -- every world that can come about, once; or many of them at random.
 *
 * Breadth first: all worlds that are one step away, then all that are two steps away.  So the first
 * broken invariant that is met was reached on a shortest way.  Of the worlds behind us only a
 * fingerprint of 64 bits and the way there are kept (the worlds themselves only of two
 * generations), so two worlds with the same fingerprint count as one: with a million of them, a
 * chance of one in 37 million that any was missed.
 *
 * LIVE is judged when every world is known: going backwards from each step by which somebody gets
 * the lock must reach every world.
 */
#ifndef BWL_LAB_SEARCH_EXPLORE_H
#define BWL_LAB_SEARCH_EXPLORE_H

#include "lab/world/world.h"

typedef enum bwl_verdict {
    BWL_EVERY_STATE = 1, /* every world was visited, and no invariant is broken in any */
    BWL_BUDGET_REACHED,  /* none is broken in those that were visited; cut_short says why */
    BWL_BROKEN,
} bwl_verdict;

/* Why a search ended before it had seen everything. */
typedef enum bwl_cut {
    BWL_CUT_STATES = 1, /* states_max */
    BWL_CUT_MEMORY,     /* memory_max */
    BWL_CUT_RUNS,       /* at random: it never sees everything */
} bwl_cut;

/* How far a search has come. */
typedef struct bwl_progress {
    uint64_t states;   /* different worlds met; at random: walks */
    uint64_t steps;    /* transitions tried */
    uint64_t frontier; /* worlds that were met and not yet gone on from */
    unsigned depth;
    double   seconds;
    size_t   memory;     /* bytes */
    size_t   memory_max; /* 0: no bound */
} bwl_progress;

typedef void bwl_on_progress(const bwl_progress *progress, void *arg);

typedef struct bwl_search {
    uint32_t states_max;
    bool     plain; /* see world/canon.h */
    bool
        /* see partial_order.h: fewer worlds, the same verdict, but perhaps a longer path */
                     reduces;
    uint64_t         seed;             /* at random only */
    uint32_t         runs;             /* at random only */
    size_t           memory_max;       /* bytes; 0: no bound */
    double           progress_every_s; /* how often on_progress is called */
    bwl_on_progress *on_progress;      /* NULL: nobody wants to know */
    void            *progress_arg;
} bwl_search;

typedef struct bwl_finding {
    bwl_verdict verdict;
    bwl_cut     cut_short; /* BUDGET_REACHED: why; otherwise 0 */
    unsigned    broken;    /* BROKEN: invariants */
    uint64_t    states;    /* different worlds */
    uint64_t    steps;     /* transitions tried */
    uint64_t    frontier;  /* worlds that were met and not gone on from */
    uint64_t    locks;     /* steps by which somebody got the lock */
    uint64_t    reduced;   /* worlds in which not every transition was tried */
    unsigned    depth;     /* the longest of all shortest ways */
    uint64_t seed; /* at random only: of the last walk, which is the one that broke an invariant */
    double   seconds;
    size_t   memory;          /* bytes, the most that were in use */
    size_t   memory_estimate; /* BUDGET_REACHED: what every state may need; 0: cannot be said */
    unsigned path_count;      /* BROKEN: the way there.  Freed by bwl_finding_free. */
    bwl_transition *path;
} bwl_finding;

/* "every state of the budget was not visited: ..." as half a sentence, for a person. */
const char *bwl_cut_reason(bwl_cut cut);

bwl_finding bwl_explore(const bwl_scenario *s, const bwl_search *search);

/* Random walks; a schedule that breaks an invariant is shortened as far as leaving out steps
 * does it. */
bwl_finding bwl_random_walk(const bwl_scenario *s, const bwl_search *search);

void bwl_finding_free(bwl_finding *finding);

/* The invariants broken at the end of the path, and at no step before; 0 if it cannot be walked
 * so. */
unsigned bwl_path_breaks(const bwl_scenario *s, const bwl_transition *path, unsigned count);

/* The least that must go wrong before an invariant breaks. */
typedef struct bwl_smallest {
    bool            is_found; /* false: the invariant holds for every budget that was tried */
    bool            is_cut;   /* a search was cut short before: a smaller budget may do it too */
    unsigned        faults;   /* the sum of the budget */
    uint8_t         budget[BWL_BUDGETS_COUNT];
    uint64_t        states;     /* visited until it was found, or until all were tried */
    unsigned        path_count; /* a shortest schedule with this budget */
    bwl_transition *path;
} bwl_smallest;

/* For each invariant of the scenario: tries all budgets of 0, 1, 2 ... faults_max faults in all,
 * none larger than the scenario's own.  A budget that is ANY there counts as faults_max.  Every
 * path is freed by bwl_smallest_free. */
void bwl_smallest_budgets(const bwl_scenario *s, const bwl_search *search, unsigned faults_max,
                          bwl_smallest ret_smallest[BWL_INVARIANTS_COUNT]);

void bwl_smallest_free(bwl_smallest smallest[BWL_INVARIANTS_COUNT]);

/* The invariants of the scenario that are broken in a world in which `transitions` may happen
 * next. */
unsigned bwl_invariants_broken_in(const bwl_world *w, const bwl_transitions *transitions);

#endif
