/*
 * pipeline.h -- the requests of one connection, oldest first: a ring buffer that grows.
 *
 * Requests in flight come first, then those that are not written yet.  A server replies in order,
 * so the next frame belongs to the oldest request in flight.
 */
#pragma once

#include "engine/redis/session/request.h"

typedef struct bwl_pipeline {
    bwl_request *ring;
    size_t       first;
    size_t       count;
    size_t       room;
} bwl_pipeline;

/* The nth request, 0 is the oldest. */
static inline bwl_request *bwl_pipeline_at(const bwl_pipeline *pipeline, size_t n)
{
    assert(n < pipeline->count);
    return &pipeline->ring[(pipeline->first + n) % pipeline->room];
}

/* The oldest request in flight; NULL: none. */
static inline bwl_request *bwl_pipeline_head(const bwl_pipeline *pipeline)
{
    bwl_request *first = pipeline->count > 0 ? bwl_pipeline_at(pipeline, 0) : NULL;

    return first != NULL && first->flight.written ? first : NULL;
}

/* Appends a request.  Pins its lock, and counts it as pending.  False: out of memory. */
bool bwl_pipeline_push(bwl_pipeline *pipeline, const bwl_request *request);

/* Removes the oldest request, or the nth, which must be unwritten.  Its lock stays pinned. */
bwl_request bwl_pipeline_pop(bwl_pipeline *pipeline);
bwl_request bwl_pipeline_remove(bwl_pipeline *pipeline, size_t nth);

/* The index of the first unwritten request; count: all are written. */
size_t bwl_pipeline_unwritten(const bwl_pipeline *pipeline);

/* Marks `size` requests, from the nth on, as one written command that begins at this stream
 * offset. */
void bwl_pipeline_mark_batch(bwl_pipeline *pipeline, size_t nth, size_t size, uint64_t offset,
                             bwl_ms now);

void bwl_pipeline_free(bwl_pipeline *pipeline);
