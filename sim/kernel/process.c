/*
 * process.c -- see process.h.
 *
 * A thread begins by setcontext.  After that it changes with the world by _setjmp and _longjmp,
 * because swapcontext makes two system calls for the signal mask.  AddressSanitizer knows
 * swapcontext, and no jump to another stack.
 */
#undef _FORTIFY_SOURCE /* it refuses a jump to another stack */

#include "sim/kernel/process.h"

#include "lab/base/dice.h"
#include "lab/base/memory.h"
#include "sim/kernel/fork.h"

#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_SIZE = 256 * 1024, PPM = 1000000, FREED_BYTE = 0xdb };

typedef enum thread_state {
    THREAD_RUNNABLE = 1,
    THREAD_RUNNING,
    THREAD_BLOCKED,
    THREAD_ENDED,
} thread_state;

typedef struct context {
    ucontext_t begin;
#ifndef __SANITIZE_ADDRESS__
    bool    has_begun;
    jmp_buf here;
#endif
} context;

struct sim_thread {
    sim_process *process;
    sim_thread  *next; /* of the process */
    thread_state state;
    context      context;
    void        *stack;
    void *(*run)(void *arg);
    void       *arg;
    void       *result;
    const void *waits_on;
    int64_t     until; /* by the monotonic clock */
    bool        was_woken;
    bool        is_detached;
    sim_event  *event; /* RUNNABLE: it runs; BLOCKED: its time comes */
};

typedef struct block {
    _Alignas(max_align_t) struct block *next; /* and what follows it */
    struct block *previous;
    sim_process  *process;
    size_t        size;
    void         *wiped; /* this page of it is zero in a child; NULL: none */
} block;

struct sim_process {
    unsigned    number;
    char       *name;
    uint64_t    seed;
    sim_thread *threads; /* the oldest first */
    block       blocks;  /* a ring */
    size_t      blocks_count;
    bool        is_paused;
    bool        is_suspended;
    unsigned    pauses;
    bool        has_ended;
    int64_t     read_at; /* world's time at which the clocks showed what follows */
    int64_t     boot_ns;
    int64_t     wall_ns;
    int64_t     monotonic_ns;
    int32_t     rate_ppm;
};

static struct {
    sim_thread *running;
    context     context; /* of the world */
    void       *stacks;  /* unused ones, linked by their first word */
    unsigned    numbers;
    void (*clock_changed)(sim_process *process);
    void (*ended)(sim_process *process);
} processes;

void sim_processes_begin(void)
{
    processes.numbers = 0;
}

sim_thread *sim_self(void)
{
    return processes.running;
}

sim_process *sim_self_process(void)
{
    return processes.running != NULL ? processes.running->process : NULL;
}

unsigned sim_process_number(const sim_process *process)
{
    return process->number;
}

const char *sim_process_name(const sim_process *process)
{
    return process->name;
}

uint64_t sim_process_draw(sim_process *process)
{
    return bwl_dice_draw(&process->seed);
}

bool sim_process_is_paused(const sim_process *process)
{
    return process->is_paused;
}

unsigned sim_process_pauses(const sim_process *process)
{
    return process->pauses;
}

bool sim_process_has_ended(const sim_process *process)
{
    return process->has_ended;
}

void sim_process_on_end(void (*ended)(sim_process *process))
{
    processes.ended = ended;
}

