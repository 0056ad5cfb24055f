/*
 * state.h -- a server and a link.
 *
 * A comment names the file that owns a field: no other file uses it, and the functions are in the
 * header of the owner.  The other fields may be read by all files.
 */
#pragma once

#include "sim/redis/core/links.h"
#include "sim/redis/core/transaction.h"

enum { MODEL_MS_IN_US = 1000, MODEL_S_IN_US = 1000000 };

typedef enum model_channel_kind {
    MODEL_CHANNEL = 1,
    MODEL_PATTERN,
    MODEL_SHARD_CHANNEL,
    MODEL_CHANNEL_KINDS,
} model_channel_kind;

/* WAIT.  The command sets it, input.c and replication.c end it. */
typedef struct model_wait {
    int64_t  until_us;
    uint64_t offset;
    int64_t  replicas;
    bool     is_waiting;
} model_wait;

struct model_link {
    model_server      *server;
    void              *data;
    uint64_t           id;
    char              *address;
    int64_t            opened_us;
    char              *name;
    char              *library[2]; /* its name and its version */
    struct model_user *user;       /* NULL: not authenticated */
    unsigned           database;
    unsigned           resp;
    unsigned           flags;
    model_transaction  transaction;
    model_wait         wait;
    uint64_t           written; /* the offset behind its last command */
    bool               has_run_script;
    uint64_t           released;                      /* scripts.c: hashes of a value ... */
    uint64_t           released_by;                   /* ... and of a script; 0: nothing */
    model_bytes        in;                            /* input.c */
    model_bytes        out;                           /* output.c */
    model_bytes        pushes;                        /* output.c: they follow the reply */
    model_bytes        invalidations;                 /* output.c: and these follow them */
    model_table        channels[MODEL_CHANNEL_KINDS]; /* pubsub.c */
    model_table        tracked;                       /* tracking.c: keys that it has read */
    model_table        watched;                       /* watch.c: whether the key had expired */
    bool               is_broken;                     /* watch.c: a watched key has changed */
};

enum {
    LINK_CLOSING    = 1u << 0, /* no further command */
    LINK_DEAD       = 1u << 1, /* the owner of the server has closed it */
    LINK_HAS_OUTPUT = 1u << 2, /* output.c: it is in the list of such links */
    LINK_TRACKS     = 1u << 3, /* tracking.c sets it */
    LINK_NO_LOOP    = 1u << 4, /* tracking.c */
    LINK_ASKING     = 1u << 5,
    LINK_READONLY   = 1u << 6,
    LINK_REPLY_OFF  = 1u << 7,
    LINK_REPLY_SKIP = 1u << 8,
    LINK_SKIP_NEXT  = 1u << 9,
    LINK_IS_PRIMARY = 1u << 10,
    LINK_IS_RUNNING = 1u << 11, /* one of its commands is carried out now */
    LINK_IN_BUFFER  = 1u << 12, /* input.c: its input is read now */
    LINK_OPTS_IN    = 1u << 13, /* tracking.c: tracks only after CLIENT CACHING YES */
    LINK_CACHES     = 1u << 14, /* its next command is tracked */
};

/* Where the active expiry goes on. */
typedef struct model_expiry_cursor {
    size_t   entry;
    unsigned database;
} model_expiry_cursor;

struct model_server {
    model_version             version;
    model_owner               owner;
    char                     *host;
    uint16_t                  port;
    bool                      is_cluster;
    int64_t                   now_us;
    int64_t                   started_us;
    char                      run_id[MODEL_RUN_ID_SIZE + 1];
    uint64_t                  commands_run; /* dispatch.c counts them */
    model_dataset            *data;
    struct model_config      *config;
    struct model_replication *replication;
    model_cluster_view       *view;        /* NULL: not in a cluster, or without a slot */
    model_sentinel_view      *services;    /* NULL: this is no sentinel */
    model_links               links;       /* link.c changes it */
    uint64_t                  last_id;     /* link.c */
    model_links               with_output; /* output.c */
    struct model_effects     *effects;     /* effects.c */
    model_table               commands;    /* command.c, by name in lower case */
    model_table               channels[MODEL_CHANNEL_KINDS]; /* pubsub.c: of model_links */
    model_table               watched;                       /* watch.c: of model_links */
    model_table               tracked;                       /* tracking.c: of model_links */
    model_table               users;                         /* acl.c: of model_user */
    struct model_lua         *lua;                           /* script/ */
    model_expiry_cursor       expiry;                        /* keyspace.c */
};

static inline int64_t model_now_ms(const model_server *server)
{
    return server->now_us / MODEL_MS_IN_US;
}
