#include "lab/base/grow.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FIRST_CAPACITY = 256, EXIT_NO_MEMORY = 3 };

static void *or_stop(void *memory)
{
    if (memory == NULL) {
        (void)fputs("bowline-lab: out of memory; a smaller --budget needs less\n", stderr);
        exit(EXIT_NO_MEMORY);
    }
    return memory;
}

void *bwl_grow(void *list, size_t *capacity, size_t count, size_t item_size)
{
    size_t wanted = *capacity == 0 ? FIRST_CAPACITY : *capacity * 2;

    if (count < *capacity)
        return list;
    if (wanted > SIZE_MAX / item_size)
        return or_stop(NULL);
    *capacity = wanted;
    return or_stop(realloc(list, wanted * item_size));
}

void *bwl_room_for(size_t count, size_t item_size)
{
    return or_stop(calloc(count, item_size));
}

double bwl_seconds(void)
{
    struct timespec now;

    (void)timespec_get(&now, TIME_UTC); /* only for display */
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
