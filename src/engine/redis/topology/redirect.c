/*
 * redirect.c -- requests that a node redirects or cannot serve yet.  See cluster.h.
 */
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"

#include <string.h>

enum { PAUSE_MS = 50 }; /* before a deferred request is sent again */

static bwl_cluster *cluster_of(const bwl_session *session)
{
    return bwl_router_of(session)->cluster;
}

static bool may_hop(const bwl_session *session, bwl_request *request)
{
    bwl_ms             now   = session->host->latest;
    bwl_request_route *route = &request->route;

    if (route->until == 0)
        route->until = bwl_ms_add(now, session->host->settings.answer_ms);
    if (route->hops == BWL_CLUSTER_HOPS_MAX || now >= route->until ||
        !bwl_request_is_wanted(request) || session->host->closing)
        return false;
    route->hops++;
    return true;
}

/* In a cluster each request is sent alone, and its reply is one frame: none of it has come yet. */
static bool submit_anew(bwl_session *session, const bwl_request *request)
{
    bwl_request anew = *request;

    assert(anew.flight.prepares || anew.flight.frames == 0);
    assert(anew.batch.size == 0 && anew.batch.known == 0);
    anew.flight = (bwl_request_flight){ .written = false };
    return bwl_session_submit(session, &anew);
}

static bool submit_to(bwl_cluster *cluster, unsigned number, const bwl_request *request)
{
    bwl_session *session = number != BWL_NOBODY ? bwl_cluster_session(cluster, number) : NULL;

    return session != NULL && submit_anew(session, request);
}

/* A lost heartbeat is replaced by the next one, and no caller waits for its reply. */
static bool may_defer(const bwl_request *request)
{
    return bwl_slots_uses(request) && request->command != REDIS_QUEUE_HEARTBEAT;
}

/* The slot is being moved, and its keys are on two nodes. */
static bool defer(bwl_session *session, bwl_request *request)
{
    bwl_ms now = session->host->latest;

    if (request->route.until == 0)
        request->route.until = bwl_ms_add(now, session->host->settings.answer_ms);
    request->flight.sent_at = now;
    if (may_defer(request) && now < request->route.until && bwl_request_is_wanted(request) &&
        !session->host->closing && bwl_request_keep(&cluster_of(session)->deferred, request))
        return true;
    bwl_host_set_error(request->lock,
                       "%s: the lock's slot is being moved to another node (TRYAGAIN)",
                       session->endpoint.text);
    return false;
}

bwl_ms bwl_cluster_deadline(const bwl_cluster *cluster)
{
    bwl_ms until = BWL_NEVER;

    for (size_t i = 0; i < cluster->deferred.count; i++)
        until = bwl_ms_min(until, bwl_ms_add(cluster->deferred.items[i].flight.sent_at, PAUSE_MS));
    return until;
}

static bool take_due(bwl_cluster *cluster, bwl_ms now, bwl_request *ret_request)
{
    bwl_request_list *list = &cluster->deferred;

    for (size_t i = 0; i < list->count; i++) {
        if (now < bwl_ms_add(list->items[i].flight.sent_at, PAUSE_MS))
            continue;
        *ret_request = bwl_request_take(list, i);
        return true;
    }
    return false;
}

/* Drops a request that the machine has replaced by a later one. */
void bwl_cluster_woken(bwl_cluster *cluster)
{
    bwl_request request;

    while (take_due(cluster, bwl_host_now(cluster->router->host), &request)) {
        bwl_session *session = bwl_cluster_route(cluster, bwl_route_of(request.lock)->slot);
        if (bwl_request_is_wanted(&request) && session != NULL && submit_anew(session, &request))
            bwl_host_unpin(request.lock); /* submitting pinned it a second time */
        else
            bwl_request_answer(session, &request, BWL_NOT_SENT);
    }
}

/* The caller's wait has ended, and the last attempt to connect to that node failed: no time is left
 * for another one. */
static bool is_too_late(const bwl_session *there, const bwl_engine_lock *lock)
{
    return bwl_hold_is_acquiring(&lock->hold) && lock->hold.wait_deadline <= lock->host->latest &&
           there != NULL && bwl_session_may_be_dead(there);
}

static void name_redirect(const bwl_session *session, bwl_engine_lock *lock,
                          const bwl_session *there, const bwl_primary *at)
{
    if (there != NULL && bwl_session_may_be_dead(there))
        bwl_host_set_error(lock,
                           "%s sends to %.60s:%u (cluster-announce-ip, "
                           "cluster-announce-hostname), which cannot be reached from here: %.120s",
                           session->endpoint.text, at->host, (unsigned)at->port,
                           there->attempt.broke.text);
    else
        bwl_host_set_error(lock, "%s sends to %.60s:%u, and that one on: they are at odds",
                           session->endpoint.text, at->host, (unsigned)at->port);
}

