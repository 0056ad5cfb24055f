/*
 * fork_guard.h -- detects that the process is a forked child.
 *
 * The kernel clears one page in the child of a fork (MADV_WIPEONFORK, Linux 4.14): the check costs
 * a memory read instead of a system call.  A child of vfork shares the page and is not detected: it
 * may only exec or exit anyway.
 */
#pragma once

#include "core/core.h"

#include <pthread.h>

typedef struct bwl_fork_guard {
    volatile uint8_t *page;
} bwl_fork_guard;

/* False: no memory, or the kernel is too old. */
bool bwl_fork_guard_init(bwl_fork_guard *guard);
void bwl_fork_guard_free(bwl_fork_guard *guard);

static inline bool bwl_forked(const bwl_fork_guard *guard)
{
    return *guard->page == 0;
}

/* In a child: whether no thread had this mutex at the time of the fork.  If one had, it does not
 * exist here, and the data that the mutex guards can be neither used nor freed. */
bool bwl_was_at_rest(pthread_mutex_t *mutex);
