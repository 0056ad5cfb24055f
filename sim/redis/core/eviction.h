/*
 * eviction.h -- maxmemory, and the keys that a server evicts to keep to it.
 */
#pragma once

#include "sim/redis/server.h"

/* A server itself uses so much, without keys. */
enum { MODEL_MEMORY_OF_SERVER = 1 << 20 };

/* Evicts keys, as the policy allows; true: that was not enough. */
bool model_is_out_of_memory(model_server *server);
