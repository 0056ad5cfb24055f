/*
 * hold.h -- `bowline hold` and `bowline release`.
 *
 *      bowline hold                     the keeper, its child
 *        fork --------------------------> acquire, in the foreground
 *        wait; pass signals on            listen, print shell text, detach
 *        exit  <------------ one byte --- keep and renew the lock
 *                                         release: bowline release, the end of --for, --max-hold,
 *                                         a signal
 *
 * The keeper opens its client after the fork, because a client does not survive one.
 */
#pragma once

#include "cli/settings/options.h"

/* In NAME_main, argv[0] is the name of the command; it returns the exit code. */
int hold_main(int argc, char **argv);
int release_main(int argc, char **argv);

extern const option_table hold_table;
extern const option_table release_table;
