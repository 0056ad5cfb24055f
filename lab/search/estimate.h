/*
 * estimate.h -- estimates the memory that an interrupted search would need.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* `generations`: the numbers of worlds at distances 0, 1, ... `last`, of which the last is
 * incomplete.  `memory` bytes were enough for `states`.  0: no estimate, because the growth does
 * not slow down yet. */
size_t bwl_estimate_memory(const uint64_t *generations, unsigned last, uint64_t states,
                           size_t memory);
