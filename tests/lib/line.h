/*
 * line.h -- the line of those who wait for a lock of protocol queue, as the server shows it.
 */
#ifndef TEST_LINE_H
#define TEST_LINE_H

#include "tests/lib/server.h"
#include "tests/lib/testing.h"

/* Waits, ten seconds at most, until so many stand in line for bowline:{NAME}. */
bool line_comes_to(server *s, const char *name, long count);

/* Waits, ten seconds at most, until nothing is left of any lock: there are no keys but the count of
 * fences, and who the clients are.  If there is another one still, says which. */
bool line_leaves_nothing(server *s);

/* How often a command was carried out, scripts' own included; "CONFIG RESETSTAT" begins anew. */
long line_count(server *s, const char *command);

/* Has it channels by shard, as servers have from 7.0 on?  Else those of all. */
bool line_has_shards(server *s);

/* The inboxes that somebody listens to; and how often one was told something, as line_count. */
const char *line_channels(server *s);
long        line_told(server *s);

/* Starts to wait, and returns when it stands in line as the `nth`. */
void line_join(server *s, waiter *w, bowline_client *client, const char *name, long nth);

/* Waits, ten seconds at most, until whoever stands in line can be told: a connection listens to the
 * inbox of each.  One whose connection ends at the very moment when it is served is passed over,
 * and that is as it should be. */
bool line_can_be_told(server *s, const char *name);

#endif
