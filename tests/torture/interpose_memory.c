/*
 * interpose_memory.c -- replacements for the functions that allocate, and the search for the libc
 * functions, which itself allocates.
 */
#include "tests/torture/interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

/* ---- the functions of libc ------------------------------------------------------------------- */

/* dlsym allocates and frees, so it calls these functions; and the address sanitizer does not find
 * its functions while it starts. */
static _Thread_local bool is_in_dlsym;
static _Alignas(16) char early_memory[4096];
static atomic_size_t early_memory_used;

static void *early_alloc(size_t size)
{
    size_t at = atomic_fetch_add(&early_memory_used, (size + 15) / 16 * 16);
    return at + size <= sizeof early_memory ? early_memory + at : NULL;
}

static bool is_early(const void *block)
{
    return (const char *)block >= early_memory &&
           (const char *)block < early_memory + sizeof early_memory;
}

/* Not strcmp: that of the sanitizer cannot be called yet. */
static bool is_condition_function(const char *name)
{
    static const char beginning[] = "pthread_cond_";

    for (size_t i = 0; i < sizeof beginning - 1; i++)
        if (name[i] != beginning[i])
            return false;
    return true;
}

/* The newest of several versions; dlsym returns the oldest for conditions. */
a_function *torture_next(void **known, const char *name)
{
    void       *next = __atomic_load_n(known, __ATOMIC_RELAXED);
    a_function *function;

    is_in_dlsym = true;
    if (next == NULL && is_condition_function(name))
        next = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (next == NULL)
        next = dlsym(RTLD_NEXT, name);
    is_in_dlsym = false;
    __atomic_store_n(known, next, __ATOMIC_RELAXED);
    memcpy(&function, &next, sizeof function); /* the same representation in POSIX, but not in C */
    return function;
}

/* ---- memory ---------------------------------------------------------------------------------- */

OURS(void *, malloc, size_t size)
{
    if (is_in_dlsym || torture_next(&next_malloc, "malloc") == NULL)
        return early_alloc(size);
    if (POINT(malloc, ERROR(ENOMEM)) != NULL)
        return NULL;
    return point_add_block(THEIRS(malloc)(size), __builtin_return_address(0));
}

OURS(void *, calloc, size_t count, size_t size)
{
    if (is_in_dlsym || torture_next(&next_calloc, "calloc") == NULL)
        return early_alloc(count * size); /* unused: still zero */
    if (POINT(calloc, ERROR(ENOMEM)) != NULL)
        return NULL;
    return point_add_block(THEIRS(calloc)(count, size), __builtin_return_address(0));
}

OURS(void *, realloc, void *block, size_t size)
{
    if (POINT(realloc, ERROR(ENOMEM)) != NULL)
        return NULL;
    void *moved = THEIRS(realloc)(block, size);
    if (moved != NULL)
        point_remove_block(block);
    return point_add_block(moved, __builtin_return_address(0));
}

/* Does not call that of libc, which may call realloc here. */
void *our_reallocarray(void *block, size_t count, size_t size) __asm__("reallocarray");
void *our_reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (POINT(reallocarray, ERROR(ENOMEM)) != NULL)
        return NULL;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    void *moved = THEIRS(realloc)(block, bytes);
    if (moved != NULL)
        point_remove_block(block);
    return point_add_block(moved, __builtin_return_address(0));
}

OURS(void, free, void *block)
{
    if (is_early(block) || is_in_dlsym || torture_next(&next_free, "free") == NULL)
        return; /* what dlsym frees stays allocated: at most a line of text */
    point_remove_block(block);
    THEIRS(free)(block);
}

OURS(char *, strdup, const char *text)
{
    if (POINT(strdup, ERROR(ENOMEM)) != NULL)
        return NULL;
    return point_add_block(THEIRS(strdup)(text), __builtin_return_address(0));
}

OURS(char *, strndup, const char *text, size_t size)
{
    if (POINT(strndup, ERROR(ENOMEM)) != NULL)
        return NULL;
    return point_add_block(THEIRS(strndup)(text, size), __builtin_return_address(0));
}

OURS(char *, realpath, const char *path, char *ret_path)
{
    if (POINT(realpath, ERROR(ENOMEM), ERROR(EIO), ERROR(EACCES)) != NULL)
        return NULL;
    char *resolved = THEIRS(realpath)(path, ret_path);
    return ret_path == NULL ? point_add_block(resolved, __builtin_return_address(0)) : resolved;
}

int          our_vasprintf(char **ret_text, const char *format, va_list arguments);
static void *next_vasprintf;

static int print(char **ret_text, const char *format, va_list arguments, const void *from)
{
    if (point_at("asprintf", from, SET(ERROR(ENOMEM))) != NULL)
        return -1;
    int size = THEIRS(vasprintf)(ret_text, format, arguments);
    if (size >= 0)
        (void)point_add_block(*ret_text, from);
    return size;
}

int our_asprintf(char **ret_text, const char *format, ...) __asm__("asprintf");
int our_asprintf(char **ret_text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int size = print(ret_text, format, arguments, __builtin_return_address(0));
    va_end(arguments);
    return size;
}

int our_asprintf_chk(char **ret_text, int flag, const char *format, ...) __asm__("__asprintf_chk");
int our_asprintf_chk(char **ret_text, int flag, const char *format, ...)
{
    va_list arguments;

    (void)flag;
    va_start(arguments, format);
    int size = print(ret_text, format, arguments, __builtin_return_address(0));
    va_end(arguments);
    return size;
}

PLAIN(int, -1, setenv, (const char *name, const char *value, int replaces), (name, value, replaces),
      ERROR(ENOMEM))
PLAIN(int, -1, madvise, (void *at, size_t size, int advice), (at, size, advice), ERROR(EINVAL),
      ERROR(ENOMEM))
PLAIN(void *, MAP_FAILED, mmap,
      (void *at, size_t size, int allows, int flags, int fd, off_t offset),
      (at, size, allows, flags, fd, offset), ERROR(ENOMEM), ERROR(EAGAIN))
ALSO(mmap, mmap64);
