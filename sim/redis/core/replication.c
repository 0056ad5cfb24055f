/*
 * replication.c -- see replication.h.
 */
#include "sim/redis/core/replication.h"
#include "sim/redis/core/config.h"
#include "sim/redis/core/link.h"
#include "sim/redis/core/output.h"

#include <string.h>

void model_write_run_id(const model_server *server, char ret_id[MODEL_RUN_ID_SIZE + 1])
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < MODEL_RUN_ID_SIZE; i++) {
        if (i % 16 == 0)
            bits = server->owner.random(server->owner.arg);
        ret_id[i] = "0123456789abcdef"[bits & 15];
        bits >>= 4;
    }
    ret_id[MODEL_RUN_ID_SIZE] = '\0';
}

void model_replication_begin(model_server *server)
{
    model_replication *r = model_allocate(sizeof *r);

    *r                  = (model_replication){ .offset_before = UINT64_MAX };
    server->replication = r;
    model_write_run_id(server, r->id);
    memset(r->id_before, '0', MODEL_RUN_ID_SIZE);
}

bool model_is_replica(const model_server *server)
{
    return server->replication->primary_host[0] != '\0';
}

/* ---- roles ----------------------------------------------------------------------------------- */

model_link *model_link_of_primary(model_server *server)
{
    model_replication *r = server->replication;

    if (r->from_primary == NULL) {
        r->from_primary = model_link_open(server, NULL, "primary", server->now_us);
        r->from_primary->flags |= LINK_IS_PRIMARY;
        r->from_primary->user = NULL;
    }
    return r->from_primary;
}

void model_end_link_of_primary(model_server *server)
{
    if (server->replication->from_primary != NULL)
        model_link_forget(server->replication->from_primary);
    server->replication->from_primary = NULL;
}

static void disconnect_waiters(model_server *server)
{
    for (size_t i = 0; i < server->links.count; i++) {
        model_link *link = server->links.at[i];
        if (!link->wait.is_waiting)
            continue;
        link->wait.is_waiting = false;
        model_bytes_add_text(model_link_output(link),
                             "-UNBLOCKED force unblock from blocking operation, instance state "
                             "changed (master -> replica?)\r\n");
        model_link_end(link);
    }
}

/* A new primary goes on with a history of its own, and remembers that of its primary. */
void model_turn(model_server *server, const char *host, uint16_t port, bool is_asked)
{
    model_replication *r           = server->replication;
    bool               was_primary = !model_is_replica(server);

    r->is_up        = false;
    r->is_asked     = is_asked;
    r->primary_port = port;
    model_end_link_of_primary(server);
    if (host == NULL) {
        r->primary_host[0] = '\0';
        if (was_primary)
            return;
        memcpy(r->id_before, r->id, sizeof r->id);
        r->offset_before = model_server_offset(server) + 1;
        model_write_run_id(server, r->id);
        return;
    }
    size_t size = strlen(host);
    size        = size < sizeof r->primary_host ? size : sizeof r->primary_host - 1;
    memcpy(r->primary_host, host, size);
    r->primary_host[size] = '\0';
    memset(r->replicas, 0, sizeof r->replicas);
    disconnect_waiters(server);
}

void model_server_primary_link(model_server *server, bool is_up, int64_t now_us)
{
    server->now_us             = now_us;
    server->replication->is_up = is_up;
}

bool model_server_asked_to_follow(model_server *server, char ret_host[256], uint16_t *ret_port)
{
    model_replication *r = server->replication;

    if (!r->is_asked)
        return false;
    r->is_asked = false;
    memcpy(ret_host, r->primary_host, sizeof r->primary_host);
    *ret_port = r->primary_port;
    return true;
}

/* ---- replicas -------------------------------------------------------------------------------- */

void model_replica_acked(model_server *server, unsigned replica, uint64_t offset)
{
    if (replica < MODEL_REPLICAS_MAX)
        server->replication->replicas[replica] =
            (model_replica_state){ .offset = offset, .acked_us = server->now_us, .is_there = true };
}

void model_replica_lost(model_server *server, unsigned replica)
{
    if (replica < MODEL_REPLICAS_MAX)
        server->replication->replicas[replica].is_there = false;
}

bool model_has_good_replicas(const model_server *server)
{
    int64_t good = 0;

    for (unsigned i = 0; i < MODEL_REPLICAS_MAX; i++) {
        const model_replica_state *replica = &server->replication->replicas[i];
        good += replica->is_there &&
                server->now_us - replica->acked_us <= server->config->lag_max_s * MODEL_S_IN_US;
    }
    return server->config->replicas_min == 0 || good >= server->config->replicas_min;
}

size_t model_replicas_with(const model_server *server, uint64_t offset)
{
    size_t count = 0;

    for (unsigned i = 0; i < MODEL_REPLICAS_MAX; i++)
        count += server->replication->replicas[i].is_there &&
                 server->replication->replicas[i].offset >= offset;
    return count;
}
