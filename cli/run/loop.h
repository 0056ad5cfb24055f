/*
 * loop.h -- the one place where bowline sleeps: for a signal, for the store, for the clock.
 *
 * No threads.  The client of the library is driven from here, so a lock is renewed while its
 * command runs.  The clock counts suspend: a machine that wakes up finds the deadline passed.
 */
#ifndef BOWLINE_CLI_RUN_LOOP_H
#define BOWLINE_CLI_RUN_LOOP_H

#include <bowline/async.h>

#include "cli/text/say.h"

typedef struct loop {
    bowline_client *client; /* NULL: none yet                                 */
    int             signal_fd;
    int             timer_fd; /* below 0: none was needed yet                       */
    int             other_fd; /* woken when it is readable or at its end; below 0: none */
} loop;

/* Milliseconds on a clock that counts suspend. */
int64_t loop_now(void);

/* The shorter of two waits, each of which may be BOWLINE_FOREVER. */
int64_t loop_sooner(int64_t a, int64_t b);

void loop_open(loop *ret_loop, bowline_client *client, int signal_fd);

/* Sleeps for at most wait_ms (0, or BOWLINE_FOREVER), then lets the client do what is due. */
void loop_turn(loop *l, int64_t wait_ms);

#endif
