/*
 * store.c -- see store.h and dataset.h.
 */
#include "sim/redis/data/store.h"

#include <stdlib.h>
#include <string.h>

enum { PER_KEY = 64, DUMP_TEXT_MAX = 200 };

static size_t memory_of(const model_value *value, model_text key)
{
    return value->memory + key.size + PER_KEY;
}

static void free_value(void *value)
{
    model_value_free(value);
}

model_value *model_store_find(const model_dataset *dataset, unsigned database, model_text key)
{
    void **value = model_table_find(&dataset->keys[database], key);

    return value != NULL ? *value : NULL;
}

void model_store_put(model_dataset *dataset, unsigned database, model_text key, model_value *value)
{
    bool   is_new;
    void **place = model_table_add(&dataset->keys[database], key, &is_new);

    if (!is_new) {
        model_value *before = *place;
        dataset->memory -= memory_of(before, key);
        dataset->expiring[database] -= before->expires_ms != MODEL_NO_EXPIRY;
        model_value_free(before);
    }
    *place        = value;
    value->memory = model_value_memory(value);
    dataset->memory += memory_of(value, key);
    dataset->expiring[database] += value->expires_ms != MODEL_NO_EXPIRY;
}

bool model_store_remove(model_dataset *dataset, unsigned database, model_text key)
{
    void *value = NULL;

    if (!model_table_remove(&dataset->keys[database], key, &value))
        return false;
    dataset->memory -= memory_of(value, key);
    dataset->expiring[database] -= ((model_value *)value)->expires_ms != MODEL_NO_EXPIRY;
    model_value_free(value);
    return true;
}

void model_store_expire(model_dataset *dataset, unsigned database, model_value *value,
                        int64_t expires_ms)
{
    dataset->expiring[database] += expires_ms != MODEL_NO_EXPIRY;
    dataset->expiring[database] -= value->expires_ms != MODEL_NO_EXPIRY;
    value->expires_ms = expires_ms;
}

void model_store_count(model_dataset *dataset, model_value *value)
{
    size_t memory = model_value_memory(value);

    dataset->memory += memory - value->memory;
    value->memory = memory;
}

void model_store_clear(model_dataset *dataset, unsigned database)
{
    size_t       at = 0;
    model_entry *entry;

    while ((entry = model_table_next(&dataset->keys[database], &at)) != NULL)
        dataset->memory -= memory_of(entry->value, (model_text){ entry->key, entry->size });
    model_table_clear(&dataset->keys[database], free_value);
    dataset->expiring[database] = 0;
}

void model_store_swap(model_dataset *dataset, unsigned one, unsigned other)
{
    model_table keys     = dataset->keys[one];
    size_t      expiring = dataset->expiring[one];

    dataset->keys[one]       = dataset->keys[other];
    dataset->expiring[one]   = dataset->expiring[other];
    dataset->keys[other]     = keys;
    dataset->expiring[other] = expiring;
}

/* ---- whole datasets -------------------------------------------------------------------------- */

model_dataset *model_dataset_new(void)
{
    model_dataset *dataset = model_allocate(sizeof *dataset);

    *dataset = (model_dataset){ .memory = 0 };
    return dataset;
}

model_dataset *model_dataset_copy(const model_dataset *dataset)
{
    model_dataset *copy = model_dataset_new();

    for (unsigned database = 0; database < MODEL_DATABASES; database++) {
        size_t       at = 0;
        model_entry *entry;
        while ((entry = model_table_next(&dataset->keys[database], &at)) != NULL)
            model_store_put(copy, database, (model_text){ entry->key, entry->size },
                            model_value_copy(entry->value));
    }
    return copy;
}

void model_dataset_clear(model_dataset *dataset)
{
    for (unsigned database = 0; database < MODEL_DATABASES; database++)
        model_store_clear(dataset, database);
}

void model_dataset_free(model_dataset *dataset)
{
    if (dataset == NULL)
        return;
    model_dataset_clear(dataset);
    free(dataset);
}

bool model_dataset_equal(const model_dataset *a, const model_dataset *b)
{
    for (unsigned database = 0; database < MODEL_DATABASES; database++) {
        size_t       at = 0;
        model_entry *entry;
        if (a->keys[database].count != b->keys[database].count)
            return false;
        while ((entry = model_table_next(&a->keys[database], &at)) != NULL) {
            model_value *other =
                model_store_find(b, database, (model_text){ entry->key, entry->size });
            if (other == NULL || !model_value_equal(entry->value, other))
                return false;
        }
    }
    return true;
}

size_t model_dataset_keys(const model_dataset *dataset)
{
    size_t count = 0;

    for (unsigned database = 0; database < MODEL_DATABASES; database++)
        count += dataset->keys[database].count;
    return count;
}

