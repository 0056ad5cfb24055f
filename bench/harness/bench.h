/*
 * bench.h -- what a measure is, what comes out of it, and what all of them share while they run.
 *
 * A measure compares ours with theirs: the least that a careful program without the library would
 * do for the same thing.  Only the ratio counts.  Both are measured in the same run, in rounds in
 * which they take turns, so that whatever the machine is busy with meets both; the ratio of the
 * measure is the median of the ratios of its rounds.
 */
#ifndef BOWLINE_BENCH_HARNESS_BENCH_H
#define BOWLINE_BENCH_HARNESS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/base/janitor.h"
#include "bench/base/machine.h"
#include "bench/base/say.h"
#include "bench/harness/settings.h"
#include "bench/world/proxy.h"
#include "bench/world/server.h"

typedef struct bench {
    bench_settings settings;
    bench_machine  machine;
    bench_quiet    quiet;
    bench_janitor  janitor;
    bench_server   server;                /* started by the first measure that needs it  */
    bench_proxy    proxy;                 /* likewise                                    */
    char           redis[BENCH_FACT_MAX]; /* its version, or "" if none was needed */
} bench;

/* ---- a measure ------------------------------------------------------------------------------- */

/* Name, how it is said, how it is written. */
#define BENCH_BOUND_MAP(X)      \
    X(AT_MOST, "at most", "<=") \
    X(AT_LEAST, "at least", ">=")

typedef enum bench_bound {
    BENCH_BOUND_NONE = 0,
#define X(name, words, sign) BENCH_##name,
    BENCH_BOUND_MAP(X)
#undef X
} bench_bound;

typedef enum bench_unit {
    BENCH_TIMES = 1,  /* nanoseconds of one operation: percentiles          */
    BENCH_RATES,      /* pairs per second: the median of the rounds         */
    BENCH_UPDATES,    /* updates per second: likewise                       */
    BENCH_BYTES,      /* bytes per lock: likewise                           */
    BENCH_RENEWALS,   /* renewals per second: likewise                      */
    BENCH_HAND_OVERS, /* hand-overs per second: likewise */
    BENCH_COMMANDS,   /* commands: likewise */
    BENCH_TURNS,      /* turns of one waiter: likewise */
    BENCH_PER_CENT,   /* of one CPU: likewise */
} bench_unit;

/* What one side did, over all rounds.  Only times have more than a middle. */
typedef struct bench_figures {
    double middle; /* p50 */
    double p99;
    double p999;
} bench_figures;

/* With --brief, times are divided by so much, and no more wait than that. */
enum { BENCH_ROUNDS_MAX = 99, BENCH_NOTE_MAX = 160, BENCH_BRIEF = 20 };

typedef struct bench_result {
    bool          was_measured;
    bool          is_spoilt; /* the note says what counts against it, whatever the ratio       */
    unsigned      rounds;
    double        ratios[BENCH_ROUNDS_MAX];
    bench_figures ours;
    bench_figures theirs;
    char          note[BENCH_NOTE_MAX]; /* why it was not measured, or what else is to be said */
} bench_result;

typedef struct bench_measure bench_measure;

/* Fills in the result, or says why it cannot be measured here; below 0 when something failed. */
typedef int bench_measuring(bench *b, const bench_measure *measure, bench_result *ret_result,
                            bench_failure *reterr);

struct bench_measure {
    const char      *name;
    bench_regime     regime;
    bench_unit       unit;
    const char      *ours;   /* what is measured   */
    const char      *theirs; /* what it is set against */
    const char      *means;  /* a sentence or two for the report */
    bench_bound      bound;
    double           goal;
    double           stretch;      /* 0: none */
    unsigned         threads;      /* 0: not a matter of threads */
    unsigned         count;        /* of locks, waiters or keys, where the measure wants to know */
    bool             is_long;      /* seconds for a round */
    bool             is_unawaited; /* the release */
    bool             is_busy;      /* every CPU, with something else */
    const char      *query;        /* what the URL of ours says; NULL: nothing */
    bench_measuring *run;
};

/* Is it one of those that were asked for: by its name, or by the beginning of it before a '-'?
 * What is long is only measured when it is asked for, or with --long. */
bool bench_measure_is_named(const bench_measure *measure, const char *name);
bool bench_measure_is_wanted(const bench_measure *measure, const bench_settings *s);
bool bench_name_begins(const char *whole, const char *name);
bool bench_name_is_wanted(const char *whole, const char *only);

/* The query of the URL of a measure of the queue. */
#define BENCH_QUEUE_QUERY "protocol=queue"

/* ---- a verdict ------------------------------------------------------------------------------- */

/* The median of the rounds, to the two places that are shown: it is met or not as it is read. */
double bench_result_ratio(const bench_result *result);
bool   bench_reaches(const bench_measure *measure, const bench_result *result, double goal);
bool   bench_is_met(const bench_measure *measure, const bench_result *result);
bool   bench_stretch_is_met(const bench_measure *measure, const bench_result *result);

/* "not measured", "not met", "met", "met, and 0.95". */
bench_text bench_verdict(const bench_measure *measure, const bench_result *result);

const char *bench_bound_words(bench_bound bound);
const char *bench_bound_sign(bench_bound bound);

/* ---- shared things --------------------------------------------------------------------------- */

/* Starts what is missing and puts everything in its place.  redis://... of the server in ret_url,
 * through the proxy in its regime. */
int bench_need_server(bench *b, bench_regime regime, bench_text *ret_url, bench_failure *reterr);

/* Where locks of file: are, below the janitor's directory: file:DIRECTORY. */
int bench_need_lock_directory(bench *b, bench_text *ret_url, bench_failure *reterr);

/* For a measure that this machine cannot take: always 0. */
int bench_leave_out(bench_result *ret_result, const char *why);

#endif
