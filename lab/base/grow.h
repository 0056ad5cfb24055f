/*
 * grow.h -- growing lists, and a clock in seconds.  The program ends with a message when memory
 * runs out.
 */
#pragma once

#include <stddef.h>

/* Makes room for one more element than `count` and updates `capacity`.  The caller frees the
 * list. */
void *bwl_grow(void *list, size_t *capacity, size_t count, size_t item_size);

/* Zeroed.  The caller frees it. */
void *bwl_room_for(size_t count, size_t item_size);

double bwl_seconds(void);
