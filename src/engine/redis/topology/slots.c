/*
 * slots.c -- with a cluster and a protocol that uses pushes: prepares a node for the first request
 * about a slot.  See cluster.h.
 *
 * Channels and fences belong to slots, so the work of push_channel.c is repeated here for each slot
 * of a connection:
 *
 *      SSUBSCRIBE channel:{N}
 *      SPUBLISH channel:{N} H
 *      EVAL fence minimum 1 bowline:f:{N} ...
 *
 * The request is written after all replies; nothing else is written in between.  When the node no
 * longer owns the slot, the server pushes sunsubscribe; the slot must then be prepared again,
 * because other nodes may have issued fences.  So even a request that does not wait subscribes.
 */
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVE_ROOM = 128, NEW_MS = 3000, TAG_LIMIT = 1000000 };

/* The preparation of a slot on this connection. */
enum {
    IS_SUBSCRIBED = 1u << 0, /* subscribed                             */
    HAS_FENCE     = 1u << 1,
    HAS_INFO      = 1u << 2, /* the client info is published */
    IS_NEW        = 1u << 3, /* subscribed a moment ago      */
};

typedef struct slots {
    bwl_ms  new_until;
    uint8_t done[BWL_CLUSTER_SLOTS];
} slots;

static slots *slots_of(const bwl_session *session)
{
    return session->node;
}

static uint16_t slot_of(const bwl_request *request)
{
    return bwl_route_of(request->lock)->slot;
}

static void write_tag(const bwl_session *session, uint16_t slot,
                      char ret_tag[BWL_QUEUE_TAG_MAX + 1])
{
    bwl_cluster *cluster = bwl_router_of(session)->cluster;

    (void)snprintf(ret_tag, BWL_QUEUE_TAG_MAX + 1, "{%u}",
                   (unsigned)bwl_cluster_tag(&cluster->tags, slot) % TAG_LIMIT);
}

void bwl_slots_tag_of(const bwl_session *session, uint16_t slot,
                      char ret_tag[BWL_QUEUE_TAG_MAX + 1])
{
    ret_tag[0] = '\0';
    if (bwl_router_of(session)->cluster != NULL)
        write_tag(session, slot, ret_tag);
}

void bwl_slots_tag(const bwl_session *session, const bwl_engine_lock *lock,
                   char ret_tag[BWL_QUEUE_TAG_MAX + 1])
{
    bwl_slots_tag_of(session, bwl_route_of(lock)->slot, ret_tag);
}

void bwl_slots_channel(const bwl_session *session, const char *tag,
                       char ret_channel[BWL_QUEUE_CHANNEL_MAX + 1])
{
    const char *channel = session->push.channel;

    if (tag[0] == '\0')
        memcpy(ret_channel, channel, strlen(channel) + 1);
    else
        (void)snprintf(ret_channel, BWL_QUEUE_CHANNEL_MAX + 1, "%s:%.*s", channel,
                       BWL_QUEUE_TAG_MAX, tag);
}

bool bwl_slots_open(bwl_session *session)
{
    session->node             = calloc(1, sizeof(slots));
    session->push.is_per_slot = session->node != NULL;
    return session->node != NULL;
}

void bwl_cluster_forget_session(bwl_session *session)
{
    free(session->node);
    session->node = NULL;
}

static void keep_only(bwl_session *session, uint8_t flags)
{
    slots *s = slots_of(session);

    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++)
        s->done[slot] &= flags;
    session->push.info_sent_at = bwl_host_now(session->host);
}

void bwl_slots_begin(bwl_session *session)
{
    keep_only(session, HAS_INFO);
}

void bwl_slots_expire(bwl_session *session)
{
    keep_only(session, HAS_INFO | IS_SUBSCRIBED | IS_NEW);
}

void bwl_slots_has_info(bwl_session *session, uint16_t slot)
{
    slots_of(session)->done[slot] |= HAS_INFO;
}

