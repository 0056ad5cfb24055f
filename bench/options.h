/*
 * options.h -- the command line of bowline-bench. The parser and the help are made from one table.
 */
#ifndef BOWLINE_BENCH_OPTIONS_H
#define BOWLINE_BENCH_OPTIONS_H

#include <stdio.h>

#include "bench/base/say.h"
#include "bench/harness/settings.h"

/* Name; argument, or NULL; help. */
#define BENCH_OPTION_MAP(X)                                                               \
    X(ONLY, "only", "NAME,...", "only these measures; threads-4 selects all threads-4-*") \
    X(ROUNDS, "rounds", "N", "number of rounds, 1 to 99 (9)")                             \
    X(JSON, "json", NULL, "write one JSON object instead of the table")                   \
    X(SVG, "svg", "FILE", "also draw the ratios")                                         \
    X(REPORT, "report", "FILE", "also write a page in Markdown")                          \
    X(STRICT, "strict", NULL, "exit 1 if a goal was not met")                             \
    X(DELAY, "delay", "US", "delay of the proxy each way, 1 to 100000 us (1000)")         \
    X(SETTLE, "settle", "SECONDS", "wait at most this long for a quiet machine (30)")     \
    X(PEERS, "peers", "FILE", "also measure the peers of this list (tools/peers)")        \
    X(QUERY, "query", "TEXT", "options of our URL beside peers: protocol=queue")          \
    X(SAMPLES, "samples", "N", "hand-overs of a peer per round, 1 to 1000 (10)")          \
    X(LONG, "long", NULL, "also the long measures (five minutes more)")                   \
    X(BRIEF, "brief", NULL, "a short test run, its figures mean nothing")                 \
    X(BOWLINE, "bowline", "FILE", "the command to measure (the one beside this program)") \
    X(LIST, "list", NULL, "list the measures and their goals")                            \
    X(HELP, "help", NULL, "show this help")

/* Borrows from argv. The caller frees ret_settings->bowline. */
int bench_options_read(bench_settings *ret_settings, int argc, char **argv, bench_failure *reterr);

void bench_options_help(FILE *out);

#endif
