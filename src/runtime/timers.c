/*
 * timers.c -- see timers.h.  Parent of place n is n / 2; no parent is later than its children.
 */
#include "runtime/timers.h"

#include <stdlib.h>

bool bwl_timers_reserve(bwl_timers *timers, size_t count)
{
    if (count <= timers->room)
        return true;
    size_t      room = count < 16 ? 16 : count * 2;
    bwl_timer **heap = realloc(timers->heap, (room + 1) * sizeof *heap); /* place 0 stays unused */
    if (heap == NULL)
        return false;
    timers->heap = heap;
    timers->room = room;
    return true;
}

void bwl_timers_free(bwl_timers *timers)
{
    free(timers->heap);
    *timers = (bwl_timers){ 0 };
}

static void put(bwl_timers *timers, bwl_timer *timer, size_t place)
{
    timers->heap[place] = timer;
    timer->place        = place;
}

static void rise(bwl_timers *timers, bwl_timer *timer)
{
    size_t place = timer->place;

    for (; place > 1 && timers->heap[place / 2]->at > timer->at; place /= 2)
        put(timers, timers->heap[place / 2], place);
    put(timers, timer, place);
}

static void sink(bwl_timers *timers, bwl_timer *timer)
{
    size_t place = timer->place;

    for (;;) {
        size_t child = place * 2;
        if (child < timers->count && timers->heap[child + 1]->at < timers->heap[child]->at)
            child++;
        if (child > timers->count || timers->heap[child]->at >= timer->at)
            break;
        put(timers, timers->heap[child], place);
        place = child;
    }
    put(timers, timer, place);
}

static void take_out(bwl_timers *timers, bwl_timer *timer)
{
    bwl_timer *last = timers->heap[timers->count--];

    if (last != timer) {
        put(timers, last, timer->place);
        rise(timers, last);
        sink(timers, last);
    }
    timer->place = 0;
}

void bwl_timers_set(bwl_timers *timers, bwl_timer *timer, bwl_ms at)
{
    assert(timer->place <= timers->count);
    if (at == BWL_NEVER) {
        if (timer->place != 0)
            take_out(timers, timer);
        timer->at = BWL_NEVER;
        return;
    }
    timer->at = at;
    if (timer->place == 0) {
        assert(timers->count < timers->room);
        put(timers, timer, ++timers->count);
    }
    rise(timers, timer);
    sink(timers, timer);
}

bwl_ms bwl_timers_next(const bwl_timers *timers)
{
    return timers->count > 0 ? timers->heap[1]->at : BWL_NEVER;
}

bwl_timer *bwl_timers_take_due(bwl_timers *timers, bwl_ms now)
{
    if (bwl_timers_next(timers) > now)
        return NULL;
    bwl_timer *due = timers->heap[1];
    take_out(timers, due);
    due->at = BWL_NEVER;
    return due;
}
