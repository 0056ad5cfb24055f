/*
 * queue_share.c -- the commands of a lock that clients share.
 *
 * A gate is a text: its value is TEXT + GATE + its fence.  A member of H is the token, and the
 * number of the permit beyond the first 16 bits; its value is the time at which it ends, in
 * milliseconds of the server's clock.
 */
#include "lab/model/queue_inside.h"
#include "lab/base/token_number.h"
#include "lab/model/mutation.h"

typedef bwl_model_queue_script script;

enum { TOKEN_BITS = 16 };

/* ---- the gate -------------------------------------------------------------------------------- */

int64_t bwl_model_gate(const bwl_model_data *data)
{
    const bwl_model_key *lock    = &data->keys[BWL_MODEL_LOCK];
    bool                 is_gate = lock->kind == BWL_KIND_STRING &&
                   lock->value >= BWL_MODEL_TEXT + BWL_MODEL_GATE &&
                   lock->value < BWL_MODEL_TEXT + BWL_MODEL_REST;

    return is_gate ? lock->value - BWL_MODEL_TEXT - BWL_MODEL_GATE : 0;
}

const bwl_model_item *bwl_model_share(const bwl_model_data *data, uint16_t token)
{
    for (unsigned i = 0; bwl_model_gate(data) != 0 && i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &data->items[i];
        if (item->is_there && item->key == BWL_MODEL_SHARERS && item->member == token)
            return item;
    }
    return NULL;
}

bool bwl_model_holds(const bwl_model_data *data, uint16_t token)
{
    const bwl_model_key *lock = &data->keys[BWL_MODEL_LOCK];

    return (lock->kind != BWL_KIND_NONE && lock->writer == token) ||
           bwl_model_share(data, token) != NULL;
}

bwl_ms bwl_model_gate_ends(const bwl_model_data *data)
{
    bwl_ms last = 0;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &data->items[i];
        if (item->is_there && item->key == BWL_MODEL_SHARERS && item->value > last)
            last = item->value;
    }
    return last;
}

static int64_t now_ms(const script *s)
{
    return s->r->now / BWL_MODEL_PER_MS;
}

bwl_share bwl_share_of(const script *s, uint16_t token)
{
    if (!s->names_sharers || s->q->shares == NULL)
        return (bwl_share){ 0 };
    return s->q->shares[bwl_token_client(token)];
}

bool bwl_share_fits(bwl_share share, unsigned used)
{
    return used == 0 ||
           (share.weight > 0 && (share.limit == 0 || used + share.weight <= share.limit));
}

static void purge(script *s)
{
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &s->r->data.items[i];
        if (item->is_there && item->key == BWL_MODEL_SHARERS && item->value <= now_ms(s))
            (void)bwl_model_item_remove(s->r, BWL_MODEL_SHARERS, item->member);
    }
}

int64_t bwl_share_gate_of(const script *s)
{
    return s->names_sharers ? bwl_model_gate(&s->r->data) : 0;
}

bwl_serving bwl_share_look(script *s)
{
    bwl_serving how    = { .gate = bwl_share_gate_of(s) };
    bool        purges = s->q->command != REDIS_SHARE_HEARTBEAT ||
                  (s->mutations & BWL_MUTATION_HEARTBEAT_KEEPS) == 0;

    if (how.gate != 0 && purges)
        purge(s);
    if (how.gate != 0)
        how.used = bwl_model_items_count(s->r, BWL_MODEL_SHARERS);
    return how;
}

static uint32_t member(uint16_t token, unsigned i)
{
    return token | (uint32_t)i << TOKEN_BITS;
}

/* Of who shares the lock after a downgrade, 1. */
static unsigned members_of(const script *s, uint16_t token)
{
    unsigned weight = bwl_share_of(s, token).weight;

    return weight != 0 ? weight : 1;
}

void bwl_share_enter(script *s, uint16_t token, bwl_ms for_ms)
{
    s->last_ends_ms = now_ms(s) + for_ms;
    for (unsigned i = 0; i < members_of(s, token); i++)
        bwl_model_item_put(s->r, BWL_KIND_ZSET, BWL_MODEL_SHARERS, member(token, i),
                           s->last_ends_ms);
}

