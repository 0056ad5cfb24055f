/*
 * engines.h -- the engines there are.  One file each; none knows another.
 */
#ifndef BWL_RUNTIME_ENGINES_H
#define BWL_RUNTIME_ENGINES_H

#include "runtime/client.h"

extern const bwl_engine bwl_thread_engine;   /* thread:   between threads of this process         */
extern const bwl_engine bwl_file_engine;     /* file:     between processes of this machine       */
extern const bwl_engine bwl_redis_engine;    /* redis://  between machines                        */
extern const bwl_engine bwl_tls_engine;      /* rediss:// the same, encrypted, after a look at who
                                            *           is at the other end                      */
extern const bwl_engine bwl_sentinel_engine; /* redis+sentinel://  the primary of a service   */
extern const bwl_engine bwl_sentinel_tls_engine; /* rediss+sentinel:// the same, encrypted        */
extern const bwl_engine bwl_cluster_engine;     /* redis+cluster://   the nodes of a cluster      */
extern const bwl_engine bwl_cluster_tls_engine; /* rediss+cluster://  the same, encrypted         */
extern const bwl_engine bwl_unix_engine;    /* unix://   the same, through a socket in the files */
extern const bwl_engine bwl_redlock_engine; /* redlock:// on most of several Redis servers       */
extern const bwl_engine bwl_redlock_tls_engine; /* redlocks:// the same, encrypted               */

#endif
