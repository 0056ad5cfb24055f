/*
 * rows.h -- the locks that a list has found, in memory: for ls and top, which sort them.
 */
#pragma once

#include <bowline/bowline.h>

#include <stdbool.h>

/* As many are sorted: 6 MB. */
enum { ROWS_MAX = 10000 };

typedef struct rows {
    bowline_holder *held;
    size_t          count;
    size_t          room;
} rows;

/* False: out of memory, or ROWS_MAX. */
bool rows_add(rows *r, const bowline_holder *holder);

typedef int rows_order(const void *a, const void *b);

/* These two are of bowline_holder. */
rows_order rows_by_name;
rows_order rows_by_wait; /* the most waiters first, then the longest hold, then by name */

void rows_sort(rows *r, rows_order *order);

/* Frees the memory. */
void rows_clear(rows *r);
