/*
 * inside.h -- the parts of a server and of a link, for the files of core/ and for the commands that
 * show or change the server itself.
 */
#pragma once

#include "sim/redis/core/call.h"

typedef struct model_user   model_user;   /* acl.c */
typedef struct model_lua    model_lua;    /* script.c */
typedef struct model_config model_config; /* config.h */

typedef struct model_links {
    model_link **at;
    size_t       count;
    size_t       room;
} model_links;

typedef enum model_channel_kind {
    MODEL_CHANNEL = 1,
    MODEL_PATTERN,
    MODEL_SHARD_CHANNEL,
    MODEL_CHANNEL_KINDS,
} model_channel_kind;

typedef struct model_queued {
    const model_command *command;
    model_text          *argv; /* one piece of memory with the texts */
    size_t               argc;
} model_queued;

typedef struct model_transaction {
    model_queued *commands;
    size_t        count;
    size_t        room;
    model_table   watched; /* of watch_key: whether the key had expired */
    unsigned      flags;   /* of the commands, together */
    bool          is_open;
    bool          has_failed; /* a command was not accepted */
    bool          is_broken;  /* a watched key has changed */
} model_transaction;

typedef struct model_wait {
    int64_t  until_us;
    uint64_t offset;
    int64_t  replicas;
    bool     is_waiting;
} model_wait;

struct model_link {
    model_server     *server;
    void             *data;
    uint64_t          id;
    char             *address;
    char             *name;
    char             *library[2]; /* its name and its version */
    model_user       *user;       /* NULL: not authenticated */
    model_bytes       in;
    model_bytes       out;
    model_bytes       pushes;        /* messages that follow the reply to the present command */
    model_bytes       invalidations; /* and follow these */
    model_transaction transaction;
    model_table       channels[MODEL_CHANNEL_KINDS];
    model_table       tracked; /* keys that it has read */
    model_wait        wait;
    uint64_t          written; /* the offset behind its last command */
    int64_t           opened_us;
    unsigned          database;
    unsigned          resp;
    unsigned          flags;
};

enum {
    LINK_CLOSING    = 1u << 0, /* no further command */
    LINK_DEAD       = 1u << 1, /* the owner knows */
    LINK_HAS_OUTPUT = 1u << 2, /* in the list of such links */
    LINK_TRACKS     = 1u << 3,
    LINK_NO_LOOP    = 1u << 4,
    LINK_ASKING     = 1u << 5,
    LINK_READONLY   = 1u << 6,
    LINK_REPLY_OFF  = 1u << 7,
    LINK_REPLY_SKIP = 1u << 8,
    LINK_SKIP_NEXT  = 1u << 9,
    LINK_IS_PRIMARY = 1u << 10,
    LINK_IS_RUNNING = 1u << 11, /* one of its commands is carried out now */
    LINK_IN_BUFFER  = 1u << 12, /* its input is read now */
};

typedef struct model_effects {
    model_bytes log;
    uint64_t    begin; /* the offset of its first byte */
    model_bytes pending;
    unsigned    pending_count;
    int         database;  /* that the pending ones have selected */
    model_bytes own;       /* what a command logs in place of itself */
    bool        is_silent; /* while effects of a primary are applied */
} model_effects;

typedef struct model_replica_state {
    uint64_t offset;
    int64_t  acked_us;
    bool     is_there;
} model_replica_state;

typedef struct model_replication {
    model_replica_state replicas[MODEL_REPLICAS_MAX];
    char                primary_host[256]; /* "": this is a primary */
    uint16_t            primary_port;
    bool                is_up;    /* the link to the primary */
    bool                is_asked; /* by REPLICAOF */
    char                id[MODEL_RUN_ID_SIZE + 1];
    char                id_before[MODEL_RUN_ID_SIZE + 1];
    uint64_t            offset_before;
    model_link         *from_primary;
} model_replication;

/* Where the active expiry goes on. */
typedef struct model_expiry_cursor {
    size_t   entry;
    unsigned database;
} model_expiry_cursor;

