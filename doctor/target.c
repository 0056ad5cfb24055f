#include "doctor/target.h"
#include "engine/file/store.h"
#include "api/engines.h"
#include "runtime/shard.h"
#include "engine/redis/topology/cluster.h"
#include "protocol/protocol.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends to the place, as far as there is room. */
__attribute__((format(printf, 2, 3))) static void add(doctor_target *target, const char *format,
                                                      ...)
{
    size_t  size = strlen(target->place);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(target->place + size, sizeof target->place - size, format, arguments);
    va_end(arguments);
}

static void add_redis(doctor_target *target)
{
    const bwl_router  *router   = &doctor_redis(target)->router;
    const bwl_cluster *cluster  = router->cluster;
    const char        *between  = "//";
    int64_t            database = router->config->database;

    for (unsigned i = 0; cluster != NULL && i < cluster->seeds_count; i++, between = ",")
        add(target, "%s%s:%u", between, cluster->seeds[i].host, (unsigned)cluster->seeds[i].port);
    for (const bwl_session *s = router->sessions; cluster == NULL && s != NULL; s = s->next) {
        add(target, "%s%s", between, s->endpoint.text);
        between = ",";
    }
    if (target->is_redis && cluster == NULL && database != 0)
        add(target, "%s%lld",
            router->sessions->endpoint.host != NULL ? "/" : "?db=", (long long)database);
}

int doctor_target_open(doctor_target *ret_target, const char *url, uint32_t lease_ms,
                       bwl_fault *fault)
{
    const bwl_settings asked  = { .lease_ms = lease_ms, .sticks = true };
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
    add(&target, "%s:", client->host.engine->scheme);
    if (target.is_redis || target.is_quorum)
        add_redis(&target);
    else if (client->host.engine->kind == BWL_ENGINE_FILE)
        add(&target, "%.250s", ((const bwl_file_store *)client->host.store)->directory.path);
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

doctor_server doctor_server_at(const bwl_redis_config *config, const char *host, uint16_t port)
{
    doctor_server server = { .config = config, .host = host, .port = port };

    (void)snprintf(server.where, sizeof server.where, "%.100s:%u", host, (unsigned)port);
    return server;
}
