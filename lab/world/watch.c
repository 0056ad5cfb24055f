/*
 * watch.c -- checks the invariants in a world: see scenario.h.
 */
#include "lab/world/inside.h"
#include "lab/world/private_state.h"

/* True if these clients, 1 << client, may not have the lock at the same time: one wants it for
 * itself, or they have more permits than one of them allows. */
static bool are_too_many(const bwl_world *w, unsigned clients)
{
    uint32_t limit  = UINT32_MAX;
    uint32_t weight = 0;

    if ((clients & (clients - 1)) == 0)
        return false;
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        bwl_share share = w->clients[i].hold.request.share;
        if ((clients >> i & 1) == 0)
            continue;
        if (share.weight == 0)
            return true;
        weight += share.weight;
        if (share.limit != 0 && share.limit < limit)
            limit = share.limit;
    }
    return weight > limit;
}

/* Clients that share the lock at the same time have the fence of the gate. */
static bool have_one_fence(const bwl_world *w, unsigned clients)
{
    uint64_t fence = 0;

    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_hold *hold = &w->clients[i].hold;
        if ((clients >> i & 1) == 0 || hold->request.share.weight == 0 ||
            hold->change.kind == BWL_DOWNGRADE) /* it has no fence of the gate yet */
            continue;
        if (fence != 0 && hold->fence != fence)
            return false;
        fence = hold->fence;
    }
    return true;
}

static unsigned holders(const bwl_world *w)
{
    unsigned believers = 0;
    unsigned workers   = 0;
    unsigned awake     = 0;

    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c = &w->clients[i];
        believers |= (unsigned)(bwl_world_believes(w, i) > 0) << i;
        workers |= (unsigned)c->caller.is_working << i;
        awake |= (unsigned)(c->caller.is_working && !c->book.was_slow) << i;
    }
    return (are_too_many(w, believers) ? BWL_INVARIANT_ONE_HOLDER : 0u) |
           (are_too_many(w, workers) ? BWL_INVARIANT_NO_OVERLAP : 0u) |
           (are_too_many(w, awake) ? BWL_INVARIANT_ONE_WORKER : 0u) |
           (have_one_fence(w, believers) ? 0u : BWL_INVARIANT_FENCE);
}

/* True if the server keeps the client's key until `until`, each by its own clock. */
static bool gives(const bwl_world *w, const bwl_server *server, unsigned client, bwl_ms until)
{
    const bwl_lab_client *c     = &w->clients[client];
    uint16_t              token = bwl_world_token_of(w, client);
    uint16_t              other = bwl_upgrades_to(&c->hold);
    int64_t               left  = bwl_model_left(&server->redis);

    if (other != 0 && !bwl_model_holds(&server->redis.data, token))
        token = other;
    const bwl_model_item *share = bwl_model_share(&server->redis.data, token);
    if (!bwl_model_holds(&server->redis.data, token))
        return false;
    if (until == BWL_NEVER || bwl_model_lock(&server->redis)->lasts)
        return bwl_model_lock(&server->redis)->lasts;
    if (share != NULL && share->value * BWL_MODEL_PER_MS - server->redis.now < left)
        left = share->value * BWL_MODEL_PER_MS - server->redis.now;
    return left * c->clock.pace >=
           bwl_client_clock_is_off(&c->clock, until) * (int64_t)w->scenario->clocks.server_pace;
}

/* A majority of the servers keeps the key for as long as the client believes.  After a loss, the
 * last reported end counts until the caller releases. */
static bool is_honest(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c             = &w->clients[client];
    bwl_ms                until         = c->hold.until;
    unsigned              votes         = 0;
    bool                  has_forgotten = /* what a lock on several servers assumes not to happen */
        w->scenario->servers > 1 && (bwl_world_used(w, BWL_RESTART) || bwl_world_used(w, BWL_JUMP));

    if (bwl_world_believes(w, client) == 0) {
        until = c->caller.trusts_until;
        if (until <= c->clock.now)
            return true;
    }
    for (unsigned k = 0; k < w->scenario->servers; k++)
        votes += gives(w, &w->servers[k], client, until);
    return votes > w->scenario->servers / 2 || has_forgotten;
}

