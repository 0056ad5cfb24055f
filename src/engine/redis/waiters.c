/*
 * waiters.c -- finds the lock that a push is for, and tracks its channel in the server's queue.
 *
 * A waiting lock has a nonce: an index into the registry, and a generation that is new with every
 * attempt.  A push with another generation belongs to an attempt that has ended, and is ignored:
 * the end of the attempt cancelled it at the server, which granted the lock to the next waiter.
 *
 * Each shard of a client has a registry; the nodes of a cluster share one.
 */
#include "engine/redis/redis.h"
#include "engine/redis/topology/slots.h"

#include <stdlib.h>
#include <string.h>

/* The first heartbeat of an entry renews the expiry of the queue, and so does every eighth: at
 * least every 17 seconds, of the 60 that it has. */
enum { NO_SLOT = 0, ROOM_AT_FIRST = 8, RENEWING_HEARTBEAT = 8 };

static bool grow(bwl_waiter_registry *registry)
{
    uint32_t    room    = registry->room == 0 ? ROOM_AT_FIRST : registry->room * 2;
    bwl_waiter *waiters = realloc(registry->waiters, room * sizeof *waiters);

    if (waiters == NULL)
        return false;
    for (uint32_t i = registry->room; i < room; i++)
        waiters[i] = (bwl_waiter){ .next_free = i + 1 < room ? i + 2 : NO_SLOT };
    registry->waiters    = waiters;
    registry->first_free = registry->room + 1;
    registry->room       = room;
    return true;
}

bool bwl_waiters_add(bwl_redis *redis, bwl_engine_lock *lock, bwl_ms grant_ms)
{
    bwl_waiter_registry *registry = &redis->waiters;
    bwl_redis_waiting   *waiting  = &bwl_redis_lock_of(lock)->waiting;
    bwl_random           bits;

    if (!bwl_entropy_draw(&lock->host->entropy, &bits))
        return false;
    if (waiting->slot == NO_SLOT) {
        if (registry->first_free == NO_SLOT && !grow(registry))
            return false;
        waiting->slot        = registry->first_free;
        bwl_waiter *taken    = &registry->waiters[waiting->slot - 1];
        registry->first_free = taken->next_free;
        taken->lock          = lock;
    }
    waiting->heartbeats = 0;
    memcpy(&waiting->generation, bits.bytes, sizeof waiting->generation);
    registry->waiters[waiting->slot - 1].generation = waiting->generation;
    waiting->grant_ms                               = grant_ms;
    waiting->has_waited                             = false;
    waiting->queued_by[0][0]                        = '\0';
    waiting->queued_by[1][0]                        = '\0';
    return true;
}

void bwl_waiters_remove(bwl_redis *redis, bwl_engine_lock *lock)
{
    bwl_waiter_registry *registry = &redis->waiters;
    bwl_redis_waiting   *waiting  = &bwl_redis_lock_of(lock)->waiting;

    if (waiting->slot == NO_SLOT)
        return;
    registry->waiters[waiting->slot - 1] = (bwl_waiter){ .next_free = registry->first_free };
    registry->first_free                 = waiting->slot;
    waiting->slot                        = NO_SLOT;
}

/* Counts it. */
bool bwl_waiters_renew(bwl_engine_lock *lock)
{
    return bwl_redis_lock_of(lock)->waiting.heartbeats++ % RENEWING_HEARTBEAT == 0;
}

bwl_queue_self bwl_redis_self(bwl_session *session, const bwl_request *request)
{
    bwl_redis_waiting *waiting = &bwl_redis_lock_of(request->lock)->waiting;
    bwl_queue_self     self    = {
               .uses_sharded_pubsub = !session->push.without_shards,
               .is_patient          = bwl_slots_is_new(session, request->lock),
               .slot                = waiting->slot,
               .generation          = request->generation,
               .provisional_ttl_ms  = waiting->grant_ms,
               .queue_max           = session->config->queue_max,
    };

    bwl_redis_command exclusive = bwl_queue_exclusive(request->command);

    bwl_slots_tag(session, request->lock, self.tag);
    bwl_slots_channel(session, self.tag, self.push_channels[0]);
    memcpy(self.session, session->push.id, sizeof self.session);
    if (request->generation != waiting->generation)
        return self; /* the channels are those of an earlier attempt */
    memcpy(self.push_channels[1], waiting->queued_by[0], sizeof waiting->queued_by[0]);
    memcpy(self.push_channels[2], waiting->queued_by[1], sizeof waiting->queued_by[1]);
    if (exclusive == REDIS_QUEUE_JOIN || exclusive == REDIS_QUEUE_REQUEUE)
        memcpy(waiting->queued_by[0], self.push_channels[0], sizeof self.push_channels[0]);
    if (exclusive == REDIS_QUEUE_HEARTBEAT)
        memcpy(waiting->queued_by[1], self.push_channels[0], sizeof self.push_channels[0]);
    return self;
}

void bwl_redis_queued(bwl_session *session, const bwl_request *request,
                      const bwl_queue_status *queue_status)
{
    bwl_redis_waiting *waiting = &bwl_redis_lock_of(request->lock)->waiting;
    char               tag[BWL_QUEUE_TAG_MAX + 1];

    if (queue_status->kind == BWL_QUEUE_STATUS_QUEUED &&
        request->generation == waiting->generation) {
        bwl_slots_tag(session, request->lock, tag);
        bwl_slots_channel(session, tag, waiting->queued_by[0]);
        waiting->has_waited = true;
    }
    if (queue_status->kind == BWL_QUEUE_STATUS_FULL)
        bwl_host_set_error(request->lock, "its queue is full (%llu wait, queue-max=%u)",
                           (unsigned long long)queue_status->rank,
                           (unsigned)session->config->queue_max);
}

/* In a cluster it may come from a former owner node, whose clock is another one. */
static void on_grant(bwl_session *session, const bwl_queue_push *push)
{
    const bwl_waiter_registry *registry     = &bwl_redis_of(session->host)->waiters;
    bwl_queue_status           queue_status = { .server_us = push->server_us };

    if (push->slot == NO_SLOT || push->slot > registry->room)
        return;
    const bwl_waiter *waiter = &registry->waiters[push->slot - 1];
    if (waiter->lock == NULL || waiter->generation != push->generation ||
        !bwl_router_is_home(session, waiter->lock))
        return;
    bwl_redis_lock_of(waiter->lock)->shown.granted_at = session->host->latest;
    bwl_host_event(
        waiter->lock,
        (bwl_event){ .kind = BWL_PUSH, .number = push->fence, .details = &queue_status });
}

void bwl_redis_on_push(bwl_session *session, const bwl_queue_push *push)
{
    uint16_t slot;

    if (push->kind == BWL_PUSH_GRANT)
        on_grant(session, push);
    else if (bwl_slots_on_push(session, push, &slot))
        bwl_redis_slot_lost(session, slot);
}
