/*
 * waiting.h -- the message while bowline waits for a lock: who holds it, and for how long.
 *
 * On a terminal it is one line, updated about once a second and erased at the end.  Elsewhere it is
 * a line after one second, then one line a minute: enough for a log, not too much for a mail.
 */
#pragma once

#include <bowline/bowline.h>

#include <stdbool.h>

#include "cli/text/say.h"

typedef struct waiting {
    const char *name;
    bool        is_quiet;
    bool        is_live; /* one line that is updated */
    int64_t     next_at;
    size_t      columns; /* width of the present line; 0: none */
} waiting;

void waiting_begin(waiting *ret_waiting, const char *name, bool is_quiet);

int64_t waiting_wait_ms(const waiting *w);

bool waiting_is_due(const waiting *w);

/* Writes the message.  Queries the holder, so it may block for a reply. */
void waiting_say(waiting *w, bowline_client *client);

void waiting_end(waiting *w);

/* "held by deploy@web-2 pid 4121 (pg_dump) for 3m12s".  It is held. */
words waiting_holder(const bowline_holder *holder);

/* "held by deploy@web-2 pid 4121 (pg_dump) for 3m12s", or why the holder is unknown. */
words waiting_who(bowline_client *client, const char *name);
