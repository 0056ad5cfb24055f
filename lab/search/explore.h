/*
 * explore.h -- visits every reachable world once, or many at random.
 *
 * The search is breadth first, so it finds a broken invariant on a shortest path.  Of a visited
 * world it keeps a 64-bit fingerprint and the path (whole worlds only of two generations). Two
 * worlds with the same fingerprint count as one: with a million worlds, the chance of a missed one
 * is 1 in 37 million.
 *
 * LIVE is checked when all worlds are known: going back from every step that grants the lock must
 * reach every world.
 */
#pragma once

#include "lab/world/world.h"

typedef enum bwl_verdict {
    BWL_EVERY_STATE = 1, /* all worlds visited, no invariant broken */
    BWL_BUDGET_REACHED,  /* none broken so far; see cut_short */
    BWL_BROKEN,
} bwl_verdict;

typedef enum bwl_cut {
    BWL_CUT_STATES = 1, /* states_max */
    BWL_CUT_MEMORY,     /* memory_max */
    BWL_CUT_RUNS,       /* random walks are never complete */
} bwl_cut;

typedef struct bwl_progress {
    uint64_t states;   /* distinct worlds; at random: walks */
    uint64_t steps;    /* transitions tried */
    uint64_t frontier; /* worlds not yet expanded */
    unsigned depth;
    double   seconds;
    size_t   memory;     /* bytes */
    size_t   memory_max; /* 0: no limit */
} bwl_progress;

typedef void bwl_on_progress(const bwl_progress *progress, void *arg);

typedef struct bwl_search {
    uint32_t         states_max;
    bool             plain;            /* see world/world.h */
    uint64_t         seed;             /* at random only */
    uint32_t         runs;             /* at random only */
    size_t           memory_max;       /* bytes; 0: no limit */
    double           progress_every_s; /* interval of on_progress */
    bwl_on_progress *on_progress;      /* may be NULL */
    void            *progress_arg;
} bwl_search;

typedef struct bwl_finding {
    bwl_verdict     verdict;
    bwl_cut         cut_short; /* BUDGET_REACHED: why; otherwise 0 */
    unsigned        broken;    /* BROKEN: invariants */
    uint64_t        states;    /* distinct worlds */
    uint64_t        steps;     /* transitions tried */
    uint64_t        frontier;  /* worlds not expanded */
    uint64_t        locks;     /* steps that grant the lock */
    unsigned        depth;     /* the longest shortest path */
    uint64_t        seed;      /* at random only: the seed of the last walk */
    double          seconds;
    size_t          memory;          /* peak, in bytes */
    size_t          memory_estimate; /* BUDGET_REACHED: an estimate for all states; 0: none */
    unsigned        path_count;      /* BROKEN: the path.  Freed by bwl_finding_free. */
    bwl_transition *path;
} bwl_finding;

const char *bwl_cut_reason(bwl_cut cut);

bwl_finding bwl_explore(const bwl_scenario *s, const bwl_search *search);

/* Random walks.  A schedule that breaks an invariant is shrunk by leaving out steps. */
bwl_finding bwl_random_walk(const bwl_scenario *s, const bwl_search *search);

void bwl_finding_free(bwl_finding *finding);

/* A run without faults: each client asks for the lock while another one has it.  At most 200 steps.
 * The caller frees the path. */
bwl_transition *bwl_calm_run(const bwl_scenario *s, unsigned *ret_count);

/* The invariants that the path breaks at its end and not before; 0 if it is not a path. */
unsigned bwl_path_breaks(const bwl_scenario *s, const bwl_transition *path, unsigned count);

typedef struct bwl_smallest {
    bool            is_found; /* false: it holds for every budget tried */
    bool            is_cut;   /* a search was incomplete: a smaller budget may do */
    unsigned        faults;   /* the sum of the budget */
    uint8_t         budget[BWL_BUDGETS_COUNT];
    uint64_t        states;     /* visited in all searches */
    unsigned        path_count; /* a shortest schedule with this budget */
    bwl_transition *path;
} bwl_smallest;

/* For each invariant of the scenario: tries all budgets of 0, 1, 2 ... faults_max faults, up to
 * the scenario's own.  ANY counts as faults_max.  Freed by bwl_smallest_free. */
void bwl_smallest_budgets(const bwl_scenario *s, const bwl_search *search, unsigned faults_max,
                          bwl_smallest ret_smallest[BWL_INVARIANTS_COUNT]);

void bwl_smallest_free(bwl_smallest smallest[BWL_INVARIANTS_COUNT]);

/* The invariants of the scenario that are broken in a world with these transitions. */
unsigned bwl_invariants_broken_in(const bwl_world *w, const bwl_transitions *transitions);

/* Calls on_progress, if it is time to. */
void bwl_search_tell(const bwl_search *search, double started_s, double *shown_s,
                     bwl_progress progress);

/* The memory that an interrupted search would need.  `generations`: the numbers of worlds at
 * distances 0, 1, ... `last`, of which the last is incomplete.  `memory` bytes were enough for
 * `states`.  0: no estimate, because the growth does not slow down yet. */
size_t bwl_estimate_memory(const uint64_t *generations, unsigned last, uint64_t states,
                           size_t memory);
