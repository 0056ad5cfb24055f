/*
 * queue.c -- see queue.h: the queue, and the commands of a lock for one client.  queue_share.c has
 * those of a lock that clients share.
 */
#include "lab/model/queue_inside.h"
#include "lab/base/token_number.h"
#include "lab/model/mutation.h"

#define FENCE_MIN INT64_C(1000000000000000) /* below this, F was lost */

typedef bwl_model_queue_script script;

/* ---- keys ------------------------------------------------------------------------------------ */

void bwl_queue_set_lock(script *s, uint16_t token, bwl_ms time)
{
    bwl_model_set(s->r, BWL_MODEL_LOCK, bwl_model_value(NULL, token, 0), token);
    bwl_model_expire(s->r, BWL_MODEL_LOCK, time);
}

void bwl_queue_touch(script *s, unsigned key)
{
    if (s->q->keep_ms != 0)
        bwl_model_expire(s->r, key, s->q->keep_ms);
}

/* renews: the expiry of Q and B, too. */
static void note_heartbeat(script *s, bool renews)
{
    bwl_model_item_put(s->r, BWL_KIND_HASH, BWL_MODEL_HEARTBEATS, s->q->token,
                       s->r->now / BWL_MODEL_PER_MS);
    if (renews) {
        bwl_queue_touch(s, BWL_MODEL_QUEUE);
        bwl_queue_touch(s, BWL_MODEL_HEARTBEATS);
    }
}

int64_t bwl_model_us(const bwl_model_redis *r)
{
    return r->now * (1000 / BWL_MODEL_PER_MS);
}

/* ---- the counter ----------------------------------------------------------------------------- */

static void set_count(bwl_model_redis *r, int64_t to)
{
    r->data.keys[BWL_MODEL_COUNT] =
        (bwl_model_key){ .kind = BWL_KIND_STRING, .lasts = true, .value = to };
}

/* Time does not pass in the model; a real server takes at least a microsecond per count and per new
 * connection. */
static int64_t clock_us(bwl_model_redis *r)
{
    return bwl_model_us(r) + (int64_t)r->counted;
}

int64_t bwl_queue_count(script *s)
{
    int64_t next = bwl_model_increment(s->r, BWL_MODEL_COUNT, s->q->token);

    if (next < FENCE_MIN && (s->mutations & BWL_MUTATION_FENCE_BARE) == 0)
        set_count(s->r, clock_us(s->r));
    s->r->counted++;
    return s->r->data.keys[BWL_MODEL_COUNT].value;
}

/* False: F was lost, and is about to start from the clock. */
bool bwl_queue_counts_on(const bwl_model_redis *r)
{
    const bwl_model_key *k = &r->data.keys[BWL_MODEL_COUNT];

    return k->kind == BWL_KIND_STRING && k->value + 1 >= FENCE_MIN;
}

void bwl_model_queue_fence_minimum(bwl_model_redis *r)
{
    const bwl_model_key *k  = &r->data.keys[BWL_MODEL_COUNT];
    int64_t              us = clock_us(r);

    if (k->kind == BWL_KIND_NONE || k->value < us)
        set_count(r, us);
    r->counted++;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static bool is_before(const bwl_model_item *a, const bwl_model_item *b)
{
    uint64_t text_a = (uint64_t)(a->member & 0xffff) << 32 | a->member >> 16;
    uint64_t text_b = (uint64_t)(b->member & 0xffff) << 32 | b->member >> 16;

    return a->value != b->value ? a->value < b->value : text_a < text_b;
}

const bwl_model_item *bwl_model_queue_next(const bwl_model_data *data, const bwl_model_item *last)
{
    const bwl_model_item *next = NULL;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &data->items[i];
        if (item->is_there && item->key == BWL_MODEL_QUEUE &&
            (last == NULL || is_before(last, item)) && (next == NULL || is_before(item, next)))
            next = item;
    }
    return next;
}

static unsigned rank_of(const bwl_model_redis *r, const bwl_model_item *item)
{
    unsigned              rank  = 0;
    const bwl_model_item *other = bwl_model_queue_next(&r->data, NULL);

    for (; other != item; rank++)
        other = bwl_model_queue_next(&r->data, other);
    return rank;
}

