/*
 * say.h -- messages of the benchmark: a line of progress on a terminal, and three lines for an
 * error.
 *
 *      bowline-bench: what happened
 *      bowline-bench: why
 *      bowline-bench: what to type, or where to look
 */
#ifndef BOWLINE_BENCH_BASE_SAY_H
#define BOWLINE_BENCH_BASE_SAY_H

#include <stdbool.h>

enum { BENCH_TEXT_MAX = 320 };

/* A short text that is passed by value; a longer one is cut off. */
typedef struct bench_text {
    char text[BENCH_TEXT_MAX];
} bench_text;

bench_text bench_text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An error message. */
typedef struct bench_failure {
    bench_text what;
    bench_text why;
    bench_text type;
} bench_failure;

/* For `return bench_fail(reterr, (bench_failure){ ... })`: always -1. */
int bench_fail(bench_failure *reterr, bench_failure happened);

/* The same for a system call; errno gives the reason. */
int bench_fail_errno(bench_failure *reterr, bench_text what);

void bench_say_failure(const bench_failure *happened);

/* Replaces the line of progress, if standard error is a terminal. */
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_progress_end(void);

#endif
