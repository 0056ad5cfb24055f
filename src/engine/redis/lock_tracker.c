/*
 * lock_tracker.c -- the effect of a new or a lost connection on the locks of the client.
 *
 * The same server process (same run_id): the keys should still be there.  Every held lock is
 * revalidated at once by a command that changes nothing, instead of at its next renewal.
 *
 * Another process: it may have restored an older state of its data.  Our key may be there although
 * another client has had the lock in between, so the key proves nothing: every held lock is lost,
 * and deleted where it is still ours.
 *
 * Another server, which the sentinels made the primary: it has a copy of the old data, and may lack
 * the last writes.  While our key is there with our token, no other client has had the lock, as
 * long as there is one primary.  Every held lock is revalidated for its whole lease, because the
 * last renewal may be missing.  The same holds for a server or node seen before: it may have been a
 * replica since, and be the primary again, as the same process with the other one's data.
 *
 * In a cluster, only the locks of that node are concerned.  A node that is now a replica redirects
 * us to a node that has a copy, as with sentinels.  At a primary, a new process loses the locks
 * whose last YES came from the process before it; what another node granted has moved there with
 * its slot, and is revalidated.
 *
 * Without a run_id (INFO is forbidden), the process is assumed to be the same; then only the check
 * of the key is left.
 */
#include "core/text.h"
#include "engine/redis/redis.h"
#include "engine/redis/queue_watch.h"
#include "engine/redis/shown_hold.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/sentinel.h"
#include "engine/redis/topology/slots.h"
#include "protocol/protocol.h"

#include <stdio.h>
#include <string.h>

enum {
    NO_LEASE_MS = 1,   /* extends nothing: shorter than any remaining TTL */
    NOTE_MAX    = 128, /* size of a note that is shown, bytes */
};

static bool is_cluster(const bwl_session *session)
{
    return session->config->topology == BWL_TOPOLOGY_CLUSTER;
}

static bool is_held_at(const bwl_session *session, const bwl_engine_lock *lock)
{
    return bwl_hold_is_held(&lock->hold) && bwl_router_is_home(session, lock);
}

void bwl_redis_for_each_lock(bwl_session *session, const void *arg,
                             void (*visit)(bwl_session *, bwl_engine_lock *, const void *arg))
{
    bwl_redis_lock *next;

    for (bwl_redis_lock *at = bwl_redis_of(session->host)->locks; at != NULL; at = next) {
        bwl_engine_lock *lock = at->lock;
        bwl_host_pin(lock);
        visit(session, lock, arg);
        next = at->next;
        bwl_host_unpin(lock);
    }
}

bool bwl_redis_is_needed(const bwl_session *session)
{
    for (const bwl_redis_lock *at = bwl_redis_of(session->host)->locks; at != NULL; at = at->next)
        if (is_held_at(session, at->lock))
            return true;
    return false;
}

static void mark_lost(bwl_session *session, bwl_engine_lock *lock)
{
    if (!bwl_hold_is_held(&lock->hold))
        return; /* a hold granted that long ago has expired */
    bwl_host_set_error(lock, "%s was started again (it has another run_id)",
                       session->endpoint.text);
    bwl_host_revoke(lock);
}

/* Whether the last YES came from an earlier process of this server. */
static bool was_granted_before(const bwl_session *session, const bwl_engine_lock *lock)
{
    const bwl_route *route = bwl_route_of(lock);

    return route->granted == session && route->granted_by != session->server.restarts;
}

/* If the last YES came from an earlier process of this server, the present one may have older data:
 * a hold from then is lost. */
void bwl_redis_is_at(bwl_session *session, bwl_engine_lock *lock)
{
    bwl_route *route = bwl_route_of(lock);

    if (!is_cluster(session))
        return;
    if (was_granted_before(session, lock))
        mark_lost(session, lock);
    bool is_same      = route->home == session;
    route->home       = session;
    route->granted    = session;
    route->granted_by = session->server.restarts;
    if (!is_same)
        bwl_redis_unwatch(lock); /* its queue is elsewhere now */
}

/* The command by which a hold is extended. */
static bwl_redis_command extension_of(const bwl_session *session, const bwl_hold *hold)
{
    if (hold->request.share.weight > 0)
        return REDIS_SHARE_EXTEND;
    if (bwl_session_uses_push(session))
        return REDIS_QUEUE_EXTEND;
    return bwl_protocol_commands(session->host->settings.protocol)->extend;
}

