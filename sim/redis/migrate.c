/*
 * migrate.c -- a key moves from one server to another in one step, as MIGRATE and RESTORE do it.
 * The effects at the target are commands that build the value again.
 */
#include "sim/redis/core/effects.h"
#include "sim/redis/core/keyspace.h"
#include "sim/redis/core/link.h"
#include "sim/redis/data/hash.h"

#include <stdlib.h>

enum { NUMBER_MAX = 40, US_IN_MS = 1000, WORDS_MAX = 4 };

static void log_command(model_server *server, const char *name, model_text key, model_text a,
                        model_text b)
{
    model_text words[WORDS_MAX] = { model_text_of(name), key, a, b };

    model_effects_add(server, 0, words, b.at != NULL ? 4 : a.at != NULL ? 3 : 2);
}

static void log_table(model_server *server, model_text key, const model_value *value)
{
    size_t       at = 0;
    model_entry *entry;

    while ((entry = model_table_next(&value->as.table, &at)) != NULL) {
        model_text name = { entry->key, entry->size };
        if (value->type == MODEL_HASH)
            log_command(server, "HSET", key, name, model_bytes_text(entry->value));
        else
            log_command(server, "SADD", key, name, (model_text){ NULL, 0 });
    }
}

static void log_value(model_server *server, model_text key, const model_value *value)
{
    const model_text none = { NULL, 0 };
    char             number[NUMBER_MAX];
    size_t           count = model_value_count(value);

    switch (value->type) {
    case MODEL_STRING: {
        model_text text = model_bytes_text(&value->as.string);
        log_command(server, "SET", key, text.at != NULL ? text : model_text_of(""), none);
        break;
    }
    case MODEL_LIST:
        for (size_t i = 0; i < count; i++)
            log_command(server, "RPUSH", key, model_list_at(value, i), none);
        break;
    case MODEL_ZSET:
        for (size_t i = 0; i < count; i++) {
            const model_member *member = &value->as.zset.members[i];
            size_t size = model_write_double(number, sizeof number, member->score, false);
            log_command(server, "ZADD", key, (model_text){ number, size }, member->name);
        }
        break;
    case MODEL_SET:
    case MODEL_HASH: log_table(server, key, value); break;
    }
}

static void restore(model_server *server, model_text key, const model_value *value,
                    int64_t expires_ms)
{
    model_value *copy   = model_value_copy(value);
    model_bytes  number = { .size = 0 };

    model_drop_key(server, 0, key);
    log_value(server, key, value);
    copy->expires_ms = MODEL_NO_EXPIRY;
    model_store_put(server->data, 0, key, copy);
    if (expires_ms != MODEL_NO_EXPIRY) {
        model_bytes_add_integer(&number, expires_ms);
        log_command(server, "PEXPIREAT", key, model_bytes_text(&number), (model_text){ NULL, 0 });
        model_store_expire(server->data, 0, copy, expires_ms);
    }
    model_bytes_free(&number);
    model_key_changed(server, 0, key);
    model_effects_end(server);
}

static model_entry *find_of_slot(const model_server *server, unsigned slot)
{
    size_t       at = 0;
    model_entry *entry;

    while ((entry = model_table_next(&server->data->keys[0], &at)) != NULL) {
        if (model_slot_of((model_text){ entry->key, entry->size }) == slot)
            return entry;
    }
    return NULL;
}

bool model_server_move_key(model_server *from, model_server *to, unsigned slot, int64_t from_us,
                           int64_t to_us)
{
    from->now_us       = from_us;
    to->now_us         = to_us;
    model_entry *entry = find_of_slot(from, slot);
    if (entry == NULL)
        return false;
    const model_value *value   = entry->value;
    int64_t            expires = value->expires_ms;
    char              *name    = model_text_copy((model_text){ entry->key, entry->size });
    model_text         key     = { name, entry->size };

    if (expires != MODEL_NO_EXPIRY)
        expires += to_us / US_IN_MS - from_us / US_IN_MS;
    if (!model_value_has_expired(value, model_now_ms(from)))
        restore(to, key, value, expires);
    model_drop_key(from, 0, key);
    model_effects_end(from);
    free(name);
    model_links_flush(from);
    model_links_flush(to);
    return true;
}

unsigned model_key_slot(const char *key, size_t size)
{
    return model_slot_of((model_text){ key, size });
}
