/*
 * shard.c -- opens and closes a shard, and computes when its renewal thread has work.  Has the
 * table of the runtime functions for engines.
 */
#include "runtime/shard.h"
#include "runtime/lock.h"
#include "core/nearest.h"
#include "base/fault.h"

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

static int unknown_scheme(const bwl_engine *const *engines, const char *scheme, bwl_fault *fault)
{
    const char *names[ENGINES_MAX];
    char        list[256] = "";
    size_t      count     = 0;

    for (size_t used = 0; engines[count] != NULL && count < ENGINES_MAX; count++) {
        names[count] = engines[count]->scheme;
        used +=
            (size_t)snprintf(list + used, sizeof list - used, " %s", engines[count]->url_prefix);
        assert(used < sizeof list);
    }
    const char *nearest = bwl_nearest(scheme, names, count);
    if (nearest != NULL)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED, "there is no engine %s: did you mean %s?",
                        scheme, engine_for(engines, nearest)->url_prefix);
    return bwl_fail(fault, BWL_STATUS_UNSUPPORTED, "%s: is none of the engines of this build:%s",
                    scheme, list);
}

static int set_up(bwl_shard *shard, const bwl_engine *const *engines, const bwl_settings *asked,
                  bool renewal_off, const char *text, bwl_fault *fault)
{
    bwl_host    *host   = &shard->host;
    bwl_settings chosen = *asked;
    bwl_url      url;
    int          status = bwl_url_parse(&url, text, fault);

    if (status == BWL_OK && (host->engine = engine_for(engines, url.scheme)) == NULL)
        status = unknown_scheme(engines, url.scheme, fault);
    if (status == BWL_OK && host->engine->choose != NULL)
        status = host->engine->choose(&chosen, &url, fault);
    if (status == BWL_OK)
        status = bwl_settings_from(&host->settings, &chosen, renewal_off, &url, fault);
    if (status == BWL_OK)
        status = host->engine->open(host, &url, fault);
    bwl_url_wipe(&url);
    if (status < 0)
        free(chosen.options.program);
    shard->program = status < 0 ? NULL : chosen.options.program;
    return status;
}

/* ---- for engines: engine/host.h -------------------------------------------------------------- */

static bwl_ms now(bwl_host *host)
{
    return bwl_shard_now(bwl_shard_of(host));
}

static void set_timer(bwl_host *host, bwl_ms at)
{
    bwl_shard *shard = bwl_shard_of(host);

    bwl_loop_set_timer(&shard->loop, &shard->loop.engine_timer, at);
}

static void lock_client(bwl_host *host)
{
    bwl_loop_lock(&bwl_shard_of(host)->loop);
}

static void unlock_client(bwl_host *host)
{
    bwl_loop_unlock(&bwl_shard_of(host)->loop);
}

static bool may_hold_back(const bwl_host *host)
{
    return bwl_loop_may_hold_back(&((const bwl_shard *)(const void *)host)->loop);
}

static void connected(bwl_host *host, bool is_connected)
{
    bwl_shard *shard         = bwl_shard_of(host);
    bool       was_connected = atomic_exchange(&shard->is_connected, is_connected);

    shard->stats.connections += is_connected ? 1 : 0;
    if (!is_connected && !was_connected)
        atomic_store(&shard->unhealthy_until, bwl_ms_add(bwl_shard_now(shard), BWL_UNHEALTHY_MS));
    if (shard->connecting.result == BWL_PENDING)
        bwl_loop_complete(&shard->loop, &shard->connecting, BWL_RELEASED);
}

static const bwl_host_calls runtime_calls = {
    .now           = now,
    .set_timer     = set_timer,
    .lock          = lock_client,
    .unlock        = unlock_client,
    .may_hold_back = may_hold_back,
    .connected     = connected,
    .event         = bwl_lock_event,
    .revoke        = bwl_lock_revoke,
    .watched       = bwl_lock_watched,
    .wanted        = bwl_lock_wanted,
    .query_done    = bwl_lock_query_done,
    .pin           = bwl_lock_pin,
    .unpin         = bwl_lock_unpin,
    .set_fault     = bwl_lock_set_fault,
    .is_awaited    = bwl_lock_is_awaited,
};

