/*
 * local.c -- file-pair and thread-pair: an uncontended local lock, compared with the system call
 * and the mutex below it.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/ours.h"

enum {
    FILE_SAMPLES   = 4000,
    THREAD_SAMPLES = 1000,
    TURN           = 100,
    THREAD_BATCH   = 100, /* a mutex takes less time than reading the clock */
};

/* ---- file ------------------------------------------------------------------------------------ */

/* What flock(1) does between start and end. arg: the path. */
static int flock_pair(void *arg, bench_failure *reterr)
{
    const char *path = arg;
    int         fd   = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return bench_fail_errno(reterr, bench_text_of("cannot open %s", path));
    int status = flock(fd, LOCK_EX | LOCK_NB);
    if (status != 0)
        (void)bench_fail_errno(reterr, bench_text_of("cannot lock %s", path));
    (void)close(fd);
    return status;
}

int bench_measure_file_pair(bench *b, const bench_measure *measure, bench_result *ret_result,
                            bench_failure *reterr)
{
    bench_ours ours = { 0 };
    bench_text url;
    bench_text path = bench_text_of("%s/flock", b->janitor.directory);

    bench_place(&b->machine, measure->regime, 0);
    if (bench_use_lock_directory(b, &url, reterr) < 0 ||
        bench_ours_open(&ours, url.text, reterr) < 0)
        return -1;
    bench_duel duel = {
        .name    = measure->name,
        .ours    = { .step = bench_ours_pair, .arg = &ours },
        .theirs  = { .step = flock_pair, .arg = path.text },
        .rounds  = b->settings.rounds,
        .samples = FILE_SAMPLES,
        .turn    = TURN,
        .batch   = 1,
    };
    int status = bench_fight(ret_result, &duel, reterr);
    bench_ours_close(&ours);
    if (status == 0)
        (void)snprintf(ret_result->note, sizeof ret_result->note, "on %s",
                       bench_file_system(b->janitor.directory));
    return status;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* arg: the mutex. */
static int mutex_pair(void *arg, bench_failure *reterr)
{
    pthread_mutex_t *mutex = arg;

    (void)reterr; /* (void): neither fails for a valid mutex */
    (void)pthread_mutex_lock(mutex);
    (void)pthread_mutex_unlock(mutex);
    return 0;
}

int bench_measure_thread_pair(bench *b, const bench_measure *measure, bench_result *ret_result,
                              bench_failure *reterr)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    bench_ours      ours  = { 0 };

    bench_place(&b->machine, measure->regime, 0);
    if (bench_ours_open(&ours, "thread:", reterr) < 0)
        return -1;
    bench_duel duel = {
        .name    = measure->name,
        .ours    = { .step = bench_ours_pair, .arg = &ours },
        .theirs  = { .step = mutex_pair, .arg = &mutex },
        .rounds  = b->settings.rounds,
        .samples = THREAD_SAMPLES,
        .turn    = TURN,
        .batch   = THREAD_BATCH,
    };
    int status = bench_fight(ret_result, &duel, reterr);
    bench_ours_close(&ours);
    (void)pthread_mutex_destroy(&mutex);
    if (status == 0)
        (void)snprintf(ret_result->note, sizeof ret_result->note,
                       "percentiles are of means of %d pairs", THREAD_BATCH);
    return status;
}
