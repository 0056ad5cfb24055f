/*
 * interpose_memory.c -- the functions that allocate, in front of libc's own; and how libc's own are
 * found, which itself allocates.
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

/* ---- libc's ---------------------------------------------------------------------------------- */

/* dlsym allocates and frees, which brings us here again; and while the address sanitizer sets
 * itself up, it does not find its functions yet. */
static _Thread_local bool is_looking;
static _Alignas(16) char room[4096];
static atomic_size_t room_used;

static void *from_room(size_t size)
{
    size_t at = atomic_fetch_add(&room_used, (size + 15) / 16 * 16);
    return at + size <= sizeof room ? room + at : NULL;
}

static bool is_in_room(const void *block)
{
    return (const char *)block >= room && (const char *)block < room + sizeof room;
}

/* By itself: the sanitizer's strcmp cannot be called yet. */
static bool is_of_condition(const char *name)
{
    static const char beginning[] = "pthread_cond_";

    for (size_t i = 0; i < sizeof beginning - 1; i++)
        if (name[i] != beginning[i])
            return false;
    return true;
}

/* Of several versions the newest is meant; dlsym gives the oldest for those of conditions. */
a_function *torture_next(void **known, const char *name)
{
    void       *next = __atomic_load_n(known, __ATOMIC_RELAXED);
    a_function *function;

    is_looking = true;
    if (next == NULL && is_of_condition(name))
        next = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (next == NULL)
        next = dlsym(RTLD_NEXT, name);
    is_looking = false;
    __atomic_store_n(known, next, __ATOMIC_RELAXED);
    memcpy(&function, &next, sizeof function); /* POSIX has them alike, C does not */
    return function;
}

/* ---- memory ---------------------------------------------------------------------------------- */

OURS(void *, malloc, size_t size)
{
    if (is_looking || torture_next(&next_malloc, "malloc") == NULL)
        return from_room(size);
    if (POINT(malloc, ERROR(ENOMEM)) != NULL)
        return NULL;
    return point_keep(THEIRS(malloc)(size), __builtin_return_address(0));
}

OURS(void *, calloc, size_t count, size_t size)
{
    if (is_looking || torture_next(&next_calloc, "calloc") == NULL)
        return from_room(count * size); /* zeros still */
    if (POINT(calloc, ERROR(ENOMEM)) != NULL)
        return NULL;
    return point_keep(THEIRS(calloc)(count, size), __builtin_return_address(0));
}

OURS(void *, realloc, void *block, size_t size)
{
    if (POINT(realloc, ERROR(ENOMEM)) != NULL)
        return NULL;
    void *moved = THEIRS(realloc)(block, size);
    if (moved != NULL)
        point_drop(block);
    return point_keep(moved, __builtin_return_address(0));
}

/* Not libc's own, which may come back here by way of realloc. */
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
        point_drop(block);
    return point_keep(moved, __builtin_return_address(0));
}

OURS(void, free, void *block)
{
    if (is_in_room(block) || is_looking || torture_next(&next_free, "free") == NULL)
        return; /* what dlsym frees is lost: a line of text at most */
    point_drop(block);
    THEIRS(free)(block);
}

OURS(char *, strdup, const char *text)
{
    if (POINT(strdup, ERROR(ENOMEM)) != NULL)
        return NULL;
    return point_keep(THEIRS(strdup)(text), __builtin_return_address(0));
}

OURS(char *, strndup, const char *text, size_t size)
{
    if (POINT(strndup, ERROR(ENOMEM)) != NULL)
        return NULL;
    return point_keep(THEIRS(strndup)(text, size), __builtin_return_address(0));
}

OURS(char *, realpath, const char *path, char *ret_path)
{
    if (POINT(realpath, ERROR(ENOMEM), ERROR(EIO), ERROR(EACCES)) != NULL)
        return NULL;
    char *resolved = THEIRS(realpath)(path, ret_path);
    return ret_path == NULL ? point_keep(resolved, __builtin_return_address(0)) : resolved;
}

int          our_vasprintf(char **ret_text, const char *format, va_list arguments);
static void *next_vasprintf;

static int print(char **ret_text, const char *format, va_list arguments, const void *from)
{
    if (point_at("asprintf", from, SET(ERROR(ENOMEM))) != NULL)
        return -1;
    int size = THEIRS(vasprintf)(ret_text, format, arguments);
    if (size >= 0)
        (void)point_keep(*ret_text, from);
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
