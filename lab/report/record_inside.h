/*
 * record_inside.h -- the fields of a scenario in a file, for the writer and the reader.
 */
#pragma once

#include "lab/world/scenario.h"
#include <stddef.h>

typedef enum bwl_field_kind {
    BWL_FIELD_MS = 1,
    BWL_FIELD_MS_OR_NEVER, /* null: NEVER */
    BWL_FIELD_COUNT,
    BWL_FIELD_BOOL,
} bwl_field_kind;

typedef struct bwl_field {
    const char    *name;
    bwl_field_kind kind;
    size_t         offset;
    int64_t        min, max;
} bwl_field;

/* A shorter lease is all drift allowance. */
enum { BWL_FIELD_LEASE_MIN = 3, BWL_FIELD_MS_MAX = 1000000, BWL_FIELDS_COUNT = 26 };

extern const bwl_field bwl_fields[BWL_FIELDS_COUNT];
