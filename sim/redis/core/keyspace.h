/*
 * keyspace.h -- how commands find and change keys.
 *
 * Each change breaks the transactions that watch the key, and invalidates it for the links that
 * track it.
 */
#pragma once

#include "sim/redis/core/call.h"
#include "sim/redis/data/store.h"

/* The value of a key, which may be NULL: no such key.  False: an error about its type was replied.
 * A key whose time is over is not there, and is deleted on a primary. */
bool model_find(model_call *call, model_text key, model_type type, model_value **ret_value);
/* Of any type. */
model_value *model_find_any(model_call *call, model_text key);
model_value *model_create(model_call *call, model_text key, model_type type);
/* Takes the value. */
void model_replace(model_call *call, model_text key, model_value *value);
bool model_delete(model_call *call, model_text key); /* counts the change */
/* The key has changed, or will be deleted if its value has no element left. */
void model_changed(model_call *call, model_text key, model_value *value);
void model_expire_at(model_call *call, model_value *value, int64_t expires_ms);

/* ---- without a command ----------------------------------------------------------------------- */

/* Deletes the key, and logs that. */
void model_drop_key(model_server *server, unsigned database, model_text key);
void model_key_changed(model_server *server, unsigned database, model_text key);
void model_expire_some(model_server *server, unsigned entries);
/* Whole databases, the first to the last. */
void model_clear_databases(model_server *server, unsigned first, unsigned last);
void model_swap_databases(model_server *server, unsigned one, unsigned other);
/* Copies the dataset. */
void model_load_databases(model_server *server, const model_dataset *dataset);
