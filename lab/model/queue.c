#include "lab/model/queue.h"
#include "lab/base/token_number.h"
#include "lab/model/mutation.h"

#define FENCE_MIN INT64_C(1000000000000000) /* below this, F was lost */

typedef struct script {
    bwl_model_redis            *r;
    const bwl_model_queue_args *q;
    unsigned                    mutations;
    bwl_queue_reply             reply;
} script;

typedef enum served {
    SERVED_FREE = 1, /* no waiter */
    SERVED_MINE,
    SERVED_PASSED, /* a waiter got the grant */
    SERVED_MORE,
} served;

/* ---- keys ------------------------------------------------------------------------------------ */

static void set_lock(script *s, uint16_t token, bwl_ms time)
{
    bwl_model_set(s->r, BWL_MODEL_LOCK, bwl_model_value(NULL, token, 0), token);
    bwl_model_expire(s->r, BWL_MODEL_LOCK, time);
}

static void touch(script *s, unsigned key)
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
        touch(s, BWL_MODEL_QUEUE);
        touch(s, BWL_MODEL_HEARTBEATS);
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

static int64_t count(script *s)
{
    int64_t next = bwl_model_increment(s->r, BWL_MODEL_COUNT, s->q->token);

    if (next < FENCE_MIN && (s->mutations & BWL_MUTATION_FENCE_BARE) == 0)
        set_count(s->r, clock_us(s->r));
    s->r->counted++;
    return s->r->data.keys[BWL_MODEL_COUNT].value;
}

/* False: F was lost, and is about to start from the clock. */
static bool counts_on(const bwl_model_redis *r)
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

static void enter(script *s, int64_t ticket)
{
    bwl_model_item_put(s->r, BWL_KIND_ZSET, BWL_MODEL_QUEUE, bwl_member_number(s->q->member),
                       ticket);
}

/* The member under any of its channels. */
static const bwl_model_item *queued_item(script *s)
{
    bwl_member            m     = s->q->member;
    const bwl_model_item *found = item_of(s, m);

    for (unsigned i = 0; i < 2 && found == NULL; i++) {
        m.push_channel = s->q->old_channels[i];
        found          = item_of(s, m);
    }
    return found;
}

/* Whether its last heartbeat is too old. */
static bool is_dead(script *s, bwl_member m)
{
    const bwl_model_item *heartbeat = bwl_model_item_of(s->r, BWL_MODEL_HEARTBEATS, m.token);

    return s->q->dead_ms != 0 && heartbeat != NULL &&
           s->r->now / BWL_MODEL_PER_MS - heartbeat->value > s->q->dead_ms;
}

/* True if the server sees a subscriber, even a dead one. */
static bool publish(script *s, bwl_member m, int64_t fence)
{
    unsigned client   = bwl_token_client(m.token);
    unsigned places[] = { client, client + BWL_MODEL_CLIENTS };

    for (unsigned i = 0; i < 2; i++) {
        if (s->r->connections[places[i]].push_channel != m.push_channel)
            continue;
        s->reply.grant = (bwl_grant){
            .is_there   = true,
            .connection = (uint8_t)places[i],
            .token      = m.token,
            .fence      = fence,
            .server_us  = bwl_model_us(s->r),
        };
        return true;
    }
    return false;
}

/* L is missing, or its owner releases it. */
static served serve(script *s, uint16_t me, int64_t fence)
{
    for (unsigned i = 0; i < s->q->serve_max; i++) {
        const bwl_model_item *first = bwl_model_queue_next(&s->r->data, NULL);
        bwl_member            m;
        bool                  dead;

        if (first == NULL) {
            bwl_model_remove(s->r, BWL_MODEL_LOCK);
            bwl_model_remove(s->r, BWL_MODEL_HEARTBEATS);
            return SERVED_FREE;
        }
        m    = bwl_member_of(first->member);
        dead = is_dead(s, m);
        bwl_model_item_remove(s->r, BWL_MODEL_QUEUE, first->member);
        bwl_model_item_remove(s->r, BWL_MODEL_HEARTBEATS, m.token);
        if (dead) {
            s->reply.silent[s->reply.silent_count++] = m.token;
            continue;
        }
        set_lock(s, m.token, m.provisional_ttl_ms);
        if (m.token == me) {
            s->reply.fence = fence;
            return SERVED_MINE;
        }
        if (publish(s, m, fence))
            return SERVED_PASSED;
    }
    bwl_model_remove(s->r, BWL_MODEL_LOCK);
    return SERVED_MORE;
}

/* The same for a command that does not acquire. */
static served pass_on(script *s)
{
    if (!bwl_model_exists(s->r, BWL_MODEL_QUEUE)) {
        bwl_model_remove(s->r, BWL_MODEL_LOCK);
        return SERVED_FREE;
    }
    return serve(s, 0, count(s));
}

