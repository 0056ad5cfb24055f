/*
 * client.c -- opening and closing; the clock and the mutex of a client.
 */
#include "runtime/client.h"
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

static int set_up(bwl_client *client, const bwl_engine *const *engines, const bwl_settings *asked,
                  bool renewal_off, const char *text, bwl_fault *fault)
{
    bwl_settings chosen = *asked;
    bwl_url      url;
    int          status = bwl_url_parse(&url, text, fault);

    if (status < 0)
        goto out;
    client->host.engine = engine_for(engines, url.scheme);
    if (client->host.engine == NULL) {
        status = unknown_scheme(engines, url.scheme, fault);
        goto out;
    }
    assert(client->host.engine->kind != 0);
    if (client->host.engine->choose != NULL)
        status = client->host.engine->choose(&chosen, &url, fault);
    if (status < 0)
        goto out;
    status = bwl_settings_from(&client->host.settings, &chosen, renewal_off, &url, fault);
    if (status < 0)
        goto out;
    status = client->host.engine->open(&client->host, &url, fault);
out:
    bwl_url_wipe(&url);
    return status;
}

static bwl_client *client_new(void)
{
    bwl_client *client = calloc(1, sizeof *client);

    if (client == NULL)
        return NULL;
    client->host.calls        = &bwl_runtime_calls;
    client->host.nodes        = 1;
    client->host.reactor      = (bwl_reactor)BWL_REACTOR_CLOSED;
    client->store_timer       = (bwl_timer){ .at = BWL_NEVER };
    client->loop_sleeps_until = 0;
    client->unawaited.end     = (bwl_operation){ .ended = BWL_RELEASED };
    atomic_init(&client->callers, 0);
    atomic_init(&client->stands, false);
    atomic_init(&client->lame_until, 0);
    if (!bwl_fork_guard_init(&client->host.guard) || !bwl_timers_reserve(&client->timers, 1)) {
        bwl_fork_guard_free(&client->host.guard);
        free(client);
        return NULL;
    }
    (void)pthread_mutex_init(&client->mutex, NULL); /* of the default kind: cannot fail */
    return client;
}

/* One that has no store. */
static void client_free(bwl_client *client)
{
    (void)pthread_mutex_destroy(&client->mutex);
    bwl_timers_free(&client->timers);
    bwl_reactor_close(&client->host.reactor);
    bwl_fork_guard_free(&client->host.guard);
    free(client);
}

