/*
 * sentinel_service.h -- what the URL says about a service that sentinels monitor, and the highest
 * epoch that was seen of it.  Shared by reference between the shards of a client.
 */
#pragma once

#include "base/url.h"
#include "engine/redis/session/session.h"

#include <stdatomic.h>

enum { BWL_SENTINEL_PORT = 26379 };

#define BWL_SENTINEL_OPTION_USER     "sentinel-user"
#define BWL_SENTINEL_OPTION_PASSWORD "sentinel-password-file"
#define BWL_SENTINEL_OPTIONS         BWL_SENTINEL_OPTION_USER, BWL_SENTINEL_OPTION_PASSWORD

/* Immutable, but for the references and the epoch.  Owns the texts. */
typedef struct bwl_sentinel_service {
    atomic_uint      references;
    _Atomic uint64_t epoch; /* the highest one seen; 0: none, or before any failover */
    char            *name;
    char            *user;     /* for the sentinels, not for the service; NULL: none */
    char            *password; /* for the sentinels; NULL: none                      */
    unsigned         hosts_count;
    bwl_url_host     hosts[BWL_URL_HOSTS_MAX];
} bwl_sentinel_service;

/* Reads the path of the URL: *ret_rest is what follows the service.  USAGE. */
int bwl_sentinel_parse(bwl_endpoint *ret_endpoint, const bwl_url *url, const char **ret_rest,
                       bwl_fault *fault);

/* With one reference.  USAGE, REFUSED (a file with a password), NOMEM. */
int bwl_sentinel_service_new(bwl_sentinel_service **ret_service, const bwl_url *url,
                             bwl_fault *fault);

/* Any thread. */
bwl_sentinel_service *bwl_sentinel_service_ref(bwl_sentinel_service *service);
void                  bwl_sentinel_service_unref(bwl_sentinel_service *service); /* also NULL */
