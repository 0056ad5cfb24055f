/*
 * cluster.c -- the nodes of a cluster and the map of its slots.  See cluster.h.
 */
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"

#include "base/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_DEFAULT = 6379, VERSION_OF_SHARDS = 7, NODES_AT_FIRST = 16 };

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
    return session == NULL ||
           (session->phase == BWL_SESSION_DOWN && session->pipeline.count == 0 &&
            (session->owner->is_needed == NULL || !session->owner->is_needed(session)));
}

static bool grow(bwl_cluster *cluster)
{
    unsigned          room  = cluster->nodes_room == 0 ? NODES_AT_FIRST : cluster->nodes_room * 2;
    bwl_cluster_node *nodes = realloc(cluster->nodes, room * sizeof *nodes);

    if (nodes == NULL)
        return false;
    cluster->nodes      = nodes;
    cluster->nodes_room = room;
    return true;
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
    if (cluster->nodes_count == cluster->nodes_room && !grow(cluster))
        return BWL_NOBODY;
    cluster->nodes[cluster->nodes_count++] = (bwl_cluster_node){ .session = NULL };
    return cluster->nodes_count;
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

unsigned bwl_cluster_number_of(const bwl_session *session, const bwl_primary *said)
{
    bwl_primary at = *said;

    if (at.host[0] == '\0')
        (void)snprintf(at.host, sizeof at.host, "%s", session->endpoint.host);
    return number_of(bwl_router_of(session)->cluster, &at);
}

bwl_session *bwl_cluster_session(bwl_cluster *cluster, unsigned number)
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

bwl_session *bwl_cluster_known(bwl_cluster *cluster, unsigned number)
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

unsigned bwl_cluster_adviser(bwl_cluster *cluster, unsigned but)
{
    unsigned count   = cluster->nodes_count;
    unsigned best    = BWL_NOBODY;
    unsigned nearest = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned number = 1 + (cluster->turn + i) % count;
        unsigned near   = nearness(node_at(cluster, number)->session);
        if (number != but && near > nearest) {
            best    = number;
            nearest = near;
        }
    }
    if (best != BWL_NOBODY)
        cluster->turn = best; /* the next search starts after it */
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
    unsigned other = bwl_cluster_adviser(cluster, owner);
    if (other != BWL_NOBODY)
        return other;
    if (owner != BWL_NOBODY)
        return owner;
    cluster->turn = (cluster->turn + 1) % cluster->nodes_count;
    return 1 + cluster->turn;
}

bwl_session *bwl_cluster_route(bwl_cluster *cluster, uint16_t slot)
{
    return bwl_cluster_session(cluster, number_for(cluster, slot));
}

bool bwl_cluster_has_alternative(const bwl_session *session)
{
    return bwl_cluster_adviser(bwl_router_of(session)->cluster, session->number) != BWL_NOBODY;
}

/* ---- the map --------------------------------------------------------------------------------- */

bool bwl_cluster_write_query(bwl_session *session, bwl_resp_writer *writer)
{
    if (bwl_router_of(session)->cluster->map_is_too_long)
        return false;
    if (writer != NULL)
        bwl_resp_write(writer, "CLUSTER SLOTS");
    return true;
}

/* An error (this user may not run it) or an unexpected reply is ignored: MOVED corrects the map. */
void bwl_cluster_on_query(bwl_session *session, const char *bytes, size_t size)
{
    bwl_cluster      *cluster = bwl_router_of(session)->cluster;
    bwl_cluster_walk  walk;
    bwl_cluster_range range;

    if (bytes == NULL) /* the connection broke: do not request it again */
        cluster->map_is_too_long = true;
    if (bytes == NULL || !bwl_cluster_begin(&walk, bytes, size))
        return;
    while (bwl_cluster_next(&walk, &range) == 1) {
        unsigned number = bwl_cluster_number_of(session, &range.primary);
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
    bwl_request_list_free(&cluster->deferred);
    free(cluster->nodes);
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
