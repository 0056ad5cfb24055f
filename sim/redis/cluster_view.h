/*
 * cluster_view.h -- what one node of a cluster believes about it.
 *
 * A view is plain data.  Nodes are numbers, in an order that the owner chooses and keeps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_NODES_MAX = 16, MODEL_VIEW_SLOTS = 16384, MODEL_NODE_ID_SIZE = 40 };

enum { MODEL_NO_NODE = -1 };

typedef struct model_node {
    char     host[64];
    char     id[MODEL_NODE_ID_SIZE + 1];
    uint16_t port;
    int8_t   primary; /* the node that it is a replica of; MODEL_NO_NODE: it is a primary */
    bool     has_failed;
} model_node;

typedef struct model_cluster_view {
    model_node nodes[MODEL_NODES_MAX];
    unsigned   nodes_count;
    unsigned   self;
    uint64_t   epoch;
    bool       is_down;
    int8_t     owner[MODEL_VIEW_SLOTS];          /* a primary; MODEL_NO_NODE */
    int8_t     migrating_to[MODEL_VIEW_SLOTS];   /* MODEL_NO_NODE: not moving */
    int8_t     importing_from[MODEL_VIEW_SLOTS]; /* MODEL_NO_NODE */
} model_cluster_view;
