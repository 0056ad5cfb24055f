/*
 * config.h -- the settings in the URL of a Redis store: immutable after open, and shared by
 * reference between the sessions and the shards of a client.
 */
#pragma once

#include "protocol/format/compat_rules.h"
#include "core/text.h"
#include "net/tls/tls.h"

#include <stdatomic.h>

/* Which servers the URL names. */
typedef enum bwl_redis_topology {
    BWL_TOPOLOGY_SINGLE = 1,
    BWL_TOPOLOGY_SENTINEL, /* the primary of a service that sentinels monitor */
    BWL_TOPOLOGY_CLUSTER,
    BWL_TOPOLOGY_QUORUM, /* several independent servers */
} bwl_redis_topology;

/* Options of every URL, and of those with TLS: see bwl_url_check_options. */
#define BWL_REDIS_OPTIONS \
    BWL_SETTINGS_OPTIONS, "key", "profile", "accept-risk", "password-file", "db"
#define BWL_REDIS_TLS_OPTIONS BWL_TLS_OPTION_CA, BWL_TLS_OPTION_CERT, BWL_TLS_OPTION_KEY

typedef struct bwl_redis_config {
    atomic_uint               references;
    bwl_redis_topology        topology;
    char                     *user;         /* NULL: none                  */
    char                     *password;     /* NULL: none                  */
    char                     *key_template; /* NULL: the default           */
    const struct bwl_profile *profile;      /* NULL: none                  */
    bwl_tls_context          *tls;          /* NULL: clear text            */
    int64_t                   database;
    uint32_t                  queue_max;    /* queued requests for one lock; 0: no limit */
    bool                      trusts_young; /* use a server even if it has just started */
    bwl_compat_rules          rules;        /* for values with the host and process id */
    char                      prefix[BWL_AFFIX_MAX + 1]; /* of the values of that profile */
    char                      token[BWL_AFFIX_MAX + 1];  /* the value of the URL's choice */
} bwl_redis_config;

/* With one reference: free it with bwl_redis_config_unref.  NULL: out of memory. */
bwl_redis_config *bwl_redis_config_new(void);

/* Any thread. */
bwl_redis_config *bwl_redis_config_ref(bwl_redis_config *config);
void              bwl_redis_config_unref(bwl_redis_config *config); /* also NULL */
