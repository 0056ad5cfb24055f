/*
 * cpus.h -- how many CPUs this process may use at once: those of its affinity mask, or as many as
 * its control group (version 2) has time for, if that is less.
 */
#pragma once

#include "core/core.h"

/* At least 1.  The mask is that of the calling thread.  May change errno. */
unsigned bwl_cpus_usable(void);

/* The limit of a group and of every group above it: the least, rounded down, at least 1; 0: there
 * is no limit.  `groups` has the text of /proc/self/cgroup, `mount` is where the groups are. */
unsigned bwl_cpus_of_groups(const char *groups, const char *mount);
