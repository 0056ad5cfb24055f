/*
 * interpose.h -- how a function is put in front of libc's.
 *
 * It is written under a name of its own and given libc's in the object file, so that what the
 * headers say of libc's (attributes, inline checks, large files) does not get in the way.
 */
#ifndef INTERPOSE_H
#define INTERPOSE_H

#include "tests/torture/point.h"

typedef void a_function(void);

/* The next function of this name, which is libc's or the sanitizer's; `known` remembers it. */
a_function *torture_next(void **known, const char *name);

/* Declares our function under libc's name, and finds libc's. */
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

/* Functions that return an int, or a pointer, and have nothing to them. */
#define PLAIN(type, failure, name, parameters, arguments, ...)                        \
    type our_##name parameters __asm__(#name);                                        \
    static void    *next_##name;                                                      \
    type our_##name parameters                                                        \
    {                                                                                 \
        return POINT(name, __VA_ARGS__) != NULL ? (failure) : THEIRS(name) arguments; \
    }

#endif
