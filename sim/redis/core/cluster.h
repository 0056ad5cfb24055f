/*
 * cluster.h -- which node serves a key: the decision of getNodeByQuery in Redis.
 */
#pragma once

#include "sim/redis/core/call.h"

typedef enum model_route {
    MODEL_ROUTE_HERE = 1,
    MODEL_ROUTE_MOVED,
    MODEL_ROUTE_ASK,
    MODEL_ROUTE_CROSSSLOT,
    MODEL_ROUTE_TRYAGAIN,
    MODEL_ROUTE_DOWN,
    MODEL_ROUTE_UNSERVED,
} model_route;

/* A command with its arguments, or, of EXEC, those that the link has queued. */
model_route model_cluster_route(const model_call *call, unsigned *ret_slot, int *ret_node);
void        model_cluster_refuse(model_call *call, model_route route, unsigned slot, int node);
/* Copies the view.  A subscription to a channel that another node serves now ends. */
void model_cluster_set_view(model_server *server, const model_cluster_view *view);
