#include "lab/base/memory.h"
#include "lab/base/say.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, LARGE = 1 << 20 };

static size_t in_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

void *bwl_memory_grow(bwl_memory *memory, void *taken, size_t size, size_t larger)
{
    size_t whole = in_pages(larger);
    size_t more  = whole - in_pages(size);
    void  *grown;

    assert(larger > size);
    if (memory->max != 0 && (more > memory->max || memory->used > memory->max - more))
        return NULL;
    if (taken == NULL)
        grown = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else
        grown = mremap(taken, in_pages(size), whole, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED)
        return NULL;
    if (whole >= LARGE)
        (void)madvise(grown, whole, MADV_HUGEPAGE); /* it is only faster */
    memory->used += more;
    if (memory->used > memory->most)
        memory->most = memory->used;
    return grown;
}

void bwl_memory_give_back(bwl_memory *memory, void *taken, size_t size)
{
    size_t whole = in_pages(size);

    if (taken == NULL)
        return;
    assert(memory->used >= whole);
    memory->used -= whole;
    (void)munmap(taken, whole); /* munmap of our own mapping cannot fail */
}

enum { FIRST_CAPACITY = 256, EXIT_NO_MEMORY = 3 };

static void *or_stop(void *memory)
{
    if (memory == NULL) {
        bwl_put(stderr, "bowline-lab: out of memory; a smaller --budget needs less\n");
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