void sim_clock_on_change(void (*changed)(sim_process *process))
{
    processes.clock_changed = changed;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static int64_t elapsed(const sim_process *process)
{
    int64_t world_ns = sim_now() - process->read_at;

    return world_ns + (int64_t)((sim_wide)world_ns * process->rate_ppm / PPM);
}

int64_t sim_clock_read(const sim_process *process, sim_clock clock)
{
    switch (clock) {
    case SIM_CLOCK_BOOT: return process->boot_ns + elapsed(process);
    case SIM_CLOCK_WALL: return process->wall_ns + elapsed(process);
    case SIM_CLOCK_MONOTONIC:
        return process->monotonic_ns + (process->is_suspended ? 0 : elapsed(process));
    }
    abort();
}

int64_t sim_clock_when(const sim_process *process, sim_clock clock, int64_t at)
{
    if (at == SIM_NEVER || (process->is_suspended && clock == SIM_CLOCK_MONOTONIC))
        return SIM_NEVER;
    int64_t left = at - sim_clock_read(process, clock);
    if (left <= 0)
        return sim_now();
    /* Rounded up: the clock must show it. */
    sim_wide world_ns =
        ((sim_wide)left * PPM + PPM + process->rate_ppm - 1) / (PPM + process->rate_ppm);
    sim_wide when = sim_now() + world_ns + 1;
    return when >= SIM_NEVER ? SIM_NEVER : (int64_t)when;
}

/* What the clocks show now becomes their new start. */
static void settle_clocks(sim_process *process)
{
    int64_t passed = elapsed(process);

    process->boot_ns += passed;
    process->wall_ns += passed;
    if (!process->is_suspended)
        process->monotonic_ns += passed;
    process->read_at = sim_now();
}

static void time_is_up(void *arg);

static void set_time_limit(sim_thread *thread)
{
    sim_cancel(&thread->event);
    int64_t at = sim_clock_when(thread->process, SIM_CLOCK_MONOTONIC, thread->until);
    if (at != SIM_NEVER)
        thread->event = sim_at(at, time_is_up, thread);
}

static void clocks_changed(sim_process *process)
{
    for (sim_thread *t = process->threads; t != NULL; t = t->next) {
        if (t->state == THREAD_BLOCKED)
            set_time_limit(t);
    }
    if (processes.clock_changed != NULL)
        processes.clock_changed(process);
}

void sim_clock_change(sim_process *process, int32_t rate_ppm, int64_t step_ns)
{
    settle_clocks(process);
    process->rate_ppm = rate_ppm;
    process->wall_ns += step_ns;
    clocks_changed(process);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *take_stack(void)
{
    void *stack = processes.stacks;

    if (stack != NULL) {
        memcpy(&processes.stacks, stack, sizeof processes.stacks);
        return stack;
    }
    stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(stack != MAP_FAILED);
    return stack;
}

static void give_back_stack(sim_thread *thread)
{
    memcpy(thread->stack, &processes.stacks, sizeof processes.stacks);
    processes.stacks = thread->stack;
    thread->stack    = NULL;
}

/* Waking a thread takes time, and sometimes long: another program has the CPU. */
static int64_t latency(sim_process *process)
{
    uint64_t draw = sim_process_draw(process);

    return (draw & 255) == 0 ? (int64_t)(draw >> 32) % (5 * SIM_MS)
                             : 2 * SIM_US + (int64_t)(draw >> 32) % (40 * SIM_US);
}

/* Returns when another call changes back to `from`. */
static void change(context *from, context *to)
{
#ifdef __SANITIZE_ADDRESS__
    int failed = swapcontext(&from->begin, &to->begin);

    assert(failed == 0);
#else
    from->has_begun = true;
    if (_setjmp(from->here) != 0)
        return;
    if (to->has_begun)
        _longjmp(to->here, 1);
    (void)setcontext(&to->begin); /* does not return: the context is a good one */
    abort();
#endif
}

static void finish(sim_thread *thread);

static void run_thread(void *arg)
{
    sim_thread *thread = arg;

    assert(thread->state == THREAD_RUNNABLE && !thread->process->is_paused);
    thread->event     = NULL;
    thread->state     = THREAD_RUNNING;
    processes.running = thread;
    change(&processes.context, &thread->context);
    processes.running = NULL;
    if (thread->state == THREAD_ENDED)
        finish(thread);
}

static void make_runnable(sim_thread *thread)
{
    sim_cancel(&thread->event);
    thread->state = THREAD_RUNNABLE;
    if (!thread->process->is_paused)
        thread->event = sim_at(sim_now() + latency(thread->process), run_thread, thread);
}

static void time_is_up(void *arg)
{
    sim_thread *thread = arg;

    thread->event     = NULL;
    thread->was_woken = false;
    make_runnable(thread);
}

void sim_wake(sim_thread *thread)
{
    if (thread->state != THREAD_BLOCKED)
        return;
    thread->was_woken = true;
    make_runnable(thread);
}

static unsigned wake(sim_process *process, const void *on, unsigned at_most)
{
    unsigned count = 0;

    for (sim_thread *t = process->threads; t != NULL && count < at_most; t = t->next) {
        if (t->state == THREAD_BLOCKED && t->waits_on == on) {
            sim_wake(t);
            count++;
        }
    }
    return count;
}

unsigned sim_wake_all(sim_process *process, const void *on)
{
    return wake(process, on, UINT32_MAX);
}

unsigned sim_wake_one(sim_process *process, const void *on)
{
    return wake(process, on, 1);
}

void sim_process_wake(sim_process *process)
{
    for (sim_thread *t = process->threads; t != NULL; t = t->next)
        sim_wake(t);
}

static void leave(sim_thread *thread)
{
    change(&thread->context, &processes.context);
}

bool sim_block(const void *on, int64_t until)
{
    sim_thread *thread = processes.running;

    assert(thread != NULL);
    if (sim_is_child())
        sim_child_fail("waits");
    thread->waits_on = on;
    thread->until    = until;
    thread->state    = THREAD_BLOCKED;
    set_time_limit(thread);
    leave(thread);
    thread->waits_on = NULL;
    return thread->was_woken;
}

void sim_give_way(void)
{
    sim_thread *thread = processes.running;

    if (thread == NULL || sim_is_child() || (sim_process_draw(thread->process) & 63) != 0)
        return;
    make_runnable(thread);
    leave(thread);
}

static void begin(unsigned low, unsigned high)
{
    sim_thread *thread = (sim_thread *)((uintptr_t)low | (uintptr_t)high << 32);

    thread->result = thread->run(thread->arg);
    thread->state  = THREAD_ENDED;
    leave(thread);
    abort();
}

sim_thread *sim_thread_start(sim_process *process, void *(*run)(void *arg), void *arg)
{
    sim_thread  *thread = bwl_room_for(1, sizeof *thread);
    sim_thread **last   = &process->threads;
    uintptr_t    number = (uintptr_t)thread;

    if (sim_is_child())
        sim_child_fail("starts a thread");
    thread->process = process;
    thread->run     = run;
    thread->arg     = arg;
    thread->stack   = take_stack();
    int failed      = getcontext(&thread->context.begin);
    assert(failed == 0);
    thread->context.begin.uc_stack.ss_sp   = thread->stack;
    thread->context.begin.uc_stack.ss_size = STACK_SIZE;
    /* makecontext takes only ints. */
    makecontext(&thread->context.begin, (void (*)(void))begin, 2, (unsigned)number,
                (unsigned)(number >> 32));
    while (*last != NULL)
        last = &(*last)->next;
    *last = thread;
    make_runnable(thread);
    return thread;
}

static void free_thread(sim_thread *thread)
{
    sim_thread **link = &thread->process->threads;

    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    sim_cancel(&thread->event);
    if (thread->stack != NULL)
        give_back_stack(thread);
    free(thread);
}

static void end(sim_process *process)
{
    process->has_ended = true;
    if (processes.ended != NULL)
        processes.ended(process);
}

/* A thread has returned. */
static void finish(sim_thread *thread)
{
    sim_process *process = thread->process;

    give_back_stack(thread);
    if (thread->is_detached)
        free_thread(thread);
    else
        (void)sim_wake_all(process, thread);
    for (sim_thread *t = process->threads; t != NULL; t = t->next) {
        if (t->state != THREAD_ENDED)
            return;
    }
    end(process);
}

void sim_thread_detach(sim_thread *thread)
{
    thread->is_detached = true;
    if (thread->state == THREAD_ENDED)
        free_thread(thread);
}

void *sim_thread_join(sim_thread *thread)
{
    while (thread->state != THREAD_ENDED)
        (void)sim_block(thread, SIM_NEVER);
    void *result = thread->result;
    free_thread(thread);
    return result;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void link_block(block *b)
{
    b->next           = b->process->blocks.next;
    b->previous       = &b->process->blocks;
    b->next->previous = b;
    b->previous->next = b;
    b->process->blocks_count++;
}

static void unlink_block(block *b)
{
    b->next->previous = b->previous;
    b->previous->next = b->next;
    b->process->blocks_count--;
}

void *sim_heap_take(size_t size)
{
    block *b = malloc(sizeof *b + size);

    if (b == NULL)
        return NULL;
    *b = (block){ .process = sim_self_process(), .size = size };
    if (b->process != NULL)
        link_block(b);
    return b + 1;
}

void *sim_heap_resize(void *taken, size_t size)
{
    void *larger = sim_heap_take(size);

    if (taken == NULL || larger == NULL)
        return larger;
    block *b = (block *)taken - 1;
    memcpy(larger, taken, b->size < size ? b->size : size);
    sim_heap_free(taken);
    return larger;
}

void sim_heap_free(void *taken)
{
    if (taken == NULL)
        return;
    block *b = (block *)taken - 1;
    if (b->process != NULL)
        unlink_block(b);
    memset(taken, FREED_BYTE, b->size); /* so that a later use of it fails */
    free(b);
}

void sim_heap_wipe_on_fork(void *taken, void *page)
{
    ((block *)taken - 1)->wiped = page;
}

void sim_heap_wipe(void)
{
    const block *ring = &sim_self_process()->blocks;

    for (const block *b = ring->next; b != ring; b = b->next) {
        if (b->wiped != NULL)
            memset(b->wiped, 0, SIM_PAGE);
    }
}

size_t sim_heap_blocks(const sim_process *process)
{
    return process->blocks_count;
}

/* ---- processes ------------------------------------------------------------------------------- */

sim_process *sim_process_start(const char *name, uint64_t seed, sim_clocks clocks,
                               void *(*run)(void *arg), void *arg)
{
    sim_process *process = bwl_room_for(1, sizeof *process);

    assert(clocks.rate_ppm > -PPM && clocks.rate_ppm < PPM);
    process->number          = ++processes.numbers;
    process->name            = strdup(name);
    process->seed            = seed;
    process->read_at         = sim_now();
    process->boot_ns         = clocks.boot_ns;
    process->wall_ns         = clocks.wall_ns;
    process->monotonic_ns    = clocks.boot_ns;
    process->rate_ppm        = clocks.rate_ppm;
    process->blocks.next     = &process->blocks;
    process->blocks.previous = &process->blocks;
    assert(process->name != NULL);
    (void)sim_thread_start(process, run, arg);
    return process;
}

void sim_process_kill(sim_process *process)
{
    assert(sim_self_process() != process);
    if (process->has_ended)
        return;
    while (process->threads != NULL)
        free_thread(process->threads);
    end(process);
    while (process->blocks.next != &process->blocks)
        sim_heap_free(process->blocks.next + 1);
}

void sim_process_pause(sim_process *process, bool suspends)
{
    assert(sim_self_process() != process);
    if (process->is_paused || process->has_ended)
        return;
    settle_clocks(process);
    process->is_paused    = true;
    process->is_suspended = suspends;
    process->pauses++;
    for (sim_thread *t = process->threads; t != NULL; t = t->next) {
        if (t->state == THREAD_RUNNABLE)
            sim_cancel(&t->event);
    }
    clocks_changed(process);
}

void sim_process_resume(sim_process *process)
{
    if (!process->is_paused || process->has_ended)
        return;
    settle_clocks(process);
    process->is_paused    = false;
    process->is_suspended = false;
    for (sim_thread *t = process->threads; t != NULL; t = t->next) {
        if (t->state == THREAD_RUNNABLE)
            make_runnable(t);
    }
    clocks_changed(process);
}

void sim_process_free(sim_process *process)
{
    assert(process->has_ended);
    while (process->threads != NULL)
        free_thread(process->threads);
    while (process->blocks.next != &process->blocks)
        sim_heap_free(process->blocks.next + 1);
    free(process->name);
    free(process);
}
