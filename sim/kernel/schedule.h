/*
 * schedule.h -- the virtual time of a world, and what happens when.
 *
 * An event is a function that is called at a time.  Events run one after the other, by time, and in
 * the order of their creation when the times are equal.  Nothing else moves the time, so a run
 * depends only on its seed.
 *
 * The trace is a hash of everything that happened: two runs of one seed must have the same one.
 *
 * One world at a time: the simulated system calls (calls.c) have no argument that could name it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In ns.  64 bits wide, so that a product with them does not overflow. */
#define SIM_US    INT64_C(1000)
#define SIM_MS    INT64_C(1000000)
#define SIM_S     INT64_C(1000000000)
#define SIM_NEVER INT64_MAX

/* For products of two times. */
__extension__ typedef __int128 sim_wide;

typedef struct sim_event sim_event;

/* Begins and ends a world.  The time begins at 0. */
void sim_schedule_begin(void);
void sim_schedule_end(void);

/* Nanoseconds since the world began. */
int64_t sim_now(void);

/* Calls action(arg) at the time `at`, which is not before now. The event is freed when it runs. */
sim_event *sim_at(int64_t at, void (*action)(void *arg), void *arg);

/* Cancels *event and sets it to NULL.  NULL is a no-op. */
void sim_cancel(sim_event **event);

/* Runs the next event, if its time is at most `until`; false: there is none. */
bool sim_step(int64_t until);

/* Adds what happened to the trace.  `what` is a number of the caller's choice. */
void sim_trace(unsigned what, uint64_t a, uint64_t b);
void sim_trace_bytes(unsigned what, const void *bytes, size_t size);

uint64_t sim_trace_hash(void);
uint64_t sim_steps(void); /* events so far */
