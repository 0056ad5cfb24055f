/*
 * memory.h -- the memory of a search: counted, up to a limit.
 *
 * Memory comes from the kernel in whole pages, so freed memory returns at once and the count is
 * exact.  A search that reaches the limit stops and reports it; the program goes on.
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

/* Zeroed; NULL beyond the limit.  Free it with the same size. */
void *bwl_memory_take(bwl_memory *memory, size_t size);
void  bwl_memory_give_back(bwl_memory *memory, void *taken, size_t size);

/* A list of blocks of one size; its contents never move. */
typedef struct bwl_blocks {
    bwl_memory *memory;
    size_t      block_size;
    void      **blocks;
    size_t      count;
    size_t      capacity;
} bwl_blocks;

/* NULL: no memory. */
void *bwl_blocks_add(bwl_blocks *list);
void  bwl_blocks_free(bwl_blocks *list);
