/*
 * table.c -- see table.h.
 */
#include "sim/redis/data/table.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY UINT32_MAX
#define GONE  (UINT32_MAX - 1)

enum { ENTRIES_MIN = 8, INDEX_MIN = 16 };

/* Eight bytes at a time; the constants are those of splitmix64. */
static uint32_t hash_of(model_text key)
{
    uint64_t    hash = key.size * 0x9e3779b97f4a7c15u;
    const char *at   = key.at;
    size_t      left = key.size;

    while (left > 0) {
        uint64_t word = 0;
        size_t   some = left < sizeof word ? left : sizeof word;
        memcpy(&word, at, some);
        hash = (hash ^ word) * 0xbf58476d1ce4e5b9u;
        hash ^= hash >> 29;
        at += some;
        left -= some;
    }
    hash *= 0x94d049bb133111ebu;
    return (uint32_t)(hash >> 32);
}

static bool is_entry(const model_entry *entry, model_text key, uint32_t hash)
{
    return entry->hash == hash && entry->size == key.size &&
           (key.size == 0 || memcmp(entry->key, key.at, key.size) == 0);
}

/* Where the index has the key; EMPTY: nowhere. */
static uint32_t place_of(const model_table *table, model_text key, uint32_t hash)
{
    if (table->index_room == 0)
        return EMPTY;
    uint32_t mask = table->index_room - 1;
    for (uint32_t at = hash & mask; table->index[at] != EMPTY; at = (at + 1) & mask)
        if (table->index[at] != GONE && is_entry(&table->entries[table->index[at]], key, hash))
            return at;
    return EMPTY;
}

void **model_table_find(const model_table *table, model_text key)
{
    uint32_t place = place_of(table, key, hash_of(key));

    return place != EMPTY ? &table->entries[table->index[place]].value : NULL;
}

model_text model_table_own_key(const model_table *table, model_text key)
{
    uint32_t place = place_of(table, key, hash_of(key));

    if (place == EMPTY)
        return (model_text){ "", 0 };
    return (model_text){ table->entries[table->index[place]].key, key.size };
}

static void index_entry(model_table *table, uint32_t nth)
{
    uint32_t mask = table->index_room - 1;
    uint32_t at   = table->entries[nth].hash & mask;

    while (table->index[at] != EMPTY)
        at = (at + 1) & mask;
    table->index[at] = nth;
}

/* Closes the gaps, makes room for one more entry, and builds the index anew. */
static void rebuild(model_table *table)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < table->used; i++)
        if (table->entries[i].key != NULL)
            table->entries[used++] = table->entries[i];
    table->used = used;
    if (used + used / 2 + 1 > table->room) {
        table->room    = used < ENTRIES_MIN / 2 ? ENTRIES_MIN : used * 2;
        table->entries = model_resize(table->entries, table->room * sizeof *table->entries);
    }
    uint32_t room = INDEX_MIN;
    while (room < table->room * 2)
        room *= 2;
    if (room != table->index_room) {
        table->index      = model_resize(table->index, room * sizeof *table->index);
        table->index_room = room;
    }
    memset(table->index, 0xff, room * sizeof *table->index);
    for (uint32_t i = 0; i < used; i++)
        index_entry(table, i);
    table->index_filled = used;
}

void **model_table_add(model_table *table, model_text key, bool *ret_is_new)
{
    uint32_t hash  = hash_of(key);
    uint32_t place = place_of(table, key, hash);

    *ret_is_new = place == EMPTY;
    if (place != EMPTY)
        return &table->entries[table->index[place]].value;
    if (table->used == table->room || table->index_filled + 1 > table->index_room / 4 * 3)
        rebuild(table);
    model_entry *entry = &table->entries[table->used];
    *entry             = (model_entry){ model_text_copy(key), (uint32_t)key.size, hash, NULL };
    index_entry(table, table->used);
    table->used++;
    table->count++;
    table->index_filled++;
    table->key_bytes += key.size;
    return &entry->value;
}

bool model_table_remove(model_table *table, model_text key, void **ret_value)
{
    uint32_t place = place_of(table, key, hash_of(key));

    if (place == EMPTY)
        return false;
    uint32_t     nth   = table->index[place];
    model_entry *entry = &table->entries[nth];
    *ret_value         = entry->value;
    table->key_bytes -= entry->size;
    free(entry->key);
    entry->key  = NULL;
    uint32_t at = (place + 1) & (table->index_room - 1);
    if (table->index[at] == EMPTY) { /* no other search passes here */
        table->index[place] = EMPTY;
        table->index_filled--;
    } else {
        table->index[place] = GONE;
    }
    table->count--;
    if (nth + 1 == table->used)
        table->used--;
    return true;
}

model_entry *model_table_next(const model_table *table, size_t *at)
{
    while (*at < table->used) {
        model_entry *entry = &table->entries[(*at)++];
        if (entry->key != NULL)
            return entry;
    }
    return NULL;
}

model_entry *model_table_pick(const model_table *table, uint64_t number)
{
    if (table->count == 0)
        return NULL;
    size_t       at    = number % table->used;
    model_entry *entry = model_table_next(table, &at);
    if (entry != NULL)
        return entry;
    at = 0;
    return model_table_next(table, &at);
}

void model_table_clear(model_table *table, void (*free_value)(void *value))
{
    for (uint32_t i = 0; i < table->used; i++) {
        if (table->entries[i].key == NULL)
            continue;
        free(table->entries[i].key);
        if (free_value != NULL)
            free_value(table->entries[i].value);
    }
    free(table->entries);
    free(table->index);
    *table = (model_table){ .used = 0 };
}
