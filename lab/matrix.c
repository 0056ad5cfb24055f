/*
 * matrix.c -- `bowline-lab matrix`: protocols by faults, as a table and as a page.
 */
#include "lab/report/matrix.h"
#include "lab/base/memory.h"
#include "lab/base/say.h"
#include "lab/report/names.h"
#include "lab/scenario/table.h"
#include "lab/options.h"
#include <stdlib.h>
#include <string.h>

static int add_row(bwl_matrix *m, const bwl_lab_options *set, const char *name)
{
    bwl_scenario *world = &m->rows[m->rows_count].world;
    bwl_text      fault[3];

    if (!bwl_subject_find(name, world, fault))
        return bwl_complain(fault[0], fault[1].of, fault[2].of);
    world->invariants &= ~(unsigned)BWL_INVARIANT_NO_OVERLAP;
    memset(world->budget, 0, sizeof world->budget); /* of a lock file: each column has its fault */
    bwl_options_change(set, world);
    m->rows[m->rows_count++].subject = name;
    return 0;
}

static int add_rows(bwl_matrix *m, const bwl_lab_options *set)
{
    size_t count  = set->operands_count != 0 ? set->operands_count : bwl_subjects_count();
    int    status = 0;

    m->rows = bwl_room_for(count, sizeof m->rows[0]);
    for (size_t i = 0; i < count && status == 0; i++)
        status =
            add_row(m, set, set->operands_count != 0 ? set->operands[i] : bwl_subject_at(i)->name);
    return status;
}

static void print_table(const bwl_matrix *m)
{
    enum { NAME_WIDTH = 24 };

    bwl_put(stdout, "%-*s", NAME_WIDTH, "");
    for (unsigned j = 0; j < BWL_MATRIX_COLUMNS; j++)
        bwl_put(stdout, " %s", bwl_padded(bwl_matrix_column_name(bwl_matrix_columns[j]), 8).of);
    bwl_put(stdout, "\n");
    for (size_t i = 0; i < m->rows_count; i++) {
        bwl_put(stdout, "%-*s", NAME_WIDTH, m->rows[i].world.name);
        for (unsigned j = 0; j < BWL_MATRIX_COLUMNS; j++) {
            const bwl_cell *cell = &m->rows[i].cells[j];
            if (cell->verdict == BWL_BROKEN)
                bwl_put(stdout, " %8s", bwl_say("%u:%u", cell->faults, cell->path_count).of);
            else
                bwl_put(stdout, " %8s", cell->verdict == BWL_EVERY_STATE ? "." : "?");
        }
        bwl_put(stdout, "\n");
    }
    bwl_put(stdout,
            "\n.    no invariant breaks, with at most %u of the fault: every state was visited\n"
            "2:9  2 of them break an invariant, in 9 steps; see `bowline lab try`\n"
            "?    none was found in the states that were visited, and not all were: see "
            "--budget, --memory\n",
            m->faults_max);
}

static void print_figures(const bwl_matrix *m)
{
    unsigned counts[BWL_BROKEN + 1] = { 0 };

    for (size_t i = 0; i < m->rows_count; i++)
        for (unsigned j = 0; j < BWL_MATRIX_COLUMNS; j++)
            counts[m->rows[i].cells[j].verdict]++;
    bwl_put(stdout,
            "\n%zu cells: %u hold in every state, %u break, %u cut short, at %s states or at "
            "the end of the memory\n",
            m->rows_count * BWL_MATRIX_COLUMNS, counts[BWL_EVERY_STATE], counts[BWL_BROKEN],
            counts[BWL_BUDGET_REACHED], bwl_count_words(m->states_max).of);
    bwl_put(stdout, "%s states in %.0f s: %s a second, on one processor\n",
            bwl_count_words(m->states).of, m->seconds,
            bwl_count_words((uint64_t)((double)m->states / (m->seconds + 1e-3))).of);
}

static bool write_page(const bwl_matrix *m, const char *file)
{
    bwl_output output;

    if (!bwl_output_open(&output, file))
        return false;
    bwl_matrix_page(output.out, m);
    return bwl_output_close(&output);
}

int bwl_verb_matrix(const bwl_lab_options *set)
{
    bwl_matrix m       = { .faults_max = set->faults_max, .states_max = set->search.states_max };
    int        status  = add_rows(&m, set);
    bool       is_good = status == 0;

    if (is_good) {
        bwl_matrix_fill(&m, &set->search, set->quiet);
        print_table(&m);
        print_figures(&m);
        is_good = set->html == NULL || write_page(&m, set->html);
        is_good = bwl_output_done() && is_good;
        status  = is_good ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    for (size_t i = 0; i < m.rows_count; i++)
        for (unsigned j = 0; j < BWL_MATRIX_COLUMNS; j++)
            free(m.rows[i].cells[j].path);
    free(m.rows);
    return status;
}
