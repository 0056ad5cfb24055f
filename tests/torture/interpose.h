/*
 * interpose.h -- macros that define a replacement of a libc function.
 *
 * The replacement has a C name of its own and the name of the libc function in the object file, so
 * that the declarations in headers (attributes, inline checks, large files) do not apply.
 */
#pragma once

#include "tests/torture/point.h"

typedef void a_function(void);

/* The next function of this name, of libc or the sanitizer; `known` caches it. */
a_function *torture_next(void **known, const char *name);

/* Defines our function under the libc name, and calls the libc function. */
#define OURS(type, name, ...)                            \
    type         our_##name(__VA_ARGS__) __asm__(#name); \
    static void *next_##name;                            \
    type         our_##name(__VA_ARGS__)
#define THEIRS(name) ((__typeof__(&our_##name))torture_next(&next_##name, #name))

/* The same function under a second name. */
#define ALSO(name, second) \
    extern __typeof__(our_##name) our_##second __asm__(#second) __attribute__((alias(#name)))

#define SET(...)                                                                            \
    (&(const fault_set){ .count = sizeof((fault_way[]){ __VA_ARGS__ }) / sizeof(fault_way), \
                         .ways  = { __VA_ARGS__ } })
#define POINT(name, ...) point_at(#name, __builtin_return_address(0), SET(__VA_ARGS__))

/* Functions without special cases, which return an int or a pointer. */
#define PLAIN(type, failure, name, parameters, arguments, ...)                        \
    type our_##name parameters __asm__(#name);                                        \
    static void    *next_##name;                                                      \
    type our_##name parameters                                                        \
    {                                                                                 \
        return POINT(name, __VA_ARGS__) != NULL ? (failure) : THEIRS(name) arguments; \
    }
