/*
 * cluster.c -- the nodes of a cluster, the map of its slots, and requests that a node redirects or
 * cannot serve yet.  See cluster.h.
 */
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"

#include "base/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PORT_DEFAULT      = 6379,
    VERSION_OF_SHARDS = 7,
    PAUSE_MS          = 50,  /* before a request about a moving slot is sent again */
    SILENT_PAUSE_MS   = 10,  /* the same for the slot of a silent node; doubles with each hop ... */
    SILENT_PAUSE_MAX  = 250, /* ... up to this */
};

static bwl_cluster *cluster_of(const bwl_session *session)
{
    return bwl_router_of(session)->cluster;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bwl_cluster_node *node_at(bwl_cluster *cluster, unsigned number)
{
    assert(number != BWL_NOBODY && number <= cluster->nodes_count);
    return &cluster->nodes[number - 1];
}

static bool is_owner(const bwl_cluster *cluster, unsigned number)
{
    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++)
        if (cluster->owners[slot] == number)
            return true;
    return false;
}

static bool is_idle(const bwl_session *session)
{
    return session == NULL || (session->phase == BWL_SESSION_DOWN && session->pipeline.count == 0 &&
                               !session->owner->is_needed(session));
}

/* Returns the index of a node that is no longer used, because addresses change during a client's
 * life.  Its session is kept for the new address, because an event may still point to it. */
static unsigned used_number(bwl_cluster *cluster)
{
    for (unsigned number = cluster->seeds_count + 1; number <= cluster->nodes_count; number++)
        if (is_idle(node_at(cluster, number)->session) && !is_owner(cluster, number))
            return number;
    return BWL_NOBODY;
}

static unsigned new_number(bwl_cluster *cluster)
{
    if (cluster->nodes_count == BWL_CLUSTER_NODES_MAX)
        return used_number(cluster);
    return ++cluster->nodes_count;
}

static unsigned number_of(bwl_cluster *cluster, const bwl_primary *at)
{
    for (unsigned number = 1; number <= cluster->nodes_count; number++)
        if (bwl_primary_is(&node_at(cluster, number)->at, at))
            return number;
    unsigned number = new_number(cluster);
    if (number == BWL_NOBODY)
        return BWL_NOBODY;
    bwl_cluster_node *node = node_at(cluster, number);
    if (node->session != NULL) {
        if (bwl_session_set_endpoint(node->session, at->host, at->port) < 0)
            return BWL_NOBODY;
        bwl_slots_forget_all(node->session);
    }
    node->at = *at;
    return number;
}

/* The index of the node with this address; an address without a host means the host of `session`.
 * NOBODY: out of memory, or too many nodes. */
static unsigned number_said(const bwl_session *session, const bwl_primary *said)
{
    bwl_primary at = *said;

    if (at.host[0] == '\0')
        (void)snprintf(at.host, sizeof at.host, "%s", session->endpoint.host);
    return number_of(cluster_of(session), &at);
}

/* The session of a node, created if needed.  NULL: out of memory. */
static bwl_session *session_at(bwl_cluster *cluster, unsigned number)
{
    bwl_cluster_node *node = node_at(cluster, number);

    if (node->session != NULL)
        return node->session;
    bwl_session *session = bwl_router_add(cluster->router);
    if (session == NULL)
        return NULL;
    session->number = number;
    node->session   = session;
    if (bwl_session_set_endpoint(session, node->at.host, node->at.port) == BWL_OK &&
        (!bwl_session_uses_push(session) || bwl_slots_open(session)))
        return session;
    node->session = NULL;
    bwl_router_remove(cluster->router, session);
    return NULL;
}

bwl_session *bwl_cluster_session(bwl_cluster *cluster, unsigned number)
{
    return session_at(cluster, number);
}

/* The session of a node; NULL: not used yet. */
static bwl_session *known_at(bwl_cluster *cluster, unsigned number)
{
    return number != BWL_NOBODY ? node_at(cluster, number)->session : NULL;
}

/* ---- choosing a node ------------------------------------------------------------------------- */

/* How soon it can serve a request; higher is sooner. */
static unsigned nearness(const bwl_session *session)
{
    if (session != NULL && bwl_session_may_be_dead(session))
        return 0;
    if (session == NULL || session->phase == BWL_SESSION_DOWN)
        return 1;
    return session->phase == BWL_SESSION_READY ? 3 : 2;
}

/* Another node than `but`, to find the owner of a slot: connected nodes first, then round robin.
 * NOBODY: the last attempt to connect failed for each. */
