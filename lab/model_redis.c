/*
 * model_redis.c -- the words of src/store/redis.h, carried out.  See model_redis.h.
 */
#include "lab/model_redis.h"
#include "lab/twist.h"

static void set(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    r->owner = q->token;
    r->lasts = (twists & BWL_TWIST_SET_LASTS) != 0;
    r->left  = r->lasts ? 0 : q->lease_ms * BWL_MODEL_PER_MS;
}

static bwl_answer set_if_absent(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    if (r->owner != 0 && (twists & BWL_TWIST_SET_OVERWRITES) == 0)
        return BWL_NO;
    set(r, q, twists);
    return BWL_YES;
}

static bwl_answer extend(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    int64_t left    = q->lease_ms * BWL_MODEL_PER_MS;
    bool    is_ours = r->owner == q->token;

    if (r->owner == 0 && (twists & BWL_TWIST_EXTEND_CREATES) != 0) {
        set(r, q, twists);
        return BWL_YES;
    }
    if (r->owner == 0 || (!is_ours && (twists & BWL_TWIST_EXTEND_BLIND) == 0))
        return BWL_NO;
    if (left > r->left || (twists & BWL_TWIST_EXTEND_SHORTENS) != 0)
        r->left = left;
    return BWL_YES;
}

static bwl_answer remove_key(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    bool is_ours = r->owner == q->token;

    if (r->owner == 0 || (!is_ours && (twists & BWL_TWIST_DELETE_BLIND) == 0))
        return BWL_NO;
    *r = (bwl_model_redis){ .clock = r->clock };
    return BWL_YES;
}

/* ---- the words of other people's locks ------------------------------------------------------- */

static bool has_stamp(const bwl_rules *rules)
{
    return rules != NULL && rules->unit_ns != 0;
}

static bool has_token(const bwl_rules *rules)
{
    return rules == NULL || rules->value == BWL_VALUE_TOKEN ||
           rules->value == BWL_VALUE_TOKEN_STAMP || rules->value == BWL_VALUE_STAMP_TOKEN;
}

static bool is_value(const bwl_model_redis *r, const bwl_model_question *q, int64_t stamp)
{
    return r->owner != 0 && !r->is_alien && (!has_token(q->rules) || r->owner == q->token) &&
           (!has_stamp(q->rules) || r->stamp == stamp);
}

static bwl_model_reply show(const bwl_model_redis *r, const bwl_model_question *q)
{
    uint64_t token = has_token(q->rules) ? r->owner : 0;
    uint64_t stamp = has_stamp(q->rules) ? (uint64_t)r->stamp : 0;

    if (r->owner == 0 || r->is_alien)
        return (bwl_model_reply){ .answer = r->owner == 0 ? BWL_NO : BWL_ALIEN };
    return (bwl_model_reply){
        .answer  = BWL_YES,
        .is_mine = is_value(r, q, q->stamp),
        .number  = stamp,
        .print   = (token << 48 ^ stamp) + 1,
    };
}

static void touch(bwl_model_redis *r)
{
    r->watched = 0;
}

static void clear(bwl_model_redis *r)
{
    *r = (bwl_model_redis){ .clock = r->clock };
}

static void write(bwl_model_redis *r, const bwl_model_question *q, int64_t stamp)
{
    *r = (bwl_model_redis){ .owner = q->token, .lasts = true, .stamp = stamp, .clock = r->clock };
}

static bwl_answer setnx(bwl_model_redis *r, const bwl_model_question *q)
{
    if (r->owner != 0)
        return BWL_NO;
    write(r, q, q->stamp);
    return BWL_YES;
}

static bwl_model_reply swap(bwl_model_redis *r, const bwl_model_question *q)
{
    bwl_model_reply was = show(r, q);

    write(r, q, q->stamp);
    return was;
}

static bwl_answer delete_key(bwl_model_redis *r)
{
    bool was_there = r->owner != 0;

    if (was_there)
        clear(r);
    return was_there ? BWL_YES : BWL_NO;
}

static bwl_answer expire(bwl_model_redis *r, bwl_ms lease_ms)
{
    if (r->owner == 0)
        return BWL_NO;
    r->lasts = false;
    r->left  = (lease_ms + 999) / 1000 * 1000 * BWL_MODEL_PER_MS;
    touch(r);
    return BWL_YES;
}

