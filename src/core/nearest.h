/*
 * nearest.h -- finds the known name that a misspelled name is most like.
 */
#ifndef BWL_NEAREST_H
#define BWL_NEAREST_H

#include <stddef.h>

/* The one of `count` names that is nearest to `typed`: at most two edits away (one if `typed` is
 * short), or with the same beginning.  NULL: none is near.  Points into `known`. */
const char *bwl_nearest(const char *typed, const char *const *known, size_t count);

#endif