void bwl_slots_forget(bwl_session *session, uint16_t slot)
{
    if (session->node != NULL)
        slots_of(session)->done[slot] = 0;
}

void bwl_slots_forget_all(bwl_session *session)
{
    if (session->node != NULL)
        *slots_of(session) = (slots){ .new_until = 0 };
}

void bwl_slots_leave(bwl_session *session)
{
    char tag[BWL_QUEUE_TAG_MAX + 1];

    for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++) {
        if ((slots_of(session)->done[slot] & HAS_INFO) == 0)
            continue;
        write_tag(session, (uint16_t)slot, tag);
        if (!bwl_resp_stream_write(&session->link.conn, LEAVE_ROOM, "DEL %s",
                                   bwl_queue_who_key(tag, session->push.id).text))
            return; /* the info expires */
    }
}

bool bwl_slots_is_new(bwl_session *session, const bwl_engine_lock *lock)
{
    slots *s = slots_of(session);

    if (s == NULL)
        return false;
    if (session->host->latest >= s->new_until) {
        for (unsigned slot = 0; slot < BWL_CLUSTER_SLOTS; slot++)
            s->done[slot] &= (uint8_t)~IS_NEW;
        s->new_until = BWL_NEVER;
    }
    return (s->done[bwl_route_of(lock)->slot] & IS_NEW) != 0;
}

bool bwl_slots_uses(const bwl_request *request)
{
    bool adopts = request->command == REDIS_ADOPT && request->lock->hold.protocol->uses_push;

    return adopts || (bwl_queue_is(request->command) &&
                      bwl_queue_exclusive(request->command) != REDIS_QUEUE_EXTEND);
}

/* The missing parts; 0: none.  Only a subscription reports that the slot has moved, so the fence
 * minimum is valid only with it. */
static uint8_t due_for(const bwl_session *session, const bwl_request *request)
{
    unsigned wanted = HAS_FENCE | IS_SUBSCRIBED;

    if (session->node == NULL || !bwl_slots_uses(request))
        return 0;
    return (uint8_t)(wanted & ~(unsigned)slots_of(session)->done[slot_of(request)]);
}

bwl_session_prepared bwl_slots_prepare(bwl_session *session, bwl_request *request)
{
    uint8_t         due = due_for(session, request);
    char            tag[BWL_QUEUE_TAG_MAX + 1];
    char            channel[BWL_QUEUE_CHANNEL_MAX + 1];
    bwl_resp_writer writer;

    if (due == 0)
        return BWL_PREPARED_NOTHING;
    if (!bwl_resp_stream_reserve(&session->link.conn, BWL_QUEUE_HANDSHAKE_SIZE_MAX, &writer))
        return BWL_PREPARED_NO_ROOM;
    bwl_slots_tag(session, request->lock, tag);
    bwl_slots_channel(session, tag, channel);
    request->flight.offset  = session->link.conn.stream.written;
    request->flight.sent_at = session->host->latest;
    if (session->host->closing) { /* no reply will be read */
        session->owner->write_client_info(session, &writer, tag);
        slots_of(session)->done[slot_of(request)] |= HAS_FENCE | HAS_INFO | IS_SUBSCRIBED;
        bwl_resp_stream_commit(&session->link.conn, &writer);
        return BWL_PREPARED_NOTHING;
    }
    assert(request->flight.failed == 0);
    if ((due & IS_SUBSCRIBED) != 0)
        bwl_queue_write_channel(&writer, true, channel);
    session->owner->write_client_info(session, &writer, tag);
    request->flight.frames   = (due & IS_SUBSCRIBED) != 0 ? 2 : 0; /* before the last one */
    request->flight.prepares = true;
    request->flight.written  = true;
    bwl_resp_stream_commit(&session->link.conn, &writer);
    return BWL_PREPARED_WAIT;
}

