/*
 * calm_run.c -- one run in which nothing goes wrong.  See explore.h.
 */
#include "lab/base/memory.h"
#include "lab/search/explore.h"

enum { STEPS_MAX = 200 };

/* What happens first, if several things may: messages are fast, every client asks for the lock
 * before its holder releases it, and time passes last. */
static const uint8_t order[] = {
    BWL_TRANSITION_SERVE, BWL_TRANSITION_DELIVER, BWL_TRANSITION_ALARM,
    BWL_TRANSITION_START, BWL_TRANSITION_RELEASE, BWL_TRANSITION_PASS
};

/* False: there is none. */
static bool choose(const bwl_world *w, const bwl_transitions *from, bwl_transition *ret_transition)
{
    for (size_t k = 0; k < sizeof order; k++)
        for (unsigned i = 0; i < from->count; i++)
            if (from->list[i].kind == order[k] && from->list[i].which == 0 &&
                !bwl_transition_is_fault(w, from->list[i])) {
                *ret_transition = from->list[i];
                return true;
            }
    return false;
}

bwl_transition *bwl_calm_run(const bwl_scenario *s, unsigned *ret_count)
{
    bwl_transition *path = bwl_room_for(STEPS_MAX, sizeof *path);
    bwl_transitions transitions;
    bwl_world       w;

    *ret_count = 0;
    bwl_world_start(&w, s);
    bwl_world_transitions(&w, &transitions);
    while (*ret_count < STEPS_MAX && choose(&w, &transitions, &path[*ret_count])) {
        bwl_world_perform(&w, path[*ret_count]);
        (*ret_count)++;
        bwl_world_transitions(&w, &transitions);
    }
    return path;
}
