/*
 * request.h -- one command to a Redis server and its reply.
 *
 * The kind of a request writes the command, reads the reply and completes it.  The session only
 * moves requests.
 *
 *      submit --> pipeline: waiting --write--> in flight --read, last frame--> complete
 *                               |                  `--connection lost--> complete (DOWN)
 *                               `--connection lost--> complete (NOT_SENT), or to another session
 */
#pragma once

#include "engine/engine.h"
#include "engine/redis/wire/commands.h"
#include "net/stream.h"

typedef struct bwl_session      bwl_session;
typedef struct bwl_request      bwl_request;
typedef struct bwl_request_kind bwl_request_kind;

/* What was written, and how much of the reply was read. */
typedef struct bwl_request_flight {
    bool       written;         /* into the stream's buffer */
    bool       prepares;        /* only its preparation was written, not the request itself */
    bool       background;      /* the kernel has it, and no caller waits for the reply */
    uint8_t    replies_to_skip; /* frames before its reply, whose content is ignored */
    uint8_t    frames;          /* of its reply, read so far */
    bwl_answer failed;          /* the answer of the first frame with an error; 0: none */
    uint64_t   offset;          /* stream offset of its first byte, as handed_over of the stream */
    bwl_ms     sent_at;         /* when it was written, not later than the server got it */
    bwl_ms     taken_at;        /* when the kernel took it, if it was full; else 0 */
} bwl_request_flight;

/* One of several requests that were written as one command. */
typedef struct bwl_request_batch {
    uint8_t    size;  /* n: it and the next n - 1 requests are one command; 0: a single request */
    bool       again; /* send it again, alone */
    bwl_answer known; /* its part of the reply; 0: none yet */
    bwl_queue_status status; /* and of a heartbeat or a TAKE; kind 0: none */
    uint64_t         fence;  /* and of a TAKE */
} bwl_request_batch;

/* The way of a request between the nodes of a cluster. */
typedef struct bwl_request_route {
    bool    asking;   /* send ASKING before it */
    bool    moving;   /* its slot moves: some of its keys may be missing at each node */
    uint8_t hops;     /* number of redirects */
    bwl_ms  since;    /* when it was first submitted; 0: now */
    bwl_ms  retry_at; /* while it is deferred: when it is sent again */
} bwl_request_route;

struct bwl_request {
    const bwl_request_kind *kind;
    bwl_engine_lock        *lock;    /* pinned while the request exists                      */
    void                   *subject; /* the kind's data: a holder query, a transaction; NULL */
    bwl_redis_command       command; /* 0: the kind implies it                               */
    uint32_t                tag;
    uint8_t                 node;        /* index of the server, if there are several */
    bool                    use_eval;    /* send the script's text, not its SHA-1 */
    bool                    was_unknown; /* the server did not know its SHA-1 */
    int64_t                 number;      /* args[0] of the send */
    bwl_ms                  lease_ms;
    uint64_t                generation; /* of the lock's attempt                               */
    bwl_request_flight      flight;
    bwl_request_batch       batch;
    bwl_request_route       route;
    char                    token[BWL_TOKEN_MAX + 1];
};

/* The reply of a whole request.  Valid during the call. */
typedef struct bwl_request_reply {
    bwl_event       event; /* kind, answer, number; details points into `reply` */
    bwl_redis_reply reply;
} bwl_request_reply;

/* What a request does to the WATCH of its connection: see transaction.c. */
typedef enum bwl_watch_role { BWL_WATCH_NONE = 0, BWL_WATCH_BEGINS, BWL_WATCH_ENDS } bwl_watch_role;

struct bwl_request_kind {
    /* A command of the lock's machine: it can be withdrawn, and is worth sending only while it is
     * the machine's latest command. */
    bool is_machines;
    bool revalidates;    /* it checks whether the hold is still ours                      */
    bool reports_errors; /* an error of the server becomes the lock's error text          */
    bool reports_text;   /* the reason of a lost connection becomes the lock's error text */

