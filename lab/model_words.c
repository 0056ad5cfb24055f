/*
 * model_words.c -- see model_words.h.
 */
#include "lab/model_words.h"
#include "lab/twist.h"

/* Carries out one command on the key of the lock, and returns the first part of its reply. */
static bwl_model_part say(bwl_model_redis *r, const bwl_model_question *q, bwl_model_command cmd)
{
    bwl_model_reply reply;

    cmd.key    = BWL_MODEL_LOCK;
    cmd.writer = q->token;
    bwl_model_redis_do(r, q->connection, &cmd, &reply);
    assert(reply.pushes_count == 0);
    return reply.parts[0];
}

static int64_t value_of(const bwl_model_question *q)
{
    return BWL_MODEL_TEXT + q->token;
}

static bwl_answer yes_if(bool is_so)
{
    return is_so ? BWL_YES : BWL_NO;
}

/* ---- our own --------------------------------------------------------------------------------- */

static bool is_mine(const bwl_model_redis *r, const bwl_model_question *q)
{
    const bwl_model_key *k = bwl_model_lock(r);

    return k->kind == BWL_KIND_STRING && k->value == value_of(q);
}

static bwl_answer set_if_absent(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    bwl_model_command cmd = { .op = BWL_OP_SET, .value = value_of(q) };

    if ((twists & BWL_TWIST_SET_OVERWRITES) == 0)
        cmd.flags |= BWL_SET_NX;
    if ((twists & BWL_TWIST_SET_LASTS) == 0) {
        cmd.flags |= BWL_SET_PX;
        cmd.time = q->lease_ms;
    }
    return yes_if(say(r, q, cmd).kind == BWL_PART_OK);
}

static bwl_answer extend_if_mine(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    bool is_there  = bwl_model_lock(r)->kind != BWL_KIND_NONE;
    bool is_blind  = (twists & BWL_TWIST_EXTEND_BLIND) != 0;
    bool is_longer = say(r, q, (bwl_model_command){ .op = BWL_OP_PTTL }).number < q->lease_ms;

    if (!is_there && (twists & BWL_TWIST_EXTEND_CREATES) != 0)
        return set_if_absent(r, q, twists);
    if (!is_there || (!is_mine(r, q) && !is_blind))
        return BWL_NO;
    if (is_longer || (twists & BWL_TWIST_EXTEND_SHORTENS) != 0)
        (void)say(r, q, (bwl_model_command){ .op = BWL_OP_PEXPIRE, .time = q->lease_ms });
    return BWL_YES;
}

static bwl_answer delete_if_mine(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    if (!is_mine(r, q) && (twists & BWL_TWIST_DELETE_BLIND) == 0)
        return BWL_NO;
    return yes_if(say(r, q, (bwl_model_command){ .op = BWL_OP_DEL }).number == 1);
}

bwl_answer bwl_model_redis_serve(bwl_model_redis *r, const bwl_model_question *q, unsigned twists)
{
    assert(q->token != 0);
    assert(q->lease_ms > 0);
    switch (q->word) {
    case REDIS_SET_IF_ABSENT: return set_if_absent(r, q, twists);
    case REDIS_SET_IF_ABSENT_OR_MINE: return is_mine(r, q) ? BWL_YES : set_if_absent(r, q, twists);
    case REDIS_EXTEND_IF_MINE: return extend_if_mine(r, q, twists);
    case REDIS_DELETE_IF_MINE: return delete_if_mine(r, q, twists);
    }
    bwl_unreachable("a word that is not Redis'");
}
