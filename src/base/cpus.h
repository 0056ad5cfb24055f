/*
 * cpus.h -- the number of CPUs that this process may use: those of its affinity mask, or the limit
 * of its control group (version 2), if that is less.
 */
#pragma once

#include "core/core.h"

/* At least 1.  The first call of a process counts, with the mask of its thread; a later change has
 * no effect.  A forked child keeps it.  Any thread.  May change errno. */
unsigned bwl_cpus_usable(void);

/* The lowest limit of a group and of every group above it, rounded down, at least 1; 0: no limit.
 * `groups` is the text of /proc/self/cgroup, `mount` is the directory of the groups. */
unsigned bwl_cpus_of_groups(const char *groups, const char *mount);
