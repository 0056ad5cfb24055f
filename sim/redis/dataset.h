/*
 * dataset.h -- what a server stores: sixteen databases of keys.
 *
 * A type of its own, so that a full synchronization, a disk image and a check of what is left need
 * no server.  Who creates one frees it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_DATABASES = 16 };

typedef struct model_dataset model_dataset;

/* FNV-1a. */
uint64_t model_hash(const char *bytes, size_t size);

typedef struct model_key_info {
    const char *key; /* size bytes, then a NUL */
    size_t      size;
    const char *type;  /* "string", "list", "set", "zset" or "hash" */
    const char *value; /* of a string; else NULL */
    size_t      value_size;
    int64_t     expires_ms; /* since 1970; negative: it does not expire */
    unsigned    database;
} model_key_info;

model_dataset *model_dataset_new(void);
model_dataset *model_dataset_copy(const model_dataset *dataset);
void           model_dataset_clear(model_dataset *dataset);
void           model_dataset_free(model_dataset *dataset); /* takes NULL */
/* Keys, values and times of expiry; not the order of keys. */
bool   model_dataset_equal(const model_dataset *a, const model_dataset *b);
size_t model_dataset_keys(const model_dataset *dataset);
/* Every key, in the order in which the keys were created; also keys whose time is over, as long as
 * they were not deleted.  The callback changes nothing. */
void model_dataset_each(const model_dataset *dataset,
                        void (*visit)(void *arg, const model_key_info *info), void *arg);
/* A key of any database, also one whose time is over.  False: there is none. */
bool model_dataset_find(const model_dataset *dataset, const char *key, model_key_info *ret_info);
/* The members of a sorted set, in the order of their scores; none if the key is none. */
void model_dataset_each_member(const model_dataset *dataset, const char *key,
                               void (*visit)(void *arg, const char *member, size_t size,
                                             double score),
                               void *arg);
/* A field of a hash, borrowed.  NULL: there is none. */
const char *model_dataset_field(const model_dataset *dataset, const char *key, const char *field,
                                size_t *ret_size);
/* One line for each key, with its value.  The caller frees it with free(). */
char *model_dataset_dump(const model_dataset *dataset);
