/*
 * zset_ranges.c -- parts of sorted sets: by rank and by score.
 */
#include "sim/redis/command/key_commands.h"

typedef struct range {
    size_t  first; /* members [first, end) in order of score */
    size_t  end;
    int64_t offset;
    int64_t limit; /* negative: none */
    bool    by_score;
    bool    is_reversed;
    bool    with_scores;
    bool    has_limit;
} range;

/* ---- bounds ---------------------------------------------------------------------------------- */

typedef struct bound {
    double score;
    bool   is_open;
} bound;

static bool take_bound(model_text text, bound *ret_bound)
{
    ret_bound->is_open = text.size != 0 && text.at[0] == '(';
    if (ret_bound->is_open)
        text = (model_text){ text.at + 1, text.size - 1 };
    return model_text_double(text, &ret_bound->score);
}

/* Before the key is looked up.  False: an error was replied. */
static bool take_scores(model_call *call, size_t low_at, size_t high_at, bound bounds[2])
{
    if (take_bound(call->argv[low_at], &bounds[0]) && take_bound(call->argv[high_at], &bounds[1]))
        return true;
    model_reply_error(call, "ERR min or max is not a float");
    return false;
}

static void by_scores(const model_value *zset, const bound bounds[2], range *r)
{
    r->first = model_zset_before(zset, bounds[0].score, bounds[0].is_open);
    r->end   = model_zset_before(zset, bounds[1].score, !bounds[1].is_open);
    if (r->end < r->first)
        r->end = r->first;
}

