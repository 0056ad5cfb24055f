/*
 * watch.c -- does this world break a law?  See law.h for the laws.
 */
#include "core/rules.h"
#include "lab/world/client_clock.h"
#include "lab/base/token_number.h"
#include "lab/world/waiting.h"

bwl_ms bwl_world_believes(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    return c->is_running ? bwl_hold_left(&c->hold, c->now) : 0;
}

static unsigned holders(const bwl_world *w)
{
    unsigned believers = 0;
    unsigned workers   = 0;
    unsigned awake     = 0;

    for (unsigned i = 0; i < w->scenario->clients; i++) {
        const bwl_lab_client *c = &w->clients[i];
        believers += bwl_world_believes(w, i) > 0;
        workers += c->is_working;
        awake += c->is_working && !c->was_slow;
    }
    return (believers > 1 ? BWL_LAW_ONE_HOLDER : 0u) | (workers > 1 ? BWL_LAW_NO_OVERLAP : 0u) |
           (awake > 1 ? BWL_LAW_ONE_WORKER : 0u);
}

/* What the client believes, the server gives: each at its own pace.  And what the caller was told
 * before it was lost, which he may have just read, until he gives it back. */
static bool is_honest(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c     = &w->clients[client];
    bwl_ms                left  = bwl_world_believes(w, client);
    bwl_ms                until = c->hold.until;

    if (left == 0 && c->trusts_until > c->now) {
        until = c->trusts_until;
        left  = until == BWL_NEVER ? BWL_NEVER : until - c->now;
    }
    if (left == 0)
        return true;
    if (bwl_model_owner(&w->redis) != bwl_world_token_of(w, client))
        return false;
    if (left == BWL_NEVER || bwl_model_lock(&w->redis)->lasts)
        return bwl_model_lock(&w->redis)->lasts;
    return bwl_model_left(&w->redis) * c->pace >=
           bwl_client_clock_is_off(c, until) * (int64_t)w->scenario->server_pace;
}

static bool is_stuck(const bwl_lab_client *c)
{
    bool has_no_end = bwl_hold_is_held(&c->hold) && c->hold.until == BWL_NEVER;

    return c->is_running && c->letters_count == 0 && c->wake_at == BWL_NEVER && !has_no_end;
}

/* The longest pause that a hold makes between two attempts; and who waits, between two beats. */
enum { PAUSE_MAX_MS = 500, BEAT_MAX_MS = 2000 };

/* The lock is free, and this client will not look for longer than a pause. */
static bool is_not_woken_up(const bwl_world *w, const bwl_lab_client *c)
{
    bwl_ms most_ms = bwl_wait_is_kept(w) ? BEAT_MAX_MS : PAUSE_MAX_MS;

    return bwl_model_owner(&w->redis) == 0 && c->is_running && bwl_hold_is_sought(&c->hold) &&
           c->letters_count == 0 && c->wake_at > c->now + most_ms;
}

/* The caller waits for word of an extension, and the hold has forgotten it. */
static bool is_forgotten(const bwl_lab_client *c)
{
    return c->is_running && c->extends && c->hold.state == BWL_HOLD_HELD;
}

static bool is_overdue(const bwl_lab_client *c)
{
    return c->is_running && !c->was_kept && c->now > c->due_by;
}

static bool is_unwoken(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    return c->is_working && c->wake_at > c->now && bwl_world_believes(w, client) == 0;
}

static bool is_beyond_max_hold(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    return c->is_working && bwl_world_believes(w, client) > 0 &&
           c->hold.until > bwl_later(c->held_since, w->scenario->terms.max_hold_ms);
}

/* By how much a key may outlive its lease because an end can be written in whole units only. */
static bwl_ms rounding_ms(const bwl_rules *rules)
{
    if (rules == NULL)
        return 0;
    return rules->lease_in_seconds ? 1000 : (bwl_ms)(rules->unit_ns / 1000000);
}

/* Where the end is set by a second question, the key has none until then. */
static bool is_about_to_end(const bwl_world *w)
{
    unsigned              owner = bwl_token_client(bwl_model_owner(&w->redis));
    const bwl_lab_client *c     = &w->clients[owner];

    return c->is_running && bwl_hold_is_sought(&c->hold) &&
           bwl_world_token_of(w, owner) == bwl_model_owner(&w->redis);
}

static bool has_end(const bwl_world *w)
{
    bwl_ms lease_ms = w->scenario->extend_ms;

    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (w->scenario->lease_of_ms[i] > lease_ms)
            lease_ms = w->scenario->lease_of_ms[i];
    if (bwl_model_owner(&w->redis) == BWL_TOKEN_OF_STRANGER)
        return true;
    if (bwl_model_owner(&w->redis) != 0 && bwl_model_lock(&w->redis)->lasts)
        return is_about_to_end(w);
    lease_ms += rounding_ms(w->scenario->terms.rules);
    return bwl_model_left(&w->redis) <= lease_ms * BWL_MODEL_PER_MS;
}

/* A key that was set in time and whose release did not fail is wanted, or about to be removed. */
static bool is_taken_care_of(const bwl_world *w)
{
    uint16_t              owner = bwl_model_owner(&w->redis);
    const bwl_lab_client *c;

    if (owner == 0 || owner == BWL_TOKEN_OF_STRANGER || w->key_excused || bwl_wait_is_kept(w))
        return true; /* where there is a line, each step is looked at: waiting.c */
    c = &w->clients[bwl_token_client(owner)];
    if (c->is_running && bwl_token_read(c->hold.claim.token) == owner)
        return true;
    for (unsigned i = c->answered; i < c->letters_count; i++)
        if (c->letters[i].token == owner)
            return true;
    return false;
}

static unsigned broken_by_client(const bwl_world *w, unsigned client)
{
    const bwl_lab_client *c = &w->clients[client];

    return (is_honest(w, client) ? 0u : BWL_LAW_HONEST) | (is_stuck(c) ? BWL_LAW_NOT_STUCK : 0u) |
           (is_forgotten(c) ? BWL_LAW_TOLD : 0u) | (is_overdue(c) ? BWL_LAW_IN_TIME : 0u) |
           (is_not_woken_up(w, c) ? BWL_LAW_LOST_WAKE_UP : 0u) |
           (is_unwoken(w, client) ? BWL_LAW_WAKES : 0u) |
           (is_beyond_max_hold(w, client) ? BWL_LAW_MAX_HOLD : 0u);
}

unsigned bwl_world_broken_laws(const bwl_world *w)
{
    unsigned broken = w->broken | holders(w);

    for (unsigned i = 0; i < w->scenario->clients; i++)
        broken |= broken_by_client(w, i);
    if (!has_end(w))
        broken |= BWL_LAW_HAS_END;
    if (!is_taken_care_of(w))
        broken |= BWL_LAW_TAKEN_BACK;
    return broken;
}

bool bwl_world_ended_clean(const bwl_world *w)
{
    for (unsigned i = 0; i < w->scenario->clients; i++)
        if (w->clients[i].is_running || w->clients[i].rounds_left > 0 ||
            w->clients[i].late_count > 0)
            return false;
    uint16_t owner = bwl_model_owner(&w->redis);

    if (bwl_wait_is_kept(w) && !bwl_wait_is_empty(w))
        return false;
    return owner == 0 || owner == BWL_TOKEN_OF_STRANGER;
}
