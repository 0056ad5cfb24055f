/*
 * keeper.h -- the process that keeps the lock of `bowline hold`.
 *
 *      acquire --> print --> detach --> keep --> release --> answer --> exit
 *                                        |  ^
 *                                        `--' lost: stays, so that `bowline release` answers 123
 *
 * It ends by `bowline release`, at the end of the process of --for, or by a signal.  --max-hold
 * releases the lock; without --for it then ends, because nothing else would end it.
 */
#pragma once

#include <sys/types.h>

#include "cli/settings/options.h"

/* The whole life of the keeper, a child of `parent`.  Writes one byte to ready_fd when it holds the
 * lock, has printed how to reach it, and has closed its standard streams.  Returns the exit code;
 * for a lock that is not acquired, that of -E. */
int keeper_main(const run_options *options, pid_t parent, int ready_fd);