static void by_ranks(const model_value *zset, int64_t start, int64_t stop, range *r)
{
    int64_t count = (int64_t)model_value_count(zset);

    start = start < 0 ? start + count : start;
    stop  = stop < 0 ? stop + count : stop;
    start = start < 0 ? 0 : start;
    stop  = stop >= count ? count - 1 : stop;
    if (start > stop || start >= count) {
        r->first = r->end = 0;
    } else if (r->is_reversed) {
        r->first = (size_t)(count - 1 - stop);
        r->end   = (size_t)(count - start);
    } else {
        r->first = (size_t)start;
        r->end   = (size_t)stop + 1;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* False: an error was replied. */
static bool read_options(model_call *call, range *r, bool is_general)
{
    for (size_t i = 4; i < call->argc; i++) {
        if (model_arg_is(call, i, "WITHSCORES")) {
            r->with_scores = true;
        } else if (model_arg_is(call, i, "LIMIT") && i + 2 < call->argc) {
            if (!model_take_integer(call, i + 1, NULL, &r->offset) ||
                !model_take_integer(call, i + 2, NULL, &r->limit))
                return false;
            r->has_limit = true;
            i += 2;
        } else if (is_general && model_arg_is(call, i, "REV")) {
            r->is_reversed = true;
        } else if (is_general && model_arg_is(call, i, "BYSCORE")) {
            r->by_score = true;
        } else {
            model_reply_syntax_error(call);
            return false;
        }
    }
    if (r->has_limit && r->limit != -1 && !r->by_score) {
        model_reply_error(call, "ERR syntax error, LIMIT is only supported in combination with "
                                "either BYSCORE or BYLEX");
        return false;
    }
    return true;
}

static void reply_range(model_call *call, const model_value *zset, const range *r)
{
    size_t count  = r->end - r->first;
    size_t offset = r->has_limit && r->by_score ? (size_t)r->offset : 0;
    bool   pairs  = r->with_scores && call->resp >= 3;

    if (r->has_limit && r->by_score && (r->offset < 0 || offset > count))
        count = offset = 0;
    count -= offset;
    if (r->has_limit && r->limit >= 0 && (size_t)r->limit < count)
        count = (size_t)r->limit;
    model_reply_array(call, r->with_scores && !pairs ? count * 2 : count);
    for (size_t i = 0; i < count; i++) {
        size_t              nth = r->is_reversed ? r->end - 1 - offset - i : r->first + offset + i;
        const model_member *member = &zset->as.zset.members[nth];
        if (pairs)
            model_reply_array(call, 2);
        model_reply_bulk(call, member->name);
        if (r->with_scores)
            model_reply_double(call, member->score);
    }
}

static void show(model_call *call, range r, bool is_general)
{
    model_value *zset;
    bound        bounds[2];
    int64_t      start = 0;
    int64_t      stop  = 0;

    r.limit = -1;
    if (!read_options(call, &r, is_general))
        return;
    if (r.by_score) {
        if (!take_scores(call, r.is_reversed ? 3 : 2, r.is_reversed ? 2 : 3, bounds))
            return;
    } else if (!model_take_integer(call, 2, NULL, &start) ||
               !model_take_integer(call, 3, NULL, &stop)) {
        return;
    }
    if (!model_find(call, call->argv[1], MODEL_ZSET, &zset))
        return;
    if (zset == NULL) {
        model_reply_array(call, 0);
        return;
    }
    if (r.by_score)
        by_scores(zset, bounds, &r);
    else
        by_ranks(zset, start, stop, &r);
    reply_range(call, zset, &r);
}

static void cmd_zrange(model_call *call)
{
    show(call, (range){ .by_score = false }, true);
}

static void cmd_zrevrange(model_call *call)
{
    show(call, (range){ .is_reversed = true }, false);
}

static void cmd_zrangebyscore(model_call *call)
{
    show(call, (range){ .by_score = true }, false);
}

static void cmd_zrevrangebyscore(model_call *call)
{
    show(call, (range){ .by_score = true, .is_reversed = true }, false);
}

static void cmd_zcount(model_call *call)
{
    model_value *zset;
    bound        bounds[2];
    range        r = { .first = 0 };

    if (!take_scores(call, 2, 3, bounds) || !model_find(call, call->argv[1], MODEL_ZSET, &zset))
        return;
    if (zset != NULL)
        by_scores(zset, bounds, &r);
    model_reply_integer(call, (int64_t)(r.end - r.first));
}

/* ---- removing -------------------------------------------------------------------------------- */

static void remove_range(model_call *call, model_value *zset, const range *r)
{
    for (size_t i = r->first; i < r->end; i++)
        (void)model_zset_remove(zset, zset->as.zset.members[r->first].name);
    if (r->end > r->first)
        model_changed(call, call->argv[1], zset);
    model_reply_integer(call, (int64_t)(r->end - r->first));
}

static void cmd_zremrangebyscore(model_call *call)
{
    model_value *zset;
    bound        bounds[2];
    range        r = { .first = 0 };

    if (!take_scores(call, 2, 3, bounds) || !model_find(call, call->argv[1], MODEL_ZSET, &zset))
        return;
    if (zset == NULL) {
        model_reply_integer(call, 0);
        return;
    }
    by_scores(zset, bounds, &r);
    remove_range(call, zset, &r);
}

static void cmd_zremrangebyrank(model_call *call)
{
    model_value *zset;
    int64_t      start;
    int64_t      stop;
    range        r = { .first = 0 };

    if (!model_take_integer(call, 2, NULL, &start) || !model_take_integer(call, 3, NULL, &stop) ||
        !model_find(call, call->argv[1], MODEL_ZSET, &zset))
        return;
    if (zset == NULL) {
        model_reply_integer(call, 0);
        return;
    }
    by_ranks(zset, start, stop, &r);
    remove_range(call, zset, &r);
}

const model_command model_commands_zset_ranges[] = {
    { "zrange", cmd_zrange, -4, 1, 1, 1, CMD(READ) | CAT(SORTEDSET), NULL },
    { "zrevrange", cmd_zrevrange, -4, 1, 1, 1, CMD(READ) | CAT(SORTEDSET), NULL },
    { "zrangebyscore", cmd_zrangebyscore, -4, 1, 1, 1, CMD(READ) | CAT(SORTEDSET), NULL },
    { "zrevrangebyscore", cmd_zrevrangebyscore, -4, 1, 1, 1, CMD(READ) | CAT(SORTEDSET), NULL },
    { "zcount", cmd_zcount, 4, 1, 1, 1, CMD(READ) | CMD(FAST) | CAT(SORTEDSET), NULL },
    { "zremrangebyscore", cmd_zremrangebyscore, 4, 1, 1, 1, CMD(WRITE) | CAT(SORTEDSET), NULL },
    { "zremrangebyrank", cmd_zremrangebyrank, 4, 1, 1, 1, CMD(WRITE) | CAT(SORTEDSET), NULL },
    { .name = NULL },
};
