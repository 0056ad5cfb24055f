/*
 * server_fault.c -- see server_fault.h.
 *
 * A save is a choice that costs nothing, so that every moment of saving is tried; there is one for
 * each RESTORE, of a key that is there.  (To come back without the key is RESTART.)
 */
#include "lab/server_fault.h"
#include "lab/connection.h"
#include "lab/token_number.h"

void bwl_server_comes_back(bwl_world *w, const bwl_model_redis *back)
{
    w->redis       = *back;
    w->saved       = (bwl_model_redis){ 0 };
    w->previous    = (bwl_model_redis){ 0 };
    w->key_excused = w->redis.owner != 0; /* whoever had it may have given it back already */
    w->key_late    = w->key_excused;
    for (unsigned i = 0; i < w->scenario->clients; i++)
        bwl_connection_server_gone(w, i);
}

void bwl_server_saves(bwl_world *w)
{
    w->saved = w->redis;
}

void bwl_server_restores(bwl_world *w)
{
    bwl_model_redis back = w->saved;

    bwl_server_comes_back(w, &back);
}

void bwl_server_fails_over(bwl_world *w)
{
    bwl_model_redis back = w->previous;

    bwl_server_comes_back(w, &back);
}

void bwl_server_evicts(bwl_world *w)
{
    w->previous = (bwl_model_redis){ 0 };
    w->redis    = (bwl_model_redis){ 0 };
}

void bwl_server_meets_stranger(bwl_world *w)
{
    w->redis       = (bwl_model_redis){ .owner = BWL_TOKEN_OF_STRANGER, .lasts = true };
    w->key_excused = true;
    w->key_late    = false;
}

void bwl_server_passes(bwl_world *w, int64_t hundredths)
{
    bwl_model_redis_pass(&w->redis, hundredths);
    bwl_model_redis_pass(&w->saved, hundredths);
    bwl_model_redis_pass(&w->previous, hundredths);
}
