/*
 * line.h -- the waiters in the queue of a lock of protocol queue, as the server shows them.
 */
#ifndef TEST_LINE_H
#define TEST_LINE_H

#include "tests/lib/server.h"
#include "tests/lib/testing.h"

/* Waits, ten seconds at most, until the queue of bowline:{NAME} has this many waiters. */
bool line_comes_to(server *s, const char *name, long count);

/* Waits, ten seconds at most, until no lock has left a key: only the counter of fences and client
 * info may exist.  Prints a key that remains. */
bool line_leaves_nothing(server *s);

/* How often a command was executed, also in scripts; "CONFIG RESETSTAT" resets it. */
long line_count(server *s, const char *command);

/* Whether the server has sharded channels, as from 7.0 on. */
bool line_has_shards(server *s);

/* The subscribed push channels; and the number of published pushes, as line_count. */
const char *line_channels(server *s);
long        line_told(server *s);

/* Starts to wait, and returns when the waiter is in the queue as the `nth`. */
void line_join(server *s, waiter *w, bowline_client *client, const char *name, long nth);

/* Waits, ten seconds at most, until the push channel of each waiter has a subscriber.  A waiter
 * whose connection ends just when it is granted the lock is skipped, as it should be. */
bool line_can_be_told(server *s, const char *name);

#endif
