/*
 * value.h -- the value of a key: a string, a list, a set, a sorted set or a hash.
 *
 * A hash and a set are tables, so they keep the order of insertion, which a small hash of Redis
 * keeps as well.  A sorted set is an array in order of score and member, beside a table that finds
 * the score of a member.  A list is an array with room at both ends.
 */
#pragma once

#include "sim/redis/data/table.h"

typedef enum model_type {
    MODEL_STRING = 1,
    MODEL_LIST,
    MODEL_SET,
    MODEL_ZSET,
    MODEL_HASH,
} model_type;

#define MODEL_NO_EXPIRY INT64_MIN

typedef struct model_member {
    double     score;
    model_text name; /* in the key of the table's entry */
} model_member;

typedef struct model_zset {
    model_table   scores; /* the value is the bits of the score */
    model_member *members;
    size_t        room;
} model_zset;

typedef struct model_list {
    model_bytes *items; /* each owns its memory */
    size_t       first;
    size_t       count;
    size_t       room;
    size_t       bytes;
} model_list;

typedef struct model_value {
    model_type type;
    int64_t    expires_ms; /* since 1970; MODEL_NO_EXPIRY */
    uint64_t   used_at;    /* for the choice of what to evict */
    size_t     memory;     /* as the dataset counts it */
    union {
        model_bytes string;
        model_table table; /* of a set (values NULL) or a hash (values model_bytes) */
        model_zset  zset;
        model_list  list;
    } as;
} model_value;

model_value *model_value_new(model_type type);
model_value *model_value_copy(const model_value *value);
bool         model_value_equal(const model_value *a, const model_value *b);
void         model_value_free(model_value *value);
/* Elements; of a string, its bytes. */
size_t      model_value_count(const model_value *value);
size_t      model_value_memory(const model_value *value);
const char *model_type_name(model_type type);
bool        model_value_has_expired(const model_value *value, int64_t now_ms);

/* Hashes.  True if the field is new. */
bool               model_hash_set(model_value *hash, model_text field, model_text text);
const model_bytes *model_hash_get(const model_value *hash, model_text field);
bool               model_hash_remove(model_value *hash, model_text field);

/* Sorted sets. */
bool   model_zset_score(const model_value *zset, model_text member, double *ret_score);
bool   model_zset_set(model_value *zset, model_text member, double score); /* true: new */
bool   model_zset_remove(model_value *zset, model_text member);
size_t model_zset_rank(const model_value *zset, model_text member, double score);
/* How many members come before the score; with `inclusive`, those that have it count too. */
size_t model_zset_before(const model_value *zset, double score, bool inclusive);

/* Lists.  nth counts from the left. */
void       model_list_push(model_value *list, model_text item, bool at_left);
model_text model_list_at(const model_value *list, size_t nth);
void       model_list_pop(model_value *list, bool at_left);