void bwl_share_open(script *s, int64_t fence)
{
    (void)bwl_model_remove(s->r, BWL_MODEL_SHARERS);
    bwl_model_set(s->r, BWL_MODEL_LOCK, BWL_MODEL_TEXT + BWL_MODEL_GATE + fence, BWL_TOKEN_SHARED);
}

bool bwl_share_remove(script *s, uint16_t token)
{
    bool was_there = bwl_model_item_of(s->r, BWL_MODEL_SHARERS, token) != NULL;

    for (unsigned i = 0; i < members_of(s, token); i++)
        (void)bwl_model_item_remove(s->r, BWL_MODEL_SHARERS, member(token, i));
    return was_there;
}

void bwl_share_keep_gate(script *s)
{
    bool    by_last = (s->mutations & BWL_MUTATION_GATE_OF_LAST) != 0 && s->last_ends_ms != 0;
    bwl_ms  ends_ms = by_last ? s->last_ends_ms : bwl_model_gate_ends(&s->r->data);
    int64_t ends_at = ends_ms * BWL_MODEL_PER_MS;

    (void)bwl_model_expire_at(s->r, BWL_MODEL_LOCK, ends_at);
    (void)bwl_model_expire_at(s->r, BWL_MODEL_SHARERS, ends_at);
}

bool bwl_model_queue_is_served(const bwl_model_redis *r, const bwl_model_queue_args *q)
{
    const bwl_model_item *first = bwl_model_queue_next(&r->data, NULL);
    unsigned              used  = 0;
    script                s     = { .r = NULL, .q = q, .names_sharers = true };

    if (first == NULL || (bwl_model_exists(r, BWL_MODEL_LOCK) && bwl_model_gate(&r->data) == 0))
        return true;
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &r->data.items[i];
        used += item->is_there && item->key == BWL_MODEL_SHARERS &&
                item->value * BWL_MODEL_PER_MS > r->now;
    }
    return !bwl_model_queue_is_dead(r, q, bwl_member_of(first->member).token) &&
           !bwl_share_fits(bwl_share_of(&s, bwl_member_of(first->member).token), used);
}

/* ---- the commands ---------------------------------------------------------------------------- */

static void say_held(script *s, bwl_serving how)
{
    if (how.gate == 0)
        bwl_share_open(s, how.gate = bwl_queue_count(s));
    bwl_share_enter(s, s->q->token, s->q->lease_ms);
    bwl_share_keep_gate(s);
    s->reply.fence = (s->mutations & BWL_MUTATION_FENCE_EACH) != 0 ? bwl_queue_count(s) : how.gate;
    bwl_queue_say(s, BWL_YES, BWL_QUEUE_STATUS_HELD);
}

/* Nobody has the lock, or it is shared by any number, and nobody waits: no member is removed. */
static bool joins_at_once(script *s)
{
    bwl_share share        = bwl_share_of(s, s->q->token);
    int64_t   gate         = bwl_model_gate(&s->r->data);
    bool      comes_before = gate != 0 && (s->mutations & BWL_MUTATION_READERS_FIRST) != 0;
    bool      is_free      = !bwl_model_exists(s->r, BWL_MODEL_LOCK) && bwl_queue_counts_on(s->r);

    if (share.weight != 1 || (bwl_model_exists(s->r, BWL_MODEL_QUEUE) && !comes_before) ||
        !(is_free || (gate != 0 && share.limit == 0)))
        return false;
    say_held(s, (bwl_serving){ .gate = gate });
    return true;
}

static bool is_free_to_join(const script *s, bwl_serving how)
{
    bwl_share share = bwl_share_of(s, s->q->token);

    return !bwl_model_exists(s->r, BWL_MODEL_QUEUE) &&
           (how.gate != 0 || !bwl_model_exists(s->r, BWL_MODEL_LOCK)) &&
           (share.limit == 0 || how.used + share.weight <= share.limit);
}

