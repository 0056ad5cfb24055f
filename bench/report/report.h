/*
 * report.h -- the results as a table, JSON, a drawing and a page.
 *
 * results[i] belongs to bench_measures[i]; only requested measures are reported.
 */
#ifndef BOWLINE_BENCH_REPORT_REPORT_H
#define BOWLINE_BENCH_REPORT_REPORT_H

#include <stdio.h>

#include "bench/duel/peers.h"
#include "bench/harness/bench.h"
#include "bench/measure/measures.h"

void bench_report_list(FILE *out);
void bench_report_table(FILE *out, const bench *b, const bench_result *results);
void bench_report_json(FILE *out, const bench *b, const bench_result *results,
                       const bench_peer_results *peers);
void bench_report_svg(FILE *out, const bench *b, const bench_result *results);

/* `drawing` is the name of the SVG as the page refers to it; NULL: none. */
void bench_report_markdown(FILE *out, const bench *b, const bench_result *results,
                           const bench_peer_results *peers, const char *drawing);

/* ---- what the reports share ------------------------------------------------------------------ */

/* A string of JSON; and a field with it and a comma, null without a text. */
void bench_json_string(FILE *out, const char *text);
void bench_json_field(FILE *out, const char *name, const char *text);

/* "at most 1.05", "at least 1.30"; with the sign instead of the words "<= 1.05". */
bench_text bench_goal_text(const bench_measure *measure, bool with_sign);

/* "0.98 .. 1.04" */
bench_text bench_spread_text(const bench_result *result);

/* "Xeon, 2 CPUs, Linux 6.1, Redis 7.0.15, hiredis 0.14.1, bowline 0.1.0" */
bench_text bench_machine_text(const bench *b);

/* "quiet", "not quiet: 43 % busy after 30 s", "not looked at". */
bench_text bench_quiet_text(const bench *b);

/* A number with as many digits as are useful: 0.0071, 8.61, 154, 231000. */
bench_text bench_number_text(double number);

/* The figures of one side in the unit of its measure; times in microseconds. */
bench_text  bench_figures_text(const bench_measure *measure, const bench_figures *figures);
const char *bench_unit_text(bench_unit unit);

#endif
