/*
 * page.c -- the matrix as a page: one file, without scripts or external resources.  See matrix.h.
 *
 * A cell links to its section, which is shown when the address names it: so the page is short,
 * works without a script, and has a link for each cell.
 */
#include "lab/report/matrix.h"
#include "lab/report/names.h"
#include "lab/report/picture.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c1c22;--dim:#63636e;--bg:#fff;--line:#d9d9e0;"
    "--good:#e3f4e8;--bad:#fbe3e3;--cut:#fdf3d8;--badink:#98161f;--goodink:#12602f}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8e8ee;--dim:#9a9aa6;--bg:#17171c;"
    "--line:#3a3a44;--good:#17321f;--bad:#401c20;--cut:#3d3413;--badink:#ff9aa0;"
    "--goodink:#8fd6a6}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:76rem;padding:1rem;color:var(--ink);background:var(--bg);"
    "font:16px/1.45 system-ui,sans-serif}\n"
    "h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.1rem;margin:.2rem 0}p{margin:.5rem 0}\n"
    ".dim{color:var(--dim)}code{font:.92em ui-monospace,monospace;overflow-wrap:anywhere}\n"
    ".scroll{overflow-x:auto;margin:1rem -1rem;padding:0 1rem}\n"
    "table{border-collapse:separate;border-spacing:0;font-size:.85rem;line-height:1.25}\n"
    "th,td{border-bottom:1px solid var(--line);padding:.35rem .45rem;text-align:left;"
    "vertical-align:top}\n"
    "thead th{font-weight:600;white-space:nowrap}\n"
    "tbody th{position:sticky;left:-1rem;background:var(--bg);font-weight:600;"
    "min-width:6.5rem;max-width:9rem;overflow-wrap:anywhere;border-right:1px solid var(--line)}\n"
    "td{min-width:5.6rem;padding:0}\n"
    "td a,td span{display:block;padding:.35rem .45rem;min-height:3.2rem;color:var(--ink);"
    "text-decoration:none}\n"
    "td.good{background:var(--good)}td.bad{background:var(--bad)}td.cut{background:var(--cut)}\n"
    "td b{display:block}td.bad b{color:var(--badink)}td.good b{color:var(--goodink)}\n"
    "td small{color:var(--dim);font-size:.75rem}\n"
    "td a:hover b,td a:focus b{text-decoration:underline}\n"
    "section{display:none;border-top:3px solid var(--line);padding-top:.6rem;"
    "scroll-margin-top:.5rem}\n"
    "section:target{display:block}\n"
    "dt{font-weight:600;margin-top:.5rem}dd{margin:0 0 .3rem 0}\n";

static void put_in(FILE *out, const char *element, const char *text)
{
    bwl_put(out, "<%s>", element);
    bwl_put_escaped(out, text);
    bwl_put(out, "</%s>\n", element);
}

static void put_cell(FILE *out, const bwl_matrix *m, size_t i, unsigned j)
{
    const bwl_cell *cell   = &m->rows[i].cells[j];
    bwl_budget      column = bwl_matrix_columns[j];

    switch (cell->verdict) {
    case BWL_EVERY_STATE:
        bwl_put(out, "<td class=\"good\"><span><b>holds</b><small>%s states</small></span></td>\n",
                bwl_count_words(cell->states).of);
        return;
    case BWL_BUDGET_REACHED:
        bwl_put(out,
                "<td class=\"cut\"><span><b>cut short</b><small>%s states</small></span></td>\n",
                bwl_count_words(cell->states).of);
        return;
    case BWL_BROKEN: break;
    }
    bwl_put(out, "<td class=\"bad\"><a href=\"#c%zu-%u\"><b>breaks</b><small>", i, j);
    if (column == BWL_BUDGET_NONE)
        bwl_put(out, "by itself, ");
    else
        bwl_put(out, "%u %s, ", cell->faults, bwl_budget_label(column));
    bwl_put(out, "%u&nbsp;steps: %s</small></a></td>\n", cell->path_count,
            bwl_invariant_label(cell->broken));
}

