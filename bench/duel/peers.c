/*
 * peers.c -- see peers.h: the list of peers, their measures and goals.
 */
#include "bench/duel/peers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bench/base/stats.h"

enum { LIST_SIZE_MAX = 65536 };

#define HAND_OVER_MEANS \
    "One holds the lock and another waits; from the call of release to the return of acquire."
#define CROWD_MEANS                                                                         \
    "The waiters acquire, release at once, and acquire again; half of them are in each of " \
    "two programs. Two holds of one waiter in a row are not a hand-over."

const bench_peer_measure bench_peer_measures[] = {
    { "peer-pair-S", BENCH_PAIR, BENCH_SAME, 0, "Acquire and release, without contention." },
    { "peer-hand-over-S", BENCH_HAND_OVER, BENCH_SAME, 1, HAND_OVER_MEANS },
    { "peer-hand-over-X", BENCH_HAND_OVER, BENCH_CROSS, 1, HAND_OVER_MEANS },
    { "peer-hand-over-P", BENCH_HAND_OVER, BENCH_PROXY, 1, HAND_OVER_MEANS },
    { "peer-waiters-2", BENCH_CROWD, BENCH_FREE, 2, CROWD_MEANS },
    { "peer-waiters-16", BENCH_CROWD, BENCH_FREE, 16, CROWD_MEANS },
    { "peer-waiters-128", BENCH_CROWD, BENCH_FREE, 128, CROWD_MEANS },
    { "peer-waiters-1000", BENCH_CROWD, BENCH_FREE, 1000, CROWD_MEANS },
    { "peer-idle", BENCH_IDLE, BENCH_FREE, 200,
      "The waiters are in one program, and the holder does not release." },
};
const size_t bench_peer_measures_count = sizeof bench_peer_measures / sizeof bench_peer_measures[0];

/* The ratio must be at most this. Where one polling library stands for all, the best one
 * decides. */
static const struct {
    const char *measure;
    const char *peer;
    double      goal;
} goals[] = {
    { "peer-pair-S", "redis-py", 0.5 },
    { "peer-pair-S", "redlock", 0.5 },
    { "peer-hand-over-S", "PING", 2.2 },
    { "peer-hand-over-X", "PING", 1.25 },
    { "peer-hand-over-P", "PING", 1.1 },
    { "peer-hand-over-X", "redis-py", 0.04 },
    { "peer-hand-over-X", "redlock", 0.04 },
    { "peer-hand-over-X", "redsync", 0.04 },
    { "peer-hand-over-X", "redis-semaphore", 0.04 },
    { "peer-hand-over-X", "RLock", 0.6 },
    { "peer-hand-over-X", "RFairLock", 0.6 },
    { "peer-hand-over-X", "RFencedLock", 0.6 },
};

double bench_peer_goal(const bench_peer_measure *measure, const bench_peer *peer)
{
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++)
        if (strcmp(goals[i].measure, measure->name) == 0 && strcmp(goals[i].peer, peer->name) == 0)
            return goals[i].goal;
    return 0;
}

double bench_peer_ratio(const bench_peer_result *result)
{
    assert(result->was_measured);
    return bench_median(result->ratios, result->rounds);
}

/* ---- choosing -------------------------------------------------------------------------------- */

bool bench_peer_measure_is_named(const bench_peer_measure *measure, const char *name)
{
    return bench_name_begins(measure->name, name);
}

bool bench_peer_measure_is_wanted(const bench_peer_measure *measure, const bench_settings *s)
{
    return s->peers != NULL && bench_name_is_wanted(measure->name, s->only);
}

bench_peer_result *bench_peer_cell(const bench_peer_results *results, size_t measure, size_t peer)
{
    assert(measure < bench_peer_measures_count);
    assert(peer < results->list.count);
    return &results->cells[measure * results->list.count + peer];
}

/* ---- the list -------------------------------------------------------------------------------- */

static int read_file(char **ret_text, const char *path, bench_failure *reterr)
{
    FILE *in   = fopen(path, "re");
    char *text = calloc(1, LIST_SIZE_MAX);

    if (in == NULL || text == NULL) {
        (void)bench_fail_errno(reterr, bench_text_of("cannot read %.200s", path));
        reterr->type = bench_text_of("type: make bench-peers");
        free(text);
        if (in != NULL)
            (void)fclose(in);
        return -1;
    }
    size_t size = fread(text, 1, LIST_SIZE_MAX - 1, in);
    text[size]  = '\0'; /* a list that is too long ends in a bad line */
    (void)fclose(in);
    *ret_text = text;
    return 0;
}

/* NAME LIBRARY here WORD ...; or NAME LIBRARY absent WHY. */
static bool read_line(bench_peer *ret_peer, char *line)
{
    char  *fields[3 + BENCH_WORDS_MAX];
    size_t count = 0;

    for (char *field = strsep(&line, "\t"); field != NULL; field = strsep(&line, "\t")) {
        if (count == 3 + BENCH_WORDS_MAX - 1)
            return false;
        fields[count++] = field;
    }
    if (count < 4)
        return false;
    *ret_peer = (bench_peer){ .name = fields[0], .origin = fields[1] };
    if (strcmp(fields[2], "absent") == 0)
        ret_peer->why = fields[3];
    else
        for (size_t i = 3; i < count; i++)
            ret_peer->words[i - 3] = fields[i];
    return ret_peer->why != NULL || strcmp(fields[2], "here") == 0;
}

int bench_peer_list_read(bench_peer_list *ret_list, const char *path, bench_failure *reterr)
{
    bench_peer_list list = { .count = 0 };

    if (read_file(&list.text, path, reterr) < 0)
        return -1;
    char *rest = list.text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        if (list.count < BENCH_PEERS_MAX && read_line(&list.peers[list.count], line)) {
            list.count++;
            continue;
        }
        (void)bench_fail(reterr, (bench_failure){
                                     .what = bench_text_of("%.200s is not a list of peers", path),
                                     .why  = bench_text_of("its line \"%.80s\" is not one", line),
                                     .type = bench_text_of("type: make bench-peers"),
                                 });
        free(list.text);
        return -1;
    }
    *ret_list = list;
    return 0;
}

void bench_peer_list_free(bench_peer_list *list)
{
    free(list->text);
    *list = (bench_peer_list){ .count = 0 };
}