void bwl_model_queue_subscribe(bwl_model_redis *r, unsigned connection, uint8_t push_channel)
{
    r->connections[connection].push_channel = push_channel;
}

static const bwl_model_item *item_of(script *s, bwl_member m)
{
    return bwl_model_item_of(s->r, BWL_MODEL_QUEUE, bwl_member_number(m));
}

void bwl_queue_enter(script *s, int64_t ticket)
{
    bwl_model_item_put(s->r, BWL_KIND_ZSET, BWL_MODEL_QUEUE, bwl_member_number(s->q->member),
                       ticket);
}

/* The member under any of its channels. */
const bwl_model_item *bwl_queue_item(script *s)
{
    bwl_member            m     = s->q->member;
    const bwl_model_item *found = item_of(s, m);

    for (unsigned i = 0; i < 2 && found == NULL; i++) {
        m.push_channel = s->q->old_channels[i];
        found          = item_of(s, m);
    }
    return found;
}

bool bwl_model_queue_is_dead(const bwl_model_redis *r, const bwl_model_queue_args *q,
                             uint16_t token)
{
    const bwl_model_item *heartbeat = bwl_model_item_of(r, BWL_MODEL_HEARTBEATS, token);

    return q->dead_ms != 0 && heartbeat != NULL &&
           r->now / BWL_MODEL_PER_MS - heartbeat->value > q->dead_ms;
}

/* True if the server sees a subscriber, even a dead one. */
static bool publish(script *s, bwl_member m, int64_t fence)
{
    unsigned client   = bwl_token_client(m.token);
    unsigned places[] = { client, client + BWL_MODEL_CLIENTS };

    for (unsigned i = 0; i < 2; i++) {
        if (s->r->connections[places[i]].push_channel != m.push_channel)
            continue;
        assert(s->reply.grants.count < BWL_MODEL_GRANTS_MAX);
        s->reply.grants.list[s->reply.grants.count++] = (bwl_grant){
            .connection = (uint8_t)places[i],
            .token      = m.token,
            .fence      = fence,
            .server_us  = bwl_model_us(s->r),
        };
        return true;
    }
    return false;
}

/* The waiter gets its grant.  False: it is not there any more, so it has none. */
static bool grant(script *s, bwl_serving *how, bwl_member m, bool *is_ours)
{
    bwl_share share = bwl_share_of(s, m.token);

    if (share.weight == 0) {
        bwl_queue_set_lock(s, m.token, m.provisional_ttl_ms);
        how->gate = 0;
    } else {
        if (how->gate == 0)
            bwl_share_open(s, how->gate = how->fence);
        bwl_share_enter(s, m.token, m.provisional_ttl_ms);
    }
    *is_ours      = *is_ours || m.token == how->me;
    int64_t fence = share.weight == 0 ? how->fence : how->gate;
    if (share.weight > 0 && (s->mutations & BWL_MUTATION_FENCE_EACH) != 0)
        fence = bwl_queue_count(s);
    if (m.token == how->me || publish(s, m, fence)) {
        how->used += share.weight;
        return true;
    }
    if (share.weight > 0)
        (void)bwl_share_remove(s, m.token);
    return false;
}

/* The head of the queue does not fit; or it is dead, which only a mutation heeds. */
static bool is_held_up(script *s, bwl_member m, bool dead, unsigned used)
{
    bool heeds_dead = (s->mutations & BWL_MUTATION_DEAD_WAIT) != 0;

    return (!dead || heeds_dead) && !bwl_share_fits(bwl_share_of(s, m.token), used);
}

/* The end of `serve`. */
static bwl_served served(script *s, const bwl_serving *how, bool is_ours, bool is_all)
{
    if (how->used > 0)
        bwl_share_keep_gate(s);
    if (!is_ours)
        return is_all ? BWL_SERVED : BWL_SERVED_MORE;
    s->reply.fence = how->gate != 0 ? how->gate : how->fence;
    return BWL_SERVED_MINE;
}

