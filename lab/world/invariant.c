/*
 * invariant.c -- the names of the invariants.  See invariant.h.
 */
#include "lab/world/invariant.h"
#include <assert.h>
#include <stddef.h>

typedef struct invariant_text {
    const char *label;
    const char *sentence;
} invariant_text;

static const invariant_text texts[] = {
#define X(name, label, sentence) { label, sentence },
    BWL_INVARIANTS(X)
#undef X
};

static const invariant_text *text_of(unsigned invariants)
{
    size_t number = 0;

    assert(invariants != 0);
    assert(invariants >> BWL_INVARIANTS_COUNT == 0);
    while ((invariants >> number & 1) == 0)
        number++;
    return &texts[number];
}

const char *bwl_invariant_label(unsigned invariants)
{
    return text_of(invariants)->label;
}

const char *bwl_invariant_sentence(unsigned invariants)
{
    return text_of(invariants)->sentence;
}
