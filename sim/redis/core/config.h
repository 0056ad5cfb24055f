/*
 * config.h -- the parameters of CONFIG that have an effect here, and those that are only stored.
 */
#pragma once

#include "sim/redis/data/table.h"
#include "sim/redis/server.h"

typedef enum model_policy {
    MODEL_EVICT_NOTHING = 1,
    MODEL_EVICT_ALL_LRU,
    MODEL_EVICT_VOLATILE_TTL,
} model_policy;

typedef struct model_config {
    model_table  texts; /* of model_bytes: every parameter as it is shown */
    int64_t      memory_max;
    int64_t      replicas_min;
    int64_t      lag_max_s;
    model_policy policy;
    bool         serves_stale_data;
    bool         active_expire;
} model_config;

model_config *model_config_new(void);
void          model_config_free(model_config *config);

typedef enum model_config_result {
    MODEL_CONFIG_SET = 1,
    MODEL_CONFIG_UNKNOWN,
    MODEL_CONFIG_INVALID,
} model_config_result;

model_config_result model_config_set(model_server *server, model_text name, model_text value);
