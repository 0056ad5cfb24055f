/*
 * pipeline.h -- the requests of one connection, oldest first: a ring that grows.
 *
 * Those in flight come first; behind them are those that are not written yet.  A server answers in
 * the order in which it was asked, so the next frame belongs to the oldest request in flight.
 */
#pragma once

#include "engine/redis/session/request.h"

typedef struct bwl_pipeline {
    bwl_request *ring;
    size_t       first;
    size_t       count;
    size_t       room;
} bwl_pipeline;

/* The nth, from the oldest on. */
static inline bwl_request *bwl_pipeline_at(const bwl_pipeline *pipeline, size_t n)
{
    assert(n < pipeline->count);
    return &pipeline->ring[(pipeline->first + n) % pipeline->room];
}

/* The oldest in flight; NULL: nothing is. */
static inline bwl_request *bwl_pipeline_head(const bwl_pipeline *pipeline)
{
    bwl_request *first = pipeline->count > 0 ? bwl_pipeline_at(pipeline, 0) : NULL;

    return first != NULL && first->flight.written ? first : NULL;
}

/* Behind the others.  Pins the lock, and counts it as pending.  False: out of memory. */
bool bwl_pipeline_push(bwl_pipeline *pipeline, const bwl_request *request);

/* Takes the oldest out, or the nth, which is not written.  Its lock stays pinned. */
bwl_request bwl_pipeline_pop(bwl_pipeline *pipeline);
bwl_request bwl_pipeline_remove(bwl_pipeline *pipeline, size_t nth);

/* The first that is not written; count: all are. */
size_t bwl_pipeline_unwritten(const bwl_pipeline *pipeline);

/* `size` requests, from the nth on, go out as one command that begins at this offset. */
void bwl_pipeline_mark_batch(bwl_pipeline *pipeline, size_t nth, size_t size, uint64_t offset,
                             bwl_ms now);

void bwl_pipeline_free(bwl_pipeline *pipeline);
