/*
 * sentinel.h -- the commands to Redis Sentinel, and its replies: the address of a service's primary
 * and the configuration epoch, which grows with every failover. No I/O.
 *
 *      HELLO 3 [AUTH user password]
 *      SUBSCRIBE +switch-master                   first, so that no switch is missed
 *      SENTINEL MASTER service                    fields: ip, port, flags, config-epoch, ...
 *      SENTINEL GET-MASTER-ADDR-BY-NAME service   host and port, or null: unknown service
 *
 *      > message +switch-master "service old-host old-port new-host new-port"
 *
 * The order of the two queries matters.  While a sentinel carries out a failover, from the moment
 * when the replica has become a primary until the other replicas follow it, MASTER has the new
 * epoch and still the old address; GET-MASTER-ADDR-BY-NAME has the new one.  Epoch and address
 * change in one step.  If that step comes between the two replies, they are the old epoch and the
 * new address, which is harmless; in the other order they would be the new epoch and the old
 * address.
 *
 * A message has no epoch.  So it is a reason to leave another server and to ask; the answers decide
 * which server is used.
 *
 * Source: redis.io, "High availability with Redis Sentinel", its sections on the API and on
 * Pub/Sub messages; "Guidelines for Redis clients with support for Redis Sentinel".
 */
#pragma once

#include "engine/redis/wire/resp.h"

#define BWL_SENTINEL_CHANNEL "+switch-master"

/* What a user needs at a sentinel, in the syntax of ACL SETUSER; HELLO is always permitted. */
#define BWL_SENTINEL_RIGHTS \
    "&" BWL_SENTINEL_CHANNEL " +subscribe +sentinel|master +sentinel|get-master-addr-by-name"

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

/* The reply to MASTER.  The address is that of the instance that the flags are about. */
typedef struct bwl_sentinel_state {
    uint64_t    epoch;
    bool        is_down; /* o_down: a quorum of the sentinels does not reach it */
    bwl_primary instance;
} bwl_sentinel_state;

/* What a sentinel says about a service. */
typedef struct bwl_sentinel_answer {
    bwl_primary primary;
    uint64_t    epoch;
    bool        is_down; /* a quorum of the sentinels does not reach this primary */
} bwl_sentinel_answer;

/* Each reads a frame that is not a push: the reply to MASTER, and to GET-MASTER-ADDR-BY-NAME. */
bwl_sentinel_says bwl_sentinel_read_state(bwl_sentinel_state *ret_state, const char *bytes,
                                          size_t size);
bwl_sentinel_says bwl_sentinel_read(bwl_primary *ret_primary, const char *bytes, size_t size);

/* Of the two replies. */
bwl_sentinel_answer bwl_sentinel_answer_of(const bwl_sentinel_state *state,
                                           const bwl_primary        *primary);

/* Reads a push.  True if it reports a new primary of this service. */
bool bwl_sentinel_read_switch(bwl_primary *ret_primary, const char *service, const char *bytes,
                              size_t size);
