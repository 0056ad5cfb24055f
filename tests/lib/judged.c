/*
 * judged.c -- see judged.h.
 */
#include "tests/lib/judged.h"

#include <stdlib.h>

enum { PATIENCE_MS = 20000, LINE_MS = 5000, ROUNDS_MAX = 20 };

static atomic_int present; /* holders and rivals that were not stopped */

/* Checked afterwards: a slow holder may have been slow in the very last step, after another one
 * entered. */
static void leave(witness_visit *visit, bowline_hold *hold)
{
    witness_leave(visit);
    if (bowline_hold_left_ms(hold) == 0)
        visit->record->tainted = true;
}

/* ---- the holder ------------------------------------------------------------------------------ */

struct lock_holder {
    pthread_t     thread;
    witness_visit visit;
    bowline_hold *hold;
    atomic_bool   stops;
    atomic_bool   has_learnt;
};

static void *believe(void *arg)
{
    lock_holder *b = arg;

    while (!atomic_load(&b->stops)) {
        int64_t at   = witness_now_us();
        int64_t left = bowline_hold_left_ms(b->hold);
        if (left > 0)
            witness_sure(&b->visit, at);
        if (left == 0) {
            atomic_store(&b->has_learnt, true);
            break;
        }
        sleep_ms(1);
    }
    leave(&b->visit, b->hold);
    return NULL;
}

lock_holder *holder_start(witness *judge, bowline_hold *hold)
{
    lock_holder *b = calloc(1, sizeof *b);

    assert_non_null(b);
    b->hold = hold;
    (void)witness_enter(judge, &b->visit, bowline_hold_fence(hold));
    assert_int_equal(pthread_create(&b->thread, NULL, believe, b), 0);
    atomic_fetch_add(&present, 1);
    return b;
}

bool holder_await_loss(lock_holder *b)
{
    for (int64_t end = clock_ms() + PATIENCE_MS; clock_ms() < end; sleep_ms(1))
        if (atomic_load(&b->has_learnt))
            return true;
    return false;
}

int64_t holder_stop(lock_holder *b)
{
    atomic_store(&b->stops, true);
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    int64_t sure_us = b->visit.record->sure_us;
    atomic_fetch_sub(&present, 1);
    free(b);
    return sure_us;
}

/* ---- the rival ------------------------------------------------------------------------------- */

struct rival {
    pthread_t       thread;
    bowline_client *client;
    witness        *judge;
    const char     *name;
    int64_t         wait_ms;
    atomic_bool     stops;
    atomic_uint     holds;
};

static void hold_once(rival *r, bowline_hold *hold)
{
    witness_visit visit;

    (void)witness_enter(r->judge, &visit, bowline_hold_fence(hold));
    for (int i = 0; i < 3; i++) {
        int64_t at   = witness_now_us();
        int64_t left = bowline_hold_left_ms(hold);
        if (left > 0)
            witness_sure(&visit, at);
        if (left == 0)
            break;
        sleep_ms(1);
    }
    leave(&visit, hold);
    atomic_fetch_add(&r->holds, 1);
}

static void *want_it(void *arg)
{
    rival *r         = arg;
    bool   has_ended = true; /* it released all its holds, as far as it knows */

    while (!atomic_load(&r->stops)) {
        bowline_hold *hold   = NULL;
        int           status = acquire_within(&hold, r->client, r->name, r->wait_ms, NULL);
        if (status == BOWLINE_OK) {
            hold_once(r, hold);
            status = bowline_release(hold, NULL);
        }
        if (status != BOWLINE_BUSY && status != BOWLINE_TIMEOUT)
            has_ended = status == BOWLINE_OK;
        sleep_ms(2);
    }
    /* After a lost reply the lock may be held: releases it for the next test. */
    bowline_hold *hold = NULL;
    if (!has_ended && acquire_within(&hold, r->client, r->name, PATIENCE_MS, NULL) == BOWLINE_OK)
        (void)bowline_release(hold, NULL);
    return NULL;
}

static rival *start(witness *judge, const char *url, const char *name, int64_t wait_ms)
{
    rival *r = calloc(1, sizeof *r);

    assert_non_null(r);
    r->client  = must_open(url);
    r->judge   = judge;
    r->name    = name;
    r->wait_ms = wait_ms;
    assert_int_equal(pthread_create(&r->thread, NULL, want_it, r), 0);
    atomic_fetch_add(&present, 1);
    return r;
}

rival *rival_start(witness *judge, const char *url, const char *name)
{
    return start(judge, url, name, BOWLINE_NO_WAIT);
}

rival *rival_start_queued(witness *judge, const char *url, const char *name)
{
    return start(judge, url, name, LINE_MS);
}

void rival_stop(rival *r)
{
    atomic_store(&r->stops, true);
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    bowline_close(r->client);
    atomic_fetch_sub(&present, 1);
    free(r);
}

unsigned rival_hold_count(rival *r)
{
    return atomic_load(&r->holds);
}

bool rival_await_hold(rival *r)
{
    unsigned before = rival_hold_count(r);

    for (int64_t end = clock_ms() + PATIENCE_MS; clock_ms() < end; sleep_ms(1))
        if (rival_hold_count(r) > before)
            return true;
    return false;
}

bool keeps_in_round_at(bool kept, int status, int round, const char *file, int line)
{
    if (kept && status == BOWLINE_OK)
        return true;
    bool by_time = status == BOWLINE_OK || status == BOWLINE_LOST || status == BOWLINE_UNKNOWN ||
                   status == BOWLINE_UNREACHABLE;
    if (!by_time || round >= ROUNDS_MAX) {
        print_error("not kept in round %d, and released with %s\n", round,
                    bowline_status_name(status));
        _fail(file, line);
    }
    print_message("# round %d: the machine was too slow\n", round);
    return false;
}

void judge_dismiss(witness *judge)
{
    if (atomic_load(&present) == 0)
        witness_free(judge);
}

/* ---- the result ------------------------------------------------------------------------------ */

void assert_one_at_a_time_at(witness *judge, const char *file, int line)
{
    witness_verdict verdict = witness_judge(judge);

    if (verdict.overlaps == 0 && verdict.unexcused == 0)
        return;
    print_error("of %zu visits %zu overlap, %zu found another holder inside, %zu without excuse\n",
                verdict.visits, verdict.overlaps, verdict.collisions, verdict.unexcused);
    _fail(file, line);
}
