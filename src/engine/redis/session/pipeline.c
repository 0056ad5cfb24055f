/*
 * pipeline.c -- the questions of a connection, the oldest first: a ring that grows.  See
 * session.h.
 */
#include "engine/redis/session/session.h"

#include <stdlib.h>

static bool grow(bwl_redis_store *store)
{
    size_t room = store->questions_room == 0 ? 16 : store->questions_room * 2;

    bwl_redis_open_question *ring = calloc(room, sizeof *ring);
    if (ring == NULL)
        return false;
    for (size_t i = 0; i < store->questions_count; i++)
        ring[i] = *bwl_redis_nth(store, i);
    free(store->questions);
    store->questions       = ring;
    store->questions_first = 0;
    store->questions_room  = room;
    return true;
}

bool bwl_redis_append(bwl_redis_store *store, const bwl_redis_open_question *question)
{
    if (store->questions_count == store->questions_room && !grow(store))
        return false;
    *bwl_redis_nth(store, store->questions_count)      = *question;
    bwl_redis_nth(store, store->questions_count)->node = store->node;
    store->questions_count++;
    store->client->pending++;
    bwl_host_pin(question->lock);
    return true;
}

bwl_redis_open_question bwl_redis_take_first(bwl_redis_store *store)
{
    bwl_redis_open_question first = *bwl_redis_nth(store, 0);

    store->questions_first = (store->questions_first + 1) % store->questions_room;
    store->questions_count--;
    store->client->pending--;
    if (first.read_late)
        bwl_host_background_answered(store->client);
    return first;
}

bwl_redis_open_question bwl_redis_take_unsent(bwl_redis_store *store, size_t nth)
{
    bwl_redis_open_question taken = *bwl_redis_nth(store, nth);

    assert(!taken.written && !taken.read_late);
    for (; nth + 1 < store->questions_count; nth++)
        *bwl_redis_nth(store, nth) = *bwl_redis_nth(store, nth + 1);
    store->questions_count--;
    store->client->pending--;
    return taken;
}

void bwl_redis_go_together(bwl_redis_store *store, size_t nth, size_t size)
{
    for (size_t i = nth; i < nth + size; i++) {
        bwl_redis_open_question *q = bwl_redis_nth(store, i);
        q->together                = (uint8_t)(nth + size - i);
        q->starts_at               = store->conn.stream.written;
        q->written_at              = store->client->latest;
        q->written                 = true;
    }
}
