/*
 * cluster.c -- see cluster.h.
 */
#include "engine/redis/topology/cluster.h"

#include "base/fault.h"
#include "engine/redis/topology/quorum.h"
#include "engine/redis/topology/slots.h"
#include "protocol/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX "+cluster"

enum { PORT_DEFAULT = 6379 };

bool bwl_redis_is_cluster(const bwl_url *url)
{
    size_t size   = strlen(url->scheme);
    size_t suffix = strlen(SUFFIX);

    return size > suffix && strcmp(url->scheme + size - suffix, SUFFIX) == 0;
}

/* ---- its nodes ------------------------------------------------------------------------------- */

static bwl_cluster_node *node_at(bwl_cluster *cluster, unsigned place)
{
    assert(place != BWL_NOBODY && place <= cluster->nodes_count);
    return &cluster->nodes[place - 1];
}

static bool is_owner(const bwl_cluster *cluster, unsigned place)
{
    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++)
        if (cluster->owners[slot] == place)
            return true;
    return false;
}

static bool is_idle(const bwl_redis_store *store)
{
    return store == NULL || (store->phase == BWL_REDIS_DOWN && store->questions_count == 0 &&
                             !bwl_redis_holds_something(store));
}

static bool grow(bwl_cluster *cluster)
{
    unsigned room = cluster->nodes_room == 0 ? 16 : cluster->nodes_room * 2;

    bwl_cluster_node *nodes = realloc(cluster->nodes, room * sizeof *nodes);
    if (nodes == NULL)
        return false;
    cluster->nodes      = nodes;
    cluster->nodes_room = room;
    return true;
}

/* Addresses come and go in the life of a client: the place of one that is of no use any more.  Its
 * store stays, for the address that comes, as somebody may be looking at it. */
static unsigned used_place(bwl_cluster *cluster)
{
    for (unsigned place = cluster->seeds_count + 1; place <= cluster->nodes_count; place++)
        if (is_idle(node_at(cluster, place)->store) && !is_owner(cluster, place))
            return place;
    return BWL_NOBODY;
}

static unsigned new_place(bwl_cluster *cluster)
{
    if (cluster->nodes_count == BWL_CLUSTER_NODES_MAX)
        return used_place(cluster);
    if (cluster->nodes_count == cluster->nodes_room && !grow(cluster))
        return BWL_NOBODY;
    cluster->nodes[cluster->nodes_count++] = (bwl_cluster_node){ .store = NULL };
    return cluster->nodes_count;
}

/* BWL_NOBODY: out of memory, or there are too many. */
static unsigned place_of(bwl_cluster *cluster, const bwl_primary *at)
{
    for (unsigned place = 1; place <= cluster->nodes_count; place++)
        if (bwl_primary_is(&node_at(cluster, place)->at, at))
            return place;
    unsigned place = new_place(cluster);
    if (place == BWL_NOBODY)
        return BWL_NOBODY;
    bwl_cluster_node *node = node_at(cluster, place);
    if (node->store != NULL && bwl_redis_set_host(node->store, at->host, at->port) < 0)
        return BWL_NOBODY;
    node->at = *at;
    return place;
}

unsigned bwl_redis_place_said(const bwl_redis_store *store, const bwl_primary *said)
{
    bwl_primary at = *said;

    if (at.host[0] == '\0')
        (void)snprintf(at.host, sizeof at.host, "%s", store->host);
    return place_of(store->cluster, &at);
}

bwl_redis_store *bwl_redis_store_at(bwl_cluster *cluster, unsigned place)
{
    bwl_cluster_node *node  = node_at(cluster, place);
    bwl_redis_store  *store = node->store;

    if (store != NULL)
        return store;
    store = bwl_redis_copy(cluster->pattern->client, cluster->pattern);
    if (store == NULL)
        return NULL;
    if (bwl_redis_set_host(store, node->at.host, node->at.port) < 0 ||
        (bwl_redis_listens(store) && bwl_redis_slots_new(store) < 0)) {
        bwl_redis_free(store);
        return NULL;
    }
    store->cluster = cluster;
    store->place   = place;
    node->store    = store;
    bwl_redis_join(&cluster->pattern->next, store);
    return store;
}

const bwl_redis_store *bwl_redis_known_at(bwl_cluster *cluster, unsigned place)
{
    return place != BWL_NOBODY ? node_at(cluster, place)->store : NULL;
}

/* ---- whom to ask ----------------------------------------------------------------------------- */

static bool is_ready(const bwl_redis_store *store)
{
    return store != NULL && store->phase == BWL_REDIS_READY;
}

bool bwl_redis_is_suspect(const bwl_redis_store *store)
{
    return store != NULL && store->failures > 0 && !is_ready(store);
}

/* How soon it can be asked. */
static unsigned nearness(const bwl_redis_store *store)
{
    if (bwl_redis_is_suspect(store))
        return 0;
    if (store == NULL || store->phase == BWL_REDIS_DOWN)
        return 1;
    return is_ready(store) ? 3 : 2;
}

