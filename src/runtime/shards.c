/*
 * shards.c -- see shards.h.
 */
#include "runtime/shards.h"
#include "base/clock.h"

#include <string.h>

/* A meeting is a number: how many, and in the lowest byte the lane. */
enum { ONE_MORE = 1u << 8, LANE_OF = ONE_MORE - 1 };

void bwl_lanes_init(bwl_lanes *lanes, bwl_client *first)
{
    /* Without a keeper, whoever is inside a call drives what all have; but only in his own lane. */
    bool may_share = first->host.engine->share != NULL && first->host.settings.keeps;

    for (unsigned i = 0; i < BWL_LANES_MAX; i++)
        atomic_init(&lanes->lanes[i], i == 0 ? first : NULL);
    for (unsigned i = 0; i < BWL_MEETINGS; i++)
        atomic_init(&lanes->meetings[i], 0);
    atomic_init(&lanes->usable, may_share ? BWL_LANES_MAX : 1);
    (void)pthread_mutex_init(&lanes->opening, NULL); /* of the default kind: cannot fail */
}

void bwl_lanes_close(bwl_lanes *lanes)
{
    for (unsigned i = BWL_LANES_MAX; i-- > 0;) {
        bwl_client *lane = atomic_load(&lanes->lanes[i]);
        if (lane != NULL)
            bwl_client_close(lane);
    }
    (void)pthread_mutex_destroy(&lanes->opening);
}

void bwl_lanes_keep_to_first(bwl_lanes *lanes)
{
    if (atomic_load_explicit(&lanes->usable, memory_order_relaxed) == 1)
        return;
    (void)pthread_mutex_lock(&lanes->opening);
    atomic_store_explicit(&lanes->usable, 1, memory_order_relaxed);
    (void)pthread_mutex_unlock(&lanes->opening);
}

/* How many are inside matters only where another lane can be chosen.  A count that others read is
 * as dear as half a mutex. */
static bool is_counted(const bwl_client *lane)
{
    return lane->host.engine->share != NULL;
}

void bwl_lane_enter(bwl_client *lane)
{
    if (!is_counted(lane))
        return;
    (void)atomic_fetch_add_explicit(&lane->callers, 1, memory_order_relaxed);
}

void bwl_lane_leave(bwl_client *lane)
{
    if (!is_counted(lane))
        return;
    unsigned before = atomic_fetch_sub_explicit(&lane->callers, 1, memory_order_relaxed);

    assert(before > 0);
    (void)before;
}

/* Those that work are better than one that is empty and may stay without a connection. */
static bool is_lame(bwl_client *lane)
{
    return !atomic_load_explicit(&lane->stands, memory_order_relaxed) &&
           bwl_clock_now() < atomic_load_explicit(&lane->lame_until, memory_order_relaxed);
}

static bool takes_empty(bwl_client *lane)
{
    unsigned nobody = 0;

    return atomic_load_explicit(&lane->callers, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong(&lane->callers, &nobody, 1);
}

/* One more, and in it; NULL if another call has opened it meanwhile, or there is no memory. */
static bwl_client *open_lane(bwl_lanes *lanes, unsigned place)
{
    bwl_client *lane = NULL;

    (void)pthread_mutex_lock(&lanes->opening);
    if (place < atomic_load(&lanes->usable) && atomic_load(&lanes->lanes[place]) == NULL &&
        bwl_client_share(&lane, atomic_load(&lanes->lanes[0])) == BWL_OK) {
        bwl_lane_enter(lane);
        atomic_store_explicit(&lanes->lanes[place], lane, memory_order_release);
    }
    (void)pthread_mutex_unlock(&lanes->opening);
    return lane;
}

bwl_client *bwl_lanes_enter(bwl_lanes *lanes)
{
    unsigned    usable = atomic_load_explicit(&lanes->usable, memory_order_relaxed);
    bwl_client *open[BWL_LANES_MAX];
    unsigned    count = 0;

    if (usable == 1) {
        bwl_client *only = atomic_load_explicit(&lanes->lanes[0], memory_order_relaxed);
        bwl_lane_enter(only);
        return only;
    }
    for (; count < usable; count++) {
        open[count] = atomic_load_explicit(&lanes->lanes[count], memory_order_acquire);
        if (open[count] == NULL)
            break;
        if ((count == 0 || !is_lame(open[count])) && takes_empty(open[count]))
            return open[count];
    }
    bwl_client *fresh = count < usable ? open_lane(lanes, count) : NULL;
    if (fresh != NULL)
        return fresh;
    bwl_client *lane = open[0];
    for (unsigned i = 1; i < count && i < BWL_LANES_SHARED; i++)
        if (!is_lame(open[i]) && atomic_load(&open[i]->callers) < atomic_load(&lane->callers))
            lane = open[i];
    bwl_lane_enter(lane);
    return lane;
}

/* ---- meeting --------------------------------------------------------------------------------- */

static unsigned number_of(bwl_lanes *lanes, const bwl_client *lane)
{
    unsigned i = 0;

    while (atomic_load_explicit(&lanes->lanes[i], memory_order_relaxed) != lane)
        i++;
    assert(i < BWL_LANES_MAX);
    return i;
}

bwl_client *bwl_lanes_meet(bwl_lanes *lanes, const char *name, atomic_uint **ret_meeting)
{
    uint32_t     hash   = bwl_name_hash(name, strnlen(name, BWL_NAME_MAX));
    atomic_uint *m      = &lanes->meetings[hash % BWL_MEETINGS];
    unsigned     seen   = atomic_load_explicit(m, memory_order_relaxed);
    bwl_client  *chosen = NULL;

    if (atomic_load_explicit(&lanes->usable, memory_order_relaxed) == 1)
        return bwl_lanes_enter(lanes); /* all meet there */
    for (;;) {
        bool     others = seen >= ONE_MORE;
        unsigned wanted = seen + ONE_MORE;
        if (!others) {
            chosen = chosen != NULL ? chosen : bwl_lanes_enter(lanes);
            wanted = ONE_MORE | number_of(lanes, chosen);
        }
        if (!atomic_compare_exchange_weak(m, &seen, wanted))
            continue;
        *ret_meeting = m;
        if (!others)
            return chosen;
        if (chosen != NULL)
            bwl_lane_leave(chosen);
        bwl_client *lane =
            atomic_load_explicit(&lanes->lanes[wanted & LANE_OF], memory_order_acquire);
        bwl_lane_enter(lane);
        return lane;
    }
}

void bwl_lanes_meet_first(atomic_uint *meeting)
{
    if (meeting != NULL)
        (void)atomic_fetch_and(meeting, ~(unsigned)LANE_OF);
}

void bwl_lanes_part(atomic_uint *meeting)
{
    if (meeting == NULL)
        return;
    unsigned before = atomic_fetch_sub(meeting, ONE_MORE);

    assert(before >= ONE_MORE);
    (void)before;
}
