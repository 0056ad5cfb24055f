/*
 * zset_lock.c -- the ZSET commands of src/protocol/store/redis.h.  See words.h.
 *
 * A member is the number of a token, WRITE means __write__; a score is in milliseconds.  The time
 * is the server's, unless the command has a timestamp (mutant/symfony.c).
 */
#include "lab/model/words.h"
#include "lab/model/mutation.h"

enum { WRITE = 0 }; /* no token has this number */

static int64_t now_of(const bwl_model_redis *r, const bwl_model_command_args *q)
{
    return q->timestamp != 0 ? q->timestamp : r->now / BWL_MODEL_PER_MS;
}

static bwl_model_part say(bwl_model_redis *r, const bwl_model_command_args *q,
                          bwl_model_command cmd)
{
    bwl_model_frame frame;

    cmd.key    = BWL_MODEL_LOCK;
    cmd.writer = q->token;
    bwl_model_redis_do(r, q->client, &cmd, &frame);
    return frame.parts[frame.parts_count - 1];
}

static bool is_zset(const bwl_model_redis *r)
{
    return bwl_model_lock(r)->kind == BWL_KIND_ZSET;
}

/* NULL: no such member. */
static const bwl_model_item *find(const bwl_model_redis *r, unsigned member)
{
    for (unsigned i = 0; i < BWL_MODEL_ITEMS && is_zset(r); i++) {
        const bwl_model_item *item = &r->data.items[i];
        if (item->is_there && item->key == BWL_MODEL_LOCK && item->member == member)
            return item;
    }
    return NULL;
}

static unsigned count(const bwl_model_redis *r, int64_t *ret_last)
{
    unsigned members = 0;

    *ret_last = 0;
    for (unsigned i = 0; i < BWL_MODEL_ITEMS; i++) {
        const bwl_model_item *item = &r->data.items[i];
        if (!item->is_there || item->key != BWL_MODEL_LOCK)
            continue;
        members++;
        *ret_last = item->value > *ret_last ? item->value : *ret_last;
    }
    return members;
}

static void remove_member(bwl_model_redis *r, const bwl_model_command_args *q, unsigned member)
{
    (void)say(r, q, (bwl_model_command){ .op = BWL_OP_ZREM, .member = (uint16_t)member });
}

/* ZREMRANGEBYSCORE key -inf now */
static void remove_over(bwl_model_redis *r, const bwl_model_command_args *q)
{
    for (unsigned i = 0; i < BWL_MODEL_ITEMS && is_zset(r); i++) {
        const bwl_model_item *item = &r->data.items[i];
        if (item->is_there && item->key == BWL_MODEL_LOCK && item->value <= now_of(r, q))
            remove_member(r, q, item->member);
    }
}

/* The two members of a single holder. */
static void put_both(bwl_model_redis *r, const bwl_model_command_args *q, int64_t ends)
{
    bwl_model_command add = { .op = BWL_OP_ZADD, .member = q->token, .value = ends };

    (void)say(r, q, add);
    add.member = WRITE;
    (void)say(r, q, add);
    r->data.keys[BWL_MODEL_LOCK].writer = q->token;
}

static void end_with_the_last(bwl_model_redis *r, const bwl_model_command_args *q)
{
    int64_t last;

    if (is_zset(r) && count(r, &last) > 0)
        (void)say(r, q, (bwl_model_command){ .op = BWL_OP_PEXPIREAT, .time = last });
}

static bool take(bwl_model_redis *r, const bwl_model_command_args *q, unsigned mutations)
{
    bool    overwrites = (mutations & BWL_MUTATION_SET_OVERWRITES) != 0;
    int64_t last;

    if (bwl_model_lock(r)->kind == BWL_KIND_NONE || is_zset(r))
        remove_over(r, q);
    else
        return false;
    if (find(r, q->token) != NULL && !overwrites)
        return find(r, WRITE) != NULL && count(r, &last) == 2;
    if (bwl_model_lock(r)->kind != BWL_KIND_NONE && !overwrites)
        return false;
    put_both(r, q, now_of(r, q) + q->lease_ms);
    end_with_the_last(r, q);
    return true;
}

/* True if the member exists and has not expired. */
static bool is_there(const bwl_model_redis *r, const bwl_model_command_args *q)
{
    const bwl_model_item *mine = find(r, q->token);

    return mine != NULL && mine->value > now_of(r, q);
}

static bool extend(bwl_model_redis *r, const bwl_model_command_args *q, unsigned mutations)
{
    int64_t ends = now_of(r, q) + q->lease_ms;

    if (!is_there(r, q) || find(r, WRITE) == NULL)
        return false;
    if ((mutations & BWL_MUTATION_EXTEND_SHORTENS) == 0 && find(r, q->token)->value > ends)
        ends = find(r, q->token)->value;
    put_both(r, q, ends);
    end_with_the_last(r, q);
    return true;
}

static bool release(bwl_model_redis *r, const bwl_model_command_args *q, unsigned mutations)
{
    bool had_write = find(r, WRITE) != NULL;

    if ((mutations & BWL_MUTATION_DELETE_BLIND) != 0)
        return say(r, q, (bwl_model_command){ .op = BWL_OP_DEL }).number == 1;
    if (!is_there(r, q))
        return false;
    remove_member(r, q, q->token);
    if (had_write)
        remove_member(r, q, WRITE);
    end_with_the_last(r, q);
    return had_write;
}

bwl_model_reply bwl_model_zset_reply(bwl_model_redis *r, const bwl_model_command_args *q,
                                     unsigned mutations)
{
    bool yes = false;

    if (q->command == REDIS_ZSET_TAKE)
        yes = take(r, q, mutations);
    else if (q->command == REDIS_ZSET_EXTEND)
        yes = extend(r, q, mutations);
    else
        yes = release(r, q, mutations);
    return (bwl_model_reply){ .answer = yes ? BWL_YES : BWL_NO };
}
