#include "lab/model/words.h"
#include "lab/model/steps.h"
#include "protocol/format/timestamps.h"
#include "lab/model/mutation.h"

enum { MS_PER_SECOND = 1000, TOKEN_BITS = 16 };

static const int64_t ns_per_ms     = 1000000;
static const int64_t ns_per_moment = 1000000 / BWL_MODEL_PER_MS;

static bwl_model_reply yes_if(bool is_so)
{
    return (bwl_model_reply){ .answer = is_so ? BWL_YES : BWL_NO };
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool has_timestamp(const bwl_compat_rules *rules)
{
    return rules != NULL && rules->unit_ns != 0;
}

static bool has_token(const bwl_compat_rules *rules)
{
    return rules == NULL || rules->value == BWL_VALUE_TOKEN ||
           rules->value == BWL_VALUE_TOKEN_TIMESTAMP || rules->value == BWL_VALUE_TIMESTAMP_TOKEN;
}

int64_t bwl_model_value(const bwl_compat_rules *rules, uint16_t token, int64_t timestamp)
{
    assert(timestamp >= 0);
    if (!has_token(rules))
        return has_timestamp(rules) ? timestamp : BWL_MODEL_TEXT; /* the literal */
    assert(timestamp < (BWL_MODEL_FOREIGN_VALUE - BWL_MODEL_TEXT) >> TOKEN_BITS);
    return BWL_MODEL_TEXT + (has_timestamp(rules) ? timestamp << TOKEN_BITS : 0) + token;
}

int64_t bwl_model_timestamp_of(const bwl_compat_rules *rules, int64_t value)
{
    if (!has_timestamp(rules))
        return 0;
    return has_token(rules) ? (value - BWL_MODEL_TEXT) >> TOKEN_BITS : value;
}

uint16_t bwl_model_token_of(const bwl_compat_rules *rules, int64_t value)
{
    return has_token(rules) ? (uint16_t)value : 0;
}

static int64_t value_of(const bwl_model_command_args *q)
{
    return bwl_model_value(q->rules, q->token, q->timestamp);
}

/* Whether these rules can have written it. */
static bool is_known(const bwl_model_command_args *q, int64_t value)
{
    bool is_text = value >= BWL_MODEL_TEXT;

    if (value >= BWL_MODEL_FOREIGN_VALUE)
        return false;
    if (q->rules != NULL &&
        !bwl_timestamp_is_plausible(q->rules, bwl_model_timestamp_of(q->rules, value)))
        return false;
    if (!has_token(q->rules))
        return is_text != has_timestamp(q->rules);
    return is_text && ((value - BWL_MODEL_TEXT) >> TOKEN_BITS > 0) == has_timestamp(q->rules);
}

static bool is_mine(const bwl_model_redis *r, const bwl_model_command_args *q)
{
    const bwl_model_key *k = bwl_model_lock(r);

    return k->kind == BWL_KIND_STRING && k->value == value_of(q);
}

/* The reply of GET or GETSET. */
static bwl_model_reply show(const bwl_model_redis *r, const bwl_model_command_args *q)
{
    const bwl_model_key *k = bwl_model_lock(r);

    if (k->kind == BWL_KIND_NONE)
        return (bwl_model_reply){ .answer = BWL_NO };
    if (k->kind != BWL_KIND_STRING || !is_known(q, k->value))
        return (bwl_model_reply){ .answer = BWL_FOREIGN_VALUE };
    return (bwl_model_reply){
        .answer     = BWL_YES,
        .is_mine    = k->value == value_of(q),
        .number     = (uint64_t)bwl_model_timestamp_of(q->rules, k->value),
        .value_hash = (uint64_t)k->value,
    };
}

/* ---- bowline's own locks --------------------------------------------------------------------- */

static void set(bwl_model_redis *r, const bwl_model_command_args *q, int64_t value)
{
    bwl_model_set(r, BWL_MODEL_LOCK, value, q->token);
}

static bool expire(bwl_model_redis *r, bwl_ms after_ms)
{
    return bwl_model_expire(r, BWL_MODEL_LOCK, after_ms);
}

static bool delete (bwl_model_redis *r)
{
    return bwl_model_remove(r, BWL_MODEL_LOCK);
}

static int64_t left_ms(const bwl_model_redis *r)
{
    return bwl_model_left_ms(r, BWL_MODEL_LOCK);
}

/* A lease in whole seconds, rounded up. */
static bwl_ms in_seconds(bwl_ms lease_ms)
{
    return (lease_ms + MS_PER_SECOND - 1) / MS_PER_SECOND * MS_PER_SECOND;
}

static bwl_model_reply set_if_absent(bwl_model_redis *r, const bwl_model_command_args *q,
                                     unsigned mutations)
{
    bool rounds = q->command == REDIS_SET_IF_ABSENT && q->rules != NULL &&
                  q->rules->lease_in_seconds; /* the script has milliseconds */

    if (bwl_model_exists(r, BWL_MODEL_LOCK) && (mutations & BWL_MUTATION_SET_OVERWRITES) == 0)
        return yes_if(false);
    set(r, q, value_of(q));
    if ((mutations & BWL_MUTATION_SET_LASTS) == 0)
        expire(r, rounds ? in_seconds(q->lease_ms) : q->lease_ms);
    return yes_if(true);
}

/* The later end stays.  True if the key was written. */
static bool extend(bwl_model_redis *r, const bwl_model_command_args *q, unsigned mutations)
{
    bool is_longer = left_ms(r) < q->lease_ms;

    return (is_longer || (mutations & BWL_MUTATION_EXTEND_SHORTENS) != 0) && expire(r, q->lease_ms);
}

static bwl_model_reply extend_if_mine(bwl_model_redis *r, const bwl_model_command_args *q,
                                      unsigned mutations)
{
    bool is_there = bwl_model_exists(r, BWL_MODEL_LOCK);

    if (!is_there && (mutations & BWL_MUTATION_EXTEND_CREATES) != 0)
        return set_if_absent(r, q, mutations);
    if (!is_there || (!is_mine(r, q) && (mutations & BWL_MUTATION_EXTEND_BLIND) == 0))
        return yes_if(false);
    if (!extend(r, q, mutations))
        bwl_model_changed(r, BWL_MODEL_LOCK); /* every YES is a write */
    return yes_if(true);
}

static bwl_model_reply set_if_absent_or_mine(bwl_model_redis *r, const bwl_model_command_args *q,
                                             unsigned mutations)
{
    int64_t left = left_ms(r);

    if (!is_mine(r, q))
        return set_if_absent(r, q, mutations);
    if (left > 0)
        bwl_model_changed(r, BWL_MODEL_LOCK);
    else
        expire(r, left < 0 ? q->lease_ms : 1);
    return yes_if(true);
}

/* The key of the client that has given it up, or of an earlier ADOPT. */
static bwl_model_reply adopt(bwl_model_redis *r, const bwl_model_command_args *q,
                             unsigned mutations)
{
    bwl_model_command_args of_previous = *q;

    of_previous.token = q->previous_token;
    if (is_mine(r, q))
        return extend_if_mine(r, q, mutations); /* a repeated command */
    if (!is_mine(r, &of_previous))
        return yes_if(false);
    set(r, q, value_of(q));
    expire(r, q->lease_ms);
    return yes_if(true);
}

/* ---- locks of other programs ----------------------------------------------------------------- */

static bwl_model_reply set_if_free(bwl_model_redis *r, const bwl_model_command_args *q)
{
    if (bwl_model_exists(r, BWL_MODEL_LOCK))
        return yes_if(false);
    set(r, q, value_of(q));
    return yes_if(true);
}

static bwl_model_reply swap(bwl_model_redis *r, const bwl_model_command_args *q)
{
    bwl_model_reply shown = show(r, q);

    if (bwl_model_lock(r)->kind == BWL_KIND_NONE || bwl_model_lock(r)->kind == BWL_KIND_STRING)
        set(r, q, value_of(q));
    return shown;
}

static bwl_model_reply read_expiry(const bwl_model_redis *r)
{
    int64_t  left    = left_ms(r);
    uint64_t seconds = (uint64_t)(left + MS_PER_SECOND / 2) / MS_PER_SECOND;

    if (left == BWL_LEFT_NO_KEY)
        return yes_if(false);
    return (bwl_model_reply){
        .answer = BWL_YES,
        .number = left == BWL_LEFT_NO_END ? REDIS_NO_EXPIRY : seconds,
    };
}

static bwl_model_reply find_no_expiry(const bwl_model_redis *r)
{
    int64_t left = left_ms(r);

    return left >= 0 ? (bwl_model_reply){ .answer = BWL_FOREIGN_VALUE }
                     : yes_if(left == BWL_LEFT_NO_END);
}

/* WATCH, and the end of a transaction. */
static void watch(bwl_model_redis *r, const bwl_model_command_args *q, bool is_watching)
{
    bwl_model_connection *c = &r->connections[q->client];

    c->is_watching = is_watching;
    if (!is_watching)
        c->is_dirty = false;
}

static bwl_model_reply delete_watched(bwl_model_redis *r, const bwl_model_command_args *q)
{
    bool was_dirty = r->connections[q->client].is_dirty;

    watch(r, q, false);
    return yes_if(!was_dirty && delete (r));
}

/* A start timestamp expires a lease later. */
static bool has_expired(const bwl_model_command_args *q, int64_t timestamp, int64_t now_ns)
{
    const bwl_compat_rules *rules = q->rules;
    int64_t                 ends  = timestamp;
    int64_t                 now   = now_ns / rules->unit_ns;

    if (rules->timestamp_is_start)
        ends += (q->lease_ms * ns_per_ms + rules->extra_ns) / rules->unit_ns;
    return rules->expired == BWL_TIMESTAMP_BEFORE_NOW ? ends < now : ends <= now;
}

static bwl_model_reply take_stamp(bwl_model_redis *r, const bwl_model_command_args *q)
{
    const bwl_compat_rules *rules     = q->rules;
    int64_t                 now_ns    = r->now * ns_per_moment;
    int64_t                 ends_ns   = now_ns + q->lease_ms * ns_per_ms + rules->extra_ns;
    bwl_model_reply         present   = show(r, q);
    int64_t                 timestamp = now_ns / rules->unit_ns;
    int64_t                 value;

    if (!rules->timestamp_is_start) {
        timestamp = (ends_ns + rules->unit_ns - 1) / rules->unit_ns;
        ends_ns   = timestamp * rules->unit_ns;
    }
    if (present.answer == BWL_YES && !has_expired(q, (int64_t)present.number, now_ns))
        return yes_if(false);
    if (present.answer == BWL_FOREIGN_VALUE || (present.answer == BWL_YES && left_ms(r) >= 0))
        return (bwl_model_reply){ .answer = BWL_FOREIGN_VALUE };
    value = bwl_model_value(rules, q->token, timestamp);
    set(r, q, value);
    bwl_model_expire_at(r, BWL_MODEL_LOCK,
                        (ends_ns + ns_per_ms - 1) / ns_per_ms * BWL_MODEL_PER_MS);
    return (bwl_model_reply){
        .answer     = BWL_YES,
        .is_mine    = true,
        .number     = (uint64_t)timestamp,
        .value_hash = (uint64_t)value,
    };
}

/* ---- a hash with one field per holder -------------------------------------------------------- */

enum { COUNTER = 1 }; /* the key of the fences */

int64_t bwl_model_counter(const bwl_model_redis *r)
{
    const bwl_model_key *k = &r->data.keys[COUNTER];

    return k->kind == BWL_KIND_STRING ? k->value : 0;
}

static bool has_field(const bwl_model_redis *r, const bwl_model_command_args *q)
{
    return bwl_model_lock(r)->kind == BWL_KIND_HASH &&
           bwl_model_item_of(r, BWL_MODEL_LOCK, q->token) != NULL;
}

/* A member with its score, or a field with its value. */
static void put(bwl_model_redis *r, const bwl_model_command_args *q, bwl_model_kind kind,
                unsigned member, int64_t value)
{
    bwl_model_item_put(r, kind, BWL_MODEL_LOCK, member, value);
    r->data.keys[BWL_MODEL_LOCK].writer = q->token;
    bwl_model_changed(r, BWL_MODEL_LOCK);
}

static bwl_model_reply hash_take(bwl_model_redis *r, const bwl_model_command_args *q,
                                 unsigned mutations)
{
    bool            is_free = !bwl_model_exists(r, BWL_MODEL_LOCK);
    bwl_model_reply reply   = { .answer = BWL_YES };

    if (!is_free && !has_field(r, q) && (mutations & BWL_MUTATION_SET_OVERWRITES) == 0)
        return yes_if(false);
    if (q->rules != NULL && q->rules->counts_fences)
        reply.number =
            (uint64_t)(is_free ? bwl_model_increment(r, COUNTER, q->token) : bwl_model_counter(r));
    if (is_free || !has_field(r, q)) {
        (void)delete (r); /* it need not exist */
        put(r, q, BWL_KIND_HASH, q->token, 1);
        if ((mutations & BWL_MUTATION_SET_LASTS) == 0)
            expire(r, q->lease_ms);
    }
    return reply;
}

static bwl_model_reply hash_extend(bwl_model_redis *r, const bwl_model_command_args *q,
                                   unsigned mutations)
{
    bool is_blind = (mutations & BWL_MUTATION_EXTEND_BLIND) != 0;

    if (!bwl_model_exists(r, BWL_MODEL_LOCK) || (!has_field(r, q) && !is_blind))
        return yes_if(false);
    extend(r, q, mutations);
    return yes_if(true);
}

/* ---- a sorted set of holders ----------------------------------------------------------------- */

/* A member is the number of a token, WRITE means __write__; a score is in milliseconds.  The time
 * is the server's, unless the command has a timestamp (lab/mutant). */

enum { WRITE = 0 }; /* no token has this number */

static int64_t now_of(const bwl_model_redis *r, const bwl_model_command_args *q)
{
    return q->timestamp != 0 ? q->timestamp : r->now / BWL_MODEL_PER_MS;
}

static bool is_zset(const bwl_model_redis *r)
{
    return bwl_model_lock(r)->kind == BWL_KIND_ZSET;
}

/* NULL: no such member. */
static const bwl_model_item *find(const bwl_model_redis *r, unsigned member)
{
    return is_zset(r) ? bwl_model_item_of(r, BWL_MODEL_LOCK, member) : NULL;
}

/* ZREMRANGEBYSCORE key -inf now */
static void remove_over(bwl_model_redis *r, const bwl_model_command_args *q)
{
    for (unsigned i = 0; i < BWL_MODEL_ITEMS && is_zset(r); i++) {
        const bwl_model_item *item = &r->data.items[i];
        if (item->is_there && item->key == BWL_MODEL_LOCK && item->value <= now_of(r, q))
            bwl_model_item_remove(r, BWL_MODEL_LOCK, item->member);
    }
}

/* The key ends with its last member. */
static void end_with_the_last(bwl_model_redis *r)
{
    int64_t last = 0;

    for (unsigned i = 0; i < BWL_MODEL_ITEMS && is_zset(r); i++) {
        const bwl_model_item *item = &r->data.items[i];
        if (item->is_there && item->key == BWL_MODEL_LOCK && item->value > last)
            last = item->value;
    }
    if (last != 0)
        bwl_model_expire_at(r, BWL_MODEL_LOCK, last * BWL_MODEL_PER_MS);
}

/* The two members of a single holder. */
static void put_both(bwl_model_redis *r, const bwl_model_command_args *q, int64_t ends)
{
    put(r, q, BWL_KIND_ZSET, q->token, ends);
    put(r, q, BWL_KIND_ZSET, WRITE, ends);
    end_with_the_last(r);
}

static bool zset_take(bwl_model_redis *r, const bwl_model_command_args *q, unsigned mutations)
{
    bool overwrites = (mutations & BWL_MUTATION_SET_OVERWRITES) != 0;

    if (bwl_model_exists(r, BWL_MODEL_LOCK) && !is_zset(r))
        return false;
    remove_over(r, q);
    if (find(r, q->token) != NULL && !overwrites)
        return find(r, WRITE) != NULL && bwl_model_items_count(r, BWL_MODEL_LOCK) == 2;
    if (bwl_model_exists(r, BWL_MODEL_LOCK) && !overwrites)
        return false;
    put_both(r, q, now_of(r, q) + q->lease_ms);
    return true;
}

/* True if the member exists and has not expired. */
static bool is_member(const bwl_model_redis *r, const bwl_model_command_args *q)
{
    const bwl_model_item *mine = find(r, q->token);

    return mine != NULL && mine->value > now_of(r, q);
}

static bool zset_extend(bwl_model_redis *r, const bwl_model_command_args *q, unsigned mutations)
{
    int64_t ends = now_of(r, q) + q->lease_ms;

    if (!is_member(r, q) || find(r, WRITE) == NULL)
        return false;
    if ((mutations & BWL_MUTATION_EXTEND_SHORTENS) == 0 && find(r, q->token)->value > ends)
        ends = find(r, q->token)->value;
    put_both(r, q, ends);
    return true;
}

static bool zset_release(bwl_model_redis *r, const bwl_model_command_args *q, unsigned mutations)
{
    bool had_write = find(r, WRITE) != NULL;

    if ((mutations & BWL_MUTATION_DELETE_BLIND) != 0)
        return delete (r);
    if (!is_member(r, q))
        return false;
    bwl_model_item_remove(r, BWL_MODEL_LOCK, q->token);
    if (had_write)
        bwl_model_item_remove(r, BWL_MODEL_LOCK, WRITE);
    end_with_the_last(r);
    return had_write;
}

/* ---- the commands ---------------------------------------------------------------------------- */

bwl_model_reply bwl_model_redis_reply(bwl_model_redis *r, const bwl_model_command_args *q,
                                      unsigned mutations)
{
    bool is_blind = (mutations & BWL_MUTATION_DELETE_BLIND) != 0;

    assert(q->token != 0);
    assert(q->lease_ms > 0);
    switch (q->command) {
    case REDIS_SET_IF_ABSENT: return set_if_absent(r, q, mutations);
    case REDIS_SET_IF_ABSENT_OR_MINE: return set_if_absent_or_mine(r, q, mutations);
    case REDIS_EXTEND_IF_MINE: return extend_if_mine(r, q, mutations);
    case REDIS_DELETE_IF_MINE: return yes_if((is_mine(r, q) || is_blind) && delete (r));
    case REDIS_ADOPT: return adopt(r, q, mutations);
    case REDIS_SETNX: return set_if_free(r, q);
    case REDIS_READ: return show(r, q);
    case REDIS_SWAP: return swap(r, q);
    case REDIS_DELETE: return yes_if(delete (r));
    case REDIS_EXPIRE: return yes_if(expire(r, in_seconds(q->lease_ms)));
    case REDIS_EXPIRE_NOW: return yes_if(expire(r, 0));
    case REDIS_READ_EXPIRY: return read_expiry(r);
    case REDIS_FIND_NO_EXPIRY: return find_no_expiry(r);
    case REDIS_WATCH_READ: watch(r, q, true); return show(r, q);
    case REDIS_UNWATCH: watch(r, q, false); return yes_if(true);
    case REDIS_DELETE_WATCHED: return delete_watched(r, q);
    case REDIS_TAKE_TIMESTAMP: return take_stamp(r, q);
    case REDIS_DROP_TIMESTAMP: return yes_if(is_mine(r, q) && delete (r));
    case REDIS_HASH_TAKE: return hash_take(r, q, mutations);
    case REDIS_HASH_EXTEND: return hash_extend(r, q, mutations);
    case REDIS_HASH_RELEASE: return yes_if((has_field(r, q) || is_blind) && delete (r));
    case REDIS_ZSET_TAKE: return yes_if(zset_take(r, q, mutations));
    case REDIS_ZSET_EXTEND: return yes_if(zset_extend(r, q, mutations));
    case REDIS_ZSET_RELEASE: return yes_if(zset_release(r, q, mutations));
    case REDIS_QUEUE_TAKE:
    case REDIS_QUEUE_JOIN:
    case REDIS_QUEUE_HEARTBEAT:
    case REDIS_QUEUE_EXTEND:
    case REDIS_QUEUE_RELEASE:
    case REDIS_QUEUE_REST:
    case REDIS_QUEUE_CANCEL:
    case REDIS_QUEUE_DISPATCH_NEXT:
    case REDIS_QUEUE_REQUEUE:
    case REDIS_SHARE_TAKE:
    case REDIS_SHARE_JOIN:
    case REDIS_SHARE_HEARTBEAT:
    case REDIS_SHARE_EXTEND:
    case REDIS_SHARE_LEAVE:
    case REDIS_SHARE_DOWNGRADE:
    case REDIS_SHARE_UPGRADE:
    case REDIS_REPLICATED: break;
    case REDIS_STEP: return bwl_model_step(r, q);
    }
    bwl_unreachable("a word that is not Redis'");
}
