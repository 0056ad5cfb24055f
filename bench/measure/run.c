/*
 * run.c -- run-file and run-redis: the cost of `bowline run` for a command, compared with flock(1).
 *
 * The command is true(1). Three ways to start it are timed in turn, from the start to the wait; the
 * time of `true` alone is subtracted.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/ours.h"

enum { TIMES = 200, WARM_UP = 5 };

typedef enum way { ALONE = 0, FLOCK, BOWLINE, WAYS } way;

typedef struct programs {
    char      *true_path;
    char      *flock_path;
    bench_text lock_file;
    bench_text url;  /* BOWLINE_URL=... */
    bench_text home; /* HOME=..., without a config file */
    char      *environment[4];
    char      *words[WAYS][8];
} programs;

static int find_programs(programs *p, bench *b, const char *url, bench_failure *reterr)
{
    char *bowline = b->settings.bowline;

    p->true_path  = bench_find_program("true");
    p->flock_path = bench_find_program("flock");
    p->lock_file  = bench_text_of("%s/run", b->janitor.directory);
    p->url        = bench_text_of("BOWLINE_URL=%s", bench_ours_url(url).text);
    p->home       = bench_text_of("HOME=%s", b->janitor.directory);
    if (p->true_path == NULL || p->flock_path == NULL || access(bowline, X_OK) != 0)
        return bench_fail(
            reterr, (bench_failure){
                        .what = bench_text_of("%s cannot be found", p->true_path == NULL ? "true(1)"
                                                                    : p->flock_path == NULL
                                                                        ? "flock(1)"
                                                                        : "the bowline command"),
                        .why  = bench_text_of("it is not in $PATH, or not %s", bowline),
                        .type = bench_text_of("type: bowline-bench --bowline FILE"),
                    });
    char       *environment[]  = { p->url.text, p->home.text, "PATH=/usr/bin:/bin", NULL };
    char *const words[WAYS][8] = {
        [ALONE]   = { p->true_path, NULL },
        [FLOCK]   = { p->flock_path, p->lock_file.text, p->true_path, NULL },
        [BOWLINE] = { bowline, "run", "bench", p->true_path, NULL },
    };
    memcpy(p->environment, environment, sizeof environment);
    memcpy(p->words, words, sizeof words);
    return 0;
}

static int time_one(int64_t *ret_ns, programs *p, way which, bench_failure *reterr)
{
    posix_spawnattr_t as;
    sigset_t          pipe;
    pid_t             child;
    int               ended;

    /* The benchmark ignores SIGPIPE; children must not inherit that. */
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)posix_spawnattr_init(&as);
    (void)posix_spawnattr_setsigdefault(&as, &pipe);
    (void)posix_spawnattr_setflags(&as, POSIX_SPAWN_SETSIGDEF);

    char  **words = p->words[which];
    int64_t began = bench_now_ns();
    errno         = posix_spawn(&child, words[0], NULL, &as, words, p->environment);
    int status    = errno;
    if (status == 0)
        while (waitpid(child, &ended, 0) < 0 && errno == EINTR)
            ;
    int64_t took = bench_now_ns() - began;
    (void)posix_spawnattr_destroy(&as);
    if (status != 0)
        return bench_fail_errno(reterr, bench_text_of("cannot start %s", words[0]));
    if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0)
        return bench_fail(reterr, (bench_failure){
                                      .what = bench_text_of("%s failed", words[0]),
                                      .why  = bench_text_of("it ended with status %d", ended),
                                      .type = bench_text_of("type: %s %s", p->url.text, words[0]),
                                  });
    *ret_ns = took;
    return 0;
}

/* Each way once; the first one changes. */
static int time_all(int64_t ret_ns[WAYS], programs *p, unsigned turn, bench_failure *reterr)
{
    for (unsigned i = 0; i < WAYS; i++) {
        way which = (way)((turn + i) % WAYS);
        if (time_one(&ret_ns[which], p, which, reterr) < 0)
            return -1;
    }
    return 0;
}

static int take_samples(bench_samples samples[WAYS], programs *p, bench_failure *reterr)
{
    int64_t took[WAYS];

    for (unsigned i = 0; i < TIMES; i++) {
        if (time_all(took, p, i, reterr) < 0)
            return -1;
        for (unsigned w = FLOCK; w < WAYS; w++)
            bench_samples_add(&samples[w], took[w] - took[ALONE]);
    }
    return 0;
}

static int fight(bench_result *ret_result, programs *p, const bench_measure *measure,
                 unsigned rounds, bench_failure *reterr)
{
    bench_result  result        = { .was_measured = true, .rounds = rounds };
    bench_samples samples[WAYS] = { { 0 } };
    int64_t       took[WAYS];
    int           status = -1;

    for (unsigned i = 0; i < WARM_UP; i++)
        if (time_all(took, p, i, reterr) < 0)
            goto out;
    for (unsigned r = 0; r < rounds; r++) {
        size_t first = samples[FLOCK].count;
        bench_progress("%s: round %u of %u", measure->name, r + 1, rounds);
        for (unsigned w = FLOCK; w < WAYS; w++)
            if (!bench_samples_reserve(&samples[w], TIMES)) {
                (void)bench_fail_errno(reterr, bench_text_of("no memory for samples"));
                goto out;
            }
        if (take_samples(samples, p, reterr) < 0)
            goto out;
        result.ratios[r] = (double)bench_percentile(&samples[BOWLINE], first, 500) /
                           (double)bench_percentile(&samples[FLOCK], first, 500);
    }
    result.ours   = bench_figures_of(&samples[BOWLINE]);
    result.theirs = bench_figures_of(&samples[FLOCK]);
    *ret_result   = result;
    status        = 0;
out:
    for (unsigned w = FLOCK; w < WAYS; w++)
        bench_samples_free(&samples[w]);
    return status;
}

static int measure_run(bench *b, const bench_measure *measure, const char *url,
                       bench_result *ret_result, bench_failure *reterr)
{
    programs p      = { .true_path = NULL };
    int      status = find_programs(&p, b, url, reterr);

    if (status == 0)
        status = fight(ret_result, &p, measure, b->settings.rounds, reterr);
    free(p.true_path);
    free(p.flock_path);
    return status;
}

int bench_measure_run_file(bench *b, const bench_measure *measure, bench_result *ret_result,
                           bench_failure *reterr)
{
    bench_text url;

    bench_place(&b->machine, measure->regime, 0);
    if (bench_use_lock_directory(b, &url, reterr) < 0)
        return -1;
    return measure_run(b, measure, url.text, ret_result, reterr);
}

int bench_measure_run_redis(bench *b, const bench_measure *measure, bench_result *ret_result,
                            bench_failure *reterr)
{
    bench_text url;

    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    return measure_run(b, measure, url.text, ret_result, reterr);
}
