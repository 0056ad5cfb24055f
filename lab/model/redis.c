/*
 * redis.c -- keys and their expiry, and the faults of a server.  See redis.h.
 *
 * A key disappears at the very instant of its expiry; a real server notices later, but no client
 * can see the difference.  The instant: Redis compares whole milliseconds, and a key lives through
 * the last of them.  A key with a TTL of 30 ms lives more than 30 and at most 31 ms, depending on
 * where in its millisecond the server set it.  The lab's server has a `grace` of 0 and expires the
 * key at the earliest possible instant, which is the worst for a lock; the conformance test sets a
 * millisecond, and is then exact.
 *
 * A snapshot and a lagging replica are the same: older data.  TTLs are absolute times in both, so
 * keys that have expired since are gone.
 */
#include "lab/model/redis.h"

void bwl_model_changed(bwl_model_redis *r, unsigned key)
{
    for (unsigned i = 0; key == BWL_MODEL_LOCK && i < BWL_MODEL_CONNECTIONS; i++)
        if (r->connections[i].is_watching)
            r->connections[i].is_dirty = true;
}

bool bwl_model_remove(bwl_model_redis *r, unsigned key)
{
    if (!bwl_model_exists(r, key))
        return false;
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++)
        if (r->data.items[i].is_there && r->data.items[i].key == key)
            r->data.items[i] = (bwl_model_item){ 0 };
    r->data.keys[key] = (bwl_model_key){ 0 };
    bwl_model_changed(r, key);
    return true;
}

void bwl_model_set(bwl_model_redis *r, unsigned key, int64_t value, uint16_t writer)
{
    (void)bwl_model_remove(r, key); /* it need not exist */
    r->data.keys[key] =
        (bwl_model_key){ .kind = BWL_KIND_STRING, .lasts = true, .writer = writer, .value = value };
    bwl_model_changed(r, key);
}

bool bwl_model_expire_at(bwl_model_redis *r, unsigned key, int64_t ends_at)
{
    if (ends_at <= r->now) /* without the last millisecond's grace */
        return bwl_model_remove(r, key);
    if (!bwl_model_exists(r, key))
        return false;
    r->data.keys[key].lasts   = false;
    r->data.keys[key].ends_at = ends_at;
    bwl_model_changed(r, key);
    return true;
}

int64_t bwl_model_increment(bwl_model_redis *r, unsigned key, uint16_t writer)
{
    if (!bwl_model_exists(r, key))
        bwl_model_set(r, key, 0, writer);
    bwl_model_changed(r, key);
    return ++r->data.keys[key].value;
}

int64_t bwl_model_left_ms(const bwl_model_redis *r, unsigned key)
{
    const bwl_model_key *k = &r->data.keys[key];

    if (k->kind == BWL_KIND_NONE)
        return BWL_LEFT_NO_KEY;
    if (k->lasts)
        return BWL_LEFT_NO_END;
    return k->ends_at > r->now ? (k->ends_at - r->now) / BWL_MODEL_PER_MS : 0;
}

/* ---- items ----------------------------------------------------------------------------------- */

const bwl_model_item *bwl_model_item_of(const bwl_model_redis *r, unsigned key, unsigned member)
{
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &r->data.items[i];
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

/* The index of the item; of a free place, if there is none. */
static unsigned place_of(const bwl_model_redis *r, unsigned key, unsigned member)
{
    const bwl_model_item *item = bwl_model_item_of(r, key, member);
    unsigned              free = 0;

    if (item != NULL)
        return (unsigned)(item - r->data.items);
    while (free < BWL_MODEL_ITEMS && r->data.items[free].is_there)
        free++;
    assert(free < BWL_MODEL_ITEMS); /* raise the limit if a scenario needs more */
    return free;
}

void bwl_model_item_put(bwl_model_redis *r, bwl_model_kind kind, unsigned key, uint32_t member,
                        int64_t value)
{
    r->data.items[place_of(r, key, member)] = (bwl_model_item){ true, (uint8_t)key, member, value };
    if (!bwl_model_exists(r, key))
        r->data.keys[key] = (bwl_model_key){ .kind = (uint8_t)kind, .lasts = true };
}

bool bwl_model_item_remove(bwl_model_redis *r, unsigned key, unsigned member)
{
    if (bwl_model_item_of(r, key, member) == NULL)
        return false;
    r->data.items[place_of(r, key, member)] = (bwl_model_item){ 0 };
    if (bwl_model_items_count(r, key) == 0)
        return bwl_model_remove(r, key);
    bwl_model_changed(r, key);
    return true;
}

/* ---- time, and faults ------------------------------------------------------------------------ */

void bwl_model_redis_start(bwl_model_redis *r, bwl_ms now_ms)
{
    *r = (bwl_model_redis){ .now = now_ms * BWL_MODEL_PER_MS };
}

void bwl_model_redis_pass(bwl_model_redis *r, int64_t hundredths)
{
    r->now += hundredths;
    r->counted = hundredths != 0 ? 0 : r->counted;
    for (unsigned i = 0; i < BWL_MODEL_KEYS; i++) {
        const bwl_model_key *k = &r->data.keys[i];
        if (k->kind != BWL_KIND_NONE && !k->lasts && r->now >= k->ends_at + r->grace)
            (void)bwl_model_remove(r, i); /* it exists */
    }
}

void bwl_model_redis_drop(bwl_model_redis *r, unsigned connection)
{
    assert(connection < BWL_MODEL_CONNECTIONS);
    r->connections[connection] = (bwl_model_connection){ 0 };
}

void bwl_model_redis_break(bwl_model_redis *r, unsigned client)
{
    assert(client < BWL_MODEL_CLIENTS);
    r->connections[client + BWL_MODEL_CLIENTS] = r->connections[client];
    bwl_model_redis_drop(r, client);
}

void bwl_model_redis_restart(bwl_model_redis *r, const bwl_model_data *with)
{
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++)
        bwl_model_redis_drop(r, i);
    r->data = with != NULL ? *with : (bwl_model_data){ 0 };
    bwl_model_redis_pass(r, 0); /* removes what has expired since */
}
