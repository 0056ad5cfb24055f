/*
 * matrix.c -- the searches behind each cell.  See matrix.h.
 */
#include "lab/report/matrix.h"
#include "lab/base/lang.h"
#include "lab/base/memory.h"
#include "lab/report/names.h"
#include <stdio.h>
#include <unistd.h>

bwl_meter bwl_meter_start(bool quiet)
{
    return (bwl_meter){ .is_on = !quiet && isatty(STDERR_FILENO) == 1, .what = "" };
}

void bwl_meter_show(const bwl_progress *progress, void *arg)
{
    bwl_meter *meter = arg;
    bwl_text   bound = bwl_say("%s", "");

    if (!meter->is_on)
        return;
    if (progress->memory_max != 0)
        bound = bwl_say(" of %s", bwl_memory_words(progress->memory_max).of);
    bwl_put(stderr, "\r\033[K%s: %s states, %u steps deep, %s to go on from, %s%s", meter->what,
            bwl_count_words(progress->states).of, progress->depth,
            bwl_count_words(progress->frontier).of, bwl_memory_words(progress->memory).of,
            bound.of);
    (void)fflush(stderr); /* a display only */
    meter->is_drawn = true;
}

void bwl_meter_wipe(bwl_meter *meter)
{
    if (meter->is_drawn)
        (void)fputs("\r\033[K", stderr);
    meter->is_drawn = false;
}

const bwl_budget bwl_matrix_columns[BWL_MATRIX_COLUMNS] = {
    BWL_BUDGET_NONE, BWL_SLOW, BWL_LOSS, BWL_CRASH, BWL_RESTART,      BWL_RESTORE, BWL_FAILOVER,
    BWL_EVICTION,    BWL_JUMP, BWL_WALL, BWL_RATE,  BWL_FOREIGN_LOCK, BWL_DENIAL,  BWL_REFUSAL,
};

static const unsigned exclusion = BWL_INVARIANT_ONE_HOLDER | BWL_INVARIANT_ONE_WORKER;

const char *bwl_matrix_column_name(bwl_budget column)
{
    return column == BWL_BUDGET_NONE ? bwl_tr("none") : bwl_budget_label(column);
}

bwl_text bwl_cell_words(const bwl_cell *cell, bwl_budget column)
{
    switch (cell->verdict) {
    case BWL_EVERY_STATE: return bwl_say("holds (%s states)", bwl_count_words(cell->states).of);
    case BWL_BUDGET_REACHED: return bwl_say("cut short: %s", bwl_cut_reason(cell->cut_short));
    case BWL_BROKEN: break;
    }
    if (column == BWL_BUDGET_NONE)
        return bwl_say("breaks without a fault in %u steps", cell->path_count);
    return bwl_say("breaks with %u %s in %u steps", cell->faults, bwl_budget_label(column),
                   cell->path_count);
}

static bool search_into(bwl_matrix *m, bwl_cell *cell, const bwl_scenario *world,
                        const bwl_search *how)
{
    bwl_finding found = bwl_explore(world, how);

    m->states += found.states;
    cell->world     = *world;
    cell->verdict   = found.verdict;
    cell->cut_short = found.cut_short;
    cell->states    = found.states;
    cell->broken    = found.broken & ~(found.broken - 1); /* the first of them */
    if (found.verdict == BWL_BROKEN) {
        cell->path_count = found.path_count;
        cell->path       = found.path;
        found.path       = NULL;
    }
    bwl_finding_free(&found);
    return cell->verdict == BWL_BROKEN;
}

/* Searches with 1, 2 ... faults of the kind, until one of the invariants breaks. */
static void fill_cell(bwl_matrix *m, bwl_cell *cell, const bwl_scenario *usual, bwl_budget column,
                      const bwl_search *how)
{
    bwl_scenario world   = *usual;
    unsigned     least   = column == BWL_BUDGET_NONE ? 0 : 1;
    unsigned     most    = column == BWL_BUDGET_NONE ? 0 : m->faults_max;
    bool         is_done = false;

    for (unsigned group = 0; group < 2 && !is_done; group++)
        for (cell->faults = least; cell->faults <= most && !is_done;) {
            world.invariants = usual->invariants & (group == 0 ? exclusion : ~exclusion);
            if (column != BWL_BUDGET_NONE)
                world.budget[column] = (uint8_t)cell->faults;
            is_done = search_into(m, cell, &world, how) || cell->verdict == BWL_BUDGET_REACHED;
            if (!is_done)
                cell->faults++;
        }
}

void bwl_matrix_fill(bwl_matrix *m, const bwl_search *search, bool quiet)
{
    bwl_meter  meter = bwl_meter_start(quiet);
    bwl_search how   = *search;
    double     start = bwl_seconds();

    how.on_progress  = bwl_meter_show;
    how.progress_arg = &meter;
    for (size_t i = 0; i < m->rows_count; i++) {
        bwl_matrix_row *row = &m->rows[i];
        for (unsigned j = 0; j < BWL_MATRIX_COLUMNS; j++) {
            bwl_scenario world = row->world;
            bwl_text     what =
                bwl_say("%s, %s", row->world.name, bwl_matrix_column_name(bwl_matrix_columns[j]));
            meter.what = what.of;
            if (j > 0)
                world.invariants &= ~row->cells[0].broken;
            fill_cell(m, &row->cells[j], &world, bwl_matrix_columns[j], &how);
        }
    }
    bwl_meter_wipe(&meter);
    m->seconds = bwl_seconds() - start;
}
