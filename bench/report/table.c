/*
 * table.c -- writes the list and the table on the terminal; texts that all reports share.
 */
#include <bowline/bowline.h>
#include <stdio.h>

#include "bench/base/stats.h"
#include "bench/report/report.h"
#include "bench/sides/hiredis_minimum.h"
#include "core/core.h"

/* ---- texts ----------------------------------------------------------------------------------- */

bench_text bench_goal_text(const bench_measure *measure, bool with_sign)
{
    return bench_text_of(
        "%s %.2f", with_sign ? bench_bound_sign(measure->bound) : bench_bound_words(measure->bound),
        measure->goal);
}

bench_text bench_spread_text(const bench_result *result)
{
    return bench_text_of("%.2f .. %.2f", bench_least(result->ratios, result->rounds),
                         bench_greatest(result->ratios, result->rounds));
}

bench_text bench_machine_text(const bench *b)
{
    return bench_text_of("%s, %u CPU%s, %s, %s%s%shiredis %s, bowline %s", b->machine.model,
                         b->machine.cpus_count, b->machine.cpus_count == 1 ? "" : "s",
                         b->machine.kernel, b->redis[0] != '\0' ? "Redis " : "", b->redis,
                         b->redis[0] != '\0' ? ", " : "", bench_minimum_version().text,
                         bowline_version_string());
}

bench_text bench_quiet_text(const bench *b)
{
    if (!b->quiet.was_asked)
        return bench_text_of("not looked at");
    if (b->quiet.is_quiet)
        return bench_text_of("quiet");
    return bench_text_of("not quiet: %.0f %% busy after %.0f s", b->quiet.busy * 100,
                         b->quiet.waited_s);
}

bench_text bench_number_text(double number)
{
    if (number < 1 && number > -1)
        return bench_text_of("%.4f", number);
    if (number < 100 && number > -100)
        return bench_text_of("%.2f", number);
    return bench_text_of("%.0f", number);
}

const char *bench_unit_text(bench_unit unit)
{
    switch (unit) {
    case BENCH_TIMES: return "us";
    case BENCH_RATES: return "pairs/s";
    case BENCH_UPDATES: return "updates/s";
    case BENCH_BYTES: return "bytes";
    case BENCH_RENEWALS: return "renewals/s";
    case BENCH_HAND_OVERS: return "hand-overs/s";
    case BENCH_COMMANDS: return "commands";
    case BENCH_TURNS: return "turns";
    case BENCH_PER_CENT: return "% of a CPU";
    }
    bwl_unreachable("a unit outside of its enum");
}

bench_text bench_figures_text(const bench_measure *measure, const bench_figures *figures)
{
    if (measure->unit != BENCH_TIMES)
        return bench_text_of("%s %s", bench_number_text(figures->middle).text,
                             bench_unit_text(measure->unit));
    return bench_text_of("%s / %s / %s us", bench_number_text(figures->middle / 1000).text,
                         bench_number_text(figures->p99 / 1000).text,
                         bench_number_text(figures->p999 / 1000).text);
}

/* ---- the list -------------------------------------------------------------------------------- */

void bench_report_list(FILE *out)
{
    for (size_t i = 0; i < bench_measures_count; i++) {
        const bench_measure *m = &bench_measures[i];
        bench_text           stretch =
            m->stretch > 0 ? bench_text_of(", or even %.2f", m->stretch) : bench_text_of("%s", "");
        (void)fprintf(out, "%-16s %s%s\n%-16s %s\n%-16s / %s\n", m->name,
                      bench_goal_text(m, false).text, stretch.text, "", m->ours, "", m->theirs);
    }
    (void)fputs(
        "\n"
        "-P through a proxy that delays every byte; -S client and server on one CPU; -X on\n"
        "two; -free nothing is pinned.  The others: on one CPU, but run-* is not pinned.\n",
        out);
    bench_report_peers_list(out);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void write_row(FILE *out, const bench_measure *m, const bench_result *r)
{
    bench_text verdict = bench_verdict(m, r);

    if (!r->was_measured) {
        (void)fprintf(out, "%-16s %8s  %-8s %-14s %s\n", m->name, "-",
                      bench_goal_text(m, true).text, verdict.text, r->note);
        return;
    }
    (void)fprintf(out, "%-16s %8.2f  %-8s %-14s %s\n", m->name, bench_result_ratio(r),
                  bench_goal_text(m, true).text, verdict.text, bench_spread_text(r).text);
}

static void write_figures(FILE *out, const bench_measure *m, const bench_result *r)
{
    if (!r->was_measured)
        return;
    (void)fprintf(out, "%-16s %-28s %-28s %s\n", m->name, bench_figures_text(m, &r->ours).text,
                  bench_figures_text(m, &r->theirs).text, r->note);
}

void bench_report_table(FILE *out, const bench *b, const bench_result *results)
{
    (void)fprintf(out, "%-16s %8s  %-8s %-14s %s\n", "measure", "ratio", "goal", "",
                  "spread of the rounds");
    for (size_t i = 0; i < bench_measures_count; i++)
        if (bench_measure_is_wanted(&bench_measures[i], &b->settings))
            write_row(out, &bench_measures[i], &results[i]);
    (void)fprintf(out, "\n%-16s %-28s %s\n", "p50 / p99 / p999", "ours", "theirs");
    for (size_t i = 0; i < bench_measures_count; i++)
        if (bench_measure_is_wanted(&bench_measures[i], &b->settings))
            write_figures(out, &bench_measures[i], &results[i]);
    (void)fprintf(out, "\n%s\n%u round%s; the machine before the run: %s\n",
                  bench_machine_text(b).text, b->settings.rounds,
                  b->settings.rounds == 1 ? "" : "s", bench_quiet_text(b).text);
}
