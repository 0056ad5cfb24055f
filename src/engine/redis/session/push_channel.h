/*
 * push_channel.h -- the subscription through which a server tells a waiter that the lock is its
 * own.  See push_channel.c.
 */
#pragma once

#include "core/status.h"
#include "engine/redis/wire/queue.h"

typedef struct bwl_session bwl_session;

typedef struct bwl_push_channel {
    bool     is_per_slot;     /* the owner subscribes for each slot of a cluster        */
    bool     without_shards;  /* the server has no SSUBSCRIBE, as it said last          */
    bool     is_wrong;        /* it was opened for a server of the other kind            */
    bool     was_heard;       /* the message that we publish ourselves has come          */
    unsigned scripts_missing; /* at the server: 1 << i                                   */
    bwl_ms   info_sent_at;    /* when the client info was published last; 0: never       */
    char     id[BWL_QUEUE_SESSION_SIZE + 1];      /* the client's, the same for all sessions  */
    char     channel[BWL_QUEUE_CHANNEL_SIZE + 1]; /* of this connection                    */
} bwl_push_channel;

/* Writes the channel's part of the handshake; room is BWL_QUEUE_HANDSHAKE_SIZE_MAX.  SYSTEM: no
 * random bits. */
int bwl_push_channel_write(bwl_session *session, bwl_resp_writer *writer, bwl_fault *fault);

/* HELLO has said whether the server has SSUBSCRIBE. */
void bwl_push_channel_on_version(bwl_session *session, bool has_shards);

/* As bwl_handshake_on_reply; session->handshake.step is what comes next then, or this was the last
 * reply. */
int bwl_push_channel_on_reply(bwl_session *session, const char *bytes, size_t size,
                              bwl_fault *fault);

/* A push has come. */
void bwl_push_channel_on_push(bwl_session *session, const char *bytes, size_t size);

/* Is it the error of a script whose user may not run one of its commands?  Before 7.2 the server
 * does not say which.  And: what to do about it. */
bool bwl_redis_lacks_a_right(const char *text);
void bwl_redis_name_rights(const char *user, char *ret_text, size_t capacity);

/* `size` characters of 128 random bits.  False: the system gives none. */
bool bwl_redis_draw(bwl_session *session, char *ret_text, size_t size);
