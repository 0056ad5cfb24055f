/*
 * watch.c -- see watch.h.
 */
#include "sim/redis/core/watch.h"
#include "sim/redis/core/state.h"
#include "sim/redis/data/store.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_ROOM = 256 };

static bool has_expired(const model_server *server, const model_value *value)
{
    return model_value_has_expired(value, model_now_ms(server));
}

/* A database and a key, as one text.  The caller frees it if it is not `room`. */
static model_text join(char *room, unsigned database, model_text key)
{
    char *at = key.size < KEY_ROOM ? room : model_allocate(key.size + 1);

    at[0] = (char)database;
    if (key.size != 0)
        memcpy(at + 1, key.at, key.size);
    return (model_text){ at, key.size + 1 };
}

static void part(const char *room, model_text joined)
{
    if (joined.at != room)
        free((char *)(uintptr_t)joined.at);
}

void model_watch(model_link *link, model_text key)
{
    char          room[KEY_ROOM + 1];
    model_server *server = link->server;
    model_text    joined = join(room, link->database, key);
    model_value  *value  = model_store_find(server->data, link->database, key);
    bool          is_new = false;

    void **own = link->is_broken ? NULL : model_table_add(&link->watched, joined, &is_new);
    if (is_new) {
        /* For Redis 6.2, a key that has expired before WATCH has changed. */
        bool counts_as_gone = server->version != MODEL_REDIS_6_2;
        *own = counts_as_gone && value != NULL && has_expired(server, value) ? link : NULL;
        model_links_table_add(&server->watched, joined, link);
    }
    part(room, joined);
}

void model_unwatch(model_link *link)
{
    size_t       at = 0;
    model_entry *entry;

    link->is_broken = false;
    while ((entry = model_table_next(&link->watched, &at)) != NULL)
        (void)model_links_table_remove(&link->server->watched,
                                       (model_text){ entry->key, entry->size }, link);
    model_table_clear(&link->watched, NULL);
}

bool model_watch_has_failed(model_link *link)
{
    size_t       at = 0;
    model_entry *entry;

    if (link->is_broken)
        return true;
    while ((entry = model_table_next(&link->watched, &at)) != NULL) {
        model_text   key = { entry->key + 1, entry->size - 1 };
        model_value *value =
            model_store_find(link->server->data, (unsigned char)entry->key[0], key);
        if (entry->value == NULL && value != NULL && has_expired(link->server, value))
            return true;
    }
    return false;
}

void model_watchers_break(model_server *server, unsigned database, model_text key)
{
    char       room[KEY_ROOM + 1];
    model_text joined;

    if (server->watched.count == 0)
        return;
    joined       = join(room, database, key);
    void **found = model_table_find(&server->watched, joined);
    if (found != NULL) {
        model_links *links = *found;
        for (size_t i = 0; i < links->count; i++) {
            /* A key that had expired before WATCH, and is deleted now, has not changed. */
            void **had_expired = model_table_find(&links->at[i]->watched, joined);
            if (had_expired != NULL && *had_expired != NULL &&
                model_store_find(server->data, database, key) == NULL) {
                *had_expired = NULL;
                continue;
            }
            links->at[i]->is_broken = true;
        }
    }
    part(room, joined);
}

void model_watchers_break_all(model_server *server, unsigned database)
{
    size_t       at = 0;
    model_entry *entry;

    while ((entry = model_table_next(&server->watched, &at)) != NULL) {
        model_text key = { entry->key + 1, entry->size - 1 };
        if ((unsigned char)entry->key[0] == database &&
            model_store_find(server->data, database, key) != NULL)
            model_watchers_break(server, database, key);
    }
}

void model_watchers_end(model_server *server)
{
    model_links_table_clear(&server->watched);
}
