/*
 * election.h -- writes the commands by which the holder of a lock announces a text and others
 * observe who leads, and reads their replies and pushes.  No I/O.
 *
 * Beside the key L of the lock there is L:bwl.v: the value of the holder, a blank, the fence, a
 * blank and the text.  It is valid only while L has that value.  A message on the channel of the
 * lock says that this has changed.  The channel has the hash tag of L, so it is in L's slot.
 */
#pragma once

#include "engine/redis/wire/queue.h"

#define BWL_ELECTION_CHANNEL BWL_QUEUE_CHANNEL "v:" /* L follows: the channel of the lock */

enum {
    BWL_ANNOUNCEMENT_MAX  = 512, /* bytes of a text */
    BWL_ELECTION_SIZE_MAX = 8192 + 4 * BWL_KEY_BESIDE_MAX + BWL_ANNOUNCEMENT_MAX, /* of a command */
};

typedef struct bwl_announce_args {
    bwl_bytes   key;
    const char *value; /* of the holder, BWL_QUEUE_VALUE_SIZE characters */
    bool        uses_sharded_pubsub;
    bool        use_eval;
    uint64_t    fence;
    const char *text; /* NULL: it withdraws what it has announced */
} bwl_announce_args;

void bwl_announce_write(bwl_resp_writer *writer, const bwl_announce_args *args);

/* NO: the lock does not have the value; *ret_loss says what it has. */
bwl_redis_verdict bwl_announce_read(const char *bytes, size_t size, bwl_answer *ret_answer,
                                    bowline_loss *ret_loss);

/* (S)SUBSCRIBE to the channel of the lock: success is a push, an error is a reply.  Then the query
 * for who leads.  tag: as of the client info, "" without one. */
void bwl_observe_write_subscribe(bwl_resp_writer *writer, bwl_bytes key, bool by_shard);
void bwl_observe_write(bwl_resp_writer *writer, bwl_bytes key, const char *tag, bool use_eval);

/* Who leads, as the server said. */
typedef struct bwl_observe_reply {
    bool             leads;
    uint64_t         fence;
    bwl_holder_reply client; /* left_ms, uid, pid, host, program */
    char             text[BWL_ANNOUNCEMENT_MAX + 1];
} bwl_observe_reply;

bwl_redis_verdict bwl_observe_read(const char *bytes, size_t size, bwl_answer *ret_answer,
                                   bwl_observe_reply *ret_reply);

typedef enum bwl_observe_push {
    BWL_OBSERVE_OTHER = 1,    /* not of the channel of a lock */
    BWL_OBSERVE_SUBSCRIBED,   /* the reply to a subscription */
    BWL_OBSERVE_UNSUBSCRIBED, /* the slot has moved to another node */
    BWL_OBSERVE_CHANGED,      /* perhaps another client leads */
} bwl_observe_push;

/* Reads a push; *ret_channel is set unless it is OTHER. */
bwl_observe_push bwl_observe_read_push(const char *bytes, size_t size, bwl_bytes *ret_channel);

/* Whether it is the channel of the lock with this key. */
bool bwl_observe_is_channel_of(bwl_bytes channel, bwl_bytes key);
