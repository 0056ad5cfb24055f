/*
 * sentinel.c -- finds the primary of a service that sentinels monitor.
 *
 *      redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]].../SERVICE[/DATABASE]
 *
 * Every attempt to connect begins with a discovery: all sentinels of the URL are asked at the same
 * time.  It ends
 *
 *      when a majority of them has answered, or
 *      when PATIENCE_MS have passed and at least one has answered, or
 *      when each has answered or failed.
 *
 * So one that is dead or silent costs nothing while a majority answers, and PATIENCE_MS otherwise.
 * Which primary follows from the answers is decided in sentinel_poll.c: that of the newest epoch,
 * and none that is older than the newest one ever seen.  The server is used if its own handshake
 * shows that it is a primary; otherwise another one that a sentinel names with the same epoch, in
 * the same attempt.
 *
 * While the client is connected, it keeps the connections to all sentinels (sentinel_link.c): the
 * one that carries out a failover knows the new primary first, and the one in the partition of the
 * old primary last.  An answer with a newer epoch ends a connection to another server, or an
 * attempt to connect to it.  A message about a new primary and an error READONLY end the connection
 * too, and then the answers decide.  Held locks are revalidated at the new primary before they
 * count as lost.
 *
 * All functions need the client's mutex.
 */
#include "engine/redis/topology/sentinel.h"

#include "base/fault.h"
#include "engine/redis/topology/sentinel_link.h"
#include "engine/redis/topology/sentinel_poll.h"
#include "engine/redis/wire/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATIENCE_MS    = 500, /* for a majority, in a discovery ... */
    PATIENCE_SHARE = 4,   /* ... and at most this part of answer_ms */
};

struct bwl_sentinel {
    bwl_router           *router;
    bwl_host             *client;
    bwl_sentinel_service *service; /* one reference */
    bwl_sentinel_poll     poll;
    bool                  is_awaited;    /* a discovery waits for the answers */
    bool                  is_asking;     /* not all sentinels have been asked yet */
    bwl_ms                patience_ends; /* of the discovery; BWL_NEVER: it is over */
    bwl_fault             refusal;       /* of a sentinel in this discovery: needs correction */
    bwl_fault             failure;       /* of the last one that failed */
    bwl_sentinel_link    *links[BWL_URL_HOSTS_MAX];
};

static bwl_sentinel *sentinel_of(const bwl_session *session)
{
    return bwl_router_of(session)->sentinel;
}

static bwl_ms now_of(const bwl_sentinel *s)
{
    return bwl_host_now(s->client);
}

/* ---- the session ----------------------------------------------------------------------------- */

static bool is_there(const bwl_endpoint *endpoint, const bwl_primary *primary)
{
    return endpoint->host != NULL && endpoint->port == primary->port &&
           strcmp(endpoint->host, primary->host) == 0;
}

/* The server of the session, or the one that it tries.  False: none yet. */
static bool current_of(bwl_primary *ret_current, const bwl_session *session)
{
    const bwl_endpoint *endpoint = &session->endpoint;

    if (endpoint->host == NULL)
        return false;
    (void)snprintf(ret_current->host, sizeof ret_current->host, "%s", endpoint->host);
    ret_current->port = endpoint->port;
    return true;
}

static void try_it(bwl_session *session, const bwl_primary *primary)
{
    char         host[sizeof primary->host];
    bwl_endpoint endpoint = { .host = host, .port = primary->port };

    (void)snprintf(host, sizeof host, "%s", primary->host);
    (void)snprintf(endpoint.text, sizeof endpoint.text, "%.40s (%.60s:%u)",
                   sentinel_of(session)->service->name, primary->host, (unsigned)primary->port);
    bwl_session_found(session, &endpoint);
}

static void on_moved(bwl_session *session, const bwl_primary *primary)
{
    bwl_fault fault;

    (void)bwl_fail(&fault, BWL_STATUS_UNREACHABLE, "%s is not the primary any more, %.60s:%u is",
                   session->endpoint.text, primary->host, (unsigned)primary->port);
    bwl_session_break(session, &fault, false);
}

/* The result of a discovery, or a new primary. */
static void use(bwl_session *session, const bwl_primary *primary)
{
    bool is_new = !is_there(&session->endpoint, primary);

    switch (session->phase) {
    case BWL_SESSION_DOWN:
    case BWL_SESSION_BACKOFF: break; /* the next attempt asks again */
    case BWL_SESSION_DISCOVERING: try_it(session, primary); break;
    case BWL_SESSION_RESOLVING:
    case BWL_SESSION_CONNECTING:
    case BWL_SESSION_HANDSHAKE:
        if (is_new)
            try_it(session, primary);
        break;
    case BWL_SESSION_READY:
        if (is_new)
            on_moved(session, primary);
        break;
    }
    session->owner->on_change(session);
}

