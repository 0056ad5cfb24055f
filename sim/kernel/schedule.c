#include "sim/kernel/schedule.h"

#include "lab/base/memory.h"

#include <assert.h>
#include <stdlib.h>

/* Cancelled events stay in the heap until their time: an index into it would have to be kept up to
 * date at each swap. */
struct sim_event {
    int64_t  at;
    uint64_t number;
    void (*action)(void *arg); /* NULL: cancelled */
    void      *arg;
    sim_event *next_free;
};

static struct {
    int64_t     now;
    sim_event **heap;
    size_t      count;
    size_t      capacity;
    uint64_t    numbers;
    uint64_t    steps;
    uint64_t    trace;
    sim_event  *free_events;
} schedule;

void sim_schedule_begin(void)
{
    assert(schedule.count == 0);
    schedule.now     = 0;
    schedule.numbers = 0;
    schedule.steps   = 0;
    schedule.trace   = UINT64_C(0x9e3779b97f4a7c15);
}

void sim_schedule_end(void)
{
    for (size_t i = 0; i < schedule.count; i++)
        free(schedule.heap[i]);
    while (schedule.free_events != NULL) {
        sim_event *event     = schedule.free_events;
        schedule.free_events = event->next_free;
        free(event);
    }
    free(schedule.heap);
    schedule.heap     = NULL;
    schedule.count    = 0;
    schedule.capacity = 0;
}

int64_t sim_now(void)
{
    return schedule.now;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static bool is_before(const sim_event *a, const sim_event *b)
{
    return a->at < b->at || (a->at == b->at && a->number < b->number);
}

static void sift_up(size_t i)
{
    sim_event *event = schedule.heap[i];

    for (; i > 0 && is_before(event, schedule.heap[(i - 1) / 2]); i = (i - 1) / 2)
        schedule.heap[i] = schedule.heap[(i - 1) / 2];
    schedule.heap[i] = event;
}

static void sift_down(size_t i)
{
    sim_event *event = schedule.heap[i];

    for (size_t child; (child = 2 * i + 1) < schedule.count; i = child) {
        if (child + 1 < schedule.count && is_before(schedule.heap[child + 1], schedule.heap[child]))
            child++;
        if (!is_before(schedule.heap[child], event))
            break;
        schedule.heap[i] = schedule.heap[child];
    }
    schedule.heap[i] = event;
}

static void release(sim_event *event)
{
    event->next_free     = schedule.free_events;
    schedule.free_events = event;
}

static void drop_first(void)
{
    sim_event *first = schedule.heap[0];

    if (--schedule.count > 0) {
        schedule.heap[0] = schedule.heap[schedule.count];
        sift_down(0);
    }
    release(first);
}

/* ---- events ---------------------------------------------------------------------------------- */

sim_event *sim_at(int64_t at, void (*action)(void *arg), void *arg)
{
    sim_event *event = schedule.free_events;

    assert(at >= schedule.now);
    if (event != NULL)
        schedule.free_events = event->next_free;
    else
        event = bwl_room_for(1, sizeof *event);
    *event = (sim_event){ .at = at, .number = schedule.numbers++, .action = action, .arg = arg };
    schedule.heap =
        bwl_grow(schedule.heap, &schedule.capacity, schedule.count, sizeof *schedule.heap);
    schedule.heap[schedule.count++] = event;
    sift_up(schedule.count - 1);
    return event;
}

void sim_cancel(sim_event **event)
{
    if (*event != NULL)
        (*event)->action = NULL;
    *event = NULL;
}

bool sim_step(int64_t until)
{
    while (schedule.count > 0 && schedule.heap[0]->action == NULL)
        drop_first();
    if (schedule.count == 0 || schedule.heap[0]->at > until)
        return false;
    sim_event event = *schedule.heap[0];
    drop_first();
    schedule.now = event.at;
    schedule.steps++;
    sim_trace(1, (uint64_t)event.at, event.number);
    event.action(event.arg);
    return true;
}

/* ---- the trace ------------------------------------------------------------------------------- */

/* Multiply and rotate, as in FxHash and wyhash; it has to detect differences, not attacks. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
    return hash ^ hash >> 28;
}

void sim_trace(unsigned what, uint64_t a, uint64_t b)
{
    schedule.trace = mix(mix(mix(schedule.trace, what), a), b);
}

void sim_trace_bytes(unsigned what, const void *bytes, size_t size)
{
    const unsigned char *at   = bytes;
    uint64_t             hash = mix(schedule.trace, what);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    schedule.trace = mix(hash, size);
}

uint64_t sim_trace_hash(void)
{
    return schedule.trace;
}

uint64_t sim_steps(void)
{
    return schedule.steps;
}
