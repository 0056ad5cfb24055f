/*
 * nearest.h -- which of the words that there are did somebody mean?
 */
#ifndef BWL_NEAREST_H
#define BWL_NEAREST_H

#include <stddef.h>

/* The i-th of a list of words; NULL behind the last. */
typedef const char *(*bwl_word_at)(size_t i);

/* The word that is nearest to `typed`: at most two slips away, one if `typed` is short, or one that
 * begins like it.  NULL if none is near. */
const char *bwl_nearest(const char *typed, bwl_word_at word_at);

#endif
