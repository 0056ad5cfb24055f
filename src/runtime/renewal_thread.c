/*
 * renewal_thread.c -- see renewal_thread.h.
 */
#include "runtime/renewal_thread.h"
#include "runtime/loop.h"
#include "base/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

typedef struct bwl_renewal_thread bwl_renewal_thread;

struct bwl_renewal_thread {
    bwl_shard     *shard;
    pthread_t      thread;
    pthread_cond_t cond;
    bwl_ms         sleeps_until;
    bool           stops;
};

/* When nobody has driven for so long, it watches the connection.  Not sooner: a thread that asks
 * again and again would have to take its turn from the keeper each time. */
enum { WATCH_AFTER_MS = 50 };

/* Whoever has started several operations finishes one after the other, and reads the answers of all
 * while he waits for the first: to take turns with him for the rest would cost both more. */
enum { READ_AFTER_MS = 1 };

/* When it has to do something by itself; now if it is at once. */
static bwl_ms due_at(bwl_shard *shard)
{
    if (shard->is_running || shard->waiting_threads != NULL)
        return BWL_NEVER; /* others are there */
    if (shard->host.coalescing.since != 0)
        return bwl_later(shard->host.coalescing.since, READ_AFTER_MS);
    if (shard->host.pending > shard->background.read_late)
        return bwl_later(shard->last_run_at, READ_AFTER_MS);
    if (shard->background.read_late > 0)
        return bwl_sooner(bwl_shard_next_timer(shard),
                          bwl_later(shard->background.late_since, WATCH_AFTER_MS));
    if (shard->host.watches && shard->locks_count > 0)
        return bwl_sooner(bwl_shard_next_timer(shard),
                          bwl_later(shard->last_run_at, WATCH_AFTER_MS));
    return bwl_shard_next_timer(shard);
}

static void *keep(void *arg)
{
    bwl_renewal_thread *renewal = arg;
    bwl_shard          *shard   = renewal->shard;

    bwl_shard_lock(shard);
    while (!renewal->stops) {
        bwl_ms at = due_at(shard);
        if (at > bwl_shard_now(shard)) {
            renewal->sleeps_until = at;
            bwl_sleep_until(shard, &renewal->cond, at);
        } else if (bwl_shard_run(shard, BWL_NEVER, NULL) < 0) {
            /* No descriptor can be had for waiting.  Others will need one as well, and say so. */
            renewal->sleeps_until = bwl_later(bwl_shard_now(shard), 100);
            bwl_sleep_until(shard, &renewal->cond, renewal->sleeps_until);
        } else {
            bwl_hand_over(shard);
        }
    }
    bwl_shard_unlock(shard);
    return NULL;
}

int bwl_renewal_thread_start(bwl_shard *shard, bwl_fault *fault)
{
    sigset_t all;
    sigset_t before;

    if (shard->renewal != NULL)
        return BWL_OK;
    bwl_renewal_thread *renewal = malloc(sizeof *renewal);
    if (renewal == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    *renewal = (bwl_renewal_thread){ .shard = shard, .sleeps_until = BWL_NEVER };
    bwl_cond_init(&renewal->cond);

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&renewal->thread, NULL, keep, renewal);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        (void)pthread_cond_destroy(&renewal->cond);
        free(renewal);
        errno = error;
        return bwl_fail_errno(fault, "cannot start the thread that renews");
    }
    shard->renewal = renewal;
    return BWL_OK;
}

void bwl_renewal_thread_stop(bwl_shard *shard)
{
    bwl_shard_lock(shard);
    bwl_renewal_thread *renewal = shard->renewal;
    shard->renewal              = NULL;
    shard->to_notify            = NULL;
    if (renewal != NULL) {
        renewal->stops = true;
        pthread_cond_signal(&renewal->cond);
        if (shard->is_running)
            bwl_reactor_wake(&shard->host.reactor);
    }
    bwl_shard_unlock(shard);
    if (renewal == NULL)
        return;
    (void)pthread_join(renewal->thread, NULL);
    (void)pthread_cond_destroy(&renewal->cond);
    free(renewal);
}

void bwl_renewal_thread_notify(bwl_shard *shard)
{
    bwl_renewal_thread *renewal = shard->renewal;

    if (renewal != NULL && due_at(shard) < renewal->sleeps_until) {
        renewal->sleeps_until = BWL_NEVER;
        shard->to_notify      = &renewal->cond;
    }
}
