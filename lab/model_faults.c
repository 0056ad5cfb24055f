/*
 * model_faults.c -- what happens to a server: it forgets, it goes back to what it was, it runs out
 * of memory.  See model_redis.h.
 *
 * A snapshot and a replica that lags behind are one and the same here: the data as it was at some
 * time before.  The ends of keys are moments and not lengths of time, in both: what has ended since
 * then is gone.
 */
#include "lab/model_inside.h"

void bwl_model_redis_start(bwl_model_redis *r, bwl_ms now_ms)
{
    *r = (bwl_model_redis){ .now = bwl_model_moment(now_ms) };
}

void bwl_model_redis_drop(bwl_model_redis *r, unsigned connection)
{
    assert(connection < BWL_MODEL_CONNECTIONS);
    r->connections[connection] = (bwl_model_connection){ 0 };
}

void bwl_model_redis_save(bwl_model_redis *r)
{
    r->copy = r->data;
}

void bwl_model_redis_restart_empty(bwl_model_redis *r)
{
    for (unsigned i = 0; i < BWL_MODEL_CONNECTIONS; i++)
        bwl_model_redis_drop(r, i);
    r->data = (bwl_model_data){ 0 };
}

void bwl_model_redis_restart_saved(bwl_model_redis *r)
{
    bwl_model_redis_restart_empty(r);
    r->data = r->copy;
    bwl_model_redis_pass(r, 0); /* what has ended since then */
}

void bwl_model_redis_evict(bwl_model_redis *r, unsigned key)
{
    bwl_model_remove(r, key);
}
