#include "engine/redis/topology/router.h"

#include "base/fault.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"
#include "engine/redis/topology/sentinel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bwl_session *bwl_router_add(bwl_router *router)
{
    bwl_session  *session = bwl_session_new(router->host, router->config, router->owner, router);
    bwl_session **end     = &router->sessions;

    if (session == NULL)
        return NULL;
    while (*end != NULL)
        end = &(*end)->next;
    *end = session;
    return session;
}

void bwl_router_remove(bwl_router *router, bwl_session *session)
{
    bwl_session **where = &router->sessions;

    while (*where != session)
        where = &(*where)->next;
    *where = session->next;
    bwl_cluster_forget_session(session);
    bwl_session_free(session);
}

/* A client that closes opens no connection.  Its lock may have been taken over another connection
 * to the same node, before the cluster said under which name it knows that node. */
static bwl_session *connected_instead_of(bwl_router *router, const bwl_engine_lock *lock,
                                         bwl_session *session)
{
    bwl_session *home = bwl_route_of(lock)->home;

    if (session != NULL && session->phase == BWL_SESSION_READY)
        return session;
    if (home != NULL && home->phase == BWL_SESSION_READY)
        return home;
    for (bwl_session *each = router->sessions; each != NULL; each = each->next)
        if (each->phase == BWL_SESSION_READY)
            return each;
    return session;
}

bwl_session *bwl_router_route(bwl_router *router, const bwl_engine_lock *lock, unsigned number)
{
    bwl_session *session = router->sessions;

    if (router->cluster != NULL) {
        session = bwl_cluster_route(router->cluster, bwl_route_of(lock)->slot);
        return router->host->closing ? connected_instead_of(router, lock, session) : session;
    }
    for (; number > 0 && session != NULL; number--)
        session = session->next;
    assert(session != NULL);
    return session;
}

/* False: no node is connected. */
static bool hand_over_one(bwl_router *router, bwl_session *session)
{
    bwl_session *ready = bwl_router_route(router, bwl_pipeline_at(&session->pipeline, 0)->lock, 0);

    if (ready == NULL || ready->phase != BWL_SESSION_READY)
        return false;
    bwl_request request = bwl_pipeline_pop(&session->pipeline);
    if (bwl_session_submit(ready, &request))
        bwl_host_unpin(request.lock); /* submitting pinned it a second time */
    else
        bwl_request_answer(session, &request, BWL_NOT_SENT);
    return true;
}

void bwl_router_hand_over(bwl_router *router)
{
    if (router->cluster == NULL || !router->host->closing)
        return;
    for (bwl_session *each = router->sessions; each != NULL; each = each->next)
        while (each->phase != BWL_SESSION_READY && each->pipeline.count > 0 &&
               hand_over_one(router, each))
            continue;
}

bool bwl_router_is_home(const bwl_session *session, const bwl_engine_lock *lock)
{
    return bwl_router_of(session)->cluster == NULL || bwl_route_of(lock)->home == session;
}

void bwl_router_free(bwl_router *router)
{
    while (router->sessions != NULL) {
        bwl_session *next = router->sessions->next;
        bwl_cluster_forget_session(router->sessions);
        bwl_session_free(router->sessions);
        router->sessions = next;
    }
    bwl_cluster_free(router->cluster);
    bwl_sentinel_free(router->sentinel);
    free(router->served.host);
    bwl_redis_config_unref(router->config);
}

int bwl_single_check_hello(bwl_session *session, const bwl_hello *hello, bwl_fault *fault)
{
    if (!bwl_resp_text_is(&hello->mode, "cluster") || !bwl_session_uses_push(session))
        return BWL_OK;
    return bwl_fail(fault, BWL_STATUS_REFUSED, "%s is a node of a cluster: write %s+cluster://",
                    session->endpoint.text, session->config->tls != NULL ? "rediss" : "redis");
}

void bwl_single_explain(const bwl_session *session, char *ret_text, size_t capacity,
                        const char *bytes, size_t size)
{
    static const char *const codes[] = { "MOVED", "ASK", "CROSSSLOT" };
    size_t                   used    = strlen(ret_text);

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (bwl_redis_error_is(bytes, size, codes[i]))
            (void)snprintf(ret_text + used, capacity - used,
                           ": it is a node of a cluster: write %s+cluster://",
                           session->config->tls != NULL ? "rediss" : "redis");
}
