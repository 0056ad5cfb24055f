/*
 * fork_guard.h -- are we still in the process that made this?
 *
 * One page that the kernel clears in the child of a fork (MADV_WIPEONFORK, Linux 4.14): asking
 * costs one read instead of a system call.  A child of vfork shares the page and is not told apart:
 * it may do nothing but exec or exit anyway.
 */
#pragma once

#include "core/core.h"

#include <pthread.h>

typedef struct bwl_fork_guard {
    volatile uint8_t *page;
} bwl_fork_guard;

/* False if there is no memory, or the kernel is too old. */
bool bwl_fork_guard_init(bwl_fork_guard *guard);
void bwl_fork_guard_free(bwl_fork_guard *guard);

static inline bool bwl_forked(const bwl_fork_guard *guard)
{
    return *guard->page == 0;
}

/* In a child: did nobody have this mutex when we forked?  Whoever had it is not here to finish what
 * he was changing, and what it guards can be neither used nor freed. */
bool bwl_was_at_rest(pthread_mutex_t *mutex);
