/*
 * queue_lock.h -- the lock of one Redis server that keeps a queue of waiters.
 */
#pragma once

#include "core/core.h"

extern const bwl_protocol bwl_queue;

/* The same lock, held only when as many replicas have it as the lock request says. */
extern const bwl_protocol bwl_synced_queue;
