/*
 * grow.h -- lists that grow, and seconds.  A program that searches until memory ends says so and
 * stops.
 */
#ifndef BWL_LAB_BASE_GROW_H
#define BWL_LAB_BASE_GROW_H

#include <stddef.h>

/* `list`, with room for one more than `count`.  `capacity` is kept up to date.  free() it. */
void *bwl_grow(void *list, size_t *capacity, size_t count, size_t item_size);

/* Zeroed.  free() it. */
void *bwl_room_for(size_t count, size_t item_size);

double bwl_seconds(void);

#endif