/* ---- the answers ----------------------------------------------------------------------------- */

/* The epoch to be accepted; the other shards of the client learn it too. */
static uint64_t learn_epoch(bwl_sentinel *s)
{
    uint64_t known = atomic_load(&s->service->epoch);
    uint64_t epoch;

    do
        epoch = bwl_sentinel_poll_epoch(&s->poll, known, now_of(s));
    while (epoch != known && !atomic_compare_exchange_weak(&s->service->epoch, &known, epoch));
    return epoch;
}

/* Why no answer can be used; `down`: the one that names a server which is down, or NULL. */
static void explain(const bwl_sentinel *s, const bwl_sentinel_answer *down, bwl_fault *ret_fault)
{
    unsigned long long known = atomic_load(&s->service->epoch);

    if (down != NULL)
        (void)bwl_fail(ret_fault, BWL_STATUS_UNREACHABLE,
                       "%.60s:%u is down for a quorum of the sentinels (o_down), and they have not "
                       "elected another primary yet",
                       down->primary.host, (unsigned)down->primary.port);
    else if (bwl_sentinel_poll_answered(&s->poll) > 0)
        (void)bwl_fail(ret_fault, BWL_STATUS_UNREACHABLE,
                       "the sentinels that answer name an older primary: epoch %llu was seen "
                       "before. They are cut off from the others, or were set up again: then a "
                       "majority of those in the URL must say so for %d s",
                       known, BWL_SENTINEL_LOWER_MS / 1000);
    else
        *ret_fault = s->refusal.status != 0 ? s->refusal : s->failure;
}

/* Ends the discovery, if the answers suffice. */
static void decide(bwl_sentinel *s)
{
    bwl_session *session = s->router->sessions;
    bool         all     = bwl_sentinel_poll_due(&s->poll) == 0;
    bool         enough  = bwl_sentinel_poll_is_majority(&s->poll) ||
                  (s->patience_ends == BWL_NEVER && bwl_sentinel_poll_answered(&s->poll) > 0);
    uint64_t    epoch = atomic_load(&s->service->epoch);
    bwl_primary current;
    bwl_fault   fault;

    if (!all && !enough)
        return;
    const bwl_sentinel_answer *best =
        bwl_sentinel_poll_choose(&s->poll, epoch, current_of(&current, session) ? &current : NULL);
    if (best != NULL && !best->is_down) {
        s->is_awaited = false;
        use(session, &best->primary);
    } else if (all) {
        s->is_awaited = false;
        explain(s, best, &fault);
        bwl_session_not_found(session, &fault);
        session->owner->on_change(session);
    } /* else: a sentinel that has not answered may know another primary */
}

/* An answer that no discovery waits for. */
static void follow(bwl_sentinel *s)
{
    bwl_session *session = s->router->sessions;
    uint64_t     epoch   = atomic_load(&s->service->epoch);
    bwl_primary  current;

    if (!current_of(&current, session) || bwl_sentinel_poll_names(&s->poll, epoch, &current))
        return;
    const bwl_sentinel_answer *best = bwl_sentinel_poll_choose(&s->poll, epoch, NULL);
    if (best != NULL && !best->is_down)
        use(session, &best->primary);
}

static void on_answer(void *owner, unsigned number, const bwl_sentinel_answer *answer)
{
    bwl_sentinel *s = owner;

    bwl_sentinel_poll_answer(&s->poll, number, answer);
    (void)learn_epoch(s);
    if (s->is_asking)
        return;
    if (s->is_awaited)
        decide(s);
    else
        follow(s);
}

/* At once, although the answers decide: the old primary may still accept requests. */
static void on_switch(void *owner, const bwl_primary *primary)
{
    bwl_sentinel *s       = owner;
    bwl_session  *session = s->router->sessions;

    if (session->phase == BWL_SESSION_READY)
        use(session, primary);
}

static void on_failed(void *owner, unsigned number, const bwl_fault *fault)
{
    bwl_sentinel *s = owner;

    bwl_sentinel_poll_fail(&s->poll, number);
    if (!s->is_awaited)
        return;
    s->failure = *fault;
    if (fault->status == BWL_STATUS_REFUSED)
        s->refusal = *fault;
    if (!s->is_asking)
        decide(s);
}

static void on_change(void *owner)
{
    bwl_sentinel *s = owner;

    s->router->owner->on_change(s->router->sessions);
}

static const bwl_sentinel_link_owner link_owner = {
    .on_answer = on_answer,
    .on_switch = on_switch,
    .on_failed = on_failed,
    .on_change = on_change,
};

/* ---- exported functions ---------------------------------------------------------------------- */