unsigned bwl_redis_adviser(bwl_cluster *cluster, unsigned but)
{
    unsigned count   = cluster->nodes_count;
    unsigned best    = BWL_NOBODY;
    unsigned nearest = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned place = 1 + (cluster->turn + i) % count;
        unsigned near  = nearness(node_at(cluster, place)->store);
        if (place != but && near > nearest) {
            best    = place;
            nearest = near;
        }
    }
    if (best != BWL_NOBODY)
        cluster->turn = best; /* the next time, whoever is behind it */
    return best;
}

static bwl_redis_part *part_of(const bwl_engine_lock *lock)
{
    return lock->part;
}

uint16_t bwl_redis_slot_of(const bwl_engine_lock *lock)
{
    return part_of(lock)->cluster_slot;
}

static unsigned place_for(bwl_cluster *cluster, const bwl_engine_lock *lock)
{
    unsigned owner = cluster->owners[bwl_redis_slot_of(lock)];

    if (owner != BWL_NOBODY && !bwl_redis_is_suspect(node_at(cluster, owner)->store))
        return owner;
    unsigned other = bwl_redis_adviser(cluster, owner);
    if (other != BWL_NOBODY)
        return other;
    if (owner != BWL_NOBODY)
        return owner;
    cluster->turn = (cluster->turn + 1) % cluster->nodes_count;
    return 1 + cluster->turn;
}

bwl_redis_store *bwl_redis_store_for(bwl_engine_lock *lock, unsigned node)
{
    bwl_cluster *cluster = ((bwl_redis_store *)lock->host->store)->cluster;

    if (cluster == NULL)
        return bwl_redis_store_of(lock->host, node);
    return bwl_redis_store_at(cluster, place_for(cluster, lock));
}

/* A process that we met while the lock was thought to be elsewhere may be the first to say YES
 * after the one before it: it may have an older state of the data. */
void bwl_redis_is_at(bwl_redis_store *store, bwl_engine_lock *lock)
{
    bwl_redis_part *part = part_of(lock);

    if (store->cluster == NULL)
        return;
    if (bwl_redis_gave_before(store, lock))
        bwl_redis_give_up(store, lock);
    part->home  = store;
    part->giver = store;
    part->gave  = store->processes;
}

bool bwl_redis_is_home(const bwl_redis_store *store, const bwl_engine_lock *lock)
{
    return store->cluster == NULL || part_of(lock)->home == store;
}

bool bwl_redis_gave_before(const bwl_redis_store *store, const bwl_engine_lock *lock)
{
    return part_of(lock)->giver == store && part_of(lock)->gave != store->processes;
}

/* ---- the map --------------------------------------------------------------------------------- */

bool bwl_redis_asks_slots(const bwl_redis_store *store)
{
    return store->cluster != NULL && !store->cluster->map_is_too_long;
}

void bwl_redis_write_slots(const bwl_redis_store *store, bwl_resp_writer *writer)
{
    if (bwl_redis_asks_slots(store))
        bwl_cluster_write_slots(writer);
}

void bwl_redis_map_broke(bwl_redis_store *store)
{
    if (store->cluster != NULL && store->phase == BWL_REDIS_GREETING &&
        store->greeting == BWL_GREET_SLOTS)
        store->cluster->map_is_too_long = true;
}

/* An error (it may not be for us to know), or something strange: MOVED says what is needed. */
void bwl_redis_said_slots(bwl_redis_store *store, const char *bytes, size_t size)
{
    bwl_cluster      *cluster = store->cluster;
    bwl_cluster_walk  walk;
    bwl_cluster_range range;

    if (!bwl_cluster_begin(&walk, bytes, size))
        return;
    while (bwl_cluster_next(&walk, &range) == 1) {
        unsigned place = bwl_redis_place_said(store, &range.primary);
        for (unsigned slot = range.first; place != BWL_NOBODY && slot <= range.last; slot++)
            cluster->owners[slot] = (uint16_t)place;
    }
}

int bwl_redis_check_mode(const bwl_redis_store *store, const bwl_resp_value *mode, bwl_fault *fault)
{
    bool is_tls = store->tls != NULL;

    if (store->cluster != NULL && bwl_resp_text_is(mode, "standalone"))
        return bwl_fail(fault, BWL_STATUS_REFUSED,
                        "%s is a server by itself, not a node of a cluster: write %s://",
                        store->where, is_tls ? "rediss" : "redis");
    if (store->cluster == NULL && bwl_resp_text_is(mode, "cluster") && bwl_redis_listens(store))
        return bwl_fail(fault, BWL_STATUS_REFUSED, "%s is a node of a cluster: write %s+cluster://",
                        store->where, is_tls ? "rediss" : "redis");
    return BWL_OK;
}

