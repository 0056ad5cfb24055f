#include "lab/world/bookkeeping.h"

void bwl_book_new_round(bwl_lab_client *c)
{
    c->book.came  = 0;
    c->book.turn  = 0;
    c->book.fence = 0;
}

/* True if a client that acquired earlier still waits. */
static bool is_before_others(const bwl_world *w, unsigned client)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c = &w->clients[i];
        if (i != client && c->is_running && bwl_hold_is_acquiring(&c->hold) && c->book.came != 0 &&
            c->book.came < w->clients[client].book.came)
            return true;
    }
    return false;
}

void bwl_book_served(bwl_world *w, unsigned client, const bwl_message *message, uint16_t was_of)
{
    bwl_lab_client *c = &w->clients[client];

    if (w->scenario->servers > 1 || !c->is_running || message->round != c->round ||
        !bwl_hold_is_acquiring(&c->hold))
        return;
    if (c->book.came == 0)
        c->book.came = ++w->arrivals;
    if (was_of == bwl_model_owner(&w->servers[BWL_ONLY].redis) ||
        bwl_model_owner(&w->servers[BWL_ONLY].redis) != bwl_world_token_of(w, client))
        return;
    c->book.turn = ++w->turns;
    if (w->scenario->server.fences)
        c->book.fence = ++w->fences;
    if (is_before_others(w, client))
        w->broken |= BWL_INVARIANT_FIRST_COME;
}

/* The resource accepts every write of a lock without a fence. */
void bwl_book_write(bwl_world *w, unsigned client)
{
    const bwl_lab_client *c         = &w->clients[client];
    bool                  is_fenced = c->hold.fence != 0;
    bool                  is_taken  = !is_fenced || c->hold.fence >= w->resource.fence;

    if (is_taken ? c->book.turn < w->resource.turn : c->book.turn >= w->resource.turn)
        w->broken |= BWL_INVARIANT_FENCE;
    if (is_taken)
        w->resource = (bwl_resource){ .fence = c->hold.fence, .turn = c->book.turn };
}