static unsigned adviser(bwl_cluster *cluster, unsigned but)
{
    unsigned count   = cluster->nodes_count;
    unsigned best    = BWL_NOBODY;
    unsigned nearest = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned number = 1 + (cluster->last_tried + i) % count;
        unsigned near   = nearness(node_at(cluster, number)->session);
        if (number != but && near > nearest) {
            best    = number;
            nearest = near;
        }
    }
    if (best != BWL_NOBODY)
        cluster->last_tried = best; /* the next search starts after it */
    return best;
}

static unsigned number_for(bwl_cluster *cluster, uint16_t slot)
{
    unsigned owner = cluster->owners[slot];

    if (owner != BWL_NOBODY) {
        const bwl_session *known = node_at(cluster, owner)->session;
        if (known == NULL || !bwl_session_may_be_dead(known))
            return owner;
    }
    unsigned other = adviser(cluster, owner);
    if (other != BWL_NOBODY)
        return other;
    if (owner != BWL_NOBODY)
        return owner;
    cluster->last_tried = (cluster->last_tried + 1) % cluster->nodes_count;
    return 1 + cluster->last_tried;
}

bwl_session *bwl_cluster_route(bwl_cluster *cluster, uint16_t slot)
{
    return session_at(cluster, number_for(cluster, slot));
}

bool bwl_cluster_has_alternative(const bwl_session *session)
{
    return adviser(cluster_of(session), session->number) != BWL_NOBODY;
}

unsigned bwl_cluster_next_primary(const bwl_cluster *cluster, const bool *done, bool *ret_is_whole)
{
    *ret_is_whole = true;
    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++) {
        unsigned owner = cluster->owners[slot];
        if (owner == BWL_NOBODY)
            *ret_is_whole = false;
        else if (!done[owner])
            return owner;
    }
    return BWL_NOBODY;
}

unsigned bwl_cluster_count_primaries(const bwl_cluster *cluster)
{
    bool     seen[BWL_CLUSTER_NODES_MAX + 1] = { false };
    unsigned count                           = 0;
    bool     is_whole;

    for (unsigned number;
         (number = bwl_cluster_next_primary(cluster, seen, &is_whole)) != BWL_NOBODY; count++)
        seen[number] = true;
    return count;
}

/* ---- the map --------------------------------------------------------------------------------- */

bool bwl_cluster_write_query(bwl_session *session, bwl_resp_writer *writer)
{
    if (cluster_of(session)->map_is_too_long)
        return false;
    if (writer != NULL)
        bwl_resp_write(writer, "CLUSTER SLOTS");
    return true;
}

/* An error (this user may not run it) or an unexpected reply is ignored: MOVED corrects the map. */
void bwl_cluster_on_query(bwl_session *session, const char *bytes, size_t size)
{
    bwl_cluster      *cluster = cluster_of(session);
    bwl_cluster_walk  walk;
    bwl_cluster_range range;

    if (bytes == NULL) /* the connection broke: do not request it again */
        cluster->map_is_too_long = true;
    if (bytes == NULL || !bwl_cluster_begin(&walk, bytes, size))
        return;
    while (bwl_cluster_next(&walk, &range) == 1) {
        unsigned number = number_said(session, &range.primary);
        for (unsigned slot = range.first; number != BWL_NOBODY && slot <= range.last; slot++)
            cluster->owners[slot] = (uint16_t)number;
    }
}

/* ---- the handshake of a node ----------------------------------------------------------------- */

int bwl_cluster_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault)
{
    const char *where = session->endpoint.text;

    if (bwl_resp_text_is(&hello->mode, "standalone"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s is a single server, not a node of a cluster: write %s://", where,
                        session->config->tls != NULL ? "rediss" : "redis");
    if (bwl_session_uses_push(session) && bwl_redis_major(hello->version) < VERSION_OF_SHARDS)
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s is Redis %s: in a cluster protocol queue needs 7.0 (SPUBLISH): use "
                        "protocol=token",
                        where, hello->version);
    return BWL_OK;
}

void bwl_cluster_explain(const bwl_session *session, char *ret_text, size_t capacity,
                         const char *bytes, size_t size)
{
    size_t       used = strlen(ret_text);
    bwl_redirect redirect;

    if (bwl_redis_error_is(bytes, size, "MOVED") &&
        !bwl_cluster_read_redirect(&redirect, bytes, size))
        (void)snprintf(ret_text + used, capacity - used,
                       ": the cluster does not say where that node is: set "
                       "cluster-announce-hostname%s there",
                       session->config->tls != NULL ? " and tls-port" : "");
}

/* ---- requests that are redirected or deferred ------------------------------------------------ */

