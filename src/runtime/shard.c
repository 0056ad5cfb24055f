/*
 * shard.c -- opening and closing; the clock and the mutex of a client.
 */
#include "runtime/shard.h"
#include "core/nearest.h"
#include "runtime/wakeup.h"
#include "base/clock.h"
#include "runtime/loop.h"
#include "base/fault.h"
#include "runtime/renewal_thread.h"
#include "runtime/local_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bwl_engine *engine_for(const bwl_engine *const *engines, const char *scheme)
{
    for (; *engines != NULL; engines++)
        if (strcmp((*engines)->scheme, scheme) == 0)
            return *engines;
    return NULL;
}

enum { ENGINES_MAX = 16 };

/* What follows the scheme in a URL of this engine. */
static const char *separator(const bwl_engine *engine)
{
    return engine->kind == BWL_ENGINE_FILE || engine->kind == BWL_ENGINE_THREAD ? ":" : "://";
}

static int unknown_scheme(const bwl_engine *const *engines, const char *scheme, bwl_fault *fault)
{
    const char *names[ENGINES_MAX];
    char        list[256] = "";
    size_t      count     = 0;

    for (size_t used = 0; engines[count] != NULL && count < ENGINES_MAX; count++) {
        names[count] = engines[count]->scheme;
        used += (size_t)snprintf(list + used, sizeof list - used, " %s%s", names[count],
                                 separator(engines[count]));
        assert(used < sizeof list);
    }
    const char *nearest = bwl_nearest(scheme, names, count);
    if (nearest != NULL)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED, "there is no engine %s: did you mean %s%s?",
                        scheme, nearest, separator(engine_for(engines, nearest)));
    return bwl_fail(fault, BWL_STATUS_UNSUPPORTED, "%s: is none of the engines of this build:%s",
                    scheme, list);
}

static int set_up(bwl_shard *shard, const bwl_engine *const *engines, const bwl_settings *asked,
                  bool renewal_off, const char *text, bwl_fault *fault)
{
    bwl_settings chosen = *asked;
    bwl_url      url;
    int          status = bwl_url_parse(&url, text, fault);

    if (status < 0)
        goto out;
    shard->host.engine = engine_for(engines, url.scheme);
    if (shard->host.engine == NULL) {
        status = unknown_scheme(engines, url.scheme, fault);
        goto out;
    }
    assert(shard->host.engine->kind != 0);
    if (shard->host.engine->choose != NULL)
        status = shard->host.engine->choose(&chosen, &url, fault);
    if (status < 0)
        goto out;
    status = bwl_settings_from(&shard->host.settings, &chosen, renewal_off, &url, fault);
    if (status < 0)
        goto out;
    status = shard->host.engine->open(&shard->host, &url, fault);
out:
    bwl_url_wipe(&url);
    return status;
}

static bwl_shard *shard_new(void)
{
    bwl_shard *shard = calloc(1, sizeof *shard);

    if (shard == NULL)
        return NULL;
    shard->host.calls          = &bwl_runtime_calls;
    shard->host.nodes          = 1;
    shard->host.reactor        = (bwl_reactor)BWL_REACTOR_CLOSED;
    shard->engine_timer        = (bwl_timer){ .at = BWL_NEVER };
    shard->caller_sleeps_until = 0;
    shard->background.end      = (bwl_operation){ .ended = BWL_RELEASED };
    atomic_init(&shard->callers, 0);
    atomic_init(&shard->is_connected, false);
    atomic_init(&shard->unhealthy_until, 0);
    if (!bwl_fork_guard_init(&shard->host.guard) || !bwl_timers_reserve(&shard->timers, 1)) {
        bwl_fork_guard_free(&shard->host.guard);
        free(shard);
        return NULL;
    }
    (void)pthread_mutex_init(&shard->mutex, NULL); /* of the default kind: cannot fail */
    return shard;
}

