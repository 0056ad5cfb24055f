/*
 * keyspace.c -- see keyspace.h.
 *
 * Expiry is lazy.  On a primary a key whose time is over is deleted when a command finds it, and
 * the deletion is logged before the command.  A replica does not delete it: for its clients it does
 * not exist, and for commands of its primary it does.
 */
#include "sim/redis/core/keyspace.h"
#include "sim/redis/core/effects.h"
#include "sim/redis/core/replication.h"
#include "sim/redis/core/tracking.h"
#include "sim/redis/core/watch.h"

#include <stdlib.h>

void model_key_changed(model_server *server, unsigned database, model_text key)
{
    model_watchers_break(server, database, key);
    model_tracking_invalidate(server, key);
}

void model_drop_key(model_server *server, unsigned database, model_text key)
{
    model_text del[2] = { model_text_of("DEL"), key };
    char      *copy   = model_text_copy(key); /* it may be the key of the entry */

    del[1].at = copy;
    if (model_store_remove(server->data, database, key)) {
        model_effects_add(server, database, del, 2);
        model_key_changed(server, database, del[1]);
    }
    free(copy);
}

model_value *model_find_any(model_call *call, model_text key)
{
    model_server *server = call->server;
    model_value  *value  = model_store_find(server->data, *call->database, key);

    if (value == NULL)
        return NULL;
    if (call->origin != MODEL_FROM_PRIMARY &&
        model_value_has_expired(value, model_now_ms(server))) {
        if (!model_is_replica(server))
            model_drop_key(server, *call->database, key);
        return NULL;
    }
    value->used_at = server->commands_run;
    return value;
}

bool model_find(model_call *call, model_text key, model_type type, model_value **ret_value)
{
    *ret_value = model_find_any(call, key);
    if (*ret_value == NULL || (*ret_value)->type == type)
        return true;
    model_reply_error(call, "WRONGTYPE Operation against a key holding the wrong kind of value");
    return false;
}

model_value *model_create(model_call *call, model_text key, model_type type)
{
    model_value *value = model_value_new(type);

    value->used_at = call->server->commands_run;
    model_store_put(call->server->data, *call->database, key, value);
    return value;
}

void model_replace(model_call *call, model_text key, model_value *value)
{
    value->used_at = call->server->commands_run;
    model_store_put(call->server->data, *call->database, key, value);
    call->changes++;
    model_key_changed(call->server, *call->database, key);
}

bool model_delete(model_call *call, model_text key)
{
    if (!model_store_remove(call->server->data, *call->database, key))
        return false;
    call->changes++;
    model_key_changed(call->server, *call->database, key);
    return true;
}

void model_changed(model_call *call, model_text key, model_value *value)
{
    if (value->type != MODEL_STRING && model_value_count(value) == 0) {
        (void)model_delete(call, key);
        return;
    }
    model_store_count(call->server->data, value);
    call->changes++;
    model_key_changed(call->server, *call->database, key);
}

void model_expire_at(model_call *call, model_value *value, int64_t expires_ms)
{
    model_store_expire(call->server->data, *call->database, value, expires_ms);
}

/* ---- what the server does by itself ---------------------------------------------------------- */

/* Some entries of one database; the next call goes on behind them. */
void model_expire_some(model_server *server, unsigned entries)
{
    if (model_is_replica(server))
        return;
    for (unsigned empty = 0; entries > 0 && empty < MODEL_DATABASES;) {
        unsigned     database = server->expiry.database;
        model_entry *entry    = NULL;
        if (server->data->expiring[database] != 0)
            entry = model_table_next(&server->data->keys[database], &server->expiry.entry);
        if (entry == NULL) {
            server->expiry.entry    = 0;
            server->expiry.database = (database + 1) % MODEL_DATABASES;
            empty++;
            continue;
        }
        entries--;
        if (model_value_has_expired(entry->value, model_now_ms(server)))
            model_drop_key(server, database, (model_text){ entry->key, entry->size });
    }
    model_effects_end(server);
}

/* ---- whole databases ------------------------------------------------------------------------- */

void model_clear_databases(model_server *server, unsigned first, unsigned last)
{
    for (unsigned database = first; database <= last; database++) {
        model_watchers_break_all(server, database);
        model_store_clear(server->data, database);
    }
    server->expiry.entry = 0;
    model_tracking_invalidate_all(server);
}

void model_swap_databases(model_server *server, unsigned one, unsigned other)
{
    model_watchers_break_all(server, one);
    model_watchers_break_all(server, other);
    model_store_swap(server->data, one, other);
    model_watchers_break_all(server, one);
    model_watchers_break_all(server, other);
}

void model_load_databases(model_server *server, const model_dataset *dataset)
{
    model_dataset_free(server->data);
    server->data         = model_dataset_copy(dataset);
    server->expiry.entry = 0;
    model_tracking_invalidate_all(server);
}
