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

static void woken(bwl_shard *shard)
{
    if (shard->host.engine->woken != NULL)
        shard->host.engine->woken(&shard->host);
}

static void flush(bwl_shard *shard)
{
    shard->host.coalescing.since = 0;
    if (shard->host.engine->flush != NULL)
        shard->host.engine->flush(&shard->host);
}

static void ring(bwl_shard *shard, bwl_timer *timer)
{
    if (timer == &shard->engine_timer)
        woken(shard);
    else
        bwl_lock_event((bwl_lock *)((char *)timer - offsetof(bwl_lock, timer)),
                       (bwl_event){ .kind = BWL_ALARM });
}

/* By the clock as whoever calls this has just read it.  Thousands of holds may be due for their
 * renewal at about the same time: what they ask goes out together, the earliest first. */
static void ring_due(bwl_shard *shard)
{
    bwl_timer *timer = bwl_timers_take_due(&shard->timers, shard->host.latest);

    if (timer == NULL)
        return;
    shard->host.coalescing.is_on = true;
    for (; timer != NULL; timer = bwl_timers_take_due(&shard->timers, shard->host.latest))
        ring(shard, timer);
    shard->host.coalescing.is_on = false;
    flush(shard);
}

/* The short way: see engine->await. */
static bool await(bwl_shard *shard, bwl_ms until)
{
    if (shard->host.engine->await == NULL || shard->host.pending == 0 || shard->dispatchers > 0)
        return false;
    shard->is_running  = true;
    shard->runs_until  = 0; /* it looks at the timers soon enough by itself */
    bool done          = shard->host.engine->await(&shard->host, until);
    shard->is_running  = false;
    shard->last_run_at = shard->host.latest;
    return done;
}

int bwl_shard_run(bwl_shard *shard, bwl_ms until, bwl_fault *fault)
{
    bwl_ready ready[BWL_READY_MAX];

    assert(!shard->is_running);
    int status = bwl_reactor_open(&shard->host.reactor, fault);
    if (status < 0) {
        (void)bwl_shard_now(shard);
        ring_due(shard); /* a wait has its end, also when nothing can be waited for */
        return status;
    }
    flush(shard);
    if (await(shard, until)) {
        ring_due(shard);
        return BWL_OK;
    }
    bwl_ms now        = bwl_shard_now(shard);
    bwl_ms at         = bwl_sooner(until, bwl_shard_next_timer(shard));
    shard->is_running = true;
    shard->runs_until = at;
    bwl_shard_unlock(shard);
    bwl_ms wait_ms = at == BWL_NEVER ? BWL_NEVER : at > now ? at - now : 0;
    int    count   = bwl_reactor_wait(&shard->host.reactor, wait_ms, ready);
    bwl_shard_lock(shard);
    shard->is_running  = false;
    shard->last_run_at = bwl_shard_now(shard);

    for (int i = 0; i < count; i++) {
        if (ready[i].source == NULL)
            woken(shard);
        else
            ready[i].source->ready(ready[i].source, ready[i].events);
    }
    ring_due(shard);
    return BWL_OK;
}

bool bwl_may_hold_back(const bwl_shard *shard)
{
    return shard->renewal != NULL && shard->wakeup == NULL && !shard->is_running &&
           shard->dispatchers == 0 && !shard->host.coalescing.is_on && !shard->host.closing;
}

void bwl_coalesce_begin(bwl_shard *shard)
{
    shard->host.coalescing.is_on = shard->host.pending > 0 && bwl_may_hold_back(shard);
}

