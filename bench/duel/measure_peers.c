/*
 * measure_peers.c -- every measure of peers.h with every peer of the list.
 *
 * Two drivers of each side run.  If a peer fails, its note says so and the run continues.  If the
 * driver of the library cannot start, the run ends.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/duel/duel.h"

enum { NUMBER_OF_THEIRS = 2, MANY = 1000 };

int bench_duel_start(bench_arena *arena, bench_who who, bench_driver_plan plan)
{
    bench_couple *c = &arena->couples[who];

    for (unsigned i = 0; i < 2; i++) {
        plan.number = who * NUMBER_OF_THEIRS + i;
        c->turns[i] = bench_text_of("%s/turns-%u", arena->b->janitor.directory, plan.number);
        if (bench_driver_start(&c->drivers[i], &arena->b->janitor, &plan, &arena->why) < 0)
            return -1;
    }
    for (unsigned i = 0; i < 2; i++)
        if (bench_driver_hear(&c->drivers[i], "ready", NULL, &arena->why) < 0)
            return -1;
    return 0;
}

void bench_duel_end(bench_arena *arena)
{
    for (unsigned w = 0; w < BENCH_WHO_COUNT; w++)
        for (unsigned i = 0; i < 2; i++)
            bench_driver_end(&arena->couples[w].drivers[i]);
}

int bench_duel_ms(const bench_arena *arena, int ms)
{
    return arena->b->settings.is_brief ? ms / BENCH_BRIEF + 1 : ms;
}

unsigned bench_duel_waiters(const bench_arena *arena)
{
    unsigned waiters = arena->measure->waiters;

    return arena->b->settings.is_brief && waiters > BENCH_BRIEF ? BENCH_BRIEF : waiters;
}

/* All measures of one kind for the two couples. */
static int fight(bench_arena *arena, bench_peer *peer, bench_peer_result *ret_result,
                 bench_failure *reterr)
{
    if (!peer->was_checked && !arena->couples[BENCH_THEIRS].is_ping) {
        peer->was_checked = true;
        if (bench_duel_check(arena, BENCH_THEIRS) < 0) {
            (void)snprintf(peer->fault, sizeof peer->fault, "%.150s", arena->why.text);
            return BENCH_COUPLE_FAILED;
        }
    }
    switch (arena->measure->contest) {
    case BENCH_PAIR:
    case BENCH_HAND_OVER: return bench_duel_times(arena, ret_result, reterr);
    case BENCH_CROWD: return bench_duel_crowd(arena, ret_result, reterr);
    case BENCH_IDLE: return bench_duel_idle(arena, ret_result, reterr);
    }
    return BENCH_COUPLE_FAILED;
}

static int our_failure(const bench_arena *arena, bench_failure *reterr)
{
    return bench_fail(reterr,
                      (bench_failure){
                          .what = bench_text_of("our own side of %s failed", arena->measure->name),
                          .why  = arena->why,
                          .type = bench_text_of("type: bowline-bench --help, about --query"),
                      });
}

/* One cell: starts both couples, measures, ends them. */
static int measure_one(bench_arena *arena, bench_peer *peer, const char *ours, int port,
                       bench_peer_result *ret_result, bench_failure *reterr)
{
    const char *const our_words[] = { ours, NULL };
    const char       *query       = arena->b->settings.query;
    int               status      = BENCH_COUPLE_FAILED;

    arena->couples[BENCH_THEIRS].is_ping = strcmp(peer->name, "PING") == 0;
    if (bench_duel_start(arena, BENCH_OURS,
                         (bench_driver_plan){ .words = our_words,
                                              .word  = query != NULL ? query : "",
                                              .name  = "bench-ours",
                                              .port  = port }) < 0 ||
        bench_duel_check(arena, BENCH_OURS) < 0) {
        (void)our_failure(arena, reterr);
        status = BENCH_BENCH_FAILED;
    } else if (bench_duel_start(arena, BENCH_THEIRS,
                                (bench_driver_plan){ .words = peer->words,
                                                     .name  = "bench-theirs",
                                                     .port  = port }) == 0) {
        status = fight(arena, peer, ret_result, reterr);
    }
    bench_duel_end(arena);
    if (status == BENCH_COUPLE_FAILED) {
        *ret_result = (bench_peer_result){ .was_measured = false };
        (void)snprintf(ret_result->note, sizeof ret_result->note, "%.150s", arena->why.text);
    }
    return status == BENCH_BENCH_FAILED ? -1 : 0;
}

