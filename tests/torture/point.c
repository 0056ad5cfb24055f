/*
 * point.c -- see point.h and torture.h. Runs before main and inside malloc: it does not allocate
 * and takes no lock.
 */
#include "tests/torture/point.h"
#include "tests/torture/torture.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANGES_MAX = 1024, BLOCKS_MAX = 1 << 16, TEXT_MAX = 64 * 1024 };

typedef struct range {
    uintptr_t begin;
    uintptr_t end;
} range;

static char          *slots;
static torture_state *state;
static range          ranges[RANGES_MAX];
static size_t         ranges_count;
static uintptr_t      base;

static _Atomic(uintptr_t)     blocks[BLOCKS_MAX];
static _Thread_local uint32_t random_state = 1;

enum { BLOCK_NEVER = 0, BLOCK_GONE = 1 };

/* ---- start ----------------------------------------------------------------------------------- */

static int take_base(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    base = info->dlpi_addr; /* the first object is the program */
    return 1;
}

static void read_ranges(const char *path)
{
    static char text[TEXT_MAX];
    int         fd   = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t     size = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    char       *at   = text;

    if (fd >= 0)
        (void)close(fd);
    while (size > 0 && *at != '\0' && ranges_count < RANGES_MAX) {
        uintptr_t begin = strtoul(at, &at, 16);
        uintptr_t end   = strtoul(at, &at, 16);
        if (end <= begin)
            break;
        ranges[ranges_count++] = (range){ base + begin, base + end };
        at += strspn(at, "\n");
    }
}

static bool is_the_program(const char *program)
{
    char path[4096];
    /* Not readlink, which is replaced here. */
    ssize_t size = syscall(SYS_readlink, "/proc/self/exe", path, sizeof path - 1);

    if (size < 0 || program == NULL)
        return false;
    path[size] = '\0';
    return strcmp(path, program) == 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("TORTURE_STATE");
    const char *list = getenv("TORTURE_RANGES");

    if (path == NULL || list == NULL || !is_the_program(getenv("TORTURE_PROGRAM")))
        return;
    (void)dl_iterate_phdr(take_base, NULL);
    read_ranges(list);
    int   fd   = open(path, O_RDWR | O_CLOEXEC);
    void *page = MAP_FAILED;
    if (fd >= 0)
        page = mmap(NULL, (size_t)TORTURE_SLOTS * TORTURE_SLOT_BYTES, PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd, 0);
    if (ranges_count == 0 || page == MAP_FAILED) {
        static const char words[] = "torture: TORTURE_STATE or TORTURE_RANGES cannot be read\n";
        (void)!write(STDERR_FILENO, words, sizeof words - 1);
        _exit(99);
    }
    (void)close(fd);
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* keeps the output before a crash */
    slots = page;
    torture_use(0);
}

torture_state *torture_slot(unsigned slot)
{
    if (slots == NULL || slot >= TORTURE_SLOTS)
        return NULL;
    return (torture_state *)(void *)(slots + (size_t)slot * TORTURE_SLOT_BYTES);
}

void torture_use(unsigned slot)
{
    state = torture_slot(slot);
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* The ranges are sorted. */
bool point_is_ours(const void *from)
{
    uintptr_t at =
        (uintptr_t)from -
        1; /* an address inside the call: the call may be the last instruction of its function */
    size_t low = 0;
    size_t top = ranges_count;

    while (low < top) {
        size_t middle = (low + top) / 2;
        if (at < ranges[middle].begin)
            top = middle;
        else if (at >= ranges[middle].end)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

static const fault_way *first_lasting(const fault_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->ways[i].kind == FAULT_ERROR && set->ways[i].error != EINTR &&
            set->ways[i].error != EAGAIN)
            return &set->ways[i];
    return NULL;
}

static const fault_way *with_error(const fault_set *set, int error)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->ways[i].kind == FAULT_ERROR && set->ways[i].error == error)
            return &set->ways[i];
    return NULL;
}

/* Fails about every other call, so that the program makes progress; at random, because in a loop of
 * two calls a fixed rhythm would always fail the same one. */
static const fault_way *at_random(const fault_way *way)
{
    if (way == NULL)
        return NULL;
    random_state = random_state * UINT32_C(1664525) + UINT32_C(1013904223);
    return (random_state >> 31) != 0 ? way : NULL;
}

static const fault_way *bytewise(const char *name, const fault_set *set)
{
    static const fault_way one = OTHER(FAULT_SHORT);

    if (strcmp(name, "send") != 0 && strcmp(name, "recv") != 0)
        return NULL;
    const fault_way *way = at_random(with_error(set, EAGAIN));
    return way != NULL ? way : &one;
}

static const fault_way *chosen(const char *name, const fault_set *set, uint64_t call,
                               uint64_t before)
{
    uint64_t n = atomic_load(&state->n);

    switch ((torture_mode)atomic_load(&state->mode)) {
    case TORTURE_COUNT: return NULL;
    case TORTURE_ONE:
        return n > before && n <= before + set->count ? &set->ways[n - before - 1] : NULL;
    case TORTURE_REST: return call >= n ? first_lasting(set) : NULL;
    case TORTURE_EINTR: return at_random(with_error(set, EINTR));
    case TORTURE_BYTES: return bytewise(name, set);
    }
    return NULL;
}

const fault_way *point_at(const char *name, const void *from, const fault_set *set)
{
    if (state == NULL || atomic_load(&state->mode) == 0 || set->count == 0 || !point_is_ours(from))
        return NULL;
    uint64_t         call   = atomic_fetch_add(&state->calls, 1) + 1;
    uint64_t         before = atomic_fetch_add(&state->points, set->count);
    const fault_way *way    = chosen(name, set, call, before);
    if (way != NULL && atomic_fetch_add(&state->injected, 1) == 0) {
        atomic_store(&state->failed_address, (uintptr_t)from - base);
        atomic_store(&state->failed_error, way->kind == FAULT_ERROR ? (uint64_t)way->error : 0);
        (void)snprintf(state->failed_name, sizeof state->failed_name, "%s", name);
    }
    if (way != NULL && way->kind == FAULT_ERROR)
        errno = way->error;
    return way;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static size_t slot_of(uintptr_t block)
{
    return (block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 48;
}

void *point_add_block(void *block, const void *from)
{
    if (block == NULL || state == NULL || !point_is_ours(from))
        return block;
    for (size_t i = 0, at = slot_of((uintptr_t)block); i < BLOCKS_MAX; i++, at++) {
        uintptr_t there = atomic_load(&blocks[at % BLOCKS_MAX]);
        if (there <= BLOCK_GONE &&
            atomic_compare_exchange_strong(&blocks[at % BLOCKS_MAX], &there, (uintptr_t)block))
            break;
    }
    return block;
}

void point_remove_block(void *block)
{
    if (block == NULL || state == NULL)
        return;
    for (size_t i = 0, at = slot_of((uintptr_t)block); i < BLOCKS_MAX; i++, at++) {
        uintptr_t there = atomic_load(&blocks[at % BLOCKS_MAX]);
        if (there == BLOCK_NEVER)
            return;
        if (there == (uintptr_t)block) {
            atomic_store(&blocks[at % BLOCKS_MAX], (uintptr_t)BLOCK_GONE);
            return;
        }
    }
}

uint64_t torture_blocks(void)
{
    uint64_t count = 0;

    for (size_t i = 0; i < BLOCKS_MAX; i++)
        count += atomic_load(&blocks[i]) > BLOCK_GONE;
    return count;
}