/* It is not written later than this, so that its reply comes within three answer_ms. */
static bwl_ms unsent_by(const bwl_session *session, const bwl_request *request)
{
    assert(request->route.since != 0);
    return bwl_ms_add(request->route.since, 2 * session->host->settings.answer_ms);
}

static bool may_hop(const bwl_session *session, bwl_request *request)
{
    if (request->route.since == 0)
        request->route.since = session->host->latest; /* it was never submitted */
    if (request->route.hops == BWL_CLUSTER_HOPS_MAX ||
        session->host->latest >= unsent_by(session, request) || !bwl_request_is_wanted(request) ||
        session->host->closing)
        return false;
    request->route.hops++;
    return true;
}

/* Its reply is one frame: it has not come yet, or has said that it must be sent again. */
static bool submit_again(bwl_session *session, const bwl_request *request)
{
    bwl_request retry = *request;

    assert(retry.flight.prepares || retry.flight.frames == 0);
    assert(retry.batch.known == 0);
    retry.flight = (bwl_request_flight){ .written = false };
    retry.batch  = (bwl_request_batch){ .size = 0 };
    return bwl_session_submit(session, &retry);
}

static bool submit_to(bwl_cluster *cluster, unsigned number, const bwl_request *request)
{
    bwl_session *session = number != BWL_NOBODY ? session_at(cluster, number) : NULL;

    return session != NULL && submit_again(session, request);
}

/* A lost heartbeat is replaced by the next one, and no caller waits for its reply. */
static bool may_defer(const bwl_request *request)
{
    return request->command == REDIS_SHARE_EXTEND ||
           (bwl_slots_uses(request) &&
            bwl_queue_exclusive(request->command) != REDIS_QUEUE_HEARTBEAT);
}

/* The request is sent again at `at`, to the node that its slot has then. */
static bool defer_until(bwl_session *session, bwl_request *request, bwl_ms at)
{
    request->flight         = (bwl_request_flight){ .sent_at = session->host->latest };
    request->route.retry_at = at;
    return bwl_pipeline_push(&cluster_of(session)->deferred, request);
}

/* The slot is being moved, and its keys are on two nodes. */
static bool defer(bwl_session *session, bwl_request *request)
{
    bwl_ms now   = session->host->latest;
    bwl_ms until = bwl_ms_add(request->route.since, session->host->settings.answer_ms);

    if (may_defer(request) && now < until && bwl_request_is_wanted(request) &&
        !session->host->closing && defer_until(session, request, bwl_ms_add(now, PAUSE_MS)))
        return true;
    bwl_host_set_error(request->lock,
                       "%s: the lock's slot is being moved to another node (TRYAGAIN)",
                       session->endpoint.text);
    return false;
}

bwl_ms bwl_cluster_deadline(const bwl_cluster *cluster)
{
    const bwl_pipeline *list  = &cluster->deferred;
    bwl_ms              until = BWL_NEVER;

    for (size_t i = 0; i < list->count; i++)
        until = bwl_ms_min(until, bwl_pipeline_at(list, i)->route.retry_at);
    for (const bwl_session *each = cluster->router->sessions; each != NULL; each = each->next)
        if (each->phase != BWL_SESSION_READY && each->pipeline.count > 0)
            until = bwl_ms_min(until, unsent_by(each, bwl_pipeline_at(&each->pipeline, 0)));
    return until;
}

static bool take_due(bwl_cluster *cluster, bwl_ms now, bwl_request *ret_request)
{
    bwl_pipeline *list = &cluster->deferred;

    for (size_t i = 0; i < list->count; i++) {
        if (now < bwl_pipeline_at(list, i)->route.retry_at)
            continue;
        *ret_request = bwl_pipeline_remove(list, i);
        return true;
    }
    return false;
}

bool bwl_cluster_withdraw(bwl_cluster *cluster, const bwl_engine_lock *lock,
                          bwl_request *ret_request, bwl_session **ret_session)
{
    bwl_pipeline *list = &cluster->deferred;

    for (size_t i = 0; i < list->count; i++) {
        if (!bwl_session_may_withdraw(bwl_pipeline_at(list, i), lock))
            continue;
        bwl_session *known = known_at(cluster, cluster->owners[bwl_route_of(lock)->slot]);
        *ret_session       = known != NULL ? known : cluster->router->sessions;
        *ret_request       = bwl_pipeline_remove(list, i);
        return true;
    }
    return false;
}

