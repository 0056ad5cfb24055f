/*
 * readers.c -- let-in-K: the release of a writer to K waiting readers, beside one to a single
 * exclusive waiter; readers-16: readers per second of 16 clients on one name, alone and beside
 * others that hold it, compared with exclusive locks of different names by hiredis; exclusive-16:
 * the same of 16 clients with a name of their own, which readers can hardly exceed; permits-1000:
 * hand-overs of permits among 1,000 waiters, compared with 16.
 *
 * The waiters of let-in and of permits are operations of one client: the server cannot tell.
 */
#include <assert.h>
#include <bowline/async.h>
#include <stdio.h>

#include "bench/harness/crowd.h"
#include "bench/measure/measure.h"
#include "bench/sides/hiredis_minimum.h"
#include "bench/sides/ours.h"
#include "bench/world/watch.h"

static bench_text queue_url(const bench_text *url)
{
    return bench_text_of("%.200s?" BENCH_QUEUE_QUERY, url->text);
}

static int start(bowline_client *client, const char *name, const bowline_acquire_options *options,
                 bench_failure *reterr)
{
    bowline_operation *op;
    bowline_error      error;

    if (bowline_acquire_start(&op, client, name, options, &error) < 0)
        return bench_ours_failed("bowline_acquire_start", &error, reterr);
    return 0;
}

/* Takes the next hold that the client gets. */
static int next_hold(bowline_client *client, bowline_hold **ret_hold, bench_failure *reterr)
{
    bowline_event event = { .size = sizeof event };
    bowline_error error = { .text = "an event that was not expected" };

    while (bowline_next_event(client, &event, NULL) == 0)
        if (bowline_dispatch(client, BOWLINE_FOREVER, &error) < 0)
            return bench_ours_failed("bowline_dispatch", &error, reterr);
    if (event.kind != BOWLINE_EVENT_ENDED ||
        bowline_acquire_finish(ret_hold, event.operation, &error) < 0)
        return bench_ours_failed("bowline_acquire_finish", &error, reterr);
    return 0;
}

/* ---- a writer and its readers ---------------------------------------------------------------- */

enum { READERS_MAX = 64, SAMPLES = 60, BRIEF_SAMPLES = 10, TURN = 10 };

typedef struct side {
    const char *name;
    bench_ours  writer;
    bowline_client
                *waiters; /* without a renewal thread: it does nothing while a release is timed */
    unsigned     count;
    uint32_t     mode;
    bench_watch *watch; /* NULL: time it */
    int          port;
    double       commands;
} side;

static int await_queue(const side *s, bench_failure *reterr)
{
    bowline_holder holder = { .size = sizeof holder };
    bowline_error  error;

    do {
        if (bowline_dispatch(s->waiters, 1, &error) < 0)
            return bench_ours_failed("bowline_dispatch", &error, reterr);
        if (bowline_who(s->writer.client, s->name, &holder, &error) < 0)
            return bench_ours_failed("bowline_who", &error, reterr);
    } while (holder.waiting < s->count);
    return 0;
}

static int release_all(const side *s, bench_failure *reterr)
{
    bowline_hold *holds[READERS_MAX];
    bowline_error error;

    for (unsigned i = 0; i < s->count; i++)
        if (next_hold(s->waiters, &holds[i], reterr) < 0)
            return -1;
    return bowline_release_all(holds, s->count, &error) < 0
               ? bench_ours_failed("bowline_release_all", &error, reterr)
               : 0;
}

/* Only the release is timed, or its commands are counted. */
static int let_in(void *arg, int64_t *ret_ns, bench_failure *reterr)
{
    side         *s = arg;
    bowline_hold *hold;
    bowline_error error;

    if (bowline_acquire(&hold, s->writer.client, s->name,
                        BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER), &error) < 0)
        return bench_ours_failed("bowline_acquire", &error, reterr);
    for (unsigned i = 0; i < s->count; i++)
        if (start(s->waiters, s->name, BOWLINE_ACQUIRE(.wait_ms = BOWLINE_FOREVER, .mode = s->mode),
                  reterr) < 0)
            return -1;
    if (await_queue(s, reterr) < 0 ||
        (s->watch != NULL && bench_watch_begin(s->watch, s->port, reterr) < 0))
        return -1;
    int64_t began  = bench_now_ns();
    int     status = bowline_release(hold, &error);
    *ret_ns        = bench_now_ns() - began;
    if (s->watch != NULL && bench_watch_end(s->watch, &s->commands, reterr) < 0)
        return -1;
    return status < 0 ? bench_ours_failed("bowline_release", &error, reterr)
                      : release_all(s, reterr);
}

