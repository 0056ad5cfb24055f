#include "engine/redis/session/request.h"

#include <stdlib.h>

enum { ROOM_AT_FIRST = 16 };

static bool grow(bwl_pipeline *pipeline)
{
    size_t       room = pipeline->room == 0 ? ROOM_AT_FIRST : pipeline->room * 2;
    bwl_request *ring = calloc(room, sizeof *ring);

    if (ring == NULL)
        return false;
    for (size_t i = 0; i < pipeline->count; i++)
        ring[i] = *bwl_pipeline_at(pipeline, i);
    free(pipeline->ring);
    pipeline->ring  = ring;
    pipeline->first = 0;
    pipeline->room  = room;
    return true;
}

bool bwl_pipeline_push(bwl_pipeline *pipeline, const bwl_request *request)
{
    if (pipeline->count == pipeline->room && !grow(pipeline))
        return false;
    pipeline->count++;
    *bwl_pipeline_at(pipeline, pipeline->count - 1) = *request;
    request->lock->host->pending++;
    bwl_host_pin(request->lock);
    return true;
}

/* Reports a background release that was answered, or will never be. */
static void leave(const bwl_request *request)
{
    request->lock->host->pending--;
    if (request->flight.background)
        bwl_host_background_answered(request->lock->host);
}

bwl_request bwl_pipeline_pop(bwl_pipeline *pipeline)
{
    bwl_request first = *bwl_pipeline_at(pipeline, 0);

    pipeline->first++;
    pipeline->count--;
    leave(&first);
    return first;
}

bwl_request bwl_pipeline_remove(bwl_pipeline *pipeline, size_t nth)
{
    bwl_request taken = *bwl_pipeline_at(pipeline, nth);

    assert(!taken.flight.written);
    for (; nth + 1 < pipeline->count; nth++)
        *bwl_pipeline_at(pipeline, nth) = *bwl_pipeline_at(pipeline, nth + 1);
    pipeline->count--;
    leave(&taken);
    return taken;
}

size_t bwl_pipeline_unwritten(const bwl_pipeline *pipeline)
{
    size_t first = pipeline->count;

    while (first > 0 && !bwl_pipeline_at(pipeline, first - 1)->flight.written)
        first--;
    return first;
}

void bwl_pipeline_mark_batch(bwl_pipeline *pipeline, size_t nth, size_t size, uint64_t offset,
                             bwl_ms now)
{
    for (size_t i = nth; i < nth + size; i++) {
        bwl_request *request    = bwl_pipeline_at(pipeline, i);
        request->batch.size     = (uint8_t)(nth + size - i);
        request->flight.offset  = offset;
        request->flight.sent_at = now;
        request->flight.written = true;
    }
}

bwl_sent bwl_sent_so_far(const bwl_stream *stream)
{
    return (bwl_sent){ .handed_over = stream->handed_over, .was_full = stream->wants_out };
}

void bwl_pipeline_sent(bwl_pipeline *pipeline, const bwl_stream *stream, const bwl_sent *before,
                       bwl_ms now)
{
    uint64_t end = stream->written; /* of the request; those of a batch share it */

    if (!before->was_full || (stream->wants_out && stream->handed_over == before->handed_over))
        return;
    /* The last one before counts: with TLS, a part of its record may have been left. */
    for (size_t i = pipeline->count; i-- > 0 && end >= before->handed_over;) {
        bwl_request_flight *flight = &bwl_pipeline_at(pipeline, i)->flight;
        if (!flight->written)
            continue;
        if (end <= stream->handed_over)
            flight->taken_at = now;
        if (i > 0 && bwl_pipeline_at(pipeline, i - 1)->flight.offset != flight->offset)
            end = flight->offset;
    }
}

void bwl_pipeline_free(bwl_pipeline *pipeline)
{
    free(pipeline->ring);
    *pipeline = (bwl_pipeline){ .ring = NULL };
}

void bwl_request_complete(bwl_session *session, const bwl_request *request, const bwl_event *result)
{
    if (request->kind->complete != NULL)
        request->kind->complete(session, request, result);
    bwl_host_unpin(request->lock);
}

void bwl_request_answer(bwl_session *session, const bwl_request *request, bwl_answer answer)
{
    bwl_request_complete(session, request, &(bwl_event){ .kind = BWL_REPLY, .answer = answer });
}

void bwl_request_answer_known(bwl_session *session, const bwl_request *request)
{
    const bwl_queue_status *status = &request->batch.status;

    bwl_request_complete(session, request,
                         &(bwl_event){ .kind    = BWL_REPLY,
                                       .answer  = request->batch.known,
                                       .number  = request->batch.fence,
                                       .details = status->kind != 0 ? status : NULL });
}

bool bwl_request_is_wanted(const bwl_request *request)
{
    if (request->kind->is_wanted != NULL && !request->kind->is_wanted(request))
        return false;
    return !request->kind->is_machines || request->tag == request->lock->latest_tag;
}