/* One that has no store. */
static void shard_free(bwl_shard *shard)
{
    (void)pthread_mutex_destroy(&shard->mutex);
    bwl_timers_free(&shard->timers);
    bwl_reactor_close(&shard->host.reactor);
    bwl_fork_guard_free(&shard->host.guard);
    free(shard);
}

int bwl_shard_open(bwl_shard **ret_client, const bwl_engine *const *engines,
                   const bwl_settings *asked, bool renewal_off, const char *url, bwl_fault *fault)
{
    bwl_shard *shard = shard_new();

    if (shard == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    int status = set_up(shard, engines, asked, renewal_off, url, fault);
    if (status < 0) {
        shard_free(shard);
        return status;
    }
    *ret_client = shard;
    return BWL_OK;
}

int bwl_shard_share(bwl_shard **ret_client, const bwl_shard *first)
{
    bwl_shard *shard = shard_new();

    if (shard == NULL)
        return BWL_STATUS_NOMEM;
    shard->host.engine   = first->host.engine;
    shard->host.settings = first->host.settings;
    shard->handle        = first->handle;
    memcpy(shard->host.program, first->host.program, sizeof shard->host.program);
    int status =
        bwl_reactor_open(&shard->host.reactor, NULL); /* now, not in the middle of a call */
    if (status == BWL_OK)
        status = shard->host.engine->share(&shard->host, &first->host);
    if (status < 0) {
        shard_free(shard);
        return status;
    }
    *ret_client = shard;
    return BWL_OK;
}

/* Who yields may have two tokens in the store, and asks for the second to be given back when he
 * knows how it went with the first.  Nobody will hear that; so it is written behind it. */
static void let_second_go(bwl_lock *lock)
{
    bwl_event ev = { .kind = BWL_REPLY, .tag = lock->base.latest_tag, .answer = BWL_NO };

    if (lock->base.hold.protocol->yields && lock->base.hold.state == BWL_HOLD_LEAVING)
        bwl_lock_event(lock, ev);
}

/* Writes the releases of whatever may be ours in the store.  Their answers are not waited for. */
static void let_everything_go(bwl_shard *shard)
{
    bwl_lock *next;

    for (bwl_lock *lock = shard->locks; lock != NULL; lock = next) {
        bwl_operation operation;
        next = lock->next;
        bwl_lock_pin(lock);
        if (lock->operation != NULL)
            bwl_lock_cancel(lock->operation);
        bool is_ours =
            bwl_hold_is_held(&lock->base.hold) || lock->base.hold.state == BWL_HOLD_DISOWNED;
        if (is_ours && lock->operation == NULL) {
            bwl_lock_release(lock, &operation);
            lock->operation = NULL;
        }
        let_second_go(lock);
        next = lock->next; /* the step may have freed a neighbour, never this one */
        lock->pins--;
    }
}

void bwl_shard_close(bwl_shard *shard)
{
    if (shard == NULL)
        return;

    bool ours = !bwl_forked(&shard->host.guard);
    if (!ours && !bwl_was_at_rest(&shard->mutex))
        return;
    if (!ours)
        free(shard->renewal); /* the thread itself is not in the child */
    if (ours) {
        bwl_renewal_thread_stop(shard);
        bwl_shard_lock(shard);
        shard->host.closing = true;
        let_everything_go(shard);
        if (shard->host.engine->flush != NULL)
            shard->host.engine->flush(&shard->host);
    }
    while (shard->locks != NULL) {
        bwl_lock *lock = shard->locks;
        shard->locks   = lock->next;
        bwl_timers_set(&shard->timers, &lock->timer, BWL_NEVER); /* the heap points to it */
        bwl_local_group_forget(lock);
        lock->engine->forget(&lock->base);
        bwl_lock_detach(lock);
        explicit_bzero(&lock->base.hold.claim, sizeof lock->base.hold.claim);
        free(lock);
    }
    shard->host.engine->close(&shard->host);
    if (ours) {
        bwl_shard_unlock(shard);
        bwl_free_waiting_threads(shard);
        (void)pthread_mutex_destroy(&shard->mutex);
    }
    bwl_named_free(&shard->named);
    bwl_timers_free(&shard->timers);
    bwl_reactor_close(&shard->host.reactor);
    bwl_fork_guard_free(&shard->host.guard);
    explicit_bzero(&shard->host.entropy, sizeof shard->host.entropy);
    free(shard);
}

int bwl_check_lease(const bwl_shard *shard, bwl_ms lease_ms, bwl_fault *fault)
{
    bwl_ms most_ms = shard->host.settings.lease_max_ms;

    if (most_ms == 0 || lease_ms <= most_ms)
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_USAGE,
                    "a lease of %lld ms is longer than that of the URL, %lld ms, which %s: waits "
                    "for before a server that was started again has a vote: write lease=%lldms "
                    "into the URL of all who lock, or restart-wait=off",
                    (long long)lease_ms, (long long)most_ms, shard->host.engine->scheme,
                    (long long)lease_ms);
}

