/*
 * live.c -- reachability backwards, over all steps that were tried.  See live.h.
 */
#include "lab/live.h"
#include "lab/grow.h"
#include <assert.h>
#include <stdlib.h>

void bwl_live_step(bwl_live *live, uint32_t from, uint32_t to, bool got_lock)
{
    live->edges =
        bwl_grow(live->edges, &live->edges_capacity, live->edges_count, sizeof live->edges[0]);
    live->edges[live->edges_count++] = (bwl_live_edge){ .from = from, .to = to };
    if (!got_lock)
        return;
    live->good = bwl_grow(live->good, &live->good_capacity, live->good_count, sizeof live->good[0]);
    live->good[live->good_count++] = from;
}

static int by_target(const void *a, const void *b)
{
    uint32_t left  = ((const bwl_live_edge *)a)->to;
    uint32_t right = ((const bwl_live_edge *)b)->to;

    return (left > right) - (left < right);
}

/* The first edge that leads to the world; edges are in order of where they lead. */
static size_t first_to(const bwl_live *live, uint32_t number)
{
    size_t low  = 0;
    size_t high = live->edges_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (live->edges[middle].to < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool bwl_live_find_dead(bwl_live *live, uint32_t count, uint32_t *ret_number)
{
    bool     *is_alive    = bwl_room_for(count, sizeof is_alive[0]);
    uint32_t *stack       = bwl_room_for(count, sizeof stack[0]);
    size_t    stack_count = 0;
    uint32_t  dead        = 0;

    if (live->edges_count > 0)
        qsort(live->edges, live->edges_count, sizeof live->edges[0], by_target);
    for (size_t i = 0; i < live->good_count; i++)
        if (!is_alive[live->good[i]]) {
            is_alive[live->good[i]] = true;
            stack[stack_count++]    = live->good[i];
        }
    while (stack_count > 0) {
        uint32_t number = stack[--stack_count];
        for (size_t e = first_to(live, number);
             e < live->edges_count && live->edges[e].to == number; e++)
            if (!is_alive[live->edges[e].from]) {
                is_alive[live->edges[e].from] = true;
                assert(stack_count < count);
                stack[stack_count++] = live->edges[e].from;
            }
    }
    while (dead < count && is_alive[dead])
        dead++;
    free(is_alive);
    free(stack);
    *ret_number = dead;
    return dead < count;
}

void bwl_live_free(bwl_live *live)
{
    free(live->edges);
    free(live->good);
    *live = (bwl_live){ 0 };
}
