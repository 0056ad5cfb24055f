/*
 * ours.h -- the side of the library: a client, and a lock that it acquires and releases.
 */
#ifndef BOWLINE_BENCH_SIDES_OURS_H
#define BOWLINE_BENCH_SIDES_OURS_H

#include <bowline/bowline.h>

#include "bench/base/say.h"

/* The name, if one is enough. */
#define BENCH_NAME "bench"

typedef struct bench_ours {
    bowline_client *client;
    const char     *name;
} bench_ours;

/* The URL with protocol=token if it is a Redis URL without a protocol, so that both sides send the
 * same commands. */
bench_text bench_ours_url(const char *url);

/* Opens the URL with default options. Close with bench_ours_close. */
int  bench_ours_open(bench_ours *ret_ours, const char *url, bench_failure *reterr);
void bench_ours_close(bench_ours *ours);

/* Acquires and releases, and waits for each. arg: bench_ours. */
int bench_ours_pair(void *arg, bench_failure *reterr);

/* The same without waiting for the release. arg: bench_ours. */
int bench_ours_pair_nowait(void *arg, bench_failure *reterr);

/* The same of a lock that others may share. arg: bench_ours. */
int bench_ours_shared_pair(void *arg, bench_failure *reterr);

/* The failure of a call that should not fail here. */
int bench_ours_failed(const char *call, const bowline_error *error, bench_failure *reterr);

#endif