/* The requests that a session could not write in time. */
static void answer_unsent(bwl_session *session)
{
    bwl_pipeline *pipeline = &session->pipeline;
    bwl_ms        now      = bwl_host_now(session->host);

    while (session->phase != BWL_SESSION_READY && pipeline->count > 0 &&
           now >= unsent_by(session, bwl_pipeline_at(pipeline, 0))) {
        bwl_request request = bwl_pipeline_pop(pipeline);
        bwl_host_set_error(request.lock, "%s: not connected in time", session->endpoint.text);
        bwl_request_answer(session, &request, BWL_NOT_SENT);
    }
}

/* Drops a request that the machine has replaced by a later one. */
void bwl_cluster_woken(bwl_cluster *cluster)
{
    bwl_request request;

    for (bwl_session *each = cluster->router->sessions; each != NULL; each = each->next)
        answer_unsent(each);

    while (take_due(cluster, bwl_host_now(cluster->router->host), &request)) {
        bwl_session *session = bwl_cluster_route(cluster, bwl_route_of(request.lock)->slot);
        if (bwl_request_is_wanted(&request) && session != NULL && submit_again(session, &request))
            bwl_host_unpin(request.lock); /* submitting pinned it a second time */
        else
            bwl_request_answer(session, &request, BWL_NOT_SENT);
    }
}

/* The caller's wait has ended, and the last attempt to connect to that node failed within the time
 * of a reply: no time is left for another one. */
static bool is_too_late(const bwl_session *there, const bwl_engine_lock *lock)
{
    bwl_ms now = lock->host->latest;

    if (there == NULL || !bwl_session_may_be_dead(there) ||
        (there->phase == BWL_SESSION_DOWN &&
         bwl_ms_add(there->attempt.backoff_until, lock->host->settings.answer_ms) <= now))
        return false;
    return bwl_hold_is_acquiring(&lock->hold) && lock->hold.wait_deadline <= now;
}

/* Why the redirect is not followed. */
static void name_redirect(const bwl_session *session, const bwl_request *request,
                          const bwl_session *there, const bwl_primary *at)
{
    bwl_engine_lock *lock = request->lock;

    if (there != NULL && bwl_session_may_be_dead(there))
        bwl_host_set_error(lock,
                           "%s sends to %.60s:%u (cluster-announce-ip, "
                           "cluster-announce-hostname), which cannot be reached from here: %.120s",
                           session->endpoint.text, at->host, (unsigned)at->port,
                           there->attempt.broke.text);
    else if (request->route.since != 0 && session->host->latest >= unsent_by(session, request))
        bwl_host_set_error(lock, "%s sends to %.60s:%u, but answered too slowly to go on",
                           session->endpoint.text, at->host, (unsigned)at->port);
    else
        bwl_host_set_error(lock, "%s sends to %.60s:%u, and that one on: they are at odds",
                           session->endpoint.text, at->host, (unsigned)at->port);
}

/* The slot has moved: records the lock's new owner node. */
static void move_home(bwl_cluster *cluster, unsigned number, bwl_request *request)
{
    bwl_route_of(request->lock)->home = session_at(cluster, number);
    if (request->kind->revalidates) /* the new node may lack the last renewal */
        request->lease_ms = request->lock->hold.request.lease_ms;
}

/* The other nodes still name a node that cannot be connected, or is silent.  The request does not
 * wait in its pipeline: until that node answers, or the cluster has elected another one, it is sent
 * to the others from time to time. */
static bool await_election(bwl_session *session, bwl_session *there, bwl_request *request)
{
    bwl_ms pause = (bwl_ms)SILENT_PAUSE_MS << (request->route.hops - 1);

    assert(request->route.hops > 0);
    (void)bwl_session_open(there); /* (void): it may be backing off */
    return defer_until(session, request,
                       bwl_ms_add(session->host->latest, bwl_ms_min(pause, SILENT_PAUSE_MAX)));
}

/* An extension of a share names keys that need not exist.  While its slot moves, they may be at
 * either node, so it is refused until the end of the move.  It is sent again so that the server
 * does not look for them: see share_extend_moving.lua. */
static bool names_too_many_keys(const bwl_request *request, const bwl_redirect *redirect)
{
    return request->command == REDIS_SHARE_EXTEND && !request->route.moving &&
           redirect->kind != BWL_REDIRECT_MOVED;
}