/* ---- opening and closing --------------------------------------------------------------------- */

static bwl_shard *shard_new(void)
{
    bwl_shard *shard = calloc(1, sizeof *shard);

    if (shard == NULL)
        return NULL;
    shard->host.calls        = &runtime_calls;
    shard->host.nodes        = 1;
    shard->host.reactor      = (bwl_reactor)BWL_REACTOR_CLOSED;
    shard->connecting.result = BWL_RELEASED;
    shard->background.end    = (bwl_completion){ .result = BWL_RELEASED };
    bwl_event_queue_init(&shard->events);
    atomic_init(&shard->callers, 0);
    atomic_init(&shard->is_connected, false);
    atomic_init(&shard->unhealthy_until, 0);
    if (!bwl_fork_guard_init(&shard->host.guard) || !bwl_loop_init(&shard->loop, &shard->host)) {
        bwl_fork_guard_free(&shard->host.guard);
        free(shard);
        return NULL;
    }
    return shard;
}

/* The engine is closed, or was not opened. */
static void shard_free(bwl_shard *shard, bool is_ours)
{
    bwl_loop_free(&shard->loop, is_ours);
    bwl_reactor_close(&shard->host.reactor);
    bwl_fork_guard_free(&shard->host.guard);
    explicit_bzero(&shard->host.entropy, sizeof shard->host.entropy);
    free(shard->program);
    free(shard);
}

