/*
 * nearest.c -- see nearest.h.
 *
 * A slip is a letter changed, added, dropped, or swapped with its neighbour: the optimal string
 * alignment of two words, three rows of its table at a time.
 */
#include "core/nearest.h"

#include <string.h>

enum { WORD_MAX = 48 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned slips_between(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1];
    size_t   a_size = strlen(a);
    size_t   b_size = strlen(b);

    if (a_size > WORD_MAX || b_size > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned       *row    = rows[i % 3];
        const unsigned *before = rows[(i - 1) % 3];
        row[0]                 = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = before[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(row[j], before[j] + 1);
            row[j] = least(row[j], row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
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
        unsigned    slips = slips_between(typed, word);
        if (size >= 3 && strlen(word) > size && memcmp(typed, word, size) == 0)
            slips = 1; /* a beginning counts whatever is missing */
        if (slips < best) {
            best    = slips;
            nearest = word;
        }
    }
    return nearest;
}
