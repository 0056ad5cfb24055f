/*
 * ours.h -- our side of a duel: a client of the library, and a name that it takes and gives back.
 */
#ifndef BOWLINE_BENCH_SIDES_OURS_H
#define BOWLINE_BENCH_SIDES_OURS_H

#include <bowline/bowline.h>

#include "bench/base/say.h"

/* The name, where one is enough. */
#define BENCH_NAME "bench"

typedef struct bench_ours {
    bowline_client *client;
    const char     *name;
} bench_ours;

/* The URL with protocol=token, if it is one of Redis and says nothing of it: what stands beside us
 * asks the same commands. */
bench_text bench_ours_url(const char *url);

/* Of that URL; all else is as it is by default.  Close with bench_ours_close. */
int  bench_ours_open(bench_ours *ret_ours, const char *url, bench_failure *reterr);
void bench_ours_close(bench_ours *ours);

/* Acquire, release, each awaited.  arg: bench_ours. */
int bench_ours_pair(void *arg, bench_failure *reterr);

/* The same, the release not awaited.  arg: bench_ours. */
int bench_ours_pair_nowait(void *arg, bench_failure *reterr);

/* When a call that cannot fail here has failed. */
int bench_ours_failed(const char *call, const bowline_error *error, bench_failure *reterr);

#endif
