/*
 * hash.c -- fields and their values.  See redis.h.
 */
#include "lab/model/inside.h"

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
