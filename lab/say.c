/*
 * say.c -- see say.h.
 */
#include "lab/say.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bwl_text bwl_say(const char *format, ...)
{
    bwl_text said;
    va_list  list;

    va_start(list, format);
    (void)vsnprintf(said.of, sizeof said.of, format, list); /* cut short if it must be */
    va_end(list);
    return said;
}

bwl_text bwl_shown(const char *text)
{
    bwl_text shown = bwl_say("%s", text);

    for (char *c = shown.of; *c != '\0'; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
    return shown;
}

int bwl_complain(bwl_text what, bwl_text why, bwl_text type)
{
    const char *const lines[] = { what.of, why.of, type.of };

    for (unsigned i = 0; i < 3; i++)
        if (lines[i][0] != '\0')
            (void)fprintf(stderr, "bowline-lab: %s\n", lines[i]);
    return BWL_EXIT_USAGE;
}

enum { GUESS_MAX = 47 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be changed, added, dropped or swapped with their neighbour (optimal string
 * alignment) to come from one word to the other. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[GUESS_MAX + 1][GUESS_MAX + 1];
    size_t a_size = strlen(a);
    size_t b_size = strlen(b);

    if (a_size > GUESS_MAX || b_size > GUESS_MAX)
        return GUESS_MAX;
    for (size_t i = 0; i <= a_size; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++)
        for (size_t j = 1; j <= b_size; j++) {
            size_t best = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best        = least(best, least(rows[i - 1][j], rows[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least(best, rows[i - 2][j - 2] + 1);
            rows[i][j] = best;
        }
    return rows[a_size][b_size];
}

const char *bwl_nearest(const char *typed, const char *const *known, size_t count)
{
    const char *nearest = NULL;
    size_t      length  = strlen(typed);
    size_t      best    = length > 4 ? 3 : 2; /* two slips in a long word, one in a short one */

    for (size_t i = 0; i < count; i++) {
        size_t far = distance(typed, known[i]);
        if (length >= 3 && strncmp(typed, known[i], length) == 0)
            far = 1; /* a beginning counts, whatever is missing */
        if (far < best) {
            best    = far;
            nearest = known[i];
        }
    }
    return nearest;
}