static void join(script *s, bool waits)
{
    bwl_serving how;
    int64_t     fence  = 0;
    int64_t     ticket = s->q->ticket;

    if (joins_at_once(s))
        return;
    how = bwl_share_look(s);
    if (!waits && !bwl_model_exists(s->r, BWL_MODEL_LOCK) &&
        bwl_model_exists(s->r, BWL_MODEL_QUEUE)) {
        bwl_queue_touch(s, BWL_MODEL_QUEUE);
        (void)bwl_queue_serve(s, (bwl_serving){ .fence = bwl_queue_count(s) });
        how = bwl_share_look(s);
    }
    if (is_free_to_join(s, how)) {
        say_held(s, how);
        return;
    }
    if (!waits) {
        bwl_queue_say_busy(s);
        return;
    }
    if (bwl_queue_says_full(s))
        return;
    bool is_free = !bwl_model_exists(s->r, BWL_MODEL_LOCK);
    if (is_free || ticket == 0)
        fence = bwl_queue_count(s);
    if (ticket == 0)
        ticket = fence;
    how.me    = s->q->token;
    how.fence = is_free ? fence : 0;
    bwl_queue_enter(s, ticket);
    bwl_queue_wait(s, (uint64_t)ticket, how, is_free || how.gate != 0, true);
}

static void say_share(script *s, bwl_serving how)
{
    const bwl_model_item *share = bwl_model_share(&s->r->data, s->q->token);

    bwl_queue_say(s, BWL_YES, BWL_QUEUE_STATUS_MINE);
    s->reply.fence                = how.gate;
    s->reply.queue_status.ends    = true;
    s->reply.queue_status.left_ms = share->value - now_ms(s);
}

static void heartbeat(script *s)
{
    bool                  is_free = !bwl_model_exists(s->r, BWL_MODEL_LOCK);
    bwl_serving           how;
    const bwl_model_item *item;
    int64_t               ticket;
    uint32_t              former;

    if (bwl_queue_is_mine(s)) {
        bwl_queue_say_mine(s);
        return;
    }
    how = bwl_share_look(s);
    if (bwl_model_share(&s->r->data, s->q->token) != NULL) {
        say_share(s, how);
        return;
    }
    item = bwl_queue_item(s);
    if (item == NULL) {
        bwl_queue_say_gone(s);
        return;
    }
    ticket = item->value;
    former = item->member;
    how.me = s->q->token;
    if (is_free)
        how.fence = bwl_queue_count(s);
    bwl_queue_enter(s, ticket);
    if (bwl_member_number(s->q->member) != former)
        (void)bwl_model_item_remove(s->r, BWL_MODEL_QUEUE, former);
    bool serves = is_free || (how.gate != 0 && (s->mutations & BWL_MUTATION_HEARTBEAT_ONLY) == 0);
    bwl_queue_wait(s, (uint64_t)ticket, how, serves, true);
}

/* Our share ends later, or as before; L and H with the last one. */
static void extend_share(script *s, const bwl_model_item *share)
{
    if (share->value < now_ms(s) + s->q->lease_ms)
        bwl_share_enter(s, s->q->token, s->q->lease_ms);
    bwl_share_keep_gate(s);
}

/* L, which is ours alone, becomes a gate, and others may come in. */
static void open_to_others(script *s, int64_t fence)
{
    bwl_ms ms = bwl_ms_max(s->q->lease_ms, bwl_model_left_ms(s->r, BWL_MODEL_LOCK));

    bwl_share_open(s, fence);
    bwl_share_enter(s, s->q->token, ms);
    (void)bwl_queue_serve(s, (bwl_serving){ .gate = fence, .used = members_of(s, s->q->token) });
}

static void extend(script *s)
{
    const bwl_model_item *share = bwl_model_share(&s->r->data, s->q->token);

    bwl_queue_say(s, BWL_YES, 0);
    if (share != NULL)
        extend_share(s, share);
    else if (bwl_queue_is_mine(s)) /* granted by a script that does not know H */
        open_to_others(s, s->q->ticket);
    else
        bwl_queue_say(s, BWL_NO, 0);
}

static void say_not_ours(script *s)
{
    bool is_gone = !bwl_model_exists(s->r, BWL_MODEL_LOCK);

    bwl_queue_say(s, BWL_NO, is_gone ? BWL_QUEUE_STATUS_GONE : 0);
}

