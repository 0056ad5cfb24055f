/*
 * options.h -- what can be said on the command line.  One table: the parser and the help are made
 * from it.
 */
#ifndef BOWLINE_BENCH_OPTIONS_H
#define BOWLINE_BENCH_OPTIONS_H

#include <stdio.h>

#include "bench/base/say.h"
#include "bench/harness/settings.h"

/* Name; argument, or NULL; what it does. */
#define BENCH_OPTION_MAP(X)                                                               \
    X(ONLY, "only", "NAME,...", "only these measures; threads-4 means both of that name") \
    X(ROUNDS, "rounds", "N", "how many rounds, 1 to 99 (9)")                              \
    X(JSON, "json", NULL, "write one JSON object instead of the table")                   \
    X(SVG, "svg", "FILE", "draw the ratios as well")                                      \
    X(REPORT, "report", "FILE", "write a page in Markdown as well")                       \
    X(STRICT, "strict", NULL, "exit 1 if a goal was not met")                             \
    X(DELAY, "delay", "US", "of the proxy, each way, in us: 1 to 100000 (1000)")          \
    X(SETTLE, "settle", "SECONDS", "how long to wait for a quiet machine, 0 to 600 (30)") \
    X(PEERS, "peers", "FILE", "and the peers of this list, which tools/peers makes")      \
    X(QUERY, "query", "TEXT", "of our URL beside peers: protocol=queue")                  \
    X(SAMPLES, "samples", "N", "hand-overs of a peer in a round, 1 to 1000 (10)")         \
    X(LONG, "long", NULL, "and what takes seconds for a round (five minutes more)")       \
    X(BRIEF, "brief", NULL, "for an instant: to see that it works; no figures")           \
    X(BOWLINE, "bowline", "FILE", "the command to measure (the one beside this program)") \
    X(LIST, "list", NULL, "say what is measured, and the goals")                          \
    X(HELP, "help", NULL, "this text")

/* Borrows from argv.  What is in ret_settings->bowline is the caller's to free. */
int bench_options_read(bench_settings *ret_settings, int argc, char **argv, bench_failure *reterr);

void bench_options_help(FILE *out);

#endif