void bwl_redis_name_cluster(const bwl_redis_store *store, char *ret_text, size_t capacity,
                            const char *bytes, size_t size)
{
    static const char *const codes[] = { "MOVED", "ASK", "CROSSSLOT" };
    size_t                   used    = strlen(ret_text);

    for (size_t i = 0; store->cluster == NULL && i < sizeof codes / sizeof codes[0]; i++)
        if (bwl_redis_error_is(bytes, size, codes[i]))
            (void)snprintf(ret_text + used, capacity - used,
                           ": it is a node of a cluster: write %s+cluster://",
                           store->tls != NULL ? "rediss" : "redis");
    bwl_redirect redirect;
    if (store->cluster != NULL && bwl_redis_error_is(bytes, size, "MOVED") &&
        !bwl_cluster_read_redirect(&redirect, bytes, size))
        (void)snprintf(ret_text + used, capacity - used,
                       ": the cluster does not say where that node is: set "
                       "cluster-announce-hostname%s there",
                       store->tls != NULL ? " and tls-port" : "");
}

/* ---- from the URL ---------------------------------------------------------------------------- */

int bwl_redis_choose_cluster(bwl_settings *settings, const bwl_url *url, bwl_fault *fault)
{
    int status = bwl_redis_choose(settings, url, fault);

    if (status == BWL_OK && settings->replicas > 0)
        return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                        "%s: has no sync=: replicas are waited for at one primary, by redis://, "
                        "unix:// and redis+sentinel://",
                        url->scheme);
    if (status < 0 || settings->protocol == NULL || settings->protocol == &bwl_redisson ||
        settings->protocol == &bwl_symfony ||
        ((settings->protocol == &bwl_token || settings->protocol == &bwl_queue) &&
         bwl_url_find(url, "profile") == NULL))
        return status;
    return bwl_fail(fault, BWL_STATUS_UNSUPPORTED,
                    "%s: locks by protocols queue, token, redisson and symfony, and by no profile "
                    "but redisson, redisson-fenced and symfony",
                    url->scheme);
}

/* A host that stands there twice is one. */
static bool add_seed(bwl_cluster *cluster, const bwl_primary *at)
{
    if (place_of(cluster, at) == BWL_NOBODY)
        return false;
    if (cluster->nodes_count > cluster->seeds_count)
        cluster->seeds[cluster->seeds_count++] = *at;
    return true;
}

static int take_seed(bwl_cluster *cluster, const bwl_url_host *host, bwl_fault *fault)
{
    bwl_primary at = { .port = host->port != 0 ? host->port : PORT_DEFAULT };

    if (strlen(host->name) > BWL_RESOLVE_HOST_MAX)
        return bwl_fail(fault, BWL_STATUS_USAGE, "the name of a host has at most %d characters",
                        BWL_RESOLVE_HOST_MAX);
    (void)snprintf(at.host, sizeof at.host, "%s", host->name);
    return add_seed(cluster, &at) ? BWL_OK : bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
}

static bwl_cluster *new_cluster(bwl_redis_store *store)
{
    bwl_cluster *cluster = calloc(1, sizeof *cluster);

    if (cluster == NULL)
        return NULL;
    cluster->pattern = store;
    store->cluster   = cluster;
    return cluster;
}

int bwl_redis_take_nodes(bwl_redis_store *store, const bwl_url *url, bwl_fault *fault)
{
    if (!bwl_redis_is_cluster(url))
        return BWL_OK;
    if (url->host == NULL || url->host[0] == '\0')
        return bwl_fail(fault, BWL_STATUS_USAGE,
                        "%s: takes nodes of the cluster: %s://HOST:6379,HOST:6379", url->scheme,
                        url->scheme);
    if (store->database != 0)
        return bwl_fail(fault, BWL_STATUS_USAGE, "%s: a cluster has database 0 alone", url->scheme);
    bwl_cluster *cluster = new_cluster(store);
    if (cluster == NULL)
        return bwl_fail(fault, BWL_STATUS_NOMEM, "out of memory");
    for (unsigned i = 0; i < url->hosts_count; i++) {
        int status = take_seed(cluster, &url->hosts[i], fault);
        if (status < 0)
            return status;
    }
    return BWL_OK;
}

int bwl_redis_share_nodes(bwl_redis_store *store, const bwl_redis_store *its)
{
    const bwl_cluster *first   = its->cluster;
    bwl_cluster       *cluster = new_cluster(store);

    if (cluster == NULL)
        return BWL_STATUS_NOMEM;
    for (unsigned i = 0; i < first->seeds_count; i++)
        if (!add_seed(cluster, &first->seeds[i]))
            return BWL_STATUS_NOMEM;
    return BWL_OK;
}

void bwl_redis_free_nodes(bwl_redis_store *store)
{
    bwl_cluster *cluster = store->cluster;

    if (cluster == NULL || store->place != BWL_NOBODY)
        return;
    free(cluster->aside);
    free(cluster->nodes);
    free(cluster);
}
