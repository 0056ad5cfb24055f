#include "doctor/target.h"
#include "engine/file/file.h"
#include "api/engines.h"
#include "runtime/shard.h"
#include "engine/redis/topology/cluster.h"
#include "protocol/protocol.h"

#include <stdio.h>
#include <string.h>

/* All servers, as far as there is space. */
static void name_servers(doctor_target *target)
{
    const bwl_session *first = doctor_redis(target)->router.sessions;
    size_t             room  = sizeof target->place;
    size_t             size =
        (size_t)snprintf(target->place, room, "%s://", target->client->host.engine->scheme);

    for (const bwl_session *s = first; s != NULL && size < room; s = s->next)
        size += (size_t)snprintf(target->place + size, room - size, "%s%s", s == first ? "" : ",",
                                 s->endpoint.text);
}

/* The nodes as in the URL. */
static void name_nodes(doctor_target *target)
{
    const bwl_cluster *cluster = doctor_redis(target)->router.cluster;
    size_t             room    = sizeof target->place;
    size_t             size =
        (size_t)snprintf(target->place, room, "%s://", target->client->host.engine->scheme);

    for (unsigned i = 0; i < cluster->seeds_count && size < room; i++)
        size += (size_t)snprintf(target->place + size, room - size, "%s%s:%u", i == 0 ? "" : ",",
                                 cluster->seeds[i].host, (unsigned)cluster->seeds[i].port);
}

static void name_place(doctor_target *target)
{
    const bwl_shard *client = target->client;
    const char      *scheme = client->host.engine->scheme;

    if (target->is_cluster) {
        name_nodes(target);
    } else if (target->is_redis) {
        const bwl_session *server   = doctor_redis(target)->router.sessions;
        int64_t            database = server->config->database;
        (void)snprintf(target->place, sizeof target->place, "%s://%s", scheme,
                       server->endpoint.text);
        if (database != 0)
            (void)snprintf(target->place + strlen(target->place), 24, "%s%lld",
                           server->endpoint.host != NULL ? "/" : "?db=", (long long)database);
    } else if (client->host.engine->kind == BWL_ENGINE_FILE) {
        const bwl_file_store *store = client->host.store;
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
    int status = bwl_shard_open(&target.client, bwl_engines, &asked, false, url, fault);

    if (status < 0)
        return status;
    const bwl_shard *client = target.client;
    target.is_redis         = client->host.engine->kind == BWL_ENGINE_REDIS;
    target.is_quorum        = client->host.engine->kind == BWL_ENGINE_REDLOCK;
    target.is_cluster       = target.is_redis && doctor_redis(&target)->router.cluster != NULL;
    target.protocol         = client->host.settings.protocol;
    if (target.protocol == NULL)
        target.protocol = client->host.engine->protocol;
    target.is_default = client->host.settings.protocol == NULL ||
                        target.protocol == bwl_protocol_synced(client->host.engine->protocol);
    target.replicas = client->host.settings.options.replicas;
    if (target.is_redis && doctor_redis(&target)->router.config->profile != NULL)
        target.profile = doctor_redis(&target)->router.config->profile->name;
    name_place(&target);
    *ret_target = target;
    return BWL_OK;
}

doctor_server doctor_server_of(const bwl_session *session)
{
    const bwl_dialer *dialer = &session->link.dialer;
    doctor_server     server = { .config = session->config,
                                 .host   = session->endpoint.host,
                                 .address =
                                 session->endpoint.host == NULL && dialer->addresses_count > 0
                                         ? &dialer->addresses[0]
                                         : NULL,
                                 .port = session->endpoint.port };

    memcpy(server.where, session->endpoint.text, sizeof server.where);
    return server;
}

doctor_server doctor_server_at(const doctor_server *like, const char *host, uint16_t port)
{
    doctor_server server = { .config = like->config, .host = host, .port = port };

    (void)snprintf(server.where, sizeof server.where, "%.100s:%u", host, (unsigned)port);
    return server;
}

void doctor_target_close(doctor_target *target)
{
    bwl_shard_close(target->client);
    target->client = NULL;
}