static bool is_free(const bwl_world *w)
{
    for (unsigned k = 0; k < w->scenario->servers; k++)
        if (bwl_model_owner(&w->servers[k].redis) != 0)
            return false;
    return true;
}

/* The longest pause between two attempts, and between two heartbeats of a waiter. */
enum { PAUSE_MAX_MS = 500, HEARTBEAT_MAX_MS = 2000 };

/* True if the lock is free and this client sleeps for longer than a pause. */
static bool is_not_woken_up(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c       = &w->clients[client];
    bwl_ms                most_ms = bwl_wait_is_kept(w) ? HEARTBEAT_MAX_MS : PAUSE_MAX_MS;

    return c->is_running && c->wake_at > c->clock.now + most_ms &&
           bwl_hold_is_acquiring(&c->hold) && is_free(w) && !bwl_world_awaits(w, client);
}

/* The longest lease that a client may ask for, in whole units where its end is in them. */
static bwl_ms longest_lease(const bwl_world *w)
{
    const bwl_compat_rules *rules = w->scenario->options.rules;
    bwl_ms lease_ms               = bwl_ms_max(w->scenario->extend_ms, w->scenario->terms.rest_ms);

    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (w->scenario->lease_of_ms[i] > lease_ms)
            lease_ms = w->scenario->lease_of_ms[i];
    if (rules != NULL)
        lease_ms += rules->lease_in_seconds ? 1000 : (bwl_ms)(rules->unit_ns / 1000000);
    return lease_ms;
}

static bool has_end(const bwl_world *w, const bwl_server *server)
{
    uint16_t              owner = bwl_model_owner(&server->redis);
    const bwl_lab_client *c;

    if (owner == 0 || owner == BWL_TOKEN_FOREIGN)
        return true;
    if (bwl_model_lock(&server->redis)->lasts && owner == BWL_TOKEN_SHARED)
        return false;
    c = owner != BWL_TOKEN_SHARED ? &w->clients[bwl_token_client(owner)] : NULL;
    if (bwl_model_lock(&server->redis)->lasts) /* a second command sets the end */
        return c->is_running && bwl_hold_is_acquiring(&c->hold) &&
               bwl_world_token_of(w, bwl_token_client(owner)) == owner;
    return bwl_model_left(&server->redis) <= w->scenario->terms.lease_ms * BWL_MODEL_PER_MS ||
           bwl_model_left(&server->redis) <= longest_lease(w) * BWL_MODEL_PER_MS;
}

/* A client wants a key that was set in time, or a release is in flight.  With several servers, a
 * failed attempt is over while its client waits for the next one. */
static bool is_taken_care_of(const bwl_world *w, const bwl_server *server)
{
    uint16_t              owner = bwl_model_owner(&server->redis);
    const bwl_lab_client *c;
    const bwl_link       *link;

    if (owner == 0 || owner == BWL_TOKEN_FOREIGN || server->key_excused || bwl_wait_is_kept(w))
        return true; /* waiting.c checks locks with a queue */
    if (w->scenario->servers > 1 &&
        (bwl_world_used(w, BWL_LOSS) || bwl_world_used(w, BWL_CRASH) || server->was_faulty))
        return true; /* a lost message or a failed server */
    c    = &w->clients[bwl_token_client(owner)];
    link = &server->links[bwl_token_client(owner)];
    if (c->is_running && bwl_token_read(c->hold.request.token) == owner &&
        (w->scenario->servers == 1 || c->hold.state != BWL_HOLD_WAITING))
        return true;
    for (unsigned i = link->answered; i < link->count; i++)
        if (link->messages[i].token == owner)
            return true;
    return false;
}

