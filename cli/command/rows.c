#include "cli/command/rows.h"

#include <stdlib.h>
#include <string.h>

bool rows_add(rows *r, const bowline_holder *holder)
{
    enum { FIRST = 64 };

    if (r->count == ROWS_MAX)
        return false;
    if (r->count == r->room) {
        size_t          room = r->room == 0 ? FIRST : 2 * r->room;
        bowline_holder *held = realloc(r->held, room * sizeof *held);
        if (held == NULL)
            return false;
        r->held = held;
        r->room = room;
    }
    r->held[r->count++] = *holder;
    return true;
}

int rows_by_name(const void *a, const void *b)
{
    return strcmp(((const bowline_holder *)a)->name, ((const bowline_holder *)b)->name);
}

int rows_by_wait(const void *a, const void *b)
{
    const bowline_holder *one = a, *other = b;

    if (one->waiting != other->waiting)
        return one->waiting > other->waiting ? -1 : 1;
    if (one->since_ms != other->since_ms)
        return one->since_ms > other->since_ms ? -1 : 1;
    return rows_by_name(a, b);
}

void rows_sort(rows *r, rows_order *order)
{
    if (r->count > 0)
        qsort(r->held, r->count, sizeof *r->held, order);
}

void rows_clear(rows *r)
{
    free(r->held);
    *r = (rows){ .held = NULL };
}
