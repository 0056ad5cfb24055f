/*
 * keys.c -- keys and their expiry.  See redis.h.
 *
 * A key disappears at the very instant of its expiry; a real server notices later, but no client
 * can see the difference.  The instant: Redis compares whole milliseconds, and a key lives through
 * the last of them.  A key with a TTL of 30 ms lives more than 30 and at most 31 ms, depending on
 * where in its millisecond the server set it.  The lab's server has a `grace` of 0 and expires the
 * key at the earliest possible instant, which is the worst for a lock; the conformance test sets a
 * millisecond, and is then exact.
 */
#include "lab/model/inside.h"

enum { MS_PER_SECOND = 1000, NO_KEY = -2, NO_END = -1 };

bool bwl_model_is_kind(bwl_model_redis *r, unsigned key, bwl_model_kind kind,
                       bwl_model_frame *reply)
{
    uint8_t present = r->data.keys[key].kind;

    if (present == BWL_KIND_NONE || present == kind)
        return true;
    bwl_model_say_error(reply, BWL_ERROR_WRONGTYPE);
    return false;
}

void bwl_model_changed(bwl_model_redis *r, unsigned key)
{
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++)
        if ((r->connections[i].watched >> key & 1) != 0)
            r->connections[i].is_dirty = true;
}

void bwl_model_remove(bwl_model_redis *r, unsigned key)
{
    assert(r->data.keys[key].kind != BWL_KIND_NONE);
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++)
        if (r->data.items[i].is_there && r->data.items[i].key == key)
            r->data.items[i] = (bwl_model_item){ 0 };
    r->data.keys[key] = (bwl_model_key){ 0 };
    bwl_model_changed(r, key);
}

bwl_model_item *bwl_model_item_of(bwl_model_redis *r, unsigned key, unsigned member)
{
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        bwl_model_item *item = &r->data.items[i];
        if (item->is_there && item->key == key && item->member == member)
            return item;
    }
    return NULL;
}

unsigned bwl_model_items_count(const bwl_model_redis *r, unsigned key)
{
    unsigned count = 0;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++)
        count += r->data.items[i].is_there && r->data.items[i].key == key;
    return count;
}

bool bwl_model_item_put(bwl_model_redis *r, bwl_model_kind kind, unsigned key, uint32_t member,
                        int64_t value)
{
    bwl_model_item *item   = bwl_model_item_of(r, key, member);
    bool            is_new = item == NULL;
    unsigned        free   = 0;

    while (is_new && free < BWL_MODEL_ITEMS && r->data.items[free].is_there)
        free++;
    assert(free < BWL_MODEL_ITEMS); /* raise the limit if a scenario needs more */
    if (is_new)
        item = &r->data.items[free];
    if (r->data.keys[key].kind == BWL_KIND_NONE)
        r->data.keys[key] = (bwl_model_key){ .kind = (uint8_t)kind, .lasts = true };
    *item = (bwl_model_item){ true, (uint8_t)key, member, value };
    return is_new;
}

bool bwl_model_item_set(bwl_model_redis *r, bwl_model_kind kind, const bwl_model_command *cmd)
{
    return bwl_model_item_put(r, kind, cmd->key, cmd->member, cmd->value);
}

void bwl_model_item_remove(bwl_model_redis *r, bwl_model_item *item)
{
    unsigned key = item->key;

    *item = (bwl_model_item){ 0 };
    if (bwl_model_items_count(r, key) == 0)
        bwl_model_remove(r, key);
    else
        bwl_model_changed(r, key);
}

static void expire_at(bwl_model_redis *r, unsigned key, int64_t ends_at, bwl_model_frame *reply)
{
    bwl_model_key *k = &r->data.keys[key];

    bwl_model_say_integer(reply, k->kind != BWL_KIND_NONE);
    if (k->kind == BWL_KIND_NONE)
        return;
    if (ends_at <= r->now) { /* without the last millisecond's grace */
        bwl_model_remove(r, key);
        return;
    }
    k->lasts   = false;
    k->ends_at = ends_at;
    bwl_model_changed(r, key);
}

static int64_t left_ms(const bwl_model_redis *r, unsigned key)
{
    const bwl_model_key *k = &r->data.keys[key];

    if (k->kind == BWL_KIND_NONE)
        return NO_KEY;
    if (k->lasts)
        return NO_END;
    return k->ends_at > r->now ? (k->ends_at - r->now) / BWL_MODEL_PER_MS : 0;
}

void bwl_model_do_key(bwl_model_redis *r, const bwl_model_command *cmd, bwl_model_frame *reply)
{
    bool    is_there = r->data.keys[cmd->key].kind != BWL_KIND_NONE;
    int64_t left     = left_ms(r, cmd->key);

    switch (cmd->op) {
    case BWL_OP_EXISTS: bwl_model_say_integer(reply, is_there); return;
    case BWL_OP_DEL:
        bwl_model_say_integer(reply, is_there);
        if (is_there)
            bwl_model_remove(r, cmd->key);
        return;
    case BWL_OP_EXPIRE:
        expire_at(r, cmd->key, r->now + bwl_model_moment(cmd->time * MS_PER_SECOND), reply);
        return;
    case BWL_OP_PEXPIRE:
        expire_at(r, cmd->key, r->now + bwl_model_moment(cmd->time), reply);
        return;
    case BWL_OP_PEXPIREAT: expire_at(r, cmd->key, bwl_model_moment(cmd->time), reply); return;
    case BWL_OP_TTL:
        bwl_model_say_integer(reply, left < 0 ? left : (left + MS_PER_SECOND / 2) / MS_PER_SECOND);
        return;
    case BWL_OP_PTTL: bwl_model_say_integer(reply, left); return;
    }
    bwl_unreachable("not a command about keys");
}

void bwl_model_redis_pass(bwl_model_redis *r, int64_t hundredths)
{
    r->now += hundredths;
    r->counted = hundredths != 0 ? 0 : r->counted;
    for (unsigned i = 0; i < BWL_MODEL_KEYS; i++) {
        const bwl_model_key *k = &r->data.keys[i];
        if (k->kind != BWL_KIND_NONE && !k->lasts && r->now >= k->ends_at + r->grace)
            bwl_model_remove(r, i);
    }
}
