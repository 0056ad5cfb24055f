/*
 * store.h -- a dataset from the inside: keys and their values.
 *
 * `memory` is an estimate of what Redis would use, and is kept up to date by model_store_count.
 */
#pragma once

#include "sim/redis/data/value.h"
#include "sim/redis/dataset.h"

struct model_dataset {
    model_table keys[MODEL_DATABASES]; /* of model_value */
    size_t      expiring[MODEL_DATABASES];
    size_t      memory;
};

/* NULL: no such key.  A key whose time is over is one. */
model_value *model_store_find(const model_dataset *dataset, unsigned database, model_text key);
/* Takes the value; the previous one is freed. */
void model_store_put(model_dataset *dataset, unsigned database, model_text key, model_value *value);
bool model_store_remove(model_dataset *dataset, unsigned database, model_text key);
void model_store_expire(model_dataset *dataset, unsigned database, model_value *value,
                        int64_t expires_ms);
/* After a change of the value. */
void model_store_count(model_dataset *dataset, model_value *value);
void model_store_clear(model_dataset *dataset, unsigned database);
void model_store_swap(model_dataset *dataset, unsigned one, unsigned other);
