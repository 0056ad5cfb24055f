/*
 * point.h -- inside of the shared object: is this call to fail, and how?
 */
#ifndef POINT_H
#define POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fault_kind {
    FAULT_ERROR = 1, /* the call fails with this errno                                         */
    FAULT_SHORT,     /* it does one byte of what it was asked                                  */
    FAULT_END,       /* it returns 0: there is no more                                         */
    FAULT_NOTHING,   /* it returns at once without having done anything: a spurious wake-up    */
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

/* NULL: it is not to fail.  `from` is the address that the call returns to. */
const fault_way *point_at(const char *name, const void *from, const fault_set *set);

/* Does the call come from the code under test? */
bool point_is_ours(const void *from);

/* Blocks that the code under test has. */
void *point_keep(void *block, const void *from);
void  point_drop(void *block);

#endif