/* L is missing, or its owner releases it, or it is a gate. */
bwl_served bwl_queue_serve(script *s, bwl_serving how)
{
    unsigned waiting = bwl_model_items_count(s->r, BWL_MODEL_QUEUE);
    bool     is_ours = false;
    unsigned i       = 0;

    for (; i < s->q->serve_max && i < waiting; i++) {
        bwl_member m    = bwl_member_of(bwl_model_queue_next(&s->r->data, NULL)->member);
        bool       dead = bwl_model_queue_is_dead(s->r, s->q, m.token);
        bool       is_x = bwl_share_of(s, m.token).weight == 0;
        if (how.used == 0 && how.fence == 0)
            how.fence = bwl_queue_count(s);
        if (is_held_up(s, m, dead, how.used))
            return served(s, &how, is_ours, true);
        bwl_model_item_remove(s->r, BWL_MODEL_QUEUE, bwl_member_number(m));
        bwl_model_item_remove(s->r, BWL_MODEL_HEARTBEATS, m.token);
        if (dead)
            s->reply.silent[s->reply.silent_count++] = m.token;
        else if (grant(s, &how, m, &is_ours) && is_x)
            return served(s, &how, is_ours, true);
        else if (how.used > 0 && (s->mutations & BWL_MUTATION_LETS_IN_ONE) != 0)
            return served(s, &how, is_ours, true);
    }
    if (how.used == 0)
        bwl_model_remove(s->r, BWL_MODEL_LOCK);
    if (how.used == 0 && i == waiting)
        bwl_model_remove(s->r, BWL_MODEL_HEARTBEATS);
    return served(s, &how, is_ours, i == waiting);
}

/* The same for a command that does not acquire. */
bwl_served bwl_queue_pass_on(script *s)
{
    if (!bwl_model_exists(s->r, BWL_MODEL_QUEUE)) {
        bwl_model_remove(s->r, BWL_MODEL_LOCK);
        return BWL_SERVED;
    }
    return bwl_queue_serve(s, (bwl_serving){ .fence = bwl_queue_count(s) });
}

/* ---- replies --------------------------------------------------------------------------------- */

void bwl_queue_say(script *s, bwl_answer answer, bwl_queue_status_kind how)
{
    s->reply.answer            = answer;
    s->reply.queue_status.kind = how;
}

static void say_yes_if(script *s, bool is_so)
{
    bwl_queue_say(s, is_so ? BWL_YES : BWL_NO, 0);
}

void bwl_queue_say_served(script *s, bwl_served as)
{
    bwl_queue_say(s, BWL_YES, as == BWL_SERVED_MORE ? BWL_QUEUE_STATUS_MORE : 0);
}

bool bwl_queue_is_of(const script *s, uint16_t token)
{
    const bwl_model_key *lock = bwl_model_lock(s->r);

    return lock->kind == BWL_KIND_STRING && lock->value == bwl_model_value(NULL, token, 0);
}

bool bwl_queue_is_mine(const script *s)
{
    return bwl_queue_is_of(s, s->q->token);
}

/* Writes the state of L. */
static void say_lock(script *s)
{
    const bwl_model_key *lock = bwl_model_lock(s->r);
    int64_t              left = lock->ends_at - s->r->now;

    if (lock->kind == BWL_KIND_NONE) {
        s->reply.queue_status.ends = true;
        return;
    }
    bool is_ours = lock->kind == BWL_KIND_STRING && lock->value < BWL_MODEL_FOREIGN_VALUE;
    s->reply.queue_status.is_ours = is_ours;
    s->reply.queue_status.rests   = is_ours && lock->value >= BWL_MODEL_TEXT + BWL_MODEL_REST;
    s->reply.queue_status.ends    = !lock->lasts;
    if (!lock->lasts)
        s->reply.queue_status.left_ms = left > 0 ? left / BWL_MODEL_PER_MS : 0;
}

static void say_rank(script *s, uint64_t rank)
{
    s->reply.queue_status.rank = rank;
    if (rank > 0) {
        s->reply.queue_status.ends    = true;
        s->reply.queue_status.left_ms = 0;
    }
}

/* Under a gate, the head waits for the next member to end. */
static void say_gate(script *s)
{
    bwl_ms now   = s->r->now / BWL_MODEL_PER_MS;
    bwl_ms first = BWL_NEVER;

    for (unsigned i = 0; bwl_share_gate_of(s) != 0 && i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &s->r->data.items[i];
        if (item->is_there && item->key == BWL_MODEL_SHARERS && item->value < first)
            first = item->value;
    }
    if (first != BWL_NEVER)
        s->reply.queue_status.left_ms = bwl_ms_max(0, first - now);
}

