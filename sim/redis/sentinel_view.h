/*
 * sentinel_view.h -- what a sentinel believes: the services that it monitors, and their primaries.
 *
 * A view is plain data.  The owner gives a new one whenever the belief changes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_SERVICES_MAX = 4, MODEL_PEERS_MAX = 8 };

typedef struct model_peer {
    char     host[64];
    uint16_t port;
} model_peer;

typedef struct model_service {
    char       name[64];
    model_peer primary;
    uint64_t   epoch;
    bool       is_down; /* this sentinel does not reach the primary */
    unsigned   quorum;
    model_peer replicas[MODEL_PEERS_MAX];
    unsigned   replicas_count;
    model_peer sentinels[MODEL_PEERS_MAX]; /* the others */
    unsigned   sentinels_count;
} model_service;

typedef struct model_sentinel_view {
    model_service services[MODEL_SERVICES_MAX];
    unsigned      services_count;
} model_sentinel_view;
