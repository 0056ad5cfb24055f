/*
 * law.c -- the names of the laws.  See law.h.
 */
#include "lab/world/law.h"
#include <assert.h>
#include <stddef.h>

typedef struct law_text {
    const char *label;
    const char *sentence;
} law_text;

static const law_text texts[] = {
#define X(name, label, sentence) { label, sentence },
    BWL_LAWS(X)
#undef X
};

static const law_text *text_of(unsigned laws)
{
    size_t number = 0;

    assert(laws != 0);
    assert(laws >> BWL_LAWS_COUNT == 0);
    while ((laws >> number & 1) == 0)
        number++;
    return &texts[number];
}

const char *bwl_law_label(unsigned laws)
{
    return text_of(laws)->label;
}

const char *bwl_law_sentence(unsigned laws)
{
    return text_of(laws)->sentence;
}
