/*
 * inside.h -- shared by the files of the model server.
 */
#pragma once

#include "lab/model/redis.h"

static inline void bwl_model_say(bwl_model_frame *reply, bwl_model_part_kind kind, int64_t number)
{
    assert(reply->parts_count < BWL_PARTS_MAX);
    reply->parts[reply->parts_count++] = (bwl_model_part){ (uint8_t)kind, number };
}

static inline void bwl_model_say_integer(bwl_model_frame *reply, int64_t number)
{
    bwl_model_say(reply, BWL_PART_INTEGER, number);
}

static inline void bwl_model_say_error(bwl_model_frame *reply, bwl_model_error error)
{
    bwl_model_say(reply, BWL_PART_ERROR, error);
}

/* True if there is no key or it has this kind.  Otherwise replies WRONGTYPE. */
bool bwl_model_is_kind(bwl_model_redis *r, unsigned key, bwl_model_kind kind,
                       bwl_model_frame *reply);

/* The key was written: marks the connections that watch it. */
void bwl_model_changed(bwl_model_redis *r, unsigned key);

/* Removes an existing key with its items. */
void bwl_model_remove(bwl_model_redis *r, unsigned key);

/* Milliseconds since 1970 in the model's unit. */
static inline int64_t bwl_model_moment(bwl_ms since_1970)
{
    return since_1970 * BWL_MODEL_PER_MS;
}

/* NULL if there is none. */
bwl_model_item *bwl_model_item_of(bwl_model_redis *r, unsigned key, unsigned member);
unsigned        bwl_model_items_count(const bwl_model_redis *r, unsigned key);

/* Sets the item; creates key and item if missing.  True if the item is new. */
bool bwl_model_item_put(bwl_model_redis *r, bwl_model_kind kind, unsigned key, uint32_t member,
                        int64_t value);

bool bwl_model_item_set(bwl_model_redis *r, bwl_model_kind kind, const bwl_model_command *cmd);

/* Removes the item; the key goes with its last item. */
void bwl_model_item_remove(bwl_model_redis *r, bwl_model_item *item);

void bwl_model_do_key(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply);
void bwl_model_do_string(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply);
void bwl_model_do_zset(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply);
void bwl_model_do_hash(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply);
void bwl_model_do_pubsub(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                         bwl_model_frame *reply);

/* Handles the commands of transactions, and queues any command between MULTI and EXEC.  True if it
 * did. */
bool bwl_model_do_transaction(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                              bwl_model_frame *reply);

/* Has no effect inside a transaction: EXEC has ended the watch. */
void bwl_model_unwatch(bwl_model_redis *r, unsigned connection, bwl_model_frame *reply);

/* Any other command. */
void bwl_model_carry_out(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                         bwl_model_frame *reply);