void bwl_coalesce_end(bwl_shard *shard)
{
    if (!shard->host.coalescing.is_on)
        return;
    shard->host.coalescing.is_on = false;
    if (shard->host.coalescing.since != 0)
        return;
    shard->host.coalescing.since = shard->host.latest;
    bwl_renewal_thread_notify(shard);
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

void bwl_sleep_until(bwl_shard *shard, pthread_cond_t *cond, bwl_ms at)
{
    struct timespec t;
    bwl_ms          now = bwl_shard_now(shard);

    if (shard->to_signal != NULL ||
        shard->to_notify != NULL) { /* the wait below would not make them */
        bwl_shard_unlock(shard);
        bwl_shard_lock(shard);
        return;
    }
    if (at == BWL_NEVER) {
        (void)pthread_cond_wait(cond, &shard->mutex);
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
    (void)pthread_cond_timedwait(cond, &shard->mutex, &t);
}

static void join_sleepers(bwl_shard *shard, bwl_waiting_thread *waiting)
{
    bwl_waiting_thread **end = &shard->waiting_threads;

    while (*end != NULL) {
        waiting->previous = *end;
        end               = &(*end)->next;
    }
    *end = waiting;
}

static void leave_sleepers(bwl_shard *shard, bwl_waiting_thread *waiting)
{
    if (waiting->next != NULL)
        waiting->next->previous = waiting->previous;
    if (waiting->previous != NULL)
        waiting->previous->next = waiting->next;
    else
        shard->waiting_threads = waiting->next;
}

/* ---- calling --------------------------------------------------------------------------------- */

void bwl_signal(bwl_shard *shard, bwl_waiting_thread *waiting)
{
    if (waiting->is_signalled)
        return;
    waiting->is_signalled   = true;
    waiting->next_to_signal = shard->to_signal;
    shard->to_signal        = waiting;
    shard->host.coalescing.expected++;
}

size_t bwl_take_signals(bwl_shard *shard, pthread_cond_t *ret_conds[BWL_SIGNALS_MAX])
{
    size_t count = 0;

    if (shard->to_notify != NULL)
        ret_conds[count++] = shard->to_notify;
    shard->to_notify = NULL;
    while (shard->to_signal != NULL && count < BWL_SIGNALS_MAX) {
        bwl_waiting_thread *waiting = shard->to_signal;
        shard->to_signal            = waiting->next_to_signal;
        ret_conds[count++]          = &waiting->cond;
    }
    return count;
}

/* It has come, called or not.  Who comes last sends what all of them have written. */
static void has_come(bwl_shard *shard, bwl_waiting_thread *waiting)
{
    if (!waiting->is_signalled)
        return;
    for (bwl_waiting_thread **s = &shard->to_signal; *s != NULL; s = &(*s)->next_to_signal)
        if (*s == waiting) {
            *s = waiting->next_to_signal;
            break;
        }
    shard->host.coalescing.expected--;
    if (shard->host.coalescing.expected == 0)
        flush(shard);
}

static bwl_waiting_thread *sleeper_new(bwl_shard *shard)
{
    bwl_waiting_thread *waiting = shard->idle_threads;

    if (waiting != NULL) {
        shard->idle_threads = waiting->next;
    } else {
        waiting = malloc(sizeof *waiting);
        if (waiting == NULL)
            return NULL;
        bwl_cond_init(&waiting->cond);
    }
    waiting->next         = NULL;
    waiting->previous     = NULL;
    waiting->is_signalled = false;
    return waiting;
}

void bwl_free_waiting_threads(bwl_shard *shard)
{
    while (shard->idle_threads != NULL) {
        bwl_waiting_thread *waiting = shard->idle_threads;
        shard->idle_threads         = waiting->next;
        (void)pthread_cond_destroy(&waiting->cond);
        free(waiting);
    }
}

static int sleep_for(bwl_shard *shard, bwl_operation *operation, bwl_ms until, bwl_fault *fault)
{
    bwl_waiting_thread **where   = &operation->waiting;
    bwl_waiting_thread  *waiting = sleeper_new(shard);

    if (waiting == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    join_sleepers(shard, waiting);
    waiting->beside    = operation->waiting;
    operation->waiting = waiting;
    bwl_sleep_until(shard, &waiting->cond, until);
    while (*where != waiting)
        where = &(*where)->beside;
    *where = waiting->beside;
    leave_sleepers(shard, waiting);
    has_come(shard, waiting);
    waiting->next       = shard->idle_threads;
    shard->idle_threads = waiting;
    return BWL_OK;
}

/* The loop of the caller, if there is one, sleeps for as long as it was told before. */
static void notify_wakeup(bwl_shard *shard)
{
    bwl_ms at = bwl_shard_next_timer(shard);

    bwl_wakeup_set_timer(shard->wakeup, shard, at);
    if (shard->dispatchers > 0 || shard->renewal != NULL || at >= shard->caller_sleeps_until)
        return;
    shard->caller_sleeps_until = 0;
    bwl_shard_notify_caller(shard);
}

void bwl_hand_over(bwl_shard *shard)
{
    if (shard->is_running || shard->host.coalescing.expected > 0)
        return; /* whoever was called hands over when he leaves */
    if (shard->waiting_threads != NULL) {
        bwl_signal(shard, shard->waiting_threads);
        return;
    }
    bwl_renewal_thread_notify(shard);
    if (shard->wakeup != NULL)
        notify_wakeup(shard);
}

int bwl_shard_wait(bwl_shard *shard, bwl_operation *operation, bwl_ms until, bwl_fault *fault)
{
    int status = BWL_OK;

    if (shard->host.coalescing.since != 0)
        flush(shard); /* whoever waits sends what was kept, however short the wait is */
    while (operation->ended == BWL_PENDING && status == BWL_OK) {
        if (until != BWL_NEVER && until <= bwl_shard_now(shard))
            status = BWL_STATUS_TIMEOUT;
        else if (shard->is_running || shard->host.coalescing.expected > 0)
            status = sleep_for(shard, operation, until, fault);
        else
            status = bwl_shard_run(shard, until, fault);
    }
    if (operation->ended != BWL_PENDING)
        status = BWL_OK; /* by a timer, when nothing else could be waited for */
    bwl_hand_over(shard);
    return status;
}