/* Why this measure is not taken, or NULL. */
static const char *reason_against(const bench *b, const bench_peer_measure *m,
                                  const bench_peer *peer)
{
    if (peer->why != NULL)
        return peer->why;
    if (peer->fault[0] != '\0')
        return peer->fault;
    if (m->regime == BENCH_CROSS && b->machine.cpus_count < 2)
        return "this machine has one CPU";
    if (strcmp(peer->name, "PING") == 0 && m->contest != BENCH_HAND_OVER)
        return "it is no lock";
    return NULL;
}

/* One contest is enough for a large crowd: it lasts until each waiter has held the lock. */
static unsigned rounds_of(const bench *b, const bench_peer_measure *m)
{
    unsigned most = m->waiters >= MANY ? 1 : BENCH_PEER_ROUNDS_MAX;

    return b->settings.rounds < most ? b->settings.rounds : most;
}

static int measure_row(bench *b, bench_peer_results *results, size_t row, const char *ours,
                       bench_failure *reterr)
{
    const bench_peer_measure *m     = &bench_peer_measures[row];
    bench_watch               watch = { .info = NULL };
    bench_text                url;
    int                       status = 0;

    if (bench_use_server(b, m->regime, &url, reterr) < 0 ||
        bench_watch_open(&watch, b->server.port, reterr) < 0)
        return -1;
    int port = m->regime == BENCH_PROXY ? b->proxy.port : b->server.port;
    for (size_t p = 0; p < results->list.count && status == 0; p++) {
        bench_peer        *peer = &results->list.peers[p];
        bench_peer_result *cell = bench_peer_cell(results, row, p);
        const char        *why  = reason_against(b, m, peer);
        if (why != NULL) {
            (void)snprintf(cell->note, sizeof cell->note, "%s", why);
            continue;
        }
        bench_arena arena = { .b       = b,
                              .measure = m,
                              .rounds  = rounds_of(b, m),
                              .samples = b->settings.samples,
                              .random  = row * 100 + p,
                              .watch   = &watch };
        bench_progress("%s: %s", m->name, peer->name);
        status = bench_watch_flush(&watch, reterr) < 0 ||
                         measure_one(&arena, peer, ours, port, cell, reterr) < 0
                     ? -1
                     : 0;
    }
    bench_watch_close(&watch);
    return status;
}

int bench_measure_peers(bench *b, bench_peer_results *ret_results, bench_failure *reterr)
{
    bench_peer_results *results = ret_results;
    char                ours[PATH_MAX];

    if (b->settings.peers == NULL)
        return 0;
    if (bench_peer_list_read(&results->list, b->settings.peers, reterr) < 0 ||
        bench_driver_find_ours(ours, reterr) < 0)
        return -1;
    results->cells =
        calloc(bench_peer_measures_count * (results->list.count + 1), sizeof *results->cells);
    if (results->cells == NULL)
        return bench_fail_errno(reterr, bench_text_of("no memory for the results"));
    for (size_t row = 0; row < bench_peer_measures_count; row++)
        if (bench_peer_measure_is_wanted(&bench_peer_measures[row], &b->settings) &&
            measure_row(b, results, row, ours, reterr) < 0)
            return -1;
    return 0;
}

void bench_peer_results_free(bench_peer_results *results)
{
    free(results->cells);
    results->cells = NULL;
    bench_peer_list_free(&results->list);
}
