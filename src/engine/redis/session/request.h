/*
 * request.h -- one command on its way to a Redis server and back.
 *
 * A request is what its kind makes of it: the kind writes the command, reads the reply and
 * completes it.  The session moves requests, and knows nothing else about them.
 *
 *      submit --> pipeline: waiting --write--> in flight --read, last frame--> complete
 *                               |                  `--connection lost--> complete (DOWN)
 *                               `--connection lost--> complete (NOT_SENT), or to another session
 */
#pragma once

#include "engine/engine.h"
#include "engine/redis/wire/commands.h"

typedef struct bwl_session      bwl_session;
typedef struct bwl_request      bwl_request;
typedef struct bwl_request_kind bwl_request_kind;

/* What has been written, and how much of the reply has come. */
typedef struct bwl_request_flight {
    bool    written;         /* into the connection's queue                                     */
    bool    prepares;        /* what must come before it was written, not the request itself    */
    bool    background;      /* the kernel has it, and no caller waits for the reply            */
    uint8_t replies_to_skip; /* frames before its reply, whose content does not matter          */
    uint8_t frames;          /* of its reply, so far                                            */
    bwl_answer failed;       /* what the first frame that was an error said; 0: none was        */
    uint64_t   offset;       /* of its first byte, counted as handed_over of the stream         */
    bwl_ms     sent_at;      /* the server may be silent for answer_ms from then on             */
} bwl_request_flight;

/* One of several that went out as one command. */
typedef struct bwl_request_batch {
    uint8_t    size;  /* it and so many less one behind it; 0: it went out alone */
    bool       again; /* it has to be sent again, alone                          */
    bwl_answer known; /* its own part of the reply; 0: not yet                   */
} bwl_request_batch;

/* The way of a request through the nodes of a cluster. */
typedef struct bwl_request_route {
    bool    asking; /* behind ASKING                      */
    uint8_t hops;   /* how often it was redirected ...    */
    bwl_ms  until;  /* ... and until when it may be; 0: no redirect yet */
} bwl_request_route;

struct bwl_request {
    const bwl_request_kind *kind;
    bwl_engine_lock        *lock;    /* pinned while the request exists                       */
    void                   *subject; /* the kind's: a holder query, a section; NULL           */
    bwl_redis_command       command; /* the command; 0: the kind knows */
    uint32_t                tag;
    uint8_t                 node;     /* of several servers, which                             */
    bool                    use_eval; /* the server may not know the script's SHA-1            */
    int64_t                 timestamp;
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

struct bwl_request_kind {
    /* The lock's machine asked for it: it is withdrawn with the machine, and worth sending only
     * while it is the machine's latest. */
    bool is_machines;
    bool revalidates;    /* asks whether what is held is still ours */
    bool reports_errors; /* an error of the server becomes the lock's error text       */
    bool reports_text;   /* why its connection broke becomes the lock's error text     */

    /* May it go out on this connection?  False: it is completed already.  NULL: yes. */
    bool (*admits)(bwl_session *session, const bwl_request *request);

    /* Frames that make up its reply.  NULL: one. */
    unsigned (*frames)(const bwl_request *request);

    /* May the next frame be a value of any length?  NULL: no. */
    bool (*is_value)(const bwl_request *request);

    /* Writes the command, and what goes before it in the same packet: those replies are counted in
     * flight.replies_to_skip.  False: there is no room. */
    bool (*write)(bwl_session *session, bwl_request *request);

    /* Reads the frame flight.frames of its reply; NULL: a value that was too long. */
    bwl_redis_verdict (*read)(bwl_session *session, bwl_request *request, const char *bytes,
                              size_t size, bwl_request_reply *ret_reply);

    /* It has ended, and is in no pipeline any more.  Called once.  The lock is unpinned
     * afterwards. */
    void (*complete)(bwl_session *session, const bwl_request *request, const bwl_event *result);

    /* Of a kind whose requests may share one command: the mark of one that the server has refused
     * alone.  NULL: none may. */
    bool *(*is_alone)(const bwl_request *request);
};

/* Requests that are kept until something else has ended, oldest first. */
typedef struct bwl_request_list {
    bwl_request *items;
    size_t       count;
    size_t       room;
} bwl_request_list;

/* Copies it in, and pins its lock; counts it as pending.  False: out of memory. */
bool bwl_request_keep(bwl_request_list *list, const bwl_request *request);

/* The nth, taken out.  Its lock stays pinned. */
bwl_request bwl_request_take(bwl_request_list *list, size_t nth);
void        bwl_request_list_free(bwl_request_list *list);

/* Completes one that is in no pipeline and no list, and unpins its lock. */
void bwl_request_complete(bwl_session *session, const bwl_request *request,
                          const bwl_event *result);

/* The same with a reply that says no more than this. */
void bwl_request_answer(bwl_session *session, const bwl_request *request, bwl_answer answer);

/* Would it be sent again after a redirect, a lost script or a break?  The machine may have moved
 * on. */
bool bwl_request_is_wanted(const bwl_request *request);
