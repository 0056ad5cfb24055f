/*
 * table.h -- a hash table from texts to pointers, which keeps the order of insertion.
 *
 * The entries are an array in the order of insertion; a second array of numbers, by open
 * addressing, finds them.  Nothing depends on addresses, so two runs from one seed see the same
 * order.  A removed entry leaves a gap, which the next growth closes: an entry may move when one is
 * added.  The table owns its keys, and not what the values point to.
 */
#pragma once

#include "sim/redis/data/bytes.h"

typedef struct model_entry {
    char    *key; /* NULL: removed */
    uint32_t size;
    uint32_t hash;
    void    *value;
} model_entry;

typedef struct model_table {
    model_entry *entries;
    uint32_t    *index;
    uint32_t     used;  /* of entries, with the gaps */
    uint32_t     count; /* without */
    uint32_t     room;
    uint32_t     index_room;   /* a power of two */
    uint32_t     index_filled; /* with the marks of removed ones */
    size_t       key_bytes;
} model_table;

/* NULL: no such key.  What it points to is the value. */
void **model_table_find(const model_table *table, model_text key);
/* The value of a new key is NULL. */
void **model_table_add(model_table *table, model_text key, bool *ret_is_new);
bool   model_table_remove(model_table *table, model_text key, void **ret_value);
/* The key as the table has it, so that it lives as long as the entry. */
model_text model_table_own_key(const model_table *table, model_text key);
/* The entries in order: *at is 0 at first. */
model_entry *model_table_next(const model_table *table, size_t *at);
/* The entry at or behind the place that the number gives; NULL: the table is empty. */
model_entry *model_table_pick(const model_table *table, uint64_t number);
/* Frees the table; free_value may be NULL. */
void model_table_clear(model_table *table, void (*free_value)(void *value));
