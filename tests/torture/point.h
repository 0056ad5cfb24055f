/*
 * point.h -- the decision in the shared object whether a call fails, and how.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum fault_kind {
    FAULT_ERROR = 1, /* the call fails with this errno */
    FAULT_SHORT,     /* it moves one byte */
    FAULT_END,       /* it returns 0: end of data */
    FAULT_NOTHING,   /* it returns at once: a spurious wake-up */
} fault_kind;

typedef struct fault_way {
    fault_kind kind;
    int        error;
} fault_way;

#define ERROR(error_)                          \
    {                                          \
        .kind = FAULT_ERROR, .error = (error_) \
    }
#define OTHER(kind_)    \
    {                   \
        .kind = (kind_) \
    }

typedef struct fault_set {
    size_t    count;
    fault_way ways[8];
} fault_set;

/* NULL: the call does not fail. `from` is the return address of the call. */
const fault_way *point_at(const char *name, const void *from, const fault_set *set);

/* Whether the call comes from the code under test. */
bool point_is_ours(const void *from);

/* The blocks that the code under test has allocated. */
void *point_add_block(void *block, const void *from);
void  point_remove_block(void *block);
