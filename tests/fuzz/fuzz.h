/*
 * fuzz.h -- what each fuzz target has: its entry, checks, and copies of exactly their size, so that
 * the address sanitizer detects a read beyond them.
 */
#pragma once

#include "core/core.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool condition)
{
    if (!condition)
        abort();
}

static inline char *copy_of(const void *bytes, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);

    require(copy != NULL);
    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}
