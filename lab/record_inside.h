/*
 * record_inside.h -- the numbers of a world that are in a file: for the writer and the reader.
 */
#ifndef BWL_LAB_RECORD_INSIDE_H
#define BWL_LAB_RECORD_INSIDE_H

#include "lab/scenario.h"
#include <stddef.h>

typedef enum bwl_field_kind {
    BWL_FIELD_MS = 1, /* null: NEVER, or ANY                                                     */
    BWL_FIELD_COUNT,
    BWL_FIELD_BOOL,
} bwl_field_kind;

typedef struct bwl_field {
    const char    *name;
    bwl_field_kind kind;
    size_t         offset;
    int64_t        min, max;
} bwl_field;

enum { BWL_FIELD_MS_MAX = 1000000, BWL_FIELDS_COUNT = 26 };

extern const bwl_field bwl_fields[BWL_FIELDS_COUNT];

#endif
