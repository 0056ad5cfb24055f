/*
 * settings.h -- the options of bowline-bench.
 */
#ifndef BOWLINE_BENCH_HARNESS_SETTINGS_H
#define BOWLINE_BENCH_HARNESS_SETTINGS_H

#include <stdbool.h>

typedef struct bench_settings {
    const char *only; /* NULL: everything */
    const char *svg;
    const char *report;
    const char *peers; /* NULL: none */
    const char *query; /* NULL: none */
    char       *bowline;
    unsigned    rounds;
    unsigned    samples;
    unsigned    delay_us;
    unsigned    settle_s;
    bool        is_brief;
    bool        wants_long;
    bool        wants_json;
    bool        is_strict;
    bool        wants_list;
    bool        wants_help;
} bench_settings;

#endif
