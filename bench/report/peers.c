/*
 * peers.c -- writes the peers on the terminal and as a section of the page.
 */
#include <stdio.h>
#include <string.h>

#include "bench/base/stats.h"
#include "bench/duel/peers.h"
#include "bench/report/report.h"
#include "core/core.h"

static bool is_timed(const bench_peer_measure *m)
{
    return m->contest == BENCH_PAIR || m->contest == BENCH_HAND_OVER;
}

static const char *ratio_of_what(const bench_peer_measure *m)
{
    switch (m->contest) {
    case BENCH_PAIR: return "time of a pair";
    case BENCH_HAND_OVER: return "time of a hand-over";
    case BENCH_CROWD: return "hand-overs per second";
    case BENCH_IDLE: return "commands per waiter and second";
    }
    bwl_unreachable("a contest outside of its enum");
}

/* "<= 0.50, met", or nothing. */
static bench_text goal_text(const bench_peer_measure *m, const bench_peer *peer,
                            const bench_peer_result *r)
{
    double goal = bench_peer_goal(m, peer);

    if (goal <= 0)
        return bench_text_of("%s", "");
    return bench_text_of("at most %.2f: %s", goal,
                         bench_peer_ratio(r) <= goal + 0.005 ? "met" : "not met");
}

static bench_text figures_text(const bench_peer_measure *m, const bench_peer_figures *f)
{
    if (is_timed(m))
        return bench_text_of("%s / %s us", bench_number_text(f->times.middle / 1000).text,
                             bench_number_text(f->times.p99 / 1000).text);
    if (m->contest == BENCH_CROWD)
        return bench_text_of("%s /s (%s turns), %s cmds, %s us, %.2f",
                             bench_number_text(f->rate).text, bench_number_text(f->turns).text,
                             bench_number_text(f->commands).text,
                             bench_number_text(f->server_us).text, f->fairness);
    return bench_text_of("%s, client %.2f %%, server %.2f %%", bench_number_text(f->rate).text,
                         f->client_us / 1e4, f->server_us / 1e4);
}

void bench_report_peers_list(FILE *out)
{
    (void)fputs("\nWith --peers FILE, against each program of the list:\n", out);
    for (size_t i = 0; i < bench_peer_measures_count; i++)
        (void)fprintf(out, "%-18s %s\n", bench_peer_measures[i].name,
                      ratio_of_what(&bench_peer_measures[i]));
}

/* ---- the table ------------------------------------------------------------------------------- */

static void write_cell(FILE *out, const bench_peer_measure *m, const bench_peer *peer,
                       const bench_peer_result *r)
{
    if (!r->was_measured) {
        (void)fprintf(out, "  %-18s %8s  %s\n", peer->name, "-", r->note);
        return;
    }
    (void)fprintf(out, "  %-18s %8s  %-46s | %-46s %s\n", peer->name,
                  bench_number_text(bench_peer_ratio(r)).text, figures_text(m, &r->ours).text,
                  figures_text(m, &r->theirs).text, goal_text(m, peer, r).text);
}

