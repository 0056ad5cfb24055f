/*
 * queue_state.h -- the waiters in the queue of a lock of protocol queue, as the server shows them.
 */
#pragma once

#include "tests/lib/server.h"
#include "tests/lib/testing.h"

/* Waits, ten seconds at most, until the queue of bowline:{NAME} has this many waiters. */
bool queue_await_size(server *s, const char *name, long count);

/* Waits, ten seconds at most, until a renewal has moved the end of bowline:{NAME}.  False also if
 * the lock has ended. */
bool queue_await_renewal(server *s, const char *name);

/* Waits, ten seconds at most, until no lock has left a key: only the counter of fences and client
 * info may exist.  Prints a key that remains. */
bool queue_await_no_keys(server *s);

/* Returns how often a command was executed, also in scripts; "CONFIG RESETSTAT" resets it. */
long server_command_count(server *s, const char *command);

/* How many scripts it has run: acquires, extensions, releases, heartbeats. */
long scripts_run(server *s);

/* Waits, ten seconds at most, until it has run so many. */
bool server_comes_to_run(server *s, long count);

/* Whether the server has sharded channels (from 7.0 on). */
bool server_has_sharded_channels(server *s);

/* The number of published pushes, as server_command_count. */
long queue_push_count(server *s);

/* Starts to wait, and returns when the waiter is in the queue as the `nth`. */
void queue_await_join(server *s, waiter *w, bowline_client *client, const char *name, long nth);
