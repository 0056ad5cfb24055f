/*
 * own_wait.h -- how long a run waits when nobody has said so: as long as the protocol or the
 * profile of the URL does, for ever otherwise.
 */
#ifndef BOWLINE_CLI_RUN_OWN_WAIT_H
#define BOWLINE_CLI_RUN_OWN_WAIT_H

#include "cli/settings/config.h"

/* Changes wait_ms if it is the default and the lock of the URL has a wait of its own, as jedis-lock
 * has one of 10 s.  says: writes a line about it to standard error.  A URL that cannot be opened is
 * left to whoever opens it. */
void own_wait_take(settings *s, bool says);

#endif