static unsigned broken_by_client(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c          = &w->clients[client];
    bool                  believes   = bwl_world_believes(w, client) > 0;
    bool                  has_no_end = bwl_hold_is_held(&c->hold) && c->hold.until == BWL_NEVER;
    bool                  is_stuck =
        c->is_running && c->wake_at == BWL_NEVER && !has_no_end && !bwl_world_awaits(w, client);
    bool is_forgotten = c->is_running && c->caller.extends && c->hold.state == BWL_HOLD_HELD &&
                        !c->hold.change.is_awaited;
    bool is_overdue = c->is_running && !c->book.was_kept && c->clock.now > c->caller.due_by &&
                      !bwl_world_used(w, BWL_STOP); /* a stopped server counts as slow */
    bool is_unwoken = c->caller.is_working && c->wake_at > c->clock.now && !believes;
    bool is_beyond =
        c->caller.is_working && believes &&
        c->hold.until > bwl_ms_add(c->caller.held_since, w->scenario->terms.max_hold_ms);

    return (is_honest(w, client) ? 0u : BWL_INVARIANT_HONEST) |
           (is_stuck ? BWL_INVARIANT_NOT_STUCK : 0u) |
           (is_forgotten ? BWL_INVARIANT_REPORTED : 0u) |
           (is_overdue ? BWL_INVARIANT_IN_TIME : 0u) |
           (is_not_woken_up(w, client) ? BWL_INVARIANT_LOST_WAKE_UP : 0u) |
           (is_unwoken ? BWL_INVARIANT_WAKES : 0u) | (is_beyond ? BWL_INVARIANT_MAX_HOLD : 0u);
}

/* True if nothing has failed, no client runs, and no message is under way. */
static bool is_quiet(const bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_link *link = &w->servers[BWL_ONLY].links[i];
        if (w->clients[i].is_running || link->count > 0 || link->late_count > 0)
            return false;
    }
    for (unsigned i = 1; i < BWL_BUDGETS_COUNT; i++)
        if (bwl_world_used(w, (bwl_budget)i))
            return false;
    return true;
}

/* True if a client that acquires now, without a wait, gets the lock. */
static bool is_acquirable(const bwl_world *w)
{
    enum { STEPS_MAX = 100 };
    bwl_world       then   = *w;
    bwl_lab_client *c      = &then.clients[0];
    const bwl_link *link   = &then.servers[BWL_ONLY].links[0];
    bwl_transition  serve  = { .kind = BWL_TRANSITION_SERVE };
    bwl_transition  answer = { .kind = BWL_TRANSITION_DELIVER };

    c->rounds_left = 1;
    bwl_sim_client_start(&then, 0, 0);
    for (unsigned i = 0; i < STEPS_MAX && link->count > 0; i++)
        bwl_world_perform(&then, link->answered > 0 ? answer : serve);
    return c->is_running && bwl_hold_is_held(&c->hold);
}

/* Whoever owns the key: a client that has released the lock leaves it to the next one. */
static bool is_freed(const bwl_world *w)
{
    bool matters = (w->scenario->invariants & BWL_INVARIANT_FREES) != 0 && w->is_released;

    return !matters || !is_quiet(w) || is_acquirable(w);
}

unsigned bwl_world_broken_invariants(const bwl_world *w)
{
    unsigned broken = w->broken | holders(w) | (is_freed(w) ? 0u : BWL_INVARIANT_FREES);

    if (bwl_wait_is_kept(w))
        broken |= bwl_wait_broken_of_gate(w);

    for (unsigned i = 0; i < w->scenario->clients; i++)
        broken |= broken_by_client(w, i);
    for (unsigned k = 0; k < w->scenario->servers; k++)
        broken |= (has_end(w, &w->servers[k]) ? 0u : BWL_INVARIANT_HAS_END) |
                  (is_taken_care_of(w, &w->servers[k]) ? 0u : BWL_INVARIANT_TAKEN_BACK);
    return broken;
}

bool bwl_world_ended_clean(const bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (w->clients[i].is_running || w->clients[i].rounds_left > 0)
            return false;
    for (unsigned k = 0; k < w->scenario->servers; k++) {
        uint16_t owner   = bwl_model_owner(&w->servers[k].redis);
        bool     is_file = w->scenario->options.program != NULL; /* it may leave a free lock */
        if (owner != 0 && owner != BWL_TOKEN_FOREIGN && !(is_file && is_acquirable(w)))
            return false;
        for (unsigned i = 0; i < w->scenario->clients; i++)
            if (w->servers[k].links[i].late_count > 0)
                return false;
    }
    return !bwl_wait_is_kept(w) || bwl_wait_is_empty(w);
}