static int open_side(side *s, const char *url, bench_failure *reterr)
{
    bowline_error error;

    if (bench_ours_open(&s->writer, url, reterr) < 0)
        return -1;
    return bowline_open(&s->waiters, BOWLINE_OPTIONS(.url = url, .flags = BOWLINE_NO_THREAD),
                        &error) < 0
               ? bench_ours_failed("bowline_open", &error, reterr)
               : 0;
}

static void close_side(side *s)
{
    bowline_close(s->waiters);
    bench_ours_close(&s->writer);
}

/* In a release that is not timed. */
static int count_commands(side *s, bench_watch *watch, bench_result *result, bench_failure *reterr)
{
    int64_t ignored;

    watch->apart[0] = "\"EXISTS\""; /* sent before a release: see engine/redis/command.c */
    s->watch        = watch;
    if (let_in(s, &ignored, reterr) < 0)
        return -1;
    result->is_invalid = s->commands != 1;
    (void)snprintf(result->note, sizeof result->note, "commands of one release: %.0f", s->commands);
    return 0;
}

int bench_measure_let_in(bench *b, const bench_measure *measure, bench_result *ret_result,
                         bench_failure *reterr)
{
    side        readers = { .name = "bench-readers", .mode = BOWLINE_SHARED };
    side        writers = { .name = "bench-writers", .count = 1 };
    bench_watch watch   = { .info = NULL };
    bench_text  url;
    int         status = -1;

    assert(measure->count <= READERS_MAX);
    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    readers.count         = measure->count;
    readers.port          = b->server.port;
    url                   = queue_url(&url);
    const bench_duel duel = { .name    = measure->name,
                              .ours    = { .timed = let_in, .arg = &readers },
                              .theirs  = { .timed = let_in, .arg = &writers },
                              .rounds  = b->settings.rounds,
                              .samples = b->settings.is_brief ? BRIEF_SAMPLES : SAMPLES,
                              .turn    = TURN,
                              .batch   = 1 };
    if (open_side(&readers, url.text, reterr) == 0 && open_side(&writers, url.text, reterr) == 0 &&
        bench_watch_open(&watch, b->server.port, reterr) == 0 &&
        bench_fight(ret_result, &duel, reterr) == 0)
        status = count_commands(&readers, &watch, ret_result, reterr);
    bench_watch_close(&watch);
    close_side(&readers);
    close_side(&writers);
    return status;
}

/* ---- many readers ---------------------------------------------------------------------------- */

enum { HOUR_MS = 3600000 };

typedef struct crowd {
    bench_ours      ours[BENCH_CROWD_MAX];
    bench_minimum   minimums[BENCH_CROWD_MAX];
    bench_text      names[BENCH_CROWD_MAX];
    bowline_client *holder; /* of the others that hold the name */
    bench_team      our_side;
    bench_team      their_side;
} crowd;

static int hold_many(crowd *c, const char *url, unsigned count, bench_failure *reterr)
{
    bowline_hold *hold;
    bowline_error error;

    if (count == 0)
        return 0;
    if (bowline_open(&c->holder, BOWLINE_OPTIONS(.url = url), &error) < 0)
        return bench_ours_failed("bowline_open", &error, reterr);
    for (unsigned i = 0; i < count; i++)
        if (start(c->holder, BENCH_NAME,
                  BOWLINE_ACQUIRE(.mode = BOWLINE_SHARED, .lease_ms = HOUR_MS), reterr) < 0)
            return -1;
    for (unsigned i = 0; i < count; i++)
        if (next_hold(c->holder, &hold, reterr) < 0)
            return -1;
    return 0;
}

static int open_crowd(crowd *c, const bench_text *url, const bench_measure *measure, int port,
                      bench_failure *reterr)
{
    for (unsigned i = 0; i < measure->threads; i++) {
        c->our_side.args[i]   = &c->ours[i];
        c->their_side.args[i] = &c->minimums[i];
        c->names[i]           = bench_text_of("bench-%u", i);
        if (bench_ours_open(&c->ours[i], url->text, reterr) < 0 ||
            bench_minimum_open(&c->minimums[i], port, c->names[i].text, reterr) < 0)
            return -1;
    }
    return 0;
}

