/*
 * svg.c -- draws the ratios: one row per measure, a bar, and the goal as a line.
 *
 * Every row has its own scale, so that all goals are on one vertical line; the text of the row says
 * on which side of it the bar should end. The drawing has a background of its own, for viewers with
 * a dark page.
 */
#include <stdio.h>

#include "bench/report/report.h"

enum {
    WIDTH      = 820,
    ROW        = 26,
    TOP        = 46,
    BOTTOM     = 34,
    BAR_LEFT   = 130,
    BAR_GOAL   = 300, /* from the left end of a bar to the line of goals */
    BAR_MAX    = 430,
    TEXT_LEFT  = BAR_LEFT + BAR_MAX + 16,
    BAR_HEIGHT = 14,
};

static const char style[] =
    "<style>\n"
    "  .ground { fill: #ffffff; }\n"
    "  text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }\n"
    "  .title { font-weight: bold; }\n"
    "  .soft { fill: #59636e; }\n"
    "  .track { fill: #eaeef2; }\n"
    "  .met { fill: #2da44e; }\n"
    "  .missed { fill: #bc6c00; }\n"
    "  .goal { stroke: #1f2328; stroke-width: 1.5; }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    .ground { fill: #0d1117; }\n"
    "    text { fill: #e6edf3; }\n"
    "    .soft { fill: #9198a1; }\n"
    "    .track { fill: #21262d; }\n"
    "    .met { fill: #3fb950; }\n"
    "    .missed { fill: #db9a2d; }\n"
    "    .goal { stroke: #e6edf3; }\n"
    "  }\n"
    "</style>\n";

static void write_text(FILE *out, const char *kind, int left, int base, const char *text)
{
    (void)fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", kind, left, base);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '<')
            (void)fputs("&lt;", out);
        else if (c == '>')
            (void)fputs("&gt;", out);
        else if (c == '&')
            (void)fputs("&amp;", out);
        else
            (void)putc(c >= 0x20 && c < 0x7f ? c : '?', out);
    }
    (void)fputs("</text>\n", out);
}

static void write_bar(FILE *out, const char *kind, int top, double width)
{
    (void)fprintf(out,
                  "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>\n",
                  kind, BAR_LEFT, top, width, BAR_HEIGHT);
}

static void write_row(FILE *out, const bench_measure *m, const bench_result *r, int top)
{
    int base = top + BAR_HEIGHT - 3;

    write_text(out, "name", 12, base, m->name);
    write_bar(out, "track", top, BAR_MAX);
    if (!r->was_measured) {
        write_text(out, "soft", BAR_LEFT + 8, base, r->note);
        return;
    }
    double ratio = bench_result_ratio(r);
    double width = ratio / m->goal * BAR_GOAL;
    bool   met   = bench_is_met(m, r);
    /* A longer bar ends at the edge; the number is printed. */
    write_bar(out, met ? "met" : "missed", top, width < BAR_MAX ? width : BAR_MAX);
    bench_text text = bench_text_of("%.2f  %s: %s", ratio, bench_goal_text(m, false).text,
                                    met ? "met" : "not met");
    write_text(out, "ratio", TEXT_LEFT, base, text.text);
}

void bench_report_svg(FILE *out, const bench *b, const bench_result *results)
{
    int rows = 0, top = TOP;

    for (size_t i = 0; i < bench_measures_count; i++)
        rows += bench_measure_is_wanted(&bench_measures[i], &b->settings) ? 1 : 0;
    int height = TOP + rows * ROW + BOTTOM;
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" role=\"img\">\n<title>bowline-bench: ratios and goals</title>\n%s",
                  WIDTH, height, WIDTH, height, style);
    (void)fprintf(out, "<rect class=\"ground\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", WIDTH,
                  height);
    write_text(out, "title", 12, 20, "ours / theirs, the goals in one line");
    write_text(out, "soft", BAR_LEFT + BAR_GOAL - 12, TOP - 10, "goal");
    for (size_t i = 0; i < bench_measures_count; i++)
        if (bench_measure_is_wanted(&bench_measures[i], &b->settings)) {
            write_row(out, &bench_measures[i], &results[i], top);
            top += ROW;
        }
    (void)fprintf(out, "<line class=\"goal\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
                  BAR_LEFT + BAR_GOAL, TOP - 6, BAR_LEFT + BAR_GOAL, top - ROW + BAR_HEIGHT + 6);
    write_text(out, "soft", 12, height - 12, bench_machine_text(b).text);
    (void)fputs("</svg>\n", out);
}