static bwl_request revalidation_of(const bwl_session *session, bwl_engine_lock *lock,
                                   bwl_ms lease_ms)
{
    bwl_request request = { .kind     = &bwl_redis_revalidate,
                            .lock     = lock,
                            .command  = extension_of(session, &lock->hold),
                            .number   = (int64_t)lock->hold.fence,
                            .lease_ms = lease_ms };

    memcpy(request.token, lock->hold.request.token, sizeof request.token);
    return request;
}

/* Out of memory is ignored: the next renewal does the same. */
static void revalidate(bwl_session *session, bwl_engine_lock *lock)
{
    bool is_copy = session->config->topology == BWL_TOPOLOGY_SENTINEL || is_cluster(session);

    if (!lock->hold.protocol->extends || !lock->hold.protocol->can_verify_owner) {
        if (bwl_sentinel_has_moved(session))
            mark_lost(session, lock);
        return; /* no reply to this protocol proves that the lock is ours */
    }
    if (lock->hold.state != BWL_HOLD_HELD || lock->hold.change.kind != 0)
        return; /* an extension is in flight, which also revalidates; or will be sent soon */
    bwl_request request =
        revalidation_of(session, lock, is_copy ? lock->hold.request.lease_ms : NO_LEASE_MS);
    (void)bwl_pipeline_push(&session->pipeline, &request);
}

/* For a connection to a primary. */
static bool is_lost(const bwl_session *session, const bwl_engine_lock *lock)
{
    if (is_cluster(session))
        return was_granted_before(session, lock);
    return session->server.was_restarted && !bwl_sentinel_has_moved(session);
}

static void examine(bwl_session *session, bwl_engine_lock *lock, const void *arg)
{
    bool is_redirected = is_cluster(session) && session->server.is_replica;

    (void)arg;
    if (!is_held_at(session, lock))
        return;
    if (!is_redirected && is_lost(session, lock))
        mark_lost(session, lock);
    else
        revalidate(session, lock);
}

/* Requests submitted here are not written yet: the session is in its handshake. */
void bwl_redis_on_restarted(bwl_session *session)
{
    bool is_redirected = is_cluster(session) && session->server.is_replica;

    assert(session->phase == BWL_SESSION_HANDSHAKE);
    if (session->config->topology == BWL_TOPOLOGY_QUORUM) {
        session->server.was_restarted = false; /* a minority: the next renewal restores the key */
        return;
    }
    if (session->server.was_restarted && !is_redirected)
        session->server.restarts++;
    bwl_redis_for_each_lock(session, NULL, examine);
    session->server.was_restarted = false;
}

void bwl_redis_on_ready(bwl_session *session)
{
    bwl_redis_on_restarted(session);
    if (session->config->topology == BWL_TOPOLOGY_SENTINEL)
        bwl_sentinel_served(session);
}

void bwl_redis_note_loss(bwl_engine_lock *lock, bowline_loss loss)
{
    static const char *const words[] = {
        [BOWLINE_LOSS_UNKNOWN] = "the server has no lock of this client any more",
        [BOWLINE_LOSS_GONE]    = "the server does not have it any more",
        [BOWLINE_LOSS_TAKEN]   = "another client has it now",
    };
    bwl_fault why;

    bwl_fault_clear(&why);
    why.loss = (int32_t)loss;
    (void)snprintf(why.text, sizeof why.text, "%s", words[loss]);
    bwl_host_set_fault(lock, &why);
}

void bwl_redis_revalidated(bwl_session *session, const bwl_request *request,
                           const bwl_event *result)
{
    bwl_engine_lock *lock    = request->lock;
    bool             is_same = strcmp(lock->hold.request.token, request->token) == 0;

    (void)session;
    bwl_route_of(lock)->is_discovering = false;
    if (result->kind != BWL_REPLY || result->answer != BWL_NO || !is_same)
        return; /* it is ours; or that is unknown, and the next renewal checks again */
    if (!bwl_hold_is_held(&lock->hold))
        return;
    bwl_redis_note_loss(lock, (bowline_loss)result->number);
    bwl_host_revoke(lock);
    (void)bwl_redis_ask_breaker(request, NULL); /* (void): then the client is not named */
}

static void lose_pushes(bwl_session *session, bwl_engine_lock *lock, const void *arg)
{
    (void)arg;
    if (!bwl_router_is_home(session, lock))
        return;
    bwl_redis_unwatch(lock);
    if (bwl_hold_is_acquiring(&lock->hold) || bwl_hold_is_held(&lock->hold))
        bwl_host_event(lock, (bwl_event){ .kind = BWL_DOWN });
}

void bwl_redis_on_pushes_lost(bwl_session *session)
{
    bwl_redis_for_each_lock(session, NULL, lose_pushes);
}