static bwl_model_reply read_expiry(const bwl_model_redis *r)
{
    int64_t  second  = 1000 * BWL_MODEL_PER_MS;
    uint64_t seconds = (uint64_t)((r->left + second / 2) / second);

    if (r->owner == 0)
        return (bwl_model_reply){ .answer = BWL_NO };
    return (bwl_model_reply){ .answer = BWL_YES, .number = r->lasts ? REDIS_NO_EXPIRY : seconds };
}

static bwl_answer delete_watched(bwl_model_redis *r, unsigned client)
{
    bool is_untouched = (r->watched & 1u << client) != 0;

    r->watched &= (uint8_t) ~(1u << client);
    return is_untouched ? delete_key(r) : BWL_NO;
}

static bwl_model_reply take_stamp(bwl_model_redis *r, const bwl_model_question *q)
{
    const bwl_rules *rules  = q->rules;
    int64_t          now_ns = r->clock * (1000000 / BWL_MODEL_PER_MS);
    int64_t          ends   = now_ns + q->lease_ms * 1000000 + rules->extra_ns;
    int64_t          now    = now_ns / rules->unit_ns;
    int64_t stamp = rules->stamp_is_start ? now : (ends + rules->unit_ns - 1) / rules->unit_ns;
    int64_t until = r->stamp;

    if (rules->stamp_is_start)
        until += (q->lease_ms * 1000000 + rules->extra_ns) / rules->unit_ns;
    bool has_expired = rules->expired == BWL_STAMP_BEFORE_NOW ? until < now : until <= now;
    if (r->owner != 0 && (r->is_alien || !has_expired))
        return (bwl_model_reply){ .answer = r->is_alien ? BWL_ALIEN : BWL_NO };
    write(r, q, stamp);
    r->lasts = false;
    r->left  = (ends - now_ns) / (1000000 / BWL_MODEL_PER_MS);
    if (!rules->stamp_is_start)
        r->left = (stamp * rules->unit_ns - now_ns) / (1000000 / BWL_MODEL_PER_MS);
    return (bwl_model_reply){ .answer = BWL_YES, .number = (uint64_t)stamp };
}

static bwl_model_reply plain(bwl_answer answer)
{
    return (bwl_model_reply){ .answer = answer };
}

bwl_model_reply bwl_model_redis_reply(bwl_model_redis *r, const bwl_model_question *q,
                                      unsigned twists)
{
    assert(q->token != 0);
    assert(q->lease_ms > 0);
    switch (q->word) {
    case REDIS_SET_IF_ABSENT: return plain(set_if_absent(r, q, twists));
    case REDIS_SET_IF_ABSENT_OR_MINE:
        return plain(r->owner == q->token ? BWL_YES : set_if_absent(r, q, twists));
    case REDIS_EXTEND_IF_MINE: return plain(extend(r, q, twists));
    case REDIS_DELETE_IF_MINE: return plain(remove_key(r, q, twists));
    case REDIS_SETNX: return plain(setnx(r, q));
    case REDIS_READ: return show(r, q);
    case REDIS_SWAP: return swap(r, q);
    case REDIS_DELETE:
    case REDIS_EXPIRE_NOW: return plain(delete_key(r));
    case REDIS_EXPIRE: return plain(expire(r, q->lease_ms));
    case REDIS_READ_EXPIRY: return read_expiry(r);
    case REDIS_WATCH_READ: r->watched |= (uint8_t)(1u << q->client); return show(r, q);
    case REDIS_UNWATCH: r->watched &= (uint8_t) ~(1u << q->client); return plain(BWL_YES);
    case REDIS_DELETE_WATCHED: return plain(delete_watched(r, q->client));
    case REDIS_TAKE_STAMP: return take_stamp(r, q);
    case REDIS_DROP_STAMP: return plain(is_value(r, q, q->stamp) ? delete_key(r) : BWL_NO);
    }
    bwl_unreachable("a word that is not Redis'");
}

bwl_answer bwl_model_redis_serve(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    return bwl_model_redis_reply(r, q, twists).answer;
}

void bwl_model_redis_pass(bwl_model_redis *r, int64_t hundredths)
{
    r->clock += hundredths;
    if (r->owner == 0 || r->lasts)
        return;
    r->left -= hundredths;
    if (r->left <= 0)
        *r = (bwl_model_redis){ .clock = r->clock };
}
