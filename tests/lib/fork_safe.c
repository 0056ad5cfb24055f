/*
 * fork_safe.c -- see fork_safe.h.
 *
 * The program's own malloc wraps the sanitizer's and counts the threads inside; fork closes the
 * gate and waits until there is none.
 */
#include "tests/lib/fork_safe.h"

#if defined(__SANITIZE_ADDRESS__) && !defined(__clang__)

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The sanitizer's functions.  They work before initialisation, when dlsym does not. */
void *__interceptor_malloc(size_t size);
void *__interceptor_calloc(size_t count, size_t size);
void *__interceptor_realloc(void *block, size_t size);
int   __interceptor_posix_memalign(void **ret_block, size_t alignment, size_t size);
void  __interceptor_free(void *block);

static void *(*next_malloc)(size_t)                  = __interceptor_malloc;
static void *(*next_calloc)(size_t, size_t)          = __interceptor_calloc;
static void *(*next_realloc)(void *, size_t)         = __interceptor_realloc;
static int (*next_memalign)(void **, size_t, size_t) = __interceptor_posix_memalign;
static void (*next_free)(void *)                     = __interceptor_free;

static atomic_uint            inside;
static atomic_bool            forking;
static _Thread_local bool     forks; /* this thread */
static _Thread_local unsigned depth;

static void enter(void)
{
    while (depth == 0 && !forks) {
        (void)atomic_fetch_add(&inside, 1);
        if (!atomic_load(&forking))
            break;
        (void)atomic_fetch_sub(&inside, 1);
        (void)sched_yield();
    }
    depth++;
}

static void leave(void)
{
    depth--;
    if (depth == 0 && !forks)
        (void)atomic_fetch_sub(&inside, 1);
}

void *malloc(size_t size)
{
    enter();
    void *block = next_malloc(size);
    leave();
    return block;
}

void *calloc(size_t count, size_t size)
{
    enter();
    void *block = next_calloc(count, size);
    leave();
    return block;
}

void *realloc(void *block, size_t size)
{
    enter();
    void *moved = next_realloc(block, size);
    leave();
    return moved;
}

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    enter();
    int error = next_memalign(ret_block, alignment, size);
    leave();
    return error;
}

void free(void *block)
{
    enter();
    next_free(block);
    leave();
}

static void before_fork(void)
{
    forks = true;
    while (atomic_exchange(&forking, true))
        (void)sched_yield(); /* another thread forks as well */
    while (atomic_load(&inside) != 0)
        (void)sched_yield();
}

static void after_fork(void)
{
    atomic_store(&forking, false);
    forks = false;
}

/* Finds a wrapper between this program and the sanitizer: the tests also run with failing calls
 * (tests/torture). */
static void find(void *function, size_t size, const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);

    if (next != NULL)
        memcpy(function, &next, size); /* POSIX allows this conversion, C does not */
}

void make_fork_safe(void)
{
    find(&next_malloc, sizeof next_malloc, "malloc");
    find(&next_calloc, sizeof next_calloc, "calloc");
    find(&next_realloc, sizeof next_realloc, "realloc");
    find(&next_memalign, sizeof next_memalign, "posix_memalign");
    find(&next_free, sizeof next_free, "free");
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

#else

void make_fork_safe(void)
{
}

#endif
