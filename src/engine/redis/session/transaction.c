/*
 * transaction.c -- one WATCH ... EXEC of a lock's machine at a time.  See inside.h.
 *
 * WATCH is a state of the connection, and an EXEC ends all WATCHes on it.  So WATCH_READ opens a
 * transaction for its lock; that of another lock is deferred until it has ended; all other requests
 * pass.  A transaction is over as soon as its last request is in the pipeline, because later
 * requests are executed after it.
 *
 *      WATCH_READ --sent--> owner --reply--> UNWATCH or DELETE_WATCHED sent --> next
 *                             |--reply shows nothing------------------------> next
 *                             `--connection lost: it and all deferred ones: NOT_SENT
 *
 * The last request of a transaction must not be sent on a new connection: nothing is watched there,
 * and MULTI, DEL, EXEC would delete any value of the key.
 */
#include "engine/redis/session/inside.h"

static bool has_role(const bwl_request *request, bwl_watch_role role)
{
    return request->kind->watch_role != NULL && request->kind->watch_role(request) == role;
}

static bool begins(const bwl_request *request)
{
    return has_role(request, BWL_WATCH_BEGINS);
}

static bool ends(const bwl_request *request)
{
    return has_role(request, BWL_WATCH_ENDS);
}

/* Ends the transaction, and begins the next deferred one. */
static void open_next(bwl_session *session)
{
    session->watch.owner = NULL;
    if (session->watch.deferred.count == 0)
        return;
    bwl_request request = bwl_pipeline_pop(&session->watch.deferred);
    if (bwl_session_submit(session, &request)) {
        bwl_host_unpin(request.lock); /* submitting pinned it a second time */
        return;
    }
    bwl_host_set_error(request.lock, "out of memory");
    bwl_request_answer(session, &request, BWL_NOT_SENT);
}

bool bwl_watch_admits(bwl_session *session, const bwl_request *request)
{
    if (!begins(request) && !ends(request))
        return true;
    if (begins(request) && session->watch.owner == NULL) {
        session->watch.owner = request->lock;
        return true;
    }
    if (begins(request) && bwl_pipeline_push(&session->watch.deferred, request))
        return false;
    if (ends(request) && session->watch.owner == request->lock &&
        session->phase == BWL_SESSION_READY)
        return true;
    bwl_host_pin(request->lock);
    bwl_host_set_error(request->lock,
                       begins(request) ? "%s: out of memory" : "the connection to %s broke",
                       session->endpoint.text);
    bwl_request_answer(session, request, BWL_NOT_SENT);
    return false;
}

void bwl_watch_submitted(bwl_session *session, const bwl_request *request)
{
    if (ends(request) && session->watch.owner == request->lock)
        open_next(session);
}

void bwl_watch_answered(bwl_session *session, const bwl_request *request, bwl_answer answer)
{
    bool is_error = answer == BWL_RETRYABLE || answer == BWL_REFUSED;

    if (is_error && request->kind->watch_role != NULL && !ends(request))
        bwl_watch_failed(session, request);
}

void bwl_watch_failed(bwl_session *session, const bwl_request *request)
{
    if (session->watch.owner == request->lock)
        open_next(session);
}
