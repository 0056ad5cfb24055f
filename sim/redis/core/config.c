/*
 * config.c -- see config.h.
 */
#include "sim/redis/core/config.h"
#include "sim/redis/core/acl.h"
#include "sim/redis/core/state.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX = 64, ONE_K = 1024 };

/* The order is that of CONFIG GET. */
static const struct {
    const char *name;
    const char *value;
} defaults[] = {
    { "maxmemory", "0" },
    { "maxmemory-policy", "noeviction" },
    { "min-replicas-to-write", "0" },
    { "min-replicas-max-lag", "10" },
    { "replica-serve-stale-data", "yes" },
    { "replica-read-only", "yes" },
    { "appendonly", "no" },
    { "appendfsync", "everysec" },
    { "save", "3600 1 300 100 60 10000" },
    { "databases", "16" },
    { "requirepass", "" },
    { "tls-port", "0" },
    { "port", "6379" },
    { "bind", "* -::*" },
    { "protected-mode", "yes" },
    { "timeout", "0" },
    { "lua-time-limit", "5000" },
    { "maxclients", "10000" },
    { "cluster-enabled", "no" },
    { "cluster-require-full-coverage", "yes" },
    { "cluster-node-timeout", "15000" },
    { "cluster-announce-hostname", "" },
    { "cluster-preferred-endpoint-type", "ip" },
    { "stop-writes-on-bgsave-error", "yes" },
    { "client-output-buffer-limit",
      "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60" },
    { "notify-keyspace-events", "" },
    { "rdbcompression", "yes" },
    { "hash-max-listpack-entries", "512" },
    { "proto-max-bulk-len", "536870912" },
    { "slowlog-log-slower-than", "10000" },
    { "latency-monitor-threshold", "0" },
    { "dir", "/" },
    { "dbfilename", "dump.rdb" },
};

static void free_text(void *memory)
{
    model_bytes_free(memory);
    free(memory);
}

static void store(model_config *config, model_text name, model_text value)
{
    bool   is_new;
    void **place = model_table_add(&config->texts, name, &is_new);

    if (is_new) {
        model_bytes *text = model_allocate(sizeof *text);
        *text             = (model_bytes){ .size = 0 };
        *place            = text;
    }
    model_bytes_set(*place, value);
}

model_config *model_config_new(void)
{
    model_config *config = model_allocate(sizeof *config);

    *config = (model_config){ .lag_max_s         = 10,
                              .policy            = MODEL_EVICT_NOTHING,
                              .serves_stale_data = true,
                              .active_expire     = true };
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        store(config, model_text_of(defaults[i].name), model_text_of(defaults[i].value));
    return config;
}

void model_config_free(model_config *config)
{
    if (config == NULL)
        return;
    model_table_clear(&config->texts, free_text);
    free(config);
}

/* 1, 1k, 1kb, 1mb, ... as memtoull. */
static bool read_memory(model_text text, int64_t *ret_bytes)
{
    static const struct {
        const char *unit;
        int64_t     factor;
    } units[] = {
        { "", 1 },           { "b", 1 },
        { "k", 1000 },       { "kb", ONE_K },
        { "m", 1000000 },    { "mb", ONE_K * ONE_K },
        { "g", 1000000000 }, { "gb", (int64_t)ONE_K * ONE_K * ONE_K },
    };
    size_t digits = 0;

    while (digits < text.size && isdigit((unsigned char)text.at[digits]))
        digits++;
    model_text unit = { text.at + digits, text.size - digits };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (model_text_is(unit, units[i].unit) &&
            model_text_integer((model_text){ text.at, digits }, ret_bytes)) {
            *ret_bytes *= units[i].factor;
            return true;
        }
    return false;
}

static bool read_policy(model_text text, model_policy *ret_policy)
{
    static const struct {
        const char  *name;
        model_policy policy;
    } policies[] = {
        { "noeviction", MODEL_EVICT_NOTHING },
        { "allkeys-lru", MODEL_EVICT_ALL_LRU },
        { "allkeys-lfu", MODEL_EVICT_ALL_LRU },
        { "allkeys-random", MODEL_EVICT_ALL_LRU },
        { "volatile-ttl", MODEL_EVICT_VOLATILE_TTL },
        { "volatile-lru", MODEL_EVICT_VOLATILE_TTL },
        { "volatile-random", MODEL_EVICT_VOLATILE_TTL },
        { "volatile-lfu", MODEL_EVICT_VOLATILE_TTL },
    };

    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (model_text_is(text, policies[i].name)) {
            *ret_policy = policies[i].policy;
            return true;
        }
    return false;
}

static bool read_boolean(model_text text, bool *ret_value)
{
    *ret_value = model_text_is(text, "yes");
    return *ret_value || model_text_is(text, "no");
}

static bool take(model_config *config, const char *name, model_text value)
{
    if (strcmp(name, "maxmemory") == 0)
        return read_memory(value, &config->memory_max);
    if (strcmp(name, "maxmemory-policy") == 0)
        return read_policy(value, &config->policy);
    if (strcmp(name, "min-replicas-to-write") == 0)
        return model_text_integer(value, &config->replicas_min) && config->replicas_min >= 0;
    if (strcmp(name, "min-replicas-max-lag") == 0)
        return model_text_integer(value, &config->lag_max_s) && config->lag_max_s >= 0;
    if (strcmp(name, "replica-serve-stale-data") == 0)
        return read_boolean(value, &config->serves_stale_data);
    return true;
}

model_config_result model_config_set(model_server *server, model_text name, model_text value)
{
    model_config *config = server->config;
    char          lower[NAME_MAX];

    if (name.size >= sizeof lower)
        return MODEL_CONFIG_UNKNOWN;
    for (size_t i = 0; i < name.size; i++)
        lower[i] = (char)tolower((unsigned char)name.at[i]);
    lower[name.size] = '\0';
    if (name.size > 11 && name.size + 3 < sizeof lower && memcmp(lower, "min-slaves-", 11) == 0) {
        memmove(lower + 13, lower + 11, name.size - 11 + 1);
        memcpy(lower + 4, "replicas-", 9);
    }
    if (model_table_find(&config->texts, model_text_of(lower)) == NULL)
        return MODEL_CONFIG_UNKNOWN;
    if (!take(config, lower, value))
        return MODEL_CONFIG_INVALID;
    if (strcmp(lower, "maxmemory") == 0) {
        model_bytes number = { .size = 0 };
        model_bytes_add_integer(&number, config->memory_max);
        store(config, model_text_of(lower), model_bytes_text(&number));
        model_bytes_free(&number);
    } else {
        store(config, model_text_of(lower), value);
    }
    if (strcmp(lower, "requirepass") == 0)
        model_acl_set_password(server, value);
    return MODEL_CONFIG_SET;
}
