/*
 * bench.h -- what a measure is, its result, and what measures share while they run.
 *
 * A measure compares the library with the least code that does the same without it.  Only the ratio
 * counts.  Both sides run in the same process, in rounds in which they alternate, so that other
 * load affects both; the ratio of a measure is the median of the ratios of its rounds.
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
    bench_server   server;                /* started by the first measure that needs it */
    bench_proxy    proxy;                 /* started by the first measure that needs it */
    char           redis[BENCH_FACT_MAX]; /* version, or "" if no measure needed it */
} bench;

/* ---- a measure ------------------------------------------------------------------------------- */

/* Name, in words, as a sign. */
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
    BENCH_TIMES = 1,  /* nanoseconds of one operation: percentiles  */
    BENCH_RATES,      /* pairs per second: the median of the rounds */
    BENCH_UPDATES,    /* updates per second: likewise               */
    BENCH_BYTES,      /* bytes per lock: likewise                   */
    BENCH_RENEWALS,   /* renewals per second: likewise              */
    BENCH_HAND_OVERS, /* hand-overs per second: likewise            */
    BENCH_COMMANDS,   /* commands: likewise                         */
    BENCH_TURNS,      /* turns of one waiter: likewise              */
    BENCH_PER_CENT,   /* of one CPU: likewise                       */
} bench_unit;

/* The figures of one side over all rounds.  Only times have percentiles. */
typedef struct bench_figures {
    double middle; /* p50 */
    double p99;
    double p999;
} bench_figures;

/* --brief divides times and numbers of waiters by this. */
enum { BENCH_ROUNDS_MAX = 99, BENCH_NOTE_MAX = 160, BENCH_BRIEF = 20 };

typedef struct bench_result {
    bool          was_measured;
    bool          is_invalid; /* invalid whatever the ratio; the note says why */
    unsigned      rounds;
    double        ratios[BENCH_ROUNDS_MAX];
    bench_figures ours;
    bench_figures theirs;
    char          note[BENCH_NOTE_MAX]; /* why it was not measured, or a remark */
} bench_result;

typedef struct bench_measure bench_measure;

/* Fills in the result, or its note if this machine cannot measure it; below 0 on failure. */
typedef int bench_measuring(bench *b, const bench_measure *measure, bench_result *ret_result,
                            bench_failure *reterr);

struct bench_measure {
    const char      *name;
    bench_regime     regime;
    bench_unit       unit;
    const char      *ours;   /* what is measured                 */
    const char      *theirs; /* what it is compared with         */
    const char      *means;  /* a sentence or two for the report */
    bench_bound      bound;
    double           goal;
    double           stretch;   /* 0: none */
    unsigned         threads;   /* 0: does not apply */
    unsigned         count;     /* of locks, waiters or keys, if the measure needs it */
    bool             is_long;   /* a round takes seconds */
    bool             is_nowait; /* does not wait for the release */
    bool             is_busy;   /* keeps every CPU busy */
    const char      *query;     /* options of our URL; NULL: none */
    bench_measuring *run;
};

/* True if the user asked for the measure, by its name or the part before a '-'. A long measure must
 * be named, or needs --long. */
bool bench_measure_is_named(const bench_measure *measure, const char *name);
bool bench_measure_is_wanted(const bench_measure *measure, const bench_settings *s);
bool bench_name_begins(const char *whole, const char *name);
bool bench_name_is_wanted(const char *whole, const char *only);

/* URL options for a measure of the queue. */
#define BENCH_QUEUE_QUERY "protocol=queue"

/* ---- a verdict ------------------------------------------------------------------------------- */

/* The median of the rounds, rounded to two places as printed, so the verdict matches the figure. */
double bench_result_ratio(const bench_result *result);
bool   bench_reaches(const bench_measure *measure, const bench_result *result, double goal);
bool   bench_is_met(const bench_measure *measure, const bench_result *result);
bool   bench_stretch_is_met(const bench_measure *measure, const bench_result *result);

/* "not measured", "not met", "met", "met, and 0.95". */
bench_text bench_verdict(const bench_measure *measure, const bench_result *result);

const char *bench_bound_words(bench_bound bound);
const char *bench_bound_sign(bench_bound bound);

/* ---- shared things --------------------------------------------------------------------------- */

/* Starts the server, and the proxy if the regime needs it, and pins all. ret_url is redis://... */
int bench_use_server(bench *b, bench_regime regime, bench_text *ret_url, bench_failure *reterr);

/* file:DIRECTORY, below the directory of the janitor. */
int bench_use_lock_directory(bench *b, bench_text *ret_url, bench_failure *reterr);

/* The result of a measure that this machine cannot take.  Returns 0. */
int bench_skip(bench_result *ret_result, const char *why);

#endif
