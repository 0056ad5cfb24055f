/*
 * peers.h -- the locks of other libraries beside ours: the list, the measures, the results.
 *
 * Each peer is a driver program (bench/peers/README.md), and so is ours, so that both sides are
 * measured in the same way. Two drivers of each side run; the sides alternate.
 */
#ifndef BOWLINE_BENCH_DUEL_PEERS_H
#define BOWLINE_BENCH_DUEL_PEERS_H

#include <stdio.h>

#include "bench/harness/bench.h"

enum {
    BENCH_PEERS_MAX       = 32,
    BENCH_WORDS_MAX       = 16,
    BENCH_PEER_ROUNDS_MAX = 3, /* each is long */
};

/* One line of the list that tools/peers makes. */
typedef struct bench_peer {
    const char *name;
    const char *origin; /* and its version */
    const char *why;    /* why it is absent; NULL: present */
    const char *words[BENCH_WORDS_MAX];
    bool        was_checked; /* mutual exclusion was checked */
    char        fault[BENCH_NOTE_MAX];
} bench_peer;

typedef struct bench_peer_list {
    bench_peer peers[BENCH_PEERS_MAX];
    size_t     count;
    char      *text; /* the text that the peers point into */
} bench_peer_list;

/* Free with bench_peer_list_free. */
int  bench_peer_list_read(bench_peer_list *ret_list, const char *path, bench_failure *reterr);
void bench_peer_list_free(bench_peer_list *list);

/* ---- what is measured ------------------------------------------------------------------------ */

typedef enum bench_contest {
    BENCH_PAIR = 1,  /* acquire and release without contention */
    BENCH_HAND_OVER, /* from release to the return of acquire in the other driver */
    BENCH_CROWD,     /* many waiters that acquire again and again */
    BENCH_IDLE,      /* many waiters, the holder does not release */
} bench_contest;

typedef struct bench_peer_measure {
    const char   *name;
    bench_contest contest;
    bench_regime  regime;
    unsigned      waiters;
    const char   *means;
} bench_peer_measure;

extern const bench_peer_measure bench_peer_measures[];
extern const size_t             bench_peer_measures_count;

bool bench_peer_measure_is_named(const bench_peer_measure *measure, const char *name);
bool bench_peer_measure_is_wanted(const bench_peer_measure *measure, const bench_settings *s);

/* The figures of one side. For a crowd, medians of the rounds. */
typedef struct bench_peer_figures {
    bench_figures times;    /* pair and hand-over: nanoseconds                                    */
    double        rate;     /* crowd: hand-overs per second; idle: commands per waiter and second */
    double        commands; /* crowd: per hand-over, without those inside of scripts */
    double        server_us; /* crowd: CPU time of the server per hand-over; idle: per second */
    double        client_us; /* idle: CPU time of the waiters per second */
    double        fairness;  /* crowd: fewest turns of a waiter / most turns */
    double        turns;     /* crowd: turns per second, including those from a waiter to itself */
} bench_peer_figures;

/* One measure against one peer. */
typedef struct bench_peer_result {
    bool               was_measured;
    unsigned           rounds;
    double             ratios[BENCH_PEER_ROUNDS_MAX];
    double             ratio_p99; /* pair and hand-over: of all samples */
    bench_peer_figures ours;
    bench_peer_figures theirs;
    char               note[BENCH_NOTE_MAX]; /* why it was not measured */
} bench_peer_result;

/* bench_peer_measures_count rows of peers->count. */
typedef struct bench_peer_results {
    bench_peer_list    list;
    bench_peer_result *cells; /* NULL: no peers requested */
} bench_peer_results;

bench_peer_result *bench_peer_cell(const bench_peer_results *results, size_t measure, size_t peer);

/* Runs all requested measures. Free with bench_peer_results_free, also after a failure. */
int  bench_measure_peers(bench *b, bench_peer_results *ret_results, bench_failure *reterr);
void bench_peer_results_free(bench_peer_results *results);

/* The goal for the ratio, or 0. */
double bench_peer_goal(const bench_peer_measure *measure, const bench_peer *peer);
double bench_peer_ratio(const bench_peer_result *result);

/* ---- reports --------------------------------------------------------------------------------- */

void bench_report_peers_list(FILE *out);
void bench_report_peers_table(FILE *out, const bench *b, const bench_peer_results *results);
void bench_report_peers_json(FILE *out, const bench *b, const bench_peer_results *results);
void bench_report_peers_markdown(FILE *out, const bench *b, const bench_peer_results *results);

#endif
