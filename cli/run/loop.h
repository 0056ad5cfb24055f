/*
 * loop.h -- the event loop of bowline: signals, the client, the clock. The only place that sleeps.
 *
 * There are no threads. The loop drives the client, so the lock is renewed while the command runs.
 * The clock counts suspend: after a resume, the deadline has passed.
 */
#pragma once

#include <bowline/async.h>

#include "cli/text/say.h"

typedef struct loop {
    bowline_client *client; /* NULL: none */
    int             signal_fd;
    int             timer_fd; /* below 0: not created yet */
    int             other_fd; /* wakes the loop when readable or closed; below 0: none */
} loop;

/* Milliseconds on CLOCK_BOOTTIME. */
int64_t loop_now(void);

/* The shorter of two waits, each of which may be BOWLINE_FOREVER. */
int64_t loop_earlier(int64_t a, int64_t b);

void loop_open(loop *ret_loop, bowline_client *client, int signal_fd);

/* Sleeps for at most wait_ms (0 or BOWLINE_FOREVER are allowed), then dispatches the client. */
void loop_turn(loop *l, int64_t wait_ms);
