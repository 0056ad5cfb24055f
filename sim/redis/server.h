/*
 * server.h -- a model of a Redis server: bytes and time in, bytes and deadlines out.
 *
 * It has no socket, no clock, no thread and no random numbers of its own: the owner gives all of
 * them.  Replies, errors, pushes, scripts and expiry are those of the version that the options
 * name, as far as bowline and its tests use them; tests/sim compares them with real servers.
 *
 * Every change of the data appends the command that repeats it to a log: the effects.  An offset is
 * a number of bytes since the first server of a history.  A replica is a server to which the owner
 * applies the effects of another, and so is a disk.
 *
 * Not modelled: BLPOP and other commands that block, beside WAIT; SCAN, DUMP, OBJECT, streams;
 * functions; CLIENT PAUSE; tracking with prefixes or redirection; selectors of the ACL.
 *
 * One thread at a time.  The functions of the owner may call nothing of this module.
 */
#pragma once

#include "sim/redis/cluster_view.h"
#include "sim/redis/dataset.h"
#include "sim/redis/sentinel_view.h"

enum { MODEL_RUN_ID_SIZE = 40, MODEL_REPLICAS_MAX = 8 };

typedef struct model_server model_server;
typedef struct model_link   model_link;

typedef enum model_version {
    MODEL_REDIS_6_2 = 1,
    MODEL_REDIS_7_0,
    MODEL_VALKEY_9,
} model_version;

typedef struct model_owner {
    /* The bytes are valid during the call only. */
    void (*send)(void *arg, void *link_data, const char *bytes, size_t size);
    /* The server closes the link, after what it has sent.  The link lives until the owner calls
     * model_link_closed, and ignores what it is fed. */
    void (*close)(void *arg, void *link_data);
    uint64_t (*random)(void *arg);
    /* PUBLISH in a cluster goes to every node, SPUBLISH to those of the slot: the owner calls
     * model_server_deliver on the others.  May be NULL. */
    void (*cluster_publish)(void *arg, bool is_sharded, const char *channel, size_t channel_size,
                            const char *message, size_t message_size);
    /* A client did what no client of bowline may do: see command/scripts.c and client.c.  May be
     * NULL. */
    void (*complain)(void *arg, const char *text);
    void *arg;
} model_owner;

typedef struct model_server_options {
    model_version        version;
    const char          *host;     /* of this server, in replies; copied */
    const char          *password; /* of the user default; NULL: none */
    const model_dataset *dataset;  /* copied; NULL: empty */
    uint64_t             offset;   /* at which the effects begin */
    int64_t              now_us;
    uint16_t             port;
    bool                 is_cluster;
    bool                 is_sentinel; /* answers the commands of a sentinel only */
} model_server_options;

/* The server is a primary.  It has a new run_id, from the owner's random numbers. */
model_server *model_server_new(const model_server_options *options, model_owner owner);
/* Frees the links too, without a call of the owner.  Takes NULL. */
void        model_server_free(model_server *server);
const char *model_server_run_id(const model_server *server);

/* ---- links ----------------------------------------------------------------------------------- */

/* client_address is "host:port", copied. */
model_link *model_link_open(model_server *server, void *link_data, const char *client_address,
                            int64_t now_us);
/* now_us: the wall clock of the server, in microseconds since 1970.  It may jump. */
void model_link_feed(model_link *link, const char *bytes, size_t size, int64_t now_us);
bool model_link_has_run_script(const model_link *link);
/* The link is gone; this frees it. */
void model_link_closed(model_link *link);

/* The next moment at which the server does something by itself; INT64_MAX: none. */
int64_t model_server_deadline(const model_server *server);
/* Ends what has a deadline that is over, and deletes some of the keys whose time is over. */
void model_server_tick(model_server *server, int64_t now_us);

/* ---- data ------------------------------------------------------------------------------------ */

/* Valid until the server is freed; it changes with the server. */
const model_dataset *model_server_dataset(const model_server *server);

/* The effects from an offset on, valid until the next call.  False: they are trimmed, or the offset
 * is behind the end. */
bool     model_server_effects(const model_server *server, uint64_t from, const char **ret_bytes,
                              size_t *ret_size);
uint64_t model_server_offset(const model_server *server); /* the end */
/* The log grows until the owner trims it. */
void model_server_trim(model_server *server, uint64_t before);

/* Of a replica: carries out effects of its primary, whole commands or pieces of them. */
void model_server_apply(model_server *server, const char *bytes, size_t size, int64_t now_us);
/* A full synchronization: copies the dataset; the effects begin at the offset. */
void model_server_load(model_server *server, const model_dataset *dataset, uint64_t offset,
                       int64_t now_us);

/* ---- replication ----------------------------------------------------------------------------- */

/* A replica of this server has the effects up to the offset.  It counts for WAIT and
 * min-replicas-to-write until model_server_lost_replica. */
void model_server_acked(model_server *server, unsigned replica, uint64_t offset, int64_t now_us);
void model_server_lost_replica(model_server *server, unsigned replica, int64_t now_us);

/* host NULL: the server is a primary from now on.  Otherwise it is a replica; its link to the
 * primary is down until model_server_primary_link. */
void model_server_follow(model_server *server, const char *host, uint16_t port, int64_t now_us);
void model_server_primary_link(model_server *server, bool is_up, int64_t now_us);
/* What REPLICAOF asked for since the last call: true, and host (255 bytes at most, "" for NO ONE)
 * and port.  The server follows at once; the owner moves the data. */
bool model_server_asked_to_follow(model_server *server, char ret_host[256], uint16_t *ret_port);

/* ---- settings -------------------------------------------------------------------------------- */

/* As CONFIG SET.  False: the name or the value is not accepted. */
bool model_server_configure(model_server *server, const char *name, const char *value);
/* The view is copied.  A subscription to a channel that another node serves now ends. */
void model_server_set_view(model_server *server, const model_cluster_view *view, int64_t now_us);
/* MIGRATE of the first key of a slot; false: there is none. */
bool     model_server_move_key(model_server *from, model_server *to, unsigned slot, int64_t from_us,
                               int64_t to_us);
unsigned model_key_slot(const char *key, size_t size);
/* A message that another node of the cluster published. */
void model_server_deliver(model_server *server, bool is_sharded, const char *channel,
                          size_t channel_size, const char *message, size_t message_size);
/* Of a sentinel.  The view is copied; a service whose primary has another address is announced on
 * +switch-master. */
void model_server_set_services(model_server *server, const model_sentinel_view *view,
                               int64_t now_us);
