/*
 * json.c -- writes all results as one JSON object.
 *
 * Every requested measure is there with all its fields; a measure that was not taken has null in
 * them and a note. Times are in microseconds.
 */
#include <bowline/bowline.h>
#include <stdio.h>

#include "bench/base/stats.h"
#include "bench/report/report.h"
#include "bench/sides/hiredis_minimum.h"

void bench_json_string(FILE *out, const char *text)
{
    (void)putc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            (void)fprintf(out, "\\u%04x", c);
        else
            (void)putc(c, out);
    }
    (void)putc('"', out);
}

void bench_json_field(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, "\"%s\": ", name);
    if (text != NULL && text[0] != '\0')
        bench_json_string(out, text);
    else
        (void)fputs("null", out);
    (void)fputs(", ", out);
}

static void write_figures(FILE *out, const char *name, const bench_measure *m,
                          const bench_result *r, const bench_figures *f)
{
    (void)fprintf(out, "\"%s\": ", name);
    if (!r->was_measured)
        (void)fputs("null", out);
    else if (m->unit == BENCH_TIMES)
        (void)fprintf(out, "{\"p50\": %.4f, \"p99\": %.4f, \"p999\": %.4f}", f->middle / 1000,
                      f->p99 / 1000, f->p999 / 1000);
    else
        (void)fprintf(out, "{\"median\": %.2f}", f->middle);
    (void)fputs(", ", out);
}

static void write_verdict(FILE *out, const bench_measure *m, const bench_result *r)
{
    if (!r->was_measured) {
        (void)fputs("\"ratio\": null, \"met\": null, \"stretch_met\": null, \"min\": null, "
                    "\"max\": null, \"rounds\": [], ",
                    out);
        return;
    }
    (void)fprintf(out, "\"ratio\": %.2f, \"met\": %s, \"stretch_met\": %s, ", bench_result_ratio(r),
                  bench_is_met(m, r) ? "true" : "false",
                  m->stretch <= 0              ? "null"
                  : bench_stretch_is_met(m, r) ? "true"
                                               : "false");
    (void)fprintf(out, "\"min\": %.4f, \"max\": %.4f, \"rounds\": [",
                  bench_least(r->ratios, r->rounds), bench_greatest(r->ratios, r->rounds));
    for (unsigned i = 0; i < r->rounds; i++)
        (void)fprintf(out, "%s%.4f", i > 0 ? ", " : "", r->ratios[i]);
    (void)fputs("], ", out);
}

static void write_measure(FILE *out, const bench_measure *m, const bench_result *r)
{
    (void)fputs("    {", out);
    bench_json_field(out, "name", m->name);
    bench_json_field(out, "regime", bench_regime_name(m->regime));
    bench_json_field(out, "what", m->ours);
    bench_json_field(out, "against", m->theirs);
    bench_json_field(out, "bound", bench_bound_words(m->bound));
    (void)fprintf(out, "\"goal\": %.2f, ", m->goal);
    if (m->stretch > 0)
        (void)fprintf(out, "\"stretch\": %.2f, ", m->stretch);
    else
        (void)fputs("\"stretch\": null, ", out);
    write_verdict(out, m, r);
    bench_json_field(out, "unit", bench_unit_text(m->unit));
    write_figures(out, "ours", m, r, &r->ours);
    write_figures(out, "theirs", m, r, &r->theirs);
    (void)fputs("\"note\": ", out);
    bench_json_string(out, r->note);
    (void)fputs("}", out);
}

void bench_report_json(FILE *out, const bench *b, const bench_result *results,
                       const bench_peer_results *peers)
{
    bool is_first = true;

    (void)fputs("{\n  ", out);
    bench_json_field(out, "program", "bowline-bench");
    bench_json_field(out, "version", bowline_version_string());
    (void)fputs("\n  \"machine\": {", out);
    bench_json_field(out, "cpu", b->machine.model);
    bench_json_field(out, "kernel", b->machine.kernel);
    bench_json_field(out, "redis", b->redis);
    bench_json_field(out, "hiredis", bench_minimum_version().text);
    (void)fprintf(out, "\"cpus\": %u},\n", b->machine.cpus_count);
    (void)fprintf(out, "  \"quiet\": {\"asked\": %s, \"quiet\": %s, \"busy\": %.3f, ",
                  b->quiet.was_asked ? "true" : "false", b->quiet.is_quiet ? "true" : "false",
                  b->quiet.busy);
    (void)fprintf(out, "\"waited_s\": %.1f},\n", b->quiet.waited_s);
    (void)fprintf(out, "  \"rounds\": %u, \"delay_us\": %u,\n  \"measures\": [", b->settings.rounds,
                  b->settings.delay_us);
    for (size_t i = 0; i < bench_measures_count; i++)
        if (bench_measure_is_wanted(&bench_measures[i], &b->settings)) {
            (void)fputs(is_first ? "\n" : ",\n", out);
            write_measure(out, &bench_measures[i], &results[i]);
            is_first = false;
        }
    (void)fputs("\n  ],\n", out);
    bench_report_peers_json(out, b, peers);
    (void)fputs("}\n", out);
}
