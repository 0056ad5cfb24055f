/*
 * transaction.c -- WATCH, and the commands that MULTI has queued.
 */
#include "sim/redis/core/inside.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_ROOM = 256, QUEUE_MIN = 4 };

/* ---- watched keys ---------------------------------------------------------------------------- */

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
    bool          is_new;

    void **own = model_table_add(&link->transaction.watched, joined, &is_new);
    if (is_new) {
        /* For Redis 6.2, a key that has expired before WATCH has changed. */
        bool counts_as_gone = server->version != MODEL_REDIS_6_2;
        *own = counts_as_gone && value != NULL && model_has_expired(server, value) ? link : NULL;
        void **others = model_table_add(&server->watched, joined, &is_new);
        if (is_new) {
            model_links *links = model_allocate(sizeof *links);
            *links             = (model_links){ .count = 0 };
            *others            = links;
        }
        model_links_add(*others, link);
    }
    part(room, joined);
}

void model_unwatch(model_link *link)
{
    model_table *watched = &link->transaction.watched;
    size_t       at      = 0;
    model_entry *entry;

    link->transaction.is_broken = false;
    if (watched->count == 0)
        return;
    while ((entry = model_table_next(watched, &at)) != NULL) {
        model_text joined = { entry->key, entry->size };
        void     **links  = model_table_find(&link->server->watched, joined);
        if (links == NULL || !model_links_remove(*links, link) ||
            ((model_links *)*links)->count != 0)
            continue;
        void *empty = NULL;
        (void)model_table_remove(&link->server->watched, joined, &empty);
        model_links_free(empty);
    }
    model_table_clear(watched, NULL);
}

/* A watched key has changed, or its time is over since WATCH. */
bool model_watch_has_failed(model_link *link)
{
    size_t       at = 0;
    model_entry *entry;

    if (link->transaction.is_broken)
        return true;
    while ((entry = model_table_next(&link->transaction.watched, &at)) != NULL) {
        model_text   key = { entry->key + 1, entry->size - 1 };
        model_value *value =
            model_store_find(link->server->data, (unsigned char)entry->key[0], key);
        if (entry->value == NULL && value != NULL && model_has_expired(link->server, value))
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
            void **had_expired = model_table_find(&links->at[i]->transaction.watched, joined);
            if (had_expired != NULL && *had_expired != NULL &&
                model_store_find(server->data, database, key) == NULL) {
                *had_expired = NULL;
                continue;
            }
            links->at[i]->transaction.is_broken = true;
        }
    }
    part(room, joined);
}

/* ---- the queue ------------------------------------------------------------------------------- */

void model_transaction_queue(model_link *link, const model_command *command, const model_text *argv,
                             size_t argc)
{
    model_transaction *transaction = &link->transaction;
    size_t             size        = argc * sizeof(model_text);

    if (transaction->has_failed)
        return;
    for (size_t i = 0; i < argc; i++)
        size += argv[i].size;
    if (transaction->count == transaction->room) {
        transaction->room = transaction->room == 0 ? QUEUE_MIN : transaction->room * 2;
        transaction->commands =
            model_resize(transaction->commands, transaction->room * sizeof(model_queued));
    }
    model_text *copy = model_allocate(size);
    char       *text = (char *)(copy + argc);
    for (size_t i = 0; i < argc; i++) {
        if (argv[i].size != 0)
            memcpy(text, argv[i].at, argv[i].size);
        copy[i] = (model_text){ text, argv[i].size };
        text += argv[i].size;
    }
    transaction->commands[transaction->count++] = (model_queued){ command, copy, argc };
    transaction->flags |= command->flags;
}

void model_transaction_clear(model_link *link)
{
    model_transaction *transaction = &link->transaction;

    for (size_t i = 0; i < transaction->count; i++)
        free(transaction->commands[i].argv);
    transaction->count      = 0;
    transaction->flags      = 0;
    transaction->is_open    = false;
    transaction->has_failed = false;
}
