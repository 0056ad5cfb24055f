/*
 * nearest.c -- see nearest.h.
 *
 * The distance is the optimal string alignment: the number of letters changed, added, dropped, or
 * swapped with their neighbour.  Three rows of its table are in memory at a time.
 */
#include "core/nearest.h"

#include <string.h>

enum { WORD_MAX = 48 };

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The number of edits; WORD_MAX for a word that is too long. */
static unsigned edits_between(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1];
    size_t   a_size = strlen(a);
    size_t   b_size = strlen(b);

    if (a_size > WORD_MAX || b_size > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned       *row   = rows[i % 3];
        const unsigned *above = rows[(i - 1) % 3];
        row[0]                = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller(row[j], above[j] + 1);
            row[j] = smaller(row[j], row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[a_size % 3][b_size];
}

const char *bwl_nearest(const char *typed, const char *const *known, size_t count)
{
    size_t      size    = strlen(typed);
    unsigned    best    = size > 4 ? 3 : 2;
    const char *nearest = NULL;

    for (size_t i = 0; i < count; i++) {
        const char *word  = known[i];
        unsigned    edits = edits_between(typed, word);
        if (size >= 3 && strlen(word) > size && memcmp(typed, word, size) == 0)
            edits = 1; /* an abbreviation counts as one edit */
        if (edits < best) {
            best    = edits;
            nearest = word;
        }
    }
    return nearest;
}