/* The slot has moved: records the lock's new owner node. */
static void move_home(bwl_cluster *cluster, unsigned number, bwl_request *request)
{
    bwl_route_of(request->lock)->home = bwl_cluster_session(cluster, number);
    if (request->kind->revalidates) /* the new node may lack the last renewal */
        request->lease_ms = request->lock->hold.request.lease_ms;
}

/* False: the request is complete. */
static bool follow(bwl_session *session, bwl_request *request, const char *bytes, size_t size)
{
    bwl_cluster *cluster = cluster_of(session);
    bwl_redirect redirect;

    if (!bwl_cluster_read_redirect(&redirect, bytes, size) ||
        (redirect.kind == BWL_REDIRECT_ASK && bwl_queue_is(request->command) &&
         request->command != REDIS_QUEUE_EXTEND))
        return defer(session, request);
    bool               moved  = redirect.kind == BWL_REDIRECT_MOVED;
    unsigned           number = bwl_cluster_number_of(session, &redirect.to);
    const bwl_session *there  = bwl_cluster_known(cluster, number);
    if (moved)
        bwl_slots_forget(session, redirect.slot);
    if (moved && number != BWL_NOBODY)
        cluster->owners[redirect.slot] = (uint16_t)number;
    if (number == BWL_NOBODY || is_too_late(there, request->lock) || !may_hop(session, request)) {
        name_redirect(session, request->lock, there, &redirect.to);
        return false;
    }
    request->route.asking = !moved;
    if (moved) {
        bwl_log_add(session->host->settings.log, BWL_LOG_INFO,
                    "redirected: %s sends %s to %.60s:%u", session->endpoint.text,
                    request->lock->name, redirect.to.host, (unsigned)redirect.to.port);
        move_home(cluster, number, request);
    }
    return submit_to(cluster, number, request);
}

static bool is_redirect(const bwl_request *request, const char *bytes, size_t size)
{
    bwl_redirect redirect;

    return bytes != NULL && (bwl_cluster_read_redirect(&redirect, bytes, size) ||
                             (may_defer(request) && bwl_redis_error_is(bytes, size, "TRYAGAIN")));
}

bool bwl_cluster_redirect(bwl_session *session, const char *bytes, size_t size)
{
    if (!is_redirect(bwl_pipeline_at(&session->pipeline, 0), bytes, size))
        return false;
    bwl_request request        = bwl_pipeline_pop(&session->pipeline);
    session->link.has_answered = true;
    session->attempt.failures  = 0;
    if (follow(session, &request, bytes, size))
        bwl_host_unpin(request.lock); /* submitting pinned it a second time */
    else
        bwl_request_answer(session, &request, BWL_RETRYABLE);
    return true;
}

/* Whether a script found a key gone while it ran.  Its effect is unknown. */
static bool has_lost_slot(const char *bytes, size_t size)
{
    static const char words[] = "non local key";

    return bytes != NULL && bwl_redis_is_error(bytes, size) &&
           memmem(bytes, size, words, sizeof words - 1) != NULL;
}

bool bwl_cluster_on_reply(bwl_session *session, const char *bytes, size_t size)
{
    if (bwl_cluster_redirect(session, bytes, size))
        return true;
    if (!has_lost_slot(bytes, size))
        return false;
    /* Treated as a missing reply: only a heartbeat may be sent again. */
    bwl_request request = bwl_pipeline_pop(&session->pipeline);
    bwl_host_set_error(request.lock, "%s: the lock's slot has moved to another node",
                       session->endpoint.text);
    if (request.command == REDIS_QUEUE_HEARTBEAT)
        bwl_request_answer(session, &request, BWL_RETRYABLE);
    else
        bwl_request_complete(session, &request, &(bwl_event){ .kind = BWL_DOWN });
    return true;
}

bool bwl_cluster_on_not_sent(bwl_session *session, const bwl_request *request)
{
    bwl_cluster *cluster = cluster_of(session);
    bwl_request  copy    = *request;

    if (!may_hop(session, &copy))
        return false;
    copy.route.asking = false;
    unsigned number   = bwl_cluster_adviser(cluster, session->number);
    return number != BWL_NOBODY && submit_to(cluster, number, &copy);
}
