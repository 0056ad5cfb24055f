/*
 * many_explore.h -- every world with several servers, breadth first, as explore.h does it for
 * those with one.
 */
#ifndef BWL_LAB_SEARCH_MANY_EXPLORE_H
#define BWL_LAB_SEARCH_MANY_EXPLORE_H

#include "lab/world/many.h"

typedef struct bwl_many_finding {
    bool        is_cut; /* there are more states than it was allowed                            */
    unsigned    broken; /* laws                                                                  */
    uint64_t    states;
    uint64_t    locks; /* steps by which somebody got the lock                                   */
    unsigned    depth;
    double      seconds;
    unsigned    path_count;
    bwl_choice *path; /* a shortest way there.  Freed by bwl_many_finding_free.                  */
} bwl_many_finding;

bwl_many_finding bwl_many_explore(const bwl_many_scenario *s, uint32_t states_max);
void             bwl_many_finding_free(bwl_many_finding *finding);

#endif