    /* Whether it is still worth sending, or sending again.  NULL: yes, but for is_machines. */
    bool (*is_wanted)(const bwl_request *request);

    /* Whether it may be sent on this connection now.  False: it was deferred, or completed already.
     * NULL: yes. */
    bool (*admits)(bwl_session *session, const bwl_request *request);

    /* The number of frames of its reply.  NULL: one. */
    unsigned (*frames)(const bwl_request *request);

    /* Whether the next frame may be a value of any length.  NULL: no. */
    bool (*is_value)(const bwl_request *request);

    /* Writes the command, and those that precede it in the same packet, whose replies are counted
     * in flight.replies_to_skip.  False: no room. */
    bool (*write)(bwl_session *session, bwl_request *request);

    /* Reads frame number flight.frames of its reply; NULL bytes: a value that was too long.  NULL:
     * any reply is a YES. */
    bwl_redis_verdict (*read)(bwl_session *session, bwl_request *request, const char *bytes,
                              size_t size, bwl_request_reply *ret_reply);

    /* Called once, when the request is complete and in no pipeline.  The lock is unpinned
     * afterwards.  NULL: nothing depends on the reply. */
    void (*complete)(bwl_session *session, const bwl_request *request, const bwl_event *result);

    /* NULL: NONE. */
    bwl_watch_role (*watch_role)(const bwl_request *request);

    /* For kinds that can be batched: the mark of a request that the server refused when it was sent
     * alone.  NULL: never batched. */
    bool *(*is_alone)(const bwl_request *request);

    /* For kinds whose heartbeats can be batched: the waiter, as it is written. */
    struct bwl_queue_self (*self)(bwl_session *session, const bwl_request *request);
};

/* Requests, oldest first: a ring buffer that grows.  Those of one connection: the ones in flight
 * come first, then those that are not written yet.  Or those that are deferred, none written. */
typedef struct bwl_pipeline {
    bwl_request *ring;
    size_t       first; /* it grows; the place is modulo `room` */
    size_t       count;
    size_t       room; /* a power of two */
} bwl_pipeline;

/* The nth request, 0 is the oldest. */
static inline bwl_request *bwl_pipeline_at(const bwl_pipeline *pipeline, size_t n)
{
    assert(n < pipeline->count);
    return &pipeline->ring[(pipeline->first + n) & (pipeline->room - 1)];
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

/* The reply is due within answer_ms from then. */
static inline bwl_ms bwl_request_due_from(const bwl_request *request)
{
    const bwl_request_flight *flight = &request->flight;

    return flight->taken_at > flight->sent_at ? flight->taken_at : flight->sent_at;
}

/* Before a call that may send, and after it.  If the kernel was full, the replies to what it has
 * taken now are due from now on: between two calls of a program, there may be no thread that sends
 * the rest. */
typedef struct bwl_sent {
    uint64_t handed_over;
    bool     was_full;
} bwl_sent;

bwl_sent bwl_sent_so_far(const bwl_stream *stream);
void     bwl_pipeline_sent(bwl_pipeline *pipeline, const bwl_stream *stream, const bwl_sent *before,
                           bwl_ms now);

void bwl_pipeline_free(bwl_pipeline *pipeline);

/* Completes a request that is in no pipeline and unpins its lock. */
void bwl_request_complete(bwl_session *session, const bwl_request *request,
                          const bwl_event *result);

/* The same with a reply of only this answer. */
void bwl_request_answer(bwl_session *session, const bwl_request *request, bwl_answer answer);

/* The same with what the reply of its batch says about it. */
void bwl_request_answer_known(bwl_session *session, const bwl_request *request);

/* Whether it is still worth sending after a redirect, a missing script or a lost connection.  The
 * machine may have moved on. */
bool bwl_request_is_wanted(const bwl_request *request);