/* ---- replies --------------------------------------------------------------------------------- */

static void say(script *s, bwl_answer answer, bwl_queue_status_kind how)
{
    s->reply.answer            = answer;
    s->reply.queue_status.kind = how;
}

static void say_yes_if(script *s, bool is_so)
{
    say(s, is_so ? BWL_YES : BWL_NO, 0);
}

static void say_served(script *s, served as)
{
    say(s, BWL_YES, as == SERVED_MORE ? BWL_QUEUE_STATUS_MORE : 0);
}

static bool is_of(const script *s, uint16_t token)
{
    const bwl_model_key *lock = bwl_model_lock(s->r);

    return lock->kind == BWL_KIND_STRING && lock->value == bwl_model_value(NULL, token, 0);
}

static bool is_mine(const script *s)
{
    return is_of(s, s->q->token);
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

static void say_line(script *s, bool claimed, uint64_t ticket)
{
    const bwl_model_item *item = item_of(s, s->q->member);

    if (claimed) {
        say(s, BWL_YES, BWL_QUEUE_STATUS_PROVISIONAL);
        s->reply.queue_status.ticket = ticket;
        return;
    }
    say(s, BWL_NO, BWL_QUEUE_STATUS_QUEUED);
    say_lock(s);
    assert(item != NULL);
    say_rank(s, rank_of(s->r, item));
    s->reply.queue_status.ticket    = (uint64_t)item->value;
    s->reply.queue_status.server_us = bwl_model_us(s->r);
}

/* ---- the commands ---------------------------------------------------------------------------- */

static bool take(script *s)
{
    bool barges = (s->mutations & BWL_MUTATION_BARGES) != 0;

    if (bwl_model_exists(s->r, BWL_MODEL_LOCK) ||
        (bwl_model_exists(s->r, BWL_MODEL_QUEUE) && !barges))
        return false;
    set_lock(s, s->q->token, s->q->lease_ms);
    s->reply.fence = count(s);
    say(s, BWL_YES, BWL_QUEUE_STATUS_HELD);
    return true;
}

static void take_or_busy(script *s)
{
    if (take(s))
        return;
    if (!bwl_model_exists(s->r, BWL_MODEL_LOCK))
        (void)pass_on(s);
    if ((s->mutations & BWL_MUTATION_BUSY_FOR_DEAD) == 0 && take(s))
        return; /* all waiters are dead */
    say(s, BWL_NO, BWL_QUEUE_STATUS_BUSY);
    say_lock(s);
}

static void wait_in_queue(script *s, uint64_t ticket, int64_t fence, bool renews)
{
    bool is_free = !bwl_model_exists(s->r, BWL_MODEL_LOCK);

    note_heartbeat(s, renews);
    say_line(s, is_free && serve(s, s->q->token, fence) == SERVED_MINE, ticket);
}

static void join(script *s)
{
    bwl_model_key *lock     = &s->r->data.keys[BWL_MODEL_LOCK];
    unsigned       waiters  = bwl_model_items_count(s->r, BWL_MODEL_QUEUE);
    int64_t        ticket   = s->q->ticket;
    int64_t        fence    = 0;
    bool           is_usual = ticket == 0 && lock->kind == BWL_KIND_STRING && counts_on(s->r);

    if (take(s))
        return;
    if (s->q->queue_max != 0 && ticket == 0 && lock->kind != BWL_KIND_NONE &&
        waiters >= s->q->queue_max) {
        say(s, BWL_NO, BWL_QUEUE_STATUS_FULL);
        s->reply.queue_status.rank = waiters;
        return;
    }
    if (ticket == 0 || !bwl_model_exists(s->r, BWL_MODEL_LOCK))
        fence = count(s);
    if (ticket == 0)
        ticket = fence;
    if ((s->mutations & BWL_MUTATION_MARKS) != 0 && lock->value == BWL_MODEL_FOREIGN_VALUE)
        lock->value++; /* so that its release checks the queue */
    enter(s, ticket);
    wait_in_queue(s, (uint64_t)ticket, fence, true);
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
    const bwl_model_item *item  = queued_item(s);
    bool                  brief = is_brief(s);
    int64_t               fence = 0;
    int64_t               ticket;
    uint32_t              member;

    if (is_mine(s)) {
        say_lock(s);
        s->reply.queue_status.is_ours = false; /* implied */
        s->reply.fence                = count(s);
        say(s, BWL_YES, BWL_QUEUE_STATUS_MINE);
        return;
    }
    if (item == NULL) {
        bwl_model_item_remove(s->r, BWL_MODEL_HEARTBEATS, s->q->token);
        say(s, BWL_NO, BWL_QUEUE_STATUS_GONE);
        return;
    }
    ticket = item->value;
    member = item->member;
    if (!bwl_model_exists(s->r, BWL_MODEL_LOCK))
        fence = count(s);
    enter(s, ticket);
    if (bwl_member_number(s->q->member) != member)
        bwl_model_item_remove(s->r, BWL_MODEL_QUEUE, member);
    wait_in_queue(s, (uint64_t)ticket, fence, !brief);
}

static void extend(script *s)
{
    bool mine = is_mine(s);

    bool shortens = (s->mutations & BWL_MUTATION_EXTEND_SHORTENS) != 0;

    say_yes_if(s, mine);
    if (mine && (shortens || bwl_model_left(s->r) < s->q->lease_ms * BWL_MODEL_PER_MS))
        bwl_model_expire(s->r, BWL_MODEL_LOCK, s->q->lease_ms);
}

static void release(script *s)
{
    if (is_mine(s))
        say_served(s, pass_on(s));
    else
        say_yes_if(s, false);
}

/* The rest counts as a foreign value: no later command may change it. */
static void rest(script *s)
{
    const bwl_model_key *lock    = bwl_model_lock(s->r);
    int64_t              as_rest = bwl_model_value(NULL, s->q->token, 0) + BWL_MODEL_REST;
    int64_t              left_ms = s->q->ticket;

    if (is_mine(s) && !lock->lasts && bwl_model_left_ms(s->r, BWL_MODEL_LOCK) < left_ms)
        left_ms = bwl_model_left_ms(s->r, BWL_MODEL_LOCK);
    if (lock->kind == BWL_KIND_STRING && lock->value == as_rest) {
        say(s, BWL_YES, 0);
    } else if (is_mine(s) && left_ms > 0 && (s->mutations & BWL_MUTATION_RELEASES_REST) == 0) {
        bwl_model_set(s->r, BWL_MODEL_LOCK, as_rest, BWL_TOKEN_FOREIGN);
        bwl_model_expire(s->r, BWL_MODEL_LOCK, left_ms);
        say(s, BWL_YES, 0);
    } else {
        release(s);
    }
}

static void cancel(script *s)
{
    bool was_queued = false;

    if (is_mine(s)) {
        say_served(s, pass_on(s));
        return;
    }
    for (const bwl_model_item *item; (item = queued_item(s)) != NULL; was_queued = true)
        bwl_model_item_remove(s->r, BWL_MODEL_QUEUE, item->member);
    say_yes_if(s, was_queued);
    bwl_model_item_remove(s->r, BWL_MODEL_HEARTBEATS, s->q->token);
}

static void requeue(script *s)
{
    int64_t fence;

    if (!is_of(s, s->q->previous_token)) {
        say(s, BWL_NO, BWL_QUEUE_STATUS_GONE);
        return;
    }
    fence = count(s);
    if (!bwl_model_exists(s->r, BWL_MODEL_QUEUE)) {
        set_lock(s, s->q->token, s->q->lease_ms);
        s->reply.fence = fence;
        say(s, BWL_YES, BWL_QUEUE_STATUS_HELD);
        return;
    }
    enter(s, fence);
    note_heartbeat(s, true);
    say_line(s, serve(s, s->q->token, fence) == SERVED_MINE, (uint64_t)fence);
}

bwl_queue_reply bwl_model_queue_reply(bwl_model_redis *r, const bwl_model_queue_args *q,
                                      unsigned mutations)
{
    script s = { .r = r, .q = q, .mutations = mutations };

    assert(q->token != 0);
    switch (q->command) {
    case REDIS_QUEUE_TAKE: take_or_busy(&s); break;
    case REDIS_QUEUE_JOIN: join(&s); break;
    case REDIS_QUEUE_HEARTBEAT: heartbeat(&s); break;
    case REDIS_QUEUE_EXTEND: extend(&s); break;
    case REDIS_QUEUE_RELEASE: release(&s); break;
    case REDIS_QUEUE_REST: rest(&s); break;
    case REDIS_QUEUE_CANCEL: cancel(&s); break;
    case REDIS_QUEUE_DISPATCH_NEXT:
        say_served(&s, bwl_model_exists(r, BWL_MODEL_LOCK) ? SERVED_PASSED : pass_on(&s));
        break;
    case REDIS_QUEUE_REQUEUE: requeue(&s); break;
    default: bwl_unreachable("a word that has no queue");
    }
    return s.reply;
}

bwl_grant bwl_model_queue_tell_only(bwl_model_redis *r, const bwl_model_queue_args *q)
{
    script                s     = { .r = r, .q = q };
    const bwl_model_item *first = bwl_model_queue_next(&r->data, NULL);
    bwl_member            m;

    if (first == NULL || !is_mine(&s) || q->command == REDIS_QUEUE_EXTEND)
        return (bwl_grant){ 0 };
    m = bwl_member_of(first->member);
    bwl_model_item_remove(r, BWL_MODEL_QUEUE, first->member);
    (void)publish(&s, m, count(&s));
    return s.reply.grant;
}
