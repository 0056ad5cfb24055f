/*
 * eviction.c -- see eviction.h.
 */
#include "sim/redis/core/eviction.h"
#include "sim/redis/core/config.h"
#include "sim/redis/core/keyspace.h"
#include "sim/redis/core/replication.h"

enum { SAMPLES = 5 };

static bool is_over(const model_server *server)
{
    return server->config->memory_max != 0 &&
           server->data->memory + MODEL_MEMORY_OF_SERVER > (uint64_t)server->config->memory_max;
}

/* The best of some entries that the owner's random numbers choose.  NULL: none may be evicted. */
static model_entry *choose_victim(model_server *server, unsigned database)
{
    bool         by_ttl = server->config->policy == MODEL_EVICT_VOLATILE_TTL;
    model_table *keys   = &server->data->keys[database];
    model_entry *best   = NULL;
    model_entry *entry;

    if (keys->count == 0 || (by_ttl && server->data->expiring[database] == 0))
        return NULL;
    size_t at = server->owner.random(server->owner.arg) % keys->used;
    for (unsigned seen = 0, rounds = 0; seen < SAMPLES && rounds < 2;) {
        entry = model_table_next(keys, &at);
        if (entry == NULL) {
            at = 0;
            rounds++;
            continue;
        }
        const model_value *value = entry->value;
        if (by_ttl && value->expires_ms == MODEL_NO_EXPIRY)
            continue;
        const model_value *other = best != NULL ? best->value : NULL;
        if (other == NULL ||
            (by_ttl ? value->expires_ms < other->expires_ms : value->used_at < other->used_at))
            best = entry;
        seen++;
    }
    return best;
}

bool model_is_out_of_memory(model_server *server)
{
    bool may_evict = server->config->policy != MODEL_EVICT_NOTHING && !model_is_replica(server);

    while (is_over(server) && may_evict) {
        model_entry *victim = NULL;
        for (unsigned database = 0; database < MODEL_DATABASES && victim == NULL; database++) {
            victim = choose_victim(server, database);
            if (victim != NULL)
                model_drop_key(server, database, (model_text){ victim->key, victim->size });
        }
        may_evict = victim != NULL;
    }
    return is_over(server);
}
