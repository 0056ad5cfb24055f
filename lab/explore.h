/*
 * explore.h -- every world that can come about, once; or many of them at random.
 *
 * Breadth first: all worlds that are one step away, then all that are two steps away.  So the first
 * broken law that is met was reached on a shortest way.  Of the worlds behind us only a fingerprint
 * of 64 bits and the way there are kept (the worlds themselves only of two generations), so two
 * worlds with the same fingerprint count as one: with a million of them, a chance of one in 37
 * million that any was missed.
 *
 * LIVE is judged when every world is known: going backwards from each step by which somebody gets
 * the lock must reach every world.
 */
#ifndef BWL_LAB_EXPLORE_H
#define BWL_LAB_EXPLORE_H

#include "lab/world.h"

typedef enum bwl_verdict {
    BWL_EVERY_STATE = 1, /* every world was visited, and no law is broken in any                 */
    BWL_BUDGET_REACHED,  /* none is broken in those that were visited                            */
    BWL_BROKEN,
} bwl_verdict;

typedef struct bwl_search {
    uint32_t states_max;
    bool plain; /* see canon.h                                                                    */
    uint64_t seed; /* at random only                                                             */
    uint32_t runs; /* at random only                                                             */
} bwl_search;

typedef struct bwl_finding {
    bwl_verdict verdict;
    unsigned    broken; /* BROKEN: laws                                                          */
    uint64_t    states; /* different worlds                                                      */
    uint64_t    steps;  /* choices tried                                                         */
    unsigned    depth;  /* the longest of all shortest ways                                      */
    double      seconds;
    unsigned path_count; /* BROKEN: the way there.  Freed by bwl_finding_free.                   */
    bwl_choice *path;
} bwl_finding;

bwl_finding bwl_explore(const bwl_scenario *s, const bwl_search *search);

/* Random walks; a schedule that breaks a law is shortened as far as leaving out steps does it. */
bwl_finding bwl_wander(const bwl_scenario *s, const bwl_search *search);

void bwl_finding_free(bwl_finding *finding);

/* The laws broken at the end of the path, and at no step before; 0 if it cannot be walked so. */
unsigned bwl_path_breaks(const bwl_scenario *s, const bwl_choice *path, unsigned count);

/* The laws of the scenario that are broken in a world in which `choices` may happen next. */
unsigned bwl_laws_broken_in(const bwl_world *w, const bwl_choices *choices);

#endif
