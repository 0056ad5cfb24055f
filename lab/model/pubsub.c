/*
 * pubsub.c -- channels: a message goes to the current subscribers only.  See redis.h.
 */
#include "lab/model/inside.h"

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