struct model_server {
    model_version        version;
    model_owner          owner;
    char                *host;
    uint16_t             port;
    bool                 is_cluster;
    int64_t              now_us;
    int64_t              started_us;
    char                 run_id[MODEL_RUN_ID_SIZE + 1];
    model_dataset       *data;
    model_table          commands; /* of model_command, by name in lower case */
    model_links          links;
    model_links          with_output;
    uint64_t             last_id;
    uint64_t             commands_run;
    model_table          channels[MODEL_CHANNEL_KINDS]; /* of model_links */
    model_table          watched;                       /* of model_links */
    model_table          tracked;                       /* of model_links */
    model_effects        effects;
    model_replication    replication;
    model_table          users; /* of model_user */
    model_lua           *lua;
    model_config        *config;
    model_cluster_view  *view;     /* NULL: not in a cluster, or without a slot */
    model_sentinel_view *services; /* NULL: this is no sentinel */
    model_expiry_cursor  expiry;
};

void model_links_add(model_links *links, model_link *link);
bool model_links_remove(model_links *links, const model_link *link);
void model_links_free(void *links); /* one that was allocated */

/* ---- links ----------------------------------------------------------------------------------- */

/* Bytes for a link, outside of a reply; sent at the end of the present feed. */
model_bytes *model_link_output(model_link *link);
/* For a push; while the link runs a command, it is kept in *later. */
model_bytes *model_push_output(model_link *link, model_bytes *later);
void         model_link_end(model_link *link); /* after what it was sent */
void         model_links_flush(model_server *server);
void         model_link_forget(model_link *link); /* frees it */
void         model_link_read(model_link *link);   /* what it has kept */

/* ---- dispatch -------------------------------------------------------------------------------- */

void model_execute(model_link *link, const model_text *argv, size_t argc);
/* Carries out a command that was accepted: effects, tracking. */
void model_run(model_call *call);
bool model_is_out_of_memory(model_server *server);
bool model_has_good_replicas(const model_server *server);

/* ---- keys ------------------------------------------------------------------------------------ */

bool model_has_expired(const model_server *server, const model_value *value);
/* Deletes it, logs that, and tells those who track it. */
void model_drop_key(model_server *server, unsigned database, model_text key);
void model_key_changed(model_server *server, unsigned database, model_text key);
void model_expire_some(model_server *server, unsigned entries);
/* Transactions. */
void model_watch(model_link *link, model_text key);
void model_unwatch(model_link *link);
bool model_watch_has_failed(model_link *link);
void model_watchers_break(model_server *server, unsigned database, model_text key);
void model_transaction_clear(model_link *link);
void model_transaction_queue(model_link *link, const model_command *command, const model_text *argv,
                             size_t argc);
/* Tracking. */
void model_track(model_link *link, model_text key);
void model_untrack(model_link *link);
void model_trackers_tell(model_server *server, model_text key);
void model_trackers_flush(model_server *server);

/* ---- pub/sub --------------------------------------------------------------------------------- */

size_t model_publish(model_server *server, bool is_sharded, model_text channel, model_text message);
bool   model_subscribe(model_link *link, model_channel_kind kind, model_text channel);
bool   model_unsubscribe(model_link *link, model_channel_kind kind, model_text channel);
size_t model_subscriptions(const model_link *link);
/* A push, or in RESP2 an array, of the link. */
void model_write_push(model_link *link, size_t count);
void model_write_bulk(model_bytes *out, model_text text);
void model_unsubscribe_all(model_link *link, model_channel_kind kind);
void model_unsubscribe_moved(model_server *server);

/* ---- effects --------------------------------------------------------------------------------- */

void   model_effects_add(model_server *server, unsigned database, const model_text *argv,
                         size_t argc);
void   model_effects_add_own(model_server *server, unsigned database);
void   model_effects_end(model_server *server); /* of a command, with all inside it */
size_t model_replicas_with(const model_server *server, uint64_t offset);
void   model_waiters_serve(model_server *server);
void   model_waiters_disconnect(model_server *server);

/* REPLICAOF; host NULL: this is a primary. */
void model_turn(model_server *server, const char *host, uint16_t port);
