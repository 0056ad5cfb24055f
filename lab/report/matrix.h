/*
 * matrix.h -- protocols by faults: the effect of each kind of fault, alone, on each protocol.
 *
 * The invariants of mutual exclusion come first: a cell names another invariant only where those
 * hold. An invariant that breaks without a fault appears in the first column only.
 */
#pragma once

#include "lab/search/explore.h"
#include "lab/base/say.h"
#include <stdio.h>

/* The progress of a search, on one terminal line. */

typedef struct bwl_meter {
    bool        is_on; /* standard error is a terminal, without --quiet */
    bool        is_drawn;
    const char *what; /* what is being searched */
} bwl_meter;

bwl_meter bwl_meter_start(bool quiet);

/* A bwl_on_progress; arg is the meter. */
void bwl_meter_show(const bwl_progress *progress, void *arg);

/* Before anything else is written, and at the end. */
void bwl_meter_wipe(bwl_meter *meter);

/* BWL_BUDGET_NONE: nothing goes wrong. */
enum { BWL_MATRIX_COLUMNS = 14 };
extern const bwl_budget bwl_matrix_columns[BWL_MATRIX_COLUMNS];

typedef struct bwl_cell {
    bwl_verdict     verdict;
    bwl_cut         cut_short;
    unsigned        faults; /* BROKEN: faults used; otherwise faults allowed */
    unsigned        broken; /* BROKEN: the invariant */
    uint64_t        states;
    unsigned        path_count;
    bwl_transition *path;
    bwl_scenario    world; /* in which it was found */
} bwl_cell;

typedef struct bwl_matrix_row {
    const char  *subject; /* see bwl_subject_find */
    bwl_scenario world;
    bwl_cell     cells[BWL_MATRIX_COLUMNS];
} bwl_matrix_row;

typedef struct bwl_matrix {
    size_t          rows_count;
    bwl_matrix_row *rows;
    unsigned        faults_max;
    uint32_t        states_max; /* of one search */
    uint64_t        states;     /* visited, in all of them */
    double          seconds;
} bwl_matrix;

const char *bwl_matrix_column_name(bwl_budget column);

/* Searches for every cell of the rows; the path of a cell is freed by the caller. */
void bwl_matrix_fill(bwl_matrix *m, const bwl_search *search, bool quiet);

/* "holds (1,234 states)", "breaks with 1 crash in 7 steps", "cut short". */
bwl_text bwl_cell_words(const bwl_cell *cell, bwl_budget column);

/* One file without external resources: the table and the schedule of each cell.  See page.h. */
void bwl_matrix_page(FILE *out, const bwl_matrix *matrix);
