/*
 * nearest.h -- which of the words that there are did somebody mean?
 */
#ifndef BWL_NEAREST_H
#define BWL_NEAREST_H

#include <stddef.h>

/* The one of `count` words that is nearest to `typed`: at most two slips away, one if `typed` is
 * short, or one that begins like it.  NULL if none is near. */
const char *bwl_nearest(const char *typed, const char *const *known, size_t count);

#endif