void bwl_sentinel_discover(bwl_session *session)
{
    bwl_sentinel *s        = sentinel_of(session);
    bwl_ms        share_ms = s->client->settings.answer_ms / PATIENCE_SHARE;

    s->refusal       = (bwl_fault){ 0 };
    s->failure       = (bwl_fault){ 0 };
    s->patience_ends = bwl_ms_add(now_of(s), bwl_ms_min(PATIENCE_MS, share_ms));
    s->is_awaited    = true;
    s->is_asking     = true;
    bwl_sentinel_poll_begin(&s->poll);
    for (unsigned i = 0; i < s->service->hosts_count; i++)
        bwl_sentinel_link_ask(s->links[i]);
    s->is_asking = false;
    decide(s);
}

/* False: no sentinel names another server, or the time is over. */
bool bwl_sentinel_try_next(bwl_session *session, bwl_ms by)
{
    bwl_sentinel *s     = sentinel_of(session);
    uint64_t      epoch = atomic_load(&s->service->epoch);
    bwl_primary   current;

    if (current_of(&current, session))
        bwl_sentinel_poll_tried(&s->poll, &current);
    if (now_of(s) >= by || (bwl_sentinel_poll_due(&s->poll) == 0 &&
                            bwl_sentinel_poll_choose(&s->poll, epoch, NULL) == NULL))
        return false;
    s->is_awaited = true;
    decide(s);
    return true;
}

bwl_ms bwl_sentinel_waits_until(const bwl_sentinel *s)
{
    bwl_ms until = s->is_awaited ? s->patience_ends : BWL_NEVER;

    for (unsigned i = 0; i < s->service->hosts_count; i++)
        until = bwl_ms_min(until, bwl_sentinel_link_waits_until(s->links[i]));
    return until;
}

void bwl_sentinel_woken(bwl_sentinel *s)
{
    for (unsigned i = 0; i < s->service->hosts_count; i++)
        bwl_sentinel_link_woken(s->links[i]);
    if (s->is_awaited && now_of(s) >= s->patience_ends) {
        s->patience_ends = BWL_NEVER;
        decide(s);
    }
}

int bwl_sentinel_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault)
{
    int status = bwl_single_check_hello(session, hello, fault);

    if (status < 0 || bwl_resp_text_is(&hello->role, "master"))
        return status;
    return bwl_fail(fault, BWL_STATUS_UNREACHABLE,
                    "%s is a replica, and the sentinel names it as the primary",
                    session->endpoint.text);
}

bool bwl_sentinel_is_demoted(const bwl_session *session, const char *bytes, size_t size)
{
    (void)session;
    return bwl_redis_error_is(bytes, size, "READONLY");
}

bool bwl_sentinel_has_moved(const bwl_session *session)
{
    const bwl_endpoint *served = &bwl_router_of(session)->served;
    const bwl_endpoint *now    = &session->endpoint;

    return served->host != NULL &&
           (now->port != served->port || strcmp(now->host, served->host) != 0);
}

/* Out of memory: the next connection counts as one to the same server. */
void bwl_sentinel_served(bwl_session *session)
{
    bwl_endpoint *served = &bwl_router_of(session)->served;

    free(served->host);
    served->host = strdup(session->endpoint.host);
    served->port = session->endpoint.port;
}

/* ---- new and free ---------------------------------------------------------------------------- */

/* Takes the reference to the service. */
static int new (bwl_router *router, bwl_sentinel_service *service, bwl_fault *fault)
{
    bwl_sentinel *s   = calloc(1, sizeof *s);
    bool          all = s != NULL;

    if (!all) {
        bwl_sentinel_service_unref(service);
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    }
    s->router        = router;
    s->client        = router->host;
    s->service       = service;
    s->poll.count    = service->hosts_count;
    s->patience_ends = BWL_NEVER;
    for (unsigned i = 0; i < service->hosts_count; i++) {
        s->links[i] =
            bwl_sentinel_link_new(router->host, service, i, router->config->tls, &link_owner, s);
        all = all && s->links[i] != NULL;
    }
    if (!all) {
        bwl_sentinel_free(s);
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    }
    router->sentinel = s;
    return BWL_OK;
}

void bwl_sentinel_free(bwl_sentinel *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < s->service->hosts_count; i++)
        bwl_sentinel_link_free(s->links[i]);
    bwl_sentinel_service_unref(s->service);
    free(s);
}

int bwl_sentinel_open(bwl_router *router, const bwl_url *url, bwl_fault *fault)
{
    bwl_sentinel_service *service = NULL;
    int                   status  = bwl_sentinel_service_new(&service, url, fault);

    return status == BWL_OK ? new (router, service, fault) : status;
}

int bwl_sentinel_share(bwl_router *router, const bwl_router *of)
{
    (void)snprintf(router->sessions->endpoint.text, sizeof router->sessions->endpoint.text,
                   "%.100s", of->sentinel->service->name);
    return new (router, bwl_sentinel_service_ref(of->sentinel->service), NULL);
}
