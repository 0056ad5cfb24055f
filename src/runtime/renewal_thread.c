/*
 * renewal_thread.c -- see renewal_thread.h.
 */
#include "runtime/renewal_thread.h"
#include "runtime/loop.h"
#include "base/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

typedef struct bwl_keeper bwl_keeper;

struct bwl_keeper {
    bwl_client    *client;
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
static bwl_ms due_at(bwl_client *client)
{
    if (client->driving || client->sleepers != NULL)
        return BWL_NEVER; /* others are there */
    if (client->host.coalescing.since != 0)
        return bwl_later(client->host.coalescing.since, READ_AFTER_MS);
    if (client->host.pending > client->unawaited.read_late)
        return bwl_later(client->driven_at, READ_AFTER_MS);
    if (client->unawaited.read_late > 0)
        return bwl_sooner(bwl_client_next_at(client),
                          bwl_later(client->unawaited.late_since, WATCH_AFTER_MS));
    if (client->host.watches && client->locks_count > 0)
        return bwl_sooner(bwl_client_next_at(client), bwl_later(client->driven_at, WATCH_AFTER_MS));
    return bwl_client_next_at(client);
}

static void *keep(void *arg)
{
    bwl_keeper *keeper = arg;
    bwl_client *client = keeper->client;

    bwl_client_lock(client);
    while (!keeper->stops) {
        bwl_ms at = due_at(client);
        if (at > bwl_client_now(client)) {
            keeper->sleeps_until = at;
            bwl_sleep_until(client, &keeper->cond, at);
        } else if (bwl_client_drive(client, BWL_NEVER, NULL) < 0) {
            /* No descriptor can be had for waiting.  Others will need one as well, and say so. */
            keeper->sleeps_until = bwl_later(bwl_client_now(client), 100);
            bwl_sleep_until(client, &keeper->cond, keeper->sleeps_until);
        } else {
            bwl_hand_over(client);
        }
    }
    bwl_client_unlock(client);
    return NULL;
}

int bwl_keeper_start(bwl_client *client, bwl_fault *fault)
{
    sigset_t all;
    sigset_t before;

    if (client->keeper != NULL)
        return BWL_OK;
    bwl_keeper *keeper = malloc(sizeof *keeper);
    if (keeper == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    *keeper = (bwl_keeper){ .client = client, .sleeps_until = BWL_NEVER };
    bwl_cond_init(&keeper->cond);

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&keeper->thread, NULL, keep, keeper);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        (void)pthread_cond_destroy(&keeper->cond);
        free(keeper);
        errno = error;
        return bwl_fail_errno(fault, "cannot start the thread that renews");
    }
    client->keeper = keeper;
    return BWL_OK;
}

void bwl_keeper_stop(bwl_client *client)
{
    bwl_client_lock(client);
    bwl_keeper *keeper = client->keeper;
    client->keeper     = NULL;
    client->nudges     = NULL;
    if (keeper != NULL) {
        keeper->stops = true;
        pthread_cond_signal(&keeper->cond);
        if (client->driving)
            bwl_reactor_wake(&client->host.reactor);
    }
    bwl_client_unlock(client);
    if (keeper == NULL)
        return;
    (void)pthread_join(keeper->thread, NULL);
    (void)pthread_cond_destroy(&keeper->cond);
    free(keeper);
}

void bwl_keeper_nudge(bwl_client *client)
{
    bwl_keeper *keeper = client->keeper;

    if (keeper != NULL && due_at(client) < keeper->sleeps_until) {
        keeper->sleeps_until = BWL_NEVER;
        client->nudges       = &keeper->cond;
    }
}
