/*
 * info.c -- INFO: the sections and fields that bowline, its doctor and its tests read.
 */
#include "sim/redis/command/server_commands.h"
#include "sim/redis/core/config.h"
#include "sim/redis/core/eviction.h"
#include "sim/redis/core/replication.h"
#include "sim/redis/data/store.h"
#include "sim/redis/script/script.h"

#include <string.h>

const char *model_version_text(model_version version)
{
    switch (version) {
    case MODEL_REDIS_6_2: return "6.2.14";
    case MODEL_REDIS_7_0: return "7.0.15";
    case MODEL_VALKEY_9: return "9.1.2";
    }
    return "";
}

const char *model_mode_text(const model_server *server)
{
    return server->services != NULL ? "sentinel" : server->is_cluster ? "cluster" : "standalone";
}

static void server_section(model_bytes *out, const model_server *server)
{
    bool        is_valkey = server->version == MODEL_VALKEY_9;
    const char *mode      = model_mode_text(server);

    /* Of Valkey, this is the version of Redis that it is compatible with. */
    model_bytes_print(out, "redis_version:%s\r\n",
                      is_valkey ? "7.2.4" : model_version_text(server->version));
    if (is_valkey)
        model_bytes_print(out, "server_name:valkey\r\nvalkey_version:%s\r\nserver_mode:%s\r\n",
                          model_version_text(server->version), mode);
    else
        model_bytes_print(out, "redis_mode:%s\r\n", mode);
    model_bytes_print(out, "os:simulated\r\narch_bits:64\r\nprocess_id:1\r\nrun_id:%s\r\n",
                      server->run_id);
    model_bytes_print(out, "tcp_port:%u\r\nserver_time_usec:%lld\r\nuptime_in_seconds:%lld\r\n",
                      server->port, (long long)server->now_us,
                      (long long)((server->now_us - server->started_us) / MODEL_S_IN_US));
    model_bytes_print(out, "uptime_in_days:%lld\r\nhz:10\r\n",
                      (long long)((server->now_us - server->started_us) / MODEL_S_IN_US / 86400));
}

static void clients_section(model_bytes *out, const model_server *server)
{
    size_t blocked = 0;

    for (size_t i = 0; i < server->links.count; i++)
        blocked += server->links.at[i]->wait.is_waiting;
    model_bytes_print(out, "connected_clients:%zu\r\nblocked_clients:%zu\r\nmaxclients:10000\r\n",
                      server->links.count, blocked);
}

static void memory_section(model_bytes *out, const model_server *server)
{
    static const char *const policies[] = {
        [MODEL_EVICT_NOTHING]      = "noeviction",
        [MODEL_EVICT_ALL_LRU]      = "allkeys-lru",
        [MODEL_EVICT_VOLATILE_TTL] = "volatile-ttl",
    };

    model_bytes_print(out, "used_memory:%zu\r\nmaxmemory:%lld\r\nmaxmemory_policy:%s\r\n",
                      server->data->memory + MODEL_MEMORY_OF_SERVER,
                      (long long)server->config->memory_max, policies[server->config->policy]);
    model_bytes_print(out, "number_of_cached_scripts:%zu\r\n", model_script_count(server));
}

static void persistence_section(model_bytes *out, const model_server *server)
{
    void **is_on = model_table_find(&server->config->texts, model_text_of("appendonly"));

    model_bytes_print(out,
                      "loading:0\r\nrdb_bgsave_in_progress:0\r\nrdb_last_bgsave_status:ok\r\n"
                      "aof_enabled:%d\r\naof_last_write_status:ok\r\n",
                      model_text_is(model_bytes_text(*is_on), "yes"));
}

static void stats_section(model_bytes *out, const model_server *server)
{
    model_bytes_print(out, "total_commands_processed:%llu\r\nevicted_keys:0\r\nexpired_keys:0\r\n",
                      (unsigned long long)server->commands_run);
}

