/*
 * drive.c -- see drive.h; and waiting for an operation, which is what it is for.
 */
#include "engine/drive.h"
#include "engine/keeper.h"

#include <stddef.h>
#include <time.h>

/* ---- dispatching ----------------------------------------------------------------------------- */

static void woken(bwl_client *client)
{
    if (client->engine->woken != NULL)
        client->engine->woken(client);
}

static void ring(bwl_client *client, bwl_timer *timer)
{
    if (timer == &client->store_timer)
        woken(client);
    else
        bwl_lock_event((bwl_lock *)((char *)timer - offsetof(bwl_lock, timer)),
                       (bwl_event){ .kind = BWL_ALARM });
}

int bwl_client_drive(bwl_client *client, bwl_ms until, bwl_fault *fault)
{
    bwl_ready ready[BWL_READY_MAX];

    assert(!client->driving);
    int status = bwl_reactor_open(&client->reactor, fault);
    if (status < 0)
        return status;
    bwl_ms now           = bwl_client_now(client);
    bwl_ms at            = bwl_sooner(until, bwl_client_next_at(client));
    client->driving      = true;
    client->drives_until = at;
    bwl_client_unlock(client);
    bwl_ms wait_ms = at == BWL_NEVER ? BWL_NEVER : at > now ? at - now : 0;
    int    count   = bwl_reactor_wait(&client->reactor, wait_ms, ready);
    bwl_client_lock(client);
    client->driving = false;

    for (int i = 0; i < count; i++) {
        if (ready[i].source == NULL)
            woken(client);
        else
            ready[i].source->ready(ready[i].source, ready[i].events);
    }
    bwl_timer *timer;
    while ((timer = bwl_timers_take_due(&client->timers, bwl_client_now(client))) != NULL)
        ring(client, timer);
    return BWL_OK;
}

/* ---- taking turns ---------------------------------------------------------------------------- */

void bwl_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    /* These fail only for a clock that does not exist. */
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void bwl_sleep_until(bwl_client *client, pthread_cond_t *cond, bwl_ms at)
{
    struct timespec t;
    bwl_ms          now = bwl_client_now(client);

    if (at == BWL_NEVER) {
        (void)pthread_cond_wait(cond, &client->mutex);
        return;
    }
    if (at <= now)
        return;
    /* A condition cannot wait on the clock that counts suspend.  After a suspend this sleeps too
     * long, which delays a time-out, and nothing that is promised. */
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)((at - now) / 1000);
    t.tv_nsec += (long)((at - now) % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(cond, &client->mutex, &t);
}

static void join_sleepers(bwl_client *client, bwl_sleeper *sleeper)
{
    bwl_sleeper **end = &client->sleepers;

    while (*end != NULL) {
        sleeper->previous = *end;
        end               = &(*end)->next;
    }
    *end = sleeper;
}

static void leave_sleepers(bwl_client *client, bwl_sleeper *sleeper)
{
    if (sleeper->next != NULL)
        sleeper->next->previous = sleeper->previous;
    if (sleeper->previous != NULL)
        sleeper->previous->next = sleeper->next;
    else
        client->sleepers = sleeper->next;
}

static void sleep_for(bwl_client *client, bwl_operation *operation, bwl_ms until)
{
    bwl_sleeper   sleeper = { .beside = operation->sleeper };
    bwl_sleeper **where   = &operation->sleeper;

    bwl_cond_init(&sleeper.cond);
    join_sleepers(client, &sleeper);
    operation->sleeper = &sleeper;
    bwl_sleep_until(client, &sleeper.cond, until);
    while (*where != &sleeper)
        where = &(*where)->beside;
    *where = sleeper.beside;
    leave_sleepers(client, &sleeper);
    (void)pthread_cond_destroy(&sleeper.cond);
}

void bwl_hand_over(bwl_client *client)
{
    if (client->driving)
        return;
    if (client->sleepers != NULL)
        pthread_cond_signal(&client->sleepers->cond);
    else
        bwl_keeper_nudge(client);
}

int bwl_client_wait(bwl_client *client, bwl_operation *operation, bwl_ms until, bwl_fault *fault)
{
    int status = BWL_OK;

    while (operation->ended == BWL_PENDING && status == BWL_OK) {
        if (until <= bwl_client_now(client))
            status = BWL_STATUS_TIMEOUT;
        else if (client->driving)
            sleep_for(client, operation, until);
        else
            status = bwl_client_drive(client, until, fault);
    }
    bwl_hand_over(client);
    return status;
}
