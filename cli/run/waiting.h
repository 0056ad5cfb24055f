/*
 * waiting.h -- what people are told while bowline waits for a lock: who has it, since when.
 *
 * On a terminal one line, brought up to date about once a second and erased in the end.  Elsewhere
 * a line after a second, then one a minute: enough for a log, not too much for a mail.
 */
#ifndef BOWLINE_CLI_RUN_WAITING_H
#define BOWLINE_CLI_RUN_WAITING_H

#include <bowline/bowline.h>

#include <stdbool.h>

#include "cli/text/say.h"

typedef struct waiting {
    const char *name;
    bool        is_quiet;
    bool        is_live; /* one line that changes */
    int64_t     next_at;
    size_t      columns; /* of the line that stands there; 0: none does */
} waiting;

void waiting_begin(waiting *ret_waiting, const char *name, bool is_quiet);

/* How long it has nothing to say. */
int64_t waiting_wait_ms(const waiting *w);

/* True when there is something to say. */
bool waiting_is_due(const waiting *w);

/* Says it.  Asks the store, by this client, who holds the lock, and so may take as long as an
 * answer. */
void waiting_say(waiting *w, bowline_client *client);

void waiting_end(waiting *w);

/* "held by deploy@web-2 pid 4121 (pg_dump) for 3m12s".  It is held. */
words waiting_holder(const bowline_holder *holder);

/* "held by deploy@web-2 pid 4121 (pg_dump) for 3m12s", or why that cannot be said. */
words waiting_who(bowline_client *client, const char *name);

#endif