static void say_line(script *s, bwl_served as, uint64_t ticket)
{
    const bwl_model_item *item = item_of(s, s->q->member);

    if (as == BWL_SERVED_MINE) {
        bwl_queue_say(s, BWL_YES, BWL_QUEUE_STATUS_PROVISIONAL);
        s->reply.queue_status.ticket = ticket;
        return;
    }
    bwl_queue_say(s, BWL_NO, BWL_QUEUE_STATUS_QUEUED);
    if (as == BWL_SERVED_MORE) { /* the script does not look at L again */
        s->reply.queue_status.ends = true;
    } else {
        say_lock(s);
        say_gate(s);
    }
    assert(item != NULL);
    say_rank(s, rank_of(s->r, item));
    s->reply.queue_status.ticket    = (uint64_t)item->value;
    s->reply.queue_status.server_us = bwl_model_us(s->r);
}

void bwl_queue_say_mine(script *s)
{
    say_lock(s);
    s->reply.queue_status.is_ours = false; /* implied */
    s->reply.fence                = bwl_queue_count(s);
    bwl_queue_say(s, BWL_YES, BWL_QUEUE_STATUS_MINE);
}

void bwl_queue_say_gone(script *s)
{
    bwl_model_item_remove(s->r, BWL_MODEL_HEARTBEATS, s->q->token);
    bwl_queue_say(s, BWL_NO, BWL_QUEUE_STATUS_GONE);
}

void bwl_queue_say_busy(script *s)
{
    bwl_queue_say(s, BWL_NO, BWL_QUEUE_STATUS_BUSY);
    say_lock(s);
}

bool bwl_queue_says_full(script *s)
{
    unsigned waiters = bwl_model_items_count(s->r, BWL_MODEL_QUEUE);

    if (s->q->queue_max == 0 || s->q->ticket != 0 || waiters < s->q->queue_max ||
        !bwl_model_exists(s->r, BWL_MODEL_LOCK))
        return false;
    bwl_queue_say(s, BWL_NO, BWL_QUEUE_STATUS_FULL);
    s->reply.queue_status.rank = waiters;
    return true;
}

void bwl_queue_wait(script *s, uint64_t ticket, bwl_serving how, bool serves, bool renews)
{
    note_heartbeat(s, renews);
    say_line(s, serves ? bwl_queue_serve(s, how) : BWL_SERVED, ticket);
}

/* ---- the commands ---------------------------------------------------------------------------- */

static bool take(script *s)
{
    bool barges = (s->mutations & BWL_MUTATION_BARGES) != 0;

    if (bwl_model_exists(s->r, BWL_MODEL_LOCK) ||
        (bwl_model_exists(s->r, BWL_MODEL_QUEUE) && !barges))
        return false;
    bwl_queue_set_lock(s, s->q->token, s->q->lease_ms);
    s->reply.fence = bwl_queue_count(s);
    bwl_queue_say(s, BWL_YES, BWL_QUEUE_STATUS_HELD);
    return true;
}

static void take_or_busy(script *s)
{
    if (take(s))
        return;
    if (!bwl_model_exists(s->r, BWL_MODEL_LOCK))
        (void)bwl_queue_pass_on(s);
    if ((s->mutations & BWL_MUTATION_BUSY_FOR_DEAD) == 0 && take(s))
        return; /* all waiters are dead */
    bwl_queue_say_busy(s);
}

static void wait_in_queue(script *s, int64_t ticket, int64_t fence, bool renews)
{
    bwl_serving how = { .me = s->q->token, .fence = fence };

    bwl_queue_wait(s, (uint64_t)ticket, how, !bwl_model_exists(s->r, BWL_MODEL_LOCK), renews);
}

/* Behind other waiters a JOIN leaves the expiry of Q and B to heartbeats, unless it is near. */
static bool join_renews(const script *s, unsigned waiters)
{
    return s->q->is_old || waiters == 0 ||
           bwl_model_left_ms(s->r, BWL_MODEL_HEARTBEATS) < BWL_MODEL_JOIN_RENEWS_BELOW_MS;
}