static void put_table(FILE *out, const bwl_matrix *m)
{
    bwl_put(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"the table\">"
                 "<table>\n<thead><tr><th></th>");
    bwl_put(out, "<th scope=\"col\">no fault</th>");
    for (unsigned j = 1; j < BWL_MATRIX_COLUMNS; j++)
        bwl_put(out, "<th scope=\"col\">%s</th>", bwl_budget_label(bwl_matrix_columns[j]));
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
    const bwl_matrix_row *row    = &m->rows[i];
    const bwl_cell       *cell   = &row->cells[j];
    bwl_budget            column = bwl_matrix_columns[j];
    bwl_picture picture = bwl_picture_of(&cell->world, cell->path, cell->path_count, cell->broken);

    bwl_put(out, "<section id=\"c%zu-%u\">\n<h2>", i, j);
    bwl_put_escaped(out, row->world.name);
    bwl_put(out, " %s</h2>\n<p>", bwl_cell_words(cell, column).of);
    bwl_put_escaped(out, row->world.story);
    bwl_put(out, ".</p>\n");
    if (column != BWL_BUDGET_NONE)
        bwl_put(out, "<p class=\"dim\">%s: %s.</p>\n", bwl_budget_label(column),
                bwl_budget_sentence(column));
    bwl_put(out, "<p><code>bowline lab try ");
    bwl_put_escaped(out, row->world.name);
    if (column != BWL_BUDGET_NONE)
        bwl_put(out, " --%s %u", bwl_budget_label(column), cell->faults);
    else
        bwl_put(out, " --slow 0");
    bwl_put(out, " --clients %u --invariant &#39;%s&#39;</code></p>\n", row->world.clients,
            bwl_invariant_label(cell->broken));
    bwl_svg(out, &picture, false);
    bwl_put(out, "<p><a href=\"#top\">back to the table</a></p>\n</section>\n");
    bwl_picture_free(&picture);
}

static void put_legend(FILE *out)
{
    bwl_put(out,
            "<h2>In a diagram</h2>\n<p>Time goes down. A bar on a client&#39;s line is the time in "
            "which it believes that the lock is surely its own: two bars side by side are two "
            "holders. A hollow bar is a client that works on after its time. An arrow that leans "
            "is a message that took its time; a broken one arrives after its connection was given "
            "up.</p>\n<h2>What goes wrong</h2>\n<dl>\n");
    for (unsigned j = 1; j < BWL_MATRIX_COLUMNS; j++) {
        put_in(out, "dt", bwl_budget_label(bwl_matrix_columns[j]));
        put_in(out, "dd", bwl_budget_sentence(bwl_matrix_columns[j]));
    }
    bwl_put(out, "</dl>\n");
}

static void put_protocols(FILE *out, const bwl_matrix *m)
{
    bwl_put(out, "<h2>The protocols</h2>\n<dl>\n");
    for (size_t i = 0; i < m->rows_count; i++) {
        put_in(out, "dt", m->rows[i].world.name);
        put_in(out, "dd", m->rows[i].world.story);
    }
    bwl_put(out, "</dl>\n");
}

void bwl_page(FILE *out, const bwl_matrix *m)
{
    bwl_put(out,
            "<!doctype html>\n<html lang=\"en\" id=\"top\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
            "<title>bowline lab: protocols by faults</title>\n<style>\n%s%s",
            style, bwl_svg_style);
    bwl_put(out,
            "</style>\n</head>\n<body>\n<h1>Protocols by faults</h1>\n"
            "<p>Every order of events is tried, with up to %u faults of one kind. "
            "<b>Holds</b>: no invariant breaks in any state. "
            "<b>Breaks</b>: the fewest faults that break "
            "one, and the fewest steps; the cell leads to the schedule. "
            "<b>Cut short</b>: none was found to break in the first %s states, and there are "
            "more.</p>\n"
            "<p class=\"dim\">bowline-lab %s, %u clients, a lease of %lld ms, or 2 "
            "s where time is counted in seconds. %s states in %.0f s.</p>\n",
            m->faults_max, bwl_count_words(m->states_max).of, BWL_LAB_VERSION,
            m->rows_count > 0 ? m->rows[0].world.clients : 2,
            (long long)(m->rows_count > 0 ? m->rows[0].world.terms.lease_ms : 0),
            bwl_count_words(m->states).of, m->seconds);
    put_table(out, m);
    for (size_t i = 0; i < m->rows_count; i++)
        for (unsigned j = 0; j < BWL_MATRIX_COLUMNS; j++)
            if (m->rows[i].cells[j].verdict == BWL_BROKEN)
                put_section(out, m, i, j);
    put_legend(out);
    put_protocols(out, m);
    bwl_put(out, "</body>\n</html>\n");
}
