/*
 * entropy.h -- random bits from the kernel, drawn in blocks.
 *
 * They always come from the kernel: a generator in the process would give parent and child the same
 * tokens after a fork.  (A block that was drawn before a fork is not used in the child: its client
 * refuses every call there.)
 */
#pragma once

#include "core/core.h"

enum { BWL_ENTROPY_BLOCK = 256 };

typedef struct bwl_entropy {
    size_t  left; /* unused bytes, at the end of the block; = { 0 } is an empty pool           */
    uint8_t block[BWL_ENTROPY_BLOCK];
} bwl_entropy;

/* False: the kernel has no random bits, which happens only before its generator is ready. */
bool bwl_entropy_draw(bwl_entropy *pool, bwl_random *ret_random);