uint64_t model_hash(const char *bytes, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

static model_key_info info_of(model_text key, const model_value *value, unsigned database)
{
    bool is_string = value->type == MODEL_STRING;

    return (model_key_info){
        .key        = key.at,
        .size       = key.size,
        .type       = model_type_name(value->type),
        .value      = is_string ? value->as.string.at : NULL,
        .value_size = is_string ? value->as.string.size : 0,
        .expires_ms = value->expires_ms,
        .database   = database,
    };
}

void model_dataset_each(const model_dataset *dataset,
                        void (*visit)(void *arg, const model_key_info *info), void *arg)
{
    for (unsigned database = 0; database < MODEL_DATABASES; database++) {
        size_t       at = 0;
        model_entry *entry;
        while ((entry = model_table_next(&dataset->keys[database], &at)) != NULL) {
            model_key_info info =
                info_of((model_text){ entry->key, entry->size }, entry->value, database);
            visit(arg, &info);
        }
    }
}

/* In any database; NULL: there is none. */
static const model_value *find_anywhere(const model_dataset *dataset, const char *key,
                                        unsigned *ret_database)
{
    for (unsigned database = 0; database < MODEL_DATABASES; database++) {
        const model_value *value = model_store_find(dataset, database, model_text_of(key));
        *ret_database            = database;
        if (value != NULL)
            return value;
    }
    return NULL;
}

bool model_dataset_find(const model_dataset *dataset, const char *key, model_key_info *ret_info)
{
    unsigned           database;
    const model_value *value = find_anywhere(dataset, key, &database);

    if (value != NULL)
        *ret_info = info_of(model_text_of(key), value, database);
    return value != NULL;
}

void model_dataset_each_member(const model_dataset *dataset, const char *key,
                               void (*visit)(void *arg, const char *member, size_t size,
                                             double score),
                               void *arg)
{
    unsigned           database;
    const model_value *zset = find_anywhere(dataset, key, &database);
    size_t count = zset != NULL && zset->type == MODEL_ZSET ? model_value_count(zset) : 0;

    for (size_t i = 0; i < count; i++) {
        const model_member *member = &zset->as.zset.members[i];
        visit(arg, member->name.at, member->name.size, member->score);
    }
}

const char *model_dataset_field(const model_dataset *dataset, const char *key, const char *field,
                                size_t *ret_size)
{
    unsigned           database;
    const model_value *hash = find_anywhere(dataset, key, &database);
    const model_bytes *text = hash != NULL && hash->type == MODEL_HASH
                                  ? model_hash_get(hash, model_text_of(field))
                                  : NULL;

    if (text == NULL)
        return NULL;
    *ret_size = text->size;
    return text->at;
}

/* ---- the dump -------------------------------------------------------------------------------- */

static void dump_text(model_bytes *out, model_text text)
{
    model_bytes_add_text(out, " \"");
    for (size_t i = 0; i < text.size && i < DUMP_TEXT_MAX; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
            model_bytes_print(out, "\\x%02x", byte);
        else
            model_bytes_add(out, &byte, 1);
    }
    model_bytes_add_text(out, text.size > DUMP_TEXT_MAX ? "...\"" : "\"");
}

static void dump_value(model_bytes *out, const model_value *value)
{
    size_t       at = 0;
    model_entry *entry;

    switch (value->type) {
    case MODEL_STRING: dump_text(out, model_bytes_text(&value->as.string)); break;
    case MODEL_SET:
    case MODEL_HASH:
        while ((entry = model_table_next(&value->as.table, &at)) != NULL) {
            dump_text(out, (model_text){ entry->key, entry->size });
            if (value->type == MODEL_HASH)
                dump_text(out, model_bytes_text(entry->value));
        }
        break;
    case MODEL_ZSET:
        for (size_t i = 0; i < value->as.zset.scores.count; i++) {
            model_bytes_print(out, " %.17g", value->as.zset.members[i].score);
            dump_text(out, value->as.zset.members[i].name);
        }
        break;
    case MODEL_LIST:
        for (size_t i = 0; i < value->as.list.count; i++)
            dump_text(out, model_list_at(value, i));
        break;
    }
}

char *model_dataset_dump(const model_dataset *dataset)
{
    model_bytes out = { .size = 0 };

    for (unsigned database = 0; database < MODEL_DATABASES; database++) {
        size_t       at = 0;
        model_entry *entry;
        while ((entry = model_table_next(&dataset->keys[database], &at)) != NULL) {
            const model_value *value = entry->value;
            model_bytes_print(&out, "%u", database);
            dump_text(&out, (model_text){ entry->key, entry->size });
            model_bytes_print(&out, " %s", model_type_name(value->type));
            if (value->expires_ms != MODEL_NO_EXPIRY)
                model_bytes_print(&out, " until %lld", (long long)value->expires_ms);
            dump_value(&out, value);
            model_bytes_add_text(&out, "\n");
        }
    }
    model_bytes_add(&out, "", 1);
    return out.at;
}
