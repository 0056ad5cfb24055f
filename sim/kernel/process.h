/*
 * process.h -- simulated processes: clocks, threads, memory, and how they stop.
 *
 * A process is a program under test: code of the library and of the load, which runs in threads.  A
 * thread is a coroutine (ucontext).  It runs until it blocks, or until it gives the CPU up at a
 * system call; no other code runs meanwhile and no time passes.
 *
 *      RUNNABLE --a while later--> RUNNING --sim_block--> BLOCKED --sim_wake, or time--> RUNNABLE
 *
 * A process that is paused runs no threads; what wakes them meanwhile takes effect when it goes on.
 * A killed process stops where it is: its threads never run again, its memory is freed, and
 * descriptor.h closes its descriptors.
 *
 * Every process has clocks of its own.  `boot` counts suspend, `monotonic` does not, `wall` can be
 * set.  They run at a rate near that of the world.
 */
#pragma once

#include "sim/kernel/schedule.h"

typedef struct sim_process sim_process;
typedef struct sim_thread  sim_thread;

typedef struct sim_clocks {
    int64_t boot_ns; /* at the start of the process */
    int64_t wall_ns; /* since 1970 */
    int32_t rate_ppm;
} sim_clocks;

typedef enum sim_clock {
    SIM_CLOCK_BOOT = 1,
    SIM_CLOCK_MONOTONIC,
    SIM_CLOCK_WALL,
} sim_clock;

/* Processes of a world have the numbers 1, 2, ... */
void sim_processes_begin(void);

/* Starts a process with one thread.  `seed` decides its random numbers and the time that its
 * threads need.  `name` is copied: it is its host name too. */
sim_process *sim_process_start(const char *name, uint64_t seed, sim_clocks clocks,
                               void *(*run)(void *arg), void *arg);

/* Stops it at once, as SIGKILL; nothing happens if it has ended.  Not from its own threads. */
void sim_process_kill(sim_process *process);

/* As SIGSTOP; `suspends`: its monotonic clock stops as well.  Resume is SIGCONT. */
void sim_process_pause(sim_process *process, bool suspends);
void sim_process_resume(sim_process *process);

/* Frees it; it must have ended. */
void sim_process_free(sim_process *process);

bool     sim_process_is_paused(const sim_process *process);
unsigned sim_process_pauses(const sim_process *process); /* so far */

/* All of its threads have returned, or it was killed. */
bool sim_process_has_ended(const sim_process *process);

unsigned    sim_process_number(const sim_process *process); /* from 1: its process id */
const char *sim_process_name(const sim_process *process);
uint64_t    sim_process_draw(sim_process *process);

/* ---- clocks ---------------------------------------------------------------------------------- */

int64_t sim_clock_read(const sim_process *process, sim_clock clock);

/* The world's time at which the clock shows `at`; SIM_NEVER for a clock that stands still. */
int64_t sim_clock_when(const sim_process *process, sim_clock clock, int64_t at);

/* From now on the clocks run at this rate; the wall clock jumps by `step_ns`. */
void sim_clock_change(sim_process *process, int32_t rate_ppm, int64_t step_ns);

/* `changed` is called after the clocks of a process have changed, also by a resume. */
void sim_clock_on_change(void (*changed)(sim_process *process));

/* ---- threads --------------------------------------------------------------------------------- */

/* The running thread and its process; NULL: none, the world itself runs. */
sim_thread  *sim_self(void);
sim_process *sim_self_process(void);

sim_thread *sim_thread_start(sim_process *process, void *(*run)(void *arg), void *arg);
void        sim_thread_detach(sim_thread *thread);
void       *sim_thread_join(sim_thread *thread);

/* The running thread blocks until sim_wake, or until its monotonic clock shows `until`; false: the
 * time has come.  `on` is what it waits for, see sim_wake_all. */
bool sim_block(const void *on, int64_t until);

/* Ends the wait of a thread; a thread that is not blocked is left alone. */
void sim_wake(sim_thread *thread);

/* Ends the wait of threads of this process that are blocked on this.  Returns how many. */
unsigned sim_wake_all(sim_process *process, const void *on);
unsigned sim_wake_one(sim_process *process, const void *on);

/* Ends the waits of all threads of a process: each looks again for what it waits for. */
void sim_process_wake(sim_process *process);

/* The running thread lets time pass, now and then. */
void sim_give_way(void);

/* ---- memory ---------------------------------------------------------------------------------- */

enum { SIM_PAGE = 4096 };

/* Memory of the running process, or, without one, of the world. */
void *sim_heap_take(size_t size);
void *sim_heap_resize(void *block, size_t size);
void  sim_heap_free(void *block);

/* This page of a block is zero in a child of the process; sim_heap_wipe clears them there. */
void sim_heap_wipe_on_fork(void *block, void *page);
void sim_heap_wipe(void);

/* Blocks that the process has and did not free. */
size_t sim_heap_blocks(const sim_process *process);

/* ---- at an end ------------------------------------------------------------------------------- */

/* `ended` is called when a process is killed and when its last thread returns. */
void sim_process_on_end(void (*ended)(sim_process *process));