/* False: the request is complete. */
static bool follow(bwl_session *session, bwl_request *request, const char *bytes, size_t size)
{
    bwl_cluster *cluster  = cluster_of(session);
    bwl_redirect redirect = { .kind = BWL_REDIRECT_ASK };
    bool         is_told  = bwl_cluster_read_redirect(&redirect, bytes, size);

    if (names_too_many_keys(request, &redirect)) {
        request->route.moving = true;
        if (!is_told)
            return submit_again(session, request);
    }
    if (!is_told || (redirect.kind == BWL_REDIRECT_ASK && bwl_queue_is(request->command) &&
                     bwl_queue_exclusive(request->command) != REDIS_QUEUE_EXTEND))
        return defer(session, request);
    bool         moved  = redirect.kind == BWL_REDIRECT_MOVED;
    unsigned     number = number_said(session, &redirect.to);
    bwl_session *there  = known_at(cluster, number);
    if (moved)
        bwl_slots_forget(session, redirect.slot);
    if (moved && number != BWL_NOBODY)
        cluster->owners[redirect.slot] = (uint16_t)number;
    if (number == BWL_NOBODY || is_too_late(there, request->lock) || !may_hop(session, request)) {
        name_redirect(session, request, there, &redirect.to);
        return false;
    }
    request->route.asking = !moved;
    request->route.moving = request->route.moving && !moved;
    if (moved) {
        bwl_log_add(session->host->settings.log, BWL_LOG_INFO,
                    "redirected: %s sends %s to %.60s:%u", session->endpoint.text,
                    request->lock->name, redirect.to.host, (unsigned)redirect.to.port);
        move_home(cluster, number, request);
    }
    return moved && there != NULL && bwl_session_may_be_dead(there)
               ? await_election(session, there, request)
               : submit_to(cluster, number, request);
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

/* An error that is the reply to several requests sends each alone: that one is redirected.  A
 * request whose reply has several frames is not. */
bool bwl_cluster_on_reply(bwl_session *session, const char *bytes, size_t size)
{
    const bwl_request *first = bwl_pipeline_at(&session->pipeline, 0);

    if (first->batch.size > 0 || first->flight.frames > 0)
        return false;
    if (bwl_cluster_redirect(session, bytes, size))
        return true;
    if (!has_lost_slot(bytes, size))
        return false;
    /* Treated as a missing reply: only a heartbeat may be sent again. */
    bwl_request request = bwl_pipeline_pop(&session->pipeline);
    bwl_host_set_error(request.lock, "%s: the lock's slot has moved to another node",
                       session->endpoint.text);
    if (bwl_queue_exclusive(request.command) == REDIS_QUEUE_HEARTBEAT)
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
    unsigned number   = adviser(cluster, session->number);
    return number != BWL_NOBODY && submit_to(cluster, number, &copy);
}

/* ---- new and free ---------------------------------------------------------------------------- */

bwl_cluster *bwl_cluster_new(bwl_router *router)
{
    bwl_cluster *cluster = calloc(1, sizeof *cluster);

    if (cluster != NULL)
        cluster->router = router;
    return cluster;
}

void bwl_cluster_free(bwl_cluster *cluster)
{
    if (cluster == NULL)
        return;
    bwl_pipeline_free(&cluster->deferred);
    free(cluster);
}

/* A host that is listed twice is one node. */
static bool add_seed(bwl_cluster *cluster, const bwl_primary *at)
{
    if (number_of(cluster, at) == BWL_NOBODY)
        return false;
    if (cluster->nodes_count > cluster->seeds_count)
        cluster->seeds[cluster->seeds_count++] = *at;
    return true;
}

static int add_host(bwl_cluster *cluster, const bwl_url_host *host, bwl_fault *fault)
{
    bwl_primary at = { .port = host->port != 0 ? host->port : PORT_DEFAULT };

    if (strlen(host->name) > BWL_RESOLVE_HOST_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a host has at most %d characters",
                        BWL_RESOLVE_HOST_MAX);
    (void)snprintf(at.host, sizeof at.host, "%s", host->name);
    return add_seed(cluster, &at) ? BWL_OK : bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
}

int bwl_cluster_add_hosts(bwl_cluster *cluster, const bwl_url *url, bwl_fault *fault)
{
    if (url->host == NULL || url->host[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "%s: takes nodes of the cluster: %s://HOST:6379,HOST:6379", url->scheme,
                        url->scheme);
    if (cluster->router->config->database != 0)
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s: a cluster has database 0 alone", url->scheme);
    for (unsigned i = 0; i < url->hosts_count; i++) {
        int status = add_host(cluster, &url->hosts[i], fault);
        if (status < 0)
            return status;
    }
    return BWL_OK;
}

int bwl_cluster_add_seeds(bwl_cluster *cluster, const bwl_cluster *of)
{
    for (unsigned i = 0; i < of->seeds_count; i++)
        if (!add_seed(cluster, &of->seeds[i]))
            return BWL_STATUS_NOMEM;
    return BWL_OK;
}