void bwl_shard_lock(bwl_shard *shard)
{
    int error = pthread_mutex_lock(&shard->mutex);
    assert(error == 0);
    (void)error;
}

static void unlock(bwl_shard *shard)
{
    int error = pthread_mutex_unlock(&shard->mutex);
    assert(error == 0);
    (void)error;
}

void bwl_shard_unlock(bwl_shard *shard)
{
    pthread_cond_t *is_signalled[BWL_SIGNALS_MAX];
    size_t          count;

    if (shard->to_signal == NULL && shard->to_notify == NULL) {
        unlock(shard);
        return;
    }
    do {
        count     = bwl_take_signals(shard, is_signalled);
        bool more = shard->to_signal != NULL; /* then some are called with the mutex held */
        if (!more)
            unlock(shard);
        for (size_t i = 0; i < count; i++)
            pthread_cond_signal(is_signalled[i]);
        if (!more)
            return;
    } while (true);
}

bwl_ms bwl_shard_now(bwl_shard *shard)
{
    bwl_ms now = bwl_clock_now();

    if (now > shard->host.latest)
        shard->host.latest = now;
    return shard->host.latest;
}

bwl_ms bwl_shard_next_timer(bwl_shard *shard)
{
    return bwl_timers_next(&shard->timers);
}

void bwl_shard_set_timer(bwl_shard *shard, bwl_timer *timer, bwl_ms at)
{
    if (at == BWL_NEVER && timer->at == BWL_NEVER)
        return; /* as before: most steps of most locks */
    bwl_timers_set(&shard->timers, timer, at);
    if (shard->is_running && at < shard->runs_until) {
        bwl_shard_wake(shard);
    } else if (!shard->is_running && at < shard->caller_sleeps_until && shard->dispatchers == 0) {
        shard->caller_sleeps_until = 0;
        bwl_shard_notify_caller(shard);
    }
    if (shard->wakeup != NULL)
        bwl_wakeup_set_timer(shard->wakeup, shard, at);
}

void bwl_shard_notify_caller(bwl_shard *shard)
{
    if (shard->dispatchers > 0 && !shard->is_running)
        return; /* it is the loop that does this, and it looks afterwards */
    if (shard->wakeup != NULL && shard->dispatchers == 0)
        bwl_wakeup_raise(shard->wakeup); /* a wake might be heard by another thread that drives */
    else if (shard->host.reactor.epoll_fd >= 0)
        bwl_shard_wake(shard);
}

int bwl_shard_fd(bwl_shard *shard, bwl_fault *fault)
{
    int status = bwl_reactor_open(&shard->host.reactor, fault);

    return status < 0 ? status : shard->host.reactor.epoll_fd;
}

void bwl_shard_wake(bwl_shard *shard)
{
    bwl_reactor_wake(&shard->host.reactor);
}
