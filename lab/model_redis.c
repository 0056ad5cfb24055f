/*
 * model_redis.c -- the four words of src/store/redis.h, carried out.  See model_redis.h.
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
    *r = (bwl_model_redis){ 0 };
    return BWL_YES;
}

bwl_answer bwl_model_redis_serve(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    assert(q->token != 0);
    assert(q->lease_ms > 0);
    switch (q->word) {
    case REDIS_SET_IF_ABSENT: return set_if_absent(r, q, twists);
    case REDIS_SET_IF_ABSENT_OR_MINE:
        return r->owner == q->token ? BWL_YES : set_if_absent(r, q, twists);
    case REDIS_EXTEND_IF_MINE: return extend(r, q, twists);
    case REDIS_DELETE_IF_MINE: return remove_key(r, q, twists);
    }
    bwl_unreachable("a word that is not Redis'");
}

void bwl_model_redis_pass(bwl_model_redis *r, int64_t hundredths)
{
    if (r->owner == 0 || r->lasts)
        return;
    r->left -= hundredths;
    if (r->left <= 0)
        *r = (bwl_model_redis){ 0 };
}
