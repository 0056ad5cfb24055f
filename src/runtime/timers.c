/*
 * timers.c -- see timers.h.  The parent of index n is n / 2; no parent is later than its children.
 */
#include "runtime/timers.h"

#include <stdlib.h>

bool bwl_timers_reserve(bwl_timers *timers, size_t count)
{
    if (count <= timers->capacity)
        return true;
    size_t      capacity = count < 16 ? 16 : count * 2;
    bwl_timer **heap =
        realloc(timers->heap, (capacity + 1) * sizeof *heap); /* index 0 stays unused */
    if (heap == NULL)
        return false;
    timers->heap     = heap;
    timers->capacity = capacity;
    return true;
}

void bwl_timers_free(bwl_timers *timers)
{
    free(timers->heap);
    *timers = (bwl_timers){ 0 };
}

static void put(bwl_timers *timers, bwl_timer *timer, size_t index)
{
    timers->heap[index] = timer;
    timer->index        = index;
}

static void rise(bwl_timers *timers, bwl_timer *timer)
{
    size_t index = timer->index;

    for (; index > 1 && timers->heap[index / 2]->at > timer->at; index /= 2)
        put(timers, timers->heap[index / 2], index);
    put(timers, timer, index);
}

static void sink(bwl_timers *timers, bwl_timer *timer)
{
    size_t index = timer->index;

    for (;;) {
        size_t child = index * 2;
        if (child < timers->count && timers->heap[child + 1]->at < timers->heap[child]->at)
            child++;
        if (child > timers->count || timers->heap[child]->at >= timer->at)
            break;
        put(timers, timers->heap[child], index);
        index = child;
    }
    put(timers, timer, index);
}

static void take_out(bwl_timers *timers, bwl_timer *timer)
{
    bwl_timer *last = timers->heap[timers->count--];

    if (last != timer) {
        put(timers, last, timer->index);
        rise(timers, last);
        sink(timers, last);
    }
    timer->index = 0;
}

void bwl_timers_set(bwl_timers *timers, bwl_timer *timer, bwl_ms at)
{
    assert(timer->index <= timers->count);
    if (at == BWL_NEVER) {
        if (timer->index != 0)
            take_out(timers, timer);
        timer->at = BWL_NEVER;
        return;
    }
    timer->at = at;
    if (timer->index == 0) {
        assert(timers->count < timers->capacity);
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
