/*
 * main.c -- bowline-bench: measures the library as ratios to the least code without it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/duel/peers.h"
#include "bench/harness/bench.h"
#include "bench/measure/measures.h"
#include "bench/options.h"
#include "bench/report/report.h"

enum { EXIT_NOT_MET = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 3 };

static int measure_all(bench *b, bench_result *results, bench_failure *reterr)
{
    for (size_t i = 0; i < bench_measures_count; i++) {
        const bench_measure *m = &bench_measures[i];
        if (!bench_measure_is_wanted(m, &b->settings))
            continue;
        bench_progress("%s", m->name);
        if (m->run(b, m, &results[i], reterr) < 0)
            return -1;
    }
    return 0;
}

/* Stops all processes; after a crash the janitor does it. */
static int measure(bench *b, bench_result *results, bench_peer_results *peers,
                   bench_failure *reterr)
{
    if (bench_machine_read(&b->machine, reterr) < 0 || bench_janitor_hire(&b->janitor, reterr) < 0)
        return -1;
    b->quiet   = bench_wait_for_quiet(b->settings.settle_s);
    int status = measure_all(b, results, reterr);
    if (status == 0)
        status = bench_measure_peers(b, peers, reterr);
    bench_progress_end();
    bench_proxy_stop(&b->proxy);
    bench_server_stop(&b->server, &b->janitor);
    bench_janitor_dismiss(&b->janitor);
    return status;
}

/* ---- reporting ------------------------------------------------------------------------------- */

/* The page refers to a drawing in the same directory by its name. */
static const char *seen_from(const char *page, const char *drawing)
{
    const char *slash = strrchr(page, '/');
    size_t      size  = slash != NULL ? (size_t)(slash - page) + 1 : 0;

    if (drawing != NULL && strncmp(page, drawing, size) == 0)
        return drawing + size;
    return drawing;
}

/* The page, or the drawing (which has no peers). */
static int write_file(const char *path, const bench *b, const bench_result *results,
                      const bench_peer_results *peers, bench_failure *reterr)
{
    FILE *out = fopen(path, "we");

    if (out == NULL)
        return bench_fail_errno(reterr, bench_text_of("cannot write %.200s", path));
    if (peers == NULL)
        bench_report_svg(out, b, results);
    else
        bench_report_markdown(out, b, results, peers, seen_from(path, b->settings.svg));
    bool was_written = ferror(out) == 0;
    if (fclose(out) != 0 || !was_written)
        return bench_fail_errno(reterr, bench_text_of("cannot write %.200s", path));
    return 0;
}

static int report(const bench *b, const bench_result *results, const bench_peer_results *peers,
                  bench_failure *reterr)
{
    const bench_settings *s = &b->settings;

    if (s->wants_json)
        bench_report_json(stdout, b, results, peers);
    else {
        bench_report_table(stdout, b, results);
        bench_report_peers_table(stdout, b, peers);
    }
    if (fflush(stdout) != 0 || ferror(stdout) != 0)
        return bench_fail_errno(reterr, bench_text_of("cannot write to standard output"));
    if (s->svg != NULL && write_file(s->svg, b, results, NULL, reterr) < 0)
        return -1;
    if (s->report != NULL && write_file(s->report, b, results, peers, reterr) < 0)
        return -1;
    return 0;
}

/* Goals against peers do not count: they depend on the libraries of the machine. */
static bool all_are_met(const bench *b, const bench_result *results)
{
    for (size_t i = 0; i < bench_measures_count; i++)
        if (bench_measure_is_wanted(&bench_measures[i], &b->settings) && results[i].was_measured &&
            !bench_is_met(&bench_measures[i], &results[i]))
            return false;
    return true;
}

static int run(bench *b)
{
    bench_failure      failure;
    bench_result      *results = calloc(bench_measures_count, sizeof *results);
    bench_peer_results peers   = { .cells = NULL };
    int                code    = EXIT_COULD_NOT;

    if (results == NULL) {
        (void)bench_fail_errno(&failure, bench_text_of("no memory for the results"));
        goto out;
    }
    if (measure(b, results, &peers, &failure) < 0 || report(b, results, &peers, &failure) < 0)
        goto out;
    code = b->settings.is_strict && !all_are_met(b, results) ? EXIT_NOT_MET : EXIT_SUCCESS;
out:
    if (code == EXIT_COULD_NOT)
        bench_say_failure(&failure);
    bench_peer_results_free(&peers);
    free(results);
    return code;
}

int main(int argc, char **argv)
{
    bench         b = { .settings.rounds = 0 };
    bench_failure failure;
    int           code = EXIT_SUCCESS;

    /* A dead server must fail a call, not end the process. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (bench_options_read(&b.settings, argc, argv, &failure) < 0) {
        bench_say_failure(&failure);
        return EXIT_USAGE;
    }
    if (b.settings.wants_help)
        bench_options_help(stdout);
    else if (b.settings.wants_list)
        bench_report_list(stdout);
    else
        code = run(&b);
    free(b.settings.bowline);
    return code;
}
