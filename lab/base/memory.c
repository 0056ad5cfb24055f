#include "lab/base/memory.h"
#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, LARGE = 1 << 20, FIRST_CAPACITY = PAGE / sizeof(void *) };

static size_t in_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

void *bwl_memory_take(bwl_memory *memory, size_t size)
{
    size_t whole = in_pages(size);
    void  *taken;

    assert(size > 0);
    if (memory->max != 0 && (whole > memory->max || memory->used > memory->max - whole))
        return NULL;
    taken = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken == MAP_FAILED)
        return NULL;
    if (whole >= LARGE)
        (void)madvise(taken, whole, MADV_HUGEPAGE);
    memory->used += whole;
    if (memory->used > memory->most)
        memory->most = memory->used;
    return taken;
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

static bool make_room(bwl_blocks *list)
{
    size_t capacity = list->capacity == 0 ? FIRST_CAPACITY : list->capacity * 2;
    void **larger;

    if (list->count < list->capacity)
        return true;
    larger = bwl_memory_take(list->memory, capacity * sizeof larger[0]);
    if (larger == NULL)
        return false;
    if (list->count > 0)
        memcpy(larger, list->blocks, list->count * sizeof larger[0]);
    bwl_memory_give_back(list->memory, list->blocks, list->capacity * sizeof larger[0]);
    list->blocks   = larger;
    list->capacity = capacity;
    return true;
}

void *bwl_blocks_add(bwl_blocks *list)
{
    void *block;

    if (!make_room(list))
        return NULL;
    block = bwl_memory_take(list->memory, list->block_size);
    if (block != NULL)
        list->blocks[list->count++] = block;
    return block;
}

void bwl_blocks_free(bwl_blocks *list)
{
    for (size_t i = 0; i < list->count; i++)
        bwl_memory_give_back(list->memory, list->blocks[i], list->block_size);
    bwl_memory_give_back(list->memory, list->blocks, list->capacity * sizeof list->blocks[0]);
    list->blocks   = NULL;
    list->count    = 0;
    list->capacity = 0;
}
