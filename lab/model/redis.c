/*
 * redis.c -- dispatches commands.  See redis.h.
 */
#include "lab/model/redis.h"
#include "lab/model/inside.h"

/* Channels: a message goes to the current subscribers only. */

static void publish(const bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply)
{
    unsigned receivers = 0;

    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++) {
        if ((r->connections[i].channels >> cmd->key & 1) == 0)
            continue;
        assert(reply->pushes_count < BWL_PUSHES_MAX);
        reply->pushes[reply->pushes_count++] = (bwl_model_push){
            .connection = (uint8_t)i,
            .channel    = cmd->key,
            .value      = cmd->value,
        };
        receivers++;
    }
    bwl_model_say_integer(reply, receivers);
}

/* SUBSCRIBE answers with the number of channels of the connection. */
void bwl_model_do_pubsub(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                         bwl_model_frame *reply)
{
    uint8_t *channels = &r->connections[connection].channels;
    unsigned count    = 0;

    assert(cmd->key < BWL_MODEL_CHANNELS);
    if (cmd->op == BWL_OP_PUBLISH) {
        publish(r, cmd, reply);
        return;
    }
    if (cmd->op == BWL_OP_SUBSCRIBE)
        *channels |= (uint8_t)(1u << cmd->key);
    else
        *channels &= (uint8_t) ~(1u << cmd->key);
    for (unsigned rest = *channels; rest != 0; rest &= rest - 1)
        count++;
    bwl_model_say_integer(reply, count);
}

/* Fields and their values. */

void bwl_model_do_hash(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply)
{
    bwl_model_item *item;

    if (!bwl_model_is_kind(r, cmd->key, BWL_KIND_HASH, reply))
        return;
    item = bwl_model_item_of(r, cmd->key, cmd->member);
    switch (cmd->op) {
    case BWL_OP_HSET:
        bwl_model_say_integer(reply, bwl_model_item_set(r, BWL_KIND_HASH, cmd));
        bwl_model_changed(r, cmd->key); /* also where the value is the same */
        return;
    case BWL_OP_HGET:
        bwl_model_say(reply, item != NULL ? BWL_PART_VALUE : BWL_PART_NIL,
                      item != NULL ? item->value : 0);
        return;
    case BWL_OP_HDEL:
        bwl_model_say_integer(reply, item != NULL);
        if (item != NULL)
            bwl_model_item_remove(r, item);
        return;
    case BWL_OP_HLEN: bwl_model_say_integer(reply, bwl_model_items_count(r, cmd->key)); return;
    }
    bwl_unreachable("not a command about hashes");
}

static const char *const op_texts[] = { [BWL_OP_NONE] = "",
#define X(name) [BWL_OP_##name] = #name,
                                        BWL_MODEL_OPS(X)
#undef X
};

static const char *const error_texts[] = { [BWL_ERROR_NONE] = "",
#define X(name, text) [BWL_ERROR_##name] = text,
                                           BWL_MODEL_ERRORS(X)
#undef X
};

const char *bwl_model_op_text(bwl_model_op op)
{
    assert(op < BWL_OPS_END);
    return op_texts[op];
}

const char *bwl_model_error_text(bwl_model_error error)
{
    assert(error < sizeof error_texts / sizeof error_texts[0]);
    return error_texts[error];
}

static void say_time(const bwl_model_redis *r, bwl_model_frame *reply)
{
    const int64_t per_second = INT64_C(1000) * BWL_MODEL_PER_MS;
    const int64_t per_us     = 1000 / BWL_MODEL_PER_MS; /* microseconds in a hundredth of a ms */

    bwl_model_say(reply, BWL_PART_ARRAY, 2);
    bwl_model_say(reply, BWL_PART_VALUE, r->now / per_second);
    bwl_model_say(reply, BWL_PART_VALUE, r->now % per_second * per_us);
}

void bwl_model_carry_out(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                         bwl_model_frame *reply)
{
    switch ((bwl_model_op)cmd->op) {
    case BWL_OP_EXISTS:
    case BWL_OP_DEL:
    case BWL_OP_EXPIRE:
    case BWL_OP_PEXPIRE:
    case BWL_OP_PEXPIREAT:
    case BWL_OP_TTL:
    case BWL_OP_PTTL: bwl_model_do_key(r, cmd, reply); return;
    case BWL_OP_GET:
    case BWL_OP_SET:
    case BWL_OP_SETNX:
    case BWL_OP_GETSET:
    case BWL_OP_INCR: bwl_model_do_string(r, cmd, reply); return;
    case BWL_OP_ZADD:
    case BWL_OP_ZREM:
    case BWL_OP_ZSCORE:
    case BWL_OP_ZRANK:
    case BWL_OP_ZCARD:
    case BWL_OP_ZPOPMIN:
    case BWL_OP_ZRANGE: bwl_model_do_zset(r, cmd, reply); return;
    case BWL_OP_HSET:
    case BWL_OP_HGET:
    case BWL_OP_HDEL:
    case BWL_OP_HLEN: bwl_model_do_hash(r, cmd, reply); return;
    case BWL_OP_SUBSCRIBE:
    case BWL_OP_UNSUBSCRIBE:
    case BWL_OP_PUBLISH: bwl_model_do_pubsub(r, connection, cmd, reply); return;
    case BWL_OP_UNWATCH: bwl_model_unwatch(r, connection, reply); return;
    case BWL_OP_TIME: say_time(r, reply); return;
    case BWL_OP_NONSENSE: bwl_model_say_error(reply, BWL_ERROR_UNKNOWN); return;
    case BWL_OP_WATCH:
    case BWL_OP_MULTI:
    case BWL_OP_EXEC:
    case BWL_OP_DISCARD:
    case BWL_OP_NONE:
    case BWL_OPS_END: break;
    }
    bwl_unreachable("not a command that can be in a transaction");
}

void bwl_model_redis_do(bwl_model_redis *r, unsigned connection, const bwl_model_command *cmd,
                        bwl_model_frame *ret_reply)
{
    assert(connection < BWL_MODEL_CONNECTIONS);
    assert(cmd->key < BWL_MODEL_KEYS || cmd->op >= BWL_OP_SUBSCRIBE);
    ret_reply->parts_count  = 0;
    ret_reply->pushes_count = 0;
    if (!bwl_model_do_transaction(r, connection, cmd, ret_reply))
        bwl_model_carry_out(r, connection, cmd, ret_reply);
    assert(ret_reply->parts_count > 0);
}
