/*
 * zsets.c -- members of sorted sets, one by one: adding, removing, asking for scores and ranks.
 */
#include "sim/redis/command/key_commands.h"
#include "sim/redis/core/effects.h"

#include <math.h>
#include <stdlib.h>

/* ---- ZADD ------------------------------------------------------------------------------------ */

typedef struct zadd {
    size_t  first; /* the first score */
    size_t  pairs;
    double *scores;
    int64_t added;
    int64_t updated;
    double  last; /* the score of the last member that was not passed over */
    bool    nx, xx, gt, lt, changed, increments;
    bool    was_done; /* the last one was not passed over */
} zadd;

static void read_options(const model_call *call, zadd *z)
{
    z->first = 2;
    for (;; z->first++) {
        if (model_arg_is(call, z->first, "NX"))
            z->nx = true;
        else if (model_arg_is(call, z->first, "XX"))
            z->xx = true;
        else if (model_arg_is(call, z->first, "CH"))
            z->changed = true;
        else if (model_arg_is(call, z->first, "INCR"))
            z->increments = true;
        else if (model_arg_is(call, z->first, "GT"))
            z->gt = true;
        else if (model_arg_is(call, z->first, "LT"))
            z->lt = true;
        else
            return;
    }
}

/* False: an error was replied. */
static bool check_options(model_call *call, zadd *z)
{
    size_t rest = call->argc > z->first ? call->argc - z->first : 0;

    z->pairs = rest / 2;
    if (rest == 0 || rest % 2 != 0)
        model_reply_syntax_error(call);
    else if (z->nx && z->xx)
        model_reply_error(call, "ERR XX and NX options at the same time are not compatible");
    else if ((z->gt && z->nx) || (z->lt && z->nx) || (z->gt && z->lt))
        model_reply_error(call,
                          "ERR GT, LT, and/or NX options at the same time are not compatible");
    else if (z->increments && z->pairs > 1)
        model_reply_error(call, "ERR INCR option supports a single increment-element pair");
    else
        return true;
    return false;
}

/* False: the sum is not a number. */
static bool add_member(model_value *zset, zadd *z, model_text member, double score)
{
    double before;
    bool   is_there = model_zset_score(zset, member, &before);

    z->was_done = false;
    if (is_there ? z->nx : z->xx)
        return true;
    if (is_there && z->increments)
        score += before;
    if (isnan(score))
        return false;
    if (is_there && ((z->gt && score <= before) || (z->lt && score >= before)))
        return true;
    z->last     = score;
    z->was_done = true;
    z->added += !is_there;
    z->updated += is_there && score != before;
    (void)model_zset_set(zset, member, score);
    return true;
}

static void reply_zadd(model_call *call, const zadd *z)
{
    if (!z->increments)
        model_reply_integer(call, z->changed ? z->added + z->updated : z->added);
    else if (z->was_done)
        model_reply_double(call, z->last);
    else
        model_reply_null(call);
}

static void add_all(model_call *call, zadd *z)
{
    model_value *zset;
    bool         is_number = true;

    for (size_t i = 0; i < z->pairs; i++)
        if (!model_take_double(call, z->first + 2 * i, NULL, &z->scores[i]))
            return;
    if (!model_find(call, call->argv[1], MODEL_ZSET, &zset))
        return;
    if (zset == NULL && !z->xx)
        zset = model_create(call, call->argv[1], MODEL_ZSET);
    for (size_t i = 0; zset != NULL && i < z->pairs && is_number; i++)
        is_number = add_member(zset, z, call->argv[z->first + 2 * i + 1], z->scores[i]);
    if (z->added + z->updated != 0)
        model_changed(call, call->argv[1], zset);
    if (is_number)
        reply_zadd(call, z);
    else
        model_reply_error(call, "ERR resulting score is not a number (NaN)");
}

static void run_zadd(model_call *call, zadd *z)
{
    z->scores = model_allocate(z->pairs * sizeof *z->scores);
    add_all(call, z);
    free(z->scores);
}

static void cmd_zadd(model_call *call)
{
    zadd z = { .first = 0 };

    read_options(call, &z);
    if (check_options(call, &z))
        run_zadd(call, &z);
}

