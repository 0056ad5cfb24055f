/*
 * router.h -- the servers of one client; chooses the server for a request.
 *
 *      single      one session
 *      sentinel    one session; the sentinels name its server        sentinel.h
 *      cluster     a session for each node in use              cluster.h
 *      quorum      a session for each server, by its number            quorum.h
 *
 * A router owns the sessions.  It knows the owner node of each lock (bwl_route), and nothing else
 * about locks.  The engine provides the callbacks of the sessions.
 */
#pragma once

#include "engine/redis/session/session.h"

typedef struct bwl_router {
    bwl_host                *host;
    bwl_redis_config        *config; /* one reference */
    const bwl_session_owner *owner;  /* of each session */
    bwl_session             *sessions;
    struct bwl_cluster      *cluster;  /* NULL: no cluster */
    struct bwl_sentinel     *sentinel; /* NULL: the server's address is fixed */
    bwl_endpoint             served;   /* the last READY address; port 0: none */
} bwl_router;

/* The node of a lock in a cluster.  First member of the engine's part of a lock. */
typedef struct bwl_route {
    uint16_t     slot;
    bwl_session *home;           /* the owner node; NULL: unknown */
    bwl_session *granted;        /* the last node that answered YES, ... */
    uint64_t     granted_by;     /* ... and its restart count then */
    bool         is_discovering; /* the owner node is unreachable, so others are tried */
} bwl_route;

static inline bwl_router *bwl_router_of(const bwl_session *session)
{
    return session->owner_data;
}

static inline bwl_route *bwl_route_of(const bwl_engine_lock *lock)
{
    return lock->part;
}

/* Appends a session to the router.  NULL: out of memory. */
bwl_session *bwl_router_add(bwl_router *router);

/* Frees a session that was never used. */
void bwl_router_remove(bwl_router *router, bwl_session *session);

/* The session for a request about this lock: with several servers, of that number.  NULL: out of
 * memory. */
bwl_session *bwl_router_route(bwl_router *router, const bwl_engine_lock *lock, unsigned number);

/* Of a client that closes: the requests that wait for a connection to a node of a cluster are
 * submitted to a node that is connected. */
void bwl_router_hand_over(bwl_router *router);

/* Whether this session's server has the lock. */
bool bwl_router_is_home(const bwl_session *session, const bwl_engine_lock *lock);

/* Frees the sessions and the topology's data, and releases the config reference. */
void bwl_router_free(bwl_router *router);

/* For one server.  See bwl_session_owner. */
int  bwl_single_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault);
void bwl_single_explain(const bwl_session *session, char *ret_text, size_t capacity,
                        const char *bytes, size_t size);
