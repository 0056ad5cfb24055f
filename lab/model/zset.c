/*
 * zset.c -- sorted sets: members by score, then by member.  See redis.h.
 */
#include "lab/model/inside.h"

static bool is_before(const bwl_model_item *a, const bwl_model_item *b)
{
    return a->value != b->value ? a->value < b->value : a->member < b->member;
}

static unsigned rank_of(const bwl_model_redis *r, const bwl_model_item *item)
{
    unsigned rank = 0;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *other = &r->data.items[i];
        rank += other->is_there && other->key == item->key && is_before(other, item);
    }
    return rank;
}

static bwl_model_item *at_rank(bwl_model_redis *r, unsigned key, unsigned rank)
{
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        bwl_model_item *item = &r->data.items[i];
        if (item->is_there && item->key == key && rank_of(r, item) == rank)
            return item;
    }
    bwl_unreachable("there are fewer members");
}

static void add(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply)
{
    const bwl_model_item *item = bwl_model_item_of(r, cmd->key, cmd->member);
    bool                  same = item != NULL && item->value == cmd->value;

    bwl_model_say_integer(reply, bwl_model_item_set(r, BWL_KIND_ZSET, cmd));
    if (!same)
        bwl_model_changed(r, cmd->key);
}

static void pop_first(bwl_model_redis *r, unsigned key, bwl_model_frame *reply)
{
    bwl_model_item *first;

    if (r->data.keys[key].kind == BWL_KIND_NONE) {
        bwl_model_say(reply, BWL_PART_ARRAY, 0);
        return;
    }
    first = at_rank(r, key, 0);
    bwl_model_say(reply, BWL_PART_ARRAY, 2);
    bwl_model_say(reply, BWL_PART_MEMBER, first->member);
    bwl_model_say(reply, BWL_PART_SCORE, first->value);
    bwl_model_item_remove(r, first);
}

static void say_all(bwl_model_redis *r, unsigned key, bwl_model_frame *reply)
{
    unsigned count = bwl_model_items_count(r, key);

    bwl_model_say(reply, BWL_PART_ARRAY, count);
    for (unsigned rank = 0; rank < count; rank++)
        bwl_model_say(reply, BWL_PART_MEMBER, at_rank(r, key, rank)->member);
}

void bwl_model_do_zset(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply)
{
    bwl_model_item *item;

    if (!bwl_model_is_kind(r, cmd->key, BWL_KIND_ZSET, reply))
        return;
    item = bwl_model_item_of(r, cmd->key, cmd->member);
    switch (cmd->op) {
    case BWL_OP_ZADD: add(r, cmd, reply); return;
    case BWL_OP_ZREM:
        bwl_model_say_integer(reply, item != NULL);
        if (item != NULL)
            bwl_model_item_remove(r, item);
        return;
    case BWL_OP_ZSCORE:
        bwl_model_say(reply, item != NULL ? BWL_PART_SCORE : BWL_PART_NIL,
                      item != NULL ? item->value : 0);
        return;
    case BWL_OP_ZRANK:
        bwl_model_say(reply, item != NULL ? BWL_PART_INTEGER : BWL_PART_NIL,
                      item != NULL ? rank_of(r, item) : 0);
        return;
    case BWL_OP_ZCARD: bwl_model_say_integer(reply, bwl_model_items_count(r, cmd->key)); return;
    case BWL_OP_ZPOPMIN: pop_first(r, cmd->key, reply); return;
    case BWL_OP_ZRANGE: say_all(r, cmd->key, reply); return;
    }
    bwl_unreachable("not a command about sorted sets");
}