static void join(script *s)
{
    bwl_model_key *lock    = &s->r->data.keys[BWL_MODEL_LOCK];
    unsigned       waiters = bwl_model_items_count(s->r, BWL_MODEL_QUEUE);
    int64_t        ticket  = s->q->ticket;
    int64_t        fence   = 0;
    bool is_usual = ticket == 0 && lock->kind == BWL_KIND_STRING && bwl_queue_counts_on(s->r);

    if (take(s))
        return;
    if (bwl_queue_says_full(s))
        return;
    if (ticket == 0 || !bwl_model_exists(s->r, BWL_MODEL_LOCK))
        fence = bwl_queue_count(s);
    if (ticket == 0)
        ticket = fence;
    if ((s->mutations & BWL_MUTATION_MARKS) != 0 && lock->value == BWL_MODEL_FOREIGN_VALUE)
        lock->value++; /* so that its release checks the queue */
    bwl_queue_enter(s, ticket);
    wait_in_queue(s, ticket, fence, !is_usual || join_renews(s, waiters));
    if (is_usual) /* a new ticket is the last, unless F was lost: then this is not exact */
        say_rank(s, waiters);
}

/* Of a waiter whose entry and heartbeat are there, while there is a lock. */
static bool is_brief(script *s)
{
    return s->q->ticket != 0 && bwl_model_lock(s->r)->kind == BWL_KIND_STRING &&
           item_of(s, s->q->member) != NULL &&
           bwl_model_item_of(s->r, BWL_MODEL_HEARTBEATS, s->q->token) != NULL;
}

static void heartbeat(script *s)
{
    const bwl_model_item *item  = bwl_queue_item(s);
    bool                  brief = is_brief(s);
    int64_t               fence = 0;
    int64_t               ticket;
    uint32_t              member;

    if (bwl_queue_is_mine(s)) {
        bwl_queue_say_mine(s);
        return;
    }
    if (item == NULL) {
        bwl_queue_say_gone(s);
        return;
    }
    ticket = item->value;
    member = item->member;
    if (!bwl_model_exists(s->r, BWL_MODEL_LOCK))
        fence = bwl_queue_count(s);
    bwl_queue_enter(s, ticket);
    if (bwl_member_number(s->q->member) != member)
        bwl_model_item_remove(s->r, BWL_MODEL_QUEUE, member);
    wait_in_queue(s, ticket, fence, !brief);
}

static void extend(script *s)
{
    bool mine = bwl_queue_is_mine(s);

    bool shortens = (s->mutations & BWL_MUTATION_EXTEND_SHORTENS) != 0;

    say_yes_if(s, mine);
    if (mine && (shortens || bwl_model_left(s->r) < s->q->lease_ms * BWL_MODEL_PER_MS))
        bwl_model_expire(s->r, BWL_MODEL_LOCK, s->q->lease_ms);
}

static void release(script *s)
{
    if (bwl_queue_is_mine(s))
        bwl_queue_say_served(s, bwl_queue_pass_on(s));
    else
        say_yes_if(s, false);
}

/* The rest counts as a foreign value: no later command may change it. */
static void rest(script *s)
{
    const bwl_model_key *lock    = bwl_model_lock(s->r);
    int64_t              as_rest = bwl_model_value(NULL, s->q->token, 0) + BWL_MODEL_REST;
    int64_t              left_ms = s->q->ticket;

    if (bwl_queue_is_mine(s) && !lock->lasts && bwl_model_left_ms(s->r, BWL_MODEL_LOCK) < left_ms)
        left_ms = bwl_model_left_ms(s->r, BWL_MODEL_LOCK);
    if (lock->kind == BWL_KIND_STRING && lock->value == as_rest) {
        bwl_queue_say(s, BWL_YES, 0);
    } else if (bwl_queue_is_mine(s) && left_ms > 0 &&
               (s->mutations & BWL_MUTATION_RELEASES_REST) == 0) {
        bwl_model_set(s->r, BWL_MODEL_LOCK, as_rest, BWL_TOKEN_FOREIGN);
        bwl_model_expire(s->r, BWL_MODEL_LOCK, left_ms);
        bwl_queue_say(s, BWL_YES, 0);
    } else {
        release(s);
    }
}