/* This node is unreachable, and its slots may have moved: revalidates at the other nodes. */
static void revalidate_elsewhere(bwl_session *session, bwl_engine_lock *lock, const void *arg)
{
    bwl_route *route = bwl_route_of(lock);

    (void)arg;
    if (!bwl_router_is_home(session, lock) || lock->hold.state != BWL_HOLD_HELD ||
        lock->hold.change.kind != 0 || route->is_discovering)
        return;
    bwl_request request   = revalidation_of(session, lock, lock->hold.request.lease_ms);
    route->is_discovering = true; /* may be cleared again within the submit */
    if (!bwl_cluster_on_not_sent(session, &request))
        route->is_discovering = false; /* at the next attempt */
}

void bwl_redis_on_down(bwl_session *session)
{
    bool is_connected = false;

    for (const bwl_session *each = bwl_router_of(session)->sessions; each != NULL;
         each                    = each->next)
        is_connected = is_connected || each->phase == BWL_SESSION_READY;
    if (!is_connected)
        bwl_host_connected(session->host, false);
    if (is_cluster(session) && bwl_session_may_be_dead(session))
        bwl_redis_for_each_lock(session, NULL, revalidate_elsewhere);
}

static void lose_slot(bwl_session *session, bwl_engine_lock *lock, const void *slot)
{
    if (!bwl_router_is_home(session, lock) || bwl_route_of(lock)->slot != *(const uint16_t *)slot)
        return;
    bwl_redis_unwatch(lock);
    if (bwl_hold_is_acquiring(&lock->hold))
        bwl_host_event(lock, (bwl_event){ .kind = BWL_DOWN });
}

void bwl_redis_slot_lost(bwl_session *session, uint16_t slot)
{
    bwl_redis_for_each_lock(session, &slot, lose_slot);
}

/* ---- a hold that was released by force ------------------------------------------------------- */

static bool write_ask_breaker(bwl_session *session, bwl_request *request)
{
    char            tag[BWL_QUEUE_TAG_MAX + 1];
    bwl_resp_writer writer;

    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_BROKEN_SIZE_MAX, &writer))
        return false;
    bwl_slots_tag(session, request->lock, tag);
    bwl_queue_write_ask_broken(&writer, tag, session->push.id, request->token);
    request->flight.offset = session->link.conn.stream.written;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return true;
}

/* The note becomes the lock's error text. */
static bwl_redis_verdict read_breaker(bwl_session *session, bwl_request *request, const char *bytes,
                                      size_t size, bwl_request_reply *ret_reply)
{
    bwl_engine_lock *lock = request->lock;
    bwl_bytes        note;
    char             by[NOTE_MAX + 1];

    (void)session;
    ret_reply->event.answer = BWL_YES;
    if (bytes == NULL || bwl_hold_is_held(&lock->hold) ||
        strcmp(lock->hold.request.token, request->token) != 0)
        return BWL_REDIS_ANSWER; /* acquired again */
    note = bwl_queue_read_broken(bytes, size);
    if (note.size == 0)
        return BWL_REDIS_ANSWER;
    bwl_redis_of(lock->host)->was_broken = true;
    bwl_printable_copy(by, sizeof by, note.at, note.size);
    (void)snprintf(lock->why.text, sizeof lock->why.text, "broken by %s", by);
    return BWL_REDIS_ANSWER;
}

/* The loss, which waited for the note, goes to the machine; without a reply it has no name. */
static void complete_loss(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    (void)session;
    (void)result;
    bwl_host_event(request->lock, (bwl_event){ .kind   = BWL_REPLY,
                                               .answer = BWL_NO,
                                               .tag    = request->tag,
                                               .node   = request->node,
                                               .number = (uint64_t)request->number });
}

static const bwl_request_kind ask_breaker = { .write = write_ask_breaker, .read = read_breaker };
static const bwl_request_kind ask_breaker_first = {
    .write    = write_ask_breaker,
    .read     = read_breaker,
    .complete = complete_loss,
};

bool bwl_redis_ask_breaker(const bwl_request *found, const bwl_event *result)
{
    bwl_engine_lock *lock    = found->lock;
    bwl_session     *session = bwl_redis_route(lock, found->node);
    bwl_request      request = { .kind   = result != NULL ? &ask_breaker_first : &ask_breaker,
                                 .lock   = lock,
                                 .tag    = found->tag,
                                 .node   = found->node,
                                 .number = result != NULL ? (int64_t)result->number : 0 };

    if (session == NULL || !bwl_session_uses_push(session) || lock->host->closing)
        return false;
    memcpy(request.token, found->token, sizeof request.token);
    bwl_redis_hide_hold(session, lock);
    return bwl_session_submit(session, &request);
}
