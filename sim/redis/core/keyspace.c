/*
 * keyspace.c -- how commands find and change keys.
 *
 * Expiry is lazy.  On a primary a key whose time is over is deleted when a command finds it, and
 * the deletion is logged before the command.  A replica does not delete it: for its clients it does
 * not exist, and for commands of its primary it does.
 */
#include "sim/redis/core/inside.h"

#include <stdlib.h>

enum { MS_IN_US = 1000 };

int64_t model_now_ms(const model_server *server)
{
    return server->now_us / MS_IN_US;
}

bool model_has_expired(const model_server *server, const model_value *value)
{
    return value->expires_ms != MODEL_NO_EXPIRY && model_now_ms(server) > value->expires_ms;
}

static bool is_primary(const model_server *server)
{
    return server->replication.primary_host[0] == '\0';
}

void model_key_changed(model_server *server, unsigned database, model_text key)
{
    model_watchers_break(server, database, key);
    model_trackers_tell(server, key);
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
    if (value->expires_ms != MODEL_NO_EXPIRY && call->origin != MODEL_FROM_PRIMARY &&
        model_has_expired(server, value)) {
        if (is_primary(server))
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
    if (!is_primary(server))
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
        if (model_has_expired(server, entry->value))
            model_drop_key(server, database, (model_text){ entry->key, entry->size });
    }
    model_effects_end(server);
}
