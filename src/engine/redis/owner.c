/*
 * owner.c -- the callbacks of sessions: one table for each topology.
 */
#include "engine/redis/redis.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/topology/discovery.h"
#include "engine/redis/topology/quorum.h"

void bwl_redis_set_timer(bwl_redis *redis)
{
    const bwl_router *router  = &redis->router;
    bwl_ms            at      = BWL_NEVER;
    bool              watches = false;

    for (const bwl_session *each = router->sessions; each != NULL; each = each->next) {
        watches = watches || each->phase != BWL_SESSION_DOWN;
        at      = bwl_ms_min(at, bwl_session_deadline(each));
    }
    if (router->cluster != NULL)
        at = bwl_ms_min(at, bwl_cluster_deadline(router->cluster));
    if (router->sentinel != NULL)
        at = bwl_ms_min(at, bwl_sentinel_waits_until(router->sentinel));
    router->host->watches = watches;
    bwl_host_set_timer(router->host, at);
}

static void on_change(bwl_session *session)
{
    bwl_redis_set_timer(bwl_redis_of(session->host));
}

/* The callbacks about the client's locks, which are the same for each topology. */
#define LOCK_CALLBACKS                                                                      \
    .name_client = bwl_redis_name_client, .write_client_info = bwl_redis_write_client_info, \
    .on_ready = bwl_redis_on_ready, .on_restarted = bwl_redis_on_restarted,                 \
    .on_pushes_lost = bwl_redis_on_pushes_lost, .on_down = bwl_redis_on_down,               \
    .on_change = on_change, .is_needed = bwl_redis_is_needed, .on_push = bwl_redis_on_push, \
    .on_key_changed = bwl_redis_on_key_changed, .write_goodbye = bwl_redis_write_goodbye

static const bwl_session_owner single = {
    LOCK_CALLBACKS,
    .check_hello = bwl_single_check_hello,
    .explain     = bwl_single_explain,
};

static const bwl_session_owner sentinel = {
    LOCK_CALLBACKS,
    .discover      = bwl_discovery_start,
    .discover_next = bwl_discovery_next,
    .check_hello   = bwl_discovery_check_hello,
    .is_demoted    = bwl_discovery_is_demoted,
    .explain       = bwl_single_explain,
};

static const bwl_session_owner cluster = {
    LOCK_CALLBACKS,
    .has_alternative   = bwl_cluster_has_alternative,
    .check_hello       = bwl_cluster_check_hello,
    .write_query       = bwl_cluster_write_query,
    .on_query          = bwl_cluster_on_query,
    .on_not_sent       = bwl_cluster_on_not_sent,
    .prepare           = bwl_slots_prepare,
    .on_prepared       = bwl_slots_on_prepared,
    .skips_preparation = bwl_slots_skips,
    .on_reply          = bwl_cluster_on_reply,
    .explain           = bwl_cluster_explain,
};

static const bwl_session_owner quorum = {
    LOCK_CALLBACKS,
    .check_hello = bwl_single_check_hello,
    .check_info  = bwl_quorum_check_info,
    .explain     = bwl_single_explain,
};

const bwl_session_owner *bwl_redis_owner(bwl_redis_topology topology)
{
    switch (topology) {
    case BWL_TOPOLOGY_SINGLE: return &single;
    case BWL_TOPOLOGY_SENTINEL: return &sentinel;
    case BWL_TOPOLOGY_CLUSTER: return &cluster;
    case BWL_TOPOLOGY_QUORUM: return &quorum;
    }
    bwl_unreachable("a topology outside of its enum");
}
