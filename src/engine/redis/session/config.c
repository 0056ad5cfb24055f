#include "engine/redis/session/config.h"

#include "base/secret.h"

#include <stdlib.h>

bwl_redis_config *bwl_redis_config_new(void)
{
    bwl_redis_config *config = calloc(1, sizeof *config);

    if (config == NULL)
        return NULL;
    atomic_init(&config->references, 1);
    config->topology = BWL_TOPOLOGY_SINGLE;
    return config;
}

bwl_redis_config *bwl_redis_config_ref(bwl_redis_config *config)
{
    unsigned before = atomic_fetch_add(&config->references, 1);

    assert(before > 0);
    (void)before;
    return config;
}

void bwl_redis_config_unref(bwl_redis_config *config)
{
    if (config == NULL || atomic_fetch_sub(&config->references, 1) > 1)
        return;
    bwl_tls_context_free(config->tls);
    bwl_secret_free(config->user);
    bwl_secret_free(config->password);
    free(config->key_template);
    free(config);
}
