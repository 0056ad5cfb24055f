/*
 * spin.c -- spin-N: a client that busy-polls before it sleeps, compared with one that sleeps at
 * once.
 *
 * Both are ours, with the same threads and server in the same run. pair-pings-X shows what spinning
 * gains for one thread on an idle machine; this shows what it costs the server, other threads, and
 * a busy machine.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/harness/crowd.h"
#include "bench/harness/rounds.h"
#include "bench/measure/measure.h"
#include "bench/sides/ours.h"

enum { BUSY_MAX = 64, SAMPLES = 4000, TURN = 100 };

typedef struct sides {
    unsigned   threads;
    char       names[2 * BENCH_CROWD_MAX][24];
    bench_ours ours[2 * BENCH_CROWD_MAX];
    bench_team with;
    bench_team without;
} sides;

static int open_side(sides *s, bench_team *team, unsigned first, const char *url,
                     bowline_client **ret_client, bench_failure *reterr)
{
    bench_ours opened;

    if (bench_ours_open(&opened, url, reterr) < 0)
        return -1;
    *ret_client = opened.client;
    team->step  = bench_ours_pair;
    for (unsigned i = 0; i < s->threads; i++) {
        unsigned at = first + i;
        (void)snprintf(s->names[at], sizeof s->names[at], "bench-spin-%u", at);
        s->ours[at]   = (bench_ours){ .client = opened.client, .name = s->names[at] };
        team->args[i] = &s->ours[at];
    }
    return 0;
}

/* One busy process per CPU, which dies with this one. */
static unsigned start_busy(const bench *b, pid_t busy[BUSY_MAX])
{
    unsigned count = 0;

    for (; count < b->machine.cpus_count && count < BUSY_MAX; count++) {
        busy[count] = fork();
        if (busy[count] < 0)
            break;
        if (busy[count] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile unsigned work = 0;; work++)
                continue;
        }
    }
    return count;
}

static void stop_busy(const pid_t *busy, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        (void)kill(busy[i], SIGKILL);
    for (unsigned i = 0; i < count; i++)
        (void)waitpid(busy[i], NULL, 0);
}

static int compare(bench *b, const bench_measure *measure, sides *s, bench_result *ret_result,
                   bench_failure *reterr)
{
    const bench_duel duel = { .name    = measure->name,
                              .ours    = { .step = bench_ours_pair, .arg = s->with.args[0] },
                              .theirs  = { .step = bench_ours_pair, .arg = s->without.args[0] },
                              .rounds  = b->settings.rounds,
                              .samples = SAMPLES,
                              .turn    = TURN,
                              .batch   = 1 };

    if (measure->unit == BENCH_TIMES)
        return bench_fight(ret_result, &duel, reterr);
    return bench_crowd_duel(ret_result, measure, b->settings.rounds, &s->with, &s->without, reterr);
}

int bench_measure_spin(bench *b, const bench_measure *measure, bench_result *ret_result,
                       bench_failure *reterr)
{
    sides           s         = { .threads = measure->threads };
    bowline_client *first     = NULL;
    bowline_client *second    = NULL;
    unsigned        busy_size = 0;
    int             status    = -1;
    pid_t           busy[BUSY_MAX];
    bench_text      url;

    assert(s.threads >= 1 && s.threads <= BENCH_CROWD_MAX);
    if (b->machine.cpus_count < 2)
        return bench_skip(ret_result, "this machine has one CPU");
    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    bench_text off = bench_text_of("%.200s?spin=off", url.text);
    if (open_side(&s, &s.with, 0, url.text, &first, reterr) == 0 &&
        open_side(&s, &s.without, s.threads, off.text, &second, reterr) == 0) {
        if (measure->is_busy)
            busy_size = start_busy(b, busy);
        status = compare(b, measure, &s, ret_result, reterr);
        stop_busy(busy, busy_size);
    }
    bowline_close(first);
    bowline_close(second);
    return status;
}