static void replication_section(model_bytes *out, const model_server *server)
{
    const model_replication *r      = server->replication;
    unsigned                 count  = 0;
    unsigned long long       offset = model_server_offset(server);

    for (unsigned i = 0; i < MODEL_REPLICAS_MAX; i++)
        count += r->replicas[i].is_there;
    if (!model_is_replica(server))
        model_bytes_add_text(out, "role:master\r\n");
    else
        model_bytes_print(out,
                          "role:slave\r\nmaster_host:%s\r\nmaster_port:%u\r\n"
                          "master_link_status:%s\r\nmaster_sync_in_progress:0\r\n"
                          "slave_read_repl_offset:%llu\r\nslave_repl_offset:%llu\r\n"
                          "slave_priority:100\r\nslave_read_only:1\r\n",
                          r->primary_host, r->primary_port, r->is_up ? "up" : "down", offset,
                          offset);
    model_bytes_print(out, "connected_slaves:%u\r\n", count);
    for (unsigned i = 0, nth = 0; i < MODEL_REPLICAS_MAX; i++)
        if (r->replicas[i].is_there)
            model_bytes_print(
                out, "slave%u:ip=127.0.0.1,port=%u,state=online,offset=%llu,lag=%lld\r\n", nth++, i,
                (unsigned long long)r->replicas[i].offset,
                (long long)((server->now_us - r->replicas[i].acked_us) / MODEL_S_IN_US));
    model_bytes_print(out,
                      "master_failover_state:no-failover\r\nmaster_replid:%s\r\n"
                      "master_replid2:%s\r\nmaster_repl_offset:%llu\r\n"
                      "second_repl_offset:%lld\r\nrepl_backlog_active:1\r\n",
                      r->id, r->id_before, offset, (long long)r->offset_before);
}

static void cluster_section(model_bytes *out, const model_server *server)
{
    model_bytes_print(out, "cluster_enabled:%d\r\n", server->is_cluster);
}

static void keyspace_section(model_bytes *out, const model_server *server)
{
    for (unsigned i = 0; i < MODEL_DATABASES; i++)
        if (server->data->keys[i].count != 0)
            model_bytes_print(out, "db%u:keys=%u,expires=%zu,avg_ttl=0\r\n", i,
                              server->data->keys[i].count, server->data->expiring[i]);
}

static const struct {
    const char *name;
    const char *title;
    void (*write)(model_bytes *out, const model_server *server);
} sections[] = {
    { "server", "Server", server_section },
    { "clients", "Clients", clients_section },
    { "memory", "Memory", memory_section },
    { "persistence", "Persistence", persistence_section },
    { "stats", "Stats", stats_section },
    { "replication", "Replication", replication_section },
    { "cluster", "Cluster", cluster_section },
    { "keyspace", "Keyspace", keyspace_section },
    { "sentinel", "Sentinel", model_sentinel_info },
};

static bool is_wanted(const model_call *call, const char *name)
{
    if (call->argc == 1)
        return true;
    for (size_t i = 1; i < call->argc; i++)
        if (model_arg_is(call, i, name) || model_arg_is(call, i, "default") ||
            model_arg_is(call, i, "all") || model_arg_is(call, i, "everything"))
            return true;
    return false;
}

static void cmd_info(model_call *call)
{
    model_bytes out = { .size = 0 };

    if (call->server->version == MODEL_REDIS_6_2 && call->argc > 2) {
        model_reply_syntax_error(call);
        return;
    }
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        bool is_there = sections[i].write != model_sentinel_info || call->server->services != NULL;
        if (!is_there || !is_wanted(call, sections[i].name))
            continue;
        model_bytes_print(&out, "%s# %s\r\n", out.size != 0 ? "\r\n" : "", sections[i].title);
        sections[i].write(&out, call->server);
    }
    model_reply_verbatim(call, model_bytes_text(&out));
    model_bytes_free(&out);
}

const model_command model_commands_info[] = {
    { "info", cmd_info, -1, 0, 0, 0, CMD(SENTINEL) | CMD(STALE) | CAT(DANGEROUS), NULL },
    { .name = NULL },
};
