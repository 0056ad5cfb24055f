/*
 * matrix_page.c -- the matrix as a page: a table whose cells link to the schedules.  See matrix.h.
 */
#include "lab/base/lang.h"
#include "lab/draw/diagram.h"
#include "lab/report/matrix.h"
#include "lab/report/names.h"
#include "lab/report/page.h"

static void put_cell(FILE *out, const bwl_matrix *m, size_t i, unsigned j)
{
    const bwl_cell *cell   = &m->rows[i].cells[j];
    bwl_budget      column = bwl_matrix_columns[j];

    switch (cell->verdict) {
    case BWL_EVERY_STATE:
    case BWL_BUDGET_REACHED:
        bwl_put(out, "<td class=\"%s\"><span>",
                cell->verdict == BWL_BUDGET_REACHED ? "cut" : "good");
        bwl_page_put(out, "b", bwl_tr(cell->verdict == BWL_BUDGET_REACHED ? "cut short" : "holds"));
        bwl_page_put(out, "small", bwl_say("%s states", bwl_count_words(cell->states).of).of);
        bwl_put(out, "</span></td>\n");
        return;
    case BWL_BROKEN: break;
    }
    bwl_put(out, "<td class=\"bad\"><a href=\"#c%zu-%u\">", i, j);
    bwl_page_put(out, "b", bwl_tr("breaks"));
    bwl_page_put(out, "small",
                 (column == BWL_BUDGET_NONE
                      ? bwl_say("by itself, %u steps: %s", cell->path_count,
                                bwl_invariant_label(cell->broken))
                      : bwl_say("%u %s, %u steps: %s", cell->faults, bwl_budget_label(column),
                                cell->path_count, bwl_invariant_label(cell->broken)))
                     .of);
    bwl_put(out, "</a></td>\n");
}

static void put_table(FILE *out, const bwl_matrix *m)
{
    bwl_put(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    bwl_put_escaped(out, bwl_tr("the table"));
    bwl_put(out, "\"><table>\n<thead><tr><td></td>\n");
    for (unsigned j = 0; j < BWL_MATRIX_COLUMNS; j++) {
        bwl_put(out, "<th scope=\"col\">");
        bwl_put_escaped(out, j == 0 ? bwl_tr("no fault") : bwl_budget_label(bwl_matrix_columns[j]));
        bwl_put(out, "</th>\n");
    }
    bwl_put(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < m->rows_count; i++) {
        bwl_put(out, "<tr><th scope=\"row\">");
        bwl_put_escaped(out, m->rows[i].world.name);
        bwl_put(out, "</th>\n");
        for (unsigned j = 0; j < BWL_MATRIX_COLUMNS; j++)
            put_cell(out, m, i, j);
        bwl_put(out, "</tr>\n");
    }
    bwl_put(out, "</tbody></table></div>\n");
}

static void put_section(FILE *out, const bwl_matrix *m, size_t i, unsigned j)
{
    const bwl_cell   *cell   = &m->rows[i].cells[j];
    bwl_budget        column = bwl_matrix_columns[j];
    bwl_text          faults = bwl_say(" --slow 0");
    bwl_page_schedule it     = {
            .subject    = m->rows[i].subject,
            .world      = &cell->world,
            .path       = cell->path,
            .path_count = cell->path_count,
            .broken     = cell->broken,
    };

    bwl_put(out, "<section id=\"c%zu-%u\">\n", i, j);
    bwl_page_put(out, "h2",
                 bwl_say("%s: %s", m->rows[i].world.name, bwl_cell_words(cell, column).of).of);
    bwl_page_put(out, "p", bwl_tr(m->rows[i].world.story));
    if (column != BWL_BUDGET_NONE) {
        faults = bwl_say(" --%s %u", bwl_budget_label(column), cell->faults);
        bwl_page_put(
            out, "p",
            bwl_say("%s: %s.", bwl_budget_label(column), bwl_tr(bwl_budget_sentence(column))).of);
    }
    bwl_page_put_command(out, &it, faults.of, NULL, NULL);
    bwl_page_put_schedule(out, &it);
    bwl_put(out, "<p><a href=\"#top\">%s</a></p>\n</section>\n", bwl_tr("back to the table"));
}

static void put_head(FILE *out, const bwl_matrix *m)
{
    const bwl_scenario *world = m->rows_count > 0 ? &m->rows[0].world : NULL;

    bwl_page_put(out, "h1", bwl_tr("Protocols by faults"));
    bwl_put(out, "<ul class=\"plain\">\n<li>");
    bwl_put(out, "Every order of events is tried, with at most %u of one kind of fault.",
            m->faults_max);
    bwl_put(out, "</li>\n<li>");
    bwl_put(out, "Holds: no invariant breaks in any state.");
    bwl_put(out, "</li>\n<li>");
    bwl_put(out,
            "Breaks: the fewest faults that break an invariant, and the fewest steps. The cell "
            "leads to the schedule, in which each step can be looked at.");
    bwl_put(out, "</li>\n<li>");
    bwl_put(
        out,
        "Cut short: no invariant was found to break in the first %s states, and there are more.",
        bwl_count_words(m->states_max).of);
    bwl_put(out, "</li>\n</ul>\n<p class=\"dim\">");
    bwl_put(out,
            "bowline-lab %s, %u clients, a lease of %lld ms, or 2 s where time is counted in "
            "seconds. %s states in %.0f s.",
            BWL_LAB_VERSION, world != NULL ? world->clients : 2,
            (long long)(world != NULL ? world->terms.lease_ms : 0), bwl_count_words(m->states).of,
            m->seconds);
    bwl_put(out, "</p>\n");
}

static void put_names(FILE *out, const bwl_matrix *m)
{
    bwl_page_put(out, "h2", bwl_tr("What goes wrong"));
    bwl_put(out, "<dl>\n");
    for (unsigned j = 1; j < BWL_MATRIX_COLUMNS; j++) {
        bwl_page_put(out, "dt", bwl_budget_label(bwl_matrix_columns[j]));
        bwl_page_put(out, "dd", bwl_tr(bwl_budget_sentence(bwl_matrix_columns[j])));
    }
    bwl_put(out, "</dl>\n");
    bwl_page_put(out, "h2", bwl_tr("The protocols"));
    bwl_put(out, "<dl>\n");
    for (size_t i = 0; i < m->rows_count; i++) {
        bwl_page_put(out, "dt", m->rows[i].world.name);
        bwl_page_put(out, "dd", bwl_tr(m->rows[i].world.story));
    }
    bwl_put(out, "</dl>\n");
}

void bwl_matrix_page(FILE *out, const bwl_matrix *m)
{
    bwl_page_begin(out, bwl_tr("bowline lab: protocols by faults"));
    put_head(out, m);
    put_table(out, m);
    for (size_t i = 0; i < m->rows_count; i++)
        for (unsigned j = 0; j < BWL_MATRIX_COLUMNS; j++)
            if (m->rows[i].cells[j].verdict == BWL_BROKEN)
                put_section(out, m, i, j);
    bwl_page_put_legend(out);
    put_names(out, m);
    bwl_page_end(out);
}
