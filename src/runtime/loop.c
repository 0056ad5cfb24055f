/*
 * loop.c -- see loop.h; and waiting for an operation, which is what it is for.
 */
#include "runtime/loop.h"
#include "runtime/wakeup.h"
#include "base/fault.h"
#include "runtime/renewal_thread.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

/* ---- dispatching ----------------------------------------------------------------------------- */

static void woken(bwl_client *client)
{
    if (client->host.engine->woken != NULL)
        client->host.engine->woken(&client->host);
}

static void flush(bwl_client *client)
{
    client->host.coalescing.since = 0;
    if (client->host.engine->flush != NULL)
        client->host.engine->flush(&client->host);
}

static void ring(bwl_client *client, bwl_timer *timer)
{
    if (timer == &client->store_timer)
        woken(client);
    else
        bwl_lock_event((bwl_lock *)((char *)timer - offsetof(bwl_lock, timer)),
                       (bwl_event){ .kind = BWL_ALARM });
}

/* By the clock as whoever calls this has just read it.  Thousands of holds may be due for their
 * renewal at about the same time: what they ask goes out together, the earliest first. */
static void ring_due(bwl_client *client)
{
    bwl_timer *timer = bwl_timers_take_due(&client->timers, client->host.latest);

    if (timer == NULL)
        return;
    client->host.coalescing.is_on = true;
    for (; timer != NULL; timer = bwl_timers_take_due(&client->timers, client->host.latest))
        ring(client, timer);
    client->host.coalescing.is_on = false;
    flush(client);
}

/* The short way: see engine->await. */
static bool await(bwl_client *client, bwl_ms until)
{
    if (client->host.engine->await == NULL || client->host.pending == 0 || client->dispatchers > 0)
        return false;
    client->driving      = true;
    client->drives_until = 0; /* it looks at the timers soon enough by itself */
    bool done            = client->host.engine->await(&client->host, until);
    client->driving      = false;
    client->driven_at    = client->host.latest;
    return done;
}

int bwl_client_drive(bwl_client *client, bwl_ms until, bwl_fault *fault)
{
    bwl_ready ready[BWL_READY_MAX];

    assert(!client->driving);
    int status = bwl_reactor_open(&client->host.reactor, fault);
    if (status < 0) {
        (void)bwl_client_now(client);
        ring_due(client); /* a wait has its end, also when nothing can be waited for */
        return status;
    }
    flush(client);
    if (await(client, until)) {
        ring_due(client);
        return BWL_OK;
    }
    bwl_ms now           = bwl_client_now(client);
    bwl_ms at            = bwl_sooner(until, bwl_client_next_at(client));
    client->driving      = true;
    client->drives_until = at;
    bwl_client_unlock(client);
    bwl_ms wait_ms = at == BWL_NEVER ? BWL_NEVER : at > now ? at - now : 0;
    int    count   = bwl_reactor_wait(&client->host.reactor, wait_ms, ready);
    bwl_client_lock(client);
    client->driving   = false;
    client->driven_at = bwl_client_now(client);

    for (int i = 0; i < count; i++) {
        if (ready[i].source == NULL)
            woken(client);
        else
            ready[i].source->ready(ready[i].source, ready[i].events);
    }
    ring_due(client);
    return BWL_OK;
}

bool bwl_can_keep(const bwl_client *client)
{
    return client->keeper != NULL && client->bell == NULL && !client->driving &&
           client->dispatchers == 0 && !client->host.coalescing.is_on && !client->host.closing;
}

void bwl_gather(bwl_client *client)
{
    client->host.coalescing.is_on = client->host.pending > 0 && bwl_can_keep(client);
}

