/*
 * cpus.h -- the number of CPUs that this process may use: those of its affinity mask, or the limit
 * of its control group (version 2), if that is less.
 */
#pragma once

#include "core/core.h"

/* At least 1.  Counted by the first call of the process, with the mask of the calling thread; a later
 * change has no effect.  A forked child keeps the count.  Any thread.  May change errno. */
unsigned bwl_cpus_usable(void);

/* The lowest limit of a group and of every group above it, rounded down, at least 1; 0: no limit.
 * `groups` is the text of /proc/self/cgroup, `mount` is the directory of the groups. */
unsigned bwl_cpus_of_groups(const char *groups, const char *mount);