/* ASKING affects only the next command, and is written for each request. */
bool bwl_slots_may_share(const bwl_session *session, const bwl_request *a, const bwl_request *b)
{
    return slot_of(a) == slot_of(b) && due_for(session, a) == 0 && !a->route.asking &&
           !b->route.asking;
}

bool bwl_slots_skips(const bwl_session *session, const bwl_request *request)
{
    (void)session;
    return bwl_queue_exclusive(request->command) == REDIS_QUEUE_RELEASE ||
           request->command == REDIS_QUEUE_REST || request->command == REDIS_QUEUE_CANCEL;
}

static bwl_answer answer_of(const char *bytes, size_t size)
{
    if (bytes == NULL)
        return BWL_REFUSED;
    if (!bwl_redis_is_error(bytes, size))
        return BWL_YES;
    return bwl_redis_error_is(bytes, size, "NOPERM") ? BWL_REFUSED : BWL_RETRYABLE;
}

/* A frame before the last.  An error here, and none in the last, means that the slot has just come
 * back, or that rights are missing. */
static void on_part(bwl_session *session, bwl_request *request, const char *bytes, size_t size)
{
    bwl_answer answer = answer_of(bytes, size);

    request->flight.frames--;
    if (answer == BWL_YES || request->flight.failed == BWL_REFUSED)
        return;
    request->flight.failed = answer;
    bwl_session_set_error(session, request, answer, bytes, size);
}

/* The last frame, of the fence, concerns only one key, and its error is the answer for all
 * frames. */
static bwl_answer on_last(bwl_session *session, bwl_request *request, const char *bytes,
                          size_t size)
{
    bwl_answer answer = answer_of(bytes, size);

    if (answer == BWL_RETRYABLE && !bwl_redis_is_not_now(bytes, size))
        answer = BWL_REFUSED;
    if (answer == BWL_YES) {
        bwl_resp_cursor cursor = bwl_resp_begin(bytes, size);
        bwl_resp_value  value;
        if (!bwl_resp_next_bare(&cursor, &value) || value.type != ':')
            answer = BWL_REFUSED;
    }
    if (answer == BWL_YES && request->flight.failed != 0)
        answer = request->flight.failed;
    request->flight.prepares = false;
    request->flight.written  = false;
    if (answer == BWL_YES)
        slots_of(session)->done[slot_of(request)] |= HAS_FENCE | HAS_INFO;
    return answer;
}

void bwl_slots_on_prepared(bwl_session *session, const char *bytes, size_t size)
{
    bwl_request *first = bwl_pipeline_at(&session->pipeline, 0);

    assert(first->flight.prepares);
    if (first->flight.frames > 0) {
        on_part(session, first, bytes, size);
        return;
    }
    bwl_answer answer = on_last(session, first, bytes, size);
    if (answer == BWL_YES || bwl_cluster_redirect(session, bytes, size))
        return;
    if (bytes == NULL || bwl_redis_is_error(bytes, size))
        bwl_session_set_error(session, first, answer, bytes, size);
    bwl_request request = bwl_pipeline_pop(&session->pipeline);
    bwl_request_answer(session, &request, answer);
}

bool bwl_slots_on_push(bwl_session *session, const bwl_queue_push *push, uint16_t *ret_slot)
{
    slots *s = slots_of(session);

    if (s == NULL || push->tag.size == 0)
        return false;
    *ret_slot = bwl_cluster_slot(push->tag.at, push->tag.size);
    if (push->kind == BWL_PUSH_UNSUBSCRIBED) {
        s->done[*ret_slot] = 0;
        return true;
    }
    bwl_request *head = bwl_pipeline_head(&session->pipeline);
    s->done[*ret_slot] |= IS_SUBSCRIBED | IS_NEW;
    s->new_until = bwl_ms_add(session->host->latest, NEW_MS);
    if (head != NULL && head->flight.prepares && head->flight.frames == 2)
        head->flight.frames = 1; /* the push replaces a frame */
    return false;
}
