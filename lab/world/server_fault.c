/*
 * server_fault.c -- see server_fault.h.
 *
 * A save is a transition without cost, so the search tries every moment of saving.  There is one
 * save per RESTORE, of a key that exists. (RESTART covers a restart without the key.)
 */
#include "lab/world/server_fault.h"
#include "lab/world/connection.h"
#include "lab/model/words.h"
#include "lab/world/waiting.h"

void bwl_server_comes_back(bwl_world *w, unsigned k, const bwl_model_data *back)
{
    bwl_server *server = &w->servers[k];

    bwl_model_redis_restart(&server->redis, back);
    if ((w->scenario->mutations & BWL_MUTATION_FENCE_FORGETS) != 0)
        w->fences = 0;
    w->saved           = (bwl_model_data){ 0 };
    w->previous        = (bwl_model_data){ 0 };
    server->was_faulty = true;
    server->key_excused =
        bwl_model_owner(&server->redis) != 0; /* its owner may have released it before */
    server->key_late = server->key_excused;
    if (w->scenario->server.young_wait)
        server->young_for = (int32_t)w->scenario->terms.lease_ms * BWL_MODEL_PER_MS;
    if (bwl_wait_is_kept(w))
        bwl_wait_server_came_back(w);
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        bwl_lab_client *c = &w->clients[i];
        if (w->scenario->server.has_run_id && c->is_running && bwl_hold_is_held(&c->hold))
            c->is_unaware = c->book.is_of_old = true;
        bwl_connection_server_gone(w, i, k);
    }
}

void bwl_server_saves(bwl_world *w)
{
    w->saved = w->servers[BWL_ONLY].redis.data;
}

void bwl_server_restores(bwl_world *w)
{
    bwl_model_data back =
        w->scenario->server.keeps_all ? w->servers[BWL_ONLY].redis.data : w->saved;

    bwl_server_comes_back(w, BWL_ONLY, &back);
}

void bwl_server_fails_over(bwl_world *w)
{
    bwl_model_data back = w->previous;

    bwl_server_comes_back(w, BWL_ONLY, &back);
}

void bwl_server_evicts(bwl_world *w, unsigned key)
{
    w->previous = (bwl_model_data){ 0 };
    bwl_model_redis_evict(&w->servers[BWL_ONLY].redis, key);
}

void bwl_server_meets_stranger(bwl_world *w)
{
    bwl_model_redis_set_by(&w->servers[BWL_ONLY].redis, BWL_MODEL_LOCK, BWL_MODEL_FOREIGN_VALUE,
                           BWL_TOKEN_OF_STRANGER);
    w->servers[BWL_ONLY].key_excused = true;
    w->servers[BWL_ONLY].key_late    = false;
}

/* Forgets a saved key that has expired: it cannot come back. */
static void forget_ended(bwl_model_data *data, int64_t now)
{
    const bwl_model_key *k = &data->keys[BWL_MODEL_LOCK];

    if (k->kind != BWL_KIND_NONE && !k->lasts && k->ends_at <= now)
        data->keys[BWL_MODEL_LOCK] = (bwl_model_key){ 0 };
}

void bwl_server_passes(bwl_world *w, unsigned k, int64_t hundredths)
{
    bwl_server *server = &w->servers[k];

    bwl_model_redis_pass(&server->redis, hundredths);
    if (server->young_for > 0)
        server->young_for =
            (int32_t)(server->young_for > hundredths ? server->young_for - hundredths : 0);
    forget_ended(&w->saved, server->redis.now);
    forget_ended(&w->previous, server->redis.now);
}

void bwl_server_steps(bwl_world *w, unsigned k)
{
    w->servers[k].was_faulty = true;
    bwl_server_passes(w, k, w->scenario->clocks.jump_ms * BWL_MODEL_PER_MS);
}

void bwl_server_stops(bwl_world *w, unsigned k, bool is_stopped)
{
    w->servers[k].was_faulty = true;
    w->servers[k].is_stopped = is_stopped;
}
