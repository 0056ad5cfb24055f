/*
 * sentinel_command.c -- SENTINEL, from the view that the owner has set.
 */
#include "sim/redis/command/server_commands.h"

#include <stdio.h>

enum { NUMBER_ROOM = 24 };

/* NULL: an error was replied. */
static const model_service *find(model_call *call, bool is_error)
{
    const model_sentinel_view *view = call->server->services;

    for (unsigned i = 0; i < view->services_count; i++)
        if (model_text_equal(model_text_of(view->services[i].name), call->argv[2]))
            return &view->services[i];
    if (is_error)
        model_reply_error(call, "ERR No such master with that name");
    return NULL;
}

static void reply_number_text(model_call *call, uint64_t number)
{
    char text[NUMBER_ROOM];

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    model_reply_text(call, text);
}

static void reply_peer(model_call *call, const char *name, const model_peer *peer,
                       const char *flags, size_t more)
{
    model_reply_map(call, 4 + more);
    model_reply_text(call, "name");
    model_reply_text(call, name);
    model_reply_text(call, "ip");
    model_reply_text(call, peer->host);
    model_reply_text(call, "port");
    reply_number_text(call, peer->port);
    model_reply_text(call, "flags");
    model_reply_text(call, flags);
}

static void reply_service(model_call *call, const model_service *service)
{
    reply_peer(call, service->name, &service->primary,
               service->is_down ? "s_down,master" : "master", 4);
    model_reply_text(call, "config-epoch");
    reply_number_text(call, service->epoch);
    model_reply_text(call, "num-slaves");
    reply_number_text(call, service->replicas_count);
    model_reply_text(call, "num-other-sentinels");
    reply_number_text(call, service->sentinels_count);
    model_reply_text(call, "quorum");
    reply_number_text(call, service->quorum);
}

static void sentinel_address(model_call *call)
{
    const model_service *service = find(call, false);

    if (service == NULL) {
        model_reply_null_array(call);
        return;
    }
    model_reply_array(call, 2);
    model_reply_text(call, service->primary.host);
    reply_number_text(call, service->primary.port);
}

static void sentinel_master(model_call *call)
{
    const model_service *service = find(call, true);

    if (service != NULL)
        reply_service(call, service);
}

static void sentinel_masters(model_call *call)
{
    const model_sentinel_view *view = call->server->services;

    model_reply_array(call, view->services_count);
    for (unsigned i = 0; i < view->services_count; i++)
        reply_service(call, &view->services[i]);
}

static void reply_peers(model_call *call, const model_peer *peers, unsigned count,
                        const char *flags)
{
    char name[sizeof peers->host + 8];

    model_reply_array(call, count);
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%s:%u", peers[i].host, peers[i].port);
        reply_peer(call, name, &peers[i], flags, 0);
    }
}

static void sentinel_replicas(model_call *call)
{
    const model_service *service = find(call, true);

    if (service != NULL)
        reply_peers(call, service->replicas, service->replicas_count, "slave");
}

static void sentinel_sentinels(model_call *call)
{
    const model_service *service = find(call, true);

    if (service != NULL)
        reply_peers(call, service->sentinels, service->sentinels_count, "sentinel");
}

static void sentinel_ckquorum(model_call *call)
{
    const model_service *service = find(call, true);

    if (service == NULL)
        return;
    unsigned usable = service->sentinels_count + 1;
    if (usable >= service->quorum)
        model_bytes_print(call->out,
                          "+OK %u usable Sentinels. Quorum and failover authorization can be "
                          "reached\r\n",
                          usable);
    else
        model_reply_error(
            call,
            "NOQUORUM %u usable Sentinels. Not enough available Sentinels to reach the "
            "specified quorum for this master",
            usable);
}

static void sentinel_myid(model_call *call)
{
    model_reply_text(call, call->server->run_id);
}

void model_sentinel_role(model_call *call)
{
    const model_sentinel_view *view = call->server->services;

    model_reply_array(call, 2);
    model_reply_text(call, "sentinel");
    model_reply_array(call, view->services_count);
    for (unsigned i = 0; i < view->services_count; i++)
        model_reply_text(call, view->services[i].name);
}

void model_sentinel_info(model_bytes *out, const model_server *server)
{
    const model_sentinel_view *view = server->services;

    if (view == NULL)
        return;
    model_bytes_print(out, "sentinel_masters:%u\r\nsentinel_tilt:0\r\n", view->services_count);
    for (unsigned i = 0; i < view->services_count; i++) {
        const model_service *service = &view->services[i];
        model_bytes_print(
            out, "master%u:name=%s,status=%s,address=%s:%u,slaves=%u,sentinels=%u\r\n", i,
            service->name, service->is_down ? "sdown" : "ok", service->primary.host,
            service->primary.port, service->replicas_count, service->sentinels_count + 1);
    }
}

static const model_sub subs_sentinel[] = {
    { "get-master-addr-by-name", 3, sentinel_address, false, false },
    { "master", 3, sentinel_master, false, false },
    { "masters", 2, sentinel_masters, false, false },
    { "replicas", 3, sentinel_replicas, false, false },
    { "slaves", 3, sentinel_replicas, false, false },
    { "sentinels", 3, sentinel_sentinels, false, false },
    { "ckquorum", 3, sentinel_ckquorum, false, false },
    { "myid", 2, sentinel_myid, false, false },
    { .name = NULL },
};

const model_command model_commands_sentinel[] = {
    { "sentinel", model_run_sub, -2, 0, 0, 0,
      CMD(OF_SENTINEL) | CMD(SUB) | CAT(ADMIN) | CAT(DANGEROUS), subs_sentinel },
    { .name = NULL },
};
