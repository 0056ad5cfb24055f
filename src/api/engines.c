/*
 * engines.c -- see engines.h.  The error text for an unknown scheme lists them in this order.
 */
#include "api/engines.h"

const bwl_engine *const bwl_engines[] = {
    &bwl_thread_engine,      &bwl_file_engine,     &bwl_redis_engine,        &bwl_tls_engine,
    &bwl_unix_engine,        &bwl_sentinel_engine, &bwl_sentinel_tls_engine, &bwl_cluster_engine,
    &bwl_cluster_tls_engine, &bwl_redlock_engine,  &bwl_redlock_tls_engine,  NULL,
};
