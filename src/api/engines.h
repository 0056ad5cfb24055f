/*
 * engines.h -- the table of all engines.  A new engine adds one line here and in open.c.
 */
#pragma once

#include "engine/engine.h"

/* Ends with NULL. */
extern const bwl_engine *const bwl_engines[];

extern const bwl_engine bwl_thread_engine;       /* thread:  threads of this process             */
extern const bwl_engine bwl_file_engine;         /* file:  processes of this machine             */
extern const bwl_engine bwl_redis_engine;        /* redis://  one server                         */
extern const bwl_engine bwl_tls_engine;          /* rediss://  the same over TLS                 */
extern const bwl_engine bwl_unix_engine;         /* unix://  the same over a Unix socket         */
extern const bwl_engine bwl_sentinel_engine;     /* redis+sentinel://  the primary of a service  */
extern const bwl_engine bwl_sentinel_tls_engine; /* rediss+sentinel://  the same over TLS        */
extern const bwl_engine bwl_cluster_engine;      /* redis+cluster://  the nodes of a cluster     */
extern const bwl_engine bwl_cluster_tls_engine;  /* rediss+cluster://  the same over TLS         */
extern const bwl_engine bwl_redlock_engine;      /* redlock://  a majority of several servers    */
extern const bwl_engine bwl_redlock_tls_engine;  /* redlocks://  the same over TLS               */
