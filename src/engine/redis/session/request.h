/*
 * request.h -- what has been asked of a Redis server and not been answered, and whoever
 * waits for that: of a lock, its part.
 */
#ifndef BWL_ENGINE_REDIS_SESSION_REQUEST_H
#define BWL_ENGINE_REDIS_SESSION_REQUEST_H

#include "engine/engine.h"
#include "protocol/store/section.h"
#include "engine/redis/wire/queue.h"
#include "engine/redis/wire/words.h"

/* Somebody who looks at a key, and may then break the hold that he has seen. */
typedef struct bwl_redis_looker {
    bwl_redis_look look;
    bwl_answer     answer;     /* 0: there is none yet                                          */
    bool           is_unknown; /* of the breaking there was no answer                            */
} bwl_redis_looker;

typedef struct bwl_redis_open_question {
    bwl_engine_lock  *lock;    /* pinned */
    bwl_redis_looker *looker;  /* lives as long as the lock; NULL: asked by the machine; with a
                                * word it breaks what was seen, see
                                * force_release.c */
    bwl_section      *section; /* lives as long as the client; NULL: likewise                   */
    uint32_t          tag;
    bwl_redis_word    word;
    uint8_t           node;     /* that was asked                                                 */
    uint8_t           together; /* it and so many less one behind it went out as one; 0: alone  */
    bwl_answer        known;    /* of those, one that has its answer; 0: not yet                 */
    bool              asks_again; /* of those, one that goes out once more                      */
    uint8_t           heard;      /* frames of its answer so far                                */
    bwl_answer        failed; /* what the first of them that was an error said; 0: none was     */
    int64_t           stamp;
    bool              verifies;   /* nobody asked: is what is held still ours?                    */
    bool              introduces; /* nobody asked, and it does: says who we are                 */
    bool     asks_breaker;        /* nobody asked: who has ended the hold by this token?          */
    bool     prepares;            /* what comes before it is written, see slots.h          */
    uint8_t  unheard;             /* of that, but for the last frame                            */
    bool     read_late;           /* the server has it, and nobody waits for the answer          */
    bool     by_text;
    bool     goes_asking; /* behind ASKING: see cluster.h                        */
    bool     awaits_ok;   /* the answer to that, or to what leads a release: first     */
    uint8_t  hops;        /* how often it was sent on ...                              */
    bwl_ms   hops_until;  /* ... and until when it may be                              */
    bool     written;     /* into the connection's queue */
    uint64_t starts_at;   /* its first byte, counted as conn.stream.handed_over is             */
    bwl_ms   written_at;  /* from then on the server may be silent for so long and no more */
    bwl_ms   lease_ms;    /* as it was claimed then                                      */
    uint64_t generation;  /* of its attempt, see push_channel.c                                   */
    char     token[BWL_TOKEN_MAX + 1];
} bwl_redis_open_question;

/* Our part of a lock.  Its key is made from its name when it is written. */
typedef struct bwl_redis_part {
    bwl_engine_lock       *lock;
    struct bwl_redis_part *previous; /* of the client */
    struct bwl_redis_part *next;
    bwl_redis_looker      *looker; /* one for each server; NULL: nobody has looked                */
    struct bwl_redis_store *home;  /* of a cluster: the node that has it; NULL: none said so     */
    struct bwl_redis_store *giver; /* likewise: the last node that said YES, ...                 */
    uint64_t                gave;  /* ... and as which of its processes, counted by its store    */
    uint16_t         cluster_slot; /* likewise: the slot of its key                            */
    bool             is_sought;    /* elsewhere, as its node cannot be reached                    */
    bwl_engine_lock *next_kept;    /* behind it in line for a section, or for the replicas        */
    uint32_t         kept_tag;     /* of its question there                                       */
    bool             is_alone;     /* its renewal was refused, and would be that of a whole batch */
    bool             has_waited;   /* this attempt stood in line: others may do so behind it      */
    uint32_t         slot;         /* among those who wait; 0: it never did                       */
    uint64_t         generation;
    bwl_ms           claim_ms;
    /* By which inboxes it may stand in the queue: the last one that the server is known to have,
     * and the last one that was written. */
    char stood_by[2][BWL_QUEUE_INBOX_MAX + 1];
} bwl_redis_part;

/* Whom a push may name. */
typedef struct bwl_redis_waiter {
    bwl_engine_lock
            *lock; /* NULL: the slot is free                                                   */
    uint64_t generation;
    uint32_t next_free; /* slots count from 1; 0: none                                         */
} bwl_redis_waiter;

#endif
