/*
 * push_channel.h -- the subscription through which a server pushes grants to waiters.  See
 * push_channel.c.
 */
#pragma once

#include "core/status.h"
#include "engine/redis/wire/queue.h"

typedef struct bwl_session bwl_session;

typedef struct bwl_push_channel {
    bool     is_per_slot;     /* cluster: the owner subscribes for each slot */
    bool     without_shards;  /* the server reported that it has no SSUBSCRIBE */
    bool     is_wrong;        /* subscribed with the command of the other server version */
    bool     was_heard;       /* the test message that we publish has arrived */
    unsigned scripts_missing; /* at the server: bit 1 << i for script i */
    bwl_ms   info_sent_at;    /* when the client info was last published; 0: never */
    char     id[BWL_QUEUE_SESSION_SIZE + 1];      /* the client's id, for all its sessions */
    char     channel[BWL_QUEUE_CHANNEL_SIZE + 1]; /* of this connection                    */
} bwl_push_channel;

/* Writes the channel's part of the handshake, at most BWL_QUEUE_HANDSHAKE_SIZE_MAX bytes.  SYSTEM:
 * no random bits. */
int bwl_push_channel_write(bwl_session *session, bwl_resp_writer *writer, bwl_fault *fault);

/* HELLO showed whether the server has SSUBSCRIBE. */
void bwl_push_channel_on_version(bwl_session *session, bool has_shards);

/* As bwl_handshake_on_reply.  On OK, session->handshake.step is the next step, or this was the last
 * reply. */
int bwl_push_channel_on_reply(bwl_session *session, const char *bytes, size_t size,
                              bwl_fault *fault);

/* Handles a push. */
void bwl_push_channel_on_push(bwl_session *session, const char *bytes, size_t size);

/* Whether this is the error of a script that calls a command its user may not run.  Before 7.2 the
 * server does not name the command.  And: the advice. */
bool bwl_redis_lacks_a_right(const char *text);
void bwl_redis_name_rights(const char *user, char *ret_text, size_t capacity);

/* Writes `size` characters made from 128 random bits.  False: no random bits. */
bool bwl_redis_draw(bwl_session *session, char *ret_text, size_t size);