void bench_report_peers_table(FILE *out, const bench *b, const bench_peer_results *results)
{
    if (results->cells == NULL)
        return;
    for (size_t i = 0; i < bench_peer_measures_count; i++) {
        const bench_peer_measure *m = &bench_peer_measures[i];
        if (!bench_peer_measure_is_wanted(m, &b->settings))
            continue;
        (void)fprintf(out, "\n%s, ratio of %s; ours | theirs\n", m->name, ratio_of_what(m));
        for (size_t p = 0; p < results->list.count; p++)
            write_cell(out, m, &results->list.peers[p], bench_peer_cell(results, i, p));
    }
    (void)fputs(
        "\npairs and hand-overs: p50 / p99.  Of waiters: hand-overs per second (and turns), "
        "commands and\nserver CPU per hand-over, fairness.\n",
        out);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void write_who(FILE *out, const bench_peer_results *results)
{
    (void)fputs("| peer | library | |\n|---|---|---|\n", out);
    for (size_t p = 0; p < results->list.count; p++) {
        const bench_peer *peer = &results->list.peers[p];
        (void)fprintf(out, "| %s | %s | %s%s |\n", peer->name, peer->origin,
                      peer->why != NULL ? "absent: " : "here", peer->why != NULL ? peer->why : "");
    }
}

static void write_head(FILE *out, const bench_peer_measure *m)
{
    (void)fprintf(out, "\n### %s\n\n%s", m->name, m->means);
    switch (m->contest) {
    case BENCH_PAIR:
    case BENCH_HAND_OVER:
        (void)fputs(" Times are p50 / p99.\n\n| peer | ratio of p50 | goal | ratio of p99 | ours | "
                    "theirs |\n|---|---|---|---|---|---|\n",
                    out);
        break;
    case BENCH_CROWD:
        (void)fprintf(out,
                      " %u waiters.\n\n| peer | ratio | hand-overs/s ours, theirs | turns/s | "
                      "commands per hand-over | server CPU per hand-over | fairness |\n"
                      "|---|---|---|---|---|---|---|\n",
                      m->waiters);
        break;
    case BENCH_IDLE:
        (void)fprintf(out,
                      " %u waiters.\n\n| peer | ratio | commands per waiter and second: ours, "
                      "theirs | CPU of the waiters | CPU of the server |\n|---|---|---|---|---|\n",
                      m->waiters);
        break;
    }
}

static void write_row(FILE *out, const bench_peer_measure *m, const bench_peer *peer,
                      const bench_peer_result *r)
{
    const bench_peer_figures *o = &r->ours, *t = &r->theirs;

    (void)fprintf(out, "| %s | ", peer->name);
    if (!r->was_measured) {
        (void)fprintf(out, "- | %s |\n", r->note);
        return;
    }
    (void)fprintf(out, "**%s** | ", bench_number_text(bench_peer_ratio(r)).text);
    switch (m->contest) {
    case BENCH_PAIR:
    case BENCH_HAND_OVER:
        (void)fprintf(out, "%s | %s | %s | %s |\n", goal_text(m, peer, r).text,
                      bench_number_text(r->ratio_p99).text, figures_text(m, o).text,
                      figures_text(m, t).text);
        break;
    case BENCH_CROWD:
        (void)fprintf(out, "%s, %s | %s, %s | %s, %s | %s, %s us | %.2f, %.2f |\n",
                      bench_number_text(o->rate).text, bench_number_text(t->rate).text,
                      bench_number_text(o->turns).text, bench_number_text(t->turns).text,
                      bench_number_text(o->commands).text, bench_number_text(t->commands).text,
                      bench_number_text(o->server_us).text, bench_number_text(t->server_us).text,
                      o->fairness, t->fairness);
        break;
    case BENCH_IDLE:
        (void)fprintf(out, "%s, %s | %.2f %%, %.2f %% | %.2f %%, %.2f %% |\n",
                      bench_number_text(o->rate).text, bench_number_text(t->rate).text,
                      o->client_us / 1e4, t->client_us / 1e4, o->server_us / 1e4,
                      t->server_us / 1e4);
        break;
    }
}

/* Our figure for a number of waiters: the median over all peers; 0: none. */
static double ours_alone(const bench_peer_results *results, size_t row)
{
    double values[BENCH_PEERS_MAX];
    size_t count = 0;

    for (size_t p = 0; p < results->list.count; p++) {
        const bench_peer_result *r = bench_peer_cell(results, row, p);
        if (r->was_measured)
            values[count++] = r->ours.rate;
    }
    return count > 0 ? bench_median(values, count) : 0;
}

/* No crowds if only pairs and hand-overs were requested. */
static void write_scaling(FILE *out, const bench_peer_results *results)
{
    double few      = 0;
    bool   is_there = false;

    for (size_t i = 0; i < bench_peer_measures_count; i++)
        is_there |= bench_peer_measures[i].contest == BENCH_CROWD && ours_alone(results, i) > 0;
    if (!is_there)
        return;
    (void)fputs("\n### Ours by the number of waiters\n\nThe median of what was measured beside "
                "each peer. At 1,000, at least 0.80 of what it is with 2.\n\n"
                "| waiters | hand-overs/s | of those with 2 |\n|---|---|---|\n",
                out);
    for (size_t i = 0; i < bench_peer_measures_count; i++) {
        const bench_peer_measure *m    = &bench_peer_measures[i];
        double                    rate = ours_alone(results, i);
        if (m->contest != BENCH_CROWD || rate <= 0)
            continue;
        few = few > 0 ? few : rate;
        (void)fprintf(out, "| %u | %s | %.2f |\n", m->waiters, bench_number_text(rate).text,
                      rate / few);
    }
}

void bench_report_peers_markdown(FILE *out, const bench *b, const bench_peer_results *results)
{
    (void)fputs("\n## Beside other libraries\n\n", out);
    if (results->cells == NULL) {
        (void)fputs("Absent: this run was made without them. `make bench-peers` fetches them and "
                    "compares.\n",
                    out);
        return;
    }
    (void)fprintf(
        out,
        "Each through its own public API, in a program of its own that times itself; "
        "ours is such a program too%s%s. Two\nprograms of each side run, and the sides "
        "take turns: a ratio is ours / theirs within a round, and what is shown is the\n"
        "median of the rounds: %u, and one with 1,000 waiters. "
        "[bench/peers](../../bench/peers/README.md) says how each one "
        "waits. The times of all holds are recorded and\nchecked: a lock with two holders "
        "at once gets no figure. The machine before the run: %s.\n\n",
        b->settings.query != NULL ? ", with " : "",
        b->settings.query != NULL ? b->settings.query : "",
        b->settings.rounds < BENCH_PEER_ROUNDS_MAX ? b->settings.rounds : BENCH_PEER_ROUNDS_MAX,
        bench_quiet_text(b).text);
    write_who(out, results);
    for (size_t i = 0; i < bench_peer_measures_count; i++) {
        const bench_peer_measure *m = &bench_peer_measures[i];
        if (!bench_peer_measure_is_wanted(m, &b->settings))
            continue;
        write_head(out, m);
        for (size_t p = 0; p < results->list.count; p++)
            if (results->list.peers[p].why == NULL &&
                (m->contest == BENCH_HAND_OVER || strcmp(results->list.peers[p].name, "PING") != 0))
                write_row(out, m, &results->list.peers[p], bench_peer_cell(results, i, p));
    }
    write_scaling(out, results);
}