static void downgrade(script *s)
{
    const bwl_model_item *share = bwl_model_share(&s->r->data, s->q->token);
    int64_t               fence = bwl_model_gate(&s->r->data);

    if (share == NULL && !bwl_queue_is_mine(s)) {
        say_not_ours(s);
        return;
    }
    if (share != NULL)
        extend_share(s, share);
    else
        open_to_others(s, fence = bwl_queue_count(s));
    s->reply.fence = fence;
    bwl_queue_say(s, BWL_YES, BWL_QUEUE_STATUS_HELD);
}

/* Our share is one of the new token.  False: we have none. */
static bool move_share(script *s)
{
    const bwl_model_item *share = bwl_model_share(&s->r->data, s->q->token);
    bwl_ms                ms    = s->q->lease_ms;

    if (share == NULL)
        share = bwl_model_share(&s->r->data, s->q->previous_token);
    if (share == NULL)
        return false;
    ms = bwl_ms_max(ms, share->value - now_ms(s));
    (void)bwl_share_remove(s, s->q->token);
    bwl_share_enter(s, s->q->previous_token, ms);
    purge(s);
    bwl_share_keep_gate(s);
    return true;
}

static void upgrade(script *s)
{
    bool is_alone   = bwl_queue_is_mine(s) || bwl_queue_is_of(s, s->q->previous_token);
    bool overwrites = (s->mutations & BWL_MUTATION_SET_OVERWRITES) != 0;

    if (!is_alone && !move_share(s)) {
        say_not_ours(s);
        return;
    }
    if (!is_alone && bwl_model_items_count(s->r, BWL_MODEL_SHARERS) > 1 && !overwrites) {
        bwl_queue_say_busy(s);
        return;
    }
    bwl_queue_set_lock(s, s->q->previous_token,
                       bwl_ms_max(s->q->lease_ms, bwl_model_left_ms(s->r, BWL_MODEL_LOCK)));
    (void)bwl_model_remove(s->r, BWL_MODEL_SHARERS);
    s->reply.fence = bwl_queue_count(s);
    bwl_queue_say(s, BWL_YES, BWL_QUEUE_STATUS_HELD);
}

static void leave(script *s)
{
    bool        queue = bwl_model_exists(s->r, BWL_MODEL_QUEUE);
    bwl_serving how   = { .gate = bwl_model_gate(&s->r->data) };
    bwl_served  as    = BWL_SERVED;
    bool        had   = false;

    if (bwl_queue_is_mine(s)) {
        bwl_queue_say_served(s, bwl_queue_pass_on(s));
        return;
    }
    if (how.gate != 0 && !queue && members_of(s, s->q->token) == 1) {
        bwl_ms last = bwl_model_gate_ends(&s->r->data);
        had         = bwl_share_remove(s, s->q->token);
        if (had && !bwl_model_exists(s->r, BWL_MODEL_SHARERS))
            (void)bwl_model_remove(s->r, BWL_MODEL_LOCK);
        else if (had && bwl_model_gate_ends(&s->r->data) != last)
            bwl_share_keep_gate(s);
        bwl_queue_say(s, had ? BWL_YES : BWL_NO, 0);
        return;
    }
    had = bwl_queue_remove_entries(s);
    how = bwl_share_look(s);
    if (how.gate != 0) {
        had      = bwl_share_remove(s, s->q->token) || had;
        how.used = bwl_model_items_count(s->r, BWL_MODEL_SHARERS);
        as       = bwl_queue_serve(s, how);
    }
    if (had)
        bwl_queue_say_served(s, as);
    else
        bwl_queue_say(s, BWL_NO, 0);
}

void bwl_share_reply(script *s)
{
    switch (s->q->command) {
    case REDIS_SHARE_TAKE: join(s, false); break;
    case REDIS_SHARE_JOIN: join(s, true); break;
    case REDIS_SHARE_HEARTBEAT: heartbeat(s); break;
    case REDIS_SHARE_EXTEND: extend(s); break;
    case REDIS_SHARE_LEAVE: leave(s); break;
    case REDIS_SHARE_DOWNGRADE: downgrade(s); break;
    case REDIS_SHARE_UPGRADE: upgrade(s); break;
    default: bwl_unreachable("a command that shares nothing");
    }
}