static void cmd_zincrby(model_call *call)
{
    zadd z = { .first = 2, .pairs = 1, .increments = true };

    run_zadd(call, &z);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void cmd_zrem(model_call *call)
{
    model_value *zset;
    int64_t      count = 0;

    if (!model_find(call, call->argv[1], MODEL_ZSET, &zset))
        return;
    for (size_t i = 2; zset != NULL && i < call->argc; i++)
        count += model_zset_remove(zset, call->argv[i]);
    if (count != 0)
        model_changed(call, call->argv[1], zset);
    model_reply_integer(call, count);
}

static void cmd_zscore(model_call *call)
{
    model_value *zset;
    double       score;

    if (!model_find(call, call->argv[1], MODEL_ZSET, &zset))
        return;
    if (zset != NULL && model_zset_score(zset, call->argv[2], &score))
        model_reply_double(call, score);
    else
        model_reply_null(call);
}

static void cmd_zcard(model_call *call)
{
    model_value *zset;

    if (model_find(call, call->argv[1], MODEL_ZSET, &zset))
        model_reply_integer(call, zset != NULL ? (int64_t)model_value_count(zset) : 0);
}

static void reply_rank(model_call *call, bool is_reversed)
{
    model_value *zset;
    double       score;

    if (!model_find(call, call->argv[1], MODEL_ZSET, &zset))
        return;
    if (zset == NULL || !model_zset_score(zset, call->argv[2], &score)) {
        model_reply_null(call);
        return;
    }
    size_t rank = model_zset_rank(zset, call->argv[2], score);
    model_reply_integer(call, (int64_t)(is_reversed ? model_value_count(zset) - 1 - rank : rank));
}

static void cmd_zrank(model_call *call)
{
    reply_rank(call, false);
}

static void cmd_zrevrank(model_call *call)
{
    reply_rank(call, true);
}

/* Redis 6.2 takes any number, and looks at the key only if it is positive.  False: it
 * has replied. */
static bool take_count(model_call *call, int64_t *ret_count)
{
    static const char why[]  = "value is out of range, must be positive";
    bool              is_old = call->server->version == MODEL_REDIS_6_2;

    if (!model_take_integer(call, 2, is_old ? NULL : why, ret_count))
        return false;
    if (*ret_count >= 0 + is_old)
        return true;
    if (is_old)
        model_reply_array(call, 0);
    else
        model_reply_error(call, "ERR %s", why);
    return false;
}

/* With a count, RESP3 has an array of pairs. */
static void pop(model_call *call, bool is_lowest)
{
    model_value *zset;
    int64_t      count     = 1;
    bool         has_count = call->argc > 2;

    if (call->argc > 3) {
        model_reply_syntax_error(call);
        return;
    }
    if (has_count && !take_count(call, &count))
        return;
    if (!model_find(call, call->argv[1], MODEL_ZSET, &zset))
        return;
    size_t there = zset != NULL ? model_value_count(zset) : 0;
    size_t taken = (uint64_t)count < there ? (size_t)count : there;
    bool   pairs = has_count && call->resp >= 3;
    model_reply_array(call, pairs ? taken : taken * 2);
    for (size_t i = 0; i < taken; i++) {
        model_member member = zset->as.zset.members[is_lowest ? 0 : model_value_count(zset) - 1];
        if (pairs)
            model_reply_array(call, 2);
        model_reply_bulk(call, member.name);
        model_reply_double(call, member.score);
        (void)model_zset_remove(zset, member.name);
    }
    if (taken != 0)
        model_changed(call, call->argv[1], zset);
}

static void cmd_zpopmin(model_call *call)
{
    pop(call, true);
}

static void cmd_zpopmax(model_call *call)
{
    pop(call, false);
}

const model_command model_commands_zsets[] = {
    { "zadd", cmd_zadd, -4, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(SORTEDSET), NULL },
    { "zincrby", cmd_zincrby, 4, 1, 1, 1, CMD(WRITE) | CMD(DENYOOM) | CMD(FAST) | CAT(SORTEDSET),
      NULL },
    { "zrem", cmd_zrem, -3, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(SORTEDSET), NULL },
    { "zscore", cmd_zscore, 3, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(SORTEDSET), NULL },
    { "zcard", cmd_zcard, 2, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(SORTEDSET), NULL },
    { "zrank", cmd_zrank, 3, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(SORTEDSET), NULL },
    { "zrevrank", cmd_zrevrank, 3, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(SORTEDSET), NULL },
    { "zpopmin", cmd_zpopmin, -2, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(SORTEDSET), NULL },
    { "zpopmax", cmd_zpopmax, -2, 1, 1, 1, CMD(WRITE) | CMD(FAST) | CAT(SORTEDSET), NULL },
    { .name = NULL },
};
