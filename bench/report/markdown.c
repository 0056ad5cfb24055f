/*
 * markdown.c -- writes a page with the figures, their meaning, and how to reproduce them.
 */
#include <stdio.h>
#include <string.h>

#include "bench/report/report.h"

static void write_head(FILE *out, const bench *b, const char *drawing)
{
    (void)fputs("<!-- Made by `make bench-report`. Do not edit: the next run writes it anew. -->\n"
                "# How fast it is\n"
                "\n"
                "bowline (ours) against a minimal program without the library (theirs). Both are "
                "measured in the same run, and take turns in\n"
                "rounds. A ratio compares the medians within a round; the table shows the median "
                "of the rounds. Absolute times belong to this\n"
                "machine. The ratios should be about the same on yours.\n"
                "\n",
                out);
    if (drawing != NULL)
        (void)fprintf(out, "![the ratios and their goals](%s)\n\n", drawing);
    (void)fprintf(out, "Measured on: %s.\n", bench_machine_text(b).text);
    (void)fprintf(out, "%u rounds. The machine before the run: %s.\n\n", b->settings.rounds,
                  bench_quiet_text(b).text);
}

static void write_row(FILE *out, const bench_measure *m, const bench_result *r)
{
    if (!r->was_measured) {
        (void)fprintf(out, "| %s | - | %s | not measured: %s | | | |\n", m->name,
                      bench_goal_text(m, false).text, r->note);
        return;
    }
    (void)fprintf(out, "| %s | **%.2f** | %s | %s | %s | %s | %s |\n", m->name,
                  bench_result_ratio(r), bench_goal_text(m, false).text, bench_verdict(m, r).text,
                  bench_spread_text(r).text, bench_figures_text(m, &r->ours).text,
                  bench_figures_text(m, &r->theirs).text);
}

/* Measures that differ only in a number share a meaning, written once. */
static void write_meaning(FILE *out, size_t i, const bench_result *r)
{
    const bench_measure *m = &bench_measures[i];

    if (i > 0 && strcmp(bench_measures[i - 1].means, m->means) == 0)
        return;
    if (m->threads > 0)
        (void)fprintf(out, "- **%.*s-N**: %s per second of N threads on one client / %s.",
                      (int)strcspn(m->name, "-"), m->name,
                      m->unit == BENCH_UPDATES ? "updates" : "pairs", m->theirs);
    else
        (void)fprintf(out, "- **%s**: %s / %s.", m->name, m->ours, m->theirs);
    (void)fprintf(out, " %s", m->means);
    if (m->stretch > 0)
        (void)fprintf(out, " We would like %.2f.", m->stretch);
    if (r->note[0] != '\0')
        (void)fprintf(out, " (%s.)", r->note);
    (void)fputs("\n", out);
}

static void write_foot(FILE *out, const bench *b)
{
    (void)fprintf(
        out,
        "\n"
        "## Regimes\n"
        "\n"
        "The placement on CPUs makes a factor of ten on one machine, because an idle "
        "CPU has to be woken. So every measure has its regime:\n"
        "\n"
        "- **S**: client and server on the same CPU. How much is computed, and how many "
        "system calls.\n"
        "- **X**: on two CPUs, with the cost of waking each other.\n"
        "- **P**: through a proxy that delays every byte by %u us each way. How many "
        "round trips.\n"
        "- **free**: nothing is pinned; run-file and run-redis are measured like that. "
        "file-pair, thread-pair and bytes run on one CPU.\n"
        "\n"
        "Times are p50 / p99 / p999, over all rounds. A goal is met if the ratio "
        "reaches it as it is printed.\n"
        "\n"
        "## Again, on your machine\n"
        "\n"
        "```sh\n"
        "make bench                            # three rounds, a minute\n"
        "make bench-report                     # all of it, and writes this page: eight minutes\n"
        "make bench-peers                      # beside other libraries: a quarter of an hour\n"
        "build/bowline-bench --help\n"
        "build/bowline-bench --only pair       # pair-P and pair-S\n"
        "```\n"
        "\n"
        "It starts a redis-server of its own on a free port, keeps everything in a "
        "directory that it removes, and waits for up to %u s\n"
        "until the machine is quiet. Goals that are missed do not make it fail, unless "
        "`--strict` is given.\n",
        b->settings.delay_us, b->settings.settle_s);
}

void bench_report_markdown(FILE *out, const bench *b, const bench_result *results,
                           const bench_peer_results *peers, const char *drawing)
{
    write_head(out, b, drawing);
    (void)fputs("| measure | ratio | goal | | spread of the rounds | ours | theirs |\n"
                "|---|---|---|---|---|---|---|\n",
                out);
    for (size_t i = 0; i < bench_measures_count; i++)
        if (bench_measure_is_wanted(&bench_measures[i], &b->settings))
            write_row(out, &bench_measures[i], &results[i]);
    (void)fputs("\n## What they mean\n\n", out);
    for (size_t i = 0; i < bench_measures_count; i++)
        if (bench_measure_is_wanted(&bench_measures[i], &b->settings))
            write_meaning(out, i, &results[i]);
    bench_report_peers_markdown(out, b, peers);
    write_foot(out, b);
}
