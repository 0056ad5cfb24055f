/*
 * metrics.h -- the numbers of one `bowline run` as a file that Prometheus can read.
 *
 * The file is in the text exposition format, version 0.0.4, for the textfile collector of
 * node_exporter.  It is written when the lock is acquired, so that a command that hangs is seen,
 * and again at the end.  A reader sees the old file or the new one, never a part: a temporary file
 * in the same directory is renamed.  A file that cannot be written is a warning, once, and changes
 * nothing else.
 *
 * Each number is about the last run, so it is a gauge: a counter must not fall.
 */
#pragma once

#include <bowline/bowline.h>

#include <stdbool.h>
#include <stdint.h>

#include "cli/settings/options.h"

typedef struct metrics {
    metrics_options options;
    int64_t         begun_at;      /* by loop_now() */
    int64_t         begun_wall_ms; /* since 1970 */
    bool            has_warned;
} metrics;

/* What only the end of the run shows. */
typedef struct metrics_end {
    int64_t held_ms; /* 0: not acquired */
    int     code;
    bool    was_lost;
} metrics_end;

/* Without --metrics-file, these do nothing.  `client` may be NULL. */
void metrics_begin(metrics *ret_metrics, const metrics_options *options);
void metrics_acquired(metrics *m, bowline_client *client);
void metrics_ended(metrics *m, bowline_client *client, const metrics_end *end);
