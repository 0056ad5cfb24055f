/*
 * faults.c -- faults of a server: restart, snapshot, failover, eviction.  See redis.h.
 *
 * A snapshot and a lagging replica are the same: older data.  TTLs are absolute times in both, so
 * keys that have expired since are gone.
 */
#include "lab/model/inside.h"

void bwl_model_redis_start(bwl_model_redis *r, bwl_ms now_ms)
{
    *r = (bwl_model_redis){ .now = bwl_model_moment(now_ms) };
}

void bwl_model_redis_drop(bwl_model_redis *r, unsigned connection)
{
    assert(connection < BWL_MODEL_CONNECTIONS);
    r->connections[connection] = (bwl_model_connection){ 0 };
}

void bwl_model_redis_break(bwl_model_redis *r, unsigned client)
{
    assert(client < BWL_MODEL_CLIENTS);
    r->connections[client + BWL_MODEL_CLIENTS] = r->connections[client];
    bwl_model_redis_drop(r, client);
}

void bwl_model_redis_restart(bwl_model_redis *r, const bwl_model_data *with)
{
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++)
        bwl_model_redis_drop(r, i);
    r->data = with != NULL ? *with : (bwl_model_data){ 0 };
    bwl_model_redis_pass(r, 0); /* removes what has expired since */
}

void bwl_model_redis_evict(bwl_model_redis *r, unsigned key)
{
    bwl_model_remove(r, key);
}

void bwl_model_redis_set_by(bwl_model_redis *r, unsigned key, int64_t value, uint16_t writer)
{
    bwl_model_frame   frame = { 0 };
    bwl_model_command set   = {
          .op = BWL_OP_SET, .key = (uint8_t)key, .writer = writer, .value = value
    };

    bwl_model_carry_out(r, 0, &set, &frame);
}