void bwl_gathered(bwl_client *client)
{
    if (!client->host.coalescing.is_on)
        return;
    client->host.coalescing.is_on = false;
    if (client->host.coalescing.since != 0)
        return;
    client->host.coalescing.since = client->host.latest;
    bwl_keeper_nudge(client);
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

    if (client->calls != NULL || client->nudges != NULL) { /* the wait below would not make them */
        bwl_client_unlock(client);
        bwl_client_lock(client);
        return;
    }
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

/* ---- calling --------------------------------------------------------------------------------- */

void bwl_call(bwl_client *client, bwl_sleeper *sleeper)
{
    if (sleeper->called)
        return;
    sleeper->called    = true;
    sleeper->next_call = client->calls;
    client->calls      = sleeper;
    client->host.coalescing.expected++;
}

size_t bwl_take_calls(bwl_client *client, pthread_cond_t *ret_conds[BWL_CALLS_MAX])
{
    size_t count = 0;

    if (client->nudges != NULL)
        ret_conds[count++] = client->nudges;
    client->nudges = NULL;
    while (client->calls != NULL && count < BWL_CALLS_MAX) {
        bwl_sleeper *sleeper = client->calls;
        client->calls        = sleeper->next_call;
        ret_conds[count++]   = &sleeper->cond;
    }
    return count;
}

/* It has come, called or not.  Who comes last sends what all of them have written. */
static void has_come(bwl_client *client, bwl_sleeper *sleeper)
{
    if (!sleeper->called)
        return;
    for (bwl_sleeper **s = &client->calls; *s != NULL; s = &(*s)->next_call)
        if (*s == sleeper) {
            *s = sleeper->next_call;
            break;
        }
    client->host.coalescing.expected--;
    if (client->host.coalescing.expected == 0)
        flush(client);
}

static bwl_sleeper *sleeper_new(bwl_client *client)
{
    bwl_sleeper *sleeper = client->idle_sleepers;

    if (sleeper != NULL) {
        client->idle_sleepers = sleeper->next;
    } else {
        sleeper = malloc(sizeof *sleeper);
        if (sleeper == NULL)
            return NULL;
        bwl_cond_init(&sleeper->cond);
    }
    sleeper->next     = NULL;
    sleeper->previous = NULL;
    sleeper->called   = false;
    return sleeper;
}

void bwl_free_sleepers(bwl_client *client)
{
    while (client->idle_sleepers != NULL) {
        bwl_sleeper *sleeper  = client->idle_sleepers;
        client->idle_sleepers = sleeper->next;
        (void)pthread_cond_destroy(&sleeper->cond);
        free(sleeper);
    }
}

static int sleep_for(bwl_client *client, bwl_operation *operation, bwl_ms until, bwl_fault *fault)
{
    bwl_sleeper **where   = &operation->sleeper;
    bwl_sleeper  *sleeper = sleeper_new(client);

    if (sleeper == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    join_sleepers(client, sleeper);
    sleeper->beside    = operation->sleeper;
    operation->sleeper = sleeper;
    bwl_sleep_until(client, &sleeper->cond, until);
    while (*where != sleeper)
        where = &(*where)->beside;
    *where = sleeper->beside;
    leave_sleepers(client, sleeper);
    has_come(client, sleeper);
    sleeper->next         = client->idle_sleepers;
    client->idle_sleepers = sleeper;
    return BWL_OK;
}

/* The loop of the caller, if there is one, sleeps for as long as it was told before. */
static void tell_bell(bwl_client *client)
{
    bwl_ms at = bwl_client_next_at(client);

    bwl_bell_alarm(client->bell, client, at);
    if (client->dispatchers > 0 || client->keeper != NULL || at >= client->loop_sleeps_until)
        return;
    client->loop_sleeps_until = 0;
    bwl_client_tell(client);
}

void bwl_hand_over(bwl_client *client)
{
    if (client->driving || client->host.coalescing.expected > 0)
        return; /* whoever was called hands over when he leaves */
    if (client->sleepers != NULL) {
        bwl_call(client, client->sleepers);
        return;
    }
    bwl_keeper_nudge(client);
    if (client->bell != NULL)
        tell_bell(client);
}

int bwl_client_wait(bwl_client *client, bwl_operation *operation, bwl_ms until, bwl_fault *fault)
{
    int status = BWL_OK;

    if (client->host.coalescing.since != 0)
        flush(client); /* whoever waits sends what was kept, however short the wait is */
    while (operation->ended == BWL_PENDING && status == BWL_OK) {
        if (until != BWL_NEVER && until <= bwl_client_now(client))
            status = BWL_STATUS_TIMEOUT;
        else if (client->driving || client->host.coalescing.expected > 0)
            status = sleep_for(client, operation, until, fault);
        else
            status = bwl_client_drive(client, until, fault);
    }
    if (operation->ended != BWL_PENDING)
        status = BWL_OK; /* by a timer, when nothing else could be waited for */
    bwl_hand_over(client);
    return status;
}
