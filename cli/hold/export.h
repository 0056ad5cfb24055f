/*
 * export.h -- `bowline hold --ticket FILE`: acquires the lock, and passes it on as a file.
 */
#pragma once

#include "cli/settings/options.h"

/* Returns the exit code; for a lock that is not acquired, that of -E. */
int export_main(const run_options *options);
