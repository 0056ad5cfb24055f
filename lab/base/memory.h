/*
 * memory.h -- memory that may not be missing, and the counted memory of a search; a clock in
 * seconds.
 *
 * Counted memory comes from the kernel in whole pages: freed memory returns at once, and the count
 * is exact.  A search that reaches its limit stops and reports it; the program goes on.  For other
 * memory, the program ends with a message when it runs out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Zero it before use, except for `max`. */
typedef struct bwl_memory {
    size_t used;
    size_t most; /* the peak */
    size_t max;  /* 0: no limit */
} bwl_memory;

/* Enlarges what was taken with `size`, which may move; NULL, 0: takes it.  The new part is zeroed.
 * NULL beyond the limit: then the old memory stays. */
void *bwl_memory_grow(bwl_memory *memory, void *taken, size_t size, size_t larger);

static inline void *bwl_memory_take(bwl_memory *memory, size_t size)
{
    return bwl_memory_grow(memory, NULL, 0, size);
}

/* `size`: as taken, or as last enlarged. */
void bwl_memory_give_back(bwl_memory *memory, void *taken, size_t size);

/* Makes room for one more element than `count` and updates `capacity`.  The caller frees the
 * list. */
void *bwl_grow(void *list, size_t *capacity, size_t count, size_t item_size);

/* Zeroed.  The caller frees it. */
void *bwl_room_for(size_t count, size_t item_size);

double bwl_seconds(void);