int bwl_shard_open(bwl_shard **ret_shard, const bwl_engine *const *engines,
                   const bwl_settings *asked, bool renewal_off, const char *url, bwl_fault *fault)
{
    bwl_shard *shard = shard_new();

    if (shard == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    int status = set_up(shard, engines, asked, renewal_off, url, fault);
    if (status < 0) {
        shard_free(shard, true);
        return status;
    }
    *ret_shard = shard;
    return BWL_OK;
}

int bwl_shard_share(bwl_shard **ret_shard, const bwl_shard *first)
{
    bwl_shard *shard = shard_new();

    if (shard == NULL)
        return BWL_STATUS_NOMEM;
    shard->host.engine   = first->host.engine;
    shard->host.settings = first->host.settings;
    shard->client        = first->client;
    memcpy(shard->host.program, first->host.program, sizeof shard->host.program);
    int status =
        bwl_reactor_open(&shard->host.reactor, NULL); /* now, not in the middle of a call */
    if (status == BWL_OK)
        status = shard->host.engine->share(&shard->host, &first->host);
    if (status < 0) {
        shard_free(shard, true);
        return status;
    }
    *ret_shard = shard;
    return BWL_OK;
}

static void free_locks(bwl_shard *shard)
{
    while (shard->locks != NULL)
        bwl_lock_free(shard->locks);
}

void bwl_shard_let_go(bwl_shard *shard)
{
    if (shard == NULL || shard->host.closing || bwl_forked(&shard->host.guard))
        return;
    bwl_loop_stop_renewal(&shard->loop);
    bwl_loop_lock(&shard->loop);
    shard->host.closing = true;
    for (bwl_lock *lock = shard->locks; lock != NULL; lock = lock->next)
        bwl_lock_let_go(lock);
    if (shard->host.engine->flush != NULL)
        (void)shard->host.engine->flush(&shard->host, 0);
    free_locks(shard);
    bwl_loop_unlock(&shard->loop);
}

bool bwl_shard_linger(bwl_shard *shard, bwl_ms wait_ms)
{
    if (shard == NULL || !shard->host.closing || bwl_forked(&shard->host.guard) ||
        shard->host.engine->flush == NULL)
        return false;
    bwl_loop_lock(&shard->loop);
    bool more = shard->host.engine->flush(&shard->host, wait_ms);
    bwl_loop_unlock(&shard->loop);
    return more;
}

/* In a child of fork, the mutex and the conditions may be in use by threads that do not exist. */
void bwl_shard_close(bwl_shard *shard)
{
    if (shard == NULL)
        return;

    bool is_ours = !bwl_forked(&shard->host.guard);
    if (!is_ours && !bwl_was_at_rest(&shard->loop.mutex))
        return;
    bwl_shard_let_go(shard);
    if (is_ours) {
        bwl_loop_lock(&shard->loop);
    } else {
        shard->host.closing = false; /* the last bytes are those of the parent */
        free_locks(shard);
    }
    shard->host.engine->close(&shard->host);
    if (is_ours)
        bwl_loop_unlock(&shard->loop);
    bwl_named_free(&shard->named);
    shard_free(shard, is_ours);
}

bool bwl_shard_connect(bwl_shard *shard)
{
    const bwl_engine *engine = shard->host.engine;

    bwl_loop_lock(&shard->loop);
    if (!atomic_load(&shard->is_connected) && engine->connect != NULL) {
        bwl_ms until = bwl_ms_add(bwl_shard_now(shard), shard->host.settings.answer_ms / 2);
        shard->connecting.result = BWL_PENDING; /* also for a thread that was just signalled */
        if (engine->connect(&shard->host))
            (void)bwl_loop_wait(&shard->loop, &shard->connecting, until, NULL);
    }
    bool is_connected = atomic_load(&shard->is_connected);
    bwl_loop_unlock(&shard->loop);
    return is_connected;
}

/* If the loop has not run for so long, the renewal thread watches the connection.  With less,
 * frequent callers would have to take the loop over from the thread each time. */
enum { WATCH_AFTER_MS = 50 };

/* A caller that has started several operations finishes them one by one, and reads all replies
 * while it waits for the first.  Sharing the loop with it would cost both more. */
enum { READ_AFTER_MS = 1 };

/* locked */
static bwl_ms renewal_due(void *arg)
{
    bwl_shard      *shard = arg;
    const bwl_host *host  = &shard->host;
    const bwl_loop *loop  = &shard->loop;
    bwl_ms          next  = bwl_timers_next(&shard->loop.timers);

    if (loop->is_running || loop->waiting_threads != NULL)
        return BWL_NEVER; /* a caller runs the loop, or is about to */
    if (host->coalescing.since != 0)
        return bwl_ms_add(host->coalescing.since, READ_AFTER_MS);
    if (shard->idle_groups > 0)
        return loop->last_run_at; /* another client may want a lock that nobody here uses */
    if (host->pending > host->read_late)
        return bwl_ms_add(loop->last_run_at, READ_AFTER_MS);
    if (host->read_late > 0)
        return bwl_ms_min(next, bwl_ms_add(host->late_since, WATCH_AFTER_MS));
    if (host->watches && shard->locks_count > 0)
        return bwl_ms_min(next, bwl_ms_add(loop->last_run_at, WATCH_AFTER_MS));
    return next;
}

int bwl_shard_start_renewal(bwl_shard *shard, bwl_fault *fault)
{
    int status = bwl_loop_start_renewal(&shard->loop, renewal_due, shard, fault);

    if (status == BWL_OK)
        bwl_loop_notify_renewal(&shard->loop);
    return status;
}

int bwl_check_lease(const bwl_shard *shard, bwl_ms lease_ms, bwl_fault *fault)
{
    bwl_ms most_ms = shard->host.settings.lease_max_ms;

    if (most_ms == 0 || lease_ms <= most_ms)
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_USAGE,
                    "a lease of %lld ms is longer than that of the URL, %lld ms, for which a "
                    "restarted server of %s: has no vote: use lease=%lldms in the URL of all "
                    "clients, or restart-wait=off",
                    (long long)lease_ms, (long long)most_ms, shard->host.engine->scheme,
                    (long long)lease_ms);
}
