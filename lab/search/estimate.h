/*
 * estimate.h -- an estimate of the memory that a search needs which was cut short.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* `generations`: how many worlds are 0, 1, ... `last` steps away; the last of them is not complete.
 * `memory` bytes were enough for `states`.  0 if the generations do not yet grow more slowly, so
 * that nothing can be said. */
size_t bwl_estimate_memory(const uint64_t *generations, unsigned last, uint64_t states,
                           size_t memory);