int bwl_client_open(bwl_client **ret_client, const bwl_engine *const *engines,
                    const bwl_settings *asked, bool renewal_off, const char *url, bwl_fault *fault)
{
    bwl_client *client = client_new();

    if (client == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    int status = set_up(client, engines, asked, renewal_off, url, fault);
    if (status < 0) {
        client_free(client);
        return status;
    }
    *ret_client = client;
    return BWL_OK;
}

int bwl_client_share(bwl_client **ret_client, const bwl_client *first)
{
    bwl_client *client = client_new();

    if (client == NULL)
        return BWL_STATUS_NOMEM;
    client->host.engine   = first->host.engine;
    client->host.settings = first->host.settings;
    client->handle        = first->handle;
    memcpy(client->host.program, first->host.program, sizeof client->host.program);
    int status =
        bwl_reactor_open(&client->host.reactor, NULL); /* now, not in the middle of a call */
    if (status == BWL_OK)
        status = client->host.engine->share(&client->host, &first->host);
    if (status < 0) {
        client_free(client);
        return status;
    }
    *ret_client = client;
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
static void let_everything_go(bwl_client *client)
{
    bwl_lock *next;

    for (bwl_lock *lock = client->locks; lock != NULL; lock = next) {
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

void bwl_client_close(bwl_client *client)
{
    if (client == NULL)
        return;

    bool ours = !bwl_forked(&client->host.guard);
    if (!ours && !bwl_was_at_rest(&client->mutex))
        return;
    if (!ours)
        free(client->keeper); /* the thread itself is not in the child */
    if (ours) {
        bwl_keeper_stop(client);
        bwl_client_lock(client);
        client->host.closing = true;
        let_everything_go(client);
        if (client->host.engine->flush != NULL)
            client->host.engine->flush(&client->host);
    }
    while (client->locks != NULL) {
        bwl_lock *lock = client->locks;
        client->locks  = lock->next;
        bwl_timers_set(&client->timers, &lock->timer, BWL_NEVER); /* the heap points to it */
        bwl_seats_forget(lock);
        lock->engine->forget(&lock->base);
        bwl_lock_take_back(lock);
        explicit_bzero(&lock->base.hold.claim, sizeof lock->base.hold.claim);
        free(lock);
    }
    client->host.engine->close(&client->host);
    if (ours) {
        bwl_client_unlock(client);
        bwl_free_sleepers(client);
        (void)pthread_mutex_destroy(&client->mutex);
    }
    bwl_named_free(&client->named);
    bwl_timers_free(&client->timers);
    bwl_reactor_close(&client->host.reactor);
    bwl_fork_guard_free(&client->host.guard);
    explicit_bzero(&client->host.entropy, sizeof client->host.entropy);
    free(client);
}

int bwl_check_lease(const bwl_client *client, bwl_ms lease_ms, bwl_fault *fault)
{
    bwl_ms most_ms = client->host.settings.lease_max_ms;

    if (most_ms == 0 || lease_ms <= most_ms)
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_USAGE,
                    "a lease of %lld ms is longer than that of the URL, %lld ms, which %s: waits "
                    "for before a server that was started again has a vote: write lease=%lldms "
                    "into the URL of all who lock, or restart-wait=off",
                    (long long)lease_ms, (long long)most_ms, client->host.engine->scheme,
                    (long long)lease_ms);
}

void bwl_client_lock(bwl_client *client)
{
    int error = pthread_mutex_lock(&client->mutex);
    assert(error == 0);
    (void)error;
}

static void unlock(bwl_client *client)
{
    int error = pthread_mutex_unlock(&client->mutex);
    assert(error == 0);
    (void)error;
}

void bwl_client_unlock(bwl_client *client)
{
    pthread_cond_t *called[BWL_CALLS_MAX];
    size_t          count;

    if (client->calls == NULL && client->nudges == NULL) {
        unlock(client);
        return;
    }
    do {
        count     = bwl_take_calls(client, called);
        bool more = client->calls != NULL; /* then some are called with the mutex held */
        if (!more)
            unlock(client);
        for (size_t i = 0; i < count; i++)
            pthread_cond_signal(called[i]);
        if (!more)
            return;
    } while (true);
}

bwl_ms bwl_client_now(bwl_client *client)
{
    bwl_ms now = bwl_clock_now();

    if (now > client->host.latest)
        client->host.latest = now;
    return client->host.latest;
}

bwl_ms bwl_client_next_at(bwl_client *client)
{
    return bwl_timers_next(&client->timers);
}

void bwl_client_alarm(bwl_client *client, bwl_timer *timer, bwl_ms at)
{
    if (at == BWL_NEVER && timer->at == BWL_NEVER)
        return; /* as before: most steps of most locks */
    bwl_timers_set(&client->timers, timer, at);
    if (client->driving && at < client->drives_until) {
        bwl_client_wake(client);
    } else if (!client->driving && at < client->loop_sleeps_until && client->dispatchers == 0) {
        client->loop_sleeps_until = 0;
        bwl_client_tell(client);
    }
    if (client->bell != NULL)
        bwl_bell_alarm(client->bell, client, at);
}

void bwl_client_tell(bwl_client *client)
{
    if (client->dispatchers > 0 && !client->driving)
        return; /* it is the loop that does this, and it looks afterwards */
    if (client->bell != NULL && client->dispatchers == 0)
        bwl_bell_ring(client->bell); /* a wake might be heard by another thread that drives */
    else if (client->host.reactor.epoll_fd >= 0)
        bwl_client_wake(client);
}

int bwl_client_fd(bwl_client *client, bwl_fault *fault)
{
    int status = bwl_reactor_open(&client->host.reactor, fault);

    return status < 0 ? status : client->host.reactor.epoll_fd;
}

void bwl_client_wake(bwl_client *client)
{
    bwl_reactor_wake(&client->host.reactor);
}
