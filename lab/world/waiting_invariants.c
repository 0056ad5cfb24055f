/*
 * waiting_invariants.c -- the invariants of a lock with a queue.  See waiting.h.
 */
#include "lab/model/queue.h"
#include "lab/world/private_state.h"
#include "lab/world/waiting.h"

void bwl_wait_held(bwl_world *w, unsigned client)
{
    uint64_t fence = w->clients[client].hold.fence;

    /* After a data loss, an older holder may get its result later. */
    if ((w->scenario->invariants & BWL_INVARIANT_ONE_HOLDER) != 0 && fence <= w->waiting.held_fence)
        w->broken |= BWL_INVARIANT_FENCE;
    w->waiting.held_fence = fence;
}

void bwl_wait_excuse(bwl_world *w, unsigned client)
{
    w->waiting.seats[client].orphans++;
}

static bool is_wanted(const bwl_world *w, uint16_t token)
{
    unsigned              client = bwl_token_client(token);
    const bwl_lab_client *c      = &w->clients[client];
    const bwl_link       *link   = &w->servers[BWL_ONLY].links[client];

    if (c->is_running && bwl_token_read(c->hold.request.token) == token)
        return true;
    if (c->is_running && bwl_queue_view_owes(&c->hold) == token)
        return true;
    for (unsigned i = link->answered; i < link->count; i++)
        if (link->messages[i].token == token || link->messages[i].previous_token == token)
            return true;
    return false;
}

static void new_owner(bwl_world *w, uint16_t owner)
{
    bool is_of_client = owner != 0 && owner != BWL_TOKEN_OF_STRANGER;

    w->waiting.owner         = owner;
    w->waiting.is_orphan     = false;
    w->waiting.may_be_orphan = false;
    if (is_of_client)
        w->waiting.may_be_orphan = w->waiting.seats[bwl_token_client(owner)].maybe_orphans > 0;
}

void bwl_wait_server_came_back(bwl_world *w)
{
    new_owner(w, bwl_model_owner(&w->servers[BWL_ONLY].redis));
    w->waiting.is_orphan = true; /* its owner may have released it */
}

void bwl_wait_look_at_owner(bwl_world *w)
{
    uint16_t      owner = bwl_model_owner(&w->servers[BWL_ONLY].redis);
    bwl_lab_seat *seat;

    if (w->waiting.owner != owner)
        new_owner(w, owner);
    if (owner == 0 || owner == BWL_TOKEN_OF_STRANGER || w->waiting.is_orphan || is_wanted(w, owner))
        return;
    seat                 = &w->waiting.seats[bwl_token_client(owner)];
    w->waiting.is_orphan = true;
    if (seat->maybe_orphans > 0)
        seat->maybe_orphans--;
    else if (seat->orphans > 0)
        seat->orphans--;
    else if (!w->waiting.may_be_orphan)
        w->broken |= BWL_INVARIANT_TAKEN_BACK;
}

bool bwl_wait_is_empty(const bwl_world *w)
{
    static const bwl_budget leave[] = { BWL_LOSS,    BWL_CRASH,    BWL_RESTART,
                                        BWL_RESTORE, BWL_FAILOVER, BWL_EVICTION,
                                        BWL_SILENCE, BWL_DENIAL,   BWL_REFUSAL };

    for (unsigned i = 0; w->scenario->queue.keep_ms == 0 && i < sizeof leave / sizeof leave[0]; i++)
        if (w->left[leave[i]] != w->scenario->budget[leave[i]])
            return true; /* entries may stay until their TTL */
    return w->servers[BWL_ONLY].redis.data.keys[BWL_MODEL_QUEUE].kind == BWL_KIND_NONE &&
           w->servers[BWL_ONLY].redis.data.keys[BWL_MODEL_HEARTBEATS].kind == BWL_KIND_NONE;
}
