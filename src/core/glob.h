/*
 * glob.h -- patterns for names: `*` is any text, `?` one character, [abc] [a-z] [!a-z] one of
 * these or one of the others ([^a-z] too), and `\` takes the next character as it is.  A
 * character is one of UTF-8, or a byte that is not part of one.  The whole name must match.
 */
#pragma once

#include "core/core.h"

enum { BWL_GLOB_MAX = 1024 }; /* bytes */

/* What is wrong with a pattern, or NULL. */
const char *bwl_glob_fault(const char *pattern);

/* Whether the name matches a pattern without a fault. */
bool bwl_glob_matches(const char *pattern, const char *name, size_t size);

/* The first item of a pattern that is not at its end; *pattern moves behind it. */
typedef enum bwl_glob_kind {
    BWL_GLOB_LITERAL = 1, /* the bytes from *ret_at on, *ret_size of them */
    BWL_GLOB_ONE,         /* one character: ? or [...] */
    BWL_GLOB_ANY,         /* * */
} bwl_glob_kind;

bwl_glob_kind bwl_glob_next(const char **pattern, const char **ret_at, size_t *ret_size);
