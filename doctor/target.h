/*
 * target.h -- the servers or the directory of a URL, found by the library's own code.
 *
 * The URL is opened as by bowline_open, with the same error messages.  Nothing is sent.
 */
#pragma once

#include "engine/redis/redis.h"
#include "runtime/shard.h"

enum { DOCTOR_PLACE_MAX = 320 };

/* One Redis server: its address, credentials and TLS settings.  The pointers live as long as the
 * target. */
typedef struct doctor_server {
    const bwl_redis_config *config;
    const char             *host;    /* NULL: a Unix socket, at `address` */
    const bwl_address      *address; /* NULL: the host is looked up */
    uint16_t                port;
    char                    where[128]; /* for messages */
} doctor_server;

typedef struct doctor_target {
    bwl_shard          *client;
    const bwl_protocol *protocol;                /* the protocol of its locks                  */
    const char         *profile;                 /* NULL: none                                 */
    char                place[DOCTOR_PLACE_MAX]; /* the URL without user, password and options */
    bool                is_redis;
    bool                is_quorum;  /* a majority of several servers */
    bool                is_cluster; /* is_redis too */
    bool                is_default; /* the URL names no protocol or profile */
    unsigned            replicas;   /* replicas that must acknowledge a grant */
} doctor_target;

/* lease_ms as in bowline_options.  Close its client. */
int doctor_target_open(doctor_target *ret_target, const char *url, uint32_t lease_ms,
                       bwl_fault *fault);

/* The Redis engine of the target. */
static inline const bwl_redis *doctor_redis(const doctor_target *target)
{
    return bwl_redis_of(&target->client->host);
}

/* The server of a session. */
doctor_server doctor_server_of(const bwl_session *session);

/* Another server, with these credentials and TLS settings.  `host` is borrowed. */
doctor_server doctor_server_at(const bwl_redis_config *config, const char *host, uint16_t port);
