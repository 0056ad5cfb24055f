/*
 * peers_json.c -- writes the peers into the JSON object: the list, and every cell.
 *
 * Times are in microseconds; CPU time in microseconds per hand-over, or per second while idle.
 */
#include <stdio.h>

#include "bench/duel/peers.h"
#include "bench/report/report.h"

static void write_figures(FILE *out, const char *name, const bench_peer_measure *m,
                          const bench_peer_figures *f)
{
    (void)fprintf(out, "\"%s\": ", name);
    switch (m->contest) {
    case BENCH_PAIR:
    case BENCH_HAND_OVER:
        (void)fprintf(out, "{\"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f}, ",
                      f->times.middle / 1000, f->times.p99 / 1000, f->times.p999 / 1000);
        break;
    case BENCH_CROWD:
        (void)fprintf(out,
                      "{\"hand_overs_per_s\": %.2f, \"turns_per_s\": %.2f, "
                      "\"commands_per_hand_over\": %.3f, \"server_us_per_hand_over\": %.3f, "
                      "\"fairness\": %.4f}, ",
                      f->rate, f->turns, f->commands, f->server_us, f->fairness);
        break;
    case BENCH_IDLE:
        (void)fprintf(out,
                      "{\"commands_per_waiter_s\": %.4f, \"client_us_per_s\": %.1f, "
                      "\"server_us_per_s\": %.1f}, ",
                      f->rate, f->client_us, f->server_us);
        break;
    }
}

static void write_cell(FILE *out, const bench_peer_measure *m, const bench_peer *peer,
                       const bench_peer_result *r)
{
    double goal = bench_peer_goal(m, peer);

    (void)fprintf(out, "      {\"name\": \"%s\", \"regime\": \"%s\", \"waiters\": %u, ", m->name,
                  bench_regime_name(m->regime), m->waiters);
    bench_json_field(out, "peer", peer->name);
    if (goal > 0)
        (void)fprintf(out, "\"goal\": %.2f, ", goal);
    else
        (void)fputs("\"goal\": null, ", out);
    if (r->was_measured) {
        (void)fprintf(out, "\"ratio\": %.4f, \"rounds\": [", bench_peer_ratio(r));
        for (unsigned i = 0; i < r->rounds; i++)
            (void)fprintf(out, "%s%.4f", i > 0 ? ", " : "", r->ratios[i]);
        (void)fputs("], ", out);
        write_figures(out, "ours", m, &r->ours);
        write_figures(out, "theirs", m, &r->theirs);
    } else
        (void)fputs("\"ratio\": null, \"rounds\": [], \"ours\": null, \"theirs\": null, ", out);
    (void)fputs("\"note\": ", out);
    bench_json_string(out, r->note);
    (void)fputs("}", out);
}

static void write_who(FILE *out, const bench_peer_results *results)
{
    (void)fputs("{\n    \"list\": [", out);
    for (size_t p = 0; p < results->list.count; p++) {
        const bench_peer *peer = &results->list.peers[p];
        (void)fputs(p > 0 ? ",\n      {" : "\n      {", out);
        bench_json_field(out, "name", peer->name);
        bench_json_field(out, "library", peer->origin);
        bench_json_field(out, "absent", peer->why);
        (void)fprintf(out, "\"here\": %s}", peer->why == NULL ? "true" : "false");
    }
    (void)fputs("\n    ],\n    \"measures\": [", out);
}

void bench_report_peers_json(FILE *out, const bench *b, const bench_peer_results *results)
{
    bool is_first = true;

    (void)fputs("  \"peers\": ", out);
    if (results->cells == NULL) {
        (void)fputs("null\n", out);
        return;
    }
    write_who(out, results);
    for (size_t i = 0; i < bench_peer_measures_count; i++)
        for (size_t p = 0; p < results->list.count; p++)
            if (bench_peer_measure_is_wanted(&bench_peer_measures[i], &b->settings)) {
                (void)fputs(is_first ? "\n" : ",\n", out);
                write_cell(out, &bench_peer_measures[i], &results->list.peers[p],
                           bench_peer_cell(results, i, p));
                is_first = false;
            }
    (void)fputs("\n    ]\n  }\n", out);
}
