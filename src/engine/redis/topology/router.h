/*
 * router.h -- the servers of one client, and which of them a request goes to.
 *
 *      single      one session
 *      sentinel    one session, whose server the sentinels find        discovery.h
 *      cluster     a session for each node that was asked              cluster.h
 *      quorum      a session for each server, by its number            quorum.h
 *
 * A router owns the sessions.  It knows which lock is on which of them (bwl_route), and nothing
 * else about locks.  The engine gives it the callbacks of its sessions.
 */
#pragma once

#include "engine/redis/session/session.h"

typedef struct bwl_router {
    bwl_host                *host;
    bwl_redis_config        *config; /* one reference */
    const bwl_session_owner *owner;  /* of each session */
    bwl_session             *sessions;
    struct bwl_cluster      *cluster;  /* NULL: it is none */
    struct bwl_sentinel     *sentinel; /* NULL: the server's address is fixed */
    bwl_endpoint             served;   /* of a service: where it was READY last; port 0: never */
} bwl_router;

/* Of a cluster: where a lock is.  First in the engine's part of a lock. */
typedef struct bwl_route {
    uint16_t     slot;
    bwl_session *home;       /* the node that has it; NULL: none has said so */
    bwl_session *granted;    /* the last node that said YES, ...             */
    uint64_t     granted_by; /* ... and as which of its processes         */
    bool         is_sought;  /* at other nodes, as its own cannot be reached */
} bwl_route;

static inline bwl_router *bwl_router_of(const bwl_session *session)
{
    return session->owner_data;
}

static inline bwl_route *bwl_route_of(const bwl_engine_lock *lock)
{
    return lock->part;
}

/* A new session of this router, behind the others.  NULL: out of memory. */
bwl_session *bwl_router_add(bwl_router *router);

/* Frees a session that was never used. */
void bwl_router_remove(bwl_router *router, bwl_session *session);

/* Of several servers, the session of this number; of one, its session. */
bwl_session *bwl_router_nth(const bwl_router *router, unsigned number);

/* Where a request about this lock goes now.  NULL: out of memory. */
bwl_session *bwl_router_route(bwl_router *router, const bwl_engine_lock *lock, unsigned number);

/* Is the lock on the server of this session? */
bool bwl_router_is_home(const bwl_session *session, const bwl_engine_lock *lock);

/* Frees the sessions and what the topology has, and gives the reference back. */
void bwl_router_free(bwl_router *router);

/* Of one server: may it be used, and what is wrong with it?  See bwl_session_owner. */
int  bwl_single_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault);
void bwl_single_explain(const bwl_session *session, char *ret_text, size_t capacity,
                        const char *bytes, size_t size);
