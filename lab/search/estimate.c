/*
 * estimate.c -- see estimate.h.
 *
 * With budgets, the number of worlds at depth n grows, peaks and falls to zero: the ratio of two
 * generations falls nearly linearly. The estimate extends the trend of the last generations.
 */
#include "lab/search/estimate.h"

enum { OVER = 8, GENERATIONS_MAX = 10000 };

static const double steady_max = 0.98;

size_t bwl_estimate_memory(const uint64_t *generations, unsigned last, uint64_t states,
                           size_t memory)
{
    double factor;
    double before;
    double fall;
    double size;
    double all = 0;

    if (last < OVER + 3)
        return 0;
    for (unsigned i = last - OVER - 2; i < last; i++)
        if (generations[i] == 0)
            return 0;
    size   = (double)generations[last - 1];
    factor = size / (double)generations[last - 2];
    before = (double)generations[last - OVER - 1] / (double)generations[last - OVER - 2];
    fall   = (before - factor) / OVER;
    if (fall <= 0) { /* the fall is nearly linear */
        if (factor > steady_max)
            return 0;
        fall = 0;
    }
    for (unsigned i = 0; i < last; i++)
        all += (double)generations[i];
    for (unsigned i = 0; i < GENERATIONS_MAX && size >= 1; i++) {
        factor = factor > fall ? factor - fall : 0;
        size *= factor;
        all += size;
    }
    return (size_t)((double)memory * all / (double)states);
}
