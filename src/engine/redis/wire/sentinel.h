/*
 * sentinel.h -- the commands to Redis Sentinel, and its replies: the address of a service's
 * primary. No I/O.
 *
 *      HELLO 3 [AUTH user password]
 *      SUBSCRIBE +switch-master                   first, so that no switch is missed
 *      SENTINEL GET-MASTER-ADDR-BY-NAME service   host and port, or null: unknown service
 *
 *      > message +switch-master "service old-host old-port new-host new-port"
 *
 * Source: redis.io, "High availability with Redis Sentinel", its sections on the API and on
 * Pub/Sub messages; "Guidelines for Redis clients with support for Redis Sentinel".
 */
#pragma once

#include "engine/redis/wire/resp.h"

#define BWL_SENTINEL_CHANNEL "+switch-master"

enum { BWL_PRIMARY_HOST_MAX = 255, BWL_SENTINEL_NAME_MAX = 255 }; /* of a service's name, bytes */

typedef struct bwl_primary {
    char     host[BWL_PRIMARY_HOST_MAX + 1];
    uint16_t port;
} bwl_primary;

bool bwl_primary_is(const bwl_primary *one, const bwl_primary *other);

/* True for a host of printable characters without blanks (it may be empty), and a port: the
 * resolver and error texts get them. */
bool bwl_primary_take(bwl_primary *ret_primary, bwl_bytes host, uint64_t port);

typedef enum bwl_sentinel_says {
    BWL_SENTINEL_STRANGE = 1, /* not a reply to the command */
    BWL_SENTINEL_ERROR,       /* an error: see the bytes */
    BWL_SENTINEL_UNKNOWN,     /* it does not monitor this service */
    BWL_SENTINEL_FOUND,
} bwl_sentinel_says;

/* Reads a frame that is not a push: the reply to the query. */
bwl_sentinel_says bwl_sentinel_read(bwl_primary *ret_primary, const char *bytes, size_t size);

/* Reads a push.  True if it reports a new primary of this service. */
bool bwl_sentinel_read_switch(bwl_primary *ret_primary, const char *service, const char *bytes,
                              size_t size);