bool bwl_queue_remove_entries(script *s)
{
    bool was_queued = false;

    for (const bwl_model_item *item; (item = bwl_queue_item(s)) != NULL; was_queued = true)
        bwl_model_item_remove(s->r, BWL_MODEL_QUEUE, item->member);
    bwl_model_item_remove(s->r, BWL_MODEL_HEARTBEATS, s->q->token);
    return was_queued;
}

static void cancel(script *s)
{
    bwl_serving how;

    if (bwl_queue_is_mine(s)) {
        bwl_queue_say_served(s, bwl_queue_pass_on(s));
        return;
    }
    how = bwl_share_look(s);
    say_yes_if(s, bwl_queue_remove_entries(s));
    if (s->reply.answer == BWL_YES && how.gate != 0)
        bwl_queue_say_served(s, bwl_queue_serve(s, how));
}

static void dispatch_next(script *s)
{
    if (!bwl_model_exists(s->r, BWL_MODEL_LOCK))
        bwl_queue_say_served(s, bwl_queue_pass_on(s));
    else if (bwl_share_gate_of(s) != 0)
        bwl_queue_say_served(s, bwl_queue_serve(s, bwl_share_look(s)));
    else
        bwl_queue_say_served(s, BWL_SERVED);
}

static void requeue(script *s)
{
    int64_t fence;

    if (!bwl_queue_is_of(s, s->q->previous_token)) {
        bwl_queue_say(s, BWL_NO, BWL_QUEUE_STATUS_GONE);
        return;
    }
    fence = bwl_queue_count(s);
    if (!bwl_model_exists(s->r, BWL_MODEL_QUEUE)) {
        bwl_queue_set_lock(s, s->q->token, s->q->lease_ms);
        s->reply.fence = fence;
        bwl_queue_say(s, BWL_YES, BWL_QUEUE_STATUS_HELD);
        return;
    }
    bwl_queue_enter(s, fence);
    bwl_queue_wait(s, (uint64_t)fence, (bwl_serving){ .me = s->q->token, .fence = fence }, true,
                   true);
}

bwl_queue_reply bwl_model_queue_reply(bwl_model_redis *r, const bwl_model_queue_args *q,
                                      unsigned mutations)
{
    bool is_plain = q->command == REDIS_QUEUE_TAKE || q->command == REDIS_QUEUE_JOIN ||
                    q->command == REDIS_QUEUE_HEARTBEAT || q->command == REDIS_QUEUE_EXTEND;
    script s = { .r = r, .q = q, .mutations = mutations, .names_sharers = !is_plain && !q->is_old };

    assert(q->token != 0);
    switch (q->command) {
    case REDIS_QUEUE_TAKE: take_or_busy(&s); break;
    case REDIS_QUEUE_JOIN: join(&s); break;
    case REDIS_QUEUE_HEARTBEAT: heartbeat(&s); break;
    case REDIS_QUEUE_EXTEND: extend(&s); break;
    case REDIS_QUEUE_RELEASE: release(&s); break;
    case REDIS_QUEUE_REST: rest(&s); break;
    case REDIS_QUEUE_CANCEL: cancel(&s); break;
    case REDIS_QUEUE_DISPATCH_NEXT: dispatch_next(&s); break;
    case REDIS_QUEUE_REQUEUE: requeue(&s); break;
    default: bwl_share_reply(&s); break;
    }
    return s.reply;
}

bwl_grants bwl_model_queue_tell_only(bwl_model_redis *r, const bwl_model_queue_args *q)
{
    script                s     = { .r = r, .q = q };
    const bwl_model_item *first = bwl_model_queue_next(&r->data, NULL);
    bwl_member            m;

    if (first == NULL || !bwl_queue_is_mine(&s) || q->command == REDIS_QUEUE_EXTEND)
        return s.reply.grants;
    m = bwl_member_of(first->member);
    bwl_model_item_remove(r, BWL_MODEL_QUEUE, first->member);
    (void)publish(&s, m, bwl_queue_count(&s));
    return s.reply.grants;
}
