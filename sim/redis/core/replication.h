/*
 * replication.h -- the role of a server, its primary, and how far its replicas are.
 *
 * Other files read the fields; replication.c changes them.
 */
#pragma once

#include "sim/redis/core/state.h"

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

/* From the owner's random numbers. */
void model_write_run_id(const model_server *server, char ret_id[MODEL_RUN_ID_SIZE + 1]);
void model_replication_begin(model_server *server); /* a primary */
bool model_is_replica(const model_server *server);
/* REPLICAOF; host NULL: this is a primary.  is_asked: the owner is to move the data. */
void model_turn(model_server *server, const char *host, uint16_t port, bool is_asked);
/* The link from which the effects of the primary come; opened by the first call. */
model_link *model_link_of_primary(model_server *server);
void        model_end_link_of_primary(model_server *server);

void   model_replica_acked(model_server *server, unsigned replica, uint64_t offset);
void   model_replica_lost(model_server *server, unsigned replica);
bool   model_has_good_replicas(const model_server *server); /* min-replicas-to-write */
size_t model_replicas_with(const model_server *server, uint64_t offset);
