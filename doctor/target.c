/*
 * target.c -- see target.h.
 */
#include "doctor/target.h"
#include "engine/file/seat.h"
#include "engine/redis/topology/cluster.h"
#include "engine/redis/topology/quorum.h"

#include <stdio.h>
#include <string.h>

/* All servers, as far as there is space. */
static void name_servers(doctor_target *target)
{
    const bwl_redis_store *first = target->client->store;
    size_t                 room  = sizeof target->place;
    size_t size = (size_t)snprintf(target->place, room, "%s://", target->client->engine->scheme);

    for (const bwl_redis_store *s = first; s != NULL && size < room; s = s->next)
        size += (size_t)snprintf(target->place + size, room - size, "%s%s", s == first ? "" : ",",
                                 s->where);
}

/* The nodes as in the URL. */
static void name_nodes(doctor_target *target)
{
    const bwl_cluster *cluster = ((const bwl_redis_store *)target->client->store)->cluster;
    size_t             room    = sizeof target->place;
    size_t size = (size_t)snprintf(target->place, room, "%s://", target->client->engine->scheme);

    for (unsigned i = 0; i < cluster->seeds_count && size < room; i++)
        size += (size_t)snprintf(target->place + size, room - size, "%s%s:%u", i == 0 ? "" : ",",
                                 cluster->seeds[i].host, (unsigned)cluster->seeds[i].port);
}

static void name_place(doctor_target *target)
{
    const bwl_client *client = target->client;
    const char       *scheme = client->engine->scheme;

    if (target->is_cluster) {
        name_nodes(target);
    } else if (target->is_redis) {
        const bwl_redis_store *store = client->store;
        (void)snprintf(target->place, sizeof target->place, "%s://%s", scheme, store->where);
        if (store->database != 0)
            (void)snprintf(target->place + strlen(target->place), 24, "%s%lld",
                           store->host != NULL ? "/" : "?db=", (long long)store->database);
    } else if (client->engine->kind == BWL_ENGINE_FILE) {
        const bwl_file_store *store = client->store;
        (void)snprintf(target->place, sizeof target->place, "file:%.250s", store->directory.path);
    } else if (target->is_quorum) {
        name_servers(target);
    } else {
        (void)snprintf(target->place, sizeof target->place, "%s:", scheme);
    }
}

int doctor_target_open(doctor_target *ret_target, const char *url, uint32_t lease_ms,
                       bwl_fault *fault)
{
    const bwl_settings asked  = { .lease_ms = lease_ms };
    doctor_target      target = { .client = NULL };
    int                status = bwl_client_open(&target.client, &asked, false, url, fault);

    if (status < 0)
        return status;
    const bwl_client *client = target.client;
    target.is_redis          = client->engine->kind == BWL_ENGINE_REDIS;
    target.is_quorum         = client->engine->kind == BWL_ENGINE_REDLOCK;
    target.is_cluster =
        target.is_redis && ((const bwl_redis_store *)client->store)->cluster != NULL;
    target.protocol = client->settings.protocol;
    if (target.protocol == NULL)
        target.protocol = client->engine->protocol;
    target.is_default = client->settings.protocol == NULL ||
                        target.protocol == bwl_protocol_synced(client->engine->protocol);
    target.replicas = client->settings.replicas;
    if (target.is_redis && ((const bwl_redis_store *)client->store)->profile != NULL)
        target.profile = ((const bwl_redis_store *)client->store)->profile->name;
    name_place(&target);
    *ret_target = target;
    return BWL_OK;
}

void doctor_target_close(doctor_target *target)
{
    bwl_client_close(target->client);
    target->client = NULL;
}
