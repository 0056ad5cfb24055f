/*
 * loop.h -- the event loop of bowline: signals, the client, the clock. The only place that sleeps.
 *
 * There are no threads. The loop drives the client, so the lock is renewed while the command runs.
 * The clock counts suspend: after a resume, the deadline has passed.
 */
#pragma once

#include <bowline/async.h>

#include <signal.h>
#include <stdbool.h>

#include "cli/text/say.h"

typedef struct loop {
    bowline_client *client; /* NULL: none */
    int             signal_fd;
    int             timer_fd;   /* below 0: not created yet */
    int64_t         expires_at; /* of the timer, by loop_now(); INT64_MAX: never */
    int             other_fd;   /* wakes the loop when readable or closed; below 0: none */
} loop;

/* Milliseconds on CLOCK_BOOTTIME. */
int64_t loop_now(void);

/* The shorter of two waits, each of which may be BOWLINE_FOREVER. */
int64_t loop_earlier(int64_t a, int64_t b);

void loop_open(loop *ret_loop, bowline_client *client, int signal_fd);

/* Sleeps for at most wait_ms (BOWLINE_FOREVER: no limit; below 1: not at all), and maybe less, then
 * dispatches the client. */
void loop_turn(loop *l, int64_t wait_ms);

/* The same until this time of loop_now(), which may be over: the difference of two times may be
 * BOWLINE_FOREVER.  INT64_MAX: without a limit. */
void loop_turn_until(loop *l, int64_t until);

/* The signals of bowline, and those that its command inherits.
 *
 * Bowline blocks the signals that it handles and reads them from a descriptor in its event loop,
 * never in a handler. A signal that the caller ignores (nohup: HUP; a background job of a shell:
 * INT and QUIT) stays ignored, for bowline and for the command. */
typedef struct signals {
    int              fd;
    sigset_t         mask; /* the present mask of bowline */
    sigset_t         mask_before;
    struct sigaction pipe_before;
    struct sigaction child_before;
} signals;

/* Takes INT TERM HUP QUIT USR1 USR2 CHLD, and blocks TTOU. Until signals_take_stops, TSTP stops
 * bowline as usual. */
int signals_take(signals *ret_signals, failure *reterr);

/* Takes TSTP and CONT too.  After signals_leave_stops, TSTP stops bowline as usual again. */
int  signals_take_stops(signals *s, failure *reterr);
void signals_leave_stops(signals *s);

/* Returns the next signal that has arrived, or 0. *ret_by_terminal: a key was pressed. */
int signals_next(signals *s, bool *ret_by_terminal);

/* Restores handlers and mask for the command, before exec. */
void signals_give_back(const signals *s);

/* Stops bowline as the terminal would, alone or with its process group, and returns true after CONT
 * (at once if CONT has already arrived). Returns false at once if the kernel does not stop an
 * orphaned process group. */
bool signals_stop(signals *s, int number, bool whole_group);

/* Ends bowline by INT with the default action. `whole_group`: sends INT to the process group, if no
 * one else did. */
void signals_die_of_interrupt(bool whole_group);
