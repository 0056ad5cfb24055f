/*
 * memory.h -- what a search may use: counted, and never more than it was allowed.
 *
 * Straight from the kernel, in whole pages: what is given back is gone at once, and what is counted
 * is what is used.  A search that is refused says so and stops; it does not end the program.
 */
#ifndef BWL_LAB_BASE_MEMORY_H
#define BWL_LAB_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Zero it before use, but for `max`. */
typedef struct bwl_memory {
    size_t used;
    size_t most; /* that was ever in use at once */
    size_t max;  /* 0: no bound */
} bwl_memory;

/* Zeroed; NULL if that would be too much.  Given back with the same size. */
void *bwl_memory_take(bwl_memory *memory, size_t size);
void  bwl_memory_give_back(bwl_memory *memory, void *taken, size_t size);

/* A list of blocks of one size, which never moves what is in it. */
typedef struct bwl_blocks {
    bwl_memory *memory;
    size_t      block_size;
    void      **blocks;
    size_t      count;
    size_t      capacity;
} bwl_blocks;

/* NULL if there is no room for one more. */
void *bwl_blocks_add(bwl_blocks *list);
void  bwl_blocks_free(bwl_blocks *list);

#endif