/* Of one name that they share, or each of its own. */
static int measure_crowd(bench *b, const bench_measure *measure, bool share,
                         bench_result *ret_result, bench_failure *reterr)
{
    crowd      c = { .our_side   = { .step = share ? bench_ours_shared_pair : bench_ours_pair },
                     .their_side = { .step = bench_minimum_pair } };
    bench_text url;
    int        status = -1;
    unsigned   others = b->settings.is_brief ? measure->count / BENCH_BRIEF : measure->count;

    assert(measure->threads <= BENCH_CROWD_MAX);
    if (measure->regime == BENCH_CROSS && b->machine.cpus_count < 2)
        return bench_skip(ret_result, "this machine has one CPU");
    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    url    = queue_url(&url);
    status = open_crowd(&c, &url, measure, b->server.port, reterr);
    for (unsigned i = 0; !share && status == 0 && i < measure->threads; i++)
        c.ours[i].name = c.names[i].text;
    if (status == 0 && (status = hold_many(&c, url.text, others, reterr)) == 0)
        status = bench_crowd_duel(ret_result, measure, b->settings.rounds, &c.our_side,
                                  &c.their_side, reterr);
    for (unsigned i = 0; i < measure->threads; i++) {
        bench_minimum_close(&c.minimums[i]);
        bench_ours_close(&c.ours[i]);
    }
    bowline_close(c.holder);
    return status;
}

int bench_measure_readers(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_failure *reterr)
{
    return measure_crowd(b, measure, true, ret_result, reterr);
}

int bench_measure_exclusive(bench *b, const bench_measure *measure, bench_result *ret_result,
                            bench_failure *reterr)
{
    return measure_crowd(b, measure, false, ret_result, reterr);
}

/* ---- permits --------------------------------------------------------------------------------- */

enum { PERMITS = 4, FEW = 16, BATCHES = 10, HAND_OVERS = 200 };

static const bowline_acquire_options one_of_the_permits = { .size    = sizeof one_of_the_permits,
                                                            .wait_ms = BOWLINE_FOREVER,
                                                            .mode    = BOWLINE_PERMITS,
                                                            .limit   = PERMITS };

static int wait_for_permits(bench_ours *ours, const char *url, const char *name, unsigned count,
                            bench_failure *reterr)
{
    if (bench_ours_open(ours, url, reterr) < 0)
        return -1;
    ours->name = name;
    for (unsigned i = 0; i < count; i++)
        if (start(ours->client, name, &one_of_the_permits, reterr) < 0)
            return -1;
    return 0;
}

/* Each that gets a permit gives it to the next, and waits again behind the others. */
static int hand_permits_over(void *arg, bench_failure *reterr)
{
    const bench_ours *ours = arg;
    bowline_hold     *hold;
    bowline_error     error;

    for (unsigned i = 0; i < HAND_OVERS; i++) {
        if (next_hold(ours->client, &hold, reterr) < 0)
            return -1;
        if (bowline_release_nowait(hold, &error) < 0)
            return bench_ours_failed("bowline_release_nowait", &error, reterr);
        if (start(ours->client, ours->name, &one_of_the_permits, reterr) < 0)
            return -1;
    }
    return 0;
}

/* Batches are timed; the result is a rate. */
static int fight_for_permits(const bench_duel *duel, bench_result *ret_result,
                             bench_failure *reterr)
{
    if (bench_fight(ret_result, duel, reterr) < 0)
        return -1;
    for (unsigned r = 0; r < ret_result->rounds; r++)
        ret_result->ratios[r] = 1 / ret_result->ratios[r];
    ret_result->ours   = (bench_figures){ .middle = HAND_OVERS * 1e9 / ret_result->ours.middle };
    ret_result->theirs = (bench_figures){ .middle = HAND_OVERS * 1e9 / ret_result->theirs.middle };
    return 0;
}

int bench_measure_permits(bench *b, const bench_measure *measure, bench_result *ret_result,
                          bench_failure *reterr)
{
    bench_ours many = { .client = NULL }, few = { .client = NULL };
    unsigned   count = b->settings.is_brief ? 2 * FEW : measure->count;
    bench_text url;
    int        status = -1;

    if (bench_use_server(b, measure->regime, &url, reterr) < 0)
        return -1;
    url                   = queue_url(&url);
    const bench_duel duel = { .name    = measure->name,
                              .ours    = { .step = hand_permits_over, .arg = &many },
                              .theirs  = { .step = hand_permits_over, .arg = &few },
                              .rounds  = b->settings.rounds,
                              .samples = b->settings.is_brief ? 1 : BATCHES,
                              .turn    = 1,
                              .batch   = 1 };
    if (wait_for_permits(&many, url.text, "bench-many", count, reterr) == 0 &&
        wait_for_permits(&few, url.text, "bench-few", FEW, reterr) == 0)
        status = fight_for_permits(&duel, ret_result, reterr);
    bench_ours_close(&few);
    bench_ours_close(&many);
    return status;
}
